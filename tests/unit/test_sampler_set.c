/* SPDX-License-Identifier: MIT */
/* test_sampler_set.c - several rings as one stream: made-up rings with a known order, and real
 * ones. */
#include "lib/counter/counter.h"
#include "lib/sampler/sampler.h"

#include <sys/mman.h>
#include "tests/unit/ring_made.h"
#include "tests/unit/sampler_try.h"

#include <time.h>

/* ---- rings in ordinary memory -------------------------------------------------------------- */

struct made_sampler {
	struct made_ring made;
	struct pmc_source source;
	struct pmc_sampler *sampler;
	unsigned char *joined;
};

static void sampler_init(struct made_sampler *m, uint64_t size)
{
	made_init(&m->made, size, 0);
	m->source = (struct pmc_source){ .detached = true,
					 .attr = { .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
						   .sample_id_all = 1 } };
	m->sampler = calloc(1, sizeof(*m->sampler));
	m->sampler->first = &m->source;
	m->sampler->alive_bytes = 4096;
	m->sampler->alive =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(m->sampler->alive, MAP_FAILED);
	*m->sampler->alive = 1;
	m->joined = malloc(PMC_RING_RECORD_MAX);
	assert_int_equal(
		pmc_ring_init(&m->sampler->ring, &m->made.page, m->made.data, size, m->joined), 0);
}

static void sampler_fini(struct made_sampler *m)
{
	/* The sampler does not own its source. */
	m->sampler->first = NULL;
	pmc_sampler_close(m->sampler);
	free(m->joined);
	made_fini(&m->made);
}

/* { header, time, id }; the id is unique. */
static void put(struct made_sampler *m, uint64_t time, uint64_t id)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = 24 };
	uint64_t words[3] = { 0, time, id };

	memcpy(words, &header, 8);
	made_put(&m->made, words, 24);
	made_publish(&m->made);
}

static void settle(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

#define SETTLE 2000000

/* Up to three calls: a record is returned when the round that saw it has settled, and that round
 * may begin only after the current one. */
static int next(struct pmc_sampler_set *set, struct pmc_record *record, struct pmc_sampler **from)
{
	int error;

	for (unsigned i = 0; i < 3; i++) {
		error = pmc_sampler_set_next(set, record, from);
		if (error != -EAGAIN)
			break;
		settle(SETTLE);
	}
	return error;
}

static void nothing_comes_before_older_ones_can_be_ruled_out(void **state)
{
	struct pmc_sampler_set *set;
	struct made_sampler a, b;
	struct pmc_sampler *from;
	struct pmc_sampler_totals totals;
	struct pmc_record record;

	sampler_init(&a, 4096);
	sampler_init(&b, 4096);
	/* So long that rounds never settle by time. */
	assert_int_equal(pmc_sampler_set_new(&set, 60000000000), 0);
	assert_int_equal(pmc_sampler_set_next(set, &record, &from), -ENODATA);
	assert_int_equal(pmc_sampler_set_add(set, a.sampler), 0);
	assert_int_equal(pmc_sampler_set_add(set, b.sampler), 0);
	assert_int_equal(pmc_sampler_set_add(set, b.sampler), -EBUSY);
	assert_int_equal(pmc_sampler_next(a.sampler, &record), -EBUSY);
	put(&a, 100, 1);
	put(&a, 200, 2);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(pmc_sampler_set_next(set, &record, &from), -EAGAIN);
	/* The other ring delivers an older record later. */
	put(&b, 50, 3);
	assert_int_equal(pmc_sampler_set_next(set, &record, &from), -EAGAIN);
	/* Both rings have ended: no older record can come. */
	a.sampler->ended = b.sampler->ended = -ENODATA;
	assert_int_equal(pmc_sampler_set_next(set, &record, &from), 0);
	assert_int_equal(record.id, 3);
	assert_ptr_equal(from, b.sampler);
	assert_int_equal(pmc_sampler_set_next(set, &record, NULL), 0);
	assert_int_equal(record.id, 1);
	assert_int_equal(pmc_sampler_set_next(set, &record, &from), 0);
	assert_int_equal(record.id, 2);
	assert_ptr_equal(from, a.sampler);
	assert_int_equal(pmc_sampler_set_next(set, &record, &from), -ENODATA);
	assert_null(from);
	pmc_sampler_set_read_totals(set, &totals);
	assert_int_equal(totals.records, 3);
	assert_int_equal(totals.late, 0);
	pmc_sampler_set_free(set);
	sampler_fini(&a);
	sampler_fini(&b);
}

static void what_no_round_has_settled_is_held_back(void **state)
{
	struct pmc_sampler_set *set;
	struct made_sampler a, b;
	struct pmc_record record;

	sampler_init(&a, 4096);
	sampler_init(&b, 4096);
	pmc_sampler_set_new(&set, SETTLE);
	pmc_sampler_set_add(set, a.sampler);
	pmc_sampler_set_add(set, b.sampler);
	put(&a, 100, 1);
	assert_int_equal(next(set, &record, NULL), 0);
	/* The time since the last round does not matter: no settled round has seen this record. */
	put(&a, 200, 2);
	assert_int_equal(pmc_sampler_set_next(set, &record, NULL), -EAGAIN);
	put(&b, 150, 3);
	assert_int_equal(next(set, &record, NULL), 0);
	assert_int_equal(record.id, 3);
	assert_int_equal(next(set, &record, NULL), 0);
	assert_int_equal(record.id, 2);
	pmc_sampler_set_free(set);
	sampler_fini(&a);
	sampler_fini(&b);
}

/* A record that an interrupt delays is published after a newer record of the same ring. */
static void a_record_behind_a_newer_one_of_its_ring_is_late(void **state)
{
	static const uint64_t times[] = { 10, 30, 20, 20, 50 };
	struct pmc_sampler_totals totals;
	struct pmc_sampler_set *set;
	struct made_sampler a;
	struct pmc_record record;

	sampler_init(&a, 4096);
	pmc_sampler_set_new(&set, SETTLE);
	pmc_sampler_set_add(set, a.sampler);
	for (unsigned i = 0; i < 5; i++)
		put(&a, times[i], i);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(next(set, &record, NULL), 0);
		assert_int_equal(record.id, i);
		/* Valid until the next call. */
		assert_int_equal(a.made.page.data_tail, 24 * i);
	}
	assert_int_equal(next(set, &record, NULL), -EAGAIN);
	assert_int_equal(a.made.page.data_tail, 24 * 5);
	pmc_sampler_set_read_totals(set, &totals);
	assert_int_equal(totals.late, 2);
	pmc_sampler_set_free(set);
	sampler_fini(&a);
}

