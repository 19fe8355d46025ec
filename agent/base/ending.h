/* SPDX-License-Identifier: MIT */
/*
 * ending.h - how far the end of the process has come.
 *
 * One thread writes the final rows and the report; other threads that leave meanwhile wait for it,
 * since the first exit_group(2) ends them all. Async-signal-safe.
 */
#pragma once

#include <stdbool.h>

/* In order of time. */
enum agent_ending {
	AGENT_RUNS,
	AGENT_WRITES,  /* a thread writes the final rows */
	AGENT_WRITTEN, /* they are in the dump, or could not be written */
	AGENT_REPORTS, /* a thread prints the report */
	AGENT_REPORTED,
};

/* Whether the end has begun and is not complete. No system call. */
bool agent_ending_unfinished(void);
/* Advances by one step. False: another thread has taken that step, or this is a child that was
 * forked or vforked during the end. The caller that takes the first or third step must take the
 * next one, too. */
bool agent_ending_step(enum agent_ending step);
/* Waits until another thread has reached this step, at most two seconds. Returns at once if the end
 * has not begun, in a child as above, and in a signal handler that interrupted that thread. */
void agent_ending_wait(enum agent_ending step);
/* The process is about to die of a signal that this thread handles. */
void agent_ending_by_signal(void);
/* If another thread handles such a signal, waits for the end of the process, two seconds at most: a
 * call of exit_group(2) could come before the signal. */
void agent_ending_await_signal(void);
/* Whether the caller is a signal handler that interrupted the report. */
bool agent_ending_interrupted(void);
