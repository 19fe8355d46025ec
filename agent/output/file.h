/* SPDX-License-Identifier: MIT */
/* file.h - the dump file of this process: where it is, and appending to it. */
#ifndef PMC_AGENT_OUTPUT_FILE_H
#define PMC_AGENT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Expands agent.out (or takes the private dump's path). While single-threaded. */
void agent_file_path(void);
/* PMC_OUT of a first process: opens it now, so that what is wrong with it is said at once.
 * 0, or -errno after one line on stderr (the file is untouched). */
int agent_file_check(void);
/* What is to be done about an -errno of opening a file for output. */
const char *agent_file_remedy(int error);
/* Before the first frames of this process image: opens the file, and writes the frames that rows
 * refer to. Async-signal-safe, as append. */
void agent_file_begin(void);
/* What follows has everything that rows refer to: no frames before it. */
void agent_file_whole(void);
void agent_file_append(const void *frames, size_t len);
/* Whether our handler stands for SIGXFSZ, which then ignores those that our writes raise. */
void agent_file_shield(bool stands);
/* Whether the calling thread is in a write of ours for which the handler of SIGXFSZ stands. */
bool agent_file_writing(void);
/* Frames that wait in memory: only the first process of a job without PMC_OUT keeps any, since
 * nobody would read its dump if it were killed. Takes them out; call once nobody appends. */
const void *agent_file_waiting(size_t *len);
/* Writes what waits. */
void agent_file_flush(void);
/* At the end of a descendant: a private dump that nobody will read any more is removed. */
void agent_file_tidy(void);
/* Whether something this process wrote did not arrive, or cannot be read back. */
bool agent_file_incomplete(void);
/* Whether anything was written by this process, and where what this job wrote starts. */
bool agent_file_used(void);
uint64_t agent_file_start(void);
const char *agent_file_name(void);
/* The host is about to take this number: the dump gets another. False: it is not the dump's. */
bool agent_file_move(int fd);
/* The open dump's descriptor; negative: it is not open. */
int agent_file_fd(void);
/* A seccomp filter comes: from here on the system calls that were tried under it. */
void agent_file_filtered(void);
/* In a forked child: a file of its own if the pattern says so, and new header frames. */
void agent_file_forked(void);

#endif
