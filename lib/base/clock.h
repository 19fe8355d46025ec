/* SPDX-License-Identifier: MIT */
/*
 * clock.h - OS accounting: clocks, page faults, context switches.
 *
 * Implemented in linux/clock.c by raw system calls and the vDSO; proc.h has those of other threads.
 * Async-signal-safe.
 */
#pragma once

#include <stdbool.h>
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
/* Between two attempts to see that another thread has done something, which may have lost its CPU:
 * yields a hundred times, then sleeps 50 us plus timer slack. */
void pmc_wait_between(unsigned attempts);
unsigned pmc_cpus(void); /* that this thread may run on; 0: unknown */
/* CPU time of a thread of this process; 0 and false if it has ended. tid 0: the caller. */
bool pmc_thread_cpu_ns(int tid, uint64_t *ns);
/* A thread's CPU clock ID is ~tid << 3 | CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED, see
 * include/linux/posix-timers.h. */
#define PMC_CLOCK_OF_THREAD 6u
/* The caller's tid from libc, without a system call. 0: unknown. Wrong in the child of a raw
 * clone. */
uint32_t pmc_thread_tid(void);
uint64_t pmc_process_cpu_ns(void);
void pmc_usage_thread(struct pmc_usage *usage);	 /* getrusage(RUSAGE_THREAD): the caller */
void pmc_usage_process(struct pmc_usage *usage); /* getrusage(RUSAGE_SELF) */
uint64_t pmc_children_cpu_ns(void);		 /* getrusage(RUSAGE_CHILDREN) */
