/* SPDX-License-Identifier: MIT */
/* test_task.c - page faults and context switches of another thread, from /proc. */
#include "lib/base/clock.h"
#include "lib/base/proc.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void test_stat(void **state)
{
	struct pmc_usage usage = { 0 };

	assert_true(pmc_task_stat("12 (a) b) (c) S 1 2 3 4 5 6 4294967296 8 9 10 11 12 13 14 15 16 "
				  "17 18 19",
				  &usage));
	assert_int_equal(usage.user_ns, 110000000);
	assert_int_equal(usage.system_ns, 120000000);
	assert_int_equal(usage.minor_faults, 4294967296);
	assert_int_equal(usage.major_faults, 9);
	assert_false(pmc_task_stat("12 (a) S 1 2 3 4 5 6 7 8 9", &usage));
}

static void test_status(void **state)
{
	struct pmc_usage usage = { 0 };

	assert_true(pmc_task_status("Name:\tnonvoluntary_ctxt_switches:\nNSpid:\t70\t7\n"
				    "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n",
				    7, &usage));
	assert_int_equal(usage.voluntary_switches, 5);
	assert_int_equal(usage.involuntary_switches, 6);
	/* The file of another thread: its ID in the innermost namespace differs. */
	assert_false(pmc_task_status("NSpid:\t7\t70\nvoluntary_ctxt_switches:\t5\n"
				     "nonvoluntary_ctxt_switches:\t6\n",
				     7, &usage));
	/* Before Linux 4.1 there is no NSpid line. */
	assert_true(pmc_task_status("voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6",
				    7, &usage));
	assert_false(pmc_task_status("voluntary_ctxt_switches:\t5\n", 7, &usage));
	assert_false(pmc_task_status("voluntary_ctxt_switches:\nnonvoluntary_ctxt_switches:\t6\n",
				     7, &usage));
	assert_false(pmc_task_status("", 7, &usage));
}

static void test_run_delay(void **state)
{
	uint64_t ns;

	assert_true(pmc_run_delay(0, &ns));
	assert_false(pmc_run_delay(UINT32_MAX, &ns));
}

static void *tids_agree(void *arg)
{
	*(bool *)arg = pmc_thread_tid() == (uint32_t)syscall(SYS_gettid);
	return NULL;
}

static void test_tid_without_a_call(void **state)
{
	bool agree = false;
	pthread_t thread;

	assert_int_equal(pmc_thread_tid(), syscall(SYS_gettid));
	assert_int_equal(pthread_create(&thread, NULL, tids_agree, &agree), 0);
	pthread_join(thread, NULL);
	assert_true(agree);
}

static sem_t ready, done;
static struct pmc_usage told;
static uint32_t tid;

static void *touch(void *arg)
{
	volatile char *pages = malloc(1 << 20);

	for (int i = 0; i < 1 << 20; i += 4096)
		pages[i] = 1;
	for (int i = 0; i < 10; i++)
		usleep(100);
	tid = (uint32_t)syscall(SYS_gettid);
	pmc_usage_thread(&told);
	sem_post(&ready);
	sem_wait(&done);
	free((char *)pages);
	return arg;
}

/* /proc has at least the values that the thread read itself; waiting adds a switch. */
static void test_another_thread(void **state)
{
	struct pmc_usage usage;
	char room[PMC_TASK_ROOM];
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, touch, NULL), 0);
	sem_wait(&ready);
	assert_true(pmc_usage_of_task(tid, room, sizeof(room), &usage));
	assert_in_range(usage.minor_faults, told.minor_faults, told.minor_faults + 8);
	assert_true(told.minor_faults >= 200);
	assert_int_equal(usage.major_faults, told.major_faults);
	assert_in_range(usage.voluntary_switches, told.voluntary_switches,
			told.voluntary_switches + 2);
	assert_true(told.voluntary_switches >= 10);
	assert_true(usage.involuntary_switches >= told.involuntary_switches);
	/* A file larger than the buffer is an error. */
	assert_false(pmc_usage_of_task(tid, room, 64, &usage));
	sem_post(&done);
	pthread_join(thread, NULL);
	assert_false(pmc_usage_of_task(0, room, sizeof(room), &usage));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),	       cmocka_unit_test(test_status),
		cmocka_unit_test(test_run_delay),      cmocka_unit_test(test_tid_without_a_call),
		cmocka_unit_test(test_another_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
