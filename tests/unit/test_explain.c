/* SPDX-License-Identifier: MIT */
/* test_explain.c - the rules of pmctl explain, by made facts: those that need hardware counters, a
 * limit of CPU time, or waits for disks and sockets; and none without their evidence. */
#include "tests/unit/unit.h"
#include "tools/explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)

static struct pmc_arena arena;
static struct pool_facts pool;
static struct facts facts;

/* A thread that computes for a second, on one of two CPUs. */
static int set_up(void **state)
{
	(void)state;
	pool = (struct pool_facts){
		.name = "worker-*",
		.threads = 1,
		.life = S,
		.cpu = S,
		.most_cpu = S,
		.has_usage = true,
		.has_switches = true,
		.has_delay = true,
		.longest.life = S,
		.longest.cpu = S,
	};
	facts = (struct facts){ .arena = &arena,
				.pools = &pool,
				.n_pools = 1,
				.threads = 1,
				.wall = S,
				.cpu = S,
				.has_delay = true,
				.has_counters = true,
				.cpus = 2 };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pmc_arena_free(&arena);
	return 0;
}

static void count(enum explain_event event, uint64_t value)
{
	pool.counts[event] = value;
	pool.has_count[event] = true;
}

/* The one finding; NULL: none. */
static const struct finding *finding(void)
{
	unsigned n;
	const struct finding *list = explain_find(&facts, &n);

	assert_true(n <= 1);
	return n ? list : NULL;
}

static const char *cause(void)
{
	const struct finding *found = finding();

	return found ? found->cause : "";
}

static void none(void **state)
{
	assert_string_equal(cause(), "");
	count(EXPLAIN_CYCLES, 3 * S);
	count(EXPLAIN_INSTRUCTIONS, 6 * S);
	count(EXPLAIN_CACHE_MISSES, 100000);
	count(EXPLAIN_BRANCH_MISSES, 1000000);
	count(EXPLAIN_TLB_MISSES, 100000);
	count(EXPLAIN_STALLED, S / 4);
	count(EXPLAIN_MIGRATIONS, 100);
	assert_string_equal(cause(), "");
}

/* A thread that works all the time among nine that are idle. */
static void busiest_thread(void **state)
{
	pool.threads = 10;
	pool.life = 10 * S;
	pool.cpu = pool.most_cpu = pool.longest.cpu = S / 2;
	pool.delay = S * 45 / 100;
	pool.busiest.cpu = pool.cpu;
	pool.busiest.delay = pool.delay;
	pool.busiest.life = S;
	facts.cpu = pool.cpu;
	facts.delay = pool.delay;
	assert_string_equal(cause(), "preempted");
	assert_true(finding()->gain > 1.81 && finding()->gain < 1.82);
	facts.delay = S * 155 / 100;
	assert_string_equal(cause(), "preempted");
	assert_null(strstr(finding()->text, "no more CPUs than there are"));
	facts.cpus = 1;
	facts.delay = S * 60 / 100;
	assert_string_equal(cause(), "cpu-starved");
	pool.busiest.life = 2 * S;
	assert_string_equal(cause(), "");
}

/* One thread with the work of four: the gain is that of the share that the text ends in. */
static void share_of_gain(void **state)
{
	const char *last;

	pool.threads = 4;
	pool.life = 4 * S;
	pool.cpu = facts.cpu = S / 2;
	pool.delay = facts.delay = S / 2;
	pool.longest = (struct thread_times){ .life = S, .cpu = S / 2, .delay = S / 2 };
	facts.cpus = 1;
	facts.wall = S * 9 / 10;
	assert_string_equal(cause(), "cpu-starved");
	assert_true(finding()->gain > 1.99 && finding()->gain < 2.01);
	last = strstr(finding()->text, "thread ");
	assert_non_null(last);
	assert_int_equal(strtoul(last + strlen("thread "), NULL, 10), 50);
	/* With fewer threads the one CPU does no more. */
	facts.wall = S / 2;
	assert_string_equal(finding()->advice, "more CPUs");
	assert_string_equal(finding()->instead, "at most 1 such thread, which then waits less");
	facts.cpus = 2;
	facts.delay = S;
	pool.cpus = 1;
	assert_string_equal(finding()->advice, "a wider affinity (taskset, cpuset)");
	assert_string_equal(finding()->instead, "fewer threads on these CPUs");
	/* Of two processes each may have a CPU of its own, of which others take a part. */
	pool.processes = 2;
	assert_non_null(strstr(finding()->evidence[0], "each of its 2 processes may use 1"));
	assert_non_null(strstr(finding()->advice, "what else is on these CPUs"));
	assert_non_null(strstr(finding()->advice, "share CPUs, a wider affinity"));
	assert_null(finding()->instead);
	facts.cpus = 3;
	facts.delay = 2 * S;
	assert_non_null(strstr(finding()->evidence[0], "of which its threads may use 1"));
	assert_string_equal(finding()->advice, "a wider affinity (taskset, cpuset)");
	facts.cpus = 1;
	facts.delay = S / 2;
	pool.cpus = 0;
	facts.wall = S * 9 / 10;
	assert_null(finding()->instead);
	/* As long as the pool itself waits. */
	pool.longest.delay = S / 10;
	assert_null(strstr(finding()->text, "thread"));
}

