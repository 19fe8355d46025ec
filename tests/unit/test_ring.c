/* SPDX-License-Identifier: MIT */
/* test_ring.c - a ring in ordinary memory: wrapped records, damage, and a concurrent writer. */
#include "tests/unit/ring_made.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

static unsigned char joined[PMC_RING_RECORD_MAX] __attribute__((aligned(8)));

static void make_record(unsigned char *record, unsigned size, unsigned seed)
{
	struct perf_event_header header = { .type = 9, .size = (uint16_t)size };

	for (unsigned i = 0; i < size; i++)
		record[i] = (unsigned char)(seed * 31 + i * 7 + i / 256);
	memcpy(record, &header, sizeof(header));
}

static void a_record_may_wrap_anywhere(void **state)
{
	static const unsigned sizes[] = { 8, 16, 24, 40, 256, 1024, 4080, 4088, 4096 };
	unsigned char record[4096] __attribute__((aligned(8)));
	unsigned wrapped = 0;

	for (unsigned s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		for (uint64_t start = 0; start < 4096; start += 8) {
			/* Positions near the end of 64 bits wrap correctly. */
			uint64_t base = start % 16 ? start : start - 4096;
			struct perf_event_header header;
			struct made_ring made;
			struct pmc_ring ring;
			const void *got;

			made_init(&made, 4096, base);
			make_record(record, sizes[s], (unsigned)start);
			made_put(&made, record, sizes[s]);
			assert_int_equal(pmc_ring_init(&ring, &made.page, made.data, 4096, joined),
					 0);
			assert_int_equal(pmc_ring_header(&ring, base, &header), -EAGAIN);
			made_publish(&made);
			assert_int_equal(pmc_ring_look(&ring), 0);
			assert_int_equal(pmc_ring_header(&ring, base, &header), 0);
			assert_int_equal(header.size, sizes[s]);
			got = pmc_ring_record(&ring, base, header.size);
			assert_int_equal((uintptr_t)got % 8, 0);
			assert_memory_equal(got, record, sizes[s]);
			wrapped += got == joined;
			assert_int_equal(pmc_ring_header(&ring, base + sizes[s], &header), -EAGAIN);
			/* Space is released only by pmc_ring_release(). */
			assert_int_equal(made.page.data_tail, base);
			pmc_ring_release(&ring, base + sizes[s]);
			assert_int_equal(made.page.data_tail, base + sizes[s]);
			made_fini(&made);
		}
	}
	/* A record of n words in a ring of 512 has n - 1 positions where it wraps. */
	assert_int_equal(wrapped, 0 + 1 + 2 + 4 + 31 + 127 + 509 + 510 + 511);
}

static void a_size_that_cannot_be_ends_it(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 4, 7, 9, 12, 15, 72, 80, 4096, 65528, 65535 };

	for (unsigned s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		unsigned char record[64] __attribute__((aligned(8)));
		struct perf_event_header header;
		struct made_ring made;
		struct pmc_ring ring;

		made_init(&made, 4096, 4064);
		make_record(record, 64, 1);
		memcpy(record + offsetof(struct perf_event_header, size), &sizes[s], 2);
		made_put(&made, record, 64);
		made_publish(&made);
		pmc_ring_init(&ring, &made.page, made.data, 4096, joined);
		assert_int_equal(pmc_ring_look(&ring), 0);
		/* Sizes above 64 exceed the head. */
		assert_int_equal(pmc_ring_header(&ring, 4064, &header), -EBADMSG);
		assert_int_equal(made.page.data_tail, 4064);
		made_fini(&made);
	}
}

