/* SPDX-License-Identifier: MIT */
/*
 * region.c - the begin and the end of a marked region. Exports pmc_region_begin, pmc_region_end and
 * pmc_region_api, which pmc/region.h looks up.
 *
 * What the thread interrupts itself with is the only one to mind here: a signal handler may mark
 * regions too. Its pair is balanced, so whatever it moves it moves back; a reading during which one
 * came and went is taken again; and while records change (the sequence is odd) a handler's regions
 * are left out, with a note. Async-signal-safe.
 */
#include "agent/region.h"
#include "agent/agent.h"
#include "agent/core/clock.h"
#include "agent/note.h"

#include <errno.h>
#include <string.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/poison.h"

#define fence()		 atomic_signal_fence(memory_order_seq_cst)
#define unlikely(expr)	 __builtin_expect(!!(expr), 0)
#define relaxed_load(at) atomic_load_explicit(at, memory_order_relaxed)

__thread struct region_area *region_mine;

/* ---- reading -------------------------------------------------------------------------------*/

/* Apart: what can be had without a system call shall not pay for what cannot. */
__attribute__((noinline)) static void read_group(struct region_area *area, unsigned g,
						 uint64_t *times, uint64_t *values)
{
	const uint16_t *first = area->first;
	unsigned n = first[g + 1] - first[g];
	struct pmc_reading reading = { .error = EBADF };
	int fd = slot_fds(&agent_registry, area->slot)[first[g]], saved = errno;
	uint64_t entries = area->entries;

	if (fd >= 0)
		pmc_group_read(fd, slot_ids(area->slot)[g], n, &reading, area->raw);
	errno = saved;
	if (unlikely(reading.n != n)) {
		/* A handler's regions use the same buffer; the reading is then taken again. */
		if (area->entries == entries)
			area->errors[g] = reading.error ? reading.error : EIO;
		memset(times, 0, 2 * sizeof(*times));
		memset(values, 0, n * sizeof(*values));
		return;
	}
	times[0] = reading.enabled_ns;
	times[1] = reading.running_ns;
	for (unsigned i = 0; i < n; i++)
		values[i] = area->raw[i];
}

__attribute__((noinline)) static void read_groups(struct region_area *area, uint64_t *words)
{
	const uint16_t *first = area->first;
	unsigned groups = area->groups;
	uint64_t *values = words + 2 * groups;

	if (area->mode == REGION_CLOCK) {
		pmc_thread_cpu_ns(0, words);
		return;
	}
	for (unsigned g = 0; g < groups; g++, words += 2) {
		unsigned at = first[g], n = first[g + 1] - at;

		if (area->mode != REGION_USER ||
		    !pmc_user_read_group(area->pages + at, n, &words[0], &words[1], values + at))
			read_group(area, g, words, values + at);
	}
}

static inline void read_now(struct region_area *area, uint64_t *words)
{
	if (!area->one_group ||
	    !pmc_user_read_group(area->pages, area->first[1], &words[0], &words[1], words + 2))
		read_groups(area, words);
}

void region_read(struct region_area *area, uint64_t *words)
{
	read_now(area, words);
}

/* ---- names ---------------------------------------------------------------------------------*/

