/* SPDX-License-Identifier: MIT */
/* threads.c - rows of another process's threads, from its groups and from /proc. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "lib/base/proc.h"
#include "lib/dump/build.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CPU time that a thread without a tid in its slot cannot have used yet; as in
 * agent/thread/adopt.c. */
#define STARTING_NS 20000000u

struct attach_routine {
	uint64_t address, hash;
	UT_hash_handle hh;
};

/* ---- /proc/PID/task -----------------------------------------------------------------------*/
bool attach_read_task(const struct attach_tasks *tasks, pid_t pid, const char *name, char *text,
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

	if (!attach_read_task(tasks, pid, "status", text, sizeof(text)))
		return 0;
	pmc_proc_last(text, "NSpid", &tid);
	return (uint32_t)tid;
}

static int by_tid(const void *a, const void *b)
{
	const struct attach_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool add_task(struct attach *target, const char *name)
{
	struct attach_tasks *tasks = &target->tasks;
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct attach_task *list = tasks->list;

	if (pid <= 0)
		return true;
	if ((tasks->n & (tasks->n - 1)) == 0) {
		list = realloc(list, (tasks->n ? 2 * tasks->n : 1) * sizeof(*list));
		if (!list)
			return false;
		tasks->list = list;
	}
	list[tasks->n].pid = pid;
	list[tasks->n].tid = target->other_pid_namespace ? inner_tid(tasks, pid) : (uint32_t)pid;
	tasks->n++;
	return true;
}

int attach_tasks_open(struct attach *target)
{
	struct attach_tasks *tasks = &target->tasks;
	struct dirent *entry;
	bool whole = true;
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
	while (dir && whole && (entry = readdir(dir)))
		whole = add_task(target, entry->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (!dir || !whole)
		return tool_fail(EXIT_FAIL, "out of %s", whole ? "descriptors" : "memory");
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

/* CPU time from schedstat; up to a tick old for a running thread. */
bool attach_cpu_of(const struct attach_tasks *tasks, pid_t pid, uint64_t *ns)
{
	struct pmc_proc_sched sched;
	char text[128];

	*ns = 0;
	if (!pid || !attach_read_task(tasks, pid, "schedstat", text, sizeof(text)) ||
	    !pmc_proc_schedstat(text, &sched))
		return false;
	*ns = sched.cpu_ns;
	/* 0: a kernel without CONFIG_SCHED_INFO. Every thread here has run. */
	return *ns != 0;
}

/* ---- rows ---------------------------------------------------------------------------------*/
/* The ID here of a thread of the process; 0: unknown. */
pid_t attach_our_tid(const struct attach *target, uint32_t tid)
{
	const struct attach_task *task, key = { .tid = tid };

	/* Not in the list: a thread that has started since. */
	if (!target->other_pid_namespace)
		return (pid_t)tid;
	task = target->tasks.n ?
		       bsearch(&key, target->tasks.list, target->tasks.n, sizeof(key), by_tid) :
		       NULL;
	return task ? task->pid : 0;
}

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

/* The SITE frame of a start routine, as agent/thread/start_routine.c builds it; readers look the
 * symbol up. */
static uint64_t start_routine(struct attach *target, struct pmc_frame_buf *buf, uint64_t address)
{
	struct pmc_arena *arena = &target->arena;
	struct attach_routine *routine;
	const char *module;
	uint64_t offset;

	if (!address)
		return 0;
	HASH_FIND(hh, target->routines, &address, sizeof(address), routine);
	if (routine)
		return routine->hash;
	attach_module_of(target, address, &module, &offset);
	routine = pmc_arena_alloc(arena, sizeof(*routine));
	if (!routine)
		return 0;
	routine->hash = pmc_build_site(buf, offset, module, "");
	routine->address = address;
	HASH_ADD(hh, target->routines, address, sizeof(address), routine);
	return routine->hash;
}

void attach_row(struct attach *target, struct pmc_frame_buf *buf, struct slot *slot,
		bool own_routines)
{
	const struct snapshot_groups groups = snapshot_groups_of(&target->reader, slot);
	const bool phases = target->control.switched;
	struct account_words now = { .unknown = ACCOUNT_USAGE };
	struct pmc_thread_fixed *row;

	if (own_routines)
		slot->start_site =
			start_routine(target, buf, (uint64_t)(uintptr_t)slot->start.posix);
	row = snapshot_begin_row(&target->reader, buf, slot, PMC_THREAD_LIVE, phases);
	if (!row)
		return;
	if (row->created_stack && !attach_is_alive(target, slot))
		row->created_stack = 0;
	snapshot_put_groups(&target->reader, buf, &groups, &row->reason);
	if (target->control.os)
		attach_thread_words(target, slot->tid, &now);
	else if (!attach_cpu_of(&target->tasks, attach_our_tid(target, slot->tid),
				&now.of[ACCOUNT_CPU]))
		now.unknown |= ACCOUNT_BIT(ACCOUNT_CPU);
	now.of[ACCOUNT_WALL] = row->time_ns = pmc_now_ns();
	snapshot_put_words(&target->reader, slot, &now, row, phases);
	pmc_frame_end(buf);
}

void attach_adopted(struct attach *target, const struct attach_task *task,
		    struct pmc_frame_buf *buf)
{
	const struct attach_tasks *tasks = &target->tasks;
	struct pmc_thread_fixed row = {
		/* Above all that the agent assigns, and the same in every snapshot. */
		.seq = PMC_SEQ_OUTSIDE + task->tid,
		.tid = task->tid,
		.state = PMC_THREAD_LIVE,
		.flags = PMC_THREAD_ADOPTED | PMC_THREAD_NO_RUSAGE,
		.created_by = PMC_NO_SEQ,
		.eventset = target->control.eventset,
		.n_groups = (uint16_t)target->registry.n_groups,
		.reason = PMC_REASON_ADOPTED,
	};
	const struct pmc_reading none = { .error = PMC_REASON_ADOPTED };
	char name[32];

	/* Soon it has a row of its own; after an exec its clock has the time of earlier images,
	 * too. */
	if (target->starting && (int32_t)task->tid == target->control.pid)
		return;
	if (attach_knows(target, task->tid) ||
	    !attach_read_task(tasks, task->pid, "comm", name, sizeof(name)))
		return;
	if (!attach_cpu_of(tasks, task->pid, &row.cpu_ns) ||
	    (row.cpu_ns < STARTING_NS && target->starting))
		return;
	/* Its clock was not read when counting was switched. */
	if (target->control.switched) {
		row.flags |= PMC_THREAD_NO_CPU;
		row.cpu_ns = 0;
	}
	memcpy(row.name, name, strnlen(name, sizeof(row.name) - 1));
	row.time_ns = pmc_now_ns();
	pmc_begin_thread(buf, target->control.identity, target->control.snapshot, &row);
	for (unsigned g = 0; g < row.n_groups; g++)
		pmc_put_reading(buf, &none, NULL);
	pmc_frame_end(buf);
}
