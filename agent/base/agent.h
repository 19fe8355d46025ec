/* SPDX-License-Identifier: MIT */
/*
 * agent.h - the state of this process that the agent's files share.
 *
 * Rules in host threads: raw system calls or calls that are no cancellation point; no malloc, no
 * stdio; errno is restored before returning to the host; any failure becomes a note, never the
 * host's problem.
 */
#pragma once

#include "agent/base/job.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/config.h"
#include "lib/live/control.h"
#include "lib/plan/plan.h"
#include "lib/snapshot/reader.h"

#include <pmc/dump.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AGENT_API __attribute__((visibility("default")))
/* For large tables of which most programs touch little: apart from the data that every process
 * touches at its start, where each page costs a microsecond. */
#define AGENT_ROOMY __attribute__((section(".bss.roomy")))

enum {
	/* Snapshot number of the header frames, which come first whenever they are written. */
	AGENT_HEADER_SNAPSHOT = 1,
};

struct agent {
	bool first;	 /* the job's first process */
	bool after_exec; /* the first process, after an exec of its own */
	bool covered;	 /* counted by the first process's exec group */
	bool forked;
	bool preloaded; /* by LD_PRELOAD */
	bool measured;	/* selected by PMC_ONLY and PMC_SKIP */
	pid_t pid;
	int32_t rank;
	uint8_t identity[16], parent[16], job[16];
	uint64_t start_ns;
	uint64_t pre_cpu_ns;		/* process CPU time before the agent started */
	struct agent_reported reported; /* by the image before an exec: not to be reported again */
	struct pmc_config config;
	enum pmc_inherit inherit;
	struct pmc_plan plan;	     /* of every thread */
	struct pmc_plan user_plan;   /* of threads after a loss of privilege; may be empty */
	struct pmc_plan clock_plan;  /* of the inherit groups with PMC_INHERIT=clock */
	struct pmc_plan uncore_plan; /* hash 0: no uncore events */
	const char *exe, *cmdline, *host;
	const char *out; /* absolute pattern; NULL: the job's private dump */
	const char *private_dump;
	char *job_text; /* PMC_JOB for the environment; NULL: leave the environment as it is */
	pid_t owner;	/* the job's first process */
	uint64_t owner_ns, events_hash; /* see struct agent_job */
	int exit_status;
	_Atomic uint64_t next_seq;
	_Atomic bool key_destructors; /* the host has destructors of thread-specific data */
	_Atomic bool named_threads;   /* the host has named a thread */
	struct pmc_arena arena;	      /* filled while single-threaded */
};

extern struct agent agent;
/* State and counters that pmctl reads from outside. */
extern struct pmc_control pmc_agent_control;
extern struct registry agent_registry;
/* The calling thread's slot; NULL: it has none, or its row is written. */
extern __thread struct slot *agent_self;

/* Of this process. snapshot: number of the frames. */
static inline struct reader agent_reader(uint64_t snapshot)
{
	return (struct reader){ .control = &pmc_agent_control,
				.registry = &agent_registry,
				.snapshot = snapshot };
}

/* The clock for time spent in agent code, which adds up to the overhead of the agent. CPU time of
 * the thread: wall time would include preemption. */
static inline uint64_t agent_overhead_clock(void)
{
	uint64_t ns;

	pmc_thread_cpu_ns(0, &ns);
	return ns;
}

static inline void agent_overhead_add(uint64_t ns)
{
	atomic_fetch_add_explicit(&pmc_agent_control.overhead_ns, ns, memory_order_relaxed);
}
