/* SPDX-License-Identifier: MIT */
/*
 * record.c - the events on a command that write a record at each switch, and the thread that reads
 * them.
 *
 * The event is the kernel's count of context switches, which an unprivileged user may sample where
 * perf_event_paranoid is 1 or less, and which needs no tracefs. An inherited event has a ring only
 * if it is bound to a CPU, so there is one for each CPU.
 */
#include "lib/base/clock.h"
#include "tools/cli/pmctl.h"
#include "tools/offcpu/private.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PAGES_LEAST 16
#define SLICE_MS    100

static int open_rings(struct off_cpu *off, pid_t pid, struct pmc_failure *why)
{
	unsigned pages = unwind_pages(&off->unwind);
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter_event event;
	int error = pmc_counter_event_parse(&event, "context-switches", NULL);

	options.target = PMC_TARGET_PID;
	options.pid = pid;
	options.inherit = true;
	options.enable_on_exec = true;
	options.user_if_denied = false;
	/* Who, where and when. */
	options.context_switch = true;
	unwind_options_maps(&options);
	options.use_clockid = true;
	options.clockid = CLOCK_MONOTONIC; /* of dumps */
	options.sample_period = 1;
	options.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	unwind_options_stack(&off->unwind, &options);
	if (!error)
		error = pmc_sampler_set_open(&off->set, &event, &options, pages, why);
	if (error && error != -EACCES && error != -EPERM) { /* Linux before 5.12 */
		options.build_id = false;
		error = pmc_sampler_set_open(&off->set, &event, &options, pages, why);
	}
	/* More than this user may lock. */
	while (error == -EPERM && (pages /= 2) >= PAGES_LEAST)
		error = pmc_sampler_set_open(&off->set, &event, &options, pages, why);
	return error;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void *read_rings(void *arg)
{
	struct off_cpu *off = arg;
	struct pmc_record record;
	int error;

	do {
		error = pmc_sampler_set_next_wait(off->set, &record, NULL, SLICE_MS);
		if (!error)
			off_take(off, &record);
		else if (error == -ENODATA)
			break;
	} while (!error || !atomic_load(&off->stop));
	return NULL;
}

int off_cpu_start(struct off_cpu **to, pid_t pid, bool frame_pointers)
{
	struct off_cpu *off = calloc(1, sizeof(*off));
	struct pmc_failure why = { .advice = "out of memory" };
	int error;

	*to = off;
	if (!off)
		return tool_fail(EXIT_OURS, "out of memory");
	off->unwind.frame_pointers = frame_pointers;
	error = open_rings(off, pid, &why);
	if (error)
		return tool_fail(EXIT_OURS, "cannot record where threads wait (--off-cpu): %s",
				 why.advice);
	/* The caller has blocked the signals that it waits for. */
	error = pthread_create(&off->reader, NULL, read_rings, off);
	if (error)
		return tool_fail(EXIT_OURS, "cannot start a thread: %s", strerror(error));
	off->reads = true;
	return 0;
}

/* The kernel reports losses with the next record that fits, and none may have come. */
static void add_unreported(struct off_cpu *off)
{
	uint64_t lost;

	if (pmc_sampler_set_lost(off->set, &lost) || lost <= off->lost)
		return;
	off->lost = lost;
	off->lost_ns = off->stop_ns;
}

void off_cpu_stop(struct off_cpu *off)
{
	if (!off || !off->reads)
		return;
	pmc_sampler_set_disable(off->set);
	off->stop_ns = pmc_now_ns();
	atomic_store(&off->stop, true);
	pthread_join(off->reader, NULL);
	off->reads = false;
	add_unreported(off);
	off_settle(off);
}

void off_cpu_free(struct off_cpu *off)
{
	if (!off)
		return;
	off_cpu_stop(off);
	pmc_sampler_set_free(off->set);
	unwind_free(&off->unwind);
	pmc_arena_free(&off->arena);
	free(off);
}
