/* SPDX-License-Identifier: MIT */
/*
 * region_area.c - the memory of a thread's regions: made at its first one, measured, handed on.
 *
 * Areas stay mapped. Those whose threads are gone lie on a tagged stack, so that memory follows the
 * number of threads that mark regions at a time. Untouched parts of an area cost nothing.
 */
#include "agent/region/region.h"
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/base/note.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/poison.h"

#define MOST_DEPTH 1024u
#define MOST_BYTES ((size_t)512 << 10) /* of frames, and of records */

struct region_layout region_layout;

AGENT_ROOMY static _Atomic(struct region_area *) areas[REGION_AREAS];
static _Atomic uint32_t high;	/* areas ever made, or being made */
static _Atomic uint64_t vacant; /* tag << 32 | index + 1 */
static __thread bool refused;

/* ---- memory --------------------------------------------------------------------------------*/

static size_t up(size_t bytes)
{
	return (bytes + REGION_LINE - 1) & ~(size_t)(REGION_LINE - 1);
}

static uint32_t fitting(size_t each, uint32_t most)
{
	return MOST_BYTES / each < most ? (uint32_t)(MOST_BYTES / each) : most;
}

/* Always the same: whoever comes first, and at the same time, may write it. */
static void lay_out(void)
{
	struct region_layout l = { .words = region_words(2 * agent.plan.groups +
							 agent.plan.opened) };

	l.frame_bytes = sizeof(struct region_frame) + 2 * l.words * sizeof(uint64_t);
	l.record_bytes = sizeof(struct region_record) + 2 * l.words * sizeof(uint64_t);
	l.max_depth = fitting(l.frame_bytes, MOST_DEPTH);
	l.max_records = fitting(l.record_bytes, REGION_RECORDS);
	l.frames = up(sizeof(struct region_area) + l.frame_bytes);
	l.records = up(l.frames + (l.max_depth + 2) * l.frame_bytes);
	l.order = up(l.records + l.max_records * l.record_bytes);
	l.names = up(l.order + l.max_records * sizeof(uint16_t));
	l.scratch = up(l.names + REGION_NAMES_BYTES);
	l.bytes = l.scratch + REGION_SCRATCH;
	region_layout = l;
}

static struct region_area *pop(void)
{
	uint64_t top = atomic_load(&vacant), next;
	struct region_area *area;

