/* SPDX-License-Identifier: MIT */
/* rings.c - opens a ring on each CPU, follows the recording to its end, and empties the rings. */
#include "tools/rings/rings.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/counter/counter.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS      100
#define LEAST_PAGES   16
#define CPUS	      "/sys/devices/system/cpu"
#define MOST_ATTEMPTS 20u /* to attach, for at most so long, as the target is slower meanwhile */
#define MOST_NS	      2000000000u
#define READER_NICE   (-10)
#define MOST_ENABLES  3u
#define ENABLE_MS     2

int rings_failed(const struct rings *rings)
{
	return rings->command ? EXIT_OURS : EXIT_FAIL;
}

/* ---- CPUs --------------------------------------------------------------------------------- */

/* Not all that a CPU does. */
static bool follows_threads(const struct rings *rings)
{
	return (rings->processes || rings->thread || rings->command) && !rings->machine;
}

static int find_cpus(struct rings *rings)
{
	char list[4096];
	const char *at = list, *wanted = rings->cpus;
	uint64_t first, last;
	size_t room = 0;

	/* Events of threads can be opened for CPUs that are offline, and go on when these are not.
	 */
	if (pmc_file_read(list, sizeof(list), CPUS "/%s",
			  follows_threads(rings) ? "present" : "online") <= 0)
		return tool_fail(rings_failed(rings),
				 "cannot read which CPUs are online: mount sysfs at /sys");
	while (pmc_range_take(&at, &first, &last))
		for (uint64_t cpu = first; cpu <= last; cpu++) {
			if (wanted && !pmc_list_has(wanted, cpu))
				continue;
			rings->list = pmc_arena_grow(&rings->arena, rings->list, rings->n, &room,
						     sizeof(*rings->list));
			rings->list[rings->n++] = (struct ring){ .cpu = (int)cpu };
		}
	while (wanted && pmc_range_take(&wanted, &first, &last))
		for (uint64_t cpu = first; cpu <= last; cpu++)
			if (!pmc_list_has(list, cpu))
				return tool_fail(EXIT_FAIL,
						 "CPU %d is not online; see " CPUS "/online",
						 (int)cpu);
	return 0;
}

/* ---- events ------------------------------------------------------------------------------- */

void rings_options(const struct rings *rings, const struct ring *ring, pid_t tid,
		   struct pmc_open_options *options)
{
	*options = (struct pmc_open_options)PMC_OPEN_INIT;
	options->target = tid ? PMC_TARGET_PID : PMC_TARGET_ANY;
	options->pid = tid;
	if (rings->cgroup_fd) {
		options->target = PMC_TARGET_CGROUP;
		options->cgroup_fd = rings->cgroup_fd;
	}
	options->cpu = ring->cpu;
	options->inherit = tid && !rings->thread;
	options->enable_on_exec = tid && rings->command;
	/* The clock of dumps. */
	options->use_clockid = true;
	options->clockid = CLOCK_MONOTONIC;
	options->sample_period = 1;
	options->sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	options->sample_id_all = true;
}

static int open_ring(struct rings *rings, struct ring *ring, struct pmc_counter *counter,
		     struct pmc_failure *why)
{
	int error;

	do {
		error = pmc_sampler_open(&ring->sampler, counter, rings->pages, why);
		/* More than this user may lock: smaller, unless the size was asked for. */
	} while (error == -EPERM && !rings->asked_pages && (rings->pages /= 2) >= LEAST_PAGES);
	return error ? error : pmc_sampler_set_add(rings->set, ring->sampler);
}

static int open_counter(struct pmc_counter **counter, const struct pmc_counter_event *event,
			struct pmc_open_options *options, struct pmc_failure *why)
{
	options->read_format |= PMC_READ_FORMAT_LOST;
	for (;;) {
		const int error = pmc_counter_open(counter, event, options, why);

		if (!error || error == -EACCES || error == -EPERM)
			return error;
		if (options->read_format & PMC_READ_FORMAT_LOST) /* Linux before 6.0 */
			options->read_format &= ~(uint64_t)PMC_READ_FORMAT_LOST;
		else if (options->build_id) /* 5.12 */
			options->build_id = false;
		else
			return error;
	}
}