static void what_comes_too_late_is_counted(void **state)
{
	struct pmc_sampler_totals totals;
	struct pmc_sampler_set *set;
	struct made_sampler a;
	struct pmc_record record;

	sampler_init(&a, 4096);
	pmc_sampler_set_new(&set, SETTLE);
	pmc_sampler_set_add(set, a.sampler);
	put(&a, 100, 1);
	assert_int_equal(next(set, &record, NULL), 0);
	put(&a, 99, 2);
	assert_int_equal(next(set, &record, NULL), 0);
	assert_int_equal(record.id, 2);
	pmc_sampler_set_read_totals(set, &totals);
	assert_int_equal(totals.late, 1);
	pmc_sampler_read_totals(a.sampler, &totals);
	assert_int_equal(totals.late, 1);
	pmc_sampler_set_free(set);
	sampler_fini(&a);
}

static void rings_come_and_go(void **state)
{
	struct pmc_sampler_set *set, *other;
	struct made_sampler a, b, c;
	struct pmc_sampler *from;
	struct pmc_record record;

	sampler_init(&a, 4096);
	sampler_init(&b, 4096);
	sampler_init(&c, 4096);
	pmc_sampler_set_new(&set, SETTLE);
	pmc_sampler_set_new(&other, SETTLE);
	pmc_sampler_set_add(set, a.sampler);
	pmc_sampler_set_add(set, b.sampler);
	for (unsigned i = 0; i < 3; i++) {
		put(&a, 100 + 10 * i, i);
		put(&b, 101 + 10 * i, 10 + i);
	}
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 0);
	assert_int_equal(pmc_sampler_set_remove(other, a.sampler), -ENOENT);
	assert_int_equal(pmc_sampler_set_remove(set, a.sampler), 0);
	assert_int_equal(pmc_sampler_set_remove(set, a.sampler), -ENOENT);
	/* Outside the set: the remaining records, each once. */
	put(&a, 300, 4);
	assert_int_equal(pmc_sampler_next(a.sampler, &record), 0);
	assert_int_equal(record.id, 1);
	/* In another set: the rest. */
	assert_int_equal(a.made.page.data_tail, 24);
	assert_int_equal(pmc_sampler_set_add(other, a.sampler), 0);
	/* The space of its last record is released at once: the ring may be full. */
	assert_int_equal(a.made.page.data_tail, 24 * 2);
	assert_int_equal(next(other, &record, &from), 0);
	assert_int_equal(record.id, 2);
	assert_int_equal(next(other, &record, &from), 0);
	assert_int_equal(record.id, 4);
	assert_int_equal(next(other, &record, &from), -EAGAIN);
	assert_int_equal(a.made.page.data_tail, 24 * 4);
	/* A ring that is added late is in order with the others. */
	put(&c, 106, 20);
	pmc_sampler_set_add(set, c.sampler);
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 10);
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 20);
	assert_ptr_equal(from, c.sampler);
	/* Closing a sampler removes it from its set. */
	sampler_fini(&c);
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 11);
	pmc_sampler_set_free(set);
	pmc_sampler_set_free(other);
	pmc_sampler_set_free(NULL);
	assert_int_equal(pmc_sampler_next(b.sampler, &record), 0);
	assert_int_equal(record.id, 12);
	assert_int_equal(pmc_sampler_next(b.sampler, &record), -EAGAIN);
	sampler_fini(&a);
	sampler_fini(&b);
}

