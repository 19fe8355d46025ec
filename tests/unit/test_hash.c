/* SPDX-License-Identifier: MIT */
/* test_hash.c - keys that were chosen to collide take no more comparisons than others. */
#include "lib/base/map.h"
#include "tests/unit/unit.h"

#define N 20000u

struct item {
	uint32_t key[4]; /* no hash: the number itself */
	UT_hash_handle hh;
};

static struct item items[N];

static void unmix(uint32_t s[3])
{
	s[2] = (s[2] ^ s[1] >> 15) + s[1] + s[0];
	s[1] = (s[1] ^ s[0] << 10) + s[0] + s[2];
	s[0] = (s[0] ^ s[2] >> 3) + s[2] + s[1];
	s[2] = (s[2] ^ s[1] >> 5) + s[1] + s[0];
	s[1] = (s[1] ^ s[0] << 16) + s[0] + s[2];
	s[0] = (s[0] ^ s[2] >> 12) + s[2] + s[1];
	s[2] = (s[2] ^ s[1] >> 13) + s[1] + s[0];
	s[1] = (s[1] ^ s[0] << 8) + s[0] + s[2];
	s[0] = (s[0] ^ s[2] >> 13) + s[2] + s[1];
}

/* A key with hash 0 under HASH_JEN, the default of uthash: its mixing is inverted, from any final
 * state. */
static void collide(uint32_t n, uint32_t key[4])
{
	uint32_t s[3] = { n * 2654435761u, n, 0 };

	unmix(s);
	key[3] = n;
	s[0] -= key[3];
	s[2] -= 16;
	unmix(s);
	key[0] = s[0] - 0x9e3779b9u;
	key[1] = s[1] - 0x9e3779b9u;
	key[2] = s[2] - 0xfeedbeefu;
}

static void chosen_keys_do_not_collide(void **state)
{
	struct pmc_arena memory = { 0 }, *arena = &memory;
	struct item *table = NULL, *found;
	uint64_t work = 0;

	for (uint32_t i = 0; i < N; i++) {
		unsigned hash;

		collide(i, items[i].key);
		HASH_JEN(items[i].key, 16, hash);
		assert_int_equal(hash, 0);
		HASH_ADD(hh, table, key, 16, &items[i]);
	}
	for (uint32_t i = 0; i < N; i++) {
		HASH_FIND(hh, table, items[i].key, 16, found);
		assert_ptr_equal(found, &items[i]);
	}
	/* Finding all keys of a bucket of n takes n * (n + 1) / 2 comparisons. */
	for (unsigned b = 0; b < table->hh.tbl->num_buckets; b++) {
		uint64_t n = table->hh.tbl->buckets[b].count;

		work += n * (n + 1) / 2;
	}
	assert_in_range(work, N, 20 * N);
	pmc_arena_free(arena);
}

/* The vectors of SipHash-1-3 in the tests of Rust's standard library. */
static void siphash_is_siphash(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint64_t expected[] = { 0xabac0158050fc4dcu, 0xc9f49bf37d57ca93u,
					     0x82cb9b024dc7d44du };
	uint64_t key[2];

	memcpy(key, bytes, sizeof(key));
	for (unsigned len = 0; len < 3; len++)
		assert_int_equal(pmc_hash_sip(key, bytes, len), expected[len]);
	/* Words, too. */
	assert_int_not_equal(pmc_hash_sip(key, bytes, 15), pmc_hash_sip(key, bytes, 16));
}

static void values_of_a_map_stay_where_they_are(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_map map = { 0 };
	uint32_t *values[100];

	assert_null(pmc_map_find(&map, "a", 1));
	for (uint32_t i = 0; i < 100; i++) {
		values[i] = pmc_map_at(&map, &arena, &i, sizeof(i), sizeof(i));
		assert_int_equal(*values[i], 0);
		*values[i] = i;
	}
	for (uint32_t i = 0; i < 100; i++) {
		assert_ptr_equal(pmc_map_at(&map, &arena, &i, sizeof(i), sizeof(i)), values[i]);
		assert_ptr_equal(pmc_map_find(&map, &i, sizeof(i)), values[i]);
		assert_int_equal(*values[i], i);
	}
	assert_null(pmc_map_find(&map, values[1], 3));
	pmc_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_keys_do_not_collide),
		cmocka_unit_test(values_of_a_map_stay_where_they_are),
		cmocka_unit_test(siphash_is_siphash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
