/* SPDX-License-Identifier: MIT */
/*
 * profile.h - call stacks of samples and waits, recorded from outside: of running processes, and
 * waits alone of a command of pmctl run.
 *
 * Nothing runs in these: the kernel writes a record at each switch, a thread of pmctl reads them.
 * All functions are for the main thread.
 */
#pragma once

#include "tools/live/task.h"
#include "tools/rows/profile.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether this user may record what the kernel does; without, waits have no stack. */
bool profile_has_kernel(void);
/* As pmctl profile -p: processes, whose list it frees, for a time or until a signal, into a dump,
 * which has the number of lost records. Copies of the stack are half as large. 0, or the exit code
 * after a message. */
int profile_running(const struct live_tids *found, uint64_t duration_ns, const char *path);

struct off_cpu;

/* Stacks of waits have the functions of the kernel, too, where this user may observe them: explain
 * tells by them what read(2) waits for. */
extern bool off_cpu_kernel;
/* Starts to record with the exec of `pid`, a child that has not called it, and in all processes it
 * starts. frame_pointers: stacks by these, else by unwind tables. 0, or 125 after a message. */
int off_cpu_start(struct off_cpu **off, pid_t pid, bool frame_pointers);
/* Ends the recording. Accepts NULL. */
void off_cpu_stop(struct off_cpu *off);
/* Appends waits of the threads in the profile to the dump `fd`, which it closes; -1: to none.
 * `path` is for messages. Whether something was appended. Prints what was lost. */
bool off_cpu_write(struct off_cpu *off, const struct pmc_profile *profile, const char *path,
		   int fd);
/* Accepts NULL. */
void off_cpu_free(struct off_cpu *off);
