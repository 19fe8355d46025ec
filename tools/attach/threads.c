/* SPDX-License-Identifier: MIT */
/* threads.c - rows of another process's threads, from its groups and from /proc. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proc.h"
#include "lib/dump/frame.h"
#include "tools/attach/attach.h"
#include "tools/cli/list.h"
#include "tools/cli/pmctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- /proc/PID/task -----------------------------------------------------------------------*/
/* A file of /proc/PID/task/TID. False: it cannot be read. */
static bool read_task(const struct attach_tasks *tasks, pid_t pid, const char *name, char *text,
		      size_t cap)
{
	char path[64];
	int n;

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	n = pmc_file_read_at(tasks->fd, path, text, cap);
	return n > 0 || n == -EFBIG;
}

/* The tid as gettid() returns it in the process: the innermost of the NSpid line. 0: gone. */
static uint32_t inner_tid(const struct attach_tasks *tasks, pid_t pid)
{
	uint64_t tid = (uint64_t)pid;
	char text[4096];

	if (!read_task(tasks, pid, "status", text, sizeof(text)))
		return 0;
	pmc_proc_last(text, "NSpid", &tid);
	return (uint32_t)tid;
}

static int by_tid(const void *a, const void *b)
{
	const struct attach_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void add_task(struct attach *target, const char *name)
{
	struct attach_tasks *tasks = &target->tasks;
	pid_t pid = (pid_t)strtol(name, NULL, 10);

	if (pid <= 0)
		return;
	tasks->list = tool_list_grow(tasks->list, tasks->n, &tasks->room, sizeof(*tasks->list));
	tasks->list[tasks->n++] = (struct attach_task){
		.pid = pid,
		.tid = target->other_pid_namespace ? inner_tid(tasks, pid) : (uint32_t)pid,
	};
}

int attach_tasks_open(struct attach *target)
{
	struct attach_tasks *tasks = &target->tasks;
	struct dirent *entry;
	DIR *dir = NULL;
	int fd;

	tasks->fd = openat(target->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks->fd < 0)
		return errno == ENOENT || errno == ESRCH ?
			       attach_gone(target->pid) :
			       tool_fail(EXIT_FAIL, "cannot list the threads of process %d: %s",
					 target->pid, strerror(errno));
	fd = fcntl(tasks->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		dir = fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		add_task(target, entry->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (!dir)
		return tool_fail(EXIT_FAIL, "out of descriptors");
	if (tasks->n)
		qsort(tasks->list, tasks->n, sizeof(*tasks->list), by_tid);
	return 0;
}

void attach_tasks_close(struct attach_tasks *tasks)
{
	if (tasks->fd >= 0)
		close(tasks->fd);
	free(tasks->list);
	*tasks = (struct attach_tasks){ .fd = -1 };
}

struct attach_task *attach_task_of(const struct attach *target, uint32_t tid)
{
	const struct attach_task key = { .tid = tid };

	return target->tasks.n ?
		       bsearch(&key, target->tasks.list, target->tasks.n, sizeof(key), by_tid) :
		       NULL;
}

/* The ID here of a thread of the process, which may have started since; 0: unknown. */
static pid_t our_tid(const struct attach *target, uint32_t tid)
{
	const struct attach_task *task;

	if (!target->other_pid_namespace)
		return (pid_t)tid;
	task = attach_task_of(target, tid);
	return task ? task->pid : 0;
}

/* Also false for CPU time 0, a kernel without CONFIG_SCHED_INFO: every thread here has run. */
static bool sched_of(const struct attach_tasks *tasks, pid_t pid, struct pmc_proc_sched *sched)
{
	char text[128];

	*sched = (struct pmc_proc_sched){ .cpu_ns = 0 };
	return pid && read_task(tasks, pid, "schedstat", text, sizeof(text)) &&
	       pmc_proc_schedstat(text, sched) && sched->cpu_ns;
}

bool attach_thread_words(const struct attach *target, uint32_t tid, struct account_words *now)
{
	const struct attach_tasks *tasks = &target->tasks;
	const bool delay = target->control.os & 1u << PMC_OS_RUN_DELAY;
	const pid_t pid = our_tid(target, tid);
	struct pmc_usage usage = { 0 };
	struct pmc_proc_sched sched;
	char status[4096], stat[1024];

	*now = (struct account_words){ .of[ACCOUNT_WALL] = pmc_now_ns() };
	if (!sched_of(tasks, pid, &sched))
		now->unknown = ACCOUNT_BIT(ACCOUNT_CPU) | (delay ? ACCOUNT_BIT(ACCOUNT_DELAY) : 0);
	now->of[ACCOUNT_CPU] = sched.cpu_ns;
	if (delay)
		now->of[ACCOUNT_DELAY] = sched.delay_ns;
	if (pid && read_task(tasks, pid, "status", status, sizeof(status)) &&
	    read_task(tasks, pid, "stat", stat, sizeof(stat)) &&
	    pmc_task_status(status, tid, &usage) && pmc_task_stat(stat, &usage))
		account_put_usage(now, &usage);
	else
		now->unknown |= ACCOUNT_USAGE;
	return !(now->unknown & ACCOUNT_BIT(ACCOUNT_CPU));
}

/* ---- rows ---------------------------------------------------------------------------------*/
bool attach_module_of(const struct attach *target, uint64_t address, const char **path,
		      uint64_t *offset)
{
	*path = "";
	*offset = address;
	for (size_t i = 0; i < target->n_images; i++) {
		if (address < target->images[i].start || address >= target->images[i].end)
			continue;
		*path = target->images[i].path;
		*offset = address - target->images[i].start;
	}
	return **path;
}

void attach_row(struct attach *target, struct pmc_frame_buf *buf, struct slot *slot,
		bool own_routines)
{
	const struct snapshot_groups groups = snapshot_groups_of(&target->reader, slot);
	const bool phases = target->control.switched;
	struct account_words now = { .unknown = ACCOUNT_USAGE };
	struct pmc_thread_fixed *row;
	struct pmc_proc_sched sched;
	const char *module;
	uint64_t offset;

	/* The SITE frame of its start routine, as agent/thread/start_routine.c builds it; readers
	 * look the symbol up. */
	if (own_routines && slot->start.posix) {
		attach_module_of(target, (uint64_t)(uintptr_t)slot->start.posix, &module, &offset);
		slot->start_site = pmc_build_site(buf, offset, module, "");
	} else if (own_routines) {
		slot->start_site = 0;
	}
	row = snapshot_begin_row(&target->reader, buf, slot, PMC_THREAD_LIVE, phases);
	if (!row)
		return;
	if (row->created_stack && !attach_is_alive(target, slot))
		row->created_stack = 0;
	snapshot_put_groups(&target->reader, buf, &groups, &row->reason);
	if (target->control.os) {
		attach_thread_words(target, slot->tid, &now);
	} else {
		if (!sched_of(&target->tasks, our_tid(target, slot->tid), &sched))
			now.unknown |= ACCOUNT_BIT(ACCOUNT_CPU);
		now.of[ACCOUNT_CPU] = sched.cpu_ns;
	}
	now.of[ACCOUNT_WALL] = row->time_ns = pmc_now_ns();
	snapshot_put_words(&target->reader, slot, &now, row, phases);
	pmc_frame_end(buf);
}
