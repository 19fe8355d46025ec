/* SPDX-License-Identifier: MIT */
/*
 * sampler.c - samplers, each a ring and the counters that write to it, and sets: many rings as one
 * stream in time order, a merge of the rings' next records.
 *
 * What a round saw (pmc/sampler.h) is settled when a later round has looked too. So the oldest next
 * record of all rings is returned while any ring's next record is settled.
 */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/count/user_read.h"
#include "lib/counter/counter.h"
#include "lib/sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SETTLE_NS 1000000

struct pmc_sampler_set {
	uint64_t settle_ns;
	struct pmc_sampler **samplers;
	unsigned n;
	uint64_t round_end_ns;
	uint64_t newest;	  /* time of the newest record returned */
	struct pmc_sampler *held; /* source of the last record returned */
	struct pmc_sampler_totals totals;
};

/* ---- a ring: head, tail and wrapped records ------------------------------------------------- */

int pmc_ring_init(struct pmc_ring *ring, struct perf_event_mmap_page *page, const void *data,
		  uint64_t size, unsigned char *joined)
{
	if (size < sizeof(struct perf_event_header) || (size & (size - 1)))
		return -EINVAL;
	*ring = (struct pmc_ring){ .page = page, .data = data, .size = size, .joined = joined };
	ring->tail = __atomic_load_n((uint64_t *)&page->data_tail, __ATOMIC_RELAXED);
	ring->head = ring->tail;
	return ring->tail % 8 ? -EBADMSG : 0;
}

