/* SPDX-License-Identifier: MIT */
/* open.h - opening a dump to append to it, and whether a file may be one. Async-signal-safe. */
#ifndef PMC_AGENT_OUTPUT_OPEN_H
#define PMC_AGENT_OUTPUT_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>

struct pmc_out;

/* Expands those letters after a '%' in a pattern of PMC_OUT; leaves the others. */
void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters);
/* 0 if the open file may be appended to or removed: a regular file of this user without other links
 * that is empty or a dump. Fills *st. Errors: ENOTSUP: another kind of file, EUSERS: of another
 * user, EMLINK: it has other links. */
int agent_dump_check(int fd, struct stat *st);
/* Opens an existing dump to append to it, or creates it. The descriptor, or -errno, also of
 * agent_dump_check. */
int agent_dump_open(const char *path, bool create, struct stat *st);
/* Reason and fix for an -errno of opening a file for output. */
const char *agent_file_fix(int error);

#endif