	do {
		if (!(uint32_t)top)
			return NULL;
		area = atomic_load(&areas[(uint32_t)top - 1]);
		next = atomic_load(&area->next_free) | ((top >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak(&vacant, &top, next));
	return area;
}

/* For readers from outside. */
static void publish(void)
{
	struct pmc_control *control = &pmc_agent_control;

	control->region_layout = (uint64_t)(uintptr_t)&region_layout;
	control->region_areas = (uint64_t)(uintptr_t)areas;
	control->region_high = (uint64_t)(uintptr_t)&high;
	atomic_store(&control->regions, 1);
}

static struct region_area *fresh(void)
{
	struct region_area *area;
	uint32_t index;
	void *map;

	if (atomic_load(&high) >= REGION_AREAS)
		return NULL;
	lay_out();
	map = mmap(NULL, region_layout.bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	index = atomic_fetch_add(&high, 1);
	if (index >= REGION_AREAS) {
		atomic_fetch_sub(&high, 1);
		munmap(map, region_layout.bytes);
		return NULL;
	}
	area = map;
	area->index = index;
	atomic_store(&areas[index], area);
	publish();
	return area;
}

struct region_area *region_area_at(uint32_t i)
{
	/* One that is being made is not worth waiting for. */
	while (i < atomic_load(&high) && i < REGION_AREAS) {
		struct region_area *area = atomic_load(&areas[i]);

		if (area)
			return area;
		i++;
	}
	return NULL;
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
		/* What cannot be read on the first try (a software event, say) never will. While
		 * groups take turns some are off their counters at any time. */
		if (!pmc_user_read(area->pages[i], &value, &enabled, &running) &&
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
	const struct pmc_plan *plan = &agent.plan;
	uint64_t *set = area->slot->data;

	memset(area->errors, 0, sizeof(area->errors));
	area->eventset = agent_thread_eventset(area->slot);
	area->first = pmc_agent_control.first;
	area->fds = set_fds(&agent_registry, set);
	area->ids = set_ids(set);
	area->groups = plan->groups;
	area->mode = REGION_CLOCK;
	area->words = region_words(1);
	area->user_events = 0;
	area->uncalibrated = true;
	area->ready = &region_unready;
	if (agent.plan.opened == 0 || area->fds[0] < 0)
		return;
	area->words = region_words(2 * plan->groups + plan->opened);
	area->mode = map_pages(area) ? REGION_USER : REGION_READ;
	if (area->mode == REGION_USER && plan->groups == 1)
		area->user_events = plan->opened;
}

static void clear_records(struct region_area *area)
{
	/* No program's name either. */
	static const char other[] = "\001other";

	region_unsettle(area);
	while (area->used_frames)
		region_frame(area, --area->used_frames)->record = NULL;
	area->n_records = 1;
	area->names_used = sizeof(other);
	memcpy(region_names(area), other, sizeof(other));
	memset(region_record(area, REGION_OTHER), 0, region_layout.record_bytes);
	region_settle(area);
}

/* ---- a thread's area -----------------------------------------------------------------------*/

/* Pairs may take the short way: what they would have to look at is in one word. */
static void admit(void)
{
	atomic_store(&agent_alive[1], 1);
	if (atomic_load(&pmc_agent_control.state) != PMC_CONTROL_ON)
		atomic_store(&agent_alive[1], 0);
}

static void begin(struct region_area *area)
{
	area->slot = agent_self;
	area->reopen = 0;
	area->frame_bytes = region_layout.frame_bytes;
	region_set_depth(area, 0);
	clear_records(area);
	choose_mode(area);
	region_mine = area;
	admit();
	region_calibrate(area);
	atomic_store(&area->owner, agent_self->seq + 1);
}

struct region_area *region_attach(void)
{
	struct region_area *area;
	uint64_t mask;

	if (!agent_self) {
		agent_note(NOTE_REGION_NO_ROW);
		return NULL;
	}
	if (refused)
		return NULL;
	/* A handler that marks regions shall find an area that is ready. */
	mask = region_block();
	area = region_mine;
	if (!area)
		area = pop();
	if (!area)
		area = fresh();
	if (area && area != region_mine)
		begin(area);
	region_unblock(mask);
	if (!area) {
		refused = true;
		agent_note(NOTE_REGION_MEMORY);
	}
	return area;
}

void region_none_ended(void)
{
	if (agent_self && !refused)
		agent_note(NOTE_REGION_END);
}

/* A handler that ends the thread, or the program, may have come in the middle of a begin: then the
 * last frame still has the reading of a region that ended long ago. */
static void begin_last(struct region_area *area)
{
	struct region_frame *last = area->frame;
	uint64_t open = 0;

	for (uint32_t i = 0; i < region_depth(area); i++)
		open += region_frame(area, i)->record == last->record;
	if (open && last->record->open != open)
		region_start(area, last, open);
}

static void close_open(struct region_area *area)
{
	/* The signal that ends the process may have come while a record changed. */
	if (atomic_load(&area->sequence) & 1)
		region_settle(area);
	region_set_depth(area, region_depth(area));
	begin_last(area);
	while (region_depth(area)) {
		agent_note(NOTE_REGION_OPEN);
		region_end(area);
	}
	region_mine = NULL;
}

struct region_area *agent_regions_end(void)
{
	struct region_area *area = region_mine;

	refused = false;
	if (!area)
		return NULL;
	close_open(area);
	/* A reader that is at it finds the sequence changed. */
	region_unsettle(area);
	atomic_store(&area->owner, 0);
	region_settle(area);
	unmap_pages(area);
	return area;
}

/* Marking is part of what the agent costs. */
static void add_cost(struct region_area *area)
{
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < area->n_records; i++)
		pairs += region_record(area, i)->calls;
	/* What a pair has inside is part of what it adds around. */
	agent_self_add(pairs * area->around[REGION_CPU]);
}

void agent_regions_free(struct region_area *area)
{
	uint64_t top = atomic_load(&vacant), next;

	if (!area)
		return;
	add_cost(area);
	do {
		atomic_store(&area->next_free, (uint32_t)top);
		next = (area->index + 1) | ((top >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak(&vacant, &top, next));
}

void agent_regions_last(void)
{
	struct region_area *area, *mine = region_mine;

	atomic_store(&agent_alive[1], 0);
	if (mine)
		close_open(mine);
	for (uint32_t i = 0; (area = region_area_at(i)); i = area->index + 1) {
		if (!atomic_load(&area->owner))
			continue;
		add_cost(area);
		if (area != mine && region_depth(area))
			agent_note(NOTE_REGION_CUT);
	}
}

void agent_regions_before_exec(void)
{
	struct region_area *area = region_mine;
	uint32_t depth;

	if (!area || atomic_load(&area->sequence) & 1)
		return;
	depth = region_depth(area);
	area->reopen = depth + area->beyond;
	region_set_depth(area, depth);
	begin_last(area);
	while (region_depth(area))
		region_end(area);
}

/* Enters again what was left: the stack still has it. */
static void open_again(struct region_area *area, uint32_t depth)
{
	region_set_depth(area, depth);
	for (uint32_t i = 0; i < region_depth(area); i++)
		region_frame(area, i)->direct = 0;
	for (uint32_t i = 0; i < region_depth(area); i++)
		region_start(area, region_frame(area, i), region_frame(area, i)->record->open);
}

void agent_regions_exec_failed(void)
{
	struct region_area *area = region_mine;

	if (!area || !area->reopen)
		return;
	region_unsettle(area);
	for (uint32_t i = 0; i < area->reopen && i < region_layout.max_depth; i++) {
		struct region_record *record = region_frame(area, i)->record;

		record->calls--;
		record->again -= record->open++ != 0;
	}
	region_settle(area);
	open_again(area, area->reopen);
	area->reopen = 0;
}

/* ---- fork ----------------------------------------------------------------------------------*/

static void inherit(struct region_area *area)
{
	area->index = 0;
	area->slot = agent_self;
	/* The kernel gives a child none of these mappings. */
	memset(area->pages, 0, sizeof(area->pages));
	if (atomic_load(&area->sequence) & 1)
		region_settle(area);
	region_unsettle(area);
	atomic_store(&area->owner, agent_self->seq + 1);
	for (uint32_t i = 0; i < area->n_records; i++) {
		struct region_record *record = region_record(area, i);

		record->calls = record->again = 0;
		memset(record->words, 0, 2 * region_layout.words * sizeof(uint64_t));
	}
	choose_mode(area);
	region_settle(area);
	region_calibrate(area);
	open_again(area, region_depth(area) + area->beyond);
}

void agent_regions_forked(void)
{
	uint32_t n = atomic_load(&high);

	pmc_user_forked();
	refused = false;
	for (uint32_t i = 0; i < n && i < REGION_AREAS; i++) {
		struct region_area *area = atomic_exchange(&areas[i], NULL);

		if (area && (area != region_mine || !agent_self))
			munmap(area, region_layout.bytes);
	}
	atomic_store(&vacant, 0);
	atomic_store(&high, 0);
	region_costs_forked();
	if (!agent_self)
		region_mine = NULL;
	atomic_store(&pmc_agent_control.regions, region_mine != NULL);
	if (!region_mine)
		return;
	atomic_store(&areas[0], region_mine);
	atomic_store(&high, 1);
	admit();
	inherit(region_mine);
}
