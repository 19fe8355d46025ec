/* SPDX-License-Identifier: MIT */
/*
 * test_watch.c - intervals of this process's own threads: births, sleep, switches, used IDs; and of
 * recorded readings.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tools/live/task.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct live_budget budget = { .most = 64 };

/* A thread that waits for `go`, and posts `done`, so often. */
struct relay {
	pthread_t thread;
	sem_t go, done;
	unsigned rounds;
	pid_t tid;
};

static void *run_relay(void *arg)
{
	struct relay *relay = arg;

	relay->tid = gettid();
	sem_post(&relay->done);
	for (unsigned i = 0; i < relay->rounds; i++) {
		sem_wait(&relay->go);
		sem_post(&relay->done);
	}
	return NULL;
}

static void start_relay(struct relay *relay, unsigned rounds)
{
	*relay = (struct relay){ .rounds = rounds };
	sem_init(&relay->go, 0, 0);
	sem_init(&relay->done, 0, 0);
	assert_int_equal(pthread_create(&relay->thread, NULL, run_relay, relay), 0);
	sem_wait(&relay->done);
}

/* Waits until the kernel reports the task asleep. */
static void await_sleep(struct live_task *task, struct live_budget *of)
{
	uint64_t slices;

	do {
		assert_int_equal(live_task_read(task, 0, of), 0);
		slices = task->slices;
		assert_int_equal(live_task_read(task, 0, of), 0);
	} while (live_is_runnable(task) || slices != task->slices);
}

/* Waits that later readings have shown to be CPU time. */
static int64_t ahead_ns(const struct live_task *task)
{
	const struct live_span *sum = &task->sum;

	return (int64_t)(sum->cpu_ns - task->delay.cpu_before_ns + sum->delay_ns +
			 sum->blocked_ns) -
	       (int64_t)sum->ns;
}

