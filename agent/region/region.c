/* SPDX-License-Identifier: MIT */
/*
 * region.c - marked regions: begin and end, and each thread's memory of them. Exports
 * pmc_region_begin, pmc_region_end and pmc_region_api, which pmc/region.h looks up.
 *
 * Only signal handlers of the same thread can interfere. A handler that interrupts a begin or an
 * end finds the area busy: its regions are left out, with a note. Anywhere else they nest.
 * Async-signal-safe.
 *
 * The first region of a thread gives it an area: a stack of the open regions and a record of sums
 * for each name. It stays with the slot of its thread, so that memory follows the number of threads
 * that mark regions at a time. Its untouched pages cost nothing.
 */
#include "agent/region/region.h"
#include "lib/count/user_read.h"

#include <sched.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

/* Next to the reading of a small group in user space, calls and layers show. */
#define fast_inline	    __attribute__((always_inline)) static inline
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* The calling thread's area; NULL: it has marked nothing yet, or is not measured. */
static __thread struct region_area *mine;

static inline struct region_entry *inner_of(struct region_area *area, struct region_entry *entry)
{
	return (void *)((char *)entry + area->entry_bytes);
}

static inline struct region_entry *outer_of(struct region_area *area, struct region_entry *entry)
{
	return (void *)((char *)entry - area->entry_bytes);
}

/* Outside all regions. */
static inline struct region_entry *bottom_of(struct region_area *area)
{
	return (void *)((char *)area + region_entry_at(area->capacity, 0));
}

/* The area of a slot; NULL: none of its threads has marked a region. */
static inline struct region_area *area_of(struct slot *slot)
{
	return (struct region_area *)(uintptr_t)atomic_load(&slot->regions);
}

static inline struct region_record *record_at(struct region_area *area, uint32_t index)
{
	return (void *)((char *)area + region_record_at(area->capacity, index));
}

