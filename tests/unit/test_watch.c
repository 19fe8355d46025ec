/* SPDX-License-Identifier: MIT */
/* test_watch.c - intervals of this process's own threads: births, sleep, switches, used IDs. */
#include "agent/core/base/clock.h"
#include "tools/live/watch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct live_budget budget = { .most = 64, .turns = 1 };

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

/* Asleep, as far as the kernel knows. */
static void await_sleep(struct live_task *task, struct live_budget *of)
{
	uint64_t slices;

	do {
		assert_int_equal(live_task_read(task, 0, of), 0);
		slices = task->waits.slices;
		assert_int_equal(live_task_read(task, 0, of), 0);
	} while (live_is_runnable(task) || slices != task->waits.slices);
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

	(void)state;
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
	struct live_task task, self;
	struct relay relay;
	uint64_t read;

	(void)state;
	start_relay(&relay, 1);
	live_task_init(&task, getpid(), relay.tid);
	/* The function that it sleeps in may be unknown at first. */
	do {
		await_sleep(&task, &budget);
		read = task.read_ns;
	} while (!live_task_slept(&task));
	assert_int_equal(task.span.cpu_ns, 0);
	assert_int_equal(task.span.ns, task.read_ns - read);
	assert_int_equal(task.span.blocked_ns, task.span.ns);
	/* Its files are read again after a time. */
	task.file_ns -= 2000000000;
	assert_false(live_task_slept(&task));
	/* A wait for a CPU may be going on. */
	live_task_init(&self, getpid(), gettid());
	assert_int_equal(live_task_read(&self, 0, &budget), 0);
	assert_false(live_task_slept(&self));
	sem_post(&relay.go);
	pthread_join(relay.thread, NULL);
	live_task_close(&task, &budget);
	live_task_close(&self, &budget);
}

/* Between two readings of its switches they are as many as it got a CPU. */
static void estimated_switches(void **state)
{
	struct live_budget rare = { .most = 64, .turns = 1, .brief = true };
	struct live_waits from, exact;
	struct live_task task;
	struct relay relay;

	(void)state;
	start_relay(&relay, 41);
	live_task_init(&task, getpid(), relay.tid);
	await_sleep(&task, &rare);
	from = task.waits;
	rare.turns = 1u << 31;
	rare.reading = 1 - (unsigned)relay.tid;
	for (unsigned i = 0; i < 40; i++) {
		sem_post(&relay.go);
		sem_wait(&relay.done);
	}
	do {
		assert_int_equal(live_task_read(&task, 0, &rare), 0);
		assert_int_equal(task.waits.voluntary + task.waits.involuntary,
				 from.voluntary + from.involuntary + task.waits.slices -
					 from.slices);
	} while (task.waits.slices < from.slices + 40);
	assert_false(live_task_slept(&task));
	rare.turns = 1;
	await_sleep(&task, &rare);
	assert_true(live_waits_read(relay.tid, &exact));
	assert_int_equal(task.waits.voluntary, exact.voluntary);
	assert_int_equal(task.waits.involuntary, exact.involuntary);
	sem_post(&relay.go);
	pthread_join(relay.thread, NULL);
	live_task_close(&task, &rare);
}

/* Without descriptors that are kept open, only the start time tells a thread from a later one. */
static void another_thread(void **state)
{
	struct live_budget none = { .most = 0 };
	struct live_task task;

	(void)state;
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

	(void)state;
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

static void number_of_threads(void **state)
{
	struct live_tids tids = { .n = 0 };
	struct relay relay;

	(void)state;
	start_relay(&relay, 1);
	assert_int_equal(live_tids_read(getpid(), &tids), 0);
	assert_true(live_tids_have(&tids, relay.tid));
	assert_int_equal(live_tids_count(getpid()), tids.n);
	assert_int_equal(live_tids_count(1 << 30), 0);
	sem_post(&relay.go);
	pthread_join(relay.thread, NULL);
	live_tids_free(&tids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(birth),
		cmocka_unit_test(asleep),
		cmocka_unit_test(estimated_switches),
		cmocka_unit_test(another_thread),
		cmocka_unit_test(ended),
		cmocka_unit_test(number_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
