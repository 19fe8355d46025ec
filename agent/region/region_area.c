/* SPDX-License-Identifier: MIT */
/*
 * region_area.c - memory of a thread's regions: made at its first region, reset for each thread,
 * written as REGION frames; and the cost of a pair of begin and end, measured with empty regions.
 *
 * An area stays with the slot of its thread, so that memory follows the number of threads that mark
 * regions at a time. Its untouched pages cost nothing.
 */
#include "lib/count/user_read_cpu.h"
#include "agent/region/region.h"

#include <sched.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

/* No program's names. */
#define COST_OUTER "\001outer"
#define COST_INNER "\001inner"

/* Between the two no signal handler of the host runs. */
static uint64_t block_signals(void)
{
	uint64_t all = UINT64_MAX, mask = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(all));
	return mask;
}

static void unblock_signals(uint64_t mask)
{
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

static size_t area_bytes(unsigned capacity)
{
	return region_room_at(capacity) + REGION_ROOM;
}

static struct region_area *map_area(struct slot *slot)
{
	unsigned capacity = REGION_CPU + 2 * agent.plan.groups + agent.plan.opened;
	struct region_area *area;

	/* CPU time at least. */
	capacity = capacity > REGION_CPU ? (capacity + 3) & ~3u : 4;
	area = mmap(NULL, area_bytes(capacity), PROT_READ | PROT_WRITE,
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
		    atomic_load(&pmc_agent_control.counting) && area->groups == 1)
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
	area->groups = agent.plan.groups;
	area->mode = REGION_CLOCK;
	area->words = REGION_CPU + 1;
	if (agent.plan.opened && area->fds[0] >= 0) {
		area->mode = map_pages(area) ? REGION_USER : REGION_READ;
		area->words = REGION_CPU + 2 * area->groups + agent.plan.opened;
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

	region_change_begin(area);
	atomic_store(&area->n_records, 0);
	memset(area->hash, 0, sizeof(area->hash));
	region_change_end(area);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		region_find(area, names[i]);
	/* Entries were used from the bottom on. */
	area->top = entry = region_bottom(area);
	while (entry != area->last && (entry = region_inner(area, entry))->record)
		entry->record = NULL;
}

static void set_owner(struct region_area *area, uint64_t owner)
{
	region_change_begin(area);
	atomic_store(&area->owner, owner);
	region_change_end(area);
}

/* ---- REGION frames
 * ------------------------------------------------------------------------------*/

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
		if (region_mine && region_area_of(slot) == region_mine) {
			agent_note(NOTE_REGION_BUSY);
			return false;
		}
		sched_yield();
	}
	agent_note(NOTE_REGION_BUSY);
	++*index;
	return true;
}

/* All regions of the calling thread, which ends. */
static void write_all(struct region_area *area)
{
	const struct reader reader =
		agent_reader(atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1);
	void *room = (char *)area + region_room_at(area->capacity);
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, REGION_ROOM);
	for (uint32_t i = 0; snapshot_region(&reader, &buf, area->slot, i) == SNAPSHOT_PUT; i++)
		agent_buf_room(&buf, REGION_FRAME_BYTES);
	agent_buf_room(&buf, SIZE_MAX);
}

/* ---- a thread's area -----------------------------------------------------------------------*/

static void close_open(struct region_area *area)
{
	/* A handler may end the thread. */
	region_abandon_change(area);
	if (region_is_stale(area))
		region_start_over(area);
	while (area->top->record) {
		agent_note(NOTE_REGION_OPEN);
		region_leave(area);
	}
	region_mine = NULL;
}

/* Adds marking to the overhead of the agent. */
static void add_cost(struct region_area *area)
{
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < atomic_load(&area->n_records); i++)
		pairs += region_record(area, i)->calls;
	agent_overhead_add(pairs * area->around[REGION_CPU]);
}

static void end_thread(void)
{
	struct region_area *area = region_mine;

	if (!area)
		return;
	close_open(area);
	add_cost(area);
	unmap_pages(area);
	write_all(area);
}

struct region_area *region_attach(void)
{
	struct region_area *area;
	uint64_t mask;

	if (!agent_self) {
		agent_note(NOTE_REGION_NO_ROW);
		return NULL;
	}
	/* Until the area is ready a handler finds none. */
	mask = block_signals();
	area = region_area_of(agent_self);
	if (!area)
		area = map_area(agent_self);
	if (area && area != region_mine) {
		area->slot = agent_self;
		area->busy = NULL;
		area->alive = agent_alive;
		area->resets_now = &pmc_agent_control.resets;
		area->excess = 0;
		area->resets = atomic_load(&pmc_agent_control.resets);
		area->reopen = NULL;
		clear_records(area);
		choose_mode(area);
		region_mine = area;
		region_measure_cost(area);
		set_owner(area, agent_self->seq + 1);
		atomic_store(&agent_thread_ending, end_thread);
	}
	unblock_signals(mask);
	if (!area)
		agent_note(NOTE_REGION_MEMORY);
	return area;
}

