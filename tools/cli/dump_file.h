/* SPDX-License-Identifier: MIT */
/* dump_file.h - whether a file may be written as a dump: it is new, empty or a dump already. */
#ifndef PMC_TOOLS_CLI_DUMP_FILE_H
#define PMC_TOOLS_CLI_DUMP_FILE_H

#include <sys/stat.h>

/* Texts for "cannot write FILE: <text>". */
/* Why open with O_NOFOLLOW failed, and the fix where there is one. */
const char *tool_dump_open_error(int error);
/* Why the open file is not to be written; NULL: it may be. Fills *st. */
const char *tool_dump_refusal(int fd, struct stat *st);

#endif
