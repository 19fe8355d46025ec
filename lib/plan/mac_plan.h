/* SPDX-License-Identifier: MIT */
/*
 * mac_plan.h - the plan of the events that threads have on macOS, and their readings.
 *
 * Implemented in darwin/mac_plan.c. The plan has the frame and the states of any other plan, but
 * nothing is opened for a thread: group 0 has what the kernel counts for each thread (cycles,
 * instructions, CPU time), the last group the events of kperf. Cycles and instructions are an event
 * for each performance level of the processor.
 */
#pragma once

#include "lib/count/thread_counts.h"
#include "lib/plan/plan.h"

enum pmc_mac_kind { PMC_MAC_CYCLES, PMC_MAC_INSTRUCTIONS, PMC_MAC_CLOCK, PMC_MAC_KPEP };

/* Which source of macOS has the event. -1: none has. */
int pmc_mac_kind(const struct pmc_event *event);
/* Makes it an event that is not counted; reason: enum pmc_reason or an errno. */
void pmc_mac_refuse(struct pmc_planned *planned, uint32_t reason);
/* attach: as pmc_mac_kpc_open(). 0, -ENOMEM or -E2BIG. */
int pmc_mac_plan_make(struct pmc_mac *mac, const struct pmc_events *events, bool attach,
		      struct pmc_arena *arena, struct pmc_plan *plan);
/* The plan of the process's totals: the events of rows that pmc_mac_read_process() has. */
int pmc_mac_plan_totals(const struct pmc_plan *rows, struct pmc_arena *arena,
			struct pmc_plan *totals);
/* Appends the readings of all groups to the frame being built. Async-signal-safe. */
void pmc_mac_plan_put(const struct pmc_plan *plan, struct pmc_frame_buf *buf,
		      const struct pmc_mac_reading *counts);
