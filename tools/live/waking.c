/* SPDX-License-Identifier: MIT */
/* waking.c - decodes records of sched:sched_waking. */
#include "tools/live/waking.h"

#include <stddef.h>
#include <sys/stat.h>

/* PROC_PID_INIT_INO of linux/proc_ns.h: the first PID namespace has a fixed number. */
#define FIRST_NAMESPACE 0xeffffffcu
/* common_flags: TRACE_FLAG_HARDIRQ, _SOFTIRQ and _NMI of include/linux/trace_events.h. */
#define IN_INTERRUPT 0x58

const char *const live_no_threads[N_NO_THREADS] = {
	[BY_INTERRUPT] = "(interrupt)",
	[BY_UNKNOWN] = "(unknown)",
	[BY_NOBODY] = "(still blocked)",
	[BY_OTHERS] = "(others)",
};

const char *live_other_numbers(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_NAMESPACE ?
		       NULL :
		       "tracepoints have process IDs of the first PID namespace; run pmctl in "
		       "that, as on the host";
}

void live_waking_init(struct live_waking *waking, const struct pmc_tracepoint *tracepoint)
{
	waking->pid = pmc_tracepoint_find(tracepoint, "pid");
	waking->by = pmc_tracepoint_find(tracepoint, "common_pid");
	waking->flags = pmc_tracepoint_find(tracepoint, "common_flags");
}

/* The running thread wakes another; in an interrupt it has nothing to do with that. */
int64_t live_waking_take(const struct live_waking *waking, const struct pmc_record *record,
			 int64_t *by)
{
	int64_t tid = 0, flags = 0;

	*by = 0;
	pmc_tracepoint_integer(waking->pid, record, &tid);
	pmc_tracepoint_integer(waking->flags, record, &flags);
	/* The record's own thread ID is -1 where a thread that ends wakes its parent. */
	if (!(flags & IN_INTERRUPT))
		pmc_tracepoint_integer(waking->by, record, by);
	return tid;
}
