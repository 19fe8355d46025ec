/* SPDX-License-Identifier: MIT */
/*
 * test_sampler_flood.c - millions of records through a small ring with a slow reader: records and
 * losses add up to the number produced; none is torn or repeated.
 *
 * PMC_TEST_RECORDS: number of records, 10,000,000 by default.
 */
#include "tests/unit/sampler_try.h"

#include <pthread.h>

struct producer {
	pthread_t thread;
	uint64_t n, more;
	int tid;      /* 0 until the thread runs */
	int go, done; /* phase that it waits for, phase that it has finished */
};

static void await(int *what, int at_least)
{
	while (__atomic_load_n(what, __ATOMIC_ACQUIRE) < at_least)
		sched_yield();
}

static void *produces(void *arg)
{
	struct producer *p = arg;

	__atomic_store_n(&p->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	await(&p->go, 1);
	for (uint64_t i = 0; i < p->n; i++)
		beat(i, ~i, i * 0x9e3779b97f4a7c15);
	__atomic_store_n(&p->done, 1, __ATOMIC_RELEASE);
	await(&p->go, 2);
	for (uint64_t i = p->n; i < p->n + p->more; i++)
		beat(i, ~i, i * 0x9e3779b97f4a7c15);
	__atomic_store_n(&p->done, 2, __ATOMIC_RELEASE);
	await(&p->go, 3);
	return NULL;
}

struct seen {
	uint64_t samples, last;
};

/* Reads all records in the ring; returns the error of the last read. */
static int drain(struct pmc_sampler *sampler, struct seen *seen)
{
	struct pmc_record record;
	int error;

	while ((error = pmc_sampler_next(sampler, &record)) == 0) {
		struct beat b, still;

		if (record.type == PERF_RECORD_LOST)
			continue;
		if (!beat_of(&record, &b))
			fail_msg("a record of type %u, %u bytes", record.type, record.size);
		if (b.args[1] != ~b.args[0] || b.args[2] != b.args[0] * 0x9e3779b97f4a7c15)
			fail_msg("torn: %llx %llx %llx", (unsigned long long)b.args[0],
				 (unsigned long long)b.args[1], (unsigned long long)b.args[2]);
		if (seen->samples && b.args[0] <= seen->last)
			fail_msg("%llu after %llu", (unsigned long long)b.args[0],
				 (unsigned long long)seen->last);
		seen->last = b.args[0];
		seen->samples++;
		/* A reader several times slower than the producer. */
		for (volatile unsigned k = 0; k < 1500; k++)
			;
		/* The kernel must not overwrite the record before the next read. */
		assert_true(beat_of(&record, &still) && !memcmp(&b, &still, sizeof(b)));
	}
	return error;
}

static void records_and_lost_are_what_was_produced(void **state)
{
	const char *records = getenv("PMC_TEST_RECORDS");
	struct producer p = { .n = records ? strtoull(records, NULL, 0) : 10000000, .more = 3 };
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_sampler_totals totals;
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	struct seen seen = { 0, 0 };
	uint64_t count, lost;

	NEED_TRACEFS();
	assert_int_equal(pthread_create(&p.thread, NULL, produces, &p), 0);
	await(&p.tid, 1);
	open.pid = p.tid;
	open.read_format = PMC_READ_FORMAT_LOST;
	counter = open_beats(open);
	sampler = sampled(counter, 2);
	assert_int_equal(pmc_counter_enable(counter), 0);
	__atomic_store_n(&p.go, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&p.done, __ATOMIC_ACQUIRE) < 1)
		assert_int_equal(drain(sampler, &seen), -EAGAIN);
	assert_int_equal(drain(sampler, &seen), -EAGAIN);

	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, p.n);
	assert_int_equal(pmc_sampler_lost(sampler, &lost), 0);
	pmc_sampler_read_totals(sampler, &totals);
	print_message("%llu produced, %llu read, %llu lost, %llu of these not yet reported\n",
		      (unsigned long long)count, (unsigned long long)seen.samples,
		      (unsigned long long)lost, (unsigned long long)(lost - totals.lost));
	assert_int_equal(totals.samples, seen.samples);
	assert_int_equal(totals.undecodable, 0);
	assert_int_equal(seen.samples + lost, p.n);
	assert_true(lost > 0);
	assert_true(seen.samples > p.n / 10000);

	/* The loss is reported in front of the next record that fits. */
	__atomic_store_n(&p.go, 2, __ATOMIC_RELEASE);
	await(&p.done, 2);
	assert_int_equal(drain(sampler, &seen), -EAGAIN);
	pmc_sampler_read_totals(sampler, &totals);
	assert_int_equal(totals.lost, lost);
	assert_int_equal(totals.samples + totals.lost, p.n + p.more);
	assert_int_equal(seen.last, p.n + p.more - 1);

	__atomic_store_n(&p.go, 3, __ATOMIC_RELEASE);
	pthread_join(p.thread, NULL);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_and_lost_are_what_was_produced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
