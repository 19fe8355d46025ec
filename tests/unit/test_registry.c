/* SPDX-License-Identifier: MIT */
/* test_registry.c - slots while threads start and end: one owner at a time; no reads of closed
 * slots. */
#include "lib/count/group.h"
#include "lib/live/registry.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OWNERS = 4, READERS = 2, ROUNDS = 20000 };

static struct registry registry;
static _Atomic unsigned double_owned, foreign_reads, reads, given_back, owners_left;

static void count_given(int *fds, unsigned n)
{
	assert_true(fds[0] >= 0);
	given_back += n;
	pmc_perf_group_close(fds, n);
}

static void slots_are_reused(void **state)
{
	struct registry r;
	struct slot *a, *b;

	assert_int_equal(registry_init(&r, 1, 4, 2), 0);
	a = registry_alloc(&r);
	b = registry_alloc(&r);
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_null(registry_alloc(&r));
	assert_int_equal(set_fds(&r, a->data)[3], -1);
	assert_true(registry_release(&r, a));
	assert_ptr_equal(registry_alloc(&r), a);
	assert_int_equal(r.high, 2);
	registry_fini(&r);
	registry_fini(&r);
}

static void nothing_is_left_in_a_forked_child(void **state)
{
	struct registry r;
	struct slot *slot;

	assert_int_equal(registry_init(&r, 1, 4, 2), 0);
	slot = registry_alloc(&r);
	slot->tid = 7;
	set_fds(&r, slot->data)[3] = 9;
	registry_live(slot);
	registry_ended(&r, 8);
	registry_alloc(&r);
	assert_int_equal(registry_empty(&r), 0);
	assert_int_equal(registry_taken(&r), 0);
	assert_int_equal(r.high, 0);
	assert_false(registry_has_ended(&r, 8));
	assert_false(registry_pin(registry_slot(&r, 0)));
	assert_ptr_equal(registry_alloc(&r), slot);
	assert_int_equal(slot->tid, 0);
	assert_int_equal(set_fds(&r, slot->data)[3], -1);
	registry_fini(&r);
}

static void only_live_slots_are_pinned(void **state)
{
	struct registry r;
	struct slot *slot;

	assert_int_equal(registry_init(&r, 0, 0, 8), 0);
	slot = registry_alloc(&r);
	assert_false(registry_pin(slot));
	registry_live(slot);
	assert_true(registry_pin(slot));
	registry_unpin(&r, slot);
	registry_close(slot);
	assert_false(registry_pin(slot));
	assert_true(registry_release(&r, slot));
	assert_false(registry_pin(slot));
	registry_fini(&r);
}

static void a_reader_closes_in_the_owners_place(void **state)
{
	struct registry r;
	struct slot *slot;
	int pipefd[2];

	registry_closer = count_given;
	given_back = 0;
	assert_int_equal(pipe(pipefd), 0);
	assert_int_equal(registry_init(&r, 1, 1, 8), 0);
	slot = registry_alloc(&r);
	set_fds(&r, slot->data)[0] = pipefd[0];
	slot->n_fds = 1;
	registry_live(slot);
	assert_true(registry_pin(slot));
	assert_true(registry_pin(slot));
	registry_close(slot);
	registry_close_fds(&r, slot);
	assert_false(registry_release(&r, slot));
	/* Still readable: the descriptor stays open until the last reader leaves. */
	assert_int_equal(set_fds(&r, slot->data)[0], pipefd[0]);
	registry_unpin(&r, slot);
	assert_int_equal(given_back, 0);
	registry_unpin(&r, slot);
	assert_int_equal(given_back, 1);
	assert_int_equal(close(pipefd[0]), -1);
	assert_int_equal(errno, EBADF);
	close(pipefd[1]);
	assert_ptr_equal(registry_alloc(&r), slot);
	registry_closer = pmc_perf_group_close;
	registry_fini(&r);
}

static void differences_are_never_negative(void **state)
{
	assert_int_equal(set_less(10, 4), 6);
	assert_int_equal(set_less(4, 10), 0);
}

static void a_reader_retires_what_is_gone(void **state)
{
	struct registry r;
	struct slot *slot;

	assert_int_equal(registry_init(&r, 0, 0, 8), 0);
	slot = registry_alloc(&r);
	registry_live(slot);
	assert_true(registry_pin(slot));
	assert_true(registry_pin(slot));
	registry_retire(slot); /* another reader has the slot pinned */
	registry_unpin(&r, slot);
	registry_retire(slot);
	assert_false(registry_pin(slot));
	assert_int_equal(registry_taken(&r), 1);
	registry_unpin(&r, slot);
	assert_int_equal(registry_taken(&r), 0);
	assert_ptr_equal(registry_alloc(&r), slot);
	registry_fini(&r);
}