void region_unsettle(struct region_area *area)
{
	atomic_store_explicit(&area->sequence, relaxed_load(&area->sequence) + 1,
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

void region_settle(struct region_area *area)
{
	atomic_store_explicit(&area->sequence, relaxed_load(&area->sequence) + 1,
			      memory_order_release);
}

static int name_compare(struct region_area *area, uint32_t record, const char *name)
{
	return strncmp(region_names(area) + region_record(area, record)->name, name,
		       REGION_NAME - 1);
}

static uint32_t insert(struct region_area *area, const char *name, uint32_t at)
{
	uint32_t known = area->n_records - 1, index = area->n_records;
	size_t len = strnlen(name, REGION_NAME - 1);
	uint16_t *order = region_order(area);
	struct region_record *record;

	if (index == region_layout.max_records || area->names_used + len + 1 > REGION_NAMES_BYTES) {
		agent_note(NOTE_REGION_MANY);
		return REGION_OTHER;
	}
	if (name[len])
		agent_note(NOTE_REGION_NAME);
	record = region_record(area, index);
	region_unsettle(area);
	memset(record, 0, region_layout.record_bytes);
	record->name = area->names_used;
	record->name_len = (uint32_t)len;
	memcpy(region_names(area) + record->name, name, len);
	region_names(area)[record->name + len] = '\0';
	area->names_used += (uint32_t)len + 1;
	memmove(order + at + 1, order + at, (known - at) * sizeof(*order));
	order[at] = (uint16_t)index;
	area->n_records++;
	area->end = region_record(area, area->n_records);
	region_settle(area);
	return index;
}

/* By content: a name need not be a literal, nor stay where it is. */
__attribute__((noinline)) static uint32_t search(struct region_area *area, const char *name)
{
	const uint16_t *order = region_order(area);
	uint32_t low = 0, high = area->n_records - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int compared = name_compare(area, order[middle], name);

		if (compared == 0)
			return order[middle];
		if (compared < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return insert(area, name, low);
}

static inline uint64_t load8(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint32_t load4(const char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Whether name is the record's: n bytes of it with the NUL. Some of the pair's time is this; near
 * the end of a page name may be the last of, it takes the slow way, which reads no byte behind its
 * NUL. */
static inline bool is_named(const char *kept, size_t n, const char *name)
{
	size_t i = 0;

	if (unlikely(((uintptr_t)name & 4095) > 4096 - REGION_NAME) || n < 4)
		return strcmp(kept, name) == 0;
	if (n < 8)
		return load4(kept) == load4(name) && load4(kept + n - 4) == load4(name + n - 4);
	for (; i + 8 < n; i += 8)
		if (load8(kept + i) != load8(name + i))
			return false;
	return load8(kept + n - 8) == load8(name + n - 8);
}

/* What was last at the same depth is most often what comes there again. A name that was cut equals
 * none here, and is searched for. */
static inline struct region_record *find(struct region_area *area, const struct region_frame *frame,
					 const char *name)
{
	struct region_record *last = frame->record;

	if (last && last < area->end &&
	    is_named(region_names(area) + last->name, last->name_len + 1, name))
		return last;
	return region_record(area, search(area, name));
}

/* ---- begin and end -------------------------------------------------------------------------*/

static inline void region_begin(struct region_area *area, const char *name)
{
	uint32_t depth = area->depth;
	struct region_frame *frame;
	uint64_t entries;

	if (unlikely(depth == region_layout.max_depth)) {
		area->beyond++;
		agent_note(NOTE_REGION_DEEP);
		return;
	}
	frame = region_frame(area, depth);
	struct region_record *record = find(area, frame, name ? name : "");

	area->depth = depth + 1;
	area->entries++;
	fence();
	frame->record = record;
	record->open++;
	do {
		entries = area->entries;
		fence();
		frame->nested = frame->direct = 0;
		read_now(area, frame->words);
		fence();
	} while (unlikely(area->entries != entries));
}

void region_end(struct region_area *area)
{
	const unsigned n = area->words / 2;
	const region_pair *now = (void *)area->now, *start, *inner;
	region_pair *outer = (void *)area->sink, *inclusive = outer, *exclusive;
	struct region_frame *frame;
	struct region_record *record;
	uint64_t entries;

	if (unlikely(area->beyond)) {
		area->beyond--;
		return;
	}
	if (unlikely(area->depth == 0)) {
		agent_note(NOTE_REGION_END);
		return;
	}
	frame = region_frame(area, area->depth - 1);
	area->entries++;
	for (;;) {
		entries = area->entries;
		fence();
		read_now(area, area->now);
		fence();
		region_unsettle(area);
		if (!unlikely(area->entries != entries))
			break;
		region_settle(area);
	}
	/* From here on no handler touches what is above. */
	area->depth--;
	record = frame->record;
	record->calls++;
	record->direct += frame->direct;
	if (area->depth) {
		struct region_frame *parent = (void *)((char *)frame - region_layout.frame_bytes);

		/* What has none inside it yet has no sum of them either. */
		outer = (region_pair *)(void *)parent->words + n;
		if (parent->direct++ == 0)
			memset((void *)outer, 0, n * sizeof(*outer));
		parent->nested += frame->nested + 1;
	}
	if (--record->open == 0) {
		record->outermost++;
		record->nested += frame->nested;
		inclusive = (void *)record->words;
	}
	exclusive = (region_pair *)(void *)record->words + n;
	start = (void *)frame->words;
	inner = start + n;
	if (!frame->direct) {
		for (unsigned i = 0; i < n; i++) {
			region_pair delta = now[i] - start[i];

			exclusive[i] += delta;
			inclusive[i] += delta;
			outer[i] += delta;
		}
	} else {
		for (unsigned i = 0; i < n; i++) {
			region_pair delta = now[i] - start[i];

			exclusive[i] += delta - inner[i];
			inclusive[i] += delta;
			outer[i] += delta;
		}
	}
	region_settle(area);
}

/* ---- what programs call --------------------------------------------------------------------*/

/* Whether regions are counted in this process now. */
static inline bool here(void)
{
	return relaxed_load(&pmc_agent_control.state) == PMC_CONTROL_ON &&
	       (relaxed_load(agent_alive) || agent_where() == AGENT_HERE);
}

static inline bool changing(struct region_area *area)
{
	return relaxed_load(&area->sequence) & 1;
}

AGENT_API void pmc_region_begin(const char *name)
{
	struct region_area *area;

	if (!here())
		return;
	area = region_mine;
	if (unlikely(!area)) {
		area = region_attach();
		if (!area)
			return;
	}
	if (unlikely(changing(area))) {
		agent_note(NOTE_REGION_HANDLER);
		return;
	}
	if (unlikely(area->uncalibrated && area->depth == 0))
		region_calibrate(area);
	region_begin(area, name);
}

AGENT_API void pmc_region_end(void)
{
	struct region_area *area;

	if (!here())
		return;
	area = region_mine;
	if (unlikely(!area)) {
		region_none_ended();
		return;
	}
	if (!unlikely(changing(area)))
		region_end(area);
}

AGENT_API const struct pmc_region_api pmc_region_api = { pmc_region_begin, pmc_region_end };
