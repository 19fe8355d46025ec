/* SPDX-License-Identifier: MIT */
/*
 * region_area.h - how a thread's marked regions lie in memory, and the REGION frame of one of them.
 *
 * The thread alone writes to its area; whoever else reads it, the agent's snapshots or pmctl from
 * outside, copies under the sequence number: even and the same before and after.
 */
#ifndef PMC_CORE_LIVE_REGION_AREA_H
#define PMC_CORE_LIVE_REGION_AREA_H

#include "agent/core/dump/frame.h"
#include "agent/core/count/group.h"
#include "agent/core/live/registry.h"
#include "agent/core/count/user_read.h"

#include <stdatomic.h>

enum {
	/* Threads with regions at a time. */
	REGION_AREAS = 1u << 17,
	/* Names of one thread. */
	REGION_RECORDS = 512,
	/* Of a name, the NUL included. */
	REGION_NAME = 256,
	REGION_NAMES_BYTES = 64 << 10,
	/* The record of what has no room. */
	REGION_OTHER = 0,
	REGION_LINE = 64,
	/* A REGION frame at its largest. */
	REGION_FRAME_BYTES = sizeof(struct pmc_frame_head) + sizeof(struct pmc_region_fixed) + 8 +
			     REGION_NAME +
			     4 * PMC_EVENTS_MAX * (sizeof(struct pmc_reading) + sizeof(uint64_t)),
};

/* How an area's thread is read: what a pair costs depends on it. */
enum region_mode {
	REGION_CLOCK, /* no group is open: CPU time alone */
	REGION_READ,  /* read(2) */
	REGION_USER,  /* the events' pages; read(2) where they do not tell */
	REGION_MODES,
};

/* A reading as words: the area's sequence; time enabled and time running of each group, then the
 * values of all; in REGION_CLOCK the CPU time alone. Word REGION_CPU is CPU time either way, and
 * the difference of the first is two for each region that ended meanwhile. Sums are of differences
 * modulo 2^64: a clock that user space reads may be nanoseconds off the kernel's. */
enum { REGION_ENDS, REGION_CPU, REGION_WORDS = 3 * PMC_EVENTS_MAX + 2 };

/* Words are summed up in pairs, two of them at least; what is too many is 0. */
typedef uint64_t region_pair __attribute__((vector_size(16), may_alias));

struct region_record {
	uint64_t calls; /* entries that ended */
	uint64_t open;	/* entries on the stack */
	uint64_t again; /* of the calls, those inside another entry */
	uint32_t name, name_len;
	/* The name's first bytes and which of them count, for a comparison at one go of names that
	 * begin less than `reach` bytes into a page; 0: there are more bytes. */
	region_pair text[2], mask[2];
	uint64_t reach;
	/* What outermost entries counted; then what others did less what was counted in regions
	 * directly inside. Both together are the exclusive count. */
	_Alignas(region_pair) uint64_t words[];
};

struct region_frame { /* an open region */
	struct region_record *record;
	uint64_t direct; /* regions that ended directly inside; 0 in frames that are free */
	/* The reading at its begin; then what was counted in regions directly inside, which is not
	 * set before one of them ends. */
	_Alignas(region_pair) uint64_t words[];
};

struct region_area {
	_Atomic uint64_t sequence;  /* odd: the thread is changing records. + 2 with every end */
	_Atomic uint64_t owner;	    /* seq of the thread, plus one; 0: none */
	struct region_frame *frame; /* of the region entered last; without one the frame before */
	size_t frame_bytes;
	const _Atomic uint32_t *ready; /* 0 there: the way in is not the usual one */
	uint32_t user_events;	       /* if user space reads all of them as one group, else 0 */
	unsigned words; /* of a reading, an even number; there is room for region_layout.words */
	_Atomic uint32_t n_records; /* those do not go away, nor change their names */
	uint32_t names_used;
	unsigned groups;
	enum region_mode mode;
	bool uncalibrated;
	_Atomic uint32_t next_free;
	uint32_t index;
	struct slot *slot;
	uint64_t eventset;
	const uint16_t *first; /* of each of its groups, the first event; one more is the end */
	const int *fds;	       /* of the slot's set; and ids of the leaders */
	const uint64_t *ids;
	uint32_t beyond;       /* open, but too deep to be kept */
	uint32_t reopen;       /* closed before an exec that may fail */
	uint32_t used_frames;  /* those remember records */
	uint32_t errors[PMC_EVENTS_MAX]; /* of each group: it could not be read, from then on */
	pmc_user_page *pages[PMC_EVENTS_MAX];
	uint64_t inside[REGION_WORDS], around[REGION_WORDS];
	/* now[REGION_ENDS] is the sequence as the last change of records left it. */
	_Alignas(REGION_LINE) uint64_t now[REGION_WORDS];
	_Alignas(REGION_LINE) uint64_t raw[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];
};

/* What follows the struct; the same in all areas of a process. */
struct region_layout {
	unsigned words;
	uint32_t max_depth, max_records;
	size_t frame_bytes, record_bytes;
	size_t frames, records, order, names, scratch, bytes; /* offsets */
};

/* Words of a reading of so many times and values. */
static inline unsigned region_words(unsigned n)
{
	return n < 3 ? 4 : (REGION_CPU + n + 1) & ~1u;
}

/* Whether a record is there only while the cost of marking is measured. Not for REGION_OTHER. */
static inline bool region_is_passing(const struct region_area *area, const char *name)
{
	return area->uncalibrated && name[0] == '\001';
}

/* ---- region_frame.c: async-signal-safe ---- */
/* What a frame says beyond its area and its record. */
struct region_view {
	const uint8_t *identity;
	uint64_t snapshot, seq;
	const uint16_t *first; /* as the area's, where we can read it */
	uint32_t reason;       /* of a thread without groups */
	const char *name;      /* NULL: that of what had no room */
	size_t name_len;
};

/* Begins a REGION frame and fills it; its end is the caller's, when the sequence was right. */
void region_frame_fill(struct pmc_frame_buf *buf, const struct region_area *area,
		       const struct region_record *record, const struct region_view *view);

#endif
