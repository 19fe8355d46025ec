/* SPDX-License-Identifier: MIT */
/*
 * explain.h - why threads are slow: facts of each pool, and rules that judge them.
 * Private to this folder.
 *
 * A rule speaks only with its evidence: what was not recorded is `has_...` false, never 0.
 */
#pragma once

#include "tools/live/cause.h"
#include "tools/live/limit.h"
#include "tools/report/report.h"
#include "tools/rows/fold.h"

/* A shorter run delay may be chance. */
#define EXPLAIN_LEAST_DELAY_NS 50000000u

enum explain_event {
	EXPLAIN_MIGRATIONS,
	EXPLAIN_CYCLES,
	EXPLAIN_INSTRUCTIONS,
	EXPLAIN_CACHE_MISSES,
	EXPLAIN_BRANCH_MISSES,
	EXPLAIN_TLB_MISSES,
	EXPLAIN_STALLED, /* cycles without an instruction to start, in the front end */
	EXPLAIN_SYSTEM,	 /* CPU time in the kernel */
	EXPLAIN_EVENTS,
};

/* Time of waits of one kind, and the function in which most of it was, in the arena. */
struct place_facts {
	uint64_t ns, most;
	const char *function; /* NULL: unknown */
	struct place_function *functions;
	uint64_t n; /* of waits; 0: unknown */
};

struct thread_times {
	uint64_t life, cpu, delay;
};

/* Threads of one pool; times in ns, summed over its threads. */
struct pool_facts {
	const char *name;
	uint64_t threads;
	/* all_life: from start to end, without the time it was stopped; life: the same, but of idle
	 * threads 10 times their CPU time and known waits; idle: number of these threads */
	uint64_t all_life, life, idle;
	uint64_t first_start, last_start; /* of a thread */
	uint64_t cpu;
	uint64_t most_cpu; /* of one thread */
	/* cpus: that one of its processes might use at its start, at most; 0: unknown. They need
	 * not be those of another process. */
	unsigned cpus;
	uint64_t processes;
	const void *process; /* the last one of them */
	uint64_t spun;	     /* of cpu: waits in the libraries of OpenMP and MPI, which spin */
	/* Without main threads, which often only start the others, but with those of MPI ranks;
	 * CPU times without `spun`, and of run delay the same share. */
	uint64_t workers, workers_cpu, busy, busy_cpu; /* busy: in a fiftieth of their life */
	struct thread_times worker;		       /* the one with most CPU time */
	bool has_usage, has_switches;		       /* faults and switches; switches at least */
	uint64_t voluntary, involuntary, minor_faults, major_faults;
	/* Runnable, without a CPU; of threads without run delay what they were preempted for.
	 * Complete if threads of nine tenths of the life have it, else at least so long. */
	bool has_delay;
	uint64_t delay, delay_life;
	bool mixed; /* its waits hold waits for a CPU, so that has_waits and has_places are false */
	/* The thread that lived longest among those with CPU time; that wanted a CPU most. */
	struct thread_times longest, busiest;
	/* By samples off CPU: time in functions that take locks. */
	bool has_waits;
	/* futexes: for conditions, semaphores, other futexes, System V semaphores and locks of the
	 * kernel, none of which is a known lock */
	uint64_t waits, futexes;
	/* For conditions, semaphores and futexes, which threads of the run end, less other waits;
	 * not of idle threads. */
	int64_t handed;
	uint64_t unseen;	  /* waits without a stack */
	uint64_t stopped;	  /* by a signal or a debugger */
	struct place_facts locks; /* with the function around them */
	/* Waits for disks, for the other ends of sockets, and all. */
	bool has_places;
	struct place_facts disk, network, any;
	struct place_facts active; /* any, of threads that are not idle, as far as that is known */
	uint64_t paged;		   /* of disk: page faults in mapped files and swap */
	uint64_t outside, slept;   /* of any: as explain_is_outside() says; in nanosleep(2) */
	/* By samples of time or cycles, in user mode only, of which these are in functions that
	 * spin, or allocate; sampled: the CPU time that all of them stand for; 0 for cycles. */
	uint64_t samples, spinning, allocating, sampled;
	/* The same of samples in kernel mode. */
	uint64_t kernel_samples, in_kernel;
	struct place_facts work; /* the same in functions of the program: numbers of samples */
	uint64_t openmp;	 /* of samples: those with a function of its library in the stack */
	/* Samples of all modes in which it waits in the library of OpenMP or MPI, and of MPI. */
	uint64_t in_runtime, in_mpi;
	/* Time of samples and waits, and of that below OpenMP: in parallel regions. */
	uint64_t seen, in_parallel;
	/* Sums of events, and whether all threads with CPU time have them. */
	uint64_t counts[EXPLAIN_EVENTS];
	bool has_count[EXPLAIN_EVENTS];
};

struct thread_facts {
	struct pmc_thread_fixed row; /* its times, but for delay_ns, faults and switches */
	bool has_delay;
	/* life: without the time it was stopped; delay: without has_delay at least so much; waits:
	 * for known locks, disks and sockets */
	uint64_t life, delay, waits;
	uint64_t spun; /* of its CPU time: as in pool_facts */
	uint64_t counts[EXPLAIN_EVENTS];
	bool has_count[EXPLAIN_EVENTS];
};