/* What is derived from a delay that is not complete is a lower bound, and no gain. */
static void incomplete_delays(void **state)
{
	pool.cpu = facts.cpu = S * 55 / 100;
	pool.delay = facts.delay = S * 45 / 100;
	facts.has_delay = pool.has_delay = true;
	assert_string_equal(cause(), "preempted");
	assert_non_null(strstr(finding()->text, "though the run wants no more CPUs"));
	/* There are no threads that could wake each other. */
	assert_null(strstr(finding()->advice, "threads of this run"));
	facts.threads = 2;
	assert_non_null(strstr(finding()->advice, "threads of this run"));
	assert_null(strstr(finding()->evidence[0], "at least"));
	assert_true(finding()->gain > 1);
	facts.has_delay = pool.has_delay = false;
	assert_string_equal(cause(), "preempted");
	assert_null(strstr(finding()->text, "though"));
	assert_non_null(strstr(finding()->text, "at least 45 %"));
	assert_non_null(strstr(finding()->evidence[0], "at least 1.0 threads"));
	assert_true(finding()->gain == 0);
	/* What is known of it is not unknown, too. */
	facts.dumped = true;
	assert_string_equal(finding()->unknown[0], "waits for a CPU (pmctl run -e run-delay)");
	facts.preemptions = true;
	assert_string_equal(finding()->unknown[0],
			    "waits for a CPU after a wake-up (pmctl run -e run-delay)");
	facts.recorded = true;
	assert_string_equal(finding()->unknown[0],
			    "waits for a CPU after a wake-up (of threads that have ended; pmctl "
			    "run -e run-delay, where it loads the agent)");
	/* Its waits hold waits for a CPU. */
	pool.all_life = 10 * S;
	pool.has_waits = pool.has_places = true;
	pool.delay_life = S;
	explain_add_end(&facts, &pool);
	assert_true(pool.mixed && !pool.has_waits && !pool.has_places);
	pool.mixed = false;
	pool.has_waits = true;
	pool.delay = S / 50;
	explain_add_end(&facts, &pool);
	assert_true(pool.has_waits && !pool.mixed);
	/* They are little of waits that are ten times as long, but for those of idle threads. */
	pool.delay = S / 10;
	pool.waits = pool.active.ns = S;
	explain_add_end(&facts, &pool);
	assert_true(pool.has_waits && !pool.mixed);
	pool.active.ns = S / 2;
	explain_add_end(&facts, &pool);
	assert_true(pool.mixed && !pool.has_waits);
}

/* 40 threads on two CPUs in a dump without run delay: preemptions alone say that they wait for a
 * CPU, not how long, and what measures that. */
static void preemptions_alone(void **state)
{
	(void)state;
	pool.threads = 40;
	pool.life = pool.all_life = 40 * S;
	pool.cpu = facts.cpu = 2 * S;
	pool.has_delay = facts.has_delay = false;
	facts.dumped = true;
	pool.voluntary = 200;
	pool.involuntary = 400; /* most switches, but two in three only */
	assert_string_equal(cause(), "");
	pool.involuntary = 600;
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->text, "preempted after every 3.3 ms of CPU time"));
	assert_non_null(strstr(finding()->evidence[0], "600 of 800 context switches"));
	assert_non_null(strstr(finding()->evidence[0], "on no CPU 95 % of its time"));
	assert_non_null(strstr(finding()->advice, "pmctl run -e run-delay"));
	assert_non_null(strstr(finding()->unknown[0], "how long it waits for a CPU"));
	assert_true(finding()->gain == 0 && finding()->loss_ns == 2 * S);
	/* Other programs, or an affinity, took one of the CPUs. */
	pool.cpu = facts.cpu = S;
	assert_string_equal(cause(), "preempted");
	/* Rarely, as by services of the machine. */
	pool.voluntary = 10;
	pool.involuntary = 100;
	pool.cpu = facts.cpu = 4 * S;
	assert_string_equal(cause(), "");
	/* It was never off its CPU, or what it waited for is known. */
	pool.cpu = facts.cpu = 2 * S;
	pool.involuntary = 600;
	pool.life = S * 21 / 10;
	assert_string_equal(cause(), "");
	pool.life = 40 * S;
	pool.has_places = true;
	pool.any.ns = 37 * S;
	assert_string_equal(cause(), "");
	pool.any.ns = 0;
	pool.has_switches = false;
	assert_string_equal(cause(), "");
	/* Run delay is known, and short. */
	pool.has_switches = pool.has_delay = true;
	assert_string_equal(cause(), "");
}

/* Of a lock and a wait for a CPU the one that takes more time is named, with the other one. */
static void larger_loss(void **state)
{
	pool.threads = pool.workers = 4;
	pool.life = 5 * S;
	pool.cpu = facts.cpu = 2 * S;
	pool.has_waits = true;
	pool.locks.ns = pool.waits = S * 8 / 10;
	pool.delay = facts.delay = S * 22 / 10;
	assert_string_equal(cause(), "cpu-starved");
	assert_string_equal(finding()->evidence[1], "also waits for a lock 16 % of its time");
	assert_int_equal(finding()->loss_ns, pool.delay);
	pool.locks.ns = pool.waits = S * 24 / 10;
	pool.delay = facts.delay = S * 6 / 10;
	facts.cpus = 1;
	assert_string_equal(cause(), "lock");
	assert_non_null(strstr(finding()->evidence[1], "also waits for a CPU"));
	assert_null(finding()->evidence[2]);
}