int pmc_ring_look(struct pmc_ring *ring)
{
	/* Pairs with the barrier before the kernel's store of the head. */
	uint64_t head = __atomic_load_n((uint64_t *)&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (head - ring->tail > ring->size || head - ring->tail < ring->head - ring->tail)
		return -EBADMSG;
	ring->head = head;
	return 0;
}

int pmc_ring_header(const struct pmc_ring *ring, uint64_t at, struct perf_event_header *header)
{
	uint64_t left = ring->head - at, word;

	if (!left)
		return -EAGAIN;
	if (left < sizeof(*header))
		return -EBADMSG;
	word = pmc_ring_word(ring, at);
	memcpy(header, &word, sizeof(*header));
	if (header->size < sizeof(*header) || header->size % 8 || header->size > left)
		return -EBADMSG;
	return 0;
}

const void *pmc_ring_record(struct pmc_ring *ring, uint64_t at, unsigned size)
{
	uint64_t offset = at & (ring->size - 1), first = ring->size - offset;

	if (size <= first)
		return ring->data + offset;
	memcpy(ring->joined, ring->data + offset, first);
	memcpy(ring->joined + first, ring->data, size - first);
	return ring->joined;
}

void pmc_ring_release(struct pmc_ring *ring, uint64_t to)
{
	if (to == ring->tail)
		return;
	ring->tail = to;
	/* Release: our reads happen before the kernel overwrites the records. */
	__atomic_store_n((uint64_t *)&ring->page->data_tail, to, __ATOMIC_RELEASE);
}

/* ---- sources ------------------------------------------------------------------------------ */

/* Whether records of both have the same layout. */
static bool same_layout(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->sample_type == b->sample_type && a->sample_id_all == b->sample_id_all &&
	       a->read_format == b->read_format && a->branch_sample_type == b->branch_sample_type &&
	       a->sample_regs_user == b->sample_regs_user &&
	       a->sample_regs_intr == b->sample_regs_intr;
}

/* Whether records of both can be ordered: all have a time, of the same clock. */
static bool same_order(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->sample_type & b->sample_type & PERF_SAMPLE_TIME && a->sample_id_all &&
	       b->sample_id_all && a->use_clockid == b->use_clockid &&
	       (!a->use_clockid || a->clockid == b->clockid);
}

/* Whether its records have their source at a known offset. */
static bool names_itself(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_IDENTIFIER && attr->sample_id_all;
}

/* -EINVAL: NULL. -ESTALE: in a child of fork. Else 0. */
static int usable(const struct pmc_sampler *sampler)
{
	return !sampler ? -EINVAL : *sampler->alive ? 0 : -ESTALE;
}

static struct pmc_source *find_counter(const struct pmc_sampler *sampler,
				       const struct pmc_counter *counter)
{
	for (struct pmc_source *s = sampler->first; s; s = s->next)
		if (s->counter == counter)
			return s;
	return NULL;
}

/* Where the identifier is in by_id, or would be. */
static size_t place_of(const struct pmc_sampler *sampler, uint64_t id)
{
	size_t from = 0, to = sampler->n_sources;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (sampler->by_id[middle]->id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct pmc_source *find_id(const struct pmc_sampler *sampler, uint64_t id)
{
	const size_t at = place_of(sampler, id);

	return at < sampler->n_sources && sampler->by_id[at]->id == id ? sampler->by_id[at] : NULL;
}

static void hold(struct pmc_source *source, struct pmc_counter *counter)
{
	source->counter = counter;
	source->detached = false;
	source->ended = 0;
	counter->held = &source->counter;
}

static void let_go(struct pmc_source *source)
{
	if (source->counter)
		source->counter->held = NULL;
	source->counter = NULL;
}

static int add_source(struct pmc_sampler *sampler, struct pmc_counter *counter)
{
	struct pmc_source *source, **list, **end = &sampler->first;
	uint64_t id;
	size_t at;
	int error = pmc_counter_id(counter, &id);

	if (error < 0)
		return error;
	/* Attached before. */
	source = find_id(sampler, id);
	if (source) {
		hold(source, counter);
		return 0;
	}
	list = realloc(sampler->by_id, (sampler->n_sources + 1) * sizeof(struct pmc_source *));
	if (!list)
		return -ENOMEM;
	sampler->by_id = list;
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	at = place_of(sampler, id);
	memmove(list + at + 1, list + at, (sampler->n_sources - at) * sizeof(struct pmc_source *));
	list[at] = source;
	sampler->n_sources++;
	hold(source, counter);
	source->attr = *pmc_counter_attr(counter);
	source->id = id;
	while (*end)
		end = &(*end)->next;
	*end = source;
	return 0;
}

/* The source of the record at sampler->at; never NULL. */
static const struct pmc_source *source_of(const struct pmc_sampler *sampler,
					  const struct perf_event_header *header)
{
	const int where = pmc_record_identifier_at(header->type, header->size);
	struct pmc_source *source = NULL;

	/* Without identifiers all sources have the layout of the first. */
	if (where >= 0 && sampler->first->next)
		source = find_id(sampler,
				 pmc_ring_word(&sampler->ring, sampler->at + (unsigned)where));
	return source ? source : sampler->first;
}

/* Makes the counter write to another ring, of the counter with descriptor `to`; -1: to none. */
static int set_output(const struct pmc_counter *counter, int to)
{
	return counter_ioctl(counter, PERF_EVENT_IOC_SET_OUTPUT, (void *)(intptr_t)to);
}

int pmc_sampler_attach(struct pmc_sampler *sampler, struct pmc_counter *counter)
{
	struct pmc_source *first;
	const struct perf_event_attr *attr;
	int error = usable(sampler);

	if (error || !counter)
		return error ? error : -EINVAL;
	first = sampler->first;
	attr = pmc_counter_attr(counter);
	if (find_counter(sampler, counter))
		return -EEXIST;
	if (counter->held)
		return -EBUSY;
	if (!first->counter)
		return -EBADF;
	if (!sampler->ring.size || (sampler->set && !same_order(&first->attr, attr)))
		return -EINVAL;
	for (struct pmc_source *s = first; s; s = s->next)
		if (!same_layout(&s->attr, attr) && !(names_itself(&s->attr) && names_itself(attr)))
			return -EINVAL;
	error = set_output(counter, pmc_counter_fd(first->counter));
	if (error < 0)
		return error;
	error = add_source(sampler, counter);
	if (error)
		set_output(counter, -1);
	else
		sampler->ended = 0;
	return error;
}

int pmc_sampler_detach(struct pmc_sampler *sampler, const struct pmc_counter *counter)
{
	struct pmc_source *source;
	int error = usable(sampler);

	if (error || !counter)
		return error ? error : -EINVAL;
	source = find_counter(sampler, counter);
	if (!source)
		return -ENOENT;
	if (source == sampler->first)
		return -EINVAL;
	error = set_output(source->counter, -1);
	let_go(source);
	source->detached = true;
	return error < 0 ? error : 0;
}

/* ---- open and close ------------------------------------------------------------------------ */

/* A page that the kernel clears in children of fork (Linux 4.14), and the buffer for wrapped
 * records. */
static int map_alive(struct pmc_sampler *sampler, size_t page, bool has_ring)
{
	unsigned char *map;

	sampler->alive_bytes = page + (has_ring ? PMC_RING_RECORD_MAX : 0);
	map = mmap(NULL, sampler->alive_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	madvise(map, page, MADV_WIPEONFORK);
	sampler->alive = map;
	*sampler->alive = 1;
	sampler->ring.joined = has_ring ? map + page : NULL;
	return 0;
}

static int map_ring(struct pmc_sampler *sampler, int fd, unsigned pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *map;
	int error = map_alive(sampler, page, pages);

	if (error)
		return error;
	sampler->map_bytes = (1 + (size_t)pages) * page;
	map = mmap(NULL, sampler->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	sampler->map = map;
	sampler->ring.page = (struct perf_event_mmap_page *)map;
	if (!pages)
		return 0;
	return pmc_ring_init(&sampler->ring, sampler->ring.page, map + page, pages * page,
			     sampler->ring.joined);
}

/* Errors of this library. */
static int check_open(const struct pmc_counter *counter, unsigned pages,
		      struct pmc_failure *failure)
{
	if (!counter)
		return counter_fail(failure, -EINVAL, "counter", "NULL");
	if (pages & (pages - 1))
		return counter_fail(failure, -EINVAL, "pages", "%u is not a power of 2", pages);
	if (counter->held)
		return counter_fail(
			failure, -EBUSY, counter->name,
			"it has a sampler, or is attached to one; close or detach that");
	if (pmc_counter_attr(counter)->write_backward)
		return counter_fail(failure, -EOPNOTSUPP, "write_backward",
				    "rings are read forward only; leave it out");
	if (pmc_counter_attr(counter)->inherit && counter->on_any_cpu && pages)
		return counter_fail(failure, -EINVAL, "inherit",
				    "an inherited counter needs a CPU for its ring; open it on "
				    "each CPU, as pmc_sampler_set_open() does");
	return 0;
}

int pmc_sampler_open(struct pmc_sampler **sampler, struct pmc_counter *counter, unsigned pages,
		     struct pmc_failure *failure)
{
	struct pmc_tried tried = { .call = PMC_CALL_MMAP };
	struct pmc_sampler *made;
	int error;

	if (!sampler)
		return counter_fail(failure, -EINVAL, "sampler", "NULL");
	*sampler = NULL;
	error = check_open(counter, pages, failure);
	if (error)
		return error;
	made = calloc(1, sizeof(*made));
	if (!made)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	error = counter_check(counter);
	if (!error)
		error = map_ring(made, pmc_counter_fd(counter), pages);
	if (!error) {
		made->at = made->ring.tail;
		error = add_source(made, counter);
	}
	if (error) {
		pmc_sampler_close(made);
		tried.attr = &counter->attr.base;
		if (error == -EBADF)
			return counter_fail(failure, error, counter->name,
					    "its descriptor was closed; open it again");
		return counter_fail_call(failure, error, counter->name, &tried);
	}
	*sampler = made;
	return 0;
}

void pmc_sampler_close(struct pmc_sampler *sampler)
{
	bool child;

	if (!sampler)
		return;
	child = sampler->alive && !*sampler->alive;
	if (sampler->set)
		pmc_sampler_set_remove(sampler->set, sampler);
	for (struct pmc_source *s = sampler->first, *next; s; s = next) {
		next = s->next;
		/* An attached counter would keep the ring's memory allocated. In a child of fork,
		 * detaching would affect the parent's counter. */
		if (s != sampler->first && s->counter && !child)
			set_output(s->counter, -1);
		let_go(s);
		free(s);
	}
	if (sampler->map && !child)
		munmap(sampler->map, sampler->map_bytes);
	if (sampler->alive)
		munmap(sampler->alive, sampler->alive_bytes);
	pmc_counter_close(sampler->owned);
	free(sampler->by_id);
	free(sampler);
}

struct pmc_counter *pmc_sampler_counter(const struct pmc_sampler *sampler)
{
	return sampler ? sampler->first->counter : NULL;
}

int pmc_sampler_fd(const struct pmc_sampler *sampler)
{
	if (!sampler)
		return -EINVAL;
	return sampler->first->counter ? pmc_counter_fd(sampler->first->counter) : -EBADF;
}

static int pause_output(struct pmc_sampler *sampler, uintptr_t pause)
{
	int error = usable(sampler);
	const struct pmc_counter *first = error ? NULL : sampler->first->counter;

	return first ? counter_ioctl(first, PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)pause) :
	       error ? error :
		       -EBADF;
}

int pmc_sampler_pause(struct pmc_sampler *sampler)
{
	return pause_output(sampler, 1);
}

int pmc_sampler_resume(struct pmc_sampler *sampler)
{
	return pause_output(sampler, 0);
}

/* ---- records ------------------------------------------------------------------------------- */

static void count_record(struct pmc_sampler_totals *totals, const struct pmc_record *record,
			 int result)
{
	totals->records++;
	totals->bytes += record->size;
	totals->samples += record->type == PERF_RECORD_SAMPLE;
	totals->throttles += record->type == PERF_RECORD_THROTTLE;
	if (result)
		totals->undecodable++;
	else if (record->type == PERF_RECORD_LOST)
		totals->lost += record->lost.lost;
	else if (record->type == PERF_RECORD_LOST_SAMPLES)
		totals->lost_samples += record->lost.lost;
}

/* Decodes the next record, moves behind it and adds it to the totals. 0 or -EPROTO. */
static int deliver(struct pmc_sampler *sampler, const struct perf_event_header *header,
		   struct pmc_record *record)
{
	const struct pmc_source *source = source_of(sampler, header);
	const void *bytes = pmc_ring_record(&sampler->ring, sampler->at, header->size);
	int error = pmc_record_decode(bytes, header->size, &source->attr, record);

	/* Sizes were checked when the record was found: the ring has been written to since. */
	if (error)
		error = -EPROTO;
	if (sampler->first->next && !error)
		source = find_id(sampler, record->present & PERF_SAMPLE_IDENTIFIER ?
						  record->identifier :
						  record->id);
	record->counter = source ? source->counter : NULL;
	count_record(&sampler->totals, record, error);
	sampler->at += header->size;
	return error;
}

/* Updates the ring's head, or sets sampler->error. */
static void look(struct pmc_sampler *sampler)
{
	if (!sampler->error)
		sampler->error = pmc_ring_look(&sampler->ring);
}

/* The header of the next record as of the last look. 0, -EAGAIN: none, or sampler->error. */
static int peek(struct pmc_sampler *sampler, struct perf_event_header *header)
{
	int error = sampler->error;

	if (!error)
		error = pmc_ring_header(&sampler->ring, sampler->at, header);
	if (error != -EAGAIN)
		sampler->error = error;
	return error;
}

int pmc_sampler_next(struct pmc_sampler *sampler, struct pmc_record *record)
{
	struct perf_event_header header;
	int error = record ? usable(sampler) : -EINVAL;

	if (error)
		return error;
	if (sampler->set)
		return -EBUSY;
	if (!sampler->ring.size)
		return -ENODATA;
	pmc_ring_release(&sampler->ring, sampler->at);
	if (sampler->at == sampler->ring.head)
		look(sampler);
	error = peek(sampler, &header);
	if (error == -EAGAIN && sampler->ended)
		return sampler->ended;
	return error ? error : deliver(sampler, &header, record);
}

void pmc_sampler_read_totals(const struct pmc_sampler *sampler, struct pmc_sampler_totals *totals)
{
	if (totals)
		*totals = sampler ? sampler->totals : (struct pmc_sampler_totals){ 0 };
}

static int source_lost(const struct pmc_source *source, uint64_t *lost)
{
	struct pmc_counter_reading reading;
	int error = pmc_counter_read_full(source->counter, &reading);

	if (error && error != -EAGAIN && error != -EBUSY)
		return error;
	*lost += reading.lost;
	return reading.has_lost ? 0 : -EOPNOTSUPP;
}

int pmc_sampler_lost(const struct pmc_sampler *sampler, uint64_t *lost)
{
	uint64_t sum = 0;

	if (!sampler || !lost)
		return -EINVAL;
	for (const struct pmc_source *s = sampler->first; s; s = s->next) {
		int error = s->counter ? source_lost(s, &sum) : s->detached ? 0 : -EBADF;

		if (error)
			return error;
	}
	*lost = sum;
	return 0;
}

int pmc_sampler_read_user(const struct pmc_sampler *sampler, uint64_t *count, uint64_t *enabled_ns,
			  uint64_t *running_ns)
{
	pmc_user_page *page;
	int error = usable(sampler);

	if (error || !count || !enabled_ns || !running_ns)
		return error ? error : -EINVAL;
	/* The page has the count of one thread. */
	if (sampler->first && sampler->first->counter && sampler->first->counter->attr.base.inherit)
		return -EOPNOTSUPP;
	page = sampler->ring.page;
	return pmc_user_read_group(&page, 1, enabled_ns, running_ns, count) ? 0 : -EOPNOTSUPP;
}

/* ---- waiting for records and for the end of their sources ----------------------------------- */

/* Records below wakeup_events or the watermark wake nobody: look at least this often. */
#define SLICE_NS 100000000ull

/* A time that many ms from now (-1: never), and the ns left until then. CLOCK_MONOTONIC. */
static uint64_t deadline_in(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : pmc_now_ns() + (uint64_t)timeout_ms * 1000000;
}

static uint64_t time_left(uint64_t deadline)
{
	return deadline == UINT64_MAX ? UINT64_MAX : pmc_sub_sat(deadline, pmc_now_ns());
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* perf_poll() of kernel/events/core.c: POLLHUP once the event's task and all that inherited it have
 * exited, POLLERR in error state. Both are permanent: polling the descriptor again would spin. */
static int ended_by(short revents)
{
	if (revents & POLLNVAL)
		return -EBADF;
	if (revents & POLLHUP)
		return -ENODATA;
	return revents & POLLERR ? -EIO : 0;
}

/* A sampler has ended if all its sources have; errors take precedence over exited tasks. */
static void update_ended(struct pmc_sampler *sampler)
{
	int why = -ENODATA;

	for (const struct pmc_source *s = sampler->first; s; s = s->next) {
		if (s->detached)
			continue;
		if (s->counter && !s->ended)
			return;
		if (!s->ended)
			why = -EBADF; /* the counter was closed */
		else if (s->ended != -ENODATA)
			why = s->ended;
	}
	sampler->ended = why;
}

/* Waits until one of the samplers may have a record, at most until the deadline, `most_ns` and
 * 100 ms. Sets `ended` of sources and samplers. 0, -EAGAIN: the deadline is over, -EINTR or
 * -ENOMEM. */
static int wait_for(struct pmc_sampler *const *samplers, unsigned n, uint64_t deadline,
		    uint64_t most_ns)
{
	const uint64_t left = time_left(deadline);
	struct timespec wait = { .tv_nsec = (long)least(left, least(most_ns, SLICE_NS)) };
	struct pollfd *polled;
	unsigned count = 0, i = 0;
	int got;

	if (!left)
		return -EAGAIN;
	for (unsigned k = 0; k < n; k++)
		for (struct pmc_source *s = samplers[k]->first; s; s = s->next)
			count += s->counter && !s->ended;
	polled = calloc(count + 1, sizeof(*polled));
	if (!polled)
		return -ENOMEM;
	for (unsigned k = 0; k < n; k++)
		for (struct pmc_source *s = samplers[k]->first; s; s = s->next)
			if (s->counter && !s->ended)
				polled[i++] = (struct pollfd){ .fd = pmc_counter_fd(s->counter),
							       .events = POLLIN };
	got = ppoll(polled, count, &wait, NULL);
	if (got < 0)
		got = -errno;
	i = 0;
	for (unsigned k = 0; k < n; k++) {
		for (struct pmc_source *s = samplers[k]->first; s && got > 0; s = s->next)
			if (s->counter && !s->ended)
				s->ended = ended_by(polled[i++].revents);
		update_ended(samplers[k]);
	}
	free(polled);
	return got < 0 ? got : 0;
}

int pmc_sampler_next_wait(struct pmc_sampler *sampler, struct pmc_record *record, int timeout_ms)
{
	const uint64_t deadline = deadline_in(timeout_ms);
	int error, waited = 0;

	do
		error = pmc_sampler_next(sampler, record);
	while (error == -EAGAIN && !(waited = wait_for(&sampler, 1, deadline, UINT64_MAX)));
	return waited ? waited : error;
}

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

		look(sampler);
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
	if (peek(sampler, &sampler->next))
		return false;
	where = pmc_record_time_at(&source_of(sampler, &sampler->next)->attr, sampler->next.type,
				   sampler->next.size);
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
	int result = deliver(sampler, &sampler->next, record);

	count_record(&set->totals, record, result);
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
	return !set ? -EINVAL : set->n ? usable(set->samplers[0]) : 0;
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
static uint64_t settles_in(const struct pmc_sampler_set *set)
{
	for (unsigned i = 0; i < set->n; i++)
		if (set->samplers[i]->peeked)
			return time_left(set->round_end_ns + set->settle_ns);
	return UINT64_MAX;
}

int pmc_sampler_set_next_wait(struct pmc_sampler_set *set, struct pmc_record *record,
			      struct pmc_sampler **from, int timeout_ms)
{
	const uint64_t deadline = deadline_in(timeout_ms);
	int error, waited = 0;

	do
		error = pmc_sampler_set_next(set, record, from);
	while (error == -EAGAIN &&
	       !(waited = wait_for(set->samplers, set->n, deadline, settles_in(set))));
	return waited ? waited : error;
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

int pmc_sampler_set_add(struct pmc_sampler_set *set, struct pmc_sampler *sampler)
{
	const struct pmc_sampler *other;
	struct pmc_sampler **samplers;
	int error = set ? usable(sampler) : -EINVAL;

	if (error)
		return error;
	other = set->n ? set->samplers[0] : sampler;
	if (sampler->set)
		return -EBUSY;
	if (!sampler->ring.size)
		return -EINVAL;
	for (const struct pmc_source *s = sampler->first; s; s = s->next)
		if (!same_order(&s->attr, &other->first->attr))
			return -EINVAL;
	samplers = realloc(set->samplers, (set->n + 1) * sizeof(*samplers));
	if (!samplers)
		return -ENOMEM;
	set->samplers = samplers;
	/* A set releases only records that it returned; a full ring would never get another. */
	pmc_ring_release(&sampler->ring, sampler->at);
	/* Its records may be older than settled ones of other rings. */
	look(sampler);
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