int rings_add(struct rings *rings, struct ring *ring, const struct pmc_counter_event *event,
	      struct pmc_open_options *options, struct pmc_failure *why)
{
	struct pmc_counter *counter;
	int error = open_counter(&counter, event, options, why);

	if (error)
		return error;
	ring->counters = tool_list_grow(ring->counters, ring->n_counters, &ring->room_counters,
					sizeof(struct pmc_counter *));
	ring->counters[ring->n_counters++] = counter;
	if (!ring->sampler)
		return open_ring(rings, ring, counter, why);
	error = pmc_sampler_attach(ring->sampler, counter);
	if (error)
		pmc_sampler_explain(ring->sampler, error, why);
	return error;
}

/* ---- threads ------------------------------------------------------------------------------ */

static int open_thread(struct rings *rings, pid_t tid)
{
	struct pmc_failure why = { .advice = "out of memory" };
	int error = 0;

	for (unsigned r = 0; r < rings->n && !error; r++) {
		struct ring *ring = &rings->list[r];

		error = rings->use->open(rings->owner, ring, tid, &why);
		/* It went offline. */
		if (error == -ENODEV && !counter_cpu_is_online(ring->cpu))
			error = 0;
	}
	if (error == -ESRCH && rings->processes)
		return 0; /* the thread has ended */
	if (error >= 0)
		return error;
	if (error == -ESRCH)
		return tool_fail(rings_failed(rings), "no such thread: %d", (int)tid);
	return tool_fail(rings_failed(rings), "cannot %s %s: %s", rings->use->verb, why.what,
			 why.advice);
}

static void close_ring(struct rings *rings, struct ring *ring)
{
	if (ring->sampler)
		pmc_sampler_set_remove(rings->set, ring->sampler);
	pmc_sampler_close(ring->sampler);
	ring->sampler = NULL;
	for (size_t i = 0; i < ring->n_counters; i++)
		pmc_counter_close(ring->counters[i]);
	free(ring->counters);
	ring->counters = NULL;
	ring->n_counters = ring->room_counters = 0;
}

/* All threads. One that starts meanwhile inherits the events of the thread that creates it, as far
 * as these are open yet, and how far is not visible from outside. So they are closed and opened
 * again until no thread has started meanwhile. The recording starts after that, in all of them. */
static int open_processes(struct rings *rings)
{
	const pid_t first = rings->processes->list[0];
	struct live_tids tids = { .n = 0 }, after = { .n = 0 };
	const uint64_t until = pmc_now_ns() + MOST_NS;
	int error = 0, code = 0;
	bool any = false, steady = false;
	unsigned i = 0;

	for (; i < MOST_ATTEMPTS && !steady && !error && !code; i++) {
		if (i && pmc_now_ns() > until)
			break;
		for (unsigned r = 0; r < rings->n; r++)
			close_ring(rings, &rings->list[r]);
		error = live_trees_read(rings->processes, &tids);
		for (unsigned t = 0; t < tids.n && !error && !code; t++)
			code = open_thread(rings, tids.list[t]);
		if (!error && !code)
			error = live_trees_read(rings->processes, &after);
		steady = live_tids_have_all(&tids, &after);
	}
	live_tids_free(&tids);
	live_tids_free(&after);
	for (unsigned r = 0; r < rings->n; r++)
		any |= rings->list[r].n_counters != 0;
	if (code)
		return code;
	if (error == -ESRCH || (!error && !any))
		return tool_fail(EXIT_FAIL, "no such process: %d", first);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot read /proc/%d/task: %s", first,
				 strerror(-error));
	if (!steady)
		tool_warn("threads of process %d were started during each of %u attempts to "
			  "attach: some may be missing",
			  first, i);
	return 0;
}

