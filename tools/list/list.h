/* SPDX-License-Identifier: MIT */
/* list.h - common parts of pmctl list: rows of events, their sources, and fitting. */
#pragma once

#include "lib/base/arena.h"
#include "lib/event/event.h"
#include "lib/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- the list -----------------------------------------------------------------------------*/
struct list_answer {
	bool available;
	const char *reason; /* why not, or with what restriction; NULL: none */
	const char *fix;    /* NULL: none */
};

struct list_row {
	const char *pmu; /* NULL: none */
	const char *name;
	const char *type; /* hardware, software, cache, sysfs, tracepoint, libpfm4, set, other */
	const char *description;
	struct list_answer answer;
};

struct list {
	struct pmc_arena arena;
	struct list_row *rows;
	unsigned n;
	size_t room;
	const char *glob; /* NULL: every event */
	struct pmc_event_roots roots;
	const char *core_pmu;  /* the processor's PMU in sysfs; NULL: none */
	struct pmc_here *here; /* read when an open is refused */
};

/* Set `glob` before, the rest is 0. */
void list_init(struct list *list);
void list_free(struct list *list);
/* Whether the glob selects the name: events that it does not select are not opened. */
bool list_wants(const struct list *list, const char *name);
/* Copies pmu, name and description, but neither type nor reason. */
void list_add(struct list *list, const struct list_row *row);
void list_sort(struct list *list, unsigned first);

/* Opens the event on the calling thread or, with cpu >= 0, for that CPU. */
struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu);
/* Why the kernel refuses the event for the calling thread. */
struct list_answer list_refusal(struct list *list, const struct pmc_planned *planned);

/* All rows: from each source. */
void list_all(struct list *list);
/* The sources of rows: all that the OS has beside the built-in events. */
void list_machine(struct list *list);
void list_sysfs(struct list *list);
void list_tracepoints(struct list *list);
void list_pfm(struct list *list);

/* ---- a table of counter masks --------------------------------------------------------------*/
struct list_mask {
	const char *name;
	const char *alias; /* NULL: none */
	uint64_t mask;
};

struct list_table {
	struct list_mask *rows; /* in the arena */
	unsigned n;
	size_t room;
};

/* Reads a file of tab-separated `name alias counter_mask`; names live in the arena. 0, or the exit
 * code of an error that has been printed. */
int list_table_read(struct list_table *table, const char *path, struct pmc_arena *arena);

/* ---- fitting --------------------------------------------------------------------------------*/
struct list_fit_event {
	const char *asked;  /* the name as given */
	const char *name;   /* of several equal ones the second gets "#2", and so on */
	int counter;	    /* in its pass; -1: not known */
	unsigned pass;	    /* from 0 */
	const char *reason; /* why it cannot be counted; NULL: it can */
	uint32_t code;	    /* enum pmc_reason, with a reason of kperfdata */
};

struct list_fit {
	struct list list; /* for its memory, and what it knows of this machine */
	struct list_fit_event events[PMC_EVENTS_MAX];
	unsigned n;
	uint64_t
		clash; /* bits: a smallest set of events that cannot be counted together; 0: none */
	unsigned passes, lower_bound;
	bool known_counters; /* masks were given: counters are known and the bound is exact */
	const char *remark;  /* about the machine; NULL: none */
};

/* 0, or the exit code of an error that has been printed. */
int list_fit_db(struct list_fit *fit, const char *events, const char *path);
int list_fit_host(struct list_fit *fit, const char *events);
/* Whether the events, given as bits, count at the same time: 1, 0, or -errno if that cannot be
 * determined. */
typedef int list_together(void *arg, uint64_t events);
/* Finds passes and a clash by trying; 0 or -errno. */
int list_fit_try(struct list_fit *fit, uint64_t events, list_together *together, void *arg);
/* Names event i; equal names are neighbours. */
void list_fit_name(struct list_fit *fit, unsigned i, const char *name);
struct tool_rows;
int list_fit_print(const struct list_fit *fit, struct tool_rows *rows);