/* Around each change of a record. */
static inline void change_begin(struct region_area *area)
{
	uint64_t sequence = atomic_load_explicit(&area->sequence, memory_order_relaxed);

	atomic_store_explicit(&area->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static inline void change_end(struct region_area *area)
{
	uint64_t sequence = atomic_load_explicit(&area->sequence, memory_order_relaxed);

	atomic_store_explicit(&area->sequence, sequence + 1, memory_order_release);
}

/* Whether its records are from before the last pmctl ctl reset. */
static inline bool is_stale(const struct region_area *area)
{
	return area->resets != atomic_load_explicit(area->resets_now, memory_order_relaxed);
}

/* CPU time of the calling thread while counting was on, or the groups of accounted events. */
__attribute__((noinline)) static void read_accounts(const struct region_area *area, uint64_t *words)
{
	struct account_words now = { .unknown = 0 };
	struct account_side side;
	struct pmc_usage usage;

	pmc_thread_cpu_ns(0, &now.of[ACCOUNT_CPU]);
	if (pmc_agent_control.usage && area->mode != REGION_CLOCK) {
		pmc_usage_thread(&usage);
		account_put_usage(&now, &usage);
	}
	if (pmc_agent_control.os & 1u << PMC_OS_ELAPSED)
		now.of[ACCOUNT_WALL] = pmc_now_ns();
	if (atomic_load_explicit(&pmc_agent_control.switched, memory_order_relaxed)) {
		agent_account(agent_self, &side);
		account_values(&side, &now);
	} else {
		now.of[ACCOUNT_WALL] -= agent_self->start_ns;
	}
	words[0] = now.of[ACCOUNT_CPU];
	for (unsigned g = agent.plan.groups; area->mode != REGION_CLOCK && g < area->groups; g++) {
		words[0] = words[1] = now.of[ACCOUNT_CPU];
		words += 2 + snapshot_accounted(&pmc_agent_control, g, &now, words + 2);
	}
}

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

	for (unsigned g = 0; area->mode != REGION_CLOCK && g < agent.plan.groups; g++, first++) {
		const unsigned n = first[1] - first[0];

		if (area->mode == REGION_READ ||
		    !pmc_user_read_group(pages, n, &words[0], &words[1], &words[2]))
			read_group(area, g, words);
		pages += n;
		words += 2 + n;
	}
	if (area->mode == REGION_CLOCK || area->groups > agent.plan.groups)
		read_accounts(area, words);
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
	struct region_record *record = record_at(area, index);

	if (index == REGION_RECORDS) {
		agent_note(NOTE_REGION_MANY);
		return record_at(area, REGION_OTHER);
	}
	change_begin(area);
	memset(record, 0, region_record_bytes(area->capacity));
	memcpy(record->name, name, len);
	record->name_len = len;
	*hash = (uint16_t)(index + 1);
	atomic_store_explicit(&area->n_records, index + 1, memory_order_relaxed);
	change_end(area);
	return record;
}

/* By content: a name need not be a literal, nor stay where it is. */
__attribute__((cold)) static struct region_record *find_record(struct region_area *area,
							       const char *name)
{
	uint32_t key = 2166136261; /* FNV-1a */
	uint16_t *hash;
	size_t len = 0;

	for (; len < REGION_NAME - 1 && name[len]; len++)
		key = (key ^ (uint8_t)name[len]) * 16777619;
	for (key ^= key >> 16; *(hash = &area->hash[key % REGION_HASH]); key++) {
		struct region_record *record = record_at(area, *hash - 1u);

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
	struct region_entry *entry = inner_of(area, area->top);

	entry->words[REGION_ENDS] = area->now[REGION_ENDS];
	read_counters(area, entry->words);
	/* A handler that ends the thread closes what is on the stack. */
	atomic_signal_fence(memory_order_seq_cst);
	entry->record->open++;
	area->top = entry;
}

/* Ends the innermost region without counting the call. */
__attribute__((cold, noinline)) static void drop(struct region_area *area)
{
	struct region_entry *entry = area->top;

	change_begin(area);
	area->top = outer_of(area, entry);
	entry->record->open--;
	memset(entry->words + area->capacity, 0, area->capacity * sizeof(uint64_t));
	change_end(area);
}

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
	around = outer_of(area, entry);
	record = entry->record;
	/* Counting was off all the time: the call is not counted either. */
	if (unlikely(area->now[REGION_CPU] == entry->words[REGION_CPU]) &&
	    !atomic_load(&pmc_agent_control.counting)) {
		drop(area);
		return;
	}
	change_begin(area);
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
	change_end(area);
}

__attribute__((cold, noinline)) static void enter_again(struct region_area *area)
{
	enter(area);
}

__attribute__((cold, noinline)) static void leave_innermost(struct region_area *area)
{
	leave(area);
}

/* Ends a change that a signal handler interrupted and never returned to. */
static void abandon_change(struct region_area *area)
{
	if (!(atomic_load_explicit(&area->sequence, memory_order_relaxed) & 1))
		return;
	/* leave() may have counted down and not popped, or the reverse. */
	for (uint32_t i = 0; i < area->n_records; i++)
		record_at(area, i)->open = 0;
	for (struct region_entry *entry = area->top; entry->record; entry = outer_of(area, entry))
		entry->record->open++;
	change_end(area);
}

/* ---- pmctl ctl reset -----------------------------------------------------------------------
 *
 * pmctl cannot change the records, as only their thread writes to them. The thread applies a reset
 * at its next begin or end.
 */

/* The reading at the reset: what rows subtract since then. */
static void begin_at_reset(const struct region_area *area, uint64_t *words)
{
	const uint64_t *base = set_base(&agent_registry, area->slot->data);
	const uint64_t *values = base + 2 * agent.plan.groups;

	words[REGION_ENDS] = area->now[REGION_ENDS];
	words += REGION_CPU;
	if (area->mode == REGION_CLOCK) {
		words[0] = 0;
		return;
	}
	for (unsigned g = 0; g < area->groups; g++) {
		const unsigned at = area->first[g], n = area->first[g + 1] - at;

		/* A group that could not be read at the reset has no reading. */
		if (g >= agent.plan.groups) {
			memset(words, 0, (2 + n) * sizeof(*words));
		} else if (base[2 * g]) {
			words[0] = base[2 * g];
			words[1] = base[2 * g + 1];
			memcpy(words + 2, values + at, n * sizeof(*words));
		}
		words += 2 + n;
	}
}

/* In the area's thread: clears its records, and lets open entries begin at the reset. */
__attribute__((cold)) static void start_over(struct region_area *area)
{
	const size_t inner = area->capacity * sizeof(uint64_t);
	struct region_entry *entry = area->top;

	change_begin(area);
	area->resets = atomic_load(&pmc_agent_control.resets);
	for (uint32_t i = REGION_OTHER; i < area->n_records; i++) {
		struct region_record *record = record_at(area, i);

		record->calls = record->outermost = 0;
		memset(record->words, 0, 2 * inner);
	}
	for (; entry->record; entry = outer_of(area, entry)) {
		begin_at_reset(area, entry->words);
		memset(entry->words + area->capacity, 0, inner);
	}
	memset(bottom_of(area)->words + area->capacity, 0, inner);
	change_end(area);
}
/* No program's names. */
#define COST_OUTER "\001outer"
#define COST_INNER "\001inner"

/* ---- cost ----------------------------------------------------------------------------------*/

#define TRIES 16u

/* By address, as programs call it. */
static const struct pmc_region_api *volatile const api = &pmc_region_api;

static void keep_least(uint64_t *least, const uint64_t *words, unsigned n, bool first)
{
	for (unsigned i = 0; i < n; i++)
		if (first || (int64_t)words[i] < (int64_t)least[i])
			least[i] = words[i];
}

/* Measures what a pair costs, while the thread is in no region. Not while counting is off. */
__attribute__((cold)) static void measure_cost(struct region_area *area)
{
	struct region_record *outer = record_at(area, REGION_COST_OUTER);
	struct region_record *inner = record_at(area, REGION_COST_INNER);
	const unsigned n = area->words;
	uint64_t mask;

	/* Groups that are stopped would make a pair cost nothing. */
	if (area->cost != REGION_COST_UNKNOWN || area->top->record ||
	    !atomic_load(&pmc_agent_control.counting))
		return;
	/* No signal handler of the host runs meanwhile. */
	mask = agent_mask_set(UINT64_MAX);
	area->cost = REGION_COST_NONE;
	for (unsigned try = 0; try < TRIES; try++) {
		memset(outer->words, 0, n * sizeof(uint64_t));
		memset(inner->words, 0, n * sizeof(uint64_t));
		api->begin(COST_OUTER);
		api->begin(COST_INNER);
		api->end();
		api->end();
		keep_least(area->inside, inner->words, n, try == 0);
		keep_least(area->around, outer->words, n, try == 0);
	}
	for (unsigned i = 0; i < n; i++) {
		int64_t inside = (int64_t)area->inside[i], around = (int64_t)area->around[i];

		inside = inside < 0 ? 0 : inside;
		area->inside[i] = (uint64_t)inside;
		area->around[i] = around < inside ? 0 : (uint64_t)(around - inside);
	}
	if (area->inside[REGION_CPU])
		area->cost = REGION_COST_MEASURED;
	agent_mask_set(mask);
}

static struct region_area *map_area(struct slot *slot)
{
	/* CPU time at least: a multiple of four words. */
	const unsigned words =
		REGION_CPU + 2 * agent.plan.readings + agent.plan.first[agent.plan.readings];
	const unsigned capacity = (words + 3) & ~3u;
	struct region_area *area;

	area = mmap(NULL, region_entry_at(capacity, REGION_DEPTH + 2), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	area->capacity = capacity;
	area->entry_bytes = (uint32_t)region_entry_bytes(capacity);
	area->last = (void *)((char *)area + region_entry_at(capacity, REGION_DEPTH));
	atomic_store(&slot->regions, (uint64_t)(uintptr_t)area);
	return area;
}

/* ---- how the thread is read ----------------------------------------------------------------*/

static void unmap_pages(struct region_area *area)
{
	for (unsigned i = 0; i < agent.plan.opened; i++) {
		pmc_user_unmap(area->pages[i]);
		area->pages[i] = NULL;
	}
}

/* All events of the thread or none: half of them would not save the system call. */
static bool map_pages(struct region_area *area)
{
	const int *fds = area->fds;
	uint64_t value, enabled, running;

	for (unsigned i = 0; i < agent.plan.opened; i++) {
		if (fds[i] < 0 || pmc_user_map(fds[i], &area->pages[i]) != 0)
			goto fail;
		/* An event that cannot be read at the first try (a software event) never can be,
		 * unless its group is off the counters just now. */
		if (!pmc_user_read_group(&area->pages[i], 1, &enabled, &running, &value) &&
		    atomic_load(&pmc_agent_control.counting) && agent.plan.groups == 1)
			goto fail;
	}
	return true;
fail:
	unmap_pages(area);
	return false;
}

static void choose_mode(struct region_area *area)
{
	const uint32_t mode = area->mode, words = area->words;
	uint64_t *set = area->slot->data;

	memset(area->errors, 0, sizeof(area->errors));
	area->eventset = snapshot_eventset(&pmc_agent_control, area->slot);
	area->first = pmc_agent_control.first;
	area->fds = set_fds(&agent_registry, set);
	area->ids = set_ids(set);
	area->groups = agent.plan.readings;
	area->mode = REGION_CLOCK;
	area->words = REGION_CPU + 1;
	if (agent.plan.opened ? area->fds[0] >= 0 : area->groups > 0) {
		area->mode = !agent.plan.opened || !map_pages(area) ? REGION_READ :
			     area->groups > agent.plan.groups	    ? REGION_MIXED :
								      REGION_USER;
		area->words = REGION_CPU + 2 * area->groups + area->first[area->groups];
	}
	/* The cost that the area's last thread measured still holds, if this one is read like it.
	 */
	if (area->mode != mode || area->words != words)
		area->cost = REGION_COST_UNKNOWN;
}

static void clear_records(struct region_area *area)
{
	static const char *const names[] = {
		[REGION_COST_OUTER] = COST_OUTER,
		[REGION_COST_INNER] = COST_INNER,
		[REGION_OTHER] = "(other regions)",
	};
	struct region_entry *entry;

	change_begin(area);
	atomic_store(&area->n_records, 0);
	memset(area->hash, 0, sizeof(area->hash));
	change_end(area);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		find_record(area, names[i]);
	/* Entries were used from the bottom on. */
	area->top = entry = bottom_of(area);
	while (entry != area->last && (entry = inner_of(area, entry))->record)
		entry->record = NULL;
}

/* ---- REGION frames ------------------------------------------------------------------------- */

/* A change takes less than a microsecond, unless its thread is preempted. */
#define FRAME_TRIES 200u

bool agent_region_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *index)
{
	const struct reader reader = agent_reader(snapshot);

	for (unsigned try = 0; try < FRAME_TRIES; try++) {
		enum snapshot_result result = snapshot_region(&reader, buf, slot, *index);

		if (result != SNAPSHOT_CHANGING) {
			++*index;
			return result == SNAPSHOT_PUT;
		}
		/* A handler would wait for the change that it interrupted. */
		if (mine && area_of(slot) == mine) {
			agent_note(NOTE_REGION_BUSY);
			return false;
		}
		sched_yield();
	}
	agent_note(NOTE_REGION_BUSY);
	++*index;
	return true;
}

/* ---- a thread's area -----------------------------------------------------------------------*/

static void close_open(struct region_area *area)
{
	/* A handler may end the thread. */
	abandon_change(area);
	if (is_stale(area))
		start_over(area);
	while (area->top->record) {
		agent_note(NOTE_REGION_OPEN);
		leave_innermost(area);
	}
	mine = NULL;
}

/* Adds marking to the overhead of the agent. */
static void add_cost(struct region_area *area)
{
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < atomic_load(&area->n_records); i++)
		pairs += record_at(area, i)->calls;
	agent_overhead_add(pairs * area->around[REGION_CPU]);
}

