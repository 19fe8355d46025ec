/* SPDX-License-Identifier: MIT */
/*
 * region.h - marked regions (pmc/region.h) of the threads of this process.
 *
 * A thread that marks a region gets an area: its open regions as a stack, its finished ones as
 * sums, one record per name. Only the thread writes to it, from its own code and its signal
 * handlers; snapshots copy records under a sequence number that is odd while one changes. Areas are
 * used again by later threads and never unmapped, so that a reader needs no permission.
 *
 * region.c        begin and end
 * region_area.c   areas: attach, detach, fork
 * region_cost.c   what marking costs
 * region_frame.c  REGION frames
 *
 * All of it is async-signal-safe.
 */
#ifndef PMC_AGENT_REGION_H
#define PMC_AGENT_REGION_H

#include "agent/core/frame.h"
#include "agent/core/sys.h"
#include "agent/core/user_read.h"
#include "agent/thread.h"

#include <signal.h>
#include <stdatomic.h>

enum {
	/* Threads with regions at a time. */
	REGION_AREAS = 1u << 17,
	/* Of a name, the NUL included. */
	REGION_NAME = 256,
	/* A REGION frame at its largest. */
	AGENT_REGION_BYTES = sizeof(struct pmc_frame_head) + sizeof(struct pmc_region_fixed) + 8 +
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
	uint64_t text[2], mask[2];
	uint64_t reach;
	/* What outermost entries counted; then what others did less what was counted in regions
	 * directly inside. Both together are the exclusive count. */
	_Alignas(region_pair) uint64_t words[];
};

struct region_frame { /* an open region */
	struct region_record *record;
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
	uint32_t beyond;       /* open, but too deep to be kept */
	uint32_t reopen;       /* closed before an exec that may fail */
	uint32_t used_frames;  /* those remember records */
	uint32_t errors[PMC_EVENTS_MAX]; /* of each group: it could not be read, from then on */
	pmc_user_page *pages[PMC_EVENTS_MAX];
	uint64_t inside[REGION_WORDS], around[REGION_WORDS];
	/* now[REGION_ENDS] is the sequence as the last change of records left it. */
	_Alignas(AGENT_LINE) uint64_t now[REGION_WORDS];
	_Alignas(AGENT_LINE) uint64_t raw[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];
};

/* What follows the struct; the same in all areas of a process. */
struct region_layout {
	unsigned words;
	uint32_t max_depth, max_records;
	size_t frame_bytes, record_bytes;
	size_t frames, records, order, names, scratch, bytes; /* offsets */
};

enum {
	REGION_NAMES_BYTES = 64 << 10,
	REGION_SCRATCH = AGENT_ROW_BYTES + (12 << 10),
	REGION_OTHER = 0
};

extern struct region_layout region_layout;
/* The calling thread's area; NULL: it has marked nothing yet, or is not measured. */
extern __thread struct region_area *region_mine;

/* The one before the first and the two after the last have no record, ever. */
static inline struct region_frame *region_frame(struct region_area *area, int64_t i)
{
	return (void *)((char *)area + region_layout.frames +
			i * (int64_t)region_layout.frame_bytes);
}

static inline struct region_frame *region_next(struct region_area *area, struct region_frame *frame)
{
	return (void *)((char *)frame + area->frame_bytes);
}

static inline struct region_frame *region_outer(struct region_area *area,
						struct region_frame *frame)
{
	return (void *)((char *)frame - area->frame_bytes);
}

/* Regions on the stack. */
static inline uint32_t region_depth(struct region_area *area)
{
	int64_t bytes = (char *)area->frame - (char *)region_frame(area, -1);

	return (uint32_t)((size_t)bytes / area->frame_bytes) - (area->beyond != 0);
}

/* That many are on the stack from now on, as far as it goes. */
static inline void region_set_depth(struct region_area *area, uint32_t depth)
{
	uint32_t kept = depth < region_layout.max_depth ? depth : region_layout.max_depth;

	area->beyond = depth - kept;
	area->frame = region_frame(area, (int64_t)kept - (area->beyond == 0));
}

static inline struct region_record *region_record(struct region_area *area, uint32_t index)
{
	return (void *)((char *)area + region_layout.records + index * region_layout.record_bytes);
}

/* Records but REGION_OTHER, in the order of their names. */
static inline uint16_t *region_order(struct region_area *area)
{
	return (void *)((char *)area + region_layout.order);
}

static inline char *region_names(struct region_area *area)
{
	return (char *)area + region_layout.names;
}

static inline void *region_scratch(struct region_area *area)
{
	return (char *)area + region_layout.scratch;
}

/* ---- region.c ---- */
void region_end(struct region_area *area);
/* The region of an open frame begins now. */
void region_start(struct region_area *area, struct region_frame *frame);
/* The records are not to be read from elsewhere until they are settled. */
void region_unsettle(struct region_area *area);
void region_settle(struct region_area *area);

/* ---- region_area.c ---- */
/* The calling thread's area, made now; NULL (and a note): it can have none. */
struct region_area *region_attach(void);
/* An end in a thread that has no area. */
void region_none_ended(void);
/* Area number i; NULL: there are no more. */
struct region_area *region_area_at(uint32_t i);

/* ---- region_cost.c ---- */
/* What area->ready is until the cost of a pair is known. */
extern const _Atomic uint32_t region_unready;
/* Measures what a pair costs in this mode; does nothing while counting is off. */
void region_calibrate(struct region_area *area);
void region_costs_forked(void);

/* Between the two no handler of the host's comes. */
static inline uint64_t region_block(void)
{
	uint64_t all = UINT64_MAX, mask = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(all));
	return mask;
}

static inline void region_unblock(uint64_t mask)
{
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* ---- region_frame.c ---- */
/* A REGION frame of a record; false: it changes all the time, try later. force: as it is, then. */
bool region_frame_put(struct pmc_frame_buf *buf, struct region_area *area, uint32_t record,
		      uint64_t snapshot, bool force);

/* For the rest of the agent. */
/* The calling thread ends: what it left open is closed, and its area, which nobody else reads any
 * more, returned; NULL: it has none, and the next three do nothing. */
struct region_area *agent_regions_end(void);
/* Where the thread's row can be built with its regions behind it. */
void agent_regions_room(struct region_area *area, void **room, size_t *bytes);
/* Its frames behind the row; what buf has no room for goes to the file first. */
void agent_regions_frames(struct region_area *area, uint64_t seq, uint64_t snapshot,
			  struct pmc_frame_buf *buf);
void agent_regions_free(struct region_area *area);
/* As agent_regions_end, for the thread that ends the process: the area stays for the last snapshot,
 * and threads that are cut short inside a region are noted. */
void agent_regions_last(void);
/* Frame number `record` of area number `area` into buf, which has AGENT_REGION_BYTES of room; the
 * next call's numbers are in their place. False: there are no more. */
bool agent_region_next(struct pmc_frame_buf *buf, uint64_t snapshot, uint32_t *area,
		       uint32_t *record);
/* Around an exec that may fail: the caller's open regions end, and begin again. */
void agent_regions_before_exec(void);
void agent_regions_exec_failed(void);
/* In a forked child, after its thread has begun: no sums, what is open counts from here on. */
void agent_regions_forked(void);

#endif
