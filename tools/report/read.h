/* SPDX-License-Identifier: MIT */
/* read.h - inputs of commands that read dumps, which an output must not destroy. */
#ifndef PMC_TOOLS_REPORT_READ_H
#define PMC_TOOLS_REPORT_READ_H

#include "tools/rows/profile.h"

/* Adds the frames of a file; "-" is standard input. 0, or the exit code with the error printed.
 * Damaged frames are a warning while there is a good one. */
int report_read_file(struct pmc_profile *profile, const char *path);
/* -o: NULL: none. 0, or the exit code with the error printed: it is an input. */
int report_check_output(const char *output, const char *const *files, unsigned n);

#endif
