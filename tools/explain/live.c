/* SPDX-License-Identifier: MIT */
/*
 * live.c - facts of running processes: what their threads do for a time, as /proc shows it.
 *
 * Threads that start and end between two readings are not seen.
 */
#include "tools/cli/pmctl.h"
#include "tools/explain/explain.h"
#include "tools/live/task.h"
#include "tools/live/wait.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between two readings. */
#define STEP_NS UINT64_C(50000000)

struct watched {
	int tid;
	struct live_task task;
	struct live_span sum;
	/* Functions of the kernel that it was found waiting in: numbers of looks, not times. */
	struct pool_facts looks;
	uint64_t stopped; /* looks, too */
	bool ended;
	struct watched *next; /* all that were seen */
	UT_hash_handle hh;    /* those that live */
};

struct watch {
	struct pmc_arena *arena;
	const struct live_tids *pids;
	struct live_tids tids;
	struct live_budget budget;
	struct watched *all, *live;
	uint64_t begin_ns, scanned_ns;
	uint64_t *cpu_ns; /* of each process at the first reading; NULL: not yet */
};

/* A thread in state D that is about to go on has no function; most wait for a disk. */
static void look(struct watch *watch, struct watched *thread)
{
	const char *name = thread->task.wchan;
	const bool is_disk = thread->task.stat.state == 'D';
	const bool asleep = is_disk || thread->task.stat.state == 'S';

	/* T: by a signal, t: by a debugger. */
	thread->stopped += thread->task.stat.state == 'T' || thread->task.stat.state == 't';
	if (asleep && (*name || is_disk))
		explain_add_place(watch->arena, &thread->looks,
				  *name ? explain_kernel_wait(name) : CAUSE_DISK,
				  *name ? name : NULL, 1);
	thread->looks.outside += asleep && explain_is_outside(name);
	thread->looks.slept += asleep && live_cause_of(name) == CAUSE_TIMER;
}

static void read_thread(struct watch *watch, struct watched *thread)
{
	const int error = live_task_read(&thread->task, watch->scanned_ns, &watch->budget);

	if (!error && thread->task.known) {
		live_span_add(&thread->sum, &thread->task.span);
		look(watch, thread);
	}
	if (error != -ESRCH)
		return;
	thread->ended = true;
	live_task_close(&thread->task, &watch->budget);
	HASH_DEL(watch->live, thread);
}

static void add_new(struct watch *watch, int pid, int tid)
{
	struct pmc_arena *arena = watch->arena;
	struct watched *thread;

	HASH_ENTRY(watch->live, tid, &tid, thread);
	if (thread->task.tid)
		return;
	live_task_init(&thread->task, pid, tid);
	thread->next = watch->all;
	watch->all = thread;
}

/* False: all processes have ended. */
static bool read_all(struct watch *watch)
{
	const uint64_t now = pmc_now_ns();
	struct watched *thread, *next;
	bool any = false;

	for (unsigned p = 0; p < watch->pids->n; p++) {
		const pid_t pid = watch->pids->list[p];

		if (live_is_zombie(pid) || live_tids_read(pid, &watch->tids))
			continue;
		any = true;
		for (unsigned i = 0; i < watch->tids.n; i++)
			add_new(watch, pid, watch->tids.list[i]);
	}
	HASH_ITER (hh, watch->live, thread, next)
		read_thread(watch, thread);
	watch->scanned_ns = now;
	return any;
}

/* ---- pools ------------------------------------------------------------------------------- */

struct pool {
	uint64_t key;
	struct pool_facts facts;
	UT_hash_handle hh;
};

static struct pool_facts *pool_of(struct watch *watch, struct pool **pools,
				  const struct watched *thread)
{
	char name[LIVE_NAME];
	/* As in recordings, the main thread of one process is a pool of its own. */
	const bool is_main = thread->task.pid == thread->task.tid && watch->pids->n == 1;
	const uint64_t key = live_pool_key(is_main ? "(main)" : thread->task.stat.name, name);
	struct pmc_arena *arena = watch->arena;
	struct pool *pool;

	HASH_ENTRY(*pools, key, &key, pool);
	if (!pool->facts.name)
		pool->facts.name = pmc_arena_strndup(arena, name, strnlen(name, sizeof(name)));
	return &pool->facts;
}

/* The time that it was blocked, by how often it was found in each place. */
static void add_looks(struct pmc_arena *arena, struct place_facts *to,
		      const struct place_facts *looks, double each)
{
	explain_place_add(arena, to, looks->function, (uint64_t)(each * (double)looks->ns));
}