static unsigned lines(const char *const *list)
{
	unsigned n = 0;

	while (list[n])
		n++;
	return n;
}

/* Forty threads that sleep until one of them has something to do, and then wait longer for a CPU
 * than they compute; and where that is little of the run. */
static void turns(void **state)
{
	(void)state;
	pool.threads = pool.workers = 40;
	pool.life = pool.all_life = 160 * S;
	facts.wall = 4 * S;
	pool.cpu = S * 3 / 2;
	facts.cpu = S * 16 / 10;
	pool.delay = facts.delay = 8 * S;
	count(EXPLAIN_SYSTEM, S);
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->text, "CPU 84 % of the time in which it does not sleep"));
	assert_non_null(strstr(finding()->evidence[0], "run delay 8.0 s of 9.5 s"));
	assert_non_null(strstr(finding()->evidence[2], "in the kernel"));
	/* Several wait at once: no gain, as the others may have worked meanwhile. */
	assert_true(finding()->gain == 0);
	pool.delay = facts.delay = S * 26 / 10;
	/* No faster than one CPU does the work. */
	assert_true(finding()->estimate && finding()->gain > 2.49 && finding()->gain < 2.51);
	pool.delay = facts.delay = S * 17 / 10;
	assert_string_equal(cause(), "preempted");
	assert_true(finding()->gain > 1.73 && finding()->gain < 1.75);
	/* Poll may wait for a timer; threads that sleep have time. */
	pool.any.ns = 100 * S;
	pool.outside = 51 * S;
	assert_true(finding()->gain == 0);
	pool.slept = 51 * S;
	assert_string_equal(cause(), "kernel");
	pool.slept = pool.outside = 0;
	/* Few CPUs are no excluded cause then. */
	pool.delay = facts.delay = S;
	assert_string_equal(cause(), "kernel");
	assert_string_equal(finding()->unknown[0],
			    "CPUs (run delay 0.6 % of its time, 40 % of that "
			    "in which it does not sleep: 1.0 s)");
	assert_int_equal(lines(finding()->excluded), 0);
	pool.delay = facts.delay = S / 10;
	assert_string_equal(finding()->excluded[0], "CPUs (run delay 0.1 % of its time)");
}

/* What costs CPU time is said beside any other cause, and no more of it than that. */
static void cost_beside(void **state)
{
	pool.cpu = facts.cpu = S / 2;
	pool.delay = facts.delay = S / 4;
	pool.life = pool.cpu + pool.delay;
	facts.fault_ns = 1000;
	pool.minor_faults = 300000;
	assert_string_equal(cause(), "page-faults");
	assert_string_equal(finding()->evidence[1],
			    "also waits for a CPU 33 % of its time, though the run wants no more "
			    "CPUs than there are");
	assert_int_equal(lines(finding()->evidence), 2);
	/* 0.4 s of waits are more than 0.3 s of page faults. */
	pool.delay = facts.delay = S * 4 / 10;
	pool.life = pool.cpu + pool.delay;
	facts.cpus = 1;
	facts.wall = S / 2;
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->evidence[1], "also spends some 60 %"));
	/* 0.5 / (0.5 - 0.3) are more than 0.9 / 0.5 */
	assert_non_null(strstr(finding()->evidence[1], "2.5 times"));
	assert_int_equal(lines(finding()->evidence), 2);
	count(EXPLAIN_MIGRATIONS, 20000);
	assert_int_equal(lines(finding()->evidence), 2);
	pool.minor_faults = 30000;
	assert_non_null(strstr(finding()->evidence[1], "also goes to another CPU"));
	pool.delay = facts.delay = 0;
	assert_string_equal(cause(), "migrations");
	assert_int_equal(lines(finding()->evidence), 1);
}

/* A server that waits for a CPU longer than it computes at all, largely in the kernel. */
static void most_time_first(void **state)
{
	(void)state;
	pool.life = facts.wall = 3 * S;
	pool.cpu = facts.cpu = S * 43 / 100;
	pool.delay = facts.delay = S * 18 / 10;
	count(EXPLAIN_SYSTEM, S * 25 / 100);
	assert_string_equal(cause(), "preempted");
	assert_non_null(strstr(finding()->text, "waits for a CPU 60 %"));
	assert_string_equal(finding()->evidence[1],
			    "also spends 58 % of its CPU time in the kernel");
	assert_int_equal(lines(finding()->evidence), 2);
	pool.delay = facts.delay = S * 24 / 100;
	pool.life = S;
	assert_string_equal(cause(), "kernel");
	assert_non_null(strstr(finding()->evidence[1], "also waits for a CPU 24 %"));
	assert_int_equal(lines(finding()->evidence), 2);
	/* Threads that are started and end wait for a CPU because of that. */
	pool.threads = 3000;
	pool.all_life = pool.life = 3 * S;
	pool.delay = facts.delay = S * 18 / 10;
	assert_string_equal(cause(), "short-lived");
	assert_non_null(strstr(finding()->evidence[1], "in the kernel"));
	assert_non_null(strstr(finding()->evidence[2], "also waits for a CPU"));
}

