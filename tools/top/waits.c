/* SPDX-License-Identifier: MIT */
/*
 * waits.c - --waits: how long each wait of a thread lasted, by the kernel's records of switches.
 *
 * A wait is from a switch off the CPU to the switch back, so it includes the time for which the
 * thread, woken up, waits for a CPU; after a preemption it is nothing else. Waits count when they
 * end. Of those that had begun before the recording, or in which records were lost, the length is
 * not known.
 */
#include "lib/base/number.h"
#include "tools/rings/rings.h"
#include "tools/top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a ring: some thousand switches. */
#define PAGES 256

struct waiter {
	uint32_t tid;
	bool waiting, preempted, ended;
	uint64_t since_ns;
	struct top_lengths lengths[2]; /* of the present interval and the one before */
	struct waiter *next;	       /* that is not in use */
	UT_hash_handle hh;
};

struct top_waits {
	struct rings rings;
	struct live_tids processes;
	struct pmc_arena arena;
	struct waiter *waiters, *unused;
	unsigned now; /* which of the lengths are those of the present interval */
	uint64_t lost, lost_ns;
	uint64_t lost_before, lost_now; /* before this interval, and in the last one */
};

/* ---- records ------------------------------------------------------------------------------ */

static struct waiter *waiter_of(struct top_waits *waits, uint32_t tid)
{
	struct pmc_arena *arena = &waits->arena;
	struct waiter *waiter;

	HASH_FIND(hh, waits->waiters, &tid, sizeof(tid), waiter);
	if (waiter)
		return waiter;
	waiter = waits->unused;
	if (waiter)
		waits->unused = waiter->next;
	else
		waiter = pmc_arena_alloc(arena, sizeof(*waiter));
	waiter->tid = tid;
	waiter->waiting = waiter->preempted = waiter->ended = false;
	HASH_ADD(hh, waits->waiters, tid, sizeof(waiter->tid), waiter);
	return waiter;
}

static void take_switch(struct top_waits *waits, const struct pmc_record *record)
{
	struct waiter *waiter;

	/* An idle CPU, or a thread at its end. */
	if ((int32_t)record->tid <= 0)
		return;
	waiter = waiter_of(waits, record->tid);
	if (record->context_switch.out) {
		waiter->preempted = record->context_switch.preempted;
		waiter->waiting = !waiter->ended && !waiter->preempted;
		waiter->since_ns = record->time;
		return;
	}
	if ((waiter->waiting || waiter->preempted) && waiter->since_ns > waits->lost_ns)
		pmc_histogram_add(&waits->arena,
				  waiter->preempted ? &waiter->lengths[waits->now].delays :
						      &waiter->lengths[waits->now].waits,
				  pmc_sub_sat(record->time, waiter->since_ns));
	waiter->waiting = waiter->preempted = false;
}

/* The number of a thread that has ended may be used again. */
static void take_task(struct top_waits *waits, const struct pmc_record *record)
{
	struct waiter *waiter;

	HASH_FIND(hh, waits->waiters, &record->task.tid, sizeof(record->task.tid), waiter);
	if (!waiter)
		return;
	waiter->waiting = waiter->preempted = false;
	waiter->ended = record->type == PERF_RECORD_EXIT;
}

void top_waits_take(struct top_waits *waits, const struct pmc_record *record)
{
	switch (record->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(waits, record);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(waits, record);
		break;
	case PERF_RECORD_LOST:
		pmc_add_sat(&waits->lost, record->lost.lost);
		waits->lost_ns = record->time > waits->lost_ns ? record->time : waits->lost_ns;
		break;
	default:
		break;
	}
}

void top_waits_read(struct top_waits *waits)
{
	struct pmc_record record;
	int error = waits ? 0 : -ENODATA;

	if (waits)
		(void)rings_enable(&waits->rings);
	while (!error || error == -EPROTO) {
		error = pmc_sampler_set_next(waits->rings.set, &record, NULL);
		if (!error)
			top_waits_take(waits, &record);
	}
}

/* ---- intervals ---------------------------------------------------------------------------- */

void top_waits_step(struct top_waits *waits)
{
	struct waiter *waiter, *next;

	if (!waits)
		return;
	waits->now ^= 1;
	waits->lost_now = waits->lost - waits->lost_before;
	waits->lost_before = waits->lost;
	HASH_ITER (hh, waits->waiters, waiter, next) {
		const bool shown = waiter->lengths[!waits->now].waits.n ||
				   waiter->lengths[!waits->now].delays.n;

		pmc_histogram_clear(&waiter->lengths[waits->now].waits);
		pmc_histogram_clear(&waiter->lengths[waits->now].delays);
		if (!waiter->ended || shown)
			continue;
		HASH_DEL(waits->waiters, waiter);
		waiter->next = waits->unused;
		waits->unused = waiter;
	}
}

void top_waits_add(const struct top_waits *waits, pid_t tid, struct pmc_arena *arena,
		   struct top_lengths *to)
{
	const uint32_t key = (uint32_t)tid;
	const struct waiter *waiter = NULL;

	if (waits)
		HASH_FIND(hh, waits->waiters, &key, sizeof(key), waiter);
	if (!waiter)
		return;
	pmc_histogram_merge(arena, &to->waits, &waiter->lengths[!waits->now].waits);
	pmc_histogram_merge(arena, &to->delays, &waiter->lengths[!waits->now].delays);
}

uint64_t top_waits_lost(const struct top_waits *waits)
{
	return waits ? waits->lost : 0;
}

uint64_t top_waits_lost_now(const struct top_waits *waits)
{
	return waits ? waits->lost_now : 0;
}

/* ---- start and end ------------------------------------------------------------------------ */

/* An event that counts nothing has the records, which say who, where and when. */
static int open_on(void *arg, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct top_waits *waits = arg;
	struct pmc_open_options options;
	struct pmc_counter_event event;
	const int error = pmc_counter_event_parse(&event, "dummy", why);

	snprintf(event.name, sizeof(event.name), "context switches");
	rings_options(&waits->rings, ring, tid, &options);
	options.context_switch = true;
	options.task = true;
	return error ? error : rings_add(&waits->rings, ring, &event, &options, why);
}

struct top_waits *top_waits_new(void)
{
	struct top_waits *waits = tool_realloc(NULL, sizeof(*waits));

	*waits = (struct top_waits){ .rings = { .pages = PAGES, .child.socket = -1 } };
	return waits;
}

int top_waits_start(struct top_watch *watch)
{
	static const struct rings_use use = { .verb = "record", .open = open_on };
	struct top_waits *waits = top_waits_new();
	struct live_tids *roots = &waits->processes;
	int code;

	watch->waits = waits;
	waits->rings.use = &use;
	waits->rings.owner = waits;
	for (const struct top_process *process = watch->processes; process;
	     process = process->hh.next)
		live_tids_add(roots, process->pid);
	waits->rings.processes = watch->flags->all ? NULL : roots;
	code = rings_open(&waits->rings, true);
	if (code)
		return code;
	/* The caller waits for signals itself. */
	close(waits->rings.wait.signals);
	code = rings_enable(&waits->rings);
	return code ? tool_fail(EXIT_FAIL, "cannot record switches: %s", strerror(-code)) : 0;
}

void top_waits_free(struct top_waits *waits)
{
	if (!waits)
		return;
	rings_close(&waits->rings);
	live_tids_free(&waits->processes);
	pmc_arena_free(&waits->arena);
	free(waits);
}
