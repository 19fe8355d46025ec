/* SPDX-License-Identifier: MIT */
/* list.h - what the parts of pmctl list share: rows of events, their sources, fitting. */
#ifndef PMC_TOOLS_LIST_LIST_H
#define PMC_TOOLS_LIST_LIST_H

#include "agent/core/base/arena.h"
#include "agent/core/event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- the list -----------------------------------------------------------------------------*/
struct list_row {
	const char *pmu; /* NULL: of no PMU */
	const char *name;
	const char *type; /* hardware, software, cache, sysfs, tracepoint, libpfm4, set */
	const char *description;
	bool available;
	const char *reason; /* why not, or with what restriction; NULL: nothing to say */
};

struct list {
	struct pmc_arena arena;
	struct list_row *rows;
	unsigned n, room;
	const char *glob; /* NULL: every event */
	struct pmc_event_roots roots;
	const char *core_pmu;	   /* its name in sysfs; NULL: this machine shows none */
	struct pmc_here *here;	   /* once something was refused */
	struct list_verdict *verdicts;
};

/* Whether an event opens here. */
struct list_answer {
	bool available;
	const char *reason;
};

/* Finds out where things are. */
void list_init(struct list *list);
void list_free(struct list *list);
/* Whether the name is asked for; to be known before anything is opened for it. */
bool list_wants(const struct list *list, const char *name);
/* Copies pmu, name and description; type and reason stay the caller's. */
void list_add(struct list *list, const struct list_row *row);
/* Text in the list's arena; "" if there is no memory (arena.failed says so). */
const char *list_text(struct list *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Tries to open the event on the calling thread or, cpu >= 0, machine-wide there; once for each
 * encoding. */
struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu);
/* One clause for what a refused open of such an event means. */
const char *list_refusal(struct list *list, uint32_t type, int error);

/* The first CPU on which events of this PMU of sysfs are opened; -1: they are opened on any
 * thread. "" is no such PMU. */
int list_pmu_cpu(struct list *list, const char *pmu);

/* The sources of rows. */
void list_builtins(struct list *list);
void list_sysfs(struct list *list);
void list_tracepoints(struct list *list);
void list_pfm(struct list *list);
void list_sets(struct list *list);

int list_print_json(const struct list *list);
void list_print_table(const struct list *list);

/* ---- a database of counter masks ------------------------------------------------------------*/
struct list_db_event {
	const char *name;
	const char *alias; /* NULL: none */
	uint64_t mask;
};

struct list_db {
	struct list_db_event *events;
	unsigned n;
	struct list_db_name *names; /* names and aliases, by text */
	struct pmc_arena arena;
};

/* Reads a file of tab-separated `name alias counter_mask`. 0, or the exit code of an error that
 * has been told. */
int list_db_read(struct list_db *db, const char *path);
void list_db_free(struct list_db *db);
/* Its index, or -1. */
int list_db_find(const struct list_db *db, const char *name);
const char *list_db_nearest(const struct list_db *db, const char *name);

/* ---- fitting --------------------------------------------------------------------------------*/
struct list_fit_event {
	const char *name;   /* as asked for; the second of two equal ones has "#2" behind it */
	int counter;	    /* in its pass; -1: not known */
	unsigned pass;	    /* from 0 */
	const char *reason; /* why it cannot be counted at all; NULL: it can */
};

struct list_fit {
	struct pmc_arena arena;
	struct list_fit_event events[PMC_EVENTS_MAX];
	unsigned n;
	uint64_t clash; /* events that cannot be counted together, as few as make a clash */
	unsigned passes, lower_bound;
	bool known_counters; /* masks were given: counters are known, and the bound is exact */
	uint64_t proof_events, proof_counters;
	const char *remark; /* about the machine; NULL: none */
};

/* 0, or the exit code of an error that has been told. */
int list_fit_db(struct list_fit *fit, const char *events, const char *path);
int list_fit_host(struct list_fit *fit, const char *events);
int list_fit_print(const struct list_fit *fit, bool json);

#endif
