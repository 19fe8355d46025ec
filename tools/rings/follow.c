/* SPDX-License-Identifier: MIT */
/*
 * follow.c - from the start of tracing to its end: reads the rings, in order of time, and empties
 * them.
 *
 * SIGINT, SIGTERM or SIGHUP ends the tracing (of a command: is forwarded to it, and the command's
 * end ends the tracing), another one pmctl.
 */
#include "lib/base/clock.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SLICE_MS 100

/* ---- records ------------------------------------------------------------------------------ */

static struct trace_ring *ring_of(struct trace *trace, const struct pmc_sampler *sampler)
{
	for (unsigned r = 0; r < trace->n_rings; r++)
		if (trace->rings[r].sampler == sampler)
			return &trace->rings[r];
	return NULL;
}

static void lose(struct trace *trace, struct trace_ring *ring, uint64_t lost)
{
	static bool said;

	if (!lost)
		return;
	ring->lost += lost;
	trace_write_loss(trace, ring, lost);
	if (!said)
		tool_warn("records are being lost: use larger rings (-m %u)%s, or --filter",
			  4 * trace->ring_pages, trace->rows.output ? "" : ", -o FILE");
	said = true;
}

static void take(struct trace *trace, const struct pmc_record *record, struct trace_ring *ring)
{
	if (record->type == PERF_RECORD_LOST) {
		lose(trace, ring, record->lost.lost);
	} else if (record->type == PERF_RECORD_SAMPLE) {
		ring->records++;
		if (trace->summary)
			trace_summary_take(trace, record);
		else
			trace_write(trace, record);
	} else if (record->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		trace_summary_switch(trace, record);
	} else {
		trace_name_take(trace, record);
		if (trace->stacks)
			unwind_take(&trace->unwind, record);
	}
}

/* A ring that has failed ends alone; the others go on. */
static void explain(const struct trace_ring *ring, int error)
{
	struct pmc_failure why;

	pmc_sampler_explain(ring->sampler, error, &why);
	tool_warn("CPU %d: %s: %s", ring->cpu, why.what, why.advice);
}

/* A process that forked while its events were switched off may have children with events that are
 * on, which go on writing records. */
static bool is_after_stop(const struct trace *trace, const struct pmc_record *record)
{
	return trace->stopped_ns && record->time > trace->stopped_ns;
}

static void empty_ring(struct trace *trace, struct trace_ring *ring)
{
	struct pmc_record record;
	uint64_t lost;
	int error;

	if (!ring->sampler)
		return;
	pmc_sampler_set_remove(trace->set, ring->sampler);
	do {
		error = pmc_sampler_next(ring->sampler, &record);
		if (!error && is_after_stop(trace, &record))
			break;
		if (!error)
			take(trace, &record, ring);
	} while (!error || error == -EPROTO);
	/* Losses are reported with the next record, which the last ones do not have. */
	if (pmc_sampler_lost(ring->sampler, &lost) == 0 && lost > ring->lost)
		lose(trace, ring, lost - ring->lost);
}

/* Reads the remaining records: nothing is written any more, so no record needs to wait for older
 * ones. */
static void empty_rings(struct trace *trace)
{
	struct pmc_sampler_totals totals;

	pmc_sampler_set_read_totals(trace->set, &totals);
	trace->late = totals.late;
	for (unsigned r = 0; r < trace->n_rings; r++)
		empty_ring(trace, &trace->rings[r]);
}

/* ---- the loop ----------------------------------------------------------------------------- */

static bool is_over(struct trace *trace, uint64_t ns)
{
	if (trace->rows.out.error || (trace->end_ns && ns >= trace->end_ns))
		return true;
	if (live_wait(&trace->wait, 1) != LIVE_TIME)
		return true;
	/* With --summary the rings are those of the whole machine. */
	return trace->pid && trace->summary && kill(trace->pid, 0) && errno == ESRCH;
}

/* Nothing is written to the rings any more, but see is_after_stop(). */
static void stop(struct trace *trace)
{
	if (trace->stopped_ns)
		return;
	pmc_sampler_set_disable(trace->set);
	trace->stopped_ns = pmc_now_ns();
	close(trace->wait.signals);
	sigprocmask(SIG_SETMASK, &trace->was_blocked, NULL);
}

/* The time to wait for a record. */
static int check(struct trace *trace)
{
	const uint64_t ns = pmc_now_ns();

	if (!trace->stopped_ns && is_over(trace, ns))
		stop(trace);
	if (trace->stopped_ns || !trace->end_ns || trace->end_ns - ns > SLICE_MS * 1000000ull)
		return SLICE_MS;
	return (int)((trace->end_ns - ns) / 1000000) + 1;
}

static void follow(struct trace *trace)
{
	struct pmc_sampler *from;
	struct pmc_record record;
	unsigned records = 0;
	int error;

	while (!trace->rows.out.error) {
		error = pmc_sampler_set_next(trace->set, &record, &from);
		if (error == -EAGAIN) {
			pmc_out_flush(&trace->rows.out);
			error = pmc_sampler_set_next_wait(trace->set, &record, &from, check(trace));
			if (error == -EAGAIN && trace->stopped_ns)
				return;
		}
		if (!error && is_after_stop(trace, &record))
			return;
		if (!error)
			take(trace, &record, ring_of(trace, from));
		else if (from && error != -EPROTO)
			explain(ring_of(trace, from), error);
		else if (error != -EAGAIN && error != -EINTR && error != -EPROTO)
			return; /* -ENODATA: all traced threads have ended */
		if (!(++records % 256))
			(void)check(trace);
	}
}

int trace_follow(struct trace *trace)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	int code = 0;

	trace->wait = (struct live_wait){
		.signals = tool_signals(ends, sizeof(ends) / sizeof(ends[0]), &trace->was_blocked),
		.input = -1,
		.child = &trace->child,
		.forward = trace->command,
	};
	if (trace->duration_ns)
		trace->end_ns = pmc_now_ns() + trace->duration_ns;
	/* Events of a command start with its exec. */
	if (!trace->command || trace->summary)
		code = pmc_sampler_set_enable(trace->set);
	if (code)
		return tool_fail(trace_failed(trace), "cannot start tracing: %s", strerror(-code));
	if (trace->command)
		code = tool_child_go(&trace->child, trace->command[0]);
	if (code)
		return code;
	follow(trace);
	stop(trace);
	empty_rings(trace);
	pmc_out_flush(&trace->rows.out);
	return 0;
}
