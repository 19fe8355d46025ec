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

/* summary_write.c */
void trace_summary_write(struct trace *trace, struct trace_thread *const *rows, size_t n,
			 uint64_t wall_ns);

#endif
