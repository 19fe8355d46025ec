/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - what the parts of the sampler share: a ring, who writes to it, what was read ahead.
 */
#ifndef PMC_CORE_API_SAMPLER_H
#define PMC_CORE_API_SAMPLER_H

#include "agent/core/api/ring.h"
#include "agent/core/base/arena.h"
#include "agent/core/base/hash.h"

#include <pmc/sampler.h>

/* A counter that writes to the ring. One that was detached stays, without its counter: there may
 * be records of it. */
struct pmc_source {
	struct pmc_source *next;
	const struct pmc_counter *counter;
	struct perf_event_attr attr;
	uint64_t id;
	int fd;
	int ended; /* 0; -ENODATA: its task is gone; -EIO, -EBADF */
	UT_hash_handle hh;
};

/* A record that a set has read ahead. */
struct pmc_ahead {
	uint64_t at, time;
	uint32_t size;
	bool done; /* handed out */
};

struct pmc_sampler {
	struct pmc_ring ring;
	uint64_t at;	     /* the next record that was not read (ahead) yet */
	uint64_t release_to; /* what the last record handed out leaves behind */
	int error;	     /* for good: -EBADMSG */
	int ended;	     /* 0, or why nothing more will come once the ring is empty */
	bool one_layout;     /* every source's records are laid out alike */
	bool error_said;     /* by the set */
	void *map;
	size_t map_bytes;
	struct pmc_source *first, *by_id;
	struct pmc_arena arena; /* sources and their table */
	struct pmc_sampler_totals totals;

	struct pmc_sampler_set *set;
	/* Read ahead: entries first..end, at index & (room - 1). */
	struct pmc_ahead *ahead;
	size_t room;
	uint64_t ahead_first, ahead_end;
	uint64_t newest; /* time, for records that have none */
};

/* Whose record lies at `at`; never NULL. */
const struct pmc_source *pmc_sampler_source(const struct pmc_sampler *sampler, uint64_t at,
					    const struct perf_event_header *header);

/* Decodes and accounts the record at `at`. 0 or -EPROTO. */
int pmc_sampler_deliver(struct pmc_sampler *sampler, uint64_t at, unsigned size,
			struct pmc_record *record);

/* Looks again if there is nothing at `at`, and gives its header. 0, -EAGAIN, -EBADMSG (sticky). */
int pmc_sampler_peek(struct pmc_sampler *sampler, struct perf_event_header *header);

/* Reads everything that is there ahead; to be called on samplers of a set. Entries are added for
 * each. 0, -ENOMEM, or sampler->error. */
int pmc_sampler_read_ahead(struct pmc_sampler *sampler);

/* Marks an entry as handed out and gives back what is no longer needed. */
void pmc_sampler_ahead_done(struct pmc_sampler *sampler, uint64_t index);

static inline struct pmc_ahead *pmc_sampler_ahead(const struct pmc_sampler *sampler, uint64_t index)
{
	return &sampler->ahead[index & (sampler->room - 1)];
}

void pmc_totals_count(struct pmc_sampler_totals *totals, const struct pmc_record *record,
		      int result);

/* Whether records of both can be put in one order: all have a time, of one clock. */
bool pmc_attr_same_order(const struct perf_event_attr *a, const struct perf_event_attr *b);

/* Sleeps until one of the samplers may have something, at most `timeout_ns` (UINT64_MAX: without
 * end) and at most 100 ms. Notes which sources have ended. 0 or -EINTR, -ENOMEM. */
int pmc_samplers_wait(struct pmc_sampler *const *samplers, unsigned n, uint64_t timeout_ns);

/* A point in time that many ms away (-1: never), and what is left until then. CLOCK_MONOTONIC. */
uint64_t pmc_deadline(int timeout_ms);
uint64_t pmc_deadline_left(uint64_t deadline);

#endif