struct facts {
	const struct pmc_profile *profile; /* NULL: of running processes */
	struct pmc_arena *arena;
	struct pool_facts *pools;
	uint64_t n_pools, threads;
	/* wall: of the dump as a whole; cpu: including CPU time outside thread rows, without it
	 * judged; overhead: of the agent, at least; spun: as of its pools */
	uint64_t wall, cpu, judged, delay, overhead, spun;
	/* of all pools that use a CPU */
	bool has_delay, has_waits, has_samples, has_counters;
	const char *target; /* flags that name the running processes; NULL: of a dump */
	bool go;	    /* a program in Go */
	bool dumped;	    /* the user named dumps, which other commands can make with more */
	bool recorded;	    /* by pmctl profile, which has no run delay of threads that ended */
	bool preemptions;   /* how long threads waited for a CPU after these was recorded */
	unsigned cpus;	    /* 0: unknown */
	uint64_t fault_ns;  /* price of a page fault */
	uint64_t tick_ns;   /* unit of system time; 0: it is exact */
	struct live_cpu_limit limit; /* of the cgroup, and what it did in this time */
	uint64_t waits, lost;	     /* records of waits, and those that were lost */
	/* Processes other than the first, and the CPU time of all images without overhead. */
	uint64_t children; /* processes */
	uint64_t children_cpu;
	struct place_facts programs; /* of their images: a number, no time */
};

/* Of a dump. 0, or the exit code with the error printed. */
int explain_facts(const struct pmc_profile *profile, struct report_names *names,
		  struct pmc_arena *arena, struct facts *facts);

/* The same of running processes, for a time: a list such as "12,34", or those whose program has
 * that name; one may be NULL. */
int explain_watch(const char *pids, const char *name, uint64_t duration_ns, struct pmc_arena *arena,
		  struct facts *facts);

/* CPU time of a page fault: measured, of a dump of another machine or boot a usual one. Virtual
 * machines with page tables in software take some 15 us. profile: NULL: of running processes. */
uint64_t explain_fault_ns(const struct pmc_profile *profile);
/* The period of the clock tick, by which the kernel tells system time from user time; of a dump of
 * another machine or boot the longest one. profile: NULL: of running processes. */
uint64_t explain_tick_ns(const struct pmc_profile *profile);

/* The last line of each list is NULL. */
enum { EXPLAIN_LINES = 8 };

struct finding {
	const struct pool_facts *of; /* NULL: of child processes */
	const char *pool, *cause;
	const char *text; /* one line */
	const char *evidence[EXPLAIN_LINES], *excluded[EXPLAIN_LINES], *unknown[EXPLAIN_LINES];
	const char *advice;
	const char *instead;	/* another remedy, without the gain; NULL: none */
	double gain;		/* how many times as fast at most; 0: unknown */
	const char *arithmetic; /* of the gain: "34.1 s / (34.1 s - 5.0 s) = 1.2" */
	bool estimate;		/* gain is an estimate: counts × typical costs */
	double loss_ns;		/* time that the cause takes from the threads; 0: unknown */
};

/* The findings, those that lose most time first; *n of them. */
struct finding *explain_find(const struct facts *facts, unsigned *n);

/* Run delay is unknown, but preemptions show that it waits for a CPU; *ns: how long, by an estimate
 * that is rather low. */
bool explain_is_preempted(const struct pool_facts *pool, uint64_t *ns);
/* Pools that hardly use or wait for a CPU, nor for locks or something outside, cannot gain. */
bool explain_matters(const struct facts *facts, const struct pool_facts *pool);
/* "db-pool-* (16 threads)" */
const char *explain_title(const struct facts *facts, const struct pool_facts *pool);
/* Adds what was not recorded of a pool, with what would record it, to a list of EXPLAIN_LINES. */
void explain_unknown(const struct facts *facts, const struct pool_facts *pool, const char **list);

void explain_place_add(struct pmc_arena *arena, struct place_facts *place, const char *function,
		       uint64_t ns);
/* A wait of ns, in functions from the innermost one on, those of the kernel first. */
void explain_add_place(struct pmc_arena *arena, struct pool_facts *pool, enum live_cause cause,
		       const char *function, uint64_t ns);
/* CAUSE_DISK, CAUSE_SOCKET, or else CAUSE_OTHER. */
enum live_cause explain_kernel_wait(const char *function);
/* A function of the kernel that waits by poll or epoll, or for a network: for others than threads
 * of the run. A pair of UNIX sockets may be that of two threads. */
bool explain_is_outside(const char *function);

/* By a name such as LockAcquire, lock_wait, lock_contended, lockSlow or acquire_lock: where a
 * program waits for a lock of its own making. Python's are also its conditions and semaphores, the
 * C library's are known by other functions; a thread of that name waits for work. */
extern const char explain_gil[]; /* Python's interpreter lock is taken there */
bool explain_names_lock(const char *function);

/* Times of a thread or pool without what it spun; of its run delay the same share. */
struct thread_times explain_work(const struct thread_times *all, uint64_t spun);
void explain_add(struct facts *facts, struct pool_facts *pool, const struct thread_facts *thread);
/* When all of a pool's threads and waits have been added. */
void explain_add_end(struct facts *facts, struct pool_facts *pool);
/* Whether threads without a row had CPU time, beyond differences of clocks. */
bool explain_has_unjudged(const struct facts *facts);

const char *explain_text(struct pmc_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "24.4 s", "3.1 ms": of the arena. */
const char *explain_time(struct pmc_arena *arena, uint64_t ns);