void agent_regions_end(void)
{
	struct region_area *area = mine;

	if (!area)
		return;
	close_open(area);
	add_cost(area);
	unmap_pages(area);
}

/* Gives the calling thread an area; NULL and a note if it cannot have one. */
__attribute__((cold)) static struct region_area *attach_area(void)
{
	struct region_area *area;
	uint64_t mask;

	if (!agent_self) {
		agent_note(NOTE_REGION_NO_ROW);
		return NULL;
	}
	/* Until the area is ready a handler finds none. */
	mask = agent_mask_set(UINT64_MAX);
	area = area_of(agent_self);
	if (!area)
		area = map_area(agent_self);
	if (area && area != mine) {
		area->slot = agent_self;
		area->busy = NULL;
		area->alive = agent_alive;
		area->resets_now = &pmc_agent_control.resets;
		area->excess = 0;
		area->resets = atomic_load(&pmc_agent_control.resets);
		area->reopen = NULL;
		clear_records(area);
		choose_mode(area);
		mine = area;
		measure_cost(area);
		change_begin(area);
		atomic_store(&area->owner, agent_self->seq + 1);
		change_end(area);
	}
	agent_mask_set(mask);
	if (!area)
		agent_note(NOTE_REGION_MEMORY);
	return area;
}

static bool has_area(const struct slot *slot, const struct region_area *area)
{
	return area && atomic_load(&area->owner) == slot->seq + 1;
}

