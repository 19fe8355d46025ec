/* SPDX-License-Identifier: MIT */
/*
 * sample_stacks.c - the memory of sampling: the stacks of this process image, each once, numbered
 * from 1, and how often each was sampled in a thread; and the MODULE, STACKS and SAMPLES frames
 * made of it.
 *
 * Lock-free. A stack is complete before its number enters the index; two threads that add the same
 * stack at once leave one number unused.
 */
#include "agent/sample/private.h"

#include "agent/base/poison.h"

/* ---- one mapping for all tables ------------------------------------------------------------- */

struct sample_tables sample_tables;

#define MOST_SCALE 64u

/* Bytes of each part; `scale` divides the tables of stacks where address space is limited. */
static size_t part_bytes(enum sample_part part, uint32_t slots, unsigned scale)
{
	const size_t bytes[AREA_PARTS] = {
		[AREA_THREADS] = slots * sizeof(struct sample_thread),
		[AREA_MODULES] = SAMPLE_MODULES * sizeof(struct sample_module),
		[AREA_TEXT] = SAMPLE_TEXT_BYTES,
		[AREA_INDEX] = ((size_t)1 << 21) / scale,
		[AREA_STACKS] = SAMPLE_STACKS_BYTES / scale, /* half as many as in the index */
		[AREA_WORDS] = SAMPLE_WORDS_BYTES / scale,
		[AREA_COUNTS] = SAMPLE_COUNTS_BYTES / scale,
		[AREA_SCRATCH] = SAMPLE_SCRATCHES * SAMPLE_SCRATCH_BYTES,
	};

	return bytes[part];
}