/* CPU time and run delay of short programs are more than the time since the agent's start. */
static void life_of_short_threads(void **state)
{
	struct facts all = { .arena = &arena };
	struct pool_facts one = { .name = "as" };

	explain_add(&all, &one,
		    &(struct thread_facts){
			    .has_delay = true, .life = S, .row.cpu_ns = S / 2, .delay = S });
	assert_int_equal(one.life, S + S / 2);
	explain_add(&all, &one,
		    &(struct thread_facts){ .has_delay = true, .life = S, .row.cpu_ns = S / 2 });
	assert_int_equal(one.life, 2 * S + S / 2);
	assert_int_equal(one.busiest.delay, S);
	assert_int_equal(all.judged, S);
}

/* Four threads that wait for a lock among others that are idle. */
static void idle_among_waiting(void **state)
{
	struct facts all = { .arena = &arena };

	memset(&pool, 0, sizeof(pool));
	for (unsigned i = 0; i < 32; i++)
		explain_add(&all, &pool,
			    &(struct thread_facts){ .has_delay = true,
						    .life = S,
						    .waits = i < 4 ? S * 3 / 4 : 0,
						    .row.cpu_ns = S / 10000 });
	assert_int_equal(pool.idle, 28);
	assert_int_equal(pool.all_life, 32 * S);
	assert_int_equal(pool.life, 4 * S + 28 * S / 1000);
	facts.cpu = pool.cpu;
	pool.has_waits = true;
	pool.locks.ns = pool.waits = 3 * S;
	assert_string_equal(cause(), "lock");
	assert_true(finding()->gain > 3.6 && finding()->gain < 4);
	assert_non_null(strstr(finding()->evidence[1], "28 of 32 threads"));
	pool.idle = 32;
	explain_add_end(&all, &pool);
	assert_int_equal(pool.life, pool.all_life);
}

/* What the agent takes for each thread is no work of the program, whose gain is larger. */
static void overhead_of_agent(void **state)
{
	pool.threads = 3000;
	pool.all_life = pool.life = S;
	pool.cpu = facts.cpu = 3000 * 100000;
	assert_string_equal(cause(), "short-lived");
	assert_true(finding()->gain > 1.2 && finding()->gain < 1.4);
	/* The main threads of as many processes. */
	pool.processes = 3000;
	assert_string_not_equal(cause(), "short-lived");
	pool.processes = 0;
	facts.overhead = facts.cpu / 25;
	assert_null(finding()->evidence[1]);
	facts.overhead = facts.cpu / 2;
	assert_true(finding()->gain == 0 && finding()->loss_ns > 0);
	assert_non_null(strstr(finding()->text, "overhead"));
	assert_non_null(strstr(finding()->evidence[1], "50 %"));
}

/* Two pools that switch as often: they wait for each other, unless one of them never waits. */
static void partners(void **state)
{
	struct pool_facts two[2] = { pool, pool };

	two[0].voluntary = 50000;
	two[1].involuntary = 50000;
	two[1].name = "server";
	facts.pools = two;
	facts.n_pools = 2;
	facts.cpu = 2 * S;
	assert_string_equal(cause(), "");
	two[1].voluntary = two[1].involuntary = 25000;
	two[0].cpu = two[0].most_cpu = S / 10;
	two[1].cpu = two[1].most_cpu = S * 9 / 10;
	assert_string_equal(cause(), "handoff");
	/* Two threads that share the work of a server have almost as many. */
	two[0].voluntary = 53000;
	assert_string_equal(cause(), "");
	/* But what they wait for is a pipe or a futex. */
	two[0].any.ns = two[1].any.ns = S / 10;
	assert_string_equal(cause(), "handoff");
	/* An event loop and its worker. */
	two[0].outside = S / 10;
	assert_string_equal(cause(), "handoff");
	two[1].outside = S / 10;
	assert_string_equal(cause(), "");
}

/* A main thread and three workers that wait for each other by futexes, on too few CPUs. */
static void team_of_futexes(void **state)
{
	struct pool_facts two[2] = { pool, pool };

	(void)state;
	two[0].name = "(main)";
	two[1].threads = two[1].workers = 3;
	two[1].life = 3 * S;
	two[0].cpu = two[1].cpu = S / 2;
	two[0].delay = S * 3 / 10;
	two[1].delay = 2 * S;
	two[0].voluntary = 25000;
	two[1].voluntary = 75000;
	facts.pools = two;
	facts.n_pools = 2;
	facts.threads = 4;
	facts.delay = two[0].delay + two[1].delay;
	for (unsigned handed = 0; handed < 2; handed++) {
		unsigned n;
		const struct finding *list;

		two[1].handed = handed ? 1 : -1;
		two[0].handed = S / 10;
		list = explain_find(&facts, &n);
		assert_int_equal(n, 2);
		for (unsigned i = 0; i < n; i++)
			assert_string_equal(list[i].cause, handed ? "handoff" : "cpu-starved");
	}
	/* More than what others lose that wait for a CPU because of it. */
	assert_true(explain_find(&facts, &(unsigned){ 0 })->loss_ns > (double)two[1].delay);
	assert_non_null(strstr(explain_find(&facts, &(unsigned){ 0 })->advice, "fewer threads"));
	/* Without records of waits, the library alone shows it. */
	two[0].handed = two[1].handed = 0;
	two[0].samples = two[1].samples = 100;
	two[0].openmp = two[1].openmp = 5;
	assert_string_equal(explain_find(&facts, &(unsigned){ 0 })->cause, "cpu-starved");
	two[0].openmp = two[1].openmp = 20;
	assert_string_equal(explain_find(&facts, &(unsigned){ 0 })->cause, "handoff");
	assert_non_null(strstr(explain_find(&facts, &(unsigned){ 0 })->advice, "OMP_NUM_THREADS"));
	/* Workers of a database, which switch after 50 us of CPU time or more. */
	two[0].voluntary = 5000;
	two[1].voluntary = 9000;
	assert_string_equal(explain_find(&facts, &(unsigned){ 0 })->cause, "cpu-starved");
}

