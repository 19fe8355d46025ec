/* SPDX-License-Identifier: MIT */
/* task.c - threads of other processes: lists of them, and repeated readings of one; see task.h. */
#include "tools/live/task.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "lib/base/number.h"
#include "lib/dump/words.h"
#include "tools/cli/pmctl.h"
#include "tools/rows/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CPU clock of a process, see MAKE_PROCESS_CPUCLOCK in include/linux/posix-timers_types.h. */
#define PROCESS_CLOCK(pid) ((clockid_t)(~(unsigned)(pid) << 3 | 2))

/* ---- the threads of a process ------------------------------------------------------------- */

void live_tids_add(struct live_tids *tids, pid_t tid)
{
	tids->list = tool_list_grow(tids->list, tids->n, &tids->room, sizeof(*tids->list));
	tids->list[tids->n++] = tid;
}

static void take_tid(const char *name, void *arg)
{
	uint64_t tid;

	if (pmc_number(name, INT_MAX, &tid))
		live_tids_add(arg, (pid_t)tid);
}

static int compare_tids(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* Of a process whose main thread alone has ended it is not ready. */
bool live_pidfd_ended(int pidfd)
{
	struct pollfd process = { .fd = pidfd, .events = POLLIN };

	return poll(&process, 1, 0) > 0;
}

bool live_is_zombie(pid_t pid)
{
	/* Before Linux 5.3 there is none, nor of a thread. */
	const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const bool ended = live_pidfd_ended(pidfd);

	pmc_fd_close(pidfd);
	return ended;
}

bool live_is_thread(pid_t pid)
{
	char text[4096];
	uint64_t process;

	return pmc_file_read(text, sizeof(text), "/proc/%d/status", pid) > 0 &&
	       pmc_proc_number(text, "Tgid", &process) && process != (uint64_t)pid;
}

bool live_stat_read(pid_t tid, struct pmc_proc_stat *stat)
{
	char text[4096];

	return pmc_file_read(text, sizeof(text), "/proc/%d/stat", tid) > 0 &&
	       pmc_proc_stat(text, stat) && !strchr("ZX", stat->state);
}

int live_refuse(pid_t pid)
{
	const bool ended = live_is_zombie(pid);

	if (pmc_path_exists("/proc/%d", pid) != 0)
		return tool_fail(EXIT_FAIL, "no such process: %d", pid);
	if (live_is_thread(pid))
		return tool_fail(EXIT_FAIL,
				 "%d is a thread: give the ID of its process, Tgid in "
				 "/proc/%d/status, or -t of stat or profile",
				 pid, pid);
	return !ended ? 0 :
			tool_fail(EXIT_FAIL,
				  "process %d has ended: its parent has not reaped it yet", pid);
}

static int add_tids(pid_t pid, struct live_tids *tids)
{
	const unsigned before = tids->n;
	const int error = pmc_dir_visit(take_tid, tids, "/proc/%d/task", pid);

	return error == -ENOENT || (!error && tids->n == before) ? -ESRCH : error;
}

/* Each stays once: a process of a list may be a child of another. */
static void sort_tids(struct live_tids *tids)
{
	unsigned n = 0;

	if (tids->n)
		qsort(tids->list, tids->n, sizeof(*tids->list), compare_tids);
	for (unsigned i = 0; i < tids->n; i++)
		if (!n || tids->list[n - 1] != tids->list[i])
			tids->list[n++] = tids->list[i];
	tids->n = n;
}

int live_tids_read(pid_t pid, struct live_tids *tids)
{
	int error;

	tids->n = 0;
	error = add_tids(pid, tids);
	sort_tids(tids);
	return error;
}

void live_children_add(pid_t tid, struct live_tids *pids)
{
	char text[65536];
	const char *at = text;
	uint64_t child;

	pmc_file_read(text, sizeof(text), "/proc/%d/task/%d/children", tid, tid);
	for (; pmc_number_take(&at, NULL, 10, &child); at += strspn(at, " "))
		if (child <= INT_MAX)
			live_tids_add(pids, (pid_t)child);
}

int live_trees_read(const struct live_tids *pids, struct live_tids *tids)
{
	struct live_tids children = { .n = 0 };
	int error = 0;

	tids->n = 0;
	for (unsigned i = 0; i < pids->n && (!error || error == -ESRCH); i++)
		error = add_tids(pids->list[i], tids);
	if (error == -ESRCH && tids->n)
		error = 0;
	/* The list grows: threads of children have children. */
	for (unsigned i = 0; i < tids->n && !error; i++) {
		children.n = 0;
		live_children_add(tids->list[i], &children);
		for (unsigned c = 0; c < children.n && !error; c++) {
			/* Started by the shell that it is to look at. */
			if (children.list[c] == getpid())
				continue;
			error = add_tids(children.list[c], tids);
			/* It has ended. */
			error = error == -ESRCH ? 0 : error;
		}
	}
	live_tids_free(&children);
	sort_tids(tids);
	return error;
}

int live_tree_read(pid_t pid, struct live_tids *tids)
{
	return live_trees_read(&(const struct live_tids){ .list = &pid, .n = 1 }, tids);
}

struct named {
	const char *glob;
	struct live_tids *found;
};

/* The kernel adds it to the path of a deleted file. */
#define DELETED " (deleted)"

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
	/* The file was replaced while the program ran, as an upgrade of its package does. */
	if (len > (ssize_t)strlen(DELETED) && !strcmp(file + len - strlen(DELETED), DELETED))
		file[len - (ssize_t)strlen(DELETED)] = '\0';
	if ((fnmatch(named->glob, text, 0) == 0 ||
	     (len > 0 && fnmatch(named->glob, pmc_base_name(file), 0) == 0)) &&
	    !live_is_zombie((pid_t)pid))
		live_tids_add(named->found, (pid_t)pid);
}

