/* SPDX-License-Identifier: MIT */
/*
 * sampler_set.c - many rings as one stream in time order.
 *
 * Each round reads every ring and puts new records on a heap by time; their bytes stay in the
 * rings. Records up to the horizon may be returned; pmc/sampler.h explains why they are in order.
 */
#include "agent/core/api/sampler/sampler.h"
#include "agent/core/api/sampler/record.h"
#include "agent/core/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NS 1000000

/* A record on the heap: entry `index` of its sampler. */
struct queued {
	uint64_t time;
	uint64_t order; /* of reading, for equal times */
	struct pmc_sampler *sampler;
	uint64_t index;
};

struct pmc_sampler_set {
	uint64_t settle_ns;
	struct pmc_sampler **samplers;
	unsigned n, room;
	struct queued *heap;
	size_t queued, heap_room;
	uint64_t order;

	uint64_t horizon; /* no older record can appear */
	bool round;	  /* a round has ended; it settles at round_end_ns + settle_ns */
	uint64_t round_end_ns;
	uint64_t round_newest;
	uint64_t newest, handed_out;
	bool any_newest, any_horizon, any_handed_out;

	struct pmc_sampler *held; /* source of the last record returned */
	uint64_t held_index;
	struct pmc_sampler_totals totals;
};

/* ---- reading one ring --------------------------------------------------------------------- */

static int make_room(struct pmc_sampler *sampler)
{
	size_t room = sampler->room ? 2 * sampler->room : 256;
	struct pmc_ahead *wider;

	if (sampler->ahead_end - sampler->ahead_first < sampler->room)
		return 0;
	wider = calloc(room, sizeof(*wider));
	if (!wider)
		return -ENOMEM;
	for (uint64_t i = sampler->ahead_first; i != sampler->ahead_end; i++)
		wider[i & (room - 1)] = *pmc_sampler_ahead(sampler, i);
	free(sampler->ahead);
	sampler->ahead = wider;
	sampler->room = room;
	return 0;
}

static uint64_t time_of(struct pmc_sampler *sampler, const struct perf_event_header *header)
{
	const struct pmc_source *source = pmc_sampler_source(sampler, sampler->at, header);
	int where = pmc_record_time_at(&source->attr, header->type, header->size);
	uint64_t time;

	/* A damaged record without a time keeps its place. */
	if (where < 0)
		return sampler->newest;
	time = pmc_ring_word(&sampler->ring, sampler->at + (unsigned)where);
	if (time > sampler->newest)
		sampler->newest = time;
	return time;
}

int pmc_sampler_read_ahead(struct pmc_sampler *sampler)
{
	struct perf_event_header header;
	int error;

	for (;;) {
		error = make_room(sampler);
		if (error)
			return error;
		error = pmc_sampler_peek(sampler, &header);
		if (error)
			return error == -EAGAIN ? 0 : error;
		*pmc_sampler_ahead(sampler, sampler->ahead_end++) = (struct pmc_ahead){
			.at = sampler->at,
			.time = time_of(sampler, &header),
			.size = header.size,
		};
		sampler->at += header.size;
	}
}

void pmc_sampler_ahead_done(struct pmc_sampler *sampler, uint64_t index)
{
	pmc_sampler_ahead(sampler, index)->done = true;
	while (sampler->ahead_first != sampler->ahead_end) {
		const struct pmc_ahead *entry = pmc_sampler_ahead(sampler, sampler->ahead_first);

		if (!entry->done)
			break;
		sampler->release_to = entry->at + entry->size;
		sampler->ahead_first++;
	}
	pmc_ring_release(&sampler->ring, sampler->release_to);
}

/* ---- the heap ------------------------------------------------------------------------------ */

static bool before(const struct queued *a, const struct queued *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static int reserve(struct pmc_sampler_set *set, size_t more)
{
	size_t room = set->heap_room ? set->heap_room : 256;
	struct queued *wider;

	while (room < set->queued + more)
		room *= 2;
	if (room == set->heap_room)
		return 0;
	wider = realloc(set->heap, room * sizeof(*wider));
	if (!wider)
		return -ENOMEM;
	set->heap = wider;
	set->heap_room = room;
	return 0;
}

static void push(struct pmc_sampler_set *set, struct queued item)
{
	size_t at = set->queued++;

	for (; at && before(&item, &set->heap[(at - 1) / 2]); at = (at - 1) / 2)
		set->heap[at] = set->heap[(at - 1) / 2];
	set->heap[at] = item;
}

static struct queued pop(struct pmc_sampler_set *set)
{
	struct queued top = set->heap[0], last = set->heap[--set->queued];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < set->queued) {
		if (child + 1 < set->queued && before(&set->heap[child + 1], &set->heap[child]))
			child++;
		if (!before(&set->heap[child], &last))
			break;
		set->heap[at] = set->heap[child];
		at = child;
	}
	set->heap[at] = last;
	return top;
}

