/* SPDX-License-Identifier: MIT */
/* test_sampler_cpus.c - order over the rings of several threads and CPUs of this machine. */
#include "tests/unit/sampler_try.h"

#include <pthread.h>
#include <time.h>

#define SETTLE_NS 20000000

static struct pmc_open_options beats_of(int tid)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.pid = tid;
	open.enabled = true;
	open.sample_type = PERF_SAMPLE_IDENTIFIER;
	open.read_format = PMC_READ_FORMAT_LOST;
	/* One clock for all CPUs: records of different CPUs are compared by time. */
	open.use_clockid = true;
	open.clockid = CLOCK_MONOTONIC;
	return open;
}

/* ---- two threads that alternate: the order is known exactly ------------------------------- */

#define TURNS 20000

static int turn, tids[2], go;

static void *takes_turns(void *arg)
{
	int me = (int)(intptr_t)arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(me, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	__atomic_store_n(&tids[me], (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	for (;;) {
		int now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);

		if (now >= TURNS)
			return NULL;
		if (now % 2 == me) {
			beat((uint64_t)now, 0, 0);
			__atomic_store_n(&turn, now + 1, __ATOMIC_RELEASE);
		} else {
			sched_yield();
		}
	}
}

static void threads_that_take_turns_come_in_turn(void **state)
{
	struct pmc_counter *counters[2];
	struct pmc_sampler *samplers[2];
	struct pmc_sampler_totals totals;
	struct pmc_sampler_set *set;
	struct pmc_record record;
	pthread_t threads[2];
	uint64_t expected = 0;

	NEED_TRACEFS();
	assert_int_equal(pmc_sampler_set_new(&set, SETTLE_NS), 0);
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, takes_turns, (void *)(intptr_t)i);
		while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE))
			sched_yield();
		counters[i] = open_beats(beats_of(tids[i]));
		samplers[i] = sampled(counters[i], 512);
		assert_int_equal(pmc_sampler_set_add(set, samplers[i]), 0);
	}
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	for (;;) {
		struct pmc_sampler *from;
		struct beat b;
		int error = pmc_sampler_set_next_wait(set, &record, &from, -1);

		if (error == -ENODATA)
			break;
		assert_int_equal(error, 0);
		assert_true(beat_of(&record, &b));
		assert_int_equal(b.args[0], expected);
		assert_ptr_equal(from, samplers[expected % 2]);
		assert_ptr_equal(record.counter, counters[expected % 2]);
		expected++;
	}
	assert_int_equal(expected, TURNS);
	pmc_sampler_set_read_totals(set, &totals);
	assert_int_equal(totals.samples, TURNS);
	assert_int_equal(totals.late, 0);
	assert_int_equal(totals.lost, 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		pmc_sampler_close(samplers[i]);
		pmc_counter_close(counters[i]);
	}
	pmc_sampler_set_free(set);
}

/* ---- rings that fill at different speeds --------------------------------------------------- */

#define THREADS 4

struct runner {
	pthread_t thread;
	int index, tid, go;
	uint64_t produced;
};

static void *runs(void *arg)
{
	struct runner *r = arg;

	__atomic_store_n(&r->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&r->go, __ATOMIC_ACQUIRE))
		sched_yield();
	/* 1, 10, 100 and 1000 times as fast, and in bursts. */
	for (unsigned i = 0; i < 300000; i++) {
		static const unsigned every[THREADS] = { 1, 10, 100, 1000 };

		if (i % every[r->index] == 0)
			beat(r->produced++, (uint64_t)r->index, 0);
		else
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (i % 100000 == 99999)
			usleep(1000);
	}
	return NULL;
}

