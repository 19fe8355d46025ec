/* SPDX-License-Identifier: MIT */
/*
 * mac_threads.h - the threads of a process on macOS, their rows, and the totals of the process.
 *
 * Implemented in darwin/mac_threads.c. A table of thread numbers: a thread enters it when it starts
 * and leaves it when it ends, both by itself. Lock-free, without thread-local variables: macOS
 * allocates them on first use, and has freed them when the end of a thread is announced.
 */
#pragma once

#include "lib/plan/mac_plan.h"

enum {
	/* Threads alive at once; a process has a few thousand at most (kern.num_taskthreads). */
	MAC_THREADS = 1 << 14,
	MAC_ROW_BYTES = sizeof(struct pmc_frame_head) + sizeof(struct pmc_thread_fixed) +
			PMC_EVENTS_MAX * (sizeof(struct pmc_reading) + sizeof(uint64_t)),
};

/* The sources of rows; set once, before the first thread. */
extern struct mac_job {
	struct pmc_mac mac;
	struct pmc_plan totals; /* agent.plan has the events of rows */
	/* Of the process, before this image: the kernel's totals go on over an exec. */
	struct pmc_mac_reading before;
} mac_job;

/* In the first thread of a process image. */
void mac_totals_begin(void);
/* Appends the TOTAL frame: what all threads have counted, also without a row. Read after rows. */
void mac_totals_frame(struct pmc_frame_buf *buf, uint64_t snapshot);

/* The calling thread has started. False: it is known already, or the table is full (noted). */
bool mac_thread_begin(uint64_t tid, bool main);
/* The calling thread ends: its last row goes to agent_file_append(). */
void mac_thread_end(uint64_t tid, enum pmc_thread_state state);
/* Appends a row for each thread in the table to buf, which has room for the totals afterwards.
 * self: the calling thread. Threads that end meanwhile write their own. */
void mac_threads_rows(struct pmc_frame_buf *buf, uint64_t snapshot, uint64_t self,
		      enum pmc_thread_state state);
/* In a forked child: no thread of the parent is left. */
void mac_threads_forget(void);

/* ---- what pthread_create is given instead of routine and argument ---- */
struct mac_start;

/* In the creating thread. NULL: too many are being created; the row then has neither. */
struct mac_start *mac_start_take(void *(*routine)(void *), void *arg);
/* No thread was created. */
void mac_start_drop(struct mac_start *start);
/* In the new thread. */
void *mac_start_run(void *start);
