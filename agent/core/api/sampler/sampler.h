/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - private to the sampler: a ring, its sources, and the records read ahead.
 */
#ifndef PMC_CORE_API_SAMPLER_H
#define PMC_CORE_API_SAMPLER_H

#include "agent/core/api/sampler/ring.h"
#include "agent/core/base/arena.h"
#include "agent/core/base/hash.h"

#include <pmc/sampler.h>

/* A counter that writes to the ring. A detached one stays, with counter NULL, for the records that
 * are left in the ring. */
struct pmc_source {
	struct pmc_source *next;
	const struct pmc_counter *counter;
	struct perf_event_attr attr;
	uint64_t id;
	int fd;
	int ended; /* 0; -ENODATA: its task has exited; -EIO, -EBADF */
	UT_hash_handle hh;
};

/* A record read ahead by a set. */
struct pmc_ahead {
	uint64_t at, time;
	uint32_t size;
	bool done; /* returned to the caller */
};

struct pmc_sampler {
	struct pmc_ring ring;
	uint64_t at;	     /* the next record to read */
	uint64_t release_to; /* end of the last record returned */
	int error;	     /* permanent: -EBADMSG */
	int ended;	     /* 0, or why no record will follow those in the ring */
	bool one_layout;     /* all sources' records have the same layout */
	bool error_reported; /* by the set */
	void *map;
	size_t map_bytes;
	struct pmc_source *first, *by_id;
	struct pmc_arena arena; /* sources and their table */
	struct pmc_sampler_totals totals;

	struct pmc_sampler_set *set;
	/* Records read ahead: ahead_first..ahead_end, at index & (room - 1). */
	struct pmc_ahead *ahead;
	size_t room;
	uint64_t ahead_first, ahead_end;
	uint64_t newest; /* time, for records without one */
};

/* The source of the record at `at`; never NULL. */
const struct pmc_source *pmc_sampler_source(const struct pmc_sampler *sampler, uint64_t at,
					    const struct perf_event_header *header);

/* Decodes the record at `at` and adds it to the totals. 0 or -EPROTO. */
int pmc_sampler_deliver(struct pmc_sampler *sampler, uint64_t at, unsigned size,
			struct pmc_record *record);

/* The header of the record at sampler->at. 0, -EAGAIN: none yet, -EBADMSG (permanent). */
int pmc_sampler_peek(struct pmc_sampler *sampler, struct perf_event_header *header);

/* Adds an entry for each new record in the ring. 0, -ENOMEM, or sampler->error. */
int pmc_sampler_read_ahead(struct pmc_sampler *sampler);

/* Marks an entry as done and releases the ring up to the first entry that is not. */
void pmc_sampler_ahead_done(struct pmc_sampler *sampler, uint64_t index);

static inline struct pmc_ahead *pmc_sampler_ahead(const struct pmc_sampler *sampler, uint64_t index)
{
	return &sampler->ahead[index & (sampler->room - 1)];
}

void pmc_totals_count(struct pmc_sampler_totals *totals, const struct pmc_record *record,
		      int result);

/* Whether records of both can be ordered: all have a time, of the same clock. */
bool pmc_attr_same_order(const struct perf_event_attr *a, const struct perf_event_attr *b);

/* Waits until one of the samplers may have a record, at most timeout_ns (UINT64_MAX: no limit) and
 * at most 100 ms. Sets `ended` of sources and samplers. 0, -EINTR or -ENOMEM. */
int pmc_samplers_wait(struct pmc_sampler *const *samplers, unsigned n, uint64_t timeout_ns);

/* A time that many ms from now (-1: never), and the ns left until then. CLOCK_MONOTONIC. */
uint64_t pmc_deadline(int timeout_ms);
uint64_t pmc_deadline_left(uint64_t deadline);

#endif
