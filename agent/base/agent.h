/* SPDX-License-Identifier: MIT */
/*
 * agent.h - what the agent's files share: the state of this process, and who does what.
 *
 * main.c      constructor, the last exit handler, PMC_JOB into the environment
 * start.c     environment to configuration to plan; what kind of process we are in
 * job.c       PMC_JOB: text to struct and back
 * thread.c    a thread's begin and end
 * row.c       a thread's row: read and framed
 * fork.c      what became of us: forked child, vfork child, same process
 * fdspace.c   where our descriptors lie and how many we may have
 * file.c      the dump file: path, opening, appending
 * output/pending_frames.c   frames that wait in memory for it
 * snapshot.c  everything that is known now, into the dump
 * adopt.c     threads whose start was not seen, from /proc/self/task
 * thread/start_routine.c      start routines to SITE frames
 * note.c      the ledger
 * output/exit_report.c  the report of the first process
 * process.c   the process's own frames
 * thread/inherit_groups.c    the inherit groups of the job's first process
 * thread/uncore.c   and its events that count for the whole machine
 * signals.c   fatal signals and the dump signal
 * helper.c    the thread for intervals
 * region*.c   marked regions: begin and end, a thread's sums, their frames
 * throwaway_clone.c     work in a throwaway clone
 * exec_env.c  environments with PMC_JOB in them
 * process/seccomp_probe.c     whether perf_event_open may be tried
 * hook_*.c    the interposed functions, one concern each
 *
 * Rules in host threads: raw system calls or calls that are no cancellation point; no malloc, no
 * stdio; errno is kept at every edge; any failure becomes a note, never the host's problem.
 */
#ifndef PMC_AGENT_BASE_AGENT_H
#define PMC_AGENT_BASE_AGENT_H

#include "agent/core/base/arena.h"
#include "agent/core/base/config.h"
#include "agent/core/live/control.h"
#include "agent/core/plan/plan.h"
#include "agent/output/process_frames.h"

#include <pmc/dump.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define AGENT_API __attribute__((visibility("default")))

enum {
	/* The header frames of a process image come first, whenever they are written. */
	AGENT_HEADER_SNAPSHOT = 1,
};

struct agent {
	bool first;   /* the job's first process */
	bool again;   /* the first process, after an exec of its own */
	bool covered; /* counted by the first process's exec group */
	bool forked;
	bool measured; /* PMC_ONLY, PMC_SKIP let it be counted */
	pid_t pid;
	int32_t rank;
	uint8_t identity[16], parent[16], job[16];
	uint64_t start_ns;
	uint64_t pre_cpu_ns;		/* process CPU spent before the agent was there */
	struct agent_reported reported; /* by the image before: not ours to report */
	struct pmc_config config;
	enum pmc_inherit inherit;
	struct pmc_plan plan;	    /* of every thread */
	struct pmc_plan user_plan;  /* for threads after a loss of privilege; may be empty */
	struct pmc_plan clock_plan; /* of the inherit groups with PMC_INHERIT=clock */
	struct pmc_plan machine_plan; /* hash 0: nothing counts for the whole machine here */
	const char *exe, *cmdline, *host;
	const char *out; /* absolute pattern; NULL: the job's private dump */
	const char *private_dump;
	char *job_text; /* "PMC_JOB=..." for the environment; NULL: leave it as it is */
	pid_t owner;	/* the job's first process */
	uint64_t owner_ns, events_hash; /* see struct agent_job */
	int exit_status;
	_Atomic uint64_t next_seq;
	struct pmc_arena arena; /* filled while single-threaded */
};

extern struct agent agent;
/* Of a table of which a program uses a few pages, if any: kept apart from what each one touches at
 * its start, where a page costs a microsecond. */
#define AGENT_ROOMY __attribute__((section(".bss.roomy")))
/* State and counters, where pmctl can read them from outside. */
extern struct pmc_control pmc_agent_control;

/* ---- start.c ---- */
void agent_start(int argc, char **argv, char **envp);
/* Fills a fresh identity. */
void agent_identity(uint8_t identity[16]);

/* ---- fork.c ---- */
enum agent_where { AGENT_ELSEWHERE, AGENT_HERE };
/* Whether hooks may act: PMC_CONTROL_ON and not in a vfork child. A forked child found here (_Fork,
 * raw clone) is made a process of its own first. */
enum agent_where agent_where(void);
/* The same without the system call that tells a vfork child: for what such a child may not do. */
enum agent_where agent_where_threads(void);
int agent_fork_init(void);
/* Reads 0 in a forked child that nobody has made a process of its own yet. So does the word behind
 * it, which is not 0 while regions are counted (region_area.c). */
extern _Atomic uint32_t *agent_alive;

/* ---- thread/inherit_groups.c ---- */
void agent_totals_open(void);
void agent_totals_forget(void); /* in a forked child */

/* ---- fdspace.c ---- */
void agent_fds_init(void);
/* Takes n from the agent's share. False: the share is used up. */
bool agent_fds_take(unsigned n);
void agent_fds_give(unsigned n);
/* Around opens: returns where the descriptors go. */
int agent_fds_window_open(void);
/* For signal handlers: -1 instead of waiting for the lock that the interrupted code may hold. */
int agent_fds_window_try(void);
/* The same, -1 also while system() starts its child, which is not to inherit the limit. */
int agent_fds_window_idle(void);
void agent_fds_window_close(void);
/* While held no window opens and none is open: the limit is the host's. False: it could not be had
 * in good time (or there are no windows here). */
bool agent_fds_hold(void);
void agent_fds_let(bool held);
/* The host has set its own limit. */
void agent_fds_limited(rlim_t soft, rlim_t hard);
/* Keeps windows shut for the moment that system() takes to start its child. */
void agent_fds_quiet(void);
/* In a vfork child about to exec. */
void agent_fds_exec_child(void);
/* Which numbers are the agent's. Lock-free. */
void agent_fds_mark(const int *list, unsigned n);
void agent_fds_unmark(const int *list, unsigned n);
bool agent_fds_ours(int fd);
/* Unmarks, closes and gives back; no fork comes between: the child would keep copies. */
void agent_fds_close(int *list, unsigned n);
/* Another number for a descriptor of ours whose number the host is about to take; -1: there is
 * none. Async-signal-safe. */
int agent_fds_move(int fd);
int agent_fds_highest(void); /* no number above it is ours; -1: none at all */
/* Grows the descriptor table while there is one thread: later it stalls them all. */
void agent_fds_reserve(void);
/* In a forked child: closes the copies of all the parent had, but one (-1: none). */
void agent_fds_forked(int keep);

/* Time in agent code, added to the process's self cost: CPU time of the thread, since wall time
 * would charge us for being preempted. */
static inline uint64_t agent_self_clock(void)
{
	uint64_t ns;

	pmc_thread_cpu_ns(0, &ns);
	return ns;
}

static inline void agent_self_add(uint64_t ns)
{
	atomic_fetch_add_explicit(&pmc_agent_control.self_ns, ns, memory_order_relaxed);
}

#endif
