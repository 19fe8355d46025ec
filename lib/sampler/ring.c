/* SPDX-License-Identifier: MIT */
/* ring.c - head, tail and wrapped records; see sampler.h. */
#include "lib/sampler/sampler.h"

#include <errno.h>
#include <string.h>

int pmc_ring_init(struct pmc_ring *ring, struct perf_event_mmap_page *page, const void *data,
		  uint64_t size, unsigned char *joined)
{
	if (size < sizeof(struct perf_event_header) || (size & (size - 1)))
		return -EINVAL;
	*ring = (struct pmc_ring){ .page = page, .data = data, .size = size, .joined = joined };
	ring->tail = __atomic_load_n((uint64_t *)&page->data_tail, __ATOMIC_RELAXED);
	ring->head = ring->tail;
	return ring->tail % 8 ? -EBADMSG : 0;
}

int pmc_ring_look(struct pmc_ring *ring)
{
	/* Pairs with the barrier before the kernel's store of the head. */
	uint64_t head = __atomic_load_n((uint64_t *)&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (head - ring->tail > ring->size || head - ring->tail < ring->head - ring->tail)
		return -EBADMSG;
	ring->head = head;
	return 0;
}

int pmc_ring_header(const struct pmc_ring *ring, uint64_t at, struct perf_event_header *header)
{
	uint64_t left = ring->head - at, word;

	if (!left)
		return -EAGAIN;
	if (left < sizeof(*header))
		return -EBADMSG;
	word = pmc_ring_word(ring, at);
	memcpy(header, &word, sizeof(*header));
	if (header->size < sizeof(*header) || header->size % 8 || header->size > left)
		return -EBADMSG;
	return 0;
}

const void *pmc_ring_record(struct pmc_ring *ring, uint64_t at, unsigned size)
{
	uint64_t offset = at & (ring->size - 1), first = ring->size - offset;

	if (size <= first)
		return ring->data + offset;
	memcpy(ring->joined, ring->data + offset, first);
	memcpy(ring->joined + first, ring->data, size - first);
	return ring->joined;
}

void pmc_ring_release(struct pmc_ring *ring, uint64_t to)
{
	if (to == ring->tail)
		return;
	ring->tail = to;
	/* Release: our reads happen before the kernel overwrites the records. */
	__atomic_store_n((uint64_t *)&ring->page->data_tail, to, __ATOMIC_RELEASE);
}