int sample_area_init(uint32_t slots)
{
	size_t *at = sample_tables.at;
	void *map = MAP_FAILED;

	for (unsigned scale = 1; scale <= MOST_SCALE && map == MAP_FAILED; scale *= 4) {
		for (unsigned part = 0; part < AREA_PARTS; part++)
			at[part + 1] = at[part] +
				       ((part_bytes(part, slots, scale) + 4095) & ~(size_t)4095);
		if (scale < MOST_SCALE && agent_crowds_out(at[AREA_PARTS], 16))
			continue;
		map = mmap(NULL, at[AREA_PARTS], PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	if (map == MAP_FAILED)
		return -ENOMEM;
	sample_area_forked();
	sample_tables.area = map;
	return 0;
}

void *sample_area(enum sample_part part)
{
	return sample_tables.area ? sample_tables.area + sample_tables.at[part] : NULL;
}

/* The contents of the dump so far; one thread at a time appends. */
static struct {
	_Atomic bool busy;
	bool eventset;
	struct snapshot_written tables;
	uint32_t lost; /* agent_file_lost() then */
} written = { .tables = { .stacks = 1 } };

static _Atomic size_t counts_taken; /* bytes of AREA_COUNTS */

static void forget_written(void)
{
	atomic_store(&written.busy, false);
	written.eventset = false;
	written.tables = (struct snapshot_written){ .stacks = 1 };
	written.lost = agent_file_lost();
}

void sample_area_forked(void)
{
	forget_written();
	atomic_store(&sample_tables.stacks, 1);
	atomic_store(&sample_tables.words, 0);
	atomic_store(&sample_tables.modules, 0);
	atomic_store(&sample_tables.text, 0);
	atomic_store(&counts_taken, 0);
	atomic_store(&sample_scratch_taken, 0);
	if (sample_tables.area)
		madvise(sample_tables.area, sample_tables.at[AREA_PARTS], MADV_DONTNEED);
}

static uint64_t hash_of(const uint64_t *frames, unsigned depth, unsigned flags)
{
	uint64_t hash = depth << 8 | flags;

	for (unsigned i = 0; i < depth; i++) {
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

/* A number for a stack; 0: the table is full. */
static uint32_t add(struct sample_stack *records, uint64_t *words, uint64_t hash,
		    const uint64_t *frames, unsigned depth, unsigned flags)
{
	const size_t most = sample_room(&sample_tables, AREA_STACKS, sizeof(*records));
	const size_t most_words = sample_room(&sample_tables, AREA_WORDS, sizeof(*words));
	struct sample_stack *record;
	uint32_t id, first;

	if (atomic_load(&sample_tables.stacks) >= most ||
	    atomic_load(&sample_tables.words) + depth > most_words)
		return 0;
	id = atomic_fetch_add(&sample_tables.stacks, 1);
	first = atomic_fetch_add(&sample_tables.words, depth);
	if (id >= most || first + depth > most_words)
		return 0;
	record = &records[id];
	record->hash = hash;
	record->first = first;
	record->depth = (uint16_t)depth;
	record->flags = (uint16_t)flags;
	memcpy(words + first, frames, depth * sizeof(*frames));
	atomic_store_explicit(&record->ready, 1, memory_order_release);
	return id;
}

uint32_t sample_stack_id(const uint64_t *frames, unsigned depth, unsigned flags)
{
	_Atomic uint32_t *index = sample_area(AREA_INDEX);
	struct sample_stack *records = sample_area(AREA_STACKS);
	uint64_t *words = sample_area(AREA_WORDS);
	const size_t slots = sample_room(&sample_tables, AREA_INDEX, sizeof(*index));
	const uint64_t hash = hash_of(frames, depth, flags);
	const struct sample_stack *record;
	uint32_t id = 0;

	if (!index)
		return 0;
	for (size_t at = hash >> 20 & (slots - 1);; at = (at + 1) & (slots - 1)) {
		uint32_t found = atomic_load_explicit(&index[at], memory_order_acquire);

		if (!found && !id) {
			id = add(records, words, hash, frames, depth, flags);
			if (!id) {
				agent_note(NOTE_SAMPLE_FULL);
				return 0;
			}
		}
		if (!found && atomic_compare_exchange_strong(&index[at], &found, id))
			return id;
		record = &records[found];
		if (record->hash == hash && record->depth == depth && record->flags == flags &&
		    memcmp(words + record->first, frames, depth * sizeof(*frames)) == 0)
			return found;
	}
}

/* ---- how often each stack was sampled in a thread ------------------------------------------- */

#define FIRST_CAPACITY 128u

static uint32_t *index_of(struct sample_counts *counts)
{
	return (uint32_t *)(void *)(counts->list + counts->capacity);
}

static uint32_t slot_of(const struct sample_counts *counts, uint32_t stack)
{
	return (stack * 0x9e3779b1u) & (2 * counts->capacity - 1);
}

/* Zeroed room for a table. Samples are taken in signal handlers: a mapping of its own might lie
 * where the host has just unmapped something, and the host may map or unmap that place again. So
 * only what finds no room in the area is mapped. NULL: there is no memory. */
static struct sample_counts *room_of(struct sample_thread *thread, size_t bytes)
{
	struct sample_counts **spare = &thread->spare, *counts;
	const size_t all = sample_room(&sample_tables, AREA_COUNTS, 1);
	size_t at;

	for (; (counts = *spare); spare = &counts->older) {
		if (counts->bytes != bytes)
			continue;
		*spare = counts->older;
		return memset(counts, 0, bytes);
	}
	at = atomic_fetch_add(&counts_taken, bytes);
	if (at < all && bytes <= all - at)
		return (void *)((char *)sample_area(AREA_COUNTS) + at);
	counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return counts == MAP_FAILED ? NULL : counts;
}

static bool is_in_area(const struct sample_counts *counts)
{
	return (uintptr_t)counts - (uintptr_t)sample_area(AREA_COUNTS) <
	       sample_room(&sample_tables, AREA_COUNTS, 1);
}

static struct sample_counts *grow(struct sample_thread *thread, struct sample_counts *old)
{
	const uint32_t capacity = old ? old->capacity * 8 : FIRST_CAPACITY;
	const size_t bytes = sizeof(struct sample_counts) +
			     capacity * (sizeof(struct pmc_sample) + 2 * sizeof(uint32_t));
	struct sample_counts *counts;
	uint32_t *index;

	if (capacity > SAMPLE_COUNTS_MOST)
		return NULL;
	counts = room_of(thread, bytes);
	if (!counts)
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
		counts = grow(thread, counts);
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
		if (is_in_area(counts)) {
			counts->older = thread->spare;
			thread->spare = counts;
		} else {
			munmap(counts, counts->bytes);
		}
	}
}

/* ---- frames -------------------------------------------------------------------------------- */

bool agent_sample_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *part)
{
	const struct reader reader = agent_reader(snapshot);

	return sample_event.on && snapshot_samples(&reader, buf, slot, (*part)++) == SNAPSHOT_PUT;
}

__attribute__((noinline)) bool agent_sample_tables_next(struct pmc_frame_buf *buf,
							uint64_t snapshot)
{
	const struct reader reader = agent_reader(snapshot);
	bool any = true;

	if (!agent_sample_wanted() || !sample_tables.area || atomic_exchange(&written.busy, true))
		return false;
	if (written.lost != agent_file_lost())
		forget_written(), atomic_store(&written.busy, true);
	if (!written.eventset && sample_tables.like.eventset) {
		memcpy(buf->data + buf->len, (const void *)(uintptr_t)sample_tables.eventset_frame,
		       sample_tables.eventset_bytes);
		buf->len += sample_tables.eventset_bytes;
		written.eventset = true;
	} else {
		any = snapshot_stacks(&reader, buf, &written.tables) != SNAPSHOT_END;
	}
	atomic_store(&written.busy, false);
	return any;
}

bool agent_sample_has(const struct slot *slot)
{
	struct sample_thread *thread = sample_event.on ? sample_of(slot) : NULL;

	return thread && (thread->enabled_ns || atomic_load(&thread->counts));
}