bool agent_region_has(struct slot *slot)
{
	return has_area(slot, area_of(slot));
}

static void end_area(struct slot *slot)
{
	struct region_area *area = area_of(slot);

	if (!has_area(slot, area))
		return;
	add_cost(area);
	/* Its own are closed. */
	if (area->top->record)
		agent_note(NOTE_REGION_CUT);
}

void agent_regions_last(void)
{
	if (mine)
		close_open(mine);
	registry_each(&agent_registry, end_area);
}

/* ---- what programs call --------------------------------------------------------------------*/

__attribute__((cold, noinline)) static struct region_area *find_area(bool attach)
{
	if (!agent_active_unless_vfork())
		return NULL;
	return mine || !attach ? mine : attach_area();
}

/* The calling thread's area; NULL: it has none. */
fast_inline struct region_area *my_area(bool attach)
{
	struct region_area *area = mine;

	/* A forked child that is not a process of its own yet must not read the parent's groups. */
	if (unlikely(!area || !atomic_load_explicit(area->alive, memory_order_relaxed)))
		return find_area(attach);
	return area;
}

__attribute__((cold, noinline)) static bool take_over(struct region_area *area, const void *frame)
{
	if (area->busy != frame)
		return false;
	agent_note(NOTE_REGION_HANDLER);
	abandon_change(area);
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
	entry->record = find_record(area, name ? name : "");
	return true;
}