void agent_regions_last(void)
{
	struct region_area *mine = region_mine;
	uint32_t high = atomic_load(&agent_registry.high);

	if (mine)
		close_open(mine);
	for (uint32_t i = 0; i < high; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);
		struct region_area *area = region_area_of(slot);

		if (!area || (atomic_load(&slot->word) & ~0xffffu) != SLOT_LIVE ||
		    atomic_load(&area->owner) != slot->seq + 1)
			continue;
		add_cost(area);
		if (area != mine && area->top->record)
			agent_note(NOTE_REGION_CUT);
	}
}

/* ---- exec and fork -------------------------------------------------------------------------*/

void agent_regions_before_exec(void)
{
	struct region_area *area = region_mine;

	if (!area || area->busy)
		return;
	area->reopen = area->top;
	while (area->top->record)
		region_leave(area);
}

void agent_regions_exec_failed(void)
{
	struct region_area *area = region_mine;

	if (!area)
		return;
	/* The stack still has the entries. */
	while (area->top < area->reopen)
		region_enter(area, region_inner(area, area->top)->record);
	area->reopen = NULL;
}

void agent_regions_forked(void)
{
	struct region_area *parents = region_mine;
	struct region_entry *entry;

	pmc_user_forked();
	region_mine = NULL;
	/* Its memory stays: a begin or an end of this thread may be writing to it. */
	if (!parents)
		return;
	for (entry = region_bottom(parents); entry != parents->top;) {
		entry = region_inner(parents, entry);
		pmc_region_begin(entry->record->name);
	}
}

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

void region_measure_cost(struct region_area *area)
{
	struct region_record *outer = region_record(area, REGION_COST_OUTER);
	struct region_record *inner = region_record(area, REGION_COST_INNER);
	const unsigned n = area->words;
	uint64_t mask;

	/* Groups that are stopped would make a pair cost nothing. */
	if (area->cost != REGION_COST_UNKNOWN || area->top->record ||
	    !atomic_load(&pmc_agent_control.counting))
		return;
	mask = block_signals();
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
	unblock_signals(mask);
}

/* ---- pmctl ctl reset, and counting that is off ------------------------------------------------
 *
 * pmctl cannot change the records, as only their thread writes to them. The thread applies a reset
 * at its next begin or end.
 */

uint64_t region_clock(void)
{
	struct account_words now = { .unknown = 0 };
	struct account_side side;

	pmc_thread_cpu_ns(0, &now.of[ACCOUNT_CPU]);
	agent_account(agent_self, &side);
	account_values(&side, &now);
	return now.of[ACCOUNT_CPU];
}

/* The reading at the reset: what rows subtract since then. */
static void begin_at_reset(const struct region_area *area, uint64_t *words)
{
	const uint64_t *base = set_base(&agent_registry, area->slot->data);
	const uint64_t *values = base + 2 * area->groups;

	words[REGION_ENDS] = area->now[REGION_ENDS];
	words += REGION_CPU;
	if (area->mode == REGION_CLOCK) {
		words[0] = 0;
		return;
	}
	for (unsigned g = 0; g < area->groups; g++) {
		const unsigned at = area->first[g], n = area->first[g + 1] - at;

		/* A group that could not be read at the reset has no reading. */
		if (base[2 * g]) {
			words[0] = base[2 * g];
			words[1] = base[2 * g + 1];
			memcpy(words + 2, values + at, n * sizeof(*words));
		}
		words += 2 + n;
	}
}

void region_start_over(struct region_area *area)
{
	const size_t inner = area->capacity * sizeof(uint64_t);
	struct region_entry *entry = area->top;

	region_change_begin(area);
	area->resets = atomic_load(&pmc_agent_control.resets);
	for (uint32_t i = REGION_OTHER; i < area->n_records; i++) {
		struct region_record *record = region_record(area, i);

		record->calls = record->outermost = 0;
		memset(record->words, 0, 2 * inner);
	}
	for (; entry->record; entry = region_outer(area, entry)) {
		begin_at_reset(area, entry->words);
		memset(entry->words + area->capacity, 0, inner);
	}
	memset(region_bottom(area)->words + area->capacity, 0, inner);
	region_change_end(area);
}
