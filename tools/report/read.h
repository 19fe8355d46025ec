/* SPDX-License-Identifier: MIT */
/* read.h - one input of pmctl report or diff. */
#ifndef PMC_TOOLS_REPORT_READ_H
#define PMC_TOOLS_REPORT_READ_H

#include "agent/core/profile/profile.h"

/* Adds the frames of a file; "-" is standard input. 0, or the exit code with the error printed.
 * Damaged frames are a warning while there is a good one. */
int report_read_file(struct pmc_profile *profile, const char *path);

#endif
