/* SPDX-License-Identifier: MIT */
/* task.c - reads and parses the files of threads in /proc; see task.h. */
#include "tools/live/task.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/rows/fold.h"
#include "tools/cli/list.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CPU clock of a process, see MAKE_PROCESS_CPUCLOCK in include/linux/posix-timers_types.h. */
#define PROCESS_CLOCK(pid) ((clockid_t)(~(unsigned)(pid) << 3 | 2))

/* ---- the threads of a process ------------------------------------------------------------- */

static void add(struct live_tids *tids, pid_t tid)
{
	tids->list = tool_list_grow(tids->list, tids->n, &tids->room, sizeof(*tids->list));
	tids->list[tids->n++] = tid;
}

static void take_tid(const char *name, void *arg)
{
	uint64_t tid;

	if (pmc_number(name, INT_MAX, &tid))
		add(arg, (pid_t)tid);
}

static int compare_tids(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

int live_refuse_ended(pid_t pid)
{
	struct pollfd process = { .events = POLLIN };
	bool ended;

	/* Of a process whose main thread alone has ended it is not ready. Before Linux 5.3 there is
	 * none, nor of a thread. */
	process.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	ended = process.fd >= 0 && poll(&process, 1, 0) > 0;
	if (process.fd >= 0)
		close(process.fd);
	if (pmc_path_exists("/proc/%d", pid) != 0)
		return tool_fail(EXIT_FAIL, "no such process: %d", pid);
	return !ended ? 0 :
			tool_fail(EXIT_FAIL,
				  "process %d has ended: its parent has not reaped it yet", pid);
}

/* Appends the threads of a process. */
static int add_tids(pid_t pid, struct live_tids *tids)
{
	const unsigned before = tids->n;
	const int error = pmc_dir_visit(take_tid, tids, "/proc/%d/task", pid);

	return error == -ENOENT || (!error && tids->n == before) ? -ESRCH : error;
}

static void sort_tids(struct live_tids *tids)
{
	qsort(tids->list, tids->n, sizeof(*tids->list), compare_tids);
}

int live_tids_read(pid_t pid, struct live_tids *tids)
{
	int error;

	tids->n = 0;
	error = add_tids(pid, tids);
	sort_tids(tids);
	return error;
}

/* A child is in the list of the thread that started it, or of another one if that has ended. */
int live_tree_read(pid_t pid, struct live_tids *tids)
{
	char text[65536];
	uint64_t child;
	int error;

	tids->n = 0;
	error = add_tids(pid, tids);
	/* The list grows: threads of children have children. */
	for (unsigned i = 0; i < tids->n && !error; i++) {
		const char *at = text;

		if (pmc_file_read(text, sizeof(text), "/proc/%d/task/%d/children", tids->list[i],
				  tids->list[i]) <= 0)
			continue;
		for (; !error && pmc_number_take(&at, NULL, 10, &child); at += strspn(at, " ")) {
			error = child <= INT_MAX ? add_tids((pid_t)child, tids) : 0;
			/* It has ended. */
			error = error == -ESRCH ? 0 : error;
		}
	}
	sort_tids(tids);
	return error;
}

struct named {
	const char *glob;
	struct live_tids *found;
};

/* The comm of a name of more than 15 bytes is cut; the file is known of one's own processes only.
 */
static void take_named(const char *name, void *arg)
{
	const struct named *named = arg;
	char text[PMC_PROC_NAME], path[64], file[PATH_MAX];
	ssize_t len;
	uint64_t pid;

	if (!pmc_number(name, INT_MAX, &pid) || (pid_t)pid == getpid() ||
	    pmc_file_read(text, sizeof(text), "/proc/%s/comm", name) <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, file, sizeof(file) - 1);
	file[len > 0 ? len : 0] = '\0';
	if (fnmatch(named->glob, text, 0) == 0 || fnmatch(named->glob, pmc_base_name(file), 0) == 0)
		add(named->found, (pid_t)pid);
}

int live_find(const char *list, const char *glob, struct live_tids *found)
{
	struct named named = { glob, found };
	unsigned kept = 0;
	int code = 0;
	uint64_t pid;

	for (; !code && list && pmc_number_take(&list, NULL, 10, &pid); list += *list == ',') {
		code = live_refuse_ended((pid_t)pid);
		add(found, (pid_t)pid);
	}
	if (glob)
		pmc_dir_visit(take_named, &named, "/proc");
	if (!code && !found->n)
		code = tool_fail(EXIT_FAIL, "no process is named '%s'; pmctl top -a shows names",
				 glob);
	sort_tids(found);
	for (unsigned i = 0; i < found->n; i++)
		if (!i || found->list[i] != found->list[i - 1])
			found->list[kept++] = found->list[i];
	found->n = kept;
	return code;
}

bool live_has_children(pid_t pid)
{
	struct live_tids tids = { .n = 0 };
	bool found = false;
	char text[64];

	live_tids_read(pid, &tids);
	for (unsigned i = 0; i < tids.n && !found; i++) {
		pmc_file_read(text, sizeof(text), "/proc/%d/task/%d/children", pid, tids.list[i]);
		found = text[0];
	}
	live_tids_free(&tids);
	return found;
}

/* proc_task_getattr() in fs/proc/base.c adds them to the links of a directory. */
unsigned live_tids_count(pid_t pid)
{
	struct stat dir;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &dir) == 0 && dir.st_nlink > 2 ? (unsigned)dir.st_nlink - 2 : 0;
}

bool live_tids_have(const struct live_tids *tids, pid_t tid)
{
	return tids->n && bsearch(&tid, tids->list, tids->n, sizeof(tid), compare_tids);
}

void live_tids_free(struct live_tids *tids)
{
	free(tids->list);
	*tids = (struct live_tids){ .n = 0 };
}

uint64_t live_start_ns(const struct pmc_proc_stat *stat)
{
	struct timespec boot, mono;
	int64_t asleep, start;

	/* start_ticks includes the time in which the machine was suspended. */
	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	asleep = (boot.tv_sec - mono.tv_sec) * 1000000000 + boot.tv_nsec - mono.tv_nsec;
	start = (int64_t)(stat->start_ticks * LIVE_TICK_NS) - asleep;
	return start > 0 ? (uint64_t)start : 0;
}

uint64_t live_process_cpu_ns(pid_t pid)
{
	struct timespec time;

	if (clock_gettime(PROCESS_CLOCK(pid), &time) != 0)
		return 0;
	return pmc_timespec_ns(&time);
}
