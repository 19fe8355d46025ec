/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - reading whole records from a ring buffer that the kernel writes, and what a sampler
 * is made of.
 *
 * Private to this folder.
 *
 * The kernel publishes records by moving data_head and never overwrites what lies behind
 * data_tail (perf_output_begin() and perf_output_put_handle() of kernel/events/ring_buffer.c).
 * A reader may walk ahead of the tail: positions are the kernel's, which only grow; what lies in
 * [tail, head) stays where it is until pmc_ring_release() gives it back.
 *
 * No allocation, no system call. One reader at a time.
 */
#pragma once

#include <pmc/sampler.h>

/* header.size is 16 bits, so no record is longer. */
#define PMC_RING_RECORD_MAX 65536

struct pmc_ring {
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	uint64_t size;	       /* bytes, a power of 2 */
	uint64_t head;	       /* as last seen */
	uint64_t tail;	       /* as last given to the kernel */
	unsigned char *joined; /* PMC_RING_RECORD_MAX, 8-byte aligned: for wrapped records */
};

/* Data of `size` bytes, a power of 2 >= 8. Reading starts at the page's data_tail. */
int pmc_ring_init(struct pmc_ring *ring, struct perf_event_mmap_page *page, const void *data,
		  uint64_t size, unsigned char *joined);

/* Updates head. 0, or -EBADMSG: the head went back or lapped the tail, so something else moved
 * them. */
int pmc_ring_look(struct pmc_ring *ring);

/* The header of the record at `at`: 0, -EAGAIN: `at` is the head as last seen, -EBADMSG: its size
 * is below 8, not a multiple of 8, or goes beyond the head: no later record can be found. */
int pmc_ring_header(const struct pmc_ring *ring, uint64_t at, struct perf_event_header *header);

/* The word at `at`, which is a multiple of 8. */
static inline uint64_t pmc_ring_word(const struct pmc_ring *ring, uint64_t at)
{
	return *(const uint64_t *)(ring->data + (at & (ring->size - 1)));
}

/* The bytes of the record at `at` whose header said `size`: in the ring, or, if it is wrapped,
 * in ring->joined until the next call. */
const void *pmc_ring_record(struct pmc_ring *ring, uint64_t at, unsigned size);

/* Gives everything before `to` back to the kernel. */
void pmc_ring_release(struct pmc_ring *ring, uint64_t to);

/* Offsets in bytes of the time and the PERF_SAMPLE_IDENTIFIER of a record that is not decoded yet;
 * -1: none. */
int pmc_record_time_at(const struct perf_event_attr *attr, uint32_t type, unsigned size);
int pmc_record_identifier_at(uint32_t type, unsigned size);

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
	uint64_t at; /* the next record; what is before it is released by the next call */
	int error;   /* permanent: -EBADMSG */
	int ended;   /* 0, or why no record will follow those in the ring */
	void *map;
	size_t map_bytes;
	unsigned char *alive;	   /* 0 in children of fork, where the ring is not mapped */
	size_t alive_bytes;	   /* of ring.joined and the page before it */
	struct pmc_counter *owned; /* closed with the sampler */
	struct pmc_source *first;
	struct pmc_source **by_id; /* in the order of their identifiers */
	size_t n_sources;
	struct pmc_sampler_totals totals;

	struct pmc_sampler_set *set;
	uint64_t seen;		       /* the ring's head in the last round */
	uint64_t settled;	       /* records before this one are settled */
	bool peeked;		       /* next and next_time are valid */
	struct perf_event_header next; /* the record at `at` */
	uint64_t next_time;
	bool error_reported;
};
