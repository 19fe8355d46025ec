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
#include "agent/region/region.h"
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/core/base/clock.h"
#include "agent/core/count/user_read_now.h"
#include "agent/base/note.h"

#include <errno.h>
#include <string.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

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
	int fd = area->fds[first[g]], saved = errno;
	uint64_t sequence = relaxed_load(&area->sequence);

	if (fd >= 0)
		pmc_group_read(fd, area->ids[g], n, &reading, area->raw);
	errno = saved;
	if (unlikely(reading.n != n)) {
		/* A handler's regions use the same buffer; the reading is then taken again. */
		if (relaxed_load(&area->sequence) == sequence)
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

/* Behind words[REGION_ENDS]. */
__attribute__((always_inline)) static inline bool read_user(struct region_area *area,
							    uint64_t *words)
{
	return area->user_events &&
	       user_now_group(area->pages, area->user_events, &words[REGION_CPU],
			      &words[REGION_CPU + 1], &words[REGION_CPU + 2]);
}

__attribute__((noinline)) static void read_now(struct region_area *area, uint64_t *words)
{
	if (!read_user(area, words))
		read_groups(area, words + REGION_CPU);
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
	area->now[REGION_ENDS] = relaxed_load(&area->sequence) + 1;
	atomic_store_explicit(&area->sequence, area->now[REGION_ENDS], memory_order_release);
}

/* Records can change if this is still the sequence: from here on no handler of the thread's comes
 * near them. False: one came and went since; what it left is to be looked at anew. */
static inline bool hold(struct region_area *area, uint64_t sequence)
{
	atomic_store_explicit(&area->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	if (!unlikely(area->now[REGION_ENDS] != sequence))
		return true;
	atomic_store_explicit(&area->sequence, area->now[REGION_ENDS], memory_order_release);
	return false;
}

/* The record of that name; NULL: there is none, and it would come at this place. */
static struct region_record *search(struct region_area *area, const char *name, uint32_t *at)
{
	const uint16_t *order = region_order(area);
	uint32_t low = 0, high = relaxed_load(&area->n_records) - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		struct region_record *record = region_record(area, order[middle]);
		int compared = strncmp(region_names(area) + record->name, name, REGION_NAME - 1);

		if (compared == 0)
			return record;
		if (compared < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return NULL;
}

static void set_text(struct region_record *record, const char *name, size_t len)
{
	if (len >= sizeof(record->text))
		return;
	memset(record->mask, -1, len + 1);
	memcpy(record->text, name, len);
	record->reach = 4096 - sizeof(record->text) + 1;
}

static struct region_record *insert(struct region_area *area, const char *name, uint32_t at)
{
	uint32_t index = relaxed_load(&area->n_records), known = index - 1;
	size_t len = strnlen(name, REGION_NAME - 1);
	struct region_record *record = region_record(area, index);
	uint16_t *order = region_order(area);

	if (index == region_layout.max_records || area->names_used + len + 1 > REGION_NAMES_BYTES) {
		agent_note(NOTE_REGION_MANY);
		return region_record(area, REGION_OTHER);
	}
	if (name[len])
		agent_note(NOTE_REGION_NAME);
	memset(record, 0, region_layout.record_bytes);
	record->name = area->names_used;
	record->name_len = (uint32_t)len;
	set_text(record, name, len);
	memcpy(region_names(area) + record->name, name, len);
	region_names(area)[record->name + len] = '\0';
	area->names_used += (uint32_t)len + 1;
	memmove(order + at + 1, order + at, (known - at) * sizeof(*order));
	order[at] = (uint16_t)index;
	/* Readers elsewhere find it ready. */
	atomic_store_explicit(&area->n_records, index + 1, memory_order_release);
	return record;
}

/* By content: a name need not be a literal, nor stay where it is. */
__attribute__((noinline)) static struct region_record *find(struct region_area *area,
							    const char *name)
{
	struct region_record *record;
	uint64_t sequence;
	uint32_t at;

	do {
		sequence = relaxed_load(&area->sequence);
		record = search(area, name, &at);
		if (record)
			return record;
	} while (!hold(area, sequence));
	record = insert(area, name, at);
	/* Nothing changed of what was there. */
	atomic_store_explicit(&area->sequence, sequence, memory_order_release);
	return record;
}

static inline region_pair load(const char *at)
{
	region_pair bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return bytes;
}

/* What was last at the same depth is most often what comes there again. Bytes behind a name's NUL
 * are read, but none of another page. False: maybe it is all the same. */
static inline bool is_named(const struct region_record *record, const char *name)
{
	region_pair differ;

	if (!name || ((uintptr_t)name & 4095) >= record->reach)
		return false;
	differ = ((load(name) ^ record->text[0]) & record->mask[0]) |
		 ((load(name + sizeof(differ)) ^ record->text[1]) & record->mask[1]);
	return !(differ[0] | differ[1]);
}

/* ---- begin ---------------------------------------------------------------------------------*/

/* Sums up words that lie in pairs, n of them. */
static inline void sum_up(uint64_t *to, const uint64_t *words, unsigned n)
{
	region_pair *sum = (void *)to;
	const region_pair *a = (const void *)words;

	for (unsigned i = 0; i < n / 2; i++)
		sum[i] += a[i];
}

/* What handlers counted in a frame before its own region had begun was done in the one around.
 * False: another one came just now. */
static bool pass_on(struct region_area *area, struct region_frame *frame, uint64_t sequence)
{
	struct region_frame *outer = region_outer(area, frame);
	const unsigned n = area->words;

	if (!frame->direct)
		return true;
	if (!hold(area, sequence))
		return false;
	if (outer->record) {
		if (!outer->direct)
			memset(outer->words + n, 0, n * sizeof(*outer->words));
		outer->direct += frame->direct;
		sum_up(outer->words + n, frame->words + n, n);
	}
	frame->direct = 0;
	/* No record changed. */
	atomic_store_explicit(&area->sequence, sequence, memory_order_release);
	return true;
}

void region_start(struct region_area *area, struct region_frame *frame, uint64_t open)
{
	uint64_t sequence;

	do {
		sequence = relaxed_load(&area->sequence);
		fence();
		if (!pass_on(area, frame, sequence))
			continue;
		frame->words[REGION_ENDS] = sequence;
		read_now(area, frame->words);
		fence();
		frame->record->open = open;
		fence();
	} while (unlikely(relaxed_load(&area->sequence) != sequence));
}

/* Its reading is the last that is done, but for `open`, which tells that there is one. */
static inline void enter(struct region_area *area, struct region_frame *frame,
			 struct region_record *record, uint64_t sequence)
{
	area->frame = frame;
	fence();
	/* A handler may have been here. */
	frame->record = record;
	frame->words[REGION_ENDS] = sequence;
	if (!read_user(area, frame->words)) {
		region_start(area, frame, record->open + 1);
		return;
	}
	fence();
	record->open++;
	fence();
	if (unlikely(relaxed_load(&area->sequence) != sequence))
		region_start(area, frame, record->open);
}

static void region_begin(struct region_area *area, const char *name)
{
	struct region_frame *frame = region_next(area, area->frame);
	uint32_t depth = region_depth(area);
	struct region_record *record;

	if (unlikely(depth == region_layout.max_depth)) {
		region_set_depth(area, depth + ++area->beyond);
		agent_note(NOTE_REGION_DEEP);
		return;
	}
	name = name ? name : "";
	record = frame->record;
	if (!record || strcmp(region_names(area) + record->name, name) != 0)
		record = find(area, name);
	if (depth >= area->used_frames)
		area->used_frames = depth + 1;
	/* A frame on the stack is never without one. */
	frame->record = record;
	enter(area, frame, record, relaxed_load(&area->sequence));
}

/* ---- end -----------------------------------------------------------------------------------*/

static inline void add(uint64_t *to, const uint64_t *now, const uint64_t *start, unsigned n)
{
	region_pair *sum = (void *)to;
	const region_pair *a = (const void *)now, *b = (const void *)start;
	region_pair first = sum[0] + (a[0] - b[0]), second = sum[1] + (a[1] - b[1]);

	sum[0] = first;
	sum[1] = second;
	for (unsigned i = 2; i < n / 2; i++)
		sum[i] += a[i] - b[i];
}

static inline void subtract(uint64_t *from, const uint64_t *words, unsigned n)
{
	region_pair *sum = (void *)from;
	const region_pair *a = (const void *)words;

	for (unsigned i = 0; i < n / 2; i++)
		sum[i] -= a[i];
}

/* What was counted in a region directly inside: in the first one of them, or in more of them. */
static inline void add_inner(struct region_frame *outer, const struct region_frame *frame,
			     const uint64_t *words, unsigned n)
{
	const region_pair *now = (const void *)words, *start = (const void *)frame->words;
	region_pair *inner = (void *)(outer->words + n);

	if (outer->direct++ == 0)
		for (unsigned i = 0; i < n / 2; i++)
			inner[i] = now[i] - start[i];
	else
		for (unsigned i = 0; i < n / 2; i++)
			inner[i] += now[i] - start[i];
}

/* The innermost region ends with the reading in area->now, which was begun when the sequence was
 * that. False: a handler came and went since; it is to be taken again. */
__attribute__((always_inline)) static inline bool finish(struct region_area *area,
							 uint64_t sequence)
{
	const unsigned n = area->words;
	struct region_frame *frame, *outer;
	struct region_record *record;
	uint64_t *sum;

	if (!hold(area, sequence))
		return false;
	frame = area->frame;
	outer = region_outer(area, frame);
	area->frame = outer;
	record = frame->record;
	sum = record->words;
	if (--record->open) {
		record->again++;
		sum += n;
	}
	record->calls++;
	add(sum, area->now, frame->words, n);
	if (frame->direct) {
		subtract(record->words + n, frame->words + n, n);
		frame->direct = 0;
	}
	if (outer->record)
		add_inner(outer, frame, area->now, n);
	area->now[REGION_ENDS] = sequence + 2;
	atomic_store_explicit(&area->sequence, sequence + 2, memory_order_release);
	return true;
}

__attribute__((noinline)) void region_end(struct region_area *area)
{
	uint64_t sequence;

	if (!area->frame->record) {
		if (area->beyond)
			region_set_depth(area, region_depth(area) + area->beyond - 1);
		else
			agent_note(NOTE_REGION_END);
		return;
	}
	do {
		sequence = relaxed_load(&area->sequence);
		fence();
		read_now(area, area->now);
		fence();
	} while (!finish(area, sequence));
}

/* ---- what programs call --------------------------------------------------------------------*/

static bool here(void)
{
	return relaxed_load(&pmc_agent_control.state) == PMC_CONTROL_ON &&
	       (relaxed_load(agent_alive) || agent_active());
}

static inline bool changing(struct region_area *area)
{
	return relaxed_load(&area->sequence) & 1;
}

__attribute__((noinline)) static void begin_rarely(const char *name)
{
	struct region_area *area;

	if (!here())
		return;
	area = region_mine;
	if (!area) {
		area = region_attach();
		if (!area)
			return;
	}
	if (changing(area)) {
		agent_note(NOTE_REGION_HANDLER);
		return;
	}
	if (area->ready == &region_unready && region_depth(area) == 0)
		region_calibrate(area);
	region_begin(area, name);
}

__attribute__((noinline)) static void end_rarely(void)
{
	struct region_area *area;

	if (!here())
		return;
	area = region_mine;
	if (!area)
		region_none_ended();
	else if (!changing(area))
		region_end(area);
}

/* Whether a pair may go the short way, and the sequence then. */
static inline bool usual(struct region_area *area, uint64_t *sequence)
{
	if (unlikely(!area || !relaxed_load(area->ready)))
		return false;
	*sequence = relaxed_load(&area->sequence);
	return !unlikely(*sequence & 1);
}

AGENT_API void pmc_region_begin(const char *name)
{
	struct region_area *area = region_mine;
	struct region_record *record;
	struct region_frame *frame;
	uint64_t sequence;

	if (!usual(area, &sequence)) {
		begin_rarely(name);
		return;
	}
	frame = region_next(area, area->frame);
	record = frame->record;
	if (unlikely(!record || !is_named(record, name)))
		begin_rarely(name);
	else
		enter(area, frame, record, sequence);
}

AGENT_API void pmc_region_end(void)
{
	struct region_area *area = region_mine;
	uint64_t sequence;

	if (!usual(area, &sequence)) {
		end_rarely();
		return;
	}
	fence();
	if (!area->frame->record || !read_user(area, area->now)) {
		region_end(area);
		return;
	}
	fence();
	if (unlikely(!finish(area, sequence)))
		region_end(area);
}

AGENT_API const struct pmc_region_api pmc_region_api = { pmc_region_begin, pmc_region_end };
