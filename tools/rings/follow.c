/* SPDX-License-Identifier: MIT */
/* follow.c - from the start of the recording to its end: reads the rings, and empties them. */
#include "lib/base/clock.h"
#include "tools/rings/rings.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SLICE_MS 100

/* ---- records ------------------------------------------------------------------------------ */

static struct ring *ring_of(struct rings *rings, const struct pmc_sampler *sampler)
{
	for (unsigned r = 0; r < rings->n; r++)
		if (rings->list[r].sampler == sampler)
			return &rings->list[r];
	return NULL;
}

static void lose(struct rings *rings, struct ring *ring, uint64_t lost)
{
	if (!lost)
		return;
	ring->lost += lost;
	rings->use->lose(rings->owner, ring, lost);
}

static void take(struct rings *rings, struct ring *ring, const struct pmc_record *record)
{
	if (record->type == PERF_RECORD_LOST) {
		lose(rings, ring, record->lost.lost);
		return;
	}
	ring->records += record->type == PERF_RECORD_SAMPLE;
	rings->use->take(rings->owner, ring, record);
}

/* A ring that has failed ends alone; the others go on. */
static void explain(const struct ring *ring, int error)
{
	struct pmc_failure why;

	pmc_sampler_explain(ring->sampler, error, &why);
	tool_warn("CPU %d: %s: %s", ring->cpu, why.what, why.advice);
}

/* A process that forked while its events were switched off may have children with events that are
 * on, which go on writing records. */
static bool is_after_stop(const struct rings *rings, const struct pmc_record *record)
{
	return rings->stopped_ns && record->time > rings->stopped_ns;
}

static void empty_ring(struct rings *rings, struct ring *ring)
{
	struct pmc_record record;
	uint64_t lost;
	int error;

	if (!ring->sampler)
		return;
	pmc_sampler_set_remove(rings->set, ring->sampler);
	do {
		error = pmc_sampler_next(ring->sampler, &record);
		if (!error && is_after_stop(rings, &record))
			break;
		if (!error)
			take(rings, ring, &record);
	} while (!error || error == -EPROTO);
	/* Losses are reported with the next record, which the last ones do not have. */
	if (pmc_sampler_lost(ring->sampler, &lost) == 0 && lost > ring->lost)
		lose(rings, ring, lost - ring->lost);
}

/* Reads the remaining records: nothing is written any more, so no record needs to wait for older
 * ones. */
static void empty_rings(struct rings *rings)
{
	struct pmc_sampler_totals totals;

	pmc_sampler_set_read_totals(rings->set, &totals);
	rings->late = totals.late;
	for (unsigned r = 0; r < rings->n; r++)
		empty_ring(rings, &rings->list[r]);
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* Events of the machine do not end with the processes they are for. */
static bool all_ended(const struct live_tids *processes)
{
	for (unsigned i = 0; i < processes->n; i++)
		if (!kill(processes->list[i], 0) || errno != ESRCH)
			return false;
	return true;
}

static bool is_over(struct rings *rings, uint64_t ns)
{
	if (rings->end_ns && ns >= rings->end_ns)
		return true;
	if (live_wait(&rings->wait, 1) != LIVE_TIME)
		return true;
	return rings->processes && rings->machine && all_ended(rings->processes);
}

/* Nothing is written to the rings any more, but see is_after_stop(). */
static void stop(struct rings *rings)
{
	if (rings->stopped_ns)
		return;
	pmc_sampler_set_disable(rings->set);
	rings->stopped_ns = pmc_now_ns();
	close(rings->wait.signals);
	/* Those for a command wait until tool_wait() forwards them. */
	if (!rings->command)
		sigprocmask(SIG_SETMASK, &rings->was_blocked, NULL);
}

/* The time to wait for a record. */
static int check(struct rings *rings)
{
	const uint64_t ns = pmc_now_ns();

	if (!rings->stopped_ns && is_over(rings, ns))
		stop(rings);
	if (rings->stopped_ns || !rings->end_ns || rings->end_ns - ns > SLICE_MS * 1000000ull)
		return SLICE_MS;
	return (int)((rings->end_ns - ns) / 1000000) + 1;
}

static bool goes_on(const struct rings *rings)
{
	return !rings->use->flush || rings->use->flush(rings->owner);
}

static void follow(struct rings *rings)
{
	struct pmc_sampler *from;
	struct pmc_record record;
	unsigned records = 0;
	int error;

	for (;;) {
		error = pmc_sampler_set_next(rings->set, &record, &from);
		if (error == -EAGAIN) {
			if (!goes_on(rings))
				return;
			error = pmc_sampler_set_next_wait(rings->set, &record, &from, check(rings));
			if (error == -EAGAIN && rings->stopped_ns)
				return;
		}
		if (!error && is_after_stop(rings, &record))
			return;
		if (!error)
			take(rings, ring_of(rings, from), &record);
		else if (from && error != -EPROTO)
			explain(ring_of(rings, from), error);
		else if (error != -EAGAIN && error != -EINTR && error != -EPROTO)
			return; /* -ENODATA: all threads have ended */
		if (++records % 256)
			continue;
		if (!goes_on(rings))
			return;
		(void)check(rings);
	}
}

int rings_follow(struct rings *rings)
{
	int code = 0;

	if (rings->duration_ns)
		rings->end_ns = pmc_now_ns() + rings->duration_ns;
	/* Events of a command start with its exec. */
	if (!rings->command || rings->machine)
		code = pmc_sampler_set_enable(rings->set);
	if (code)
		return tool_fail(rings_failed(rings), "cannot start to %s: %s", rings->use->verb,
				 strerror(-code));
	if (rings->command)
		code = tool_child_go(&rings->child, rings->command[0]);
	if (code)
		return code;
	follow(rings);
	stop(rings);
	empty_rings(rings);
	return 0;
}
