/* SPDX-License-Identifier: MIT */
/*
 * map.h - values by keys of bytes, in memory of an arena. A value is made where its key is first
 * looked for. For lists that are hash tables, too, there is hash.h.
 */
#pragma once

#include "lib/base/hash.h"

/* All zero is empty. */
struct pmc_map {
	struct pmc_map_entry {
		UT_hash_handle hh;
		uint64_t value[]; /* and the key behind it */
	} * entries;
};

/* The value of a key; NULL: it has none. */
static inline void *pmc_map_find(const struct pmc_map *map, const void *key, size_t len)
{
	struct pmc_map_entry *entry;

	HASH_FIND(hh, map->entries, key, len, entry);
	return entry ? entry->value : NULL;
}

/* The same; where there is none, so many bytes of zeroes. It does not move. */
static inline void *pmc_map_at(struct pmc_map *map, struct pmc_arena *arena, const void *key,
			       size_t len, size_t bytes)
{
	void *value = pmc_map_find(map, key, len);
	struct pmc_map_entry *entry;
	char *kept;

	if (value)
		return value;
	bytes = (bytes + 7) / 8 * 8;
	entry = pmc_arena_alloc(arena, sizeof(*entry) + bytes + len);
	kept = memcpy((char *)entry->value + bytes, key, len);
	HASH_ADD_KEYPTR(hh, map->entries, kept, len, entry);
	return entry->value;
}