/* The main thread does a part of the work of the others, in the same function. */
static void main_thread_of_team(void **state)
{
	struct pool_facts two[2] = { pool, pool };
	const char *function = "loop";

	two[0].name = "(main)";
	two[0].cpu = S * 3 / 10;
	two[1].workers = 1;
	two[1].workers_cpu = S;
	two[1].worker = (struct thread_times){ .life = S, .cpu = S };
	facts.pools = two;
	facts.n_pools = 2;
	facts.cpu = S * 13 / 10;
	assert_string_equal(cause(), "");
	for (unsigned i = 0; i < 2; i++) {
		two[i].samples = two[i].work.ns = 100;
		two[i].work.most = 90;
		two[i].work.function = function;
	}
	assert_string_equal(cause(), "imbalance");
	assert_ptr_equal(finding()->of, &two[1]);
	assert_true(finding()->gain > 1.53 && finding()->gain < 1.54);
	/* It waits for the others, too, which is saved with equal work. */
	two[1].workers_cpu = two[1].worker.cpu = S * 3 / 4;
	facts.cpu = S * 105 / 100;
	assert_true(finding()->gain > 1.9 && finding()->gain < 1.91);
	two[1].workers_cpu = two[1].worker.cpu = S;
	facts.cpu = S * 13 / 10;
	/* It wanted to do more. */
	two[0].delay = S * 6 / 10;
	assert_string_equal(cause(), "preempted");
	two[0].delay = 0;
	two[0].work.function = "another";
	assert_string_equal(cause(), "");
	/* What it has to do came late, from somewhere else. */
	two[0].work.function = function;
	two[0].any.ns = two[0].outside = S / 2;
	assert_string_equal(cause(), "");
}

/* A team of OpenMP of which one thread spins until the other one is done, or sleeps; the less it
 * works, the more is gained. */
static void waiting_team(void **state)
{
	struct pool_facts two[2];

	(void)state;
	for (unsigned spins = 0; spins < 2; spins++)
		for (unsigned work = 500; work > 0; work /= 10) {
			struct facts all = { .arena = &arena, .wall = S, .cpus = 2 };
			const uint64_t cpu = S / 2000 * work;
			const struct finding *list;
			unsigned n;

			memset(two, 0, sizeof(two));
			for (unsigned i = 0; i < 2; i++) {
				two[i].name = i ? "omp" : "(main)";
				two[i].samples = i ? 3 : 900;
				two[i].seen = two[i].in_parallel = S;
				explain_add(&all, &two[i],
					    &(struct thread_facts){
						    .has_delay = true,
						    .life = S,
						    .row.flags = i ? 0 : PMC_THREAD_MAIN,
						    .row.cpu_ns = i && !spins ? cpu : S,
						    .spun = i && spins ? S - cpu : 0 });
				explain_add_end(&all, &two[i]);
			}
			all.pools = two;
			all.n_pools = 2;
			list = explain_find(&all, &n);
			assert_int_equal(n, 1);
			assert_string_equal(list->cause, "imbalance");
			assert_true(list->gain > 1.99 - (double)cpu / (double)S * 1.6);
			assert_int_equal(strstr(list->evidence[0], "spin in the OpenMP") != NULL,
					 spins);
			/* Of equal work nothing is said, however much of it is below OpenMP. */
			two[1].cpu = two[1].busiest.cpu = two[1].workers_cpu = two[1].worker.cpu =
				S;
			two[1].spun = 0;
			explain_find(&all, &n);
			assert_int_equal(n, 0);
			/* It works elsewhere. */
			two[1] = two[0];
			two[1].in_parallel = S / 2;
			explain_find(&all, &n);
			assert_int_equal(n, 0);
		}
}

/* In the library of OpenMP or MPI: what it waits for is elsewhere, so that there is no gain. */
static void spinning(void **state)
{
	(void)state;
	pool.samples = 1000;
	pool.in_runtime = 150;
	pool.spun = S * 15 / 100;
	assert_string_equal(cause(), "");
	pool.in_runtime = pool.in_mpi = 900;
	pool.spun = S * 9 / 10;
	assert_string_equal(cause(), "spin");
	assert_non_null(strstr(finding()->text, "90 % of its CPU time in the MPI library"));
	assert_true(finding()->gain == 0);
	pool.in_mpi = 0;
	assert_non_null(strstr(finding()->text, "the OpenMP runtime"));
	/* It would wait with a CPU, too. */
	pool.life = 3 * S;
	pool.delay = facts.delay = 2 * S;
	assert_string_equal(cause(), "spin");
	pool.spun = S / 2;
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->evidence[2], "the OpenMP runtime"));
	pool.spun = S * 9 / 10;
	assert_non_null(strstr(finding()->advice, "OMP_WAIT_POLICY"));
	assert_non_null(strstr(finding()->advice, "wall time only where threads wait for CPUs"));
}

