/* SPDX-License-Identifier: MIT */
/* output.h - the dump file of this process, and the frames about the process in it. */
#pragma once

#include "agent/base/agent.h"

/* ---- file.c ---- */
/* Sets the path from agent.out or the private dump's. While single-threaded. */
void agent_file_path(void);
/* Opens PMC_OUT of a first process at once, to report what is wrong with it. 0, or -errno after one
 * line on stderr; the file is unchanged then. */
int agent_file_check(void);
/* Opens PMC_OUT if it is not open yet, so that pmctl dump can write to it; after an exec a private
 * dump, too, if this is root, who may change the user. */
void agent_file_open(void);
/* If the dump was renamed or deleted, creates it again under its name for later frames. */
void agent_file_follow(void);
/* Before a snapshot. False: the dump has reached PMC_OUT_MAX, which is noted. */
bool agent_file_takes_snapshot(void);
/* Before the first frames of this process image: writes the header frames, to which rows refer.
 * Async-signal-safe, like agent_file_append. */
void agent_file_begin(void);
/* The frames that follow include the header frames. */
void agent_file_no_header(void);
void agent_file_append(const void *frames, size_t len);
/* Of a buffer for snapshots. */
#define AGENT_CHUNK ((size_t)64 << 10)
/* A buffer for frames, not on the stack, which may be a small signal stack; behind it is room for a
 * struct pmc_usage. False: no memory. */
bool agent_buf_open(struct pmc_frame_buf *buf, size_t bytes);
/* Appends its frames to the dump, after the header frames, if it has less room than this. */
void agent_buf_room(struct pmc_frame_buf *buf, size_t bytes);
/* Appends its frames, and frees it. */
void agent_buf_close(struct pmc_frame_buf *buf);
/* Changes when frames that were appended before are no longer in the dump. */
uint32_t agent_file_lost(void);
/* Takes the frames that are pending in memory: of the first process of a job without PMC_OUT, and
 * those that it could not write. Nothing is appended after that. */
const void *agent_file_waiting(size_t *len);
/* Writes the pending frames. */
void agent_file_flush(void);
extern const char *agent_file_name;
/* The host is about to take this number: moves the dump to another one. False: it is not the
 * dump's. */
bool agent_file_move(int fd);
/* The dump's descriptor; negative: it is not open. */
int agent_file_fd(void);
/* Opens the dump for reading, by its name, or as it is open if that is gone. */
int agent_file_read(bool *named);
/* Whether a descriptor is the dump: the host may have closed the number, and have another file
 * there. */
bool agent_file_is(int fd);
/* A seccomp filter is about to be installed: uses only system calls that were tried under it. */
void agent_file_filtered(void);
bool agent_file_is_filtered(void);
/* Before an exec; other_user: this process has given up root. Where the new image could not open
 * the dump, its descriptor stays open and *dump says so, for PMC_JOB. The descriptor that has lost
 * FD_CLOEXEC for that, for agent_file_unpass() if the exec fails; -1: none. Also in a vfork child.
 */
int agent_file_pass(bool other_user, struct agent_passed *dump);
void agent_file_unpass(int fd);
/* In a forked child: a file of its own if the pattern has it, and new header frames. */
void agent_file_forked(void);

/* Between begin and end SIGXFSZ, SIGPIPE and SIGTTOU are blocked; with `failed`, the first two, if
 * they were raised in between, are consumed. */
struct agent_write_guard {
	uint64_t mask, pending;
};
void agent_write_guard_begin(struct agent_write_guard *guard);
void agent_write_guard_end(const struct agent_write_guard *guard, bool failed);

/* ---- taken.c ---- */
/* In the new image: the descriptor of PMC_JOB, if it is what PMC_JOB says and an agent's. While
 * single-threaded. */
void agent_file_take(const struct agent_passed *dump);
/* Its number; -1: there is none. It may be another file's by now. */
int agent_taken_number(void);
/* The same, -1 too if it is another file's. Fills *st. */
int agent_taken_fd(struct stat *st);
/* Whether this is the descriptor. Also in a vfork child, which keeps it for its exec. */
bool agent_file_is_taken(int fd);
/* It has another number now, or, -1, none. */
void agent_taken_moved(int fd);

/* ---- open.c ---- */
/* Names of dumps, and why one cannot be opened. Async-signal-safe. */
/* Expands those letters after a '%' in a pattern of PMC_OUT; leaves the others. */
void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters);
/* Creates the directory of the dump at `path` if a % of PMC_OUT names it. Changes `path` for the
 * time of the call: only while single-threaded. */
void agent_out_directory(char *path);
/* Reason and fix for an -errno of opening a file for output. */
const char *agent_file_fix(int error);

/* The fields of agent_publish_process that each OS has. */
void agent_publish_image(void);

/* ---- private_dump.c ---- */
/*
 * The dump of a job without PMC_OUT, which its first process removes. Its name says whose it is:
 * pmc-JOB-PID-NAMESPACE.job, PID the first process and NAMESPACE the inode of its pid namespace.
 * Nothing else is removed, whatever PMC_JOB says.
 */
/* The path of this job's, in the first writable of $TMPDIR, /tmp, /var/tmp and /dev/shm; in the
 * arena. NULL: no memory. */
const char *agent_private_path(char *const *envp);
/* Whether the path ends in the name of this job's. */
bool agent_private_is_ours(const char *path);
/* Removes this job's. False: there is none. Async-signal-safe. */
bool agent_private_remove(void);
/* Removes those of this user whose first process was killed, in the directory of this job's. */
void agent_private_sweep(void);

/* ---- process_frames.c ---- */
/* Appends the frames that rows refer to: EVENTSET, and PROCESS in state running. */
void agent_process_header(void);
/* The kernel's account of the process now; *usage: all of its rusage. */
void agent_process_words(struct account_words *now, struct pmc_usage *usage);
void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how,
			 int code);
/* Fills the constant fields of the PROCESS frame in pmc_agent_control; again in a forked child. */
void agent_publish_process(void);
/* Appends a PROCESS frame to the dump. */
void agent_process_state(uint64_t snapshot, enum pmc_ended how, int code);
