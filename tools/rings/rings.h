/* SPDX-License-Identifier: MIT */
/*
 * rings.h - a ring on each CPU for events of the machine, of processes with all that they start, or
 * of a command, and their records in the order of time.
 *
 * An inherited event has a ring only if it is bound to a CPU, so a thread has its events on each
 * CPU; those of one CPU share its ring. The owner opens the events and takes the records. For one
 * thread.
 */
#pragma once

#include "lib/base/arena.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"
#include "tools/live/wait.h"

#include <pmc/sampler.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ring {
	int cpu;
	struct pmc_sampler *sampler; /* NULL: the CPU went offline */
	struct pmc_counter **counters;
	size_t n_counters, room_counters;
	uint64_t records, lost; /* samples taken; records reported as lost */
	uint64_t last_ns;	/* of the last record before these */
};

/* What the owner does; functions return 0, a negative errno with *why, or the exit code after a
 * message. */
struct rings_use {
	const char *verb; /* in "cannot VERB <event>" */
	/* Opens the events of a thread (0: of all) on the ring's CPU, disabled, each handed to
	 * rings_add(). */
	int (*open)(void *owner, struct ring *ring, pid_t tid, struct pmc_failure *why);
	/* Any record but PERF_RECORD_LOST. */
	void (*take)(void *owner, const struct pmc_record *record);
	/* So many records of the ring were lost, after ring->last_ns. */
	void (*lose)(void *owner, struct ring *ring, uint64_t lost);
	/* Before a wait. False: nothing more is wanted. */
	bool (*flush)(void *owner);
	/* When the events have been disabled, before the last records are taken. NULL: nothing. */
	void (*stopped)(void *owner);
};

struct rings {
	/* Set by the owner. */
	const struct rings_use *use;
	void *owner;
	char **command;			   /* NULL: none */
	const struct live_tids *processes; /* with all that they start; NULL: none */
	pid_t thread;			   /* alone; 0: none */
	int cgroup_fd;			   /* 0: none; else all CPUs, while it runs on them */
	const char *cpus;		   /* of the machine only these; NULL: all */
	bool machine;			   /* events of the machine, whatever the target is */
	unsigned asked_pages, pages;	   /* of a ring: by the user, 0: not; in use */
	uint64_t settle_ns;		   /* as of pmc_sampler_set_new() */
	uint64_t duration_ns;		   /* 0: without end */
	int slice_ms;			   /* records are read at least so often; 0: 100 */

	struct pmc_arena arena;
	struct pmc_sampler_set *set;
	struct ring *list;
	unsigned n;
	struct tool_child child; /* the command; its socket is -1 before */
	struct live_wait wait;
	int nice;	     /* before the recording */
	unsigned enables;    /* calls of rings_enable() that had an effect */
	uint64_t enabled_ns; /* the last one */
	uint64_t end_ns;     /* 0: none */
	uint64_t stopped_ns; /* when the events were disabled, before the last records are read */
	uint64_t late;	     /* records out of order */
};

/* The exit code of a failure before the command has started. */
int rings_failed(const struct rings *rings);
/* Opens rings and events; follow: and begins to wait for signals. Without, rings->child is started
 * and followed by the owner. 0, or the exit code after a message. */
int rings_open(struct rings *rings, bool follow);
/* Starts the events. Of processes it is to be called again while they are recorded: a fork that is
 * under way may give the child an event that is off and that the first call does not see yet. At a
 * switch from parent to child the kernel exchanges their events, so a process that forks all the
 * time may go on with the one that is off (1 of 10 shell loops lost the records of a CPU). The
 * second and third call, 2 ms apart, find such events; later ones do nothing. 0, or a negative
 * errno. kernel/events/core.c, inherit_event(), perf_event_context_sched_out(). */
int rings_enable(struct rings *rings);
/* Options of an event of one thread (0: of all) on the ring's CPU, which samples, without a stack,
 * each time it occurs. */
void rings_options(const struct rings *rings, const struct ring *ring, pid_t tid,
		   struct pmc_open_options *options);
/* Opens an event, with as many of these options, and PMC_READ_FORMAT_LOST, as the kernel has, which
 * writes to the ring: the newest of its counters. As rings_use.open. */
int rings_add(struct rings *rings, struct ring *ring, const struct pmc_counter_event *event,
	      struct pmc_open_options *options, struct pmc_failure *why);
/* From the start of the recording to its end: SIGINT, SIGTERM or SIGHUP (of a command: is forwarded
 * to it), the end of the command, of all threads, or of the time. Then the rings are emptied. 0, or
 * the exit code after a message. */
int rings_follow(struct rings *rings);
void rings_close(struct rings *rings);
