/* SPDX-License-Identifier: MIT */
/* calls.c - the system calls of thread_counts.h on a Mac. */
#include "lib/count/thread_counts.h"

#include <dlfcn.h>
#include <errno.h>
#include <libproc.h>
#include <mach/mach_time.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <unistd.h>

/* In libSystem, but not in its headers; kind 1 is THSC_CPI: instructions and cycles. */
int thread_selfcounts(uint32_t kind, void *to, size_t bytes);

static int self_counts(uint64_t counts[2])
{
	return thread_selfcounts(1, counts, 2 * sizeof(counts[0])) == 0 ? 0 : -errno;
}

static int thread_info_of(unsigned flavor, uint64_t tid, void *to, size_t bytes)
{
	int got;

	/* 0 stands for an error. */
	errno = 0;
	got = proc_pidinfo(getpid(), (int)flavor, tid, to, (int)bytes);
	return got > 0 ? got : errno ? -errno : -EIO;
}

static int process_usage(pid_t pid, int version, struct pmc_mac_usage *to)
{
	/* errno is not set by all versions of libproc. */
	errno = 0;
	if (proc_pid_rusage(pid, version, (void *)to) == 0)
		return 0;
	return errno ? -errno : -EIO;
}

#define AT(ours, theirs)                                                                           \
	_Static_assert(offsetof(struct pmc_mac_usage, ours) ==                                     \
			       offsetof(struct rusage_info_v6, theirs),                            \
		       "layout of the kernel's reply")
AT(resident_bytes, ri_resident_size);
AT(exit, ri_proc_exit_abstime);
AT(peak_footprint_bytes, ri_lifetime_max_phys_footprint);
AT(cycles, ri_cycles);
AT(flags, ri_flags);
AT(fast_cycles, ri_pcycles);
_Static_assert(sizeof(struct pmc_mac_usage) == sizeof(struct rusage_info_v6), "room for all of it");

static uint64_t self_tid(void)
{
	uint64_t tid = 0;

	pthread_threadid_np(NULL, &tid);
	return tid;
}

static const char *level_name(unsigned level)
{
	static char names[PMC_MAC_LEVELS][32];
	char key[] = "hw.perflevel0.name";
	size_t bytes = sizeof(names[0]) - 1;

	if (level >= PMC_MAC_LEVELS)
		return NULL;
	key[12] = (char)('0' + level);
	return sysctlbyname(key, names[level], &bytes, NULL, 0) == 0 ? names[level] : NULL;
}

static void timebase(uint32_t *numer, uint32_t *denom)
{
	mach_timebase_info_data_t base = { 1, 1 };
	int translated = 0;
	size_t bytes = sizeof(translated);

	/* Under Rosetta this is the timebase of an Intel Mac, and the kernel's is unknown. */
	if (sysctlbyname("sysctl.proc_translated", &translated, &bytes, NULL, 0) != 0)
		translated = 0;
	if (mach_timebase_info(&base) != 0 || translated)
		base.denom = 0;
	*numer = base.numer;
	*denom = base.denom;
}

static bool is_root(void)
{
	return geteuid() == 0;
}

static void *library(const char *path)
{
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

const struct pmc_mac_calls pmc_mac_system = {
	.self_counts = self_counts,
	.thread_info = thread_info_of,
	.process_usage = process_usage,
	.self_tid = self_tid,
	.level_name = level_name,
	.timebase = timebase,
	.is_root = is_root,
	.library = library,
	.symbol = dlsym,
};
