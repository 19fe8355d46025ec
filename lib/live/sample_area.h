/* SPDX-License-Identifier: MIT */
/*
 * sample_area.h - memory layout of sampling: samples of each thread, tables of modules and stacks.
 *
 * Read by the agent's snapshots, and by pmctl from outside, while threads write. Modules and stacks
 * are complete once `ready` is set, and then stay as they are. Of a thread's samples the first `n`
 * are complete, and only their sums change. If their reset_ns is not that of the thread's account,
 * they were taken before a reset and do not count; the thread removes them when it takes the next
 * sample. So a copy is consistent if reset_ns of the account is the same before and after.
 */
#pragma once

#include <pmc/dump.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* One mapping for all of it. */
enum sample_part {
	AREA_THREADS, /* struct sample_thread, by slot */
	AREA_MODULES, /* struct sample_module */
	AREA_TEXT,    /* MODULE frames */
	AREA_INDEX,   /* of stacks, by hash */
	AREA_STACKS,  /* struct sample_stack, by ID */
	AREA_WORDS,   /* of stacks */
	AREA_SCRATCH, /* stacks for handlers */
	AREA_PARTS,
};
/* Sizes; those of stacks may be smaller. */
#define SAMPLE_MODULES	    1024u
#define SAMPLE_TEXT_BYTES   ((size_t)1 << 20)
#define SAMPLE_STACKS_BYTES ((size_t)3 << 21)
#define SAMPLE_WORDS_BYTES  ((size_t)1 << 26)

struct sample_tables {
	char *area; /* NULL: there is no sampling */
	size_t at[AREA_PARTS + 1];
	/* Used so far; may exceed what there is room for. */
	_Atomic uint32_t modules, text; /* text: bytes */
	_Atomic uint32_t stacks, words; /* IDs are below `stacks` */
	/* Event set, period and frequency of SAMPLES frames; eventset 0: only stacks at thread
	 * creation are recorded. */
	struct pmc_samples_fixed like;
	uint64_t eventset_frame, eventset_bytes; /* of the event set */
	uint32_t creation;			 /* stacks at thread creation are recorded */
	uint32_t reserved;
};

/* How many items of this size a part has room for. */
static inline size_t sample_room(const struct sample_tables *tables, enum sample_part part,
				 size_t item)
{
	return (tables->at[part + 1] - tables->at[part]) / item;
}

/* Of each slot; written by its thread. */
struct sample_thread {
	_Atomic int fd; /* plus 1; 0: no event is open */
	/* Overflows until the event stops, those included whose signal has not been handled. */
	_Atomic int left;
	unsigned turn; /* samples, also lost ones */
	uint32_t created_stack;
	uint64_t id; /* of the event */
	struct sample_counts *_Atomic counts;
	uint64_t last;				/* the last reading */
	uint64_t off;				/* of the reading, while counting was off */
	uint64_t enabled_ns, running_ns, value; /* of an event that was closed */
	_Atomic uint64_t samples, lost, truncated;
	_Atomic uint64_t reset_ns; /* the reset since which they are; 0: the thread's start */
	/* The most entries that `counts` had before a reset. Frames for as many are written, some
	 * of them empty: each replaces a frame from before the reset. */
	_Atomic uint32_t had;
	uint32_t reserved;
};

/* Samples of a thread by stack. */
#define SAMPLE_COUNTS_MOST (1u << 20)
struct sample_counts {
	struct sample_counts *older;
	size_t bytes;
	uint32_t capacity; /* a power of two */
	_Atomic uint32_t n;
	/* capacity entries, then 2 * capacity numbers of entries plus one, by hash (uint32_t) */
	struct pmc_sample list[];
};

struct sample_module {
	uintptr_t start, end, bias;
	uint64_t hash;
	uint32_t text, text_bytes; /* its MODULE frame */
	_Atomic uint32_t closes;   /* number of calls of dlclose when it was last compared */
	_Atomic uint32_t ready;
};

struct sample_stack {
	uint64_t hash;
	uint32_t first; /* of its words */
	uint16_t depth, flags;
	_Atomic uint32_t ready;
	uint32_t reserved;
};

/* A SAMPLES frame at its largest; a STACKS frame is no larger. */
#define SAMPLE_FRAME_BYTES                                                                         \
	(sizeof(struct pmc_frame_head) + sizeof(struct pmc_samples_fixed) +                        \
	 sizeof(struct pmc_reading) + sizeof(uint64_t) +                                           \
	 PMC_SAMPLES_PART * sizeof(struct pmc_sample))
