/* SPDX-License-Identifier: MIT */
/* clock.c - clocks and rusage of macOS; see clock.h. */
#include "lib/base/clock.h"

#include <libproc.h>
#include <pthread.h>
#include <string.h>
#include <sys/proc_info.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t pmc_now_ns(void)
{
	return clock_gettime_nsec_np(CLOCK_MONOTONIC);
}

unsigned pmc_cpus(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (unsigned)n : 0;
}

/* Of a thread by its number: proc_info(2) with PROC_PIDTHREADID64INFO, times in ns. */
bool pmc_thread_cpu_ns(int tid, uint64_t *ns)
{
	struct proc_threadinfo info;

	*ns = 0;
	if (!tid) {
		*ns = clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID);
		return *ns != 0;
	}
	if (proc_pidinfo(getpid(), PROC_PIDTHREADID64INFO, (uint64_t)tid, &info, sizeof(info)) !=
	    sizeof(info))
		return false;
	*ns = info.pth_user_time + info.pth_system_time;
	return true;
}

uint32_t pmc_thread_tid(void)
{
	uint64_t id = 0;

	pthread_threadid_np(NULL, &id);
	return (uint32_t)id;
}

uint64_t pmc_process_cpu_ns(void)
{
	return clock_gettime_nsec_np(CLOCK_PROCESS_CPUTIME_ID);
}

static void usage_of(int who, struct rusage *usage)
{
	if (getrusage(who, usage) != 0)
		memset(usage, 0, sizeof(*usage));
}

uint64_t pmc_children_cpu_ns(void)
{
	struct rusage r;

	usage_of(RUSAGE_CHILDREN, &r);
	return pmc_timeval_ns(&r.ru_utime) + pmc_timeval_ns(&r.ru_stime);
}

/* macOS has no RUSAGE_THREAD: rows are marked PMC_THREAD_NO_RUSAGE. */
void pmc_usage_thread(struct pmc_usage *usage)
{
	memset(usage, 0, sizeof(*usage));
}

void pmc_usage_process(struct pmc_usage *usage)
{
	struct rusage r;

	usage_of(RUSAGE_SELF, &r);
	*usage = (struct pmc_usage){
		.minor_faults = (uint64_t)r.ru_minflt,
		.major_faults = (uint64_t)r.ru_majflt,
		.voluntary_switches = (uint64_t)r.ru_nvcsw,
		.involuntary_switches = (uint64_t)r.ru_nivcsw,
		.max_rss_bytes = (uint64_t)r.ru_maxrss, /* bytes here, KiB on Linux */
	};
}