int live_find(const char *list, const char *glob, struct live_tids *found)
{
	struct named named = { glob, found };
	int code = 0;
	uint64_t pid;

	for (; !code && list && pmc_number_take(&list, NULL, 10, &pid); list += *list == ',') {
		pid_t process = (pid_t)pid;

		code = live_refuse(process);
		if (!code)
			code = live_program(&process, NULL);
		live_tids_add(found, process);
	}
	if (glob)
		pmc_dir_visit(take_named, &named, "/proc");
	if (!code && !found->n)
		code = tool_fail(EXIT_FAIL, "no process is named '%s'; pmctl top -a shows names",
				 glob);
	sort_tids(found);
	return code;
}

int live_tree_pids(pid_t pid, struct live_tids *pids)
{
	const int error = live_tree_read(pid, pids);
	unsigned kept = 0;

	for (unsigned i = 0; i < pids->n; i++)
		if (!live_is_thread(pids->list[i]))
			pids->list[kept++] = pids->list[i];
	pids->n = kept;
	return error;
}

bool live_has_children(pid_t pid)
{
	struct live_tids tids = { .n = 0 }, children = { .n = 0 };
	bool found;

	live_tids_read(pid, &tids);
	for (unsigned i = 0; i < tids.n && !children.n; i++)
		live_children_add(tids.list[i], &children);
	found = children.n;
	live_tids_free(&tids);
	live_tids_free(&children);
	return found;
}

bool live_tids_have(const struct live_tids *tids, pid_t tid)
{
	return tids->n && bsearch(&tid, tids->list, tids->n, sizeof(tid), compare_tids);
}

bool live_tids_have_all(const struct live_tids *tids, const struct live_tids *of)
{
	for (unsigned i = 0; i < of->n; i++)
		if (!live_tids_have(tids, of->list[i]))
			return false;
	return true;
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

/* ---- readings of one thread ----------------------------------------------------------------- */

/* Of wchan, for a thread that did not run since. */
#define RETRIES 3

static const char *const names[] = { "schedstat", "stat", "status", "wchan" };

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
	if (budget->no_wchan || live_is_runnable(task) ||
	    read_file(task, LIVE_WAIT, budget, text, sizeof(text)) <= 0 || !strcmp(text, "0"))
		return;
	/* Inlined and split functions have suffixes: futex_do_wait.isra.0 */
	len = strcspn(text, ".\n");
	if (len >= sizeof(task->wchan))
		len = sizeof(task->wchan) - 1;
	memcpy(task->wchan, text, len);
	task->wchan[len] = '\0';
}

static void set_span(struct live_task *task, uint64_t from_ns, const struct live_span *from,
		     bool runnable)
{
	/* It may have started after the common time of readings. */
	task->sum.ns += pmc_sub_sat(task->read_ns, from_ns);
	live_delay_read(&task->delay, task->sum.ns, task->sum.cpu_ns, task->charged_ns, runnable);
	task->sum.delay_ns = task->delay.delay_ns;
	task->sum.blocked_ns = task->delay.blocked_ns;
	task->span = live_span_since(&task->sum, from);
	task->known = true;
}

static void read_switches(struct live_task *task, struct live_budget *budget)
{
	char text[4096];

	if (read_file(task, LIVE_STATUS, budget, text, sizeof(text)) <= 0)
		return;
	pmc_proc_number(text, "voluntary_ctxt_switches", &task->sum.voluntary);
	pmc_proc_number(text, "nonvoluntary_ctxt_switches", &task->sum.involuntary);
}

/* Of a thread that has ended, or another one with its ID: -ESRCH. */
static int read_stat(struct live_task *task, struct live_budget *budget, bool first)
{
	char text[4096];
	struct pmc_proc_stat stat;
	int n = read_file(task, LIVE_STAT, budget, text, sizeof(text));

	if (n <= 0 || !pmc_proc_stat(text, &stat))
		return n < 0 && n != -ENOENT ? n : -ESRCH;
	if (!first && stat.start_ticks != task->stat.start_ticks)
		return -ESRCH;
	task->stat = stat;
	task->sum.user_ns = stat.user_ticks * LIVE_TICK_NS;
	task->sum.system_ns = stat.system_ticks * LIVE_TICK_NS;
	task->sum.minor_faults = stat.minor_faults;
	task->sum.major_faults = stat.major_faults;
	return 0;
}