static void pass_time(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

static void birth(void **state)
{
	const uint64_t before = pmc_now_ns();
	struct live_task task;
	struct relay relay;
	uint64_t born;

	pass_time(100000000);
	born = pmc_now_ns();
	start_relay(&relay, 1);
	live_task_init(&task, getpid(), relay.tid);
	assert_int_equal(live_task_read(&task, before, &budget), 0);
	assert_true(live_start_ns(&task.stat) <= pmc_now_ns());
	assert_true(live_start_ns(&task.stat) + LIVE_TICK_NS >= born);
	/* Its first interval begins at its birth. */
	assert_true(task.known);
	assert_true(task.span.ns <= task.read_ns - born + LIVE_TICK_NS);
	live_task_close(&task, &budget);
	/* It is older than this interval, so what it has done so far is not of it. */
	live_task_init(&task, getpid(), getpid());
	assert_int_equal(live_task_read(&task, born, &budget), 0);
	assert_false(task.known);
	live_task_close(&task, &budget);
	sem_post(&relay.go);
	pthread_join(relay.thread, NULL);
}

static void asleep(void **state)
{
	struct live_task task;
	struct relay relay;
	uint64_t read;

	start_relay(&relay, 1);
	live_task_init(&task, getpid(), relay.tid);
	do {
		await_sleep(&task, &budget);
		read = task.read_ns;
		assert_int_equal(live_task_read(&task, 0, &budget), 0);
		/* A task in state S is still on its CPU until the switch. */
	} while (ahead_ns(&task) || task.span.cpu_ns);
	assert_int_equal(task.span.ns, task.read_ns - read);
	assert_int_equal(task.span.blocked_ns, task.span.ns);
	sem_post(&relay.go);
	pthread_join(relay.thread, NULL);
	live_task_close(&task, &budget);
}

/* Without descriptors that are kept open, only the start time distinguishes a thread from a later
 * one. */
static void another_thread(void **state)
{
	struct live_budget none = { .most = 0 };
	struct live_task task;

	live_task_init(&task, getpid(), gettid());
	assert_int_equal(live_task_read(&task, 0, &none), 0);
	assert_int_equal(live_task_read(&task, 0, &none), 0);
	task.stat.start_ticks--;
	assert_int_equal(live_task_read(&task, 0, &none), -ESRCH);
	assert_int_equal(none.open, 0);
}

static void ended(void **state)
{
	struct live_task task;
	struct relay relay;

	start_relay(&relay, 0);
	live_task_init(&task, getpid(), relay.tid);
	/* It may have ended. */
	live_task_read(&task, 0, &budget);
	pthread_join(relay.thread, NULL);
	/* The kernel may still be about to remove it. */
	while (live_task_read(&task, 0, &budget) == 0)
		;
	assert_int_equal(live_task_read(&task, 0, &budget), -ESRCH);
	live_task_close(&task, &budget);
	assert_int_equal(budget.open, 0);
}

/* ---- recorded readings ---------------------------------------------------------------------- */

/* In ms; `ns` of an interval are at least that many. */
struct recorded {
	unsigned ms, cpu, delay, slices, voluntary;
	char state;
};

static void put_file(struct live_task *task, enum live_file file, const char *text)
{
	if (task->fds[file] < 0)
		task->fds[file] = memfd_create("recorded", MFD_CLOEXEC);
	assert_true(task->fds[file] >= 0);
	assert_int_equal(ftruncate(task->fds[file], 0), 0);
	assert_int_equal(pwrite(task->fds[file], text, strlen(text), 0), strlen(text));
}

/* The interval has that length and the time that this function takes, in which it did nothing. */
static void replay(struct live_task *task, const struct recorded *reading, struct live_budget *of)
{
	static const char zeros[] = "1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7";
	char text[256];

	snprintf(text, sizeof(text), "%u000000 %u000000 %u\n", reading->cpu, reading->delay,
		 reading->slices);
	put_file(task, LIVE_SCHEDSTAT, text);
	snprintf(text, sizeof(text), "9 (made) %c %s\n", reading->state, zeros);
	put_file(task, LIVE_STAT, text);
	snprintf(text, sizeof(text),
		 "voluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t%u\n",
		 reading->voluntary, reading->slices - reading->voluntary);
	put_file(task, LIVE_STATUS, text);
	put_file(task, LIVE_WAIT, reading->state == 'S' ? "futex_do_wait" : "0");
	if (task->read_ns)
		task->read_ns = pmc_now_ns() - reading->ms * 1000000ull;
	assert_int_equal(live_task_read(task, 0, of), 0);
}

/* The sum of the intervals, each of which has at most its own time. */
static struct live_span replay_all(const struct recorded *list, unsigned n, struct live_task *task,
				   struct live_budget *of)
{
	struct live_span sum = { .ns = 0 };

	live_task_init(task, 9, 9);
	for (unsigned i = 0; i < n; i++) {
		replay(task, &list[i], of);
		assert_int_equal(task->known, i > 0);
		live_span_add(&sum, &task->span);
		assert_true(task->span.cpu_ns > task->span.ns ||
			    task->span.cpu_ns + task->span.delay_ns + task->span.blocked_ns <=
				    task->span.ns);
	}
	/* What is counted since the start has each moment once. */
	assert_int_equal(task->sum.ns, sum.ns);
	assert_true(ahead_ns(task) >= 0);
	assert_int_equal(task->sum.blocked_ns, sum.blocked_ns);
	assert_int_equal(task->sum.delay_ns, sum.delay_ns);
	for (unsigned f = 0; f < LIVE_FILES; f++)
		if (task->fds[f] >= 0)
			close(task->fds[f]);
	return sum;
}
#define REPLAY(list, task, of) replay_all(list, sizeof(list) / sizeof((list)[0]), task, of)

/* One of four that share a CPU, in turns of 60 ms; CPU time is added at ticks of 4 ms. */
static const struct recorded spinner[] = {
	{ 0, 100, 300, 9, 0, 'R' },   { 50, 100, 300, 9, 0, 'R' },  { 50, 100, 300, 9, 0, 'R' },
	{ 50, 116, 450, 10, 0, 'R' }, { 50, 160, 450, 10, 0, 'R' }, { 50, 160, 450, 10, 0, 'R' },
	{ 50, 160, 450, 10, 0, 'R' }, { 50, 160, 450, 10, 0, 'R' }, { 50, 188, 630, 11, 0, 'R' },
};

static void shared_cpu(void **state)
{
	struct live_budget every = { .most = 0 };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(spinner, &task, &every);
	assert_int_equal(sum.blocked_ns, 0);
	assert_int_equal(sum.cpu_ns, 88000000);
	assert_true(sum.delay_ns >= sum.ns - sum.cpu_ns - 10000000);
	/* What was ahead has been taken back. */
	assert_true(task.sum.delay_ns <= sum.ns - sum.cpu_ns + 10000000);
}

static void alone(void **state)
{
	static const struct recorded list[] = {
		{ 0, 1001, 0, 1, 0, 'R' },   { 50, 1048, 0, 1, 0, 'R' }, { 50, 1100, 0, 1, 0, 'R' },
		{ 50, 1148, 0, 1, 0, 'R' },  { 50, 1200, 0, 1, 0, 'R' }, { 50, 1248, 0, 1, 0, 'R' },
		{ 200, 1448, 0, 1, 0, 'R' }, { 50, 1500, 0, 1, 0, 'R' },
	};
	struct live_budget every = { .most = 0 };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(list, &task, &every);
	assert_int_equal(sum.blocked_ns, 0);
	/* CPU time that was added late is no wait: the difference of ticks counts once. */
	assert_true(task.sum.delay_ns <= sum.ns - 500000000 + 3000000);
}

static void sleeper(void **state)
{
	static const struct recorded list[] = {
		{ 0, 5, 1, 3, 3, 'S' },	 { 50, 5, 1, 3, 3, 'S' }, { 50, 6, 1, 4, 4, 'S' },
		{ 50, 6, 1, 4, 4, 'S' }, { 50, 7, 3, 5, 5, 'S' },
	};
	struct live_budget every = { .most = 0 };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(list, &task, &every);
	assert_int_equal(sum.cpu_ns, 2000000);
	assert_int_equal(sum.delay_ns, 2000000);
	assert_int_equal(sum.blocked_ns, sum.ns - 4000000);
}

/* Wakes, waits for a CPU, runs and sleeps again; a wait that was taken for sleep is made up for. */
static const struct recorded turns[] = {
	{ 0, 10, 10, 5, 5, 'S' },   { 100, 20, 10, 6, 6, 'R' },	 { 100, 50, 60, 7, 6, 'S' },
	{ 100, 50, 60, 7, 7, 'S' }, { 100, 60, 100, 8, 7, 'R' }, { 100, 60, 100, 8, 7, 'R' },
	{ 50, 70, 220, 9, 8, 'S' }, { 100, 70, 220, 9, 8, 'S' },
};

static void alternating(void **state)
{
	struct live_budget every = { .most = 0 };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(turns, &task, &every);
	assert_int_equal(sum.cpu_ns, 60000000);
	assert_int_equal(task.sum.delay_ns, 210000000);
	assert_int_equal(sum.delay_ns, 210000000);
	assert_int_equal(ahead_ns(&task), 0);
	assert_int_equal(sum.blocked_ns, sum.ns - 270000000);
}

/* 2 s of a wait that ends were before the first reading. */
static void waited_before(void **state)
{
	static const struct recorded list[] = {
		{ 0, 10, 0, 5, 5, 'R' },
		{ 100, 10, 0, 5, 5, 'R' },
		{ 100, 20, 2190, 6, 5, 'R' },
		{ 100, 30, 2190, 6, 6, 'S' },
	};
	struct live_budget every = { .most = 0 };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(list, &task, &every);
	assert_true(sum.delay_ns >= 190000000 && sum.delay_ns + sum.cpu_ns <= sum.ns);
}

/* A main thread that ends before the others does so in an interval, and has no later one. */
static void ended_main(void **state)
{
	static const struct recorded list[] = {
		{ 0, 10, 0, 5, 5, 'S' },
		{ 100, 20, 0, 6, 6, 'Z' },
		{ 100, 20, 0, 6, 6, 'Z' },
		{ 100, 20, 0, 6, 6, 'Z' },
	};
	struct live_budget every = { .most = 0 };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(list, &task, &every);
	assert_true(sum.ns >= 100000000 && sum.ns < 200000000);
	assert_int_equal(task.span.ns, 0);
	assert_int_equal(task.span.blocked_ns, 0);
}

/* Without the files of switches and of places waits are the same. */
static void unread(void **state)
{
	struct live_budget some = { .no_switches = true, .no_wchan = true };
	struct live_task task;
	struct live_span sum;

	sum = REPLAY(spinner, &task, &some);
	assert_int_equal(sum.blocked_ns, 0);
	assert_true(sum.delay_ns >= sum.ns - sum.cpu_ns - 10000000);
	sum = REPLAY(turns, &task, &some);
	assert_int_equal(sum.cpu_ns, 60000000);
	assert_int_equal(sum.delay_ns, 210000000);
	/* That of the last reading of a thread that could run. */
	assert_int_equal(task.sum.voluntary, 8);
	assert_string_equal(task.wchan, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(birth),	  cmocka_unit_test(asleep),
		cmocka_unit_test(another_thread), cmocka_unit_test(ended),
		cmocka_unit_test(shared_cpu),	  cmocka_unit_test(alone),
		cmocka_unit_test(sleeper),	  cmocka_unit_test(alternating),
		cmocka_unit_test(waited_before),  cmocka_unit_test(ended_main),
		cmocka_unit_test(unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