static void *own(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct slot *slot = registry_alloc(&registry);

		if (!slot)
			continue;
		/* The owner's mark: a second owner at the same time would see it. */
		if (slot->arg)
			double_owned++;
		slot->arg = arg;
		slot->seq = i;
		slot->tid = (uint32_t)i ^ 0x5a5a5a5a;
		registry_live(slot);
		registry_close(slot);
		if (slot->arg != arg)
			double_owned++;
		registry_ended(&registry, slot->tid);
		registry_release(&registry, slot);
	}
	owners_left--;
	return NULL;
}

static void *look(void *arg)
{
	while (owners_left) {
		for (uint32_t i = 0; i < registry.high && i < registry.capacity; i++) {
			struct slot *slot = registry_slot(&registry, i);

			if (!registry_pin(slot))
				continue;
			/* While a slot is pinned, its seq and tid are those of one owner. */
			if (slot->tid != ((uint32_t)slot->seq ^ 0x5a5a5a5a))
				foreign_reads++;
			reads++;
			registry_unpin(&registry, slot);
		}
	}
	return NULL;
}

static void churn_with_readers(void **state)
{
	pthread_t threads[OWNERS + READERS];
	static char marks[OWNERS];

	assert_int_equal(registry_init(&registry, 1, 2, 64), 0);
	owners_left = OWNERS;
	for (unsigned i = 0; i < OWNERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, own, &marks[i]), 0);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[OWNERS + i], NULL, look, NULL), 0);
	for (unsigned i = 0; i < OWNERS + READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(double_owned, 0);
	assert_int_equal(foreign_reads, 0);
	assert_int_equal(registry_taken(&registry), 0);
	/* All slots can be allocated again: none has leaked. */
	for (unsigned i = 0; i < 64; i++)
		assert_non_null(registry_alloc(&registry));
	assert_null(registry_alloc(&registry));
	registry_fini(&registry);
}

static void ended_tids_are_known(void **state)
{
	struct registry r;

	assert_int_equal(registry_init(&r, 0, 0, 2), 0);
	assert_false(registry_has_ended(&r, 77));
	registry_ended(&r, 77);
	/* An ended thread may remain in /proc for any time: its tid is kept, however many others
	 * end. */
	for (uint32_t i = 1; i < 100000; i++) {
		registry_ended(&r, 77 + i);
		registry_release(&r, registry_alloc(&r));
	}
	assert_true(registry_has_ended(&r, 77));
	assert_false(registry_has_ended(&r, 76));
	registry_ended(&r, REGISTRY_TIDS - 1);
	assert_true(registry_has_ended(&r, REGISTRY_TIDS - 1));
	assert_false(registry_has_ended(&r, REGISTRY_TIDS));
	registry_fini(&r);
}

/* The number on this line of /proc/self/smaps for the mapping that begins at map. */
static bool smaps(const void *map, const char *key, char *line, int bytes)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool mine = false, found = false;
	unsigned long from, to;

	assert_non_null(f);
	while (!found && fgets(line, bytes, f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			mine = from == (unsigned long)(uintptr_t)map;
		found = mine && !strncmp(line, key, strlen(key));
	}
	fclose(f);
	return found;
}

static void the_mapping_is_not_of_huge_pages(void **state)
{
	enum { HUGE = 2 << 20 };
	char line[256] = "";
	struct registry r;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
		skip();
	assert_int_equal(registry_init(&r, 1, 4, 1 << 17), 0);
	assert_int_not_equal(r.map_bytes % HUGE, 0);
	assert_non_null(registry_alloc(&r));
	assert_true(smaps(r.ended, "Rss:", line, sizeof(line)));
	print_message("# %s", line);
	assert_true(strtoul(line + 4, NULL, 10) <= 64);
	assert_true(smaps(r.ended, "VmFlags:", line, sizeof(line)));
	print_message("# %s", line);
	assert_non_null(strstr(line, " nh"));
	registry_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_reused),
		cmocka_unit_test(nothing_is_left_in_a_forked_child),
		cmocka_unit_test(only_live_slots_are_pinned),
		cmocka_unit_test(a_reader_closes_in_the_owners_place),
		cmocka_unit_test(differences_are_never_negative),
		cmocka_unit_test(a_reader_retires_what_is_gone),
		cmocka_unit_test(churn_with_readers),
		cmocka_unit_test(ended_tids_are_known),
		cmocka_unit_test(the_mapping_is_not_of_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
