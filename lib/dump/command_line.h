/* SPDX-License-Identifier: MIT */
/* command_line.h - the command line of a PROCESS frame, with secrets masked (PMC_ARGS). */
#pragma once

#include "lib/base/config.h"

/* Longer command lines are truncated. */
#define PMC_COMMAND_LINE_BYTES 4096

/* Writes the arguments, NULL-terminated, with spaces between them. Async-signal-safe. */
void pmc_command_line(struct pmc_out *out, char *const *argv, enum pmc_args how);
