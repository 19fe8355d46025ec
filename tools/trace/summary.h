/* SPDX-License-Identifier: MIT */
/* summary.h - threads that --summary follows, their waits and wakers. Private to this folder. */
#ifndef PMC_TOOLS_TRACE_SUMMARY_H
#define PMC_TOOLS_TRACE_SUMMARY_H

#include "lib/base/hash.h"
#include "tools/trace/trace.h"

enum trace_thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_BLOCKED,
	THREAD_GONE, /* has ended, or it is not known where it is */
};

/* A part of a thread's waits. */
struct trace_part {
	struct {
		const struct trace_thread *thread;
		const void *of; /* a reason, a stack (NULL: none is known) or the waker */
	} key;
	uint64_t n, ns;
	struct trace_part *next;
	UT_hash_handle hh;
};

#define TRACE_NAME_BYTES 20

struct trace_thread {
	uint32_t pid, tid; /* pid 0: unknown */
	uint32_t threads;  /* of a pool; 0: a thread */
	char name[TRACE_NAME_BYTES];
	enum trace_thread_state state;
	bool wanted;	   /* of the target */
	bool slept;	   /* throughout; set at the end */
	uint64_t since_ns; /* the state's start */
	uint64_t oncpu_ns, delay_ns, longest_ns, blocked_ns;
	uint64_t preempted, waited;	  /* switches from it */
	uint64_t unseen;		  /* switches to or from it without a record */
	uint32_t waits[65];		  /* [0]: below 1 us; [i]: from 2^(i-1) us on */
	const char *reason;		  /* while blocked; or at the start, NULL: not asleep */
	const struct unwind_stack *stack; /* of the last wait; NULL: not known */
	struct trace_part *blocked, *wakers, *stacks; /* stacks: with --stacks */
	struct trace_thread *waker;		      /* has begun to wake it; NULL: nobody */
	struct trace_thread *pool; /* at the end: threads whose names differ in digits only */
	struct trace_thread *next;
	/* of a pool */
	char pattern[TRACE_NAME_BYTES + 1]; /* of the names of its threads, and whether wanted */
	struct {
		uint64_t ns;
		unsigned n;
	} sum; /* scratch */
	UT_hash_handle hh;
};

#define TRACE_SUMMARY_CPUS 8192	      /* the largest CONFIG_NR_CPUS */
#define TRACE_TIDS	   (4u << 20) /* PID_MAX_LIMIT of include/linux/threads.h */

enum { SWITCH, WAKEUP, WAKEUP_NEW, FORK, WAKING, N_POINTS };

/* sched_switch, and PERF_RECORD_SWITCH_CPU_WIDE in both threads. */
enum trace_switch { SWITCHED, SWITCHED_OUT, SWITCHED_IN };

struct trace_summary {
	const struct trace_point *points[N_POINTS];
	const struct pmc_tracepoint_field *prev_state, *woken[2], *parent, *child;
	const struct pmc_tracepoint_field *waking, *waking_by, *waking_flags;
	struct trace_thread **by_tid, *last; /* last: the newest row, which links to the others */
	struct trace_thread interrupt;	     /* wakes threads from interrupts, in anybody's name */
	struct pmc_arena *arena;	     /* of all that is behind pointers */
	struct trace_reason *reasons;
	struct trace_name *names;
	struct trace_part *parts;
	struct place *places;
	struct unwind *unwind; /* NULL: without --stacks */
	uint64_t start_ns;
	unsigned asleep; /* at the end: threads of the machine without a row that sleep */
	bool some;	 /* only threads of the target and what they start */
	struct trace_cpu {
		int64_t tid; /* switched to last; 0: the idle thread, or none yet */
		uint64_t time_ns;
		enum trace_switch last;
	} * cpus;
	bool failed; /* no memory */
};

/* summary.c */
static inline bool trace_is_row(const struct trace_thread *t)
{
	return t->wanted && (t->preempted + t->waited || t->state == THREAD_RUNNING || t->slept);
}
static inline unsigned trace_percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned)((double)part * 100 / (double)whole + 0.5) : 0;
}
/* NULL: no memory. */
struct trace_thread *trace_thread_add(struct trace_summary *summary, int64_t tid, bool wanted);
/* Ends the state the thread is in: its time until `now` is known. */
void trace_thread_settle(struct trace_summary *summary, struct trace_thread *thread, uint64_t now);
/* Adds to the thread's part in that list. */
void trace_part_add(struct trace_summary *summary, const struct trace_thread *thread,
		    struct trace_part **list, const void *of, uint64_t n, uint64_t ns);
/* Adds to its time blocked. */
void trace_blocked_add(struct trace_summary *summary, struct trace_thread *thread,
		       const char *reason, uint64_t ns);

/* summary_proc.c */
/* The threads of a process and its descendants, 0: of the machine. 0 or -errno. */
int trace_summary_add_target(struct trace_summary *summary, pid_t target);
/* Threads without a record that sleep: of the target they become rows, of the machine a number. */
void trace_summary_find_asleep(struct trace *trace);

/* summary_reason.c: where threads wait, as "futex", "fsync (D)" or "sleep"; each text is one
 * pointer. NULL: no memory. */
/* Of a record of sched_switch. */
const char *trace_reason_of(struct trace_summary *summary, int64_t prev_state,
			    const struct pmc_record *record);
/* Of a thread in a state of proc_pid_stat(5), and its stack as in /proc; "": not known. */
const char *trace_reason_in(struct trace_summary *summary, char state, char *stack);

/* summary_stacks.c */
/* At the end: stacks of the same functions become one, those of most time come first. */
void trace_stacks_join(struct trace *trace, struct trace_thread *thread);
/* In the table a line with the stack of most time; in JSON all. */
void trace_stacks_line(struct trace *trace, const struct trace_thread *thread, int width);
void trace_stacks_json(struct trace *trace, const struct trace_thread *thread,
		       struct pmc_json *json);

/* summary_pools.c: at the end. */
/* Each thread gets its pool; with `rows` these take the place of the threads in summary->last. */
void trace_pools(struct trace_summary *summary, bool rows);
/* Most time first. */
void trace_parts_sort(struct trace_part **list);

#endif
