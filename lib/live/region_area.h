/* SPDX-License-Identifier: MIT */
/*
 * region_area.h - memory layout of a thread's marked regions.
 *
 * Only the thread writes to its area. Readers (the agent's snapshots, and pmctl from outside) copy
 * under the sequence number: a copy is consistent if the number is even and the same before and
 * after. An area stays with its slot (struct slot, `regions`) and is never unmapped.
 */
#pragma once

#include "lib/count/group.h"
#include "lib/count/user_read.h"
#include "lib/live/registry.h"

#include <stdatomic.h>

enum {
	/* Records 0 and 1 estimate the cost of a pair and are never reported; REGION_OTHER takes
	 * the regions beyond REGION_RECORDS. That leaves 511 for the program's names. */
	REGION_COST_OUTER,
	REGION_COST_INNER,
	REGION_OTHER,
	REGION_RECORDS = REGION_OTHER + 512,
	REGION_DEPTH = 1024, /* nested entries */
	REGION_NAME = 256,   /* bytes of a name, with the NUL */
	REGION_HASH = 1024,  /* a power of two, above REGION_RECORDS */
};

/* How the counters are read. */
enum region_mode {
	REGION_CLOCK, /* no group is open: CPU time alone */
	REGION_READ,  /* read(2) */
	REGION_USER,  /* in user space; read(2) for a group that is not on its counters */
	REGION_MODES,
};

enum region_cost {
	REGION_COST_UNKNOWN,
	REGION_COST_MEASURED,
	REGION_COST_NONE, /* the groups did not run */
};

/*
 * A reading: the number of regions that have ended in the thread; then of each group time enabled,
 * time running and values (REGION_CLOCK: the CPU time alone). Word REGION_CPU is CPU time in each
 * mode. Sums are of differences modulo 2^64: a clock read in user space may be nanoseconds
 * behind the kernel's.
 */
enum { REGION_ENDS, REGION_CPU, REGION_WORDS = (REGION_CPU + 3 * PMC_EVENTS_MAX + 3) & ~3 };

/* Words are summed up four at a time: `capacity`, which is a multiple of four, separates two
 * readings. */
typedef uint64_t region_words __attribute__((vector_size(32), aligned(16), may_alias));

struct region_record {		/* the sums of all entries of one name */
	char name[REGION_NAME]; /* first: aligned, compared by words */
	uint64_t name_len;
	uint64_t calls;	    /* entries that ended */
	uint64_t outermost; /* of these, not inside another entry of the record */
	uint64_t open;	    /* entries on the stack */
	/* Inclusive sums of the outermost entries; from word `capacity` on exclusive sums of all.
	 */
	_Alignas(region_words) uint64_t words[];
};

struct region_entry { /* an open region on the thread's stack of regions */
	struct region_record *record;
	/* The reading at its begin; from word `capacity` on what regions directly inside counted,
	 * which is 0 while the entry is not in use. */
	_Alignas(region_words) uint64_t words[];
};

struct region_area {
	_Atomic uint64_t sequence; /* odd: records are changing */
	_Atomic uint64_t owner;	   /* seq of the thread that used it last, plus one */
	_Atomic uint32_t n_records;
	uint32_t capacity; /* words that there is room for; part of the layout */
	uint32_t words;	   /* of a reading */
	uint32_t groups;
	uint32_t mode;	 /* enum region_mode */
	uint32_t cost;	 /* enum region_cost, of inside and around in this mode */
	uint32_t resets; /* control.resets when the records were last cleared */
	uint32_t reserved;
	uint64_t eventset;
	uint32_t errors[PMC_EVENTS_MAX]; /* of each group: why it can no longer be read */
	/* Cost of an empty region: counted in the region itself, and in the one around it. */
	uint64_t inside[REGION_WORDS], around[REGION_WORDS];

	/* The thread's own; readers copy up to here. */
	const void *busy;		    /* stack frame of the begin or end in progress */
	const _Atomic uint32_t *alive;	    /* agent_alive */
	const _Atomic uint32_t *resets_now; /* control.resets */
	uint32_t entry_bytes;		    /* region_entry_bytes(capacity) */
	uint32_t excess;		    /* open entries beyond REGION_DEPTH */
	struct region_entry *top;    /* innermost; outside all regions the first, without record */
	struct region_entry *last;   /* the deepest that there is room for */
	struct region_entry *reopen; /* top before an exec that may fail */
	struct slot *slot;
	const uint16_t *first; /* of each group, the first event; one more is the end */
	const int *fds;
	const uint64_t *ids; /* of the leaders */
	pmc_user_page *pages[PMC_EVENTS_MAX];
	/* The last reading; its word REGION_ENDS is always up to date. */
	_Alignas(region_words) uint64_t now[REGION_WORDS];
	uint16_t hash[REGION_HASH]; /* by name: index of the record, plus one */
	uint64_t raw[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
	/* Followed by REGION_RECORDS records; REGION_DEPTH + 2 entries, the first of which stands
	 * for what is outside all regions, and the last of which is never used; REGION_ROOM bytes
	 * for frames. */
};

#define REGION_AREA_HEAD offsetof(struct region_area, busy)
/* Room for the frames of a thread that ends. */
#define REGION_ROOM ((size_t)16 << 10)
/* A REGION frame at its largest. */
#define REGION_FRAME_BYTES                                                                         \
	(sizeof(struct pmc_frame_head) + sizeof(struct pmc_region_fixed) + 8 + REGION_NAME +       \
	 4 * PMC_EVENTS_MAX * (sizeof(struct pmc_reading) + sizeof(uint64_t)))

static inline size_t region_entry_bytes(unsigned capacity)
{
	return sizeof(struct region_entry) + 2 * capacity * sizeof(uint64_t);
}

static inline size_t region_record_bytes(unsigned capacity)
{
	return sizeof(struct region_record) + 2 * capacity * sizeof(uint64_t);
}

/* Offsets in the area. */
static inline size_t region_record_at(unsigned capacity, uint32_t index)
{
	return sizeof(struct region_area) + index * region_record_bytes(capacity);
}

static inline size_t region_entry_at(unsigned capacity, uint32_t depth)
{
	return region_record_at(capacity, REGION_RECORDS) + depth * region_entry_bytes(capacity);
}

static inline size_t region_room_at(unsigned capacity)
{
	return region_entry_at(capacity, REGION_DEPTH + 2);
}
