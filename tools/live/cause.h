/* SPDX-License-Identifier: MIT */
/* cause.h - what a thread waits for, by a function of the kernel that it is in. */
#pragma once

enum live_cause {
	CAUSE_OTHER,
	CAUSE_PAGE_FAULT,
	CAUSE_LOCK,
	CAUSE_PIPE,
	CAUSE_POLL,
	CAUSE_SOCKET,
	CAUSE_TIMER,
	CAUSE_CHILD,
	CAUSE_SIGNAL,
	CAUSE_TERMINAL,
	CAUSE_DISK,
	N_CAUSES
};

/* CAUSE_OTHER: the function does not show any. */
enum live_cause live_cause_of(const char *function);
/* "page fault" */
const char *live_cause_name(enum live_cause cause);