static void a_head_that_cannot_be_ends_it(void **state)
{
	struct perf_event_header header;
	struct made_ring made;
	struct pmc_ring ring;

	made_init(&made, 4096, 8192);
	pmc_ring_init(&ring, &made.page, made.data, 4096, joined);
	made.page.data_head = 8192 + 4096;
	assert_int_equal(pmc_ring_look(&ring), 0);
	made.page.data_head = 8192 + 4096 + 8; /* unread data was overwritten */
	assert_int_equal(pmc_ring_look(&ring), -EBADMSG);
	made.page.data_head = 8192 + 64; /* moved backwards */
	assert_int_equal(pmc_ring_look(&ring), -EBADMSG);
	made.page.data_head = 8184; /* before the tail */
	assert_int_equal(pmc_ring_look(&ring), -EBADMSG);
	made_fini(&made);

	/* Less than a header from the tail. */
	made_init(&made, 4096, 0);
	pmc_ring_init(&ring, &made.page, made.data, 4096, joined);
	made.page.data_head = 4;
	assert_int_equal(pmc_ring_look(&ring), 0);
	assert_int_equal(pmc_ring_header(&ring, 0, &header), -EBADMSG);
	made_fini(&made);

	made_init(&made, 4096, 0);
	assert_int_equal(pmc_ring_init(&ring, &made.page, made.data, 4095, joined), -EINVAL);
	assert_int_equal(pmc_ring_init(&ring, &made.page, made.data, 0, joined), -EINVAL);
	made.page.data_tail = 3;
	assert_int_equal(pmc_ring_init(&ring, &made.page, made.data, 4096, joined), -EBADMSG);
	made_fini(&made);
}

/* ---- a writer on another thread ------------------------------------------------------------ */

#define RECORDS 1000000

struct writer {
	struct made_ring made;
	uint64_t lost, done;
};

/* { header, sequence, then sequence * k } */
static void *writes(void *arg)
{
	struct writer *w = arg;
	uint64_t words[64];
	uint32_t random = 12345;

	for (uint64_t i = 0; i < RECORDS; i++) {
		struct perf_event_header header = { .type = 9 };
		unsigned n;

		random = random * 1664525 + 1013904223;
		n = 2 + (random >> 16) % 30;
		header.size = (uint16_t)(8 * n);
		/* In half of the rounds it waits for room, so that a reader that rarely runs gets
		 * records, too. */
		while ((random & 0x8000) && !made_room(&w->made, header.size))
			sched_yield();
		if (!made_room(&w->made, header.size)) {
			w->lost++;
			continue;
		}
		memcpy(words, &header, 8);
		words[1] = i;
		for (unsigned k = 2; k < n; k++)
			words[k] = i * k;
		made_put(&w->made, words, header.size);
		made_publish(&w->made);
	}
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void against_a_writer_none_is_torn_or_twice(void **state)
{
	struct writer w = { .lost = 0 };
	uint64_t seen = 0, last = UINT64_MAX, at = 0;
	struct pmc_ring ring;
	pthread_t thread;
	bool done;

	made_init(&w.made, 4096, 0);
	pmc_ring_init(&ring, &w.made.page, w.made.data, 4096, joined);
	assert_int_equal(pthread_create(&thread, NULL, writes, &w), 0);
	do {
		struct perf_event_header header;
		const uint64_t *words;

		done = __atomic_load_n(&w.done, __ATOMIC_ACQUIRE);
		assert_int_equal(pmc_ring_look(&ring), 0);
		while (pmc_ring_header(&ring, at, &header) == 0) {
			words = pmc_ring_record(&ring, at, header.size);
			assert_true(last == UINT64_MAX || words[1] > last);
			last = words[1];
			for (unsigned k = 2; k < header.size / 8; k++)
				assert_int_equal(words[k], last * k);
			seen++;
			at += header.size;
			if (seen % 4 == 0)
				pmc_ring_release(&ring, at);
		}
		assert_int_equal(at, ring.head);
		/* The writer may be waiting for this CPU. */
		if (at == ring.tail)
			sched_yield();
		pmc_ring_release(&ring, at);
	} while (!done);
	pthread_join(thread, NULL);
	assert_true(w.lost > 0);
	assert_true(seen > RECORDS / 100);
	assert_int_equal(seen + w.lost, RECORDS);
	made_fini(&w.made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_may_wrap_anywhere),
		cmocka_unit_test(a_size_that_cannot_be_ends_it),
		cmocka_unit_test(a_head_that_cannot_be_ends_it),
		cmocka_unit_test(against_a_writer_none_is_torn_or_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
