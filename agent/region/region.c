/* SPDX-License-Identifier: MIT */
/*
 * region.c - begin and end of a marked region. Exports pmc_region_begin, pmc_region_end and
 * pmc_region_api, which pmc/region.h looks up.
 *
 * Only signal handlers of the same thread can interfere. A handler that interrupts a begin or an
 * end finds the area busy: its regions are left out, with a note. Anywhere else they nest.
 * Async-signal-safe.
 */
#include "agent/region/region.h"
#include "lib/count/user_read_cpu.h"

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

__thread struct region_area *region_mine;

/* Next to the reading of a small group in user space, calls and layers show. */
#define fast_inline	    __attribute__((always_inline)) static inline
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* ---- reading the counters ------------------------------------------------------------------*/

__attribute__((noinline)) static void read_group(struct region_area *area, unsigned g,
						 uint64_t *words)
{
	const unsigned at = area->first[g], n = area->first[g + 1] - at;
	struct pmc_reading reading = { .error = EBADF };
	int saved = errno;

	if (area->fds[at] >= 0)
		pmc_perf_group_read(area->fds[at], area->ids[g], n, &reading, area->raw);
	errno = saved;
	if (reading.error) {
		area->errors[g] = reading.error;
		memset(area->raw, 0, n * sizeof(*words));
	}
	words[0] = reading.enabled_ns;
	words[1] = reading.running_ns;
	memcpy(words + 2, area->raw, n * sizeof(*words));
}

/* Reads each group in user space if its events are on counters. */
__attribute__((noinline)) static void read_each(struct region_area *area, uint64_t *words)
{
	pmc_user_page *const *pages = area->pages;
	const uint16_t *first = area->first;

	if (area->mode == REGION_CLOCK) {
		if (atomic_load_explicit(&pmc_agent_control.switched, memory_order_relaxed))
			words[0] = region_clock();
		else
			pmc_thread_cpu_ns(0, words);
		return;
	}
	for (unsigned g = 0; g < area->groups; g++, first++) {
		const unsigned n = first[1] - first[0];

		if (area->mode != REGION_USER ||
		    !pmc_user_read_group(pages, n, &words[0], &words[1], &words[2]))
			read_group(area, g, words);
		pages += n;
		words += 2 + n;
	}
}

/* Without a call, all groups in user space. False: one of them cannot be read so. */
fast_inline bool read_in_user_space(const struct region_area *area, uint64_t *words)
{
	pmc_user_page *const *pages = area->pages;
	const uint16_t *first = area->first;
	unsigned left = area->groups;

	if (area->mode != REGION_USER)
		return false;
	for (;;) {
		const unsigned n = first[1] - first[0];

		if (!pmc_user_read_group(pages, n, &words[0], &words[1], &words[2]))
			return false;
		if (--left == 0)
			return true;
		pages += n;
		words += 2 + n;
		first++;
	}
}

fast_inline void read_counters(struct region_area *area, uint64_t *words)
{
	if (unlikely(!read_in_user_space(area, words + REGION_CPU)))
		read_each(area, words + REGION_CPU);
}

/* ---- names ---------------------------------------------------------------------------------*/

static struct region_record *add(struct region_area *area, const char *name, size_t len,
				 uint16_t *hash)
{
	uint32_t index = atomic_load_explicit(&area->n_records, memory_order_relaxed);
	struct region_record *record = region_record(area, index);

	if (index == REGION_RECORDS) {
		agent_note(NOTE_REGION_MANY);
		return region_record(area, REGION_OTHER);
	}
	region_change_begin(area);
	memset(record, 0, region_record_bytes(area->capacity));
	memcpy(record->name, name, len);
	record->name_len = len;
	*hash = (uint16_t)(index + 1);
	atomic_store_explicit(&area->n_records, index + 1, memory_order_relaxed);
	region_change_end(area);
	return record;
}

/* By content: a name need not be a literal, nor stay where it is. */
struct region_record *region_find(struct region_area *area, const char *name)
{
	uint32_t key = 2166136261; /* FNV-1a */
	uint16_t *hash;
	size_t len = 0;

	for (; len < REGION_NAME - 1 && name[len]; len++)
		key = (key ^ (uint8_t)name[len]) * 16777619;
	for (key ^= key >> 16; *(hash = &area->hash[key % REGION_HASH]); key++) {
		struct region_record *record = region_record(area, *hash - 1u);

		if (record->name_len == len && !memcmp(record->name, name, len))
			return record;
	}
	if (name[len])
		agent_note(NOTE_REGION_NAME);
	return add(area, name, len, hash);
}

/* Reads only words that contain bytes of the name: the next one may be unmapped. */
fast_inline bool has_name(const struct region_record *record, const char *name)
{
	typedef uint64_t __attribute__((may_alias)) word;
	const size_t len = record->name_len, whole = len & ~(sizeof(word) - 1);
	size_t i = 0;
	word differ;

	if ((uintptr_t)name % sizeof(word))
		return strcmp(record->name, name) == 0;
	for (; i < whole; i += sizeof(word))
		if (*(const word *)(record->name + i) != *(const word *)(name + i))
			return false;
	differ = *(const word *)(record->name + i) ^ *(const word *)(name + i);
	/* Little-endian: the lowest byte is the first; the NUL is the last that counts. */
	return differ << (8 * (sizeof(word) - 1 - len % sizeof(word))) == 0;
}

/* ---- begin and end -------------------------------------------------------------------------*/

/* A region begins in the next entry, which has its record. */
fast_inline void enter(struct region_area *area)
{
	struct region_entry *entry = region_inner(area, area->top);

	entry->words[REGION_ENDS] = area->now[REGION_ENDS];
	read_counters(area, entry->words);
	/* A handler that ends the thread closes what is on the stack. */
	atomic_signal_fence(memory_order_seq_cst);
	entry->record->open++;
	area->top = entry;
}

