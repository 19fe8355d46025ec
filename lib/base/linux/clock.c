/* SPDX-License-Identifier: MIT */
/* clock.c - clocks and rusage of Linux; see clock.h. */
#include "lib/base/clock.h"
#include "lib/base/sys.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

uint64_t pmc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return pmc_timespec_ns(&t);
}

void pmc_wait_between(unsigned attempts)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	const uint32_t nothing = 0;

	if (attempts < 100)
		pmc_sys1(SYS_sched_yield, 0);
	else
		/* Seccomp filters that know glibc allow futex, but not always nanosleep. */
		pmc_sys4(SYS_futex, &nothing, FUTEX_WAIT_PRIVATE, 0, &nap);
}

unsigned pmc_cpus(void)
{
	unsigned long mask[8192 / 8 / sizeof(long)]; /* the largest CONFIG_NR_CPUS */
	const long bytes = pmc_sys3(SYS_sched_getaffinity, 0, sizeof(mask), (long)(uintptr_t)mask);
	unsigned n = 0;

	for (long i = 0; i < bytes / (long)sizeof(mask[0]); i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	return n;
}

static bool read_clock(clockid_t id, uint64_t *ns)
{
	struct timespec t;

	*ns = 0;
	if (pmc_sys2(SYS_clock_gettime, id, &t) != 0)
		return false;
	*ns = pmc_timespec_ns(&t);
	return true;
}

bool pmc_thread_cpu_ns(int tid, uint64_t *ns)
{
	return read_clock(tid ? (clockid_t)((~(unsigned)tid << 3) | PMC_CLOCK_OF_THREAD) :
				CLOCK_THREAD_CPUTIME_ID,
			  ns);
}

uint32_t pmc_thread_tid(void)
{
	clockid_t id;

	if (pthread_getcpuclockid(pthread_self(), &id) != 0 ||
	    ((unsigned)id & 7) != PMC_CLOCK_OF_THREAD)
		return 0;
	/* Shifted as a signed number: the highest three bits of ~tid are set. */
	return (uint32_t) ~(id >> 3);
}

uint64_t pmc_process_cpu_ns(void)
{
	uint64_t ns;

	read_clock(CLOCK_PROCESS_CPUTIME_ID, &ns);
	return ns;
}

static void usage_of(int who, struct pmc_usage *usage)
{
	struct rusage r;

	/* Fails only for a bad `who` or address. */
	if (pmc_sys2(SYS_getrusage, who, &r) != 0)
		memset(&r, 0, sizeof(r));
	*usage = (struct pmc_usage){
		.minor_faults = (uint64_t)r.ru_minflt,
		.major_faults = (uint64_t)r.ru_majflt,
		.voluntary_switches = (uint64_t)r.ru_nvcsw,
		.involuntary_switches = (uint64_t)r.ru_nivcsw,
		.user_ns = pmc_timeval_ns(&r.ru_utime),
		.system_ns = pmc_timeval_ns(&r.ru_stime),
		.max_rss_bytes = (uint64_t)r.ru_maxrss * 1024,
	};
}

void pmc_usage_thread(struct pmc_usage *usage)
{
	usage_of(RUSAGE_THREAD, usage);
}

uint64_t pmc_children_cpu_ns(void)
{
	struct pmc_usage usage;

	usage_of(RUSAGE_CHILDREN, &usage);
	return usage.user_ns + usage.system_ns;
}

void pmc_usage_process(struct pmc_usage *usage)
{
	usage_of(RUSAGE_SELF, usage);
}
