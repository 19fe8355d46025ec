/* SPDX-License-Identifier: MIT */
/* ring_made.h - a ring in ordinary memory, filled as the kernel fills one. */
#ifndef TESTS_UNIT_RING_MADE_H
#define TESTS_UNIT_RING_MADE_H

#include "lib/sampler/sampler.h"

#include <stdlib.h>
#include <string.h>

struct made_ring {
	struct perf_event_mmap_page page;
	uint64_t size;
	uint64_t head; /* the writer's head, published by made_publish */
	unsigned char *data;
};

static inline void made_init(struct made_ring *made, uint64_t size, uint64_t start)
{
	memset(made, 0, sizeof(*made));
	made->size = size;
	made->data = aligned_alloc(4096, size < 4096 ? 4096 : size);
	memset(made->data, 0xee, size);
	made->head = start;
	made->page.data_head = made->page.data_tail = start;
}

static inline void made_put(struct made_ring *made, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		made->data[(made->head + i) & (made->size - 1)] = ((const unsigned char *)bytes)[i];
	made->head += n;
}

static inline void made_publish(struct made_ring *made)
{
	__atomic_store_n((uint64_t *)&made->page.data_head, made->head, __ATOMIC_RELEASE);
}

/* As in perf_output_begin(): room for n more bytes; the ring is never filled completely. */
static inline int made_room(const struct made_ring *made, size_t n)
{
	uint64_t tail = __atomic_load_n((const uint64_t *)&made->page.data_tail, __ATOMIC_ACQUIRE);

	return made->head + n - tail < made->size;
}

static inline void made_fini(struct made_ring *made)
{
	free(made->data);
}

#endif