/* Beside two equal threads one that writes what they have made. */
static void idle_thread_of_pool(void **state)
{
	pool.threads = pool.workers = 3;
	pool.worker = (struct thread_times){ .life = S, .cpu = S };
	pool.life = 3 * S;
	pool.cpu = facts.cpu = pool.workers_cpu = 2 * S;
	facts.cpus = 4;
	pool.busy = 2;
	pool.busy_cpu = 2 * S;
	assert_string_equal(cause(), "");
	/* One that has all of the work. */
	pool.cpu = facts.cpu = pool.workers_cpu = pool.busy_cpu = S;
	pool.busy = 1;
	assert_string_equal(cause(), "imbalance");
	assert_true(finding()->gain > 2.9 && finding()->gain < 3.1);
	/* No faster than the CPUs. */
	facts.cpus = 2;
	assert_true(finding()->gain > 1.9 && finding()->gain < 2.1);
}

static void names_of_locks(void **state)
{
	static const char *const locks[] = {
		"LockAcquireExtended",
		"LWLockAcquire",
		"lock_wait",
		"token_lock_acquire",
		"MDL_context::acquire_lock(MDL_request*, double)",
		"<std::sys::sync::mutex::futex::Mutex>::lock_contended",
		"<std::sys::sync::rwlock::futex::RwLock>::write_contended",
		"std::sys::sync::rwlock::futex::RwLock::read_contended",
		"parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow",
		"<parking_lot::raw_rwlock::RawRwLock>::lock_shared_slow",
		"parking_lot::raw_mutex::RawMutex::lock_slow",
		"sync.(*Mutex).lockSlow",
		"absl::Mutex::LockSlow(absl::MuHow, absl::Condition const*, int)",
		"Lock<(anonymous namespace)::Spin>::lock_slow(int)",
		"g_mutex_lock_slowpath",
		"take_gil",
		"ObjectMonitor::enter(JavaThread*)",
	};
	static const char *const others[] = {
		"Queue::acquireJob(std::unique_lock<std::mutex>&)",
		"ConnectionPool::acquire(std::unique_lock<std::mutex>&)",
		"lock_wait_timeout_thread",
		"take_gilded_frame",
		"deadlock_detector_slow_scan",
		"wait_for_lock_free_queue_slow",
		"lock_free_queue_acquire",
		"slow_flock_of_birds",
		"release_locks_slow",
		"<Queue>::read_contended_pages",
		"unlock_shared_slow",
		"acquire_interlocked_counter",
		"locksmith_slow",
		"lock_screen_slow_fade",
		"acquire_block",
		"unlock_slow",
		"clock_wait",
		"PyThread_acquire_lock_timed",
		"lock_PyThread_acquire_lock",
		"__lll_lock_wait",
		"__condvar_acquire_lock",
		"ObjectMonitor::wait(long, bool)",
		"",
	};

	for (unsigned i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		if (!explain_names_lock(locks[i]))
			fail_msg("%s is a lock", locks[i]);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (explain_names_lock(others[i]))
			fail_msg("%s is none", others[i]);
}

static void counts_of_hardware(void **state)
{
	count(EXPLAIN_CYCLES, 3 * S);
	count(EXPLAIN_INSTRUCTIONS, S);
	count(EXPLAIN_BRANCH_MISSES, S / 20);
	assert_string_equal(cause(), "branches");
	/* 3 / (3 - 0.05 x 15) */
	assert_true(finding()->estimate && finding()->gain > 1.332 && finding()->gain < 1.334);
	pool.has_count[EXPLAIN_BRANCH_MISSES] = false;
	assert_string_equal(cause(), "");
	count(EXPLAIN_TLB_MISSES, S / 50);
	assert_string_equal(cause(), "tlb");
	pool.has_count[EXPLAIN_TLB_MISSES] = false;
	count(EXPLAIN_STALLED, S);
	assert_string_equal(cause(), "frontend");
	pool.has_count[EXPLAIN_STALLED] = false;
	count(EXPLAIN_CACHE_MISSES, S / 200);
	assert_string_equal(cause(), "memory");
	/* They overlap with work. */
	count(EXPLAIN_INSTRUCTIONS, 6 * S);
	assert_string_equal(cause(), "");
	count(EXPLAIN_INSTRUCTIONS, S);
	pool.has_count[EXPLAIN_CYCLES] = false;
	assert_string_equal(cause(), "");
}

static void moves_between_cpus(void **state)
{
	count(EXPLAIN_MIGRATIONS, 50000);
	assert_string_equal(cause(), "migrations");
	pool.has_count[EXPLAIN_MIGRATIONS] = false;
	assert_string_equal(cause(), "");
}

static void limit_of_cgroup(void **state)
{
	facts.limit = (struct live_cpu_limit){ .cpus = 0.5, .periods = 20, .throttled = 1 };
	assert_string_equal(cause(), "");
	facts.limit.throttled = 15;
	facts.limit.throttled_ns = S;
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->text, "0.50 CPUs"));
	assert_non_null(strstr(finding()->advice, "cpu.cfs_quota_us"));
	/* Other programs of the machine delay it, too. */
	pool.delay = facts.delay = facts.limit.throttled_ns + S / 10;
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->text, "0.50 CPUs"));
	pool.delay = facts.delay = 0;
	/* More threads than CPUs, whose run delay is a multiple of what the CPUs lost. */
	pool.threads = 4;
	pool.life = 4 * S;
	pool.cpu = facts.cpu = S / 4;
	pool.delay = facts.delay = 3 * S;
	assert_string_equal(cause(), "cpu-starved");
	assert_non_null(strstr(finding()->text, "0.50 CPUs"));
	/* Fewer, in some of the periods: others take these CPUs. */
	facts.limit.throttled = 5;
	facts.limit.throttled_ns = S / 10;
	pool.delay = facts.delay = S;
	assert_string_equal(cause(), "preempted");
	assert_non_null(strstr(finding()->text, "no more CPUs than there are"));
	set_up(NULL);
	facts.limit = (struct live_cpu_limit){ .cpus = 0.5, .periods = 20, .throttled = 15 };
	/* A pool that hardly runs is not held back by it. */
	facts.cpu = 10 * S;
	assert_string_equal(cause(), "");
	/* Of a dump the limit alone is known. */
	set_up(NULL);
	facts.limit = (struct live_cpu_limit){ .cpus = 0.5 };
	pool.cpu = facts.cpu = S / 2;
	assert_string_equal(cause(), "");
	pool.delay = facts.delay = S / 2;
	assert_non_null(strstr(finding()->text, "0.50 CPUs"));
}