static void a_damaged_ring_is_told_once_and_the_others_go_on(void **state)
{
	struct perf_event_header bad = { .type = PERF_RECORD_SAMPLE, .size = 0 };
	struct pmc_sampler_set *set;
	struct made_sampler a, b;
	struct pmc_sampler *from;
	struct pmc_record record;

	sampler_init(&a, 4096);
	sampler_init(&b, 4096);
	pmc_sampler_set_new(&set, SETTLE);
	pmc_sampler_set_add(set, a.sampler);
	pmc_sampler_set_add(set, b.sampler);
	put(&a, 10, 1);
	made_put(&a.made, &bad, 8);
	made_publish(&a.made);
	put(&b, 20, 2);
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 1);
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 2);
	assert_int_equal(next(set, &record, &from), -EBADMSG);
	assert_ptr_equal(from, a.sampler);
	assert_int_equal(next(set, &record, &from), -EAGAIN);
	put(&b, 30, 3);
	assert_int_equal(next(set, &record, &from), 0);
	assert_int_equal(record.id, 3);
	b.sampler->ended = -ENODATA;
	assert_int_equal(next(set, &record, &from), -ENODATA);
	pmc_sampler_set_free(set);
	sampler_fini(&a);
	sampler_fini(&b);
}

/* A descriptor for which poll() returns what it returns for an event in error, closed, or at its
 * end. */
static int polled_as(int why)
{
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	if (why == -EIO) { /* POLLERR: a pinned event that lost its counter */
		close(pipes[0]);
		return pipes[1];
	}
	close(pipes[1]);   /* POLLHUP */
	if (why == -EBADF) /* POLLNVAL */
		close(pipes[0]);
	return pipes[0];
}

static void a_ring_ends_for_the_reason_that_poll_tells(void **state)
{
	static const int reasons[] = { -EIO, -EBADF, -ENODATA };

	for (unsigned i = 0; i < 3; i++) {
		struct pmc_sampler_set *set;
		struct pmc_sampler *from;
		struct made_sampler a;
		struct pmc_record record;
		struct pmc_counter polled = { .fd = polled_as(reasons[i]) };

		/* A single sampler: the remaining records, then the reason at each call. */
		sampler_init(&a, 4096);
		a.source.counter = &polled;
		a.source.detached = false;
		put(&a, 1, 1);
		assert_int_equal(pmc_sampler_next_wait(a.sampler, &record, -1), 0);
		assert_int_equal(pmc_sampler_next(a.sampler, &record), -EAGAIN);
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(pmc_sampler_next_wait(a.sampler, &record, -1), reasons[i]);
		sampler_fini(&a);

		/* In a set: the reason once; the remaining record is not held back for a round. */
		sampler_init(&a, 4096);
		a.source.counter = &polled;
		a.source.detached = false;
		pmc_sampler_set_new(&set, 60000000000);
		pmc_sampler_set_add(set, a.sampler);
		put(&a, 1, 1);
		assert_int_equal(pmc_sampler_set_next_wait(set, &record, &from, -1), 0);
		assert_int_equal(record.id, 1);
		if (reasons[i] != -ENODATA) {
			assert_int_equal(pmc_sampler_set_next_wait(set, &record, &from, -1),
					 reasons[i]);
			assert_ptr_equal(from, a.sampler);
		}
		assert_int_equal(pmc_sampler_set_next_wait(set, &record, &from, -1), -ENODATA);
		pmc_sampler_set_free(set);
		sampler_fini(&a);
		if (reasons[i] != -EBADF)
			close(polled.fd);
	}
}

