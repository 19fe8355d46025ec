/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a thread that is read again and again: what it did in the last interval, and where it
 * waits.
 *
 * The files of a thread stay open, which makes a reading five times as fast and keeps it apart
 * from a later thread with the same ID. Threads that did not run cost one short read.
 */
#pragma once

#include "tools/live/task.h"

#include <stddef.h>

#define LIVE_WCHAN 48

enum live_file {
	LIVE_SCHEDSTAT,
	LIVE_STAT,
	LIVE_STATUS,
	LIVE_WAIT,
	LIVE_CHILDREN,
	LIVE_FILES,
};

/* Shared by all threads. */
struct live_budget {
	unsigned most, open; /* how many files may be kept open, and are */
	/* With many threads the switches of one that runs are read in every so many readings (0 is
	 * 1): they take as long as all the rest. brief: so are its name, state and place. */
	unsigned turns, reading; /* reading: the caller counts them */
	bool brief;
	uint64_t now_ns; /* time of the readings, so that intervals of all threads are the same; 0:
			  * each has its own */
};
#define LIVE_MANY_RUN 250

/* One interval; sums of several threads have `ns` of all of them. */
struct live_span {
	uint64_t ns, cpu_ns, delay_ns, blocked_ns;
	uint64_t voluntary, involuntary, minor_faults, major_faults;
	uint64_t user_ns, system_ns; /* in units of 10 ms */
};

struct live_task {
	pid_t pid, tid;
	int fds[LIVE_FILES]; /* -1: not open */
	struct pmc_proc_stat stat;
	struct live_waits waits;
	char wchan[LIVE_WCHAN]; /* kernel function it sleeps in; "": not asleep, or not permitted */
	uint64_t read_ns;	/* when the interval ended; 0: never */
	uint64_t file_ns;	/* when a file was read */
	unsigned retries;	/* of wchan */
	bool owes;		/* it has run since; its switches are estimates */
	uint64_t voluntary, involuntary; /* as they were read */
	double voluntary_share;		 /* between the last two of these readings */
	/* Run delay as the kernel has added it, and how much of it before the first reading. */
	uint64_t charged_ns, charged_before_ns;
	int64_t off_ns; /* off the CPU since then; CPU time that is added late is in it too */
	bool waited;	/* perhaps for a CPU, at the first reading and since */
	bool known;	/* `span` has a meaning */
	struct live_span span;
};

/* Raises the limit of descriptors and takes half of it. */
void live_budget_init(struct live_budget *budget);
void live_task_init(struct live_task *task, pid_t pid, pid_t tid);
/* since_ns: the first reading of a thread that has started after this time is an interval too; 0:
 * of none. 0; -ESRCH: it has ended; -errno. */
int live_task_read(struct live_task *task, uint64_t since_ns, struct live_budget *budget);
/* The next interval, without a reading, of a thread that an event shows not to have run since the
 * last one. False: it has to be read all the same. */
bool live_task_slept(struct live_task *task, const struct live_budget *budget);
/* The IDs of the processes that it has started (needs CONFIG_PROC_CHILDREN), as text. The length or
 * -errno. */
int live_task_children(struct live_task *task, struct live_budget *budget, char *text, size_t cap);
void live_task_close(struct live_task *task, struct live_budget *budget);

void live_span_add(struct live_span *sum, const struct live_span *span);

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
/* Whether it is running or waits for a CPU. */
static inline bool live_is_runnable(const struct live_task *task)
{
	return task->stat.state == 'R';
}
