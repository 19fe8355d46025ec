/* SPDX-License-Identifier: MIT */
/* maps.c - which files are mapped where in a process. */
#include "tools/unwind/private.h"

#include <stdlib.h>

/* The first mapping that ends above the address. */
static size_t first_above(const struct unwind_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (maps->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct unwind_map *unwind_maps_find(const struct unwind_maps *maps, uint64_t address)
{
	const size_t i = first_above(maps, address);

	return i < maps->n && maps->list[i].start <= address ? &maps->list[i] : NULL;
}

static bool make_room(struct unwind_maps *maps, size_t n)
{
	size_t room = maps->room ? maps->room : 16;
	struct unwind_map *more;

	while (room < n)
		room *= 2;
	if (room == maps->room)
		return true;
	more = realloc(maps->list, room * sizeof(*more));
	if (!more)
		return false;
	maps->list = more;
	maps->room = room;
	return true;
}

static struct unwind_map from(const struct unwind_map *map, uint64_t start)
{
	return (struct unwind_map){ .start = start,
				    .end = map->end,
				    .file_offset = map->file_offset + (start - map->start),
				    .module = map->module };
}

/* A mapping replaces what was there. */
bool unwind_maps_add(struct unwind_maps *maps, const struct unwind_map *map)
{
	size_t i = first_above(maps, map->start), k;
	struct unwind_map left, right;
	bool has_left, has_right;

	if (map->start >= map->end)
		return true;
	k = first_above(maps, map->end - 1);
	if (!make_room(maps, maps->n + 2))
		return false;
	has_left = i < maps->n && maps->list[i].start < map->start;
	if (has_left) {
		left = maps->list[i];
		left.end = map->start;
	}
	has_right = k < maps->n && maps->list[k].start < map->end && maps->list[k].end > map->end;
	if (has_right)
		right = from(&maps->list[k], map->end);
	/* [i, k) is replaced. */
	k += k < maps->n && maps->list[k].start < map->end;
	memmove(maps->list + i + has_left + 1 + has_right, maps->list + k,
		(maps->n - k) * sizeof(*maps->list));
	maps->n = i + has_left + 1 + has_right + (maps->n - k);
	if (has_left)
		maps->list[i++] = left;
	maps->list[i++] = *map;
	if (has_right)
		maps->list[i] = right;
	return true;
}

bool unwind_maps_copy(struct unwind_maps *maps, const struct unwind_maps *old)
{
	if (!old->n)
		return true;
	if (!make_room(maps, old->n))
		return false;
	memcpy(maps->list, old->list, old->n * sizeof(*old->list));
	maps->n = old->n;
	return true;
}

void unwind_maps_free(struct unwind_maps *maps)
{
	free(maps->list);
	*maps = (struct unwind_maps){ .list = NULL };
}