/* Random records in rings of different speeds, read at random moments. Writers obey the rule that
 * times come from one clock and are published before the next round settles. */
static void any_filling_comes_out_in_order(void **state)
{
	struct made_sampler rings[5];
	struct pmc_sampler_totals totals;
	struct pmc_sampler_set *set;
	struct pmc_record record;
	uint64_t clock = 1, put_in = 0, got = 0, last = 0;
	uint32_t random = 1;

	pmc_sampler_set_new(&set, 1); /* every round settles at once */
	for (unsigned i = 0; i < 5; i++) {
		sampler_init(&rings[i], 1024 << i);
		pmc_sampler_set_add(set, rings[i].sampler);
	}
	for (unsigned step = 0; step < 200000; step++) {
		unsigned i;

		random = random * 1664525 + 1013904223;
		i = (random >> 16) % 31;
		i = i < 1 ? 0 : i < 3 ? 1 : i < 7 ? 2 : i < 15 ? 3 : 4;
		clock += random >> 30;
		if (made_room(&rings[i].made, 24))
			put(&rings[i], clock, ++put_in);
		if ((random >> 8) % 16 == 0) {
			while (pmc_sampler_set_next(set, &record, NULL) == 0) {
				assert_true(record.time >= last);
				last = record.time;
				got++;
			}
		}
	}
	for (unsigned i = 0; i < 5; i++)
		rings[i].sampler->ended = -ENODATA;
	while (pmc_sampler_set_next(set, &record, NULL) == 0) {
		assert_true(record.time >= last);
		last = record.time;
		got++;
	}
	assert_int_equal(got, put_in);
	assert_true(got > 100000);
	pmc_sampler_set_read_totals(set, &totals);
	assert_int_equal(totals.late, 0);
	pmc_sampler_set_free(set);
	for (unsigned i = 0; i < 5; i++)
		sampler_fini(&rings[i]);
}

static void rings_that_cannot_be_ordered_are_refused(void **state)
{
	struct pmc_sampler_set *set;
	struct made_sampler a, b;

	sampler_init(&a, 4096);
	sampler_init(&b, 4096);
	pmc_sampler_set_new(&set, 0);
	a.source.attr.sample_type = PERF_SAMPLE_ID;
	assert_int_equal(pmc_sampler_set_add(set, a.sampler), -EINVAL);
	a.source.attr.sample_type = PERF_SAMPLE_TIME;
	a.source.attr.sample_id_all = 0;
	assert_int_equal(pmc_sampler_set_add(set, a.sampler), -EINVAL);
	a.source.attr.sample_id_all = 1;
	a.source.attr.use_clockid = 1;
	a.source.attr.clockid = CLOCK_MONOTONIC;
	assert_int_equal(pmc_sampler_set_add(set, a.sampler), 0);
	assert_int_equal(pmc_sampler_set_add(set, b.sampler), -EINVAL);
	b.source.attr.use_clockid = 1;
	b.source.attr.clockid = CLOCK_MONOTONIC_RAW;
	assert_int_equal(pmc_sampler_set_add(set, b.sampler), -EINVAL);
	b.source.attr.clockid = CLOCK_MONOTONIC;
	assert_int_equal(pmc_sampler_set_add(set, b.sampler), 0);
	pmc_sampler_set_free(set);
	sampler_fini(&a);
	sampler_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_comes_before_older_ones_can_be_ruled_out),
		cmocka_unit_test(what_no_round_has_settled_is_held_back),
		cmocka_unit_test(a_record_behind_a_newer_one_of_its_ring_is_late),
		cmocka_unit_test(what_comes_too_late_is_counted),
		cmocka_unit_test(rings_come_and_go),
		cmocka_unit_test(a_damaged_ring_is_told_once_and_the_others_go_on),
		cmocka_unit_test(a_ring_ends_for_the_reason_that_poll_tells),
		cmocka_unit_test(any_filling_comes_out_in_order),
		cmocka_unit_test(rings_that_cannot_be_ordered_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