/* ---- rounds -------------------------------------------------------------------------------- */

/* Queues the entries of a ring from `from` on that are not done. */
static int queue(struct pmc_sampler_set *set, struct pmc_sampler *sampler, uint64_t from)
{
	int error = reserve(set, sampler->ahead_end - from);

	if (error)
		return error;
	for (; from != sampler->ahead_end; from++) {
		const struct pmc_ahead *entry = pmc_sampler_ahead(sampler, from);
		struct queued item = {
			.time = entry->time,
			.order = set->order++,
			.sampler = sampler,
			.index = from,
		};

		if (entry->done)
			continue;
		push(set, item);
		if (!set->any_newest || item.time > set->newest)
			set->newest = item.time;
		set->any_newest = true;
	}
	return 0;
}

static int look_at(struct pmc_sampler_set *set, struct pmc_sampler *sampler)
{
	uint64_t from = sampler->ahead_end;
	int error = pmc_sampler_read_ahead(sampler), full = queue(set, sampler, from);

	if (full && from != sampler->ahead_end) {
		/* Could not be queued: read them again later. */
		sampler->at = pmc_sampler_ahead(sampler, from)->at;
		sampler->ahead_end = from;
	}
	/* set_next reports damage of a ring after its last good record. */
	return full ? full : error == -ENOMEM ? error : 0;
}

static bool all_ended(const struct pmc_sampler_set *set)
{
	for (unsigned i = 0; i < set->n; i++)
		if (!set->samplers[i]->ended && !set->samplers[i]->error)
			return false;
	return true;
}

static int look_at_all(struct pmc_sampler_set *set)
{
	uint64_t begin = pmc_now_ns();
	bool last = all_ended(set);

	for (unsigned i = 0; i < set->n; i++) {
		int error = look_at(set, set->samplers[i]);

		if (error)
			return error;
	}
	if (last) {
		set->horizon = UINT64_MAX;
		set->any_horizon = true;
		return 0;
	}
	if (set->round) {
		if (begin - set->round_end_ns < set->settle_ns)
			return 0;
		set->horizon = set->round_newest;
		set->any_horizon = true;
	}
	set->round = set->any_newest;
	set->round_newest = set->newest;
	set->round_end_ns = pmc_now_ns();
	return 0;
}

/* ---- returning records
 * --------------------------------------------------------------------------- */

static void release_held(struct pmc_sampler_set *set)
{
	if (set->held)
		pmc_sampler_ahead_done(set->held, set->held_index);
	set->held = NULL;
}

static bool ready(const struct pmc_sampler_set *set)
{
	return set->queued && set->any_horizon && set->heap[0].time <= set->horizon;
}

static int hand_out(struct pmc_sampler_set *set, struct pmc_record *record,
		    struct pmc_sampler **from)
{
	struct queued top = pop(set);
	const struct pmc_ahead *entry = pmc_sampler_ahead(top.sampler, top.index);
	int result = pmc_sampler_deliver(top.sampler, entry->at, entry->size, record);

	set->held = top.sampler;
	set->held_index = top.index;
	*from = top.sampler;
	pmc_totals_count(&set->totals, record, result);
	if (set->any_handed_out && top.time < set->handed_out) {
		set->totals.late++;
		top.sampler->totals.late++;
	} else {
		set->handed_out = top.time;
	}
	set->any_handed_out = true;
	return result;
}

/* The error of a ring whose records are all returned, once. */
static int report_end(struct pmc_sampler_set *set, struct pmc_sampler **from)
{
	for (unsigned i = 0; i < set->n; i++) {
		struct pmc_sampler *sampler = set->samplers[i];
		int why = sampler->error ? sampler->error : sampler->ended;

		if (!why || why == -ENODATA || sampler->error_reported ||
		    sampler->ahead_first != sampler->ahead_end)
			continue;
		sampler->error_reported = true;
		*from = sampler;
		return why;
	}
	return 0;
}

