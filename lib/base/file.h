/* SPDX-License-Identifier: MIT */
/*
 * file.h - reads small files and directories, such as those of /proc and sysfs.
 *
 * Raw system calls: no malloc, no stdio, no cancellation point. Async-signal-safe; errno is kept.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define PMC_PATH_MAX 512

/* System calls that are no cancellation point; -errno on failure. */
int pmc_fd_open(int dir, const char *path, int flags, unsigned mode);
long pmc_fd_read(int fd, void *bytes, size_t len);
long pmc_fd_read_at(int fd, void *bytes, size_t len, long offset);
struct stat;
int pmc_fd_stat(int fd, struct stat *st);
/* The width of a terminal, 0 if it is not known; -1: no terminal. */
int pmc_fd_columns(int fd);
/* RLIMIT_FSIZE; UINT64_MAX: none. */
uint64_t pmc_file_limit(void);
int pmc_fd_truncate(int fd);	       /* to 0 bytes */
void pmc_fd_close(int fd);	       /* below 0: nothing */
int pmc_path_access(const char *path); /* 0: the path exists */
void pmc_dir_make(const char *path);   /* if it can be made; mode 0777 less the umask */
/* A path from a format: 0 or -ENAMETOOLONG. */
int pmc_path_make(char path[PMC_PATH_MAX], const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Reads the file at a formatted path into text, with a NUL and without trailing white space.
 * Returns the length; -EFBIG if it has cap - 1 bytes or more (text holds its start); or another
 * -errno (text is ""). */
int pmc_file_read(char *text, size_t cap, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a path relative to a directory descriptor or AT_FDCWD. path and text may be the same
 * memory. Needs little stack, unlike pmc_file_read. */
int pmc_file_read_at(int dir, const char *path, char *text, size_t cap);
/* 0 if the path exists, else -errno. */
int pmc_path_exists(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Calls visit for each entry of the directory whose name does not start with '.'; 0 or -errno. */
int pmc_dir_visit(void (*visit)(const char *name, void *arg), void *arg, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with little stack; room: 8-aligned, for entries. */
int pmc_dir_visit_in(const char *path, char *room, size_t bytes,
		     void (*visit)(const char *name, void *arg), void *arg);

/* Opens the regular file of a descriptor, for which O_PATH suffices, for reading. The new
 * descriptor or -errno; EINVAL: it is no regular file. */
int pmc_fd_reopen(int fd);
/* Opens a regular file for reading; flags: 0 or O_NOFOLLOW. A pipe or device is never opened, not
 * even to see what it is: that wakes writers, starts watchdogs, rewinds tapes. As above. */
int pmc_file_open_regular(const char *path, int flags);
