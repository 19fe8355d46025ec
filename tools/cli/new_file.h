/* SPDX-License-Identifier: MIT */
/*
 * new_file.h - files that get their names when they are complete.
 *
 * Until then a file is beside its place under a name of its own: readers never see a part of it,
 * and an older file stays if there is an error. A file without a name is removed when pmctl ends,
 * also by a signal.
 */
#pragma once

#include <signal.h>

struct tool_new_file;

/* The descriptor, which the caller closes, and *file; or -errno. The mode is that of the file at
 * `path`, else 0666 less the umask. */
int tool_new_file_open(const char *path, struct tool_new_file **file);
/* The same with mode 0600. */
int tool_new_dump_open(const char *path, struct tool_new_file **file);
/* For a flag -o whose file is written at once: tool_open_output(), but a regular file keeps its
 * contents until tool_replace_end(). */
int tool_replace_begin(const char *path, int code);
/* Closes the file, also if it is no regular file, but not standard output. Without an error the
 * file gets its name. `error`, or another -errno. */
int tool_replace_end(int fd, int error);
/* Replaces a file of that name, and frees `file`. 0 or -errno. */
int tool_new_file_name(struct tool_new_file *file);
/* Removes those without a name. Async-signal-safe. */
void tool_new_files_remove(void);
/* Signals that end pmctl also hide its progress, from the first file on or from this call on. */
void tool_new_files_handle(void);
/* Blocks the signals that end pmctl, so that several files get their names or none; *was: the mask
 * before. */
void tool_new_files_hold(sigset_t *was);