/* When the first interval of a thread began that was not there at that time; 0: unknown. */
static uint64_t first_since(const struct live_task *task, uint64_t since_ns)
{
	const uint64_t start_ns = live_start_ns(&task->stat);
	const uint64_t ran_ns = task->sum.cpu_ns + task->charged_ns;

	if (!since_ns || start_ns + LIVE_TICK_NS < since_ns)
		return 0;
	return start_ns > since_ns || ran_ns > task->read_ns - since_ns ? start_ns : since_ns;
}

int live_task_read(struct live_task *task, uint64_t since_ns, struct live_budget *budget)
{
	const struct live_span from = task->sum;
	const uint64_t slices = task->slices;
	const bool first = !task->read_ns;
	uint64_t from_ns = task->read_ns;
	bool same, runnable = live_is_runnable(task);
	struct pmc_proc_sched now;
	char text[128];
	int n = read_file(task, LIVE_SCHEDSTAT, budget, text, sizeof(text));

	if (n < 0)
		return n == -ENOENT ? -ESRCH : n;
	if (!pmc_proc_schedstat(text, &now))
		return -ENODATA;
	task->charged_ns = now.delay_ns;
	task->sum.cpu_ns = now.cpu_ns;
	task->slices = now.slices;
	task->read_ns = budget->now_ns ? budget->now_ns : pmc_now_ns();
	same = !first && task->sum.cpu_ns == from.cpu_ns && task->slices == slices;
	/* A thread that did not run waits as it did before; one that is runnable may have gone. */
	if (!same || runnable) {
		n = read_stat(task, budget, first);
		if (n)
			return n;
		/* Those of a thread that waits for a CPU tell whether it waits since then. */
		if (!budget->no_switches || runnable || live_is_runnable(task))
			read_switches(task, budget);
		read_wchan(task, budget);
		task->retries = budget->no_wchan ? 0 : RETRIES;
	} else if (!task->wchan[0] && task->retries) {
		/* It may have been on its way to sleep. It may also be that wchan is not permitted.
		 */
		task->retries--;
		read_wchan(task, budget);
	}
	if (first)
		from_ns = first_since(task, since_ns);
	/* The main thread, which ended by pthread_exit before the others, waits for nothing. */
	if (same && task->stat.state == 'Z')
		from_ns = task->read_ns;
	if (from_ns) {
		/* Runnable throughout, as far as its switches are known. */
		runnable =
			runnable && live_is_runnable(task) && task->sum.voluntary == from.voluntary;
		set_span(task, from_ns, &from, runnable);
	} else {
		live_delay_begin(&task->delay, now.cpu_ns, now.delay_ns, live_is_runnable(task));
	}
	return 0;
}

/* Its members but `lacks`, as a list. */
enum { SPAN_WORDS = offsetof(struct live_span, lacks) / sizeof(uint64_t) };

struct live_span live_span_since(const struct live_span *now, const struct live_span *before)
{
	struct live_span since = *now;
	uint64_t *to = (uint64_t *)&since;

	for (unsigned i = 0; i < SPAN_WORDS; i++)
		to[i] = pmc_sub_sat(to[i], ((const uint64_t *)before)[i]);
	since.lacks = now->lacks && !before->lacks;
	return since;
}

void live_span_add(struct live_span *sum, const struct live_span *span)
{
	for (unsigned i = 0; i < SPAN_WORDS; i++)
		((uint64_t *)sum)[i] += ((const uint64_t *)span)[i];
	sum->lacks |= span->lacks;
}

void live_place_add(struct live_place *places, const char *name, uint64_t ns)
{
	unsigned i = 0;

	while (i < LIVE_PLACES && places[i].name[0] && strcmp(places[i].name, name) != 0)
		i++;
	if (i == LIVE_PLACES || !name[0])
		return;
	snprintf(places[i].name, LIVE_WCHAN, "%s", name);
	places[i].ns += ns;
}

const struct live_place *live_place_most(const struct live_place *places)
{
	const struct live_place *most = places;

	for (unsigned i = 1; i < LIVE_PLACES; i++)
		if (places[i].ns > most->ns)
			most = &places[i];
	return most;
}

uint64_t live_pool_key(const char *thread, char *name)
{
	size_t len = strlen(thread);

	/* Kernel threads have longer names. */
	if (len > 20)
		memcpy(name, thread, len);
	else
		len = pmc_pool_pattern(thread, len, name);
	name[len] = '\0';
	return pmc_hash(name, len);
}

uint64_t live_pool_take(struct pmc_map *pools, struct pmc_arena *arena, const char **name)
{
	char pattern[LIVE_NAME];
	const uint64_t key = live_pool_key(*name, pattern);
	char *kept = pmc_map_at(pools, arena, &key, sizeof(key), LIVE_NAME);

	snprintf(kept, LIVE_NAME, "%s", !kept[0] || !strcmp(kept, *name) ? *name : pattern);
	*name = kept;
	return key;
}
