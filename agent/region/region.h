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
#ifndef PMC_AGENT_REGION_REGION_H
#define PMC_AGENT_REGION_REGION_H

#include "agent/core/live/region_area.h"
#include "agent/core/base/sys.h"
#include "agent/thread/thread.h"

#include <signal.h>
#include <stdatomic.h>

enum { REGION_SCRATCH = AGENT_ROW_BYTES + (12 << 10) };

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
/* The region of an open frame begins now. open: of its record, then. */
__attribute__((noinline)) void region_start(struct region_area *area, struct region_frame *frame,
					    uint64_t open);
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
/* Frame number `record` of area number `area` into buf, which has REGION_FRAME_BYTES of room; the
 * next call's numbers are in their place. False: there are no more. */
bool agent_region_next(struct pmc_frame_buf *buf, uint64_t snapshot, uint32_t *area,
		       uint32_t *record);
/* Around an exec that may fail: the caller's open regions end, and begin again. */
void agent_regions_before_exec(void);
void agent_regions_exec_failed(void);
/* In a forked child, after its thread has begun: no sums, what is open counts from here on. */
void agent_regions_forked(void);

#endif
