/* SPDX-License-Identifier: MIT */
/* list.h - memory of the heap: where there is none, pmctl says so and ends. */
#pragma once

#include <stdlib.h>

/* As realloc(3), but never NULL. */
void *tool_realloc(void *old, size_t bytes);

/* The list, moved if item n had no room. */
static inline void *tool_list_grow(void *list, size_t n, size_t *room, size_t item_bytes)
{
	if (n < *room)
		return list;
	*room = *room ? 2 * *room : 64;
	return tool_realloc(list, *room * item_bytes);
}