static void waits_for_disks_and_sockets(void **state)
{
	pool.cpu = pool.most_cpu = pool.longest.cpu = facts.cpu = S / 2;
	pool.disk = (struct place_facts){ .ns = S / 4, .most = S / 4, .function = "commit" };
	assert_string_equal(cause(), "");
	pool.has_places = true;
	assert_string_equal(cause(), "disk");
	assert_non_null(strstr(finding()->evidence[0], "commit"));
	assert_non_null(strstr(finding()->advice, "fsync"));
	pool.paged = S / 5;
	assert_string_equal(cause(), "disk");
	assert_non_null(strstr(finding()->text, "pages"));
	assert_non_null(strstr(finding()->advice, "ahead"));
	pool.disk.ns = 0;
	pool.network = (struct place_facts){ .ns = S / 2 };
	assert_string_equal(cause(), "network");
	pool.network.ns = S / 5;
	assert_string_equal(cause(), "");
	/* A short program: many waits are no chance. */
	pool.network.ns = 0;
	pool.life = facts.wall = S / 50;
	pool.cpu = pool.most_cpu = pool.longest.cpu = facts.cpu = S / 100;
	pool.disk = (struct place_facts){ .ns = S / 100, .n = 10 };
	assert_string_equal(cause(), "");
	pool.disk.n = 150;
	assert_string_equal(cause(), "disk");
	pool.disk.n = 10;
	count(EXPLAIN_SYSTEM, pool.cpu);
	assert_string_equal(cause(), "kernel");
	assert_non_null(strstr(finding()->unknown[0], "disk (50.0 %"));
	assert_null(finding()->excluded[1]);
	pool.disk.ns = S / 1000;
	pool.disk.n = 150;
	assert_string_equal(cause(), "kernel");
	assert_non_null(strstr(finding()->excluded[1], "disk"));
	/* A lock is judged likewise. */
	pool.has_waits = true;
	pool.locks = (struct place_facts){ .ns = S / 100, .n = 10 };
	assert_string_equal(cause(), "kernel");
	pool.locks.n = 150;
	assert_string_equal(cause(), "lock");
}

/* Samples whose weights are more than the CPU time, as where the clock of samples goes on while a
 * hypervisor runs something else: their shares count. */
static void weights_of_samples(void **state)
{
	pool.in_kernel = S * 9 / 10;
	pool.sampled = S * 3 / 10;
	pool.samples = pool.allocating = 300;
	pool.kernel_samples = 900;
	assert_string_equal(cause(), "allocator");
	assert_string_equal(finding()->text, "allocates and frees memory 25 % of its CPU time");
	pool.allocating = 0;
	assert_string_equal(cause(), "kernel");
	assert_non_null(strstr(finding()->text, " 75 %"));
	assert_non_null(strstr(finding()->evidence[0], "samples"));
	assert_int_equal(finding()->loss_ns, S * 3 / 4);
	pool.kernel_samples = 9;
	assert_string_equal(cause(), "");
	count(EXPLAIN_SYSTEM, S * 6 / 10);
	assert_non_null(strstr(finding()->text, " 60 %"));
	assert_null(strstr(finding()->evidence[0], "samples"));
	/* The kernel's system time is that of another clock. */
	count(EXPLAIN_SYSTEM, S + S / 50);
	assert_non_null(strstr(finding()->text, " 100 %"));
	assert_int_equal(finding()->loss_ns, S);
}

/* System time is counted by clock ticks, of which a short program has one or two. */
static void ticks_of_system_time(void **state)
{
	(void)state;
	count(EXPLAIN_SYSTEM, S / 200);
	pool.cpu = pool.life = facts.cpu = facts.wall = S / 200;
	facts.tick_ns = S / 250;
	assert_string_equal(cause(), "");
	count(EXPLAIN_SYSTEM, S * 6 / 100);
	pool.cpu = pool.life = facts.cpu = facts.wall = S * 79 / 1000;
	assert_string_equal(cause(), "");
	facts.tick_ns = S / 1000;
	assert_string_equal(cause(), "kernel");
}

/* The gain by the numbers that are printed before it: its format has two doubles or more. */
static void check_arithmetic(const char *format, double (*gain)(const double *n))
{
	const char *text = finding()->arithmetic;
	double n[4], printed;

	assert_non_null(text);
	if (sscanf(text, format, &n[0], &n[1], &n[2], &n[3]) < 2)
		fail_msg("unexpected: %s", text);
	printed = strtod(strrchr(text, '=') + 1, NULL);
	if (gain(n) < printed - 0.01 || gain(n) > printed + 0.01)
		fail_msg("%f by the numbers of: %s", gain(n), text);
}

