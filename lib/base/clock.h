/* SPDX-License-Identifier: MIT */
/*
 * clock.h - OS accounting: clocks, page faults, context switches.
 *
 * Implemented in linux/clock.c and linux/task.c by raw system calls and the vDSO.
 * Async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

struct pmc_usage {
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t user_ns, system_ns;
	uint64_t max_rss_bytes;
};

static inline uint64_t pmc_timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static inline uint64_t pmc_timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

uint64_t pmc_now_ns(void); /* CLOCK_MONOTONIC */
/* CPU time of a thread of this process; 0 and false if it has ended. tid 0: the caller. */
bool pmc_thread_cpu_ns(int tid, uint64_t *ns);
/* A thread's CPU clock ID is ~tid << 3 | CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED, see
 * include/linux/posix-timers.h. */
#define PMC_CLOCK_OF_THREAD 6u
/* The caller's tid from libc, without a system call. 0: unknown. Wrong in the child of a raw
 * clone. */
uint32_t pmc_thread_tid(void);
uint64_t pmc_process_cpu_ns(void);
void pmc_usage_thread(struct pmc_usage *usage); /* getrusage(RUSAGE_THREAD): the caller */
/* The same for another thread of this process, from two files of /proc in some 20 us. room: scratch
 * of at least PMC_TASK_ROOM bytes. False: unknown. */
#define PMC_TASK_ROOM ((size_t)4096)
bool pmc_usage_of_task(uint32_t tid, char *room, size_t bytes, struct pmc_usage *usage);
/* Parse the two files; false if malformed or of another thread. */
bool pmc_task_stat(const char *text, struct pmc_usage *usage);
bool pmc_task_status(const char *text, uint32_t tid, struct pmc_usage *usage);
/* Time for which a thread of this process, 0: the caller, has waited for a CPU. False: unknown. */
bool pmc_run_delay(uint32_t tid, uint64_t *ns);
/* The same from the text of schedstat. */
bool pmc_task_schedstat(const char *text, uint64_t *ns);
void pmc_usage_process(struct pmc_usage *usage); /* getrusage(RUSAGE_SELF) */
uint64_t pmc_children_cpu_ns(void);		 /* getrusage(RUSAGE_CHILDREN) */
