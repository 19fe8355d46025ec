/* SPDX-License-Identifier: MIT */
/* proc.c - parses files of /proc; see proc.h. */
#include "lib/base/proc.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/out.h"

#include <fcntl.h>
#include <string.h>

/* Fields of proc_pid_stat(5). The name may contain parentheses, spaces and line feeds. */
bool pmc_proc_stat(const char *text, struct pmc_proc_stat *stat)
{
	const char *name = strchr(text, '('), *at = strrchr(text, ')');
	uint64_t fields[23];
	size_t len;

	if (!name || !at || at < name || at[1] != ' ' || !at[2])
		return false;
	len = (size_t)(at - ++name);
	if (len >= sizeof(stat->name))
		len = sizeof(stat->name) - 1;
	memcpy(stat->name, name, len);
	stat->name[len] = '\0';
	stat->state = at[2];
	at += 3;
	for (unsigned i = 4; i <= 22; i++) {
		at += *at == ' ';
		/* Some are signed. */
		at += *at == '-';
		if (!pmc_number_take(&at, NULL, 10, &fields[i]))
			return false;
	}
	stat->parent = fields[4];
	stat->minor_faults = fields[10];
	stat->child_faults = fields[11];
	stat->major_faults = fields[12];
	stat->user_ticks = fields[14];
	stat->system_ticks = fields[15];
	stat->child_ticks = fields[16] + fields[17];
	stat->start_ticks = fields[22];
	return true;
}

const char *pmc_proc_field(const char *text, const char *key)
{
	const size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] && strchr(" \t:", line[len]))
			return line + len + strspn(line + len, " \t:");
	}
	return NULL;
}

bool pmc_proc_number(const char *text, const char *key, uint64_t *value)
{
	const char *at = pmc_proc_field(text, key);

	return at && pmc_number_take(&at, NULL, 10, value);
}

bool pmc_proc_last(const char *text, const char *key, uint64_t *value)
{
	const char *at = pmc_proc_field(text, key);
	bool found = false;

	for (; at && pmc_number_take(&at, NULL, 10, value); at += strspn(at, " \t"))
		found = true;
	return found;
}

bool pmc_proc_schedstat(const char *text, struct pmc_proc_sched *sched)
{
	return pmc_number_take(&text, NULL, 10, &sched->cpu_ns) && *text++ == ' ' &&
	       pmc_number_take(&text, NULL, 10, &sched->delay_ns) && *text++ == ' ' &&
	       pmc_number_take(&text, NULL, 10, &sched->slices);
}

/* ---- a thread of this process ----------------------------------------------------------------
 *
 * Faults, switches and times equal what getrusage(RUSAGE_THREAD) returns in that thread; times are
 * in units of 10 ms, rounded down. */

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
	struct pmc_out out = pmc_out_mem(room, bytes);

	pmc_outf(&out, "/proc/self/task/%u/%s", tid, name);
	return pmc_file_read_at(AT_FDCWD, room, room, bytes) > 0;
}

bool pmc_usage_of_task(uint32_t tid, char *room, size_t bytes, struct pmc_usage *usage)
{
	memset(usage, 0, sizeof(*usage));
	return read_task(tid, "status", room, bytes) && pmc_task_status(room, tid, usage) &&
	       read_task(tid, "stat", room, bytes) && pmc_task_stat(room, usage);
}

bool pmc_run_delay(uint32_t tid, uint64_t *ns)
{
	struct pmc_proc_sched sched = { .delay_ns = 0 };
	char text[80];
	bool known;

	known = tid ? read_task(tid, "schedstat", text, sizeof(text)) :
		      pmc_file_read_at(AT_FDCWD, "/proc/thread-self/schedstat", text,
				       sizeof(text)) > 0;
	known = known && pmc_proc_schedstat(text, &sched) && sched.slices;
	*ns = sched.delay_ns;
	return known;
}
