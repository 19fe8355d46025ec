/* SPDX-License-Identifier: MIT */
/* summary.h - the threads of --summary. Private to this folder. */
#ifndef PMC_TOOLS_TRACE_SUMMARY_H
#define PMC_TOOLS_TRACE_SUMMARY_H

#include "tools/trace/trace.h"

#define TRACE_SUMMARY_POINTS                                                                       \
	"sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new",                      \
		"sched:sched_process_fork"

enum trace_thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_BLOCKED,
	THREAD_GONE, /* has ended, or it is not known where it is */
};

#define TRACE_BLOCKED_KINDS 5
extern const char *const trace_blocked_names[];

struct trace_thread {
	uint32_t pid, tid; /* pid 0: unknown */
	char name[16];
	enum trace_thread_state state;
	uint8_t blocked;   /* a kind, while blocked */
	bool wanted;	   /* of the target */
	uint64_t since_ns; /* the state's start */
	uint64_t oncpu_ns, delay_ns, longest_ns, blocked_ns[TRACE_BLOCKED_KINDS];
	uint64_t preempted, waited; /* switches from it */
	uint32_t waits[65];	    /* [0]: below 1 us; [i]: from 2^(i-1) us on */
	struct trace_thread *next;
};

#define TRACE_SUMMARY_CPUS 8192 /* the largest CONFIG_NR_CPUS */

enum { SWITCH, WAKEUP, WAKEUP_NEW, FORK, N_POINTS };

struct trace_summary {
	const struct trace_point *points[N_POINTS];
	const struct pmc_tracepoint_field *prev_state, *woken[2], *parent, *child;
	struct trace_thread **by_tid, *last; /* last: the newest row, which links to the others */
	uint64_t start_ns;
	bool some; /* only threads of the target and what they start */
	struct trace_cpu {
		int64_t tid; /* switched to last; 0: the idle thread, or none yet */
		uint64_t time_ns;
	} * cpus;
	bool failed;
};

/* summary.c */
/* Ends the state the thread is in: its time until `now` is known. */
void trace_thread_settle(struct trace_thread *thread, uint64_t now);

#endif
