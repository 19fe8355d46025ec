/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - private to the sampler: a ring, its sources and its place in a set.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/sampler/ring.h"

#include <pmc/sampler.h>

/* A counter that writes to the ring. After it is detached or closed, the entry remains with counter
 * NULL, for records that are still in the ring. */
struct pmc_source {
	struct pmc_source *next;
	struct pmc_counter *counter;
	struct perf_event_attr attr;
	uint64_t id;
	bool detached;
	int ended; /* 0; -ENODATA: its task has exited; -EIO, -EBADF */
};

struct pmc_sampler {
	struct pmc_ring ring;
	uint64_t at;	 /* the next record; what is before it is released by the next call */
	int error;	 /* permanent: -EBADMSG */
	int ended;	 /* 0, or why no record will follow those in the ring */
	bool one_layout; /* all sources' records have the same layout */
	void *map;
	size_t map_bytes;
	unsigned char *alive;	   /* 0 in children of fork, where the ring is not mapped */
	size_t alive_bytes;	   /* of ring.joined and the page before it */
	struct pmc_counter *owned; /* closed with the sampler */
	struct pmc_source *first;
	struct pmc_sampler_totals totals;

	struct pmc_sampler_set *set;
	uint64_t seen;		       /* the ring's head in the last round */
	uint64_t settled;	       /* records before this one are settled */
	bool peeked;		       /* next and next_time are valid */
	struct perf_event_header next; /* the record at `at` */
	uint64_t next_time;
	bool error_reported;
};

/* -EINVAL: NULL. -ESTALE: in a child of fork. Else 0. */
int pmc_sampler_usable(const struct pmc_sampler *sampler);

/* The source of the record at sampler->at; never NULL. */
const struct pmc_source *pmc_sampler_source(const struct pmc_sampler *sampler,
					    const struct perf_event_header *header);

/* Updates the ring's head, or sets sampler->error. */
void pmc_sampler_look(struct pmc_sampler *sampler);

/* The header of the next record as of the last look. 0, -EAGAIN: none, or sampler->error. */
int pmc_sampler_peek(struct pmc_sampler *sampler, struct perf_event_header *header);

/* Decodes the next record, moves behind it and adds it to the totals. 0 or -EPROTO. */
int pmc_sampler_deliver(struct pmc_sampler *sampler, const struct perf_event_header *header,
			struct pmc_record *record);

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
