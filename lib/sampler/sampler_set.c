/* SPDX-License-Identifier: MIT */
/*
 * sampler_set.c - many rings as one stream in time order: a merge of the rings' next records.
 *
 * A record may be returned once no older one can appear. A round looks at all rings. What it saw is
 * settled when a later round, begun at least settle_ns after its end, has looked too: a record that
 * is older than a settled one had been published by then. So the oldest next record of all rings is
 * returned while any ring's next record is settled.
 */
#include "lib/sampler/sampler.h"
#include "lib/sampler/record.h"
#include "lib/base/clock.h"
#include "lib/counter/counter.h"

#include <errno.h>
#include <stdlib.h>

#define SETTLE_NS 1000000

struct pmc_sampler_set {
	uint64_t settle_ns;
	struct pmc_sampler **samplers;
	unsigned n, room;
	uint64_t round_end_ns;
	uint64_t newest;	  /* time of the newest record returned */
	struct pmc_sampler *held; /* source of the last record returned */
	struct pmc_sampler_totals totals;
};

/* ---- rounds -------------------------------------------------------------------------------- */

static bool all_ended(const struct pmc_sampler_set *set)
{
	for (unsigned i = 0; i < set->n; i++)
		if (!set->samplers[i]->ended && !set->samplers[i]->error)
			return false;
	return true;
}

static void look_at_all(struct pmc_sampler_set *set)
{
	bool last = all_ended(set);

	if (!last && pmc_now_ns() - set->round_end_ns < set->settle_ns)
		return;
	for (unsigned i = 0; i < set->n; i++) {
		struct pmc_sampler *sampler = set->samplers[i];

		pmc_sampler_look(sampler);
		sampler->settled = last ? sampler->ring.head : sampler->seen;
		sampler->seen = sampler->ring.head;
	}
	set->round_end_ns = pmc_now_ns();
}

/* Whether the sampler has a next record, with its time. */
static bool peek_time(struct pmc_sampler *sampler)
{
	int where;

	if (sampler->peeked)
		return true;
	if (pmc_sampler_peek(sampler, &sampler->next))
		return false;
	where = pmc_record_time_at(&pmc_sampler_source(sampler, &sampler->next)->attr,
				   sampler->next.type, sampler->next.size);
	/* A damaged record without a time keeps its place. */
	if (where >= 0)
		sampler->next_time = pmc_ring_word(&sampler->ring, sampler->at + (unsigned)where);
	return sampler->peeked = true;
}

/* The ring of the oldest record; NULL: none may be returned yet. */
static struct pmc_sampler *oldest(const struct pmc_sampler_set *set)
{
	struct pmc_sampler *first = NULL;
	bool settled = false;

	for (unsigned i = 0; i < set->n; i++) {
		struct pmc_sampler *sampler = set->samplers[i];

		if (!peek_time(sampler))
			continue;
		settled |= sampler->at < sampler->settled;
		if (!first || sampler->next_time < first->next_time)
			first = sampler;
	}
	return settled ? first : NULL;
}

/* ---- returning records ---------------------------------------------------------------------- */

static int hand_out(struct pmc_sampler_set *set, struct pmc_sampler *sampler,
		    struct pmc_record *record)
{
	int result = pmc_sampler_deliver(sampler, &sampler->next, record);

	pmc_totals_count(&set->totals, record, result);
	set->held = sampler;
	if (sampler->next_time < set->newest) {
		set->totals.late++;
		sampler->totals.late++;
	} else {
		set->newest = sampler->next_time;
	}
	sampler->peeked = false;
	return result;
}

/* The error of a ring whose records are all returned, once. */
static int report_end(struct pmc_sampler_set *set, struct pmc_sampler **from)
{
	for (unsigned i = 0; i < set->n; i++) {
		struct pmc_sampler *sampler = set->samplers[i];
		int why = sampler->error ? sampler->error : sampler->ended;

		if (!why || why == -ENODATA || sampler->error_reported || sampler->peeked)
			continue;
		sampler->error_reported = true;
		*from = sampler;
		return why;
	}
	return 0;
}

/* Rings are not mapped in children of fork: all of a set, or none. */
static int set_usable(const struct pmc_sampler_set *set)
{
	return !set ? -EINVAL : set->n ? pmc_sampler_usable(set->samplers[0]) : 0;
}

int pmc_sampler_set_next(struct pmc_sampler_set *set, struct pmc_record *record,
			 struct pmc_sampler **from)
{
	bool over;
	struct pmc_sampler *unused;
	int error;