static void begin_wait(struct rings *rings)
{
	struct live_budget files; /* of which none is needed, but the limit is raised */
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };

	/* Those that come while it attaches end the recording at its start. */
	rings->wait = (struct live_wait){ -1, &rings->child, .forward = rings->command };
	live_wait_begin(&rings->wait, ends);
	/* Where the user may, until the stop: what is read late is lost. The command keeps its
	 * priority. */
	rings->nice = getpriority(PRIO_PROCESS, 0);
	if (rings->nice > READER_NICE)
		setpriority(PRIO_PROCESS, 0, READER_NICE);
	live_budget_init(&files);
}

int rings_open(struct rings *rings, bool follow)
{
	int code;

	if (pmc_sampler_set_new(&rings->set, rings->settle_ns))
		return tool_fail(rings_failed(rings), "out of memory");
	code = find_cpus(rings);
	if (!code && rings->command && follow)
		code = tool_child_start(&rings->child, rings->command);
	if (code)
		return code;
	if (follow)
		begin_wait(rings);
	if (rings->processes)
		return open_processes(rings);
	return open_thread(rings, rings->thread ? rings->thread : rings->child.pid);
}

static unsigned most_enables(const struct rings *rings)
{
	return rings->processes && !rings->machine ? MOST_ENABLES : 1;
}

int rings_enable(struct rings *rings)
{
	const uint64_t ns = pmc_now_ns();

	if (rings->enables == most_enables(rings) ||
	    (rings->enables && ns < rings->enabled_ns + ENABLE_MS * 1000000ull))
		return 0;
	rings->enables++;
	rings->enabled_ns = ns;
	return pmc_sampler_set_enable(rings->set);
}

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
		ring->last_ns = record->time;
		return;
	}
	ring->last_ns = record->time;
	ring->records += record->type == PERF_RECORD_SAMPLE;
	rings->use->take(rings->owner, record);
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
static bool all_ended(const struct rings *rings)
{
	const unsigned n = rings->processes ? rings->processes->n : rings->thread != 0;

	for (unsigned i = 0; i < n; i++)
		if (!kill(rings->processes ? rings->processes->list[i] : rings->thread, 0) ||
		    errno != ESRCH)
			return false;
	return n;
}

static bool is_over(struct rings *rings, uint64_t ns)
{
	if (rings->end_ns && ns >= rings->end_ns)
		return true;
	if (live_wait(&rings->wait, 1) != LIVE_TIME)
		return true;
	return rings->machine && all_ended(rings);
}

/* Nothing is written to the rings any more, but see is_after_stop(). */
static void stop(struct rings *rings)
{
	if (rings->stopped_ns)
		return;
	pmc_sampler_set_disable(rings->set);
	rings->stopped_ns = pmc_now_ns();
	/* What is read and written now can wait for the programs that were recorded. */
	setpriority(PRIO_PROCESS, 0, rings->nice);
	if (rings->use->stopped)
		rings->use->stopped(rings->owner);
	/* Those for a command wait until live_wait_child() forwards them. */
	if (rings->command)
		close(rings->wait.signals);
	else
		live_wait_end(&rings->wait);
}

/* The time to wait for a record. */
static int check(struct rings *rings)
{
	const uint64_t ns = pmc_now_ns();
	const int slice_ms = rings->slice_ms ? rings->slice_ms : SLICE_MS;

	if (!rings->stopped_ns && is_over(rings, ns))
		stop(rings);
	if (!rings->stopped_ns && rings->enables)
		(void)rings_enable(rings);
	if (!rings->stopped_ns && rings->enables && rings->enables < most_enables(rings))
		return ENABLE_MS;
	if (rings->stopped_ns || !rings->end_ns ||
	    rings->end_ns - ns > (uint64_t)slice_ms * 1000000)
		return slice_ms;
	return (int)((rings->end_ns - ns) / 1000000) + 1;
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
			if (!rings->use->flush(rings->owner))
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
		if (!rings->use->flush(rings->owner))
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
		code = rings_enable(rings);
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

void rings_close(struct rings *rings)
{
	tool_child_drop(&rings->child);
	for (unsigned r = 0; r < rings->n; r++)
		close_ring(rings, &rings->list[r]);
	pmc_sampler_set_free(rings->set);
	pmc_arena_free(&rings->arena);
}
