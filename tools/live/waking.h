/* SPDX-License-Identifier: MIT */
/* waking.h - who wakes a thread, by records of sched:sched_waking. */
#pragma once

#include <pmc/record.h>
#include <pmc/tracepoint.h>
#include <stdint.h>

/* Stand for wakers that are no thread: an interrupt, in whatever thread it comes; a wake-up that
 * was not recorded; nobody, as the wait has not ended; all wakers behind the end of a list. */
enum { BY_INTERRUPT, BY_UNKNOWN, BY_NOBODY, BY_OTHERS, N_NO_THREADS };
/* "(interrupt)" */
extern const char *const live_no_threads[N_NO_THREADS];

/* Why fields of tracepoints are not the numbers by which pmctl knows threads; NULL: they are. */
const char *live_other_numbers(void);

struct live_waking {
	const struct pmc_tracepoint_field *pid, *by, *flags;
};

void live_waking_init(struct live_waking *waking, const struct pmc_tracepoint *tracepoint);
/* The ID of the thread that is woken; 0: the record has none. *by: of the thread that wakes it; 0:
 * an interrupt or the idle thread. */
int64_t live_waking_take(const struct live_waking *waking, const struct pmc_record *record,
			 int64_t *by);
