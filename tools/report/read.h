/* SPDX-License-Identifier: MIT */
/* read.h - inputs of commands that read dumps, which an output must not destroy. */
#ifndef PMC_TOOLS_REPORT_READ_H
#define PMC_TOOLS_REPORT_READ_H

#include "tools/rows/profile.h"

/* Adds the frames of the inputs (tools/cli/inputs.h). Damaged ones are a warning while one is good.
 * 0, or the exit code with the error printed. */
int report_read(struct pmc_profile *profile, const char *const *files, unsigned n);
/* -o: NULL: none. 0, or the exit code with the error printed: it is an input. */
int report_check_output(const char *output, const char *const *files, unsigned n);

#endif
