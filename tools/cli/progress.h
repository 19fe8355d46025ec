/* SPDX-License-Identifier: MIT */
/*
 * progress.h - a line on the terminal about work that takes more than a second: what is done, how
 * much of it, and how long it may take.
 *
 * It is on standard error, at most four times a second, and only if that is a terminal in whose
 * foreground pmctl runs. Errors and warnings erase it first. One stage at a time; a forked process
 * may go on with it. For one thread.
 */
#pragma once

#include <stdint.h>

/* total 0: not known. */
void tool_progress_begin(const char *what, uint64_t total);
void tool_progress_step(uint64_t done);
void tool_progress_add(uint64_t more);
/* Erases the line, before something else is written to the terminal. Async-signal-safe. */
void tool_progress_hide(void);
/* Also where nothing has begun. */
void tool_progress_end(void);