static double without(const double *n)
{
	return n[0] / (n[1] - n[2]);
}

static double without_faults(const double *n)
{
	return n[0] / (n[1] - n[2] * n[3] / 1e9);
}

static double to_cpus(const double *n)
{
	return n[0] / n[1];
}

/* Nearly all of a short time, so that rounded numbers do not do. */
static void arithmetic(void **state)
{
	pool.cpu = pool.life = facts.cpu = 352949123;
	pool.minor_faults = 164007;
	facts.fault_ns = 1748;
	assert_string_equal(cause(), "page-faults");
	check_arithmetic("CPU time %lf s / (%lf s - %lf faults x %lf ns)", without_faults);
	pool.minor_faults = 0;
	pool.has_places = true;
	pool.life = 22345678;
	pool.disk = (struct place_facts){ .ns = 20345678, .n = 100 };
	assert_string_equal(cause(), "disk");
	facts.cpus = 0;
	check_arithmetic("%lf s / (%lf s - %lf s)", without);
	facts.cpus = 2;
	facts.wall = facts.cpu * 3;
	check_arithmetic("%*f s / (%*f s - %*f s) = %*f, but %lf CPUs / %lf busy", to_cpus);
	pool.disk.ns = 0;
	pool.name = "GC Thread";
	pool.cpu = pool.life = facts.cpu * 4 / 5;
	facts.wall = facts.cpu;
	assert_string_equal(cause(), "gc");
	check_arithmetic("CPU time %lf s / (%lf s - %lf s)", without);
}

static void functions_of_the_kernel(void **state)
{
	static const struct {
		const char *function;
		enum live_cause kind;
	} known[] = {
		{ "io_schedule [k]", CAUSE_DISK },
		{ "folio_wait_bit_common", CAUSE_DISK },
		{ "jbd2_log_wait_commit", CAUSE_DISK },
		{ "tcp_recvmsg_locked [k]", CAUSE_SOCKET },
		{ "unix_stream_data_wait", CAUSE_SOCKET },
		{ "futex_do_wait", CAUSE_OTHER },
		{ "__inet_stream_connect", CAUSE_SOCKET },
		{ "sk_wait_data", CAUSE_SOCKET },
		{ "__skb_wait_for_more_packets", CAUSE_OTHER },
		{ "udp_recvmsg", CAUSE_SOCKET },
		{ "unix_dgram_recvmsg", CAUSE_SOCKET },
		{ "unix_accept", CAUSE_OTHER },
		{ "inet_csk_accept", CAUSE_OTHER },
		{ "inet_csk_wait_for_connect", CAUSE_OTHER },
		{ "sock_poll", CAUSE_OTHER },
		{ "pipe_read", CAUSE_OTHER },
		{ "exc_page_fault", CAUSE_OTHER },
		{ "do_epoll_wait", CAUSE_OTHER },
		{ "", CAUSE_OTHER },
	};
	static const char *const outside[] = { "ep_poll [k]", "do_sys_poll", "tcp_recvmsg_locked",
					       "inet_csk_accept", "wait_woken" };
	static const char *const inside[] = { "unix_stream_data_wait", "futex_do_wait", "pipe_read",
					      "folio_wait_bit_common", "" };

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(explain_kernel_wait(known[i].function), known[i].kind);
	for (unsigned i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_true(explain_is_outside(outside[i]));
	for (unsigned i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		assert_false(explain_is_outside(inside[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(none, set_up),
		cmocka_unit_test_setup(busiest_thread, set_up),
		cmocka_unit_test_setup(share_of_gain, set_up),
		cmocka_unit_test_setup(incomplete_delays, set_up),
		cmocka_unit_test_setup(preemptions_alone, set_up),
		cmocka_unit_test_setup(larger_loss, set_up),
		cmocka_unit_test_setup(turns, set_up),
		cmocka_unit_test_setup(cost_beside, set_up),
		cmocka_unit_test_setup(most_time_first, set_up),
		cmocka_unit_test_setup(life_of_short_threads, set_up),
		cmocka_unit_test_setup(idle_among_waiting, set_up),
		cmocka_unit_test_setup(overhead_of_agent, set_up),
		cmocka_unit_test_setup(partners, set_up),
		cmocka_unit_test_setup(team_of_futexes, set_up),
		cmocka_unit_test_setup(main_thread_of_team, set_up),
		cmocka_unit_test_setup(waiting_team, set_up),
		cmocka_unit_test_setup(spinning, set_up),
		cmocka_unit_test_setup(idle_thread_of_pool, set_up),
		cmocka_unit_test(names_of_locks),
		cmocka_unit_test_setup(counts_of_hardware, set_up),
		cmocka_unit_test_setup(moves_between_cpus, set_up),
		cmocka_unit_test_setup(limit_of_cgroup, set_up),
		cmocka_unit_test_setup(waits_for_disks_and_sockets, set_up),
		cmocka_unit_test_setup(weights_of_samples, set_up),
		cmocka_unit_test_setup(ticks_of_system_time, set_up),
		cmocka_unit_test_setup(arithmetic, set_up),
		cmocka_unit_test(functions_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
