/* SPDX-License-Identifier: MIT */
/*
 * summary.h - the summary at the end of a job: threads of its first process, read from the dump.
 *
 * The dump is read twice: first each thread's and process's newest frame is found, then those
 * frames are added up. All memory is the arena's. Async-signal-safe.
 */
#ifndef PMC_AGENT_PROCESS_SUMMARY_H
#define PMC_AGENT_PROCESS_SUMMARY_H

#include "lib/base/arena.h"
#include "lib/base/screen.h"
#include "lib/dump/frame.h"

struct pmc_out;

enum {
	SUMMARY_THREADS = 20, /* at most so many threads have a row each; more become pools */
	SUMMARY_POOLS = 256,  /* further pools are in one row */
};

struct summary_cell {
	uint64_t sum;
	bool known;  /* of at least one thread */
	bool lacks;  /* not known of another one */
	bool scaled; /* an estimate: multiplexed */
};

enum { SUMMARY_CPU, SUMMARY_VOLUNTARY, SUMMARY_INVOLUNTARY, SUMMARY_FAULTS, SUMMARY_EVENTS };

struct summary_row {
	char name[20], pool[20]; /* pool: with digits as '*' */
	bool many_names;
	uint32_t tid; /* of its first thread */
	uint64_t threads;
	struct summary_cell cells[SUMMARY_EVENTS + PMC_EVENTS_MAX];
};

enum summary_state { SUMMARY_NO_EVENT, SUMMARY_NOT_COUNTED, SUMMARY_COUNTED, SUMMARY_OF_MACHINE };

/* An event that was asked for, perhaps counted in a part for each type of core. */
struct summary_event {
	enum summary_state state;
	unsigned parts;
	struct pmc_event_def def; /* of its last part */
	const char *name, *unit;  /* without NUL */
	size_t name_len, unit_len;
};

struct summary_part {
	unsigned event;
	uint16_t group;
	bool opened;
};

struct summary_newest;

struct summary {
	struct pmc_arena arena;
	const uint8_t *job, *identity; /* identity: of the image that prints it */
	bool adds;		       /* the second reading */
	/* The newest frames, by process and thread: a hash table. */
	struct summary_newest *table;
	size_t table_n, table_room;
	bool failed; /* no memory */
	/* The events of the first process, in the order in which they were asked for. */
	uint64_t eventset; /* 0: none */
	unsigned n_events, n_parts;
	struct summary_event events[PMC_EVENTS_MAX];
	struct summary_part parts[PMC_EVENTS_MAX];
	/* The result: rows in any order, and what exceeds the table. */
	bool pools;
	unsigned n_rows;
	struct summary_row rows[SUMMARY_POOLS], rest;
	uint64_t counted;		    /* threads */
	uint64_t seen, cpu_ns, overhead_ns; /* sums of the first process's images */
	uint64_t start_ns, end_ns, off_ns;
	uint64_t children, children_cpu_ns;
	uint64_t waited_cpu_ns; /* of children that the first process waited for */
};

/* events: an EVENTSET frame of the agent's own; NULL: none. A new summary, NULL without memory. The
 * arguments must outlive it. */
struct summary *summary_new(const uint8_t job[16], const uint8_t identity[16], const void *events,
			    size_t bytes);
void summary_free(struct summary *summary);
void summary_add_row(struct summary_row *to, const struct summary_row *row);
/* Takes a frame; of pmc_scan_fd()'s form. After all frames once: set summary->adds, and again. 0 or
 * -ENOMEM. */
int summary_take(const struct pmc_frame *frame, void *summary);

struct summary_form {
	struct pmc_screen screen;
	bool rows;	     /* of threads or pools; without: sums only */
	bool default_events; /* nobody asked for them: those not counted have no column */
	const char *command; /* the command line */
	const char *dump;    /* file that keeps the run; NULL: none does */
	const char *wanted;  /* the form of a report that only pmctl makes; NULL: none */
};

/* summary_print.c */
void summary_print(struct summary *summary, const struct summary_form *form, struct pmc_out *out);

#endif
