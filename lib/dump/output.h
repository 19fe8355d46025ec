/* SPDX-License-Identifier: MIT */
/*
 * output.h - files that are opened for writing: texts, such as reports, and dumps.
 *
 * One check for all: a regular file must belong to this user, without other links, and be empty or
 * of the same kind: no dump is overwritten by a text, no other file gets frames of a dump. Symbolic
 * links are not followed. The open file is checked, before anything is written or removed, and a
 * name that is exchanged in between changes nothing. Async-signal-safe; errno is kept.
 *
 * Errors: ENOTSUP: not a dump, EEXIST: a dump, EINVAL: no regular file, EUSERS: of another user,
 * EMLINK: it has several names, ELOOP: a symbolic link, ENXIO: a pipe without a reader, EBUSY: a
 * standard stream of this process.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* 0 if the open file may be appended to, replaced or removed as a dump, or -errno. Fills *st. */
int pmc_dump_check(int fd, struct stat *st);
/* Opens a dump to append to it; `create`: or creates it, with mode 0600. The descriptor or -errno.
 * Fills *st. */
int pmc_dump_open(const char *path, bool create, struct stat *st);

/* Opens or creates a file for text, with its contents; a new file has mode 0666 less the umask. It
 * may be a pipe or device, to which names such as /dev/stdout and /dev/fd/N may lead. Non-blocking.
 * The descriptor or -errno. */
int pmc_text_open(const char *path);
/* Before the first write: removes the contents of a regular file that is still no dump; those of a
 * standard stream stay. 0 or -errno. */
int pmc_text_empty(int fd);
/* Both. The descriptor or -errno. */
int pmc_text_create(const char *path);

/* Whether the descriptor is the regular file of a standard stream. */
bool pmc_is_standard_file(int fd);
/* Reason and fix for one of these errors and others of opening a file for writing; NULL: no more is
 * known than the error. */
const char *pmc_output_why(int error);
