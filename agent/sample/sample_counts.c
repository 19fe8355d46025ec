/* SPDX-License-Identifier: MIT */
/*
 * sample_counts.c - how often each stack was sampled in a thread.
 *
 * Only the thread writes, in its handler, and others read meanwhile: see sample_area.h. A full
 * table is copied into a larger one; the old one stays mapped until the thread ends, for readers
 * that still use it.
 */
#include "agent/sample/private.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/poison.h"

#define FIRST_CAPACITY 128u

static uint32_t *index_of(struct sample_counts *counts)
{
	return (uint32_t *)(void *)(counts->list + counts->capacity);
}

static uint32_t slot_of(const struct sample_counts *counts, uint32_t stack)
{
	return (stack * 0x9e3779b1u) & (2 * counts->capacity - 1);
}

static struct sample_counts *grow(struct sample_counts *old)
{
	const uint32_t capacity = old ? old->capacity * 8 : FIRST_CAPACITY;
	const size_t bytes = sizeof(struct sample_counts) +
			     capacity * (sizeof(struct pmc_sample) + 2 * sizeof(uint32_t));
	struct sample_counts *counts;
	uint32_t *index;

	if (capacity > SAMPLE_COUNTS_MOST)
		return NULL;
	counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return NULL;
	counts->older = old;
	counts->bytes = bytes;
	counts->capacity = capacity;
	index = index_of(counts);
	for (uint32_t i = 0; old && i < old->n; i++) {
		uint32_t at = slot_of(counts, old->list[i].stack);

		counts->list[i] = old->list[i];
		while (index[at])
			at = (at + 1) & (2 * capacity - 1);
		index[at] = i + 1;
	}
	counts->n = old ? old->n : 0;
	return counts;
}

bool sample_count(struct sample_thread *thread, uint32_t stack, uint64_t weight)
{
	struct sample_counts *counts = atomic_load_explicit(&thread->counts, memory_order_relaxed);
	struct pmc_sample *entry;
	uint32_t *index, at;

	if (!counts || counts->n == counts->capacity) {
		counts = grow(counts);
		if (!counts)
			return false;
		atomic_store_explicit(&thread->counts, counts, memory_order_release);
	}
	index = index_of(counts);
	for (at = slot_of(counts, stack); index[at]; at = (at + 1) & (2 * counts->capacity - 1)) {
		entry = &counts->list[index[at] - 1];
		if (entry->stack != stack)
			continue;
		__atomic_store_n(&entry->weight, entry->weight + weight, __ATOMIC_RELAXED);
		__atomic_store_n(&entry->count, entry->count + 1, __ATOMIC_RELAXED);
		return true;
	}
	counts->list[counts->n] =
		(struct pmc_sample){ .stack = stack, .count = 1, .weight = weight };
	index[at] = counts->n + 1;
	atomic_store_explicit(&counts->n, counts->n + 1, memory_order_release);
	return true;
}

void sample_counts_clear(struct sample_thread *thread, uint64_t reset_ns)
{
	struct sample_counts *counts = atomic_load_explicit(&thread->counts, memory_order_relaxed);

	if (counts && thread->had < counts->n)
		thread->had = counts->n;
	/* After the caller has seen the reset: who copies what changes from now on sees the reset
	 * as well. */
	atomic_thread_fence(memory_order_release);
	if (counts) {
		memset(index_of(counts), 0, 2 * counts->capacity * sizeof(uint32_t));
		atomic_store_explicit(&counts->n, 0, memory_order_relaxed);
	}
	thread->samples = thread->lost = thread->truncated = 0;
	atomic_store_explicit(&thread->reset_ns, reset_ns, memory_order_release);
}

void sample_counts_free(struct sample_thread *thread)
{
	struct sample_counts *counts = atomic_exchange(&thread->counts, NULL), *older;

	for (; counts; counts = older) {
		older = counts->older;
		munmap(counts, counts->bytes);
	}
}
