/* SPDX-License-Identifier: MIT */
/* watch.c - repeated readings of one thread; see watch.h. */
#include "tools/live/watch.h"
#include "agent/core/base/clock.h"
#include "agent/core/base/file.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* USER_HZ of include/asm-generic/param.h. */
#define TICK_NS 10000000u

/* Of wchan, for a thread that did not run since. */
#define RETRIES 3

static const char *const names[] = { "schedstat", "stat", "status", "wchan", "children" };

void live_budget_init(struct live_budget *budget)
{
	struct rlimit files;

	*budget = (struct live_budget){ .most = 256 };
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	/* The other half is for events. */
	budget->most = files.rlim_cur / 2 < 1u << 20 ? (unsigned)(files.rlim_cur / 2) : 1u << 20;
}

void live_task_init(struct live_task *task, pid_t pid, pid_t tid)
{
	*task = (struct live_task){ .pid = pid, .tid = tid };
	for (unsigned f = 0; f < LIVE_FILES; f++)
		task->fds[f] = -1;
}

void live_task_close(struct live_task *task, struct live_budget *budget)
{
	for (unsigned f = 0; f < LIVE_FILES; f++) {
		if (task->fds[f] < 0)
			continue;
		close(task->fds[f]);
		task->fds[f] = -1;
		budget->open--;
	}
}

/* The length or -errno. Such a file is read at once. */
static int read_file(struct live_task *task, enum live_file file, struct live_budget *budget,
		     char *text, size_t cap)
{
	char path[64];
	ssize_t n;

	if (task->fds[file] < 0) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", task->pid, task->tid,
			 names[file]);
		if (budget->open >= budget->most)
			return pmc_file_read_at(AT_FDCWD, path, text, cap);
		task->fds[file] = open(path, O_RDONLY | O_CLOEXEC);
		if (task->fds[file] < 0)
			return -errno;
		budget->open++;
	}
	n = pread(task->fds[file], text, cap - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : (int)n;
}

/* The function, or 0 for a thread that runs or may not be looked at (proc_pid_wchan(5)). */
static void read_wchan(struct live_task *task, struct live_budget *budget)
{
	char text[128];
	size_t len;

	task->wchan[0] = '\0';
	if (live_is_runnable(task) || read_file(task, LIVE_WAIT, budget, text, sizeof(text)) <= 0 ||
	    !strcmp(text, "0"))
		return;
	/* Inlined and split functions have suffixes: futex_do_wait.isra.0 */
	len = strcspn(text, ".\n");
	if (len >= sizeof(task->wchan))
		len = sizeof(task->wchan) - 1;
	memcpy(task->wchan, text, len);
	task->wchan[len] = '\0';
}

static void set_span(struct live_task *task, uint64_t from_ns, const struct live_waits *from,
		     const struct live_stat *stat, bool same)
{
	struct live_span *span = &task->span;
	uint64_t delay = pmc_sub_sat(task->waits.delay_ns, from->delay_ns);

	*span = (struct live_span){
		.ns = task->read_ns - from_ns,
		.cpu_ns = pmc_sub_sat(task->waits.cpu_ns, from->cpu_ns),
		.minor_faults = pmc_sub_sat(task->stat.minor_faults, stat->minor_faults),
		.major_faults = pmc_sub_sat(task->stat.major_faults, stat->major_faults),
		.user_ns = pmc_sub_sat(task->waits.user_ns, from->user_ns),
		.system_ns = pmc_sub_sat(task->waits.system_ns, from->system_ns),
	};
	if (same && live_is_runnable(task)) {
		/* The kernel adds a wait when it ends. */
		span->delay_ns = span->ns;
		task->ahead_ns += span->ns;
	} else {
		span->delay_ns = pmc_sub_sat(delay, task->ahead_ns);
		task->ahead_ns = 0;
	}
	/* Also the remainder of a wait that began in an earlier interval. */
	if (span->delay_ns > pmc_sub_sat(span->ns, span->cpu_ns))
		span->delay_ns = pmc_sub_sat(span->ns, span->cpu_ns);
	span->blocked_ns = pmc_sub_sat(span->ns, span->cpu_ns + span->delay_ns);
	if (!same) {
		span->voluntary = (uint64_t)(task->voluntary_per_ns * (double)span->ns + 0.5);
		span->involuntary = (uint64_t)(task->involuntary_per_ns * (double)span->ns + 0.5);
	}
	task->known = true;
}

