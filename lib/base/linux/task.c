/* SPDX-License-Identifier: MIT */
/*
 * task.c - faults, switches and times of a thread of this process, from /proc; see clock.h.
 *
 * They equal what getrusage(RUSAGE_THREAD) returns in that thread; times are in units of 10 ms,
 * rounded down.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "lib/base/proc.h"

#include <fcntl.h>
#include <string.h>

bool pmc_task_stat(const char *text, struct pmc_usage *usage)
{
	struct pmc_proc_stat stat;

	if (!pmc_proc_stat(text, &stat))
		return false;
	usage->minor_faults = stat.minor_faults;
	usage->major_faults = stat.major_faults;
	usage->user_ns = stat.user_ticks * PMC_TICK_NS;
	usage->system_ns = stat.system_ticks * PMC_TICK_NS;
	return true;
}

bool pmc_task_status(const char *text, uint32_t tid, struct pmc_usage *usage)
{
	uint64_t inner;

	/* /proc may be of another PID namespace. */
	return (!pmc_proc_last(text, "NSpid", &inner) || inner == tid) &&
	       pmc_proc_number(text, "voluntary_ctxt_switches", &usage->voluntary_switches) &&
	       pmc_proc_number(text, "nonvoluntary_ctxt_switches", &usage->involuntary_switches);
}

/* The path is built in room: the caller may be on a small signal stack. */
static bool read_task(uint32_t tid, const char *name, char *room, size_t bytes)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, room, bytes);
	pmc_outf(&out, "/proc/self/task/%u/%s", tid, name);
	return pmc_file_read_at(AT_FDCWD, room, room, bytes) > 0;
}

bool pmc_usage_of_task(uint32_t tid, char *room, size_t bytes, struct pmc_usage *usage)
{
	memset(usage, 0, sizeof(*usage));
	return read_task(tid, "status", room, bytes) && pmc_task_status(room, tid, usage) &&
	       read_task(tid, "stat", room, bytes) && pmc_task_stat(room, usage);
}

bool pmc_task_schedstat(const char *text, uint64_t *ns)
{
	struct pmc_proc_sched sched = { .delay_ns = 0 };
	const bool known = pmc_proc_schedstat(text, &sched) && sched.slices;

	*ns = sched.delay_ns;
	return known;
}

bool pmc_run_delay(uint32_t tid, uint64_t *ns)
{
	char text[80];

	*ns = 0;
	if (tid)
		return read_task(tid, "schedstat", text, sizeof(text)) &&
		       pmc_task_schedstat(text, ns);
	return pmc_file_read_at(AT_FDCWD, "/proc/thread-self/schedstat", text, sizeof(text)) > 0 &&
	       pmc_task_schedstat(text, ns);
}
