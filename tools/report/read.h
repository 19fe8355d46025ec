/* SPDX-License-Identifier: MIT */
/* read.h - inputs of commands that read dumps, which an output must not destroy. */
#ifndef PMC_TOOLS_REPORT_READ_H
#define PMC_TOOLS_REPORT_READ_H

#include "tools/view/report.h"

/* Adds the frames of the inputs (tools/cli/inputs.h). Damaged ones are a warning while one is good.
 * 0, or the exit code with the error printed. */
int report_read(struct pmc_profile *profile, const char *const *files, unsigned n);
/* The keys of --by, ended by 0: the last one, PMC_BY_NONE without any, and those before it. 0, or
 * the exit code with the error printed. */
int report_set_keys(const unsigned char *keys, unsigned char *outer, enum pmc_fold_by *by);
/* -o: NULL: none. 0, or the exit code with the error printed: it is an input. */
int report_check_output(const char *output, const char *const *files, unsigned n);

#endif