AGENT_API void pmc_region_begin(const char *name)
{
	struct region_area *area = my_area(true);
	struct region_entry *entry;

	if (unlikely(!area))
		return;
	if (unlikely(area->cost == REGION_COST_UNKNOWN))
		measure_cost(area);
	if (unlikely(!enter_area(area))) {
		agent_note(NOTE_REGION_HANDLER);
		return;
	}
	if (unlikely(is_stale(area)))
		start_over(area);
	entry = inner_of(area, area->top);
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
	if (unlikely(is_stale(area)))
		start_over(area);
	if (unlikely(area->excess))
		area->excess--;
	else if (area->top->record)
		leave(area);
	else
		agent_note(NOTE_REGION_END);
	leave_area(area);
}

AGENT_API const struct pmc_region_api pmc_region_api = { pmc_region_begin, pmc_region_end };

/* ---- exec and fork -------------------------------------------------------------------------*/

void agent_regions_before_exec(void)
{
	struct region_area *area = mine;

	if (!area || area->busy)
		return;
	area->reopen = area->top;
	while (area->top->record)
		leave_innermost(area);
}

void agent_regions_exec_failed(void)
{
	struct region_area *area = mine;

	if (!area)
		return;
	/* The stack still has the entries. */
	while (area->top < area->reopen)
		enter_again(area);
	area->reopen = NULL;
}

void agent_regions_forked(void)
{
	struct region_area *parents = mine;
	struct region_entry *entry;

	pmc_user_forked();
	mine = NULL;
	/* Its memory stays: a begin or an end of this thread may be writing to it. */
	if (!parents)
		return;
	for (entry = bottom_of(parents); entry != parents->top;) {
		entry = inner_of(parents, entry);
		pmc_region_begin(entry->record->name);
	}
}
