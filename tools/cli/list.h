/* SPDX-License-Identifier: MIT */
/* list.h - lists on the heap that grow. */
#pragma once

#include <stdlib.h>

/* The list, moved if item n had no room. NULL: no memory; the list is as before. */
static inline void *tool_list_grow(void *list, size_t n, size_t *room, size_t item_bytes)
{
	const size_t more = *room ? 2 * *room : 64;

	if (n < *room)
		return list;
	list = realloc(list, more * item_bytes);
	if (list)
		*room = more;
	return list;
}
