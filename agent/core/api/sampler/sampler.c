/* SPDX-License-Identifier: MIT */
/* sampler.c - a sampler: one ring and the counters that write to it. */
#include "agent/core/api/sampler/sampler.h"
#include "agent/core/api/sampler/record.h"
#include "agent/core/count/perf.h"
#include "agent/core/count/user_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- sources ------------------------------------------------------------------------------ */

/* Whether records of both have the same layout. */
static bool same_layout(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->sample_type == b->sample_type && a->sample_id_all == b->sample_id_all &&
	       a->read_format == b->read_format && a->branch_sample_type == b->branch_sample_type &&
	       a->sample_regs_user == b->sample_regs_user &&
	       a->sample_regs_intr == b->sample_regs_intr;
}

/* Whether its records have their source at a known offset. */
static bool names_itself(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_IDENTIFIER && attr->sample_id_all;
}

static struct pmc_source *find_counter(const struct pmc_sampler *sampler,
				       const struct pmc_counter *counter)
{
	for (struct pmc_source *s = sampler->first; s; s = s->next)
		if (s->counter == counter)
			return s;
	return NULL;
}

static struct pmc_source *find_id(const struct pmc_sampler *sampler, uint64_t id)
{
	for (struct pmc_source *s = sampler->first; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

static int add_source(struct pmc_sampler *sampler, const struct pmc_counter *counter)
{
	struct pmc_source *source, **end = &sampler->first;
	uint64_t id;
	int error = pmc_perf_ioctl(pmc_counter_fd(counter), PERF_EVENT_IOC_ID, &id);

	if (error < 0)
		return error;
	/* Attached before. */
	source = find_id(sampler, id);
	if (source) {
		source->counter = counter;
		source->fd = pmc_counter_fd(counter);
		source->ended = 0;
		return 0;
	}
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	source->counter = counter;
	source->attr = *pmc_counter_attr(counter);
	source->id = id;
	source->fd = pmc_counter_fd(counter);
	while (*end)
		end = &(*end)->next;
	*end = source;
	if (!same_layout(&sampler->first->attr, &source->attr))
		sampler->one_layout = false;
	return 0;
}

const struct pmc_source *pmc_sampler_source(const struct pmc_sampler *sampler,
					    const struct perf_event_header *header)
{
	struct pmc_source *source = NULL;
	int where;

	if (sampler->one_layout)
		return sampler->first;
	where = pmc_record_identifier_at(header->type, header->size);
	if (where >= 0)
		source = find_id(sampler,
				 pmc_ring_word(&sampler->ring, sampler->at + (unsigned)where));
	return source ? source : sampler->first;
}

int pmc_sampler_attach(struct pmc_sampler *sampler, const struct pmc_counter *counter)
{
	const struct perf_event_attr *attr = pmc_counter_attr(counter);
	struct pmc_source *first = sampler->first;
	int error;

	if (find_counter(sampler, counter))
		return -EEXIST;
	if (!sampler->ring.size || (sampler->set && !pmc_attr_same_order(&first->attr, attr)))
		return -EINVAL;
	for (struct pmc_source *s = first; s; s = s->next)
		if (!same_layout(&s->attr, attr) && !(names_itself(&s->attr) && names_itself(attr)))
			return -EINVAL;
	error = pmc_perf_ioctl(pmc_counter_fd(counter), PERF_EVENT_IOC_SET_OUTPUT,
			       (void *)(intptr_t)first->fd);
	if (error < 0)
		return error;
	error = add_source(sampler, counter);
	if (error)
		pmc_perf_ioctl(pmc_counter_fd(counter), PERF_EVENT_IOC_SET_OUTPUT,
			       (void *)(intptr_t)-1);
	else
		sampler->ended = 0;
	return error;
}

int pmc_sampler_detach(struct pmc_sampler *sampler, const struct pmc_counter *counter)
{
	struct pmc_source *source = find_counter(sampler, counter);
	int error;

	if (!source)
		return -ENOENT;
	if (source == sampler->first)
		return -EINVAL;
	error = pmc_perf_ioctl(source->fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(intptr_t)-1);
	source->counter = NULL;
	source->fd = -1;
	return error < 0 ? error : 0;
}

/* ---- open and close ------------------------------------------------------------------------ */

static int map_ring(struct pmc_sampler *sampler, int fd, unsigned pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *map;

	sampler->map_bytes = (1 + (size_t)pages) * page;
	map = mmap(NULL, sampler->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	sampler->map = map;
	sampler->ring.page = (struct perf_event_mmap_page *)map;
	if (!pages)
		return 0;
	sampler->ring.joined = malloc(PMC_RING_RECORD_MAX);
	if (!sampler->ring.joined)
		return -ENOMEM;
	return pmc_ring_init(&sampler->ring, sampler->ring.page, map + page, pages * page,
			     sampler->ring.joined);
}

int pmc_sampler_open(struct pmc_sampler **sampler, const struct pmc_counter *counter,
		     unsigned pages)
{
	struct pmc_sampler *made;
	int error;

	*sampler = NULL;
	if (pages & (pages - 1))
		return -EINVAL;
	if (pmc_counter_attr(counter)->write_backward)
		return -EOPNOTSUPP;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->one_layout = true;
	error = map_ring(made, pmc_counter_fd(counter), pages);
	if (error)
		goto fail;
	made->at = made->ring.tail;
	error = add_source(made, counter);
	if (error)
		goto fail;
	*sampler = made;
	return 0;
fail:
	pmc_sampler_close(made);
	return error;
}

void pmc_sampler_close(struct pmc_sampler *sampler)
{
	if (!sampler)
		return;
	if (sampler->set)
		pmc_sampler_set_remove(sampler->set, sampler);
	for (struct pmc_source *s = sampler->first, *next; s; s = next) {
		next = s->next;
		/* An attached counter would keep the ring's memory alive. */
		if (s != sampler->first && s->counter)
			pmc_perf_ioctl(s->fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(intptr_t)-1);
		free(s);
	}
	if (sampler->map)
		munmap(sampler->map, sampler->map_bytes);
	free(sampler->ring.joined);
	free(sampler);
}

int pmc_sampler_fd(const struct pmc_sampler *sampler)
{
	return sampler->first->fd;
}

int pmc_sampler_pause(struct pmc_sampler *sampler)
{
	return pmc_perf_ioctl(sampler->first->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)1);
}

int pmc_sampler_resume(struct pmc_sampler *sampler)
{
	return pmc_perf_ioctl(sampler->first->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)0);
}

/* ---- records ------------------------------------------------------------------------------- */

void pmc_totals_count(struct pmc_sampler_totals *totals, const struct pmc_record *record,
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

int pmc_sampler_deliver(struct pmc_sampler *sampler, const struct perf_event_header *header,
			struct pmc_record *record)
{
	const struct pmc_source *source = pmc_sampler_source(sampler, header);
	const void *bytes = pmc_ring_record(&sampler->ring, sampler->at, header->size);
	int error = pmc_record_decode(bytes, header->size, &source->attr, record);

	/* Sizes were checked when the record was found: the ring has been written to since. */
	if (error)
		error = -EPROTO;
	/* With one layout the id was not needed to decode the record. */
	if (sampler->one_layout && source->next)
		source = find_id(sampler, record->present & PERF_SAMPLE_IDENTIFIER ?
						  record->identifier :
						  record->id);
	record->counter = source ? source->counter : NULL;
	pmc_totals_count(&sampler->totals, record, error);
	sampler->at += header->size;
	return error;
}

void pmc_sampler_look(struct pmc_sampler *sampler)
{
	if (!sampler->error)
		sampler->error = pmc_ring_look(&sampler->ring);
}

int pmc_sampler_peek(struct pmc_sampler *sampler, struct perf_event_header *header)
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
	int error;

	if (sampler->set)
		return -EBUSY;
	if (!sampler->ring.size)
		return -ENODATA;
	pmc_ring_release(&sampler->ring, sampler->at);
	if (sampler->at == sampler->ring.head)
		pmc_sampler_look(sampler);
	error = pmc_sampler_peek(sampler, &header);
	if (error == -EAGAIN && sampler->ended)
		return sampler->ended;
	return error ? error : pmc_sampler_deliver(sampler, &header, record);
}

void pmc_sampler_totals(const struct pmc_sampler *sampler, struct pmc_sampler_totals *totals)
{
	*totals = sampler->totals;
}

static int source_lost(const struct pmc_source *source, uint64_t *lost)
{
	struct pmc_counter_reading reading;
	int error = pmc_counter_read_full(source->counter, &reading);

	if (error && error != -EAGAIN)
		return error;
	*lost += reading.lost;
	return reading.has_lost ? 0 : -EOPNOTSUPP;
}

int pmc_sampler_lost(const struct pmc_sampler *sampler, uint64_t *lost)
{
	uint64_t sum = 0;

	for (const struct pmc_source *s = sampler->first; s; s = s->next) {
		int error = s->counter ? source_lost(s, &sum) : 0;

		if (error)
			return error;
	}
	*lost = sum;
	return 0;
}

int pmc_sampler_read_user(const struct pmc_sampler *sampler, uint64_t *count, uint64_t *enabled_ns,
			  uint64_t *running_ns)
{
	pmc_user_page *page = sampler->ring.page;

	return pmc_user_read_group(&page, 1, enabled_ns, running_ns, count) ? 0 : -EOPNOTSUPP;
}
