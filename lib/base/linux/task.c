/* SPDX-License-Identifier: MIT */
/*
 * task.c - faults, switches and times of a thread of this process, from /proc; see clock.h.
 *
 * proc(5): fields 10, 12, 14 and 15 of task/TID/stat, and lines of task/TID/status. They equal what
 * getrusage(RUSAGE_THREAD) returns in that thread; times are in units of 10 ms, rounded down.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/out.h"

#include <fcntl.h>
#include <string.h>

/* USER_HZ of include/asm-generic/param.h, of all architectures but alpha and ia64. */
#define TICK_NS 10000000u

bool pmc_task_stat(const char *text, struct pmc_usage *usage)
{
	/* Field 2, the name, may contain parentheses and spaces. */
	const char *at = strrchr(text, ')');
	uint64_t value;
	unsigned field = 2;

	for (; at && *at; at++) {
		if (*at != ' ')
			continue;
		field++;
		if (field != 10 && field != 12 && field != 14 && field != 15)
			continue;
		at++;
		if (!pmc_number_take(&at, NULL, 10, &value))
			return false;
		if (field == 10)
			usage->minor_faults = value;
		else if (field == 12)
			usage->major_faults = value;
		else if (field == 14)
			usage->user_ns = value * TICK_NS;
		else
			usage->system_ns = value * TICK_NS;
		if (field == 15)
			return *at == ' ';
		at--;
	}
	return false;
}

/* The last number of the line that begins with key. */
static bool last_of(const char *text, const char *key, uint64_t *value)
{
	size_t len = strlen(key);
	bool found = false;

	while (strncmp(text, key, len) != 0) {
		text = strchr(text, '\n');
		if (!text)
			return false;
		text++;
	}
	for (text += len; *text && *text != '\n';)
		if (pmc_number_take(&text, NULL, 10, value))
			found = true;
		else
			text++;
	return found;
}

bool pmc_task_status(const char *text, uint32_t tid, struct pmc_usage *usage)
{
	uint64_t inner;

	/* /proc may be of another PID namespace; the last number of NSpid is the inner TID (4.1).
	 */
	return (!last_of(text, "NSpid:", &inner) || inner == tid) &&
	       last_of(text, "voluntary_ctxt_switches:", &usage->voluntary_switches) &&
	       last_of(text, "nonvoluntary_ctxt_switches:", &usage->involuntary_switches);
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

/* CPU time, run delay and number of turns; "0 0 0" without CONFIG_SCHED_INFO. */
bool pmc_task_schedstat(const char *text, uint64_t *ns)
{
	uint64_t cpu_ns, turns;

	*ns = 0;
	return pmc_number_take(&text, NULL, 10, &cpu_ns) && *text++ == ' ' &&
	       pmc_number_take(&text, NULL, 10, ns) && *text++ == ' ' &&
	       pmc_number_take(&text, NULL, 10, &turns) && turns;
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