	from = from ? from : &unused;
	*from = NULL;
	error = record ? set_usable(set) : -EINVAL;
	if (error)
		return error;
	over = all_ended(set);
	if (set->held)
		pmc_ring_release(&set->held->ring, set->held->at);
	set->held = NULL;
	*from = oldest(set);
	if (!*from) {
		look_at_all(set);
		*from = oldest(set);
	}
	if (*from)
		return hand_out(set, *from, record);
	error = report_end(set, from);
	return error ? error : over ? -ENODATA : -EAGAIN;
}

/* Records in the rings wait for their round to settle, not for more records. */
static uint64_t wait_ns(const struct pmc_sampler_set *set, uint64_t left)
{
	uint64_t settled = pmc_deadline_left(set->round_end_ns + set->settle_ns);

	for (unsigned i = 0; i < set->n; i++)
		if (set->samplers[i]->peeked)
			return settled < left ? settled : left;
	return left;
}

int pmc_sampler_set_next_wait(struct pmc_sampler_set *set, struct pmc_record *record,
			      struct pmc_sampler **from, int timeout_ms)
{
	uint64_t deadline = pmc_deadline(timeout_ms), left;
	int error;

	for (;;) {
		error = pmc_sampler_set_next(set, record, from);
		if (error != -EAGAIN)
			return error;
		left = pmc_deadline_left(deadline);
		if (!left)
			return -EAGAIN;
		error = pmc_samplers_wait(set->samplers, set->n, wait_ns(set, left));
		if (error)
			return error;
	}
}

/* ---- the set ------------------------------------------------------------------------------- */

int pmc_sampler_set_new(struct pmc_sampler_set **set, uint64_t settle_ns)
{
	if (!set)
		return -EINVAL;
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
	while (set->n) {
		struct pmc_sampler *last = set->samplers[set->n - 1];

		pmc_sampler_set_remove(set, last);
		if (last->owned)
			pmc_sampler_close(last);
	}
	free(set->samplers);
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
	const struct pmc_sampler *other;
	int error = set ? pmc_sampler_usable(sampler) : -EINVAL;

	if (error)
		return error;
	other = set->n ? set->samplers[0] : sampler;
	if (sampler->set)
		return -EBUSY;
	if (!sampler->ring.size)
		return -EINVAL;
	for (const struct pmc_source *s = sampler->first; s; s = s->next)
		if (!pmc_attr_same_order(&s->attr, &other->first->attr))
			return -EINVAL;
	if (set->n == set->room) {
		unsigned room = set->room ? 2 * set->room : 16;
		struct pmc_sampler **wider = realloc(set->samplers, room * sizeof(*wider));

		if (!wider)
			return -ENOMEM;
		set->samplers = wider;
		set->room = room;
	}
	/* A set releases only records that it returned; a full ring would never get another. */
	pmc_ring_release(&sampler->ring, sampler->at);
	/* Its records may be older than settled ones of other rings. */
	pmc_sampler_look(sampler);
	sampler->settled = sampler->seen = sampler->at;
	sampler->peeked = false;
	set->samplers[set->n++] = sampler;
	sampler->set = set;
	return 0;
}

int pmc_sampler_set_remove(struct pmc_sampler_set *set, struct pmc_sampler *sampler)
{
	unsigned i = 0;

	if (!set || !sampler)
		return -EINVAL;
	if (sampler->set != set)
		return -ENOENT;
	if (set->held == sampler)
		set->held = NULL;
	while (set->samplers[i] != sampler)
		i++;
	set->samplers[i] = set->samplers[--set->n];
	sampler->set = NULL;
	return 0;
}

void pmc_sampler_set_read_totals(const struct pmc_sampler_set *set,
				 struct pmc_sampler_totals *totals)
{
	if (totals)
		*totals = set ? set->totals : (struct pmc_sampler_totals){ 0 };
}

/* ---- all rings at once --------------------------------------------------------------------- */

static int each_counter(struct pmc_sampler_set *set, int (*call)(struct pmc_counter *counter))
{
	int error = set_usable(set);

	for (unsigned i = 0; !error && i < set->n; i++)
		for (struct pmc_source *s = set->samplers[i]->first; s && !error; s = s->next)
			error = s->counter ? call(s->counter) : 0;
	return error;
}

int pmc_sampler_set_enable(struct pmc_sampler_set *set)
{
	return each_counter(set, pmc_counter_enable);
}

int pmc_sampler_set_disable(struct pmc_sampler_set *set)
{
	return each_counter(set, pmc_counter_disable);
}