/* Ends the innermost region without counting the call. */
__attribute__((cold, noinline)) static void region_drop(struct region_area *area)
{
	struct region_entry *entry = area->top;

	region_change_begin(area);
	area->top = region_outer(area, entry);
	entry->record->open--;
	memset(entry->words + area->capacity, 0, area->capacity * sizeof(uint64_t));
	region_change_end(area);
}

/* The innermost region ends. */
fast_inline void leave(struct region_area *area)
{
	struct region_entry *entry, *around;
	struct region_record *record;
	const region_words *now, *start;
	region_words *inclusive, *exclusive, *inner, *outer;
	const region_words zero = { 0 };
	const uint64_t *end;
	bool outermost;

	read_counters(area, area->now);
	entry = area->top;
	around = region_outer(area, entry);
	record = entry->record;
	/* Counting was off all the time: the call is not counted either. */
	if (unlikely(area->now[REGION_CPU] == entry->words[REGION_CPU]) &&
	    !atomic_load(&pmc_agent_control.counting)) {
		region_drop(area);
		return;
	}
	region_change_begin(area);
	area->top = around;
	outermost = --record->open == 0;
	if (outermost)
		record->outermost++;
	now = (void *)area->now;
	start = (void *)entry->words;
	inner = (void *)(entry->words + area->capacity);
	outer = (void *)(around->words + area->capacity);
	inclusive = (void *)record->words;
	exclusive = (void *)(record->words + area->capacity);
	end = area->now + area->words;
	do {
		const region_words counted = *now++ - *start++;

		if (outermost)
			*inclusive += counted;
		inclusive++;
		*exclusive++ += counted - *inner;
		*inner++ = zero;
		*outer++ += counted;
	} while ((const uint64_t *)now < end);
	record->calls++;
	area->now[REGION_ENDS]++;
	region_change_end(area);
}

void region_enter(struct region_area *area, struct region_record *record)
{
	region_inner(area, area->top)->record = record;
	enter(area);
}

void region_leave(struct region_area *area)
{
	leave(area);
}

/* ---- what programs call --------------------------------------------------------------------*/

__attribute__((cold, noinline)) static struct region_area *find_area(bool attach)
{
	if (!agent_active_unless_vfork())
		return NULL;
	return region_mine || !attach ? region_mine : region_attach();
}

/* The calling thread's area; NULL: it has none. */
fast_inline struct region_area *my_area(bool attach)
{
	struct region_area *area = region_mine;

	/* A forked child that is not a process of its own yet must not read the parent's groups. */
	if (unlikely(!area || !atomic_load_explicit(area->alive, memory_order_relaxed)))
		return find_area(attach);
	return area;
}

void region_abandon_change(struct region_area *area)
{
	if (!(atomic_load_explicit(&area->sequence, memory_order_relaxed) & 1))
		return;
	/* region_leave() may have counted down and not popped, or the reverse. */
	for (uint32_t i = 0; i < area->n_records; i++)
		region_record(area, i)->open = 0;
	for (struct region_entry *entry = area->top; entry->record;
	     entry = region_outer(area, entry))
		entry->record->open++;
	region_change_end(area);
}

__attribute__((cold, noinline)) static bool take_over(struct region_area *area, const void *frame)
{
	if (area->busy != frame)
		return false;
	agent_note(NOTE_REGION_HANDLER);
	region_abandon_change(area);
	return true;
}

/* Whether the calling thread may change its area now. A begin or end that is in progress has
 * another stack frame than one of a handler that interrupted it, unless a handler left it by
 * siglongjmp. */
fast_inline bool enter_area(struct region_area *area)
{
	const void *frame = __builtin_frame_address(0);

	if (unlikely(area->busy) && !take_over(area, frame))
		return false;
	area->busy = frame;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

fast_inline void leave_area(struct region_area *area)
{
	atomic_signal_fence(memory_order_seq_cst);
	area->busy = NULL;
}

/* Gives the next entry its record. False: too deep. */
__attribute__((cold, noinline)) static bool name_entry(struct region_area *area,
						       struct region_entry *entry, const char *name)
{
	if (area->top == area->last) {
		area->excess++;
		agent_note(NOTE_REGION_DEEP);
		return false;
	}
	entry->record = region_find(area, name ? name : "");
	return true;
}

AGENT_API void pmc_region_begin(const char *name)
{
	struct region_area *area = my_area(true);
	struct region_entry *entry;

	if (unlikely(!area))
		return;
	if (unlikely(area->cost == REGION_COST_UNKNOWN))
		region_measure_cost(area);
	if (unlikely(!enter_area(area))) {
		agent_note(NOTE_REGION_HANDLER);
		return;
	}
	if (unlikely(region_is_stale(area)))
		region_start_over(area);
	entry = region_inner(area, area->top);
	/* The last region at this depth is the likeliest one. Beyond the last entry there is none.
	 */
	if ((entry->record && name && has_name(entry->record, name)) ||
	    name_entry(area, entry, name))
		enter(area);
	leave_area(area);
}

AGENT_API void pmc_region_end(void)
{
	struct region_area *area = my_area(false);

	if (unlikely(!area)) {
		if (agent_self)
			agent_note(NOTE_REGION_END);
		return;
	}
	if (unlikely(!enter_area(area)))
		return;
	if (unlikely(region_is_stale(area)))
		region_start_over(area);
	if (unlikely(area->excess))
		area->excess--;
	else if (area->top->record)
		leave(area);
	else
		agent_note(NOTE_REGION_END);
	leave_area(area);
}

AGENT_API const struct pmc_region_api pmc_region_api = { pmc_region_begin, pmc_region_end };
