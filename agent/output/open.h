/* SPDX-License-Identifier: MIT */
/* open.h - names of dumps, and why one cannot be opened. Async-signal-safe. */
#pragma once

struct pmc_out;

/* Expands those letters after a '%' in a pattern of PMC_OUT; leaves the others. */
void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters);
/* Reason and fix for an -errno of opening a file for output. */
const char *agent_file_fix(int error);