int pmc_sampler_set_lost(const struct pmc_sampler_set *set, uint64_t *lost)
{
	uint64_t sum = 0, one;
	int error = set && lost ? 0 : -EINVAL;

	for (unsigned i = 0; !error && i < set->n; i++) {
		error = pmc_sampler_lost(set->samplers[i], &one);
		sum += error ? 0 : one;
	}
	if (!error)
		*lost = sum;
	return error;
}

/* ---- a ring on every online CPU ------------------------------------------------------------ */

struct adding {
	struct pmc_sampler_set *set;
	const struct pmc_counter_event *event;
	unsigned pages;
};

/* Adds a ring that is closed with the set. */
static int add_cpu(void *arg, const struct pmc_open_options *options, struct pmc_failure *failure)
{
	const struct adding *adding = arg;
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	int error = pmc_counter_open(&counter, adding->event, options, failure);

	if (error)
		return error;
	error = pmc_sampler_open(&sampler, counter, adding->pages, failure);
	if (error) {
		pmc_counter_close(counter);
		return error;
	}
	sampler->owned = counter;
	error = pmc_sampler_set_add(adding->set, sampler);
	if (error) {
		counter_fail(failure, error, "pages", "a ring of 0 pages holds no records");
		pmc_sampler_close(sampler);
	}
	return error;
}

int pmc_sampler_set_open(struct pmc_sampler_set **set, const struct pmc_counter_event *event,
			 const struct pmc_open_options *options, unsigned pages,
			 struct pmc_failure *failure)
{
	struct adding adding = { .event = event, .pages = pages };
	struct counter_request request;
	struct pmc_open_options open;
	int error;

	if (!set || !event)
		return counter_fail(failure, -EINVAL, set ? "event" : "set", "NULL");
	*set = NULL;
	error = counter_request_each_cpu(&request, event, options, failure);
	if (error)
		return error;
	open = request.open;
	/* Options that ordering by time needs. The counters are started together at the end. */
	open.sample_type |= PERF_SAMPLE_TIME;
	open.sample_id_all = true;
	open.enabled = false;
	open.read_format |= PMC_READ_FORMAT_LOST;
	error = pmc_sampler_set_new(set, 0);
	if (error)
		return counter_fail(failure, error, "memory", "out of memory");
	adding.set = *set;
	error = counter_each_cpu(event, 1, &open, add_cpu, &adding, failure);
	if (error == -EINVAL && !(request.open.read_format & PMC_READ_FORMAT_LOST)) {
		/* Linux before 6.0. */
		open.read_format &= ~(uint64_t)PMC_READ_FORMAT_LOST;
		error = counter_each_cpu(event, 1, &open, add_cpu, &adding, failure);
	}
	if (!error && request.open.enabled)
		error = pmc_sampler_set_enable(*set);
	if (error) {
		pmc_sampler_set_free(*set);
		*set = NULL;
	}
	return error;
}

/* ---- errors -------------------------------------------------------------------------------- */

static const struct counter_meaning meanings[] = {
	{ -EAGAIN, "there is no record now; wait by pmc_sampler_next_wait()" },
	{ -ENODATA, "no record will follow: the threads of all its counters have ended" },
	{ -EPROTO, "the record cannot be decoded; call again for the next" },
	{ -EBADMSG, "the ring is damaged: something other than this sampler has written to it; "
		    "close the sampler" },
	{ -EIO, "its event is in error state, as after an exec of a setuid program; close "
		"the sampler" },
	{ -EBADF, "its counter was closed; close the sampler first" },
	{ -EBUSY, "it is in a set, or its counter has another sampler; read by "
		  "pmc_sampler_set_next()" },
	{ -ESTALE, "this is a child of fork(), where the ring is not mapped; open samplers "
		   "after the fork" },
	{ -EEXIST, "the counter is attached already" },
	{ -ENOENT, "it is not in this set, or the counter is not attached" },
	{ -EOPNOTSUPP, "its counter lacks PMC_READ_FORMAT_LOST, or the counter cannot be read in "
		       "user space; use pmc_counter_read()" },
	{ -EINVAL, "an argument is NULL, or the records of these counters cannot be told apart "
		   "or ordered: both need PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_TIME and "
		   "sample_id_all, and the same clock" },
	{ 0 },
};

void pmc_sampler_explain(const struct pmc_sampler *sampler, int error, struct pmc_failure *failure)
{
	const struct pmc_counter *counter = pmc_sampler_counter(sampler);

	counter_fail_open(failure, error > 0 ? -error : error,
			  counter ? pmc_counter_name(counter) : "sampler", meanings);
}