static void rings_of_different_speeds_come_in_order(void **state)
{
	static struct runner runners[THREADS];
	struct pmc_counter *counters[THREADS];
	struct pmc_sampler *samplers[THREADS];
	uint64_t seen[THREADS] = { 0 }, last[THREADS] = { 0 }, time = 0;
	struct pmc_sampler_totals totals;
	struct pmc_sampler_set *set;
	struct pmc_record record;

	NEED_TRACEFS();
	assert_int_equal(pmc_sampler_set_new(&set, SETTLE_NS), 0);
	for (int i = 0; i < THREADS; i++) {
		runners[i].index = i;
		pthread_create(&runners[i].thread, NULL, runs, &runners[i]);
		while (!__atomic_load_n(&runners[i].tid, __ATOMIC_ACQUIRE))
			sched_yield();
		counters[i] = open_beats(beats_of(runners[i].tid));
		samplers[i] = sampled(counters[i], 64);
		assert_int_equal(pmc_sampler_set_add(set, samplers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		__atomic_store_n(&runners[i].go, 1, __ATOMIC_RELEASE);
	for (;;) {
		struct beat b;
		int error = pmc_sampler_set_next_wait(set, &record, NULL, -1);

		if (error == -ENODATA)
			break;
		assert_int_equal(error, 0);
		assert_true(record.time >= time);
		time = record.time;
		if (!beat_of(&record, &b))
			continue;
		assert_true(!seen[b.args[1]] || b.args[0] > last[b.args[1]]);
		last[b.args[1]] = b.args[0];
		seen[b.args[1]]++;
	}
	pmc_sampler_set_read_totals(set, &totals);
	assert_int_equal(totals.late, 0);
	for (int i = 0; i < THREADS; i++) {
		uint64_t lost;

		pthread_join(runners[i].thread, NULL);
		assert_int_equal(pmc_sampler_lost(samplers[i], &lost), 0);
		print_message("thread %d: %llu produced, %llu read, %llu lost\n", i,
			      (unsigned long long)runners[i].produced, (unsigned long long)seen[i],
			      (unsigned long long)lost);
		assert_int_equal(seen[i] + lost, runners[i].produced);
		pmc_sampler_close(samplers[i]);
		pmc_counter_close(counters[i]);
	}
	pmc_sampler_set_free(set);
}

/* ---- every CPU's context switches: each chain is unbroken ---------------------------------- */

/* sched:sched_switch; the offsets are those of its format file on 64-bit kernels. */
struct sched_switch {
	unsigned char common[8];
	char prev_comm[16];
	int32_t prev_pid, prev_prio;
	int64_t prev_state;
	char next_comm[16];
	int32_t next_pid, next_prio;
};

#define CPUS 64
#define PIDS (4194304 + CPUS) /* PID_MAX_LIMIT, and an idle task for each CPU */

static unsigned task_of(int pid, unsigned cpu)
{
	return pid ? (unsigned)pid : PIDS - 1 - cpu;
}

static void switches_of_every_cpu_are_an_unbroken_chain(void **state)
{
	unsigned n = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), chained = 0, skipped = 0;
	struct pmc_counter *counters[CPUS];
	struct pmc_sampler *samplers[CPUS];
	struct pmc_counter_event event;
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_sampler_set *set;
	struct pmc_record record;
	static bool seen_as_prev[PIDS];
	static unsigned missing[PIDS];
	int next[CPUS];
	uint64_t time = 0;

	NEED_TRACEFS();
	n = n > CPUS ? CPUS : n;
	open.target = PMC_TARGET_ANY;
	open.sample_period = 1;
	open.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
	open.sample_id_all = true;
	open.use_clockid = true;
	open.clockid = CLOCK_MONOTONIC;
	assert_int_equal(pmc_counter_event_tracepoint(&event, "sched", "sched_switch", NULL), 0);
	assert_int_equal(pmc_sampler_set_new(&set, SETTLE_NS), 0);
	for (unsigned i = 0; i < n; i++) {
		open.cpu = (int)i;
		counters[i] = opened(&event, &open);
		samplers[i] = sampled(counters[i], 64);
		next[i] = -1;
		assert_int_equal(pmc_sampler_set_add(set, samplers[i]), 0);
		assert_int_equal(pmc_counter_enable(counters[i]), 0);
	}
	while (chained < 2000) {
		struct sched_switch s;

		int error = pmc_sampler_set_next_wait(set, &record, NULL, 5);

		if (error == -EAGAIN) {
			usleep(100);
			continue;
		}
		assert_int_equal(error, 0);
		assert_true(record.time >= time);
		time = record.time;
		assert_true(record.cpu < n);
		if (record.type == PERF_RECORD_LOST)
			next[record.cpu] = -1;
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		assert_true(record.sample.raw.size >= sizeof(s));
		memcpy(&s, record.sample.raw.data, sizeof(s));
		/* -1: the task is exiting. */
		if (record.tid != (uint32_t)-1)
			assert_int_equal(record.tid, s.prev_pid);
		seen_as_prev[task_of(s.prev_pid, record.cpu)] = true;
		if (next[record.cpu] >= 0 && s.prev_pid != next[record.cpu])
			missing[task_of(next[record.cpu], record.cpu)]++;
		else if (next[record.cpu] >= 0)
			chained++;
		next[record.cpu] = s.next_pid;
	}
	/* The kernel skips events of a task that is marked as handling one
	 * (task_struct.perf_recursion): a switch in the middle of another event, and all if this
	 * counter stays set until the task ends. A reader that lost records would lack many. */
	for (unsigned pid = 0; pid < PIDS; pid++)
		skipped += seen_as_prev[pid] ? missing[pid] : 0;
	if (skipped * 20 > chained)
		fail_msg("%u switches of tasks that have others are missing, %u are not", skipped,
			 chained);
	pmc_sampler_set_free(set);
	for (unsigned i = 0; i < n; i++) {
		pmc_sampler_close(samplers[i]);
		pmc_counter_close(counters[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_take_turns_come_in_turn),
		cmocka_unit_test(rings_of_different_speeds_come_in_order),
		cmocka_unit_test(switches_of_every_cpu_are_an_unbroken_chain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