int pmc_sampler_set_next(struct pmc_sampler_set *set, struct pmc_record *record,
			 struct pmc_sampler **from)
{
	struct pmc_sampler *nobody;
	bool over;
	int error;

	if (!from)
		from = &nobody;
	*from = NULL;
	release_held(set);
	if (ready(set))
		return hand_out(set, record, from);
	over = all_ended(set);
	error = look_at_all(set);
	if (error)
		return error;
	if (ready(set))
		return hand_out(set, record, from);
	error = report_end(set, from);
	if (error)
		return error;
	return over ? -ENODATA : -EAGAIN;
}

int pmc_sampler_set_next_wait(struct pmc_sampler_set *set, struct pmc_record *record,
			      struct pmc_sampler **from, int timeout_ms)
{
	uint64_t deadline = pmc_deadline(timeout_ms);
	int error;

	for (;;) {
		uint64_t left, settled;

		error = pmc_sampler_set_next(set, record, from);
		if (error != -EAGAIN)
			return error;
		left = pmc_deadline_left(deadline);
		if (!left)
			return -EAGAIN;
		/* Queued records wait for their round to settle, not for more records. */
		settled =
			set->queued ? pmc_deadline_left(set->round_end_ns + set->settle_ns) : left;
		error = pmc_samplers_wait(set->samplers, set->n, settled < left ? settled : left);
		if (error)
			return error;
	}
}

/* ---- the set ------------------------------------------------------------------------------- */

int pmc_sampler_set_new(struct pmc_sampler_set **set, uint64_t settle_ns)
{
	*set = calloc(1, sizeof(**set));
	if (!*set)
		return -ENOMEM;
	(*set)->settle_ns = settle_ns ? settle_ns : SETTLE_NS;
	return 0;
}

void pmc_sampler_set_free(struct pmc_sampler_set *set)
{
	if (!set)
		return;
	while (set->n)
		pmc_sampler_set_remove(set, set->samplers[set->n - 1]);
	free(set->samplers);
	free(set->heap);
	free(set);
}

bool pmc_attr_same_order(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->sample_type & b->sample_type & PERF_SAMPLE_TIME && a->sample_id_all &&
	       b->sample_id_all && a->use_clockid == b->use_clockid &&
	       (!a->use_clockid || a->clockid == b->clockid);
}

int pmc_sampler_set_add(struct pmc_sampler_set *set, struct pmc_sampler *sampler)
{
	int error;

	if (sampler->set)
		return -EBUSY;
	if (!sampler->ring.size)
		return -EINVAL;
	for (const struct pmc_source *s = sampler->first; s; s = s->next) {
		if (!pmc_attr_same_order(&s->attr, &sampler->first->attr))
			return -EINVAL;
	}
	if (set->n && !pmc_attr_same_order(&sampler->first->attr, &set->samplers[0]->first->attr))
		return -EINVAL;
	if (set->n == set->room) {
		unsigned room = set->room ? 2 * set->room : 16;
		struct pmc_sampler **wider = realloc(set->samplers, room * sizeof(*wider));

		if (!wider)
			return -ENOMEM;
		set->samplers = wider;
		set->room = room;
	}
	/* Read ahead by an earlier set. */
	error = queue(set, sampler, sampler->ahead_first);
	if (error)
		return error;
	/* Release the last record returned: a set releases only its own, and a full ring would
	 * never get another. */
	pmc_ring_release(&sampler->ring, sampler->release_to);
	set->samplers[set->n++] = sampler;
	sampler->set = set;
	/* No round has seen this ring. */
	set->any_horizon = set->round = false;
	return 0;
}

int pmc_sampler_set_remove(struct pmc_sampler_set *set, struct pmc_sampler *sampler)
{
	unsigned i = 0;
	size_t queued = set->queued;

	if (sampler->set != set)
		return -ENOENT;
	if (set->held == sampler)
		release_held(set);
	while (set->samplers[i] != sampler)
		i++;
	set->samplers[i] = set->samplers[--set->n];
	/* Rebuild the heap without its records. */
	set->queued = 0;
	for (size_t k = 0; k < queued; k++)
		if (set->heap[k].sampler != sampler)
			push(set, set->heap[k]);
	sampler->set = NULL;
	return 0;
}

void pmc_sampler_set_totals(const struct pmc_sampler_set *set, struct pmc_sampler_totals *totals)
{
	*totals = set->totals;
}
