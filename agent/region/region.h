/* SPDX-License-Identifier: MIT */
/*
 * region.h - marked regions (pmc/region.h) of the threads of this process.
 *
 * The first region of a thread gives it an area: a stack of the open regions and a record of sums
 * for each name. region.c has begin and end, region_area.c the areas and their frames. All of it is
 * async-signal-safe.
 */
#ifndef PMC_AGENT_REGION_REGION_H
#define PMC_AGENT_REGION_REGION_H

#include "agent/thread/thread.h"

/* The calling thread's area; NULL: it has marked nothing yet, or is not measured. */
extern __thread struct region_area *region_mine;

/* Neighbours on the stack. */
static inline struct region_entry *region_inner(struct region_area *area,
						struct region_entry *entry)
{
	return (void *)((char *)entry + area->entry_bytes);
}

static inline struct region_entry *region_outer(struct region_area *area,
						struct region_entry *entry)
{
	return (void *)((char *)entry - area->entry_bytes);
}

/* Outside all regions. */
static inline struct region_entry *region_bottom(struct region_area *area)
{
	return (void *)((char *)area + region_entry_at(area->capacity, 0));
}

/* The area of a slot; NULL: none of its threads has marked a region. */
static inline struct region_area *region_area_of(struct slot *slot)
{
	return (struct region_area *)(uintptr_t)atomic_load(&slot->regions);
}

static inline struct region_record *region_record(struct region_area *area, uint32_t index)
{
	return (void *)((char *)area + region_record_at(area->capacity, index));
}

/* Around each change of a record. */
static inline void region_change_begin(struct region_area *area)
{
	uint64_t sequence = atomic_load_explicit(&area->sequence, memory_order_relaxed);

	atomic_store_explicit(&area->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static inline void region_change_end(struct region_area *area)
{
	uint64_t sequence = atomic_load_explicit(&area->sequence, memory_order_relaxed);

	atomic_store_explicit(&area->sequence, sequence + 1, memory_order_release);
}

/* Whether its records are from before the last pmctl ctl reset. */
static inline bool region_is_stale(const struct region_area *area)
{
	return area->resets != atomic_load_explicit(area->resets_now, memory_order_relaxed);
}

/* ---- region_area.c ---- */
/* Gives the calling thread an area; NULL and a note if it cannot have one. */
__attribute__((cold)) struct region_area *region_attach(void);
/* Measures what a pair costs, while the thread is in no region. Not while counting is off. */
__attribute__((cold)) void region_measure_cost(struct region_area *area);
/* In the area's thread: clears its records, and lets open entries begin at the reset. */
__attribute__((cold)) void region_start_over(struct region_area *area);
/* CPU time of the calling thread while counting was on. */
__attribute__((cold)) uint64_t region_clock(void);

/* ---- region.c ---- */
/* Pushes an entry of the record. */
void region_enter(struct region_area *area, struct region_record *record);
/* Ends a change that a signal handler interrupted and never returned to. */
void region_abandon_change(struct region_area *area);
/* Pops the innermost entry and adds it up. There is one. */
void region_leave(struct region_area *area);
/* The record of that name, made if it is new; REGION_OTHER if there is no room. */
__attribute__((cold)) struct region_record *region_find(struct region_area *area, const char *name);

/* ---- for the rest of the agent ---- */
/* In the thread that ends the process: closes its open regions, notes those of other threads. */
void agent_regions_last(void);
/* Appends the frame of the next record, from *index on, of a live thread's slot. buf has
 * REGION_FRAME_BYTES of room. False: there are no more. */
bool agent_region_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *index);
/* Around an exec that may fail: ends the caller's open regions, and enters them again. */
void agent_regions_before_exec(void);
void agent_regions_exec_failed(void);
/* In a forked child, after its thread has a slot: starts the open regions at the fork. */
void agent_regions_forked(void);

#endif