static void add_thread(struct facts *facts, struct pool_facts *pool, const struct watched *thread,
		       uint64_t begin_ns)
{
	const struct live_span *sum = &thread->sum;
	const uint64_t start = live_start_ns(&thread->task.stat);

	const struct pool_facts *looks = &thread->looks;
	const uint64_t n = looks->any.ns + thread->stopped;
	const double each = (double)sum->blocked_ns / (double)(n + !n);
	const uint64_t stopped = (uint64_t)(each * (double)thread->stopped);

	pool->has_places |= looks->any.ns != 0;
	pool->stopped += stopped;
	add_looks(facts->arena, &pool->disk, &looks->disk, each);
	add_looks(facts->arena, &pool->network, &looks->network, each);
	add_looks(facts->arena, &pool->any, &looks->any, each);
	/* The functions of the kernel are those of reads; each page fault is one voluntary switch.
	 */
	if (sum->major_faults > sum->voluntary / 2)
		pool->paged += (uint64_t)(each * (double)looks->disk.ns);
	pool->outside += (uint64_t)(each * (double)looks->outside);
	pool->slept += (uint64_t)(each * (double)looks->slept);
	explain_add(
		facts, pool,
		&(struct thread_facts){
			.row = { .flags =
					 thread->task.pid == thread->task.tid ? PMC_THREAD_MAIN : 0,
				 .start_ns = start > begin_ns ? start : begin_ns,
				 .cpu_ns = sum->cpu_ns,
				 .voluntary_switches = sum->voluntary,
				 .involuntary_switches = sum->involuntary,
				 .minor_faults = sum->minor_faults,
				 .major_faults = sum->major_faults },
			.has_delay = true,
			.life = pmc_sub_sat(sum->ns, stopped),
			.waits = (uint64_t)(each * (double)(looks->disk.ns + looks->network.ns)),
			.delay = sum->delay_ns,
			.counts[EXPLAIN_SYSTEM] = sum->system_ns,
			.has_count[EXPLAIN_SYSTEM] = true,
		});
}

/* That one of the processes may use. */
static unsigned count_cpus(const struct live_tids *pids)
{
	cpu_set_t all, set;

	CPU_ZERO(&all);
	for (unsigned i = 0; i < pids->n; i++)
		if (sched_getaffinity(pids->list[i], sizeof(set), &set) == 0)
			CPU_OR(&all, &all, &set);
	return (unsigned)CPU_COUNT(&all);
}

static void make_facts(struct watch *watch, struct facts *facts)
{
	struct pool *pools = NULL;

	for (const struct watched *thread = watch->all; thread; thread = thread->next)
		if (thread->sum.ns)
			add_thread(facts, pool_of(watch, &pools, thread), thread, watch->begin_ns);
	facts->pools =
		pmc_arena_alloc(watch->arena, (HASH_COUNT(pools) + 1) * sizeof(*facts->pools));
	facts->has_delay = pools != NULL;
	for (struct pool *pool = pools; pool; pool = pool->hh.next) {
		explain_add_end(facts, &pool->facts);
		facts->pools[facts->n_pools++] = pool->facts;
	}
	facts->wall = watch->scanned_ns - watch->begin_ns;
}

/* With threads that no reading has seen. Of a process that has ended it is not known. */
static void read_processes(struct watch *watch, struct facts *facts)
{
	const bool first = !watch->cpu_ns;
	uint64_t sum = 0;

	if (first)
		watch->cpu_ns =
			pmc_arena_alloc(watch->arena, watch->pids->n * sizeof(*watch->cpu_ns));
	for (unsigned p = 0; p < watch->pids->n; p++) {
		const uint64_t ns = live_process_cpu_ns(watch->pids->list[p]);

		if (first)
			watch->cpu_ns[p] = ns;
		else
			sum += pmc_sub_sat(ns, watch->cpu_ns[p]);
	}
	/* The clocks of threads and processes are read at different times. */
	if (sum > facts->cpu)
		facts->cpu = sum;
}

int explain_watch(const char *pids, const char *name, uint64_t duration_ns, struct pmc_arena *arena,
		  struct facts *facts)
{
	struct live_tids found = { .n = 0 };
	struct watch watch = { .arena = arena, .pids = &found };
	static const int ends[] = { SIGINT, SIGTERM, 0 };
	struct tool_child none = { .pid = 0 };
	struct live_wait wait = { .input = -1, .child = &none };
	struct live_cpu_limit before;
	uint64_t end_ns;
	char exe[32];
	int code = live_find(pids, name, &found);
	bool alive;

	*facts = (struct facts){ .arena = arena };
	if (code)
		return code;
	facts->cpus = count_cpus(&found);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", found.list[0]);
	facts->go = run_is_go(exe);
	live_cpu_limit_read(found.list[0], &before);
	live_budget_init(&watch.budget);
	watch.begin_ns = pmc_now_ns();
	end_ns = watch.begin_ns + duration_ns;
	live_wait_begin(&wait, ends);
	read_processes(&watch, facts);
	alive = read_all(&watch);
	/* What has been seen by a signal is explained; a second one ends pmctl. */
	while (alive && watch.scanned_ns < end_ns) {
		const uint64_t next = watch.scanned_ns + STEP_NS;

		if (live_wait(&wait, next < end_ns ? next : end_ns) != LIVE_TIME)
			break;
		alive = read_all(&watch);
	}
	live_wait_end(&wait);
	make_facts(&watch, facts);
	read_processes(&watch, facts);
	facts->has_delay &= !explain_has_unjudged(facts);
	live_cpu_limit_read(found.list[0], &facts->limit);
	live_cpu_limit_since(&facts->limit, &before);
	for (struct watched *thread = watch.live; thread; thread = thread->hh.next)
		live_task_close(&thread->task, &watch.budget);
	live_tids_free(&watch.tids);
	live_tids_free(&found);
	if (!facts->n_pools)
		return tool_fail(EXIT_FAIL, "the process has ended before it could be watched");
	return 0;
}
