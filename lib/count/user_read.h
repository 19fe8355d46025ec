/* SPDX-License-Identifier: MIT */
/*
 * user_read.h - reading the calling thread's own counters without a system call.
 *
 * The kernel shares a page per event (perf_event_open(2), "MMAP layout"; struct
 * perf_event_mmap_page in <linux/perf_event.h>): what to add to the hardware counter, which counter
 * that is, and a sequence number to read both as one. It works for the thread that the event
 * counts, while the event is on a counter. All of it is async-signal-safe: raw system calls, the
 * caller's memory, no allocation.
 */
#pragma once

#include "lib/count/perf.h"

#include <stdbool.h>
#include <stdint.h>

typedef const volatile struct perf_event_mmap_page pmc_user_page;

/* Asks for user access where the kernel wants it asked for (arm64: config1 bit 1, if
 * kernel.perf_user_access allows it; drivers/perf/arm_pmuv3.c). False: the attr is as it was.
 * Only for events of one task that are not inherited. */
bool pmc_user_request(struct pmc_attr *attr);
/* Takes that back, for a kernel that refuses the event with it. */
void pmc_user_unrequest(struct pmc_attr *attr);

/* Maps the event's page. 0; -EPERM, -ENOMEM: the limits on locked memory
 * (kernel.perf_event_mlock_kb; of that at most half is taken, the rest is the host's); other -errno
 * of mmap(2). */
int pmc_user_map(int fd, pmc_user_page **page);
/* NULL is nothing to do. */
void pmc_user_unmap(pmc_user_page *page);
/* In a forked child: the kernel did not copy the pages, none is mapped any more. */
void pmc_user_forked(void);