/* Not in each reading if threads are many: the rates are those since the last time. */
static void read_switches(struct live_task *task, struct live_budget *budget, uint64_t since_ns)
{
	const struct live_waits from = task->waits;
	const uint64_t since = task->switches_ns ? task->switches_ns : since_ns;
	char text[4096];

	if (task->has_rates && ++task->turn < budget->turns)
		return;
	if (read_file(task, LIVE_STATUS, budget, text, sizeof(text)) <= 0)
		return;
	live_parse_switches(text, &task->waits);
	task->turn = 0;
	task->switches_ns = task->read_ns;
	if (!since || task->read_ns <= since)
		return;
	task->voluntary_per_ns = (double)pmc_sub_sat(task->waits.voluntary, from.voluntary) /
				 (double)(task->read_ns - since);
	task->involuntary_per_ns = (double)pmc_sub_sat(task->waits.involuntary, from.involuntary) /
				   (double)(task->read_ns - since);
	/* Not all threads in the same reading. */
	if (!task->has_rates)
		task->turn = (unsigned)task->tid % (budget->turns + 1);
	task->has_rates = true;
}

int live_task_children(struct live_task *task, struct live_budget *budget, char *text, size_t cap)
{
	return read_file(task, LIVE_CHILDREN, budget, text, cap);
}

static int read_rest(struct live_task *task, struct live_budget *budget, uint64_t since_ns,
		     bool first)
{
	char text[4096];
	struct live_stat stat;
	int n = read_file(task, LIVE_STAT, budget, text, sizeof(text));

	if (n <= 0 || !live_parse_stat(text, &stat))
		return n < 0 ? n : -ESRCH;
	if (!first && stat.start_ticks != task->stat.start_ticks)
		return -ESRCH;
	task->stat = stat;
	task->waits.user_ns = stat.user_ticks * TICK_NS;
	task->waits.system_ns = stat.system_ticks * TICK_NS;
	read_switches(task, budget, since_ns);
	read_wchan(task, budget);
	task->retries = RETRIES;
	return 0;
}

int live_task_read(struct live_task *task, uint64_t since_ns, struct live_budget *budget)
{
	const struct live_waits from = task->waits;
	const struct live_stat stat = task->stat;
	const uint64_t from_ns = task->read_ns;
	bool first = !from_ns, same;
	char text[128];
	int n = read_file(task, LIVE_SCHEDSTAT, budget, text, sizeof(text));

	if (n < 0)
		return n == -ENOENT ? -ESRCH : n;
	if (!live_parse_schedstat(text, &task->waits))
		return -ENODATA;
	task->read_ns = pmc_now_ns();
	same = !first && task->waits.cpu_ns == from.cpu_ns && task->waits.slices == from.slices;
	/* It is older after all. */
	if (since_ns && task->waits.cpu_ns + task->waits.delay_ns > task->read_ns - since_ns)
		since_ns = 0;
	/* A thread that did not run waits as it did before; one that is runnable may have gone. */
	if (!same || live_is_runnable(task)) {
		n = read_rest(task, budget, since_ns, first);
		if (n < 0)
			return n == -ENOENT ? -ESRCH : n;
	}
	if (same)
		task->switches_ns = task->read_ns;
	/* It may have been on its way to sleep. It may also be that wchan is not permitted. */
	if (same && !task->wchan[0] && task->retries) {
		task->retries--;
		read_wchan(task, budget);
	}
	task->waits.known = true;
	if (!first || since_ns)
		set_span(task, first ? since_ns : from_ns, &from, &stat, same);
	return 0;
}

void live_span_add(struct live_span *sum, const struct live_span *span)
{
	sum->ns += span->ns;
	sum->cpu_ns += span->cpu_ns;
	sum->delay_ns += span->delay_ns;
	sum->blocked_ns += span->blocked_ns;
	sum->voluntary += span->voluntary;
	sum->involuntary += span->involuntary;
	sum->minor_faults += span->minor_faults;
	sum->major_faults += span->major_faults;
	sum->user_ns += span->user_ns;
	sum->system_ns += span->system_ns;
}
