/* SPDX-License-Identifier: MIT */
/* summary.h - threads that --summary follows, their waits and wakers. Private to this folder. */
#ifndef PMC_TOOLS_TRACE_SUMMARY_H
#define PMC_TOOLS_TRACE_SUMMARY_H

#include "lib/base/hash.h"
#include "tools/trace/trace.h"

#define TRACE_SUMMARY_POINTS                                                                       \
	"sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new",                      \
		"sched:sched_process_fork", "sched:sched_waking"

enum trace_thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_BLOCKED,
	THREAD_GONE, /* has ended, or it is not known where it is */
};

/* The outermost frames of the kernel's stack, which end with the system call. */
#define TRACE_FRAMES 6

/* Where threads wait. Without a stack of the kernel the kind of wait alone. */
struct trace_reason {
	struct {
		uint64_t kind;
		union {
			uint64_t frames[TRACE_FRAMES];			/* outermost first */
			char function[TRACE_FRAMES * sizeof(uint64_t)]; /* of a named kind */
		};
	} key;
	char name[64]; /* at the end: "futex", "fsync (D)", "sleep" */
	UT_hash_handle hh;
};

struct trace_blocked {
	const struct trace_reason *reason;
	uint64_t ns;
};

struct trace_thread {
	uint32_t pid, tid; /* pid 0: unknown */
	uint32_t threads;  /* of a pool; 0: a thread */
	char name[20];
	enum trace_thread_state state;
	bool wanted;	   /* of the target */
	bool slept;	   /* throughout; set at the end */
	uint64_t since_ns; /* the state's start */
	uint64_t oncpu_ns, delay_ns, longest_ns, blocked_ns;
	uint64_t preempted, waited;	   /* switches from it */
	uint64_t unseen;		   /* switches to or from it without a record */
	uint32_t waits[65];		   /* [0]: below 1 us; [i]: from 2^(i-1) us on */
	const struct trace_reason *reason; /* while blocked; or at the start, NULL: not asleep */
	const struct unwind_stack *stack;  /* of the last wait; NULL: not known */
	struct trace_blocked *blocked;
	unsigned n_blocked;
	struct unwind_wait *stacks; /* of a thread or pool, with --stacks */
	struct trace_thread *waker; /* has begun to wake it; NULL: nobody */
	struct trace_thread *pool;  /* at the end, of pools */
	char pattern[20];	    /* of a pool: of the names of its threads */
	struct trace_thread *next;
};

/* One thread waking another. */
struct trace_pair {
	struct {
		const struct trace_thread *woken, *by;
	} key;
	uint64_t count, wait_ns; /* wait_ns: how long those waits had lasted */
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
	struct pmc_arena *arena;	     /* of reasons and pairs */
	struct trace_reason *reasons;
	struct trace_pair *pairs;
	struct unwind *unwind; /* NULL: without --stacks */
	uint64_t start_ns;
	unsigned asleep; /* at the end: threads of the machine without a row that sleep */
	bool some;	 /* only threads of the target and what they start */
	struct trace_cpu {
		int64_t tid; /* switched to last; 0: the idle thread, or none yet */
		uint64_t time_ns;
		enum trace_switch last;
	} * cpus;
	bool failed;
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

/* summary_proc.c */
/* The threads of a process and its descendants, 0: of the machine. 0 or -errno. */
int trace_summary_add_target(struct trace_summary *summary, pid_t target);
/* Threads without a record that sleep: of the target they become rows, of the machine a number. */
void trace_summary_find_asleep(struct trace *trace);

/* summary_reason.c */
/* Of a record of sched_switch. NULL: no memory. */
const struct trace_reason *trace_reason_of(struct trace_summary *summary, int64_t prev_state,
					   const struct pmc_record *record);
/* Of a thread in a state of proc_pid_stat(5), and its stack as in /proc; "": not known. */
const struct trace_reason *trace_reason_in(struct trace_summary *summary, char state, char *stack);
/* Adds to the thread's time in that reason. False: no memory. */
bool trace_blocked_add(struct trace_thread *thread, const struct trace_reason *reason, uint64_t ns);
/* Names all reasons, and sorts those of the thread, most time first. */
void trace_reasons_name(struct trace_summary *summary);
void trace_blocked_sort(struct trace_thread *thread);

/* summary_stacks.c */
/* Adds to the time in that stack; nothing without --stacks. False: no memory. */
void trace_wait_add(struct trace_summary *summary, struct trace_thread *thread,
		    const struct unwind_stack *stack, uint64_t count, uint64_t ns);
/* In the table a line with the stack of most time; in JSON all. */
void trace_stacks_line(struct trace *trace, const struct trace_thread *thread, int width);
void trace_stacks_json(struct trace *trace, const struct trace_thread *thread,
		       struct pmc_json *json);

/* summary_pairs.c */
/* Adds a wait that ended. False: no memory. */
bool trace_pair_add(struct trace_summary *summary, const struct trace_thread *woken,
		    const struct trace_thread *by, uint64_t count, uint64_t wait_ns);
/* The name without its digits, which threads of a pool have in common. */
void trace_pattern(const struct trace_thread *thread, char pattern[20]);
/* Rows of pools in place of those of threads; the list is in summary->last. False: no memory. */
bool trace_pools(struct trace_summary *summary);
/* The pairs of a row, most time first, into a list that the caller frees. */
struct trace_pair **trace_pairs_of(const struct trace_summary *summary,
				   const struct trace_thread *woken, unsigned *n);

#endif
