/* SPDX-License-Identifier: MIT */
/*
 * task.h - threads of other processes as /proc shows them: lists of them, and what one that is read
 * again and again did in the last interval, and where it waits.
 *
 * The files of a thread stay open, which makes a reading five times as fast and keeps it apart
 * from a later thread with the same ID. Threads that did not run cost one short read.
 */
#pragma once

#include "lib/base/map.h"
#include "lib/base/proc.h"
#include "tools/live/delay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the threads of a process ------------------------------------------------------------- */

/* All zero: empty. */
struct live_tids {
	pid_t *list; /* ascending */
	unsigned n;
	size_t room;
};

/* 0; the exit code after an error message if there is no such process, it is a thread, or it has
 * ended and only waits for its parent to reap it. */
int live_refuse(pid_t pid);
/* The ID of a `pmctl run`, also of one that is starting, becomes that of the program it measures,
 * and a warning says so. has_started: whether not to wait any longer for the program; NULL: its
 * exec is enough. 0, or the exit code after an error message. */
int live_program(pid_t *pid, bool (*has_started)(pid_t program));
/* Whether the process has ended, and its parent has not reaped it yet. */
bool live_is_zombie(pid_t pid);
bool live_pidfd_ended(int pidfd);
/* Whether it is the ID of a thread that is not the main one of its process. */
bool live_is_thread(pid_t pid);
/* The stat file of a thread. False: it has ended. */
bool live_stat_read(pid_t tid, struct pmc_proc_stat *stat);
/* 0; -ESRCH: there is no such process; -errno. Memory is used again by the next call. */
int live_tids_read(pid_t pid, struct live_tids *tids);
/* Appends the processes that a thread has started, and those of its threads that have ended, as far
 * as the kernel lists them (CONFIG_PROC_CHILDREN). */
void live_children_add(pid_t tid, struct live_tids *pids);
/* live_tids_read() with the threads of all its descendants, but for pmctl itself. */
int live_tree_read(pid_t pid, struct live_tids *tids);
/* The same of several processes; those that have ended are left out, unless all have. */
int live_trees_read(const struct live_tids *pids, struct live_tids *tids);
/* The same without the other threads of these processes. */
int live_tree_pids(pid_t pid, struct live_tids *pids);
/* The processes of a list such as "12,34" and those whose program has that name, by its comm or its
 * file; either may be NULL. 0, or the exit code after an error message. */
int live_find(const char *list, const char *glob, struct live_tids *found);
/* The directory of a cgroup, for perf events and the next function. 0, or the exit code after an
 * error message. */
int live_cgroup_open(const char *name, int *fd);
/* The threads in it and below it, in no order. */
void live_cgroup_threads(int fd, struct live_tids *tids);
bool live_has_children(pid_t pid);
void live_tids_add(struct live_tids *tids, pid_t tid);
bool live_tids_have(const struct live_tids *tids, pid_t tid);
bool live_tids_have_all(const struct live_tids *tids, const struct live_tids *of);
void live_tids_free(struct live_tids *tids);

/* ---- times -------------------------------------------------------------------------------- */

/* CPU time of a process with its ended threads, up to date; 0: unknown, as after its end. */
uint64_t live_process_cpu_ns(pid_t pid);

#define LIVE_NAME    PMC_PROC_NAME
#define LIVE_TICK_NS PMC_TICK_NS
/* On CLOCK_MONOTONIC, at most a tick before the start of the thread. */
uint64_t live_start_ns(const struct pmc_proc_stat *stat);

/* ---- readings of one thread --------------------------------------------------------------- */

#define LIVE_WCHAN 48

enum live_file {
	LIVE_SCHEDSTAT,
	LIVE_STAT,
	LIVE_STATUS,
	LIVE_WAIT,
	LIVE_FILES,
};

/* Shared by all threads. */
struct live_budget {
	unsigned most, open; /* how many files may be kept open, and are */
	uint64_t now_ns; /* time of the readings, so that intervals of all threads are the same; 0:
			  * each has its own */
	bool no_switches, no_wchan; /* their files, which take the most time, are not read */
};

/* Of one interval, or since the start; sums of several threads have `ns` of all of them. */
struct live_span {
	/* On a CPU and waiting for one, from schedstat (Documentation/scheduler/sched-stats.rst):
	 * up to date as of the last tick or switch. A wait that goes on is included as far as it is
	 * known. */
	uint64_t ns, cpu_ns, delay_ns, blocked_ns;
	uint64_t voluntary, involuntary; /* switches */
	uint64_t minor_faults, major_faults;
	uint64_t user_ns, system_ns; /* in units of 10 ms */
	bool lacks; /* waits and switches between the last reading of a thread and its end */
};

struct live_task {
	pid_t pid, tid;
	int fds[LIVE_FILES]; /* -1: not open */
	struct pmc_proc_stat stat;
	struct live_span sum;	/* since its start; ns, delay_ns, blocked_ns: the first reading */
	uint64_t slices;	/* how often it got a CPU */
	char wchan[LIVE_WCHAN]; /* kernel function it sleeps in; "": not asleep, or not permitted */
	uint64_t read_ns;	/* when the interval ended; 0: never */
	unsigned retries;	/* of wchan */
	uint64_t charged_ns;	/* run delay as the kernel has added it */
	struct live_delay delay;
	bool known; /* `span` has a meaning */
	struct live_span span;
};

/* Raises the limit of descriptors and takes half of it. */
void live_budget_init(struct live_budget *budget);
void live_task_init(struct live_task *task, pid_t pid, pid_t tid);
/* since_ns: the first reading of a thread that has started after this time is an interval too; 0:
 * of none. 0; -ESRCH: it has ended; -errno. */
int live_task_read(struct live_task *task, uint64_t since_ns, struct live_budget *budget);
void live_task_close(struct live_task *task, struct live_budget *budget);

void live_span_add(struct live_span *sum, const struct live_span *span);
/* What came to a sum since an earlier value of it. */
struct live_span live_span_since(const struct live_span *now, const struct live_span *before);

/* Time blocked in a function of the kernel, as far as one look per interval shows. */
struct live_place {
	char name[LIVE_WCHAN]; /* "": none */
	uint64_t ns;
};
#define LIVE_PLACES 4 /* of a row; others are not kept */
void live_place_add(struct live_place *places, const char *name, uint64_t ns);
/* The one with the most time. */
const struct live_place *live_place_most(const struct live_place *places);
/* Key of the pool of threads whose names differ in digits only; its name has LIVE_NAME bytes. */
uint64_t live_pool_key(const char *thread, char *name);
/* The same; *name, of a thread, becomes that of its pool: of its threads, while all that `pools`
 * has seen have the same. */
uint64_t live_pool_take(struct pmc_map *pools, struct pmc_arena *arena, const char **name);
/* Run delay since its start; `sum` has that since the first reading. */
static inline uint64_t live_delay_ns(const struct live_task *task)
{
	return task->delay.charged_before_ns + task->sum.delay_ns;
}
/* Whether it is running or waits for a CPU. */
static inline bool live_is_runnable(const struct live_task *task)
{
	return task->stat.state == 'R';
}
