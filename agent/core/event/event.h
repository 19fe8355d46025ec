/* SPDX-License-Identifier: MIT */
/*
 * event.h - event strings (PMC_EVENTS, -e) to what perf_event_open needs.
 *
 * Grammar:  list  = item *( "," item )
 *           item  = "@" set [ ":" modifiers ] | event
 *                 | "{" event *( "," event ) "}" [ ":" modifiers ]
 *           event = name [ ":" modifiers ]          modifiers = u, k, D, each once
 * A comma inside pmu/.../ belongs to the event. Names are tried in the order: built-in table,
 * rNNN, pmu/field=value,.../, sys:name if tracefs has it, libpfm4 (loaded on demand).
 *
 * On hybrid CPUs an event that every core can count becomes one event for each type of core, side
 * by side and with the same position.
 */
#ifndef PMC_CORE_EVENT_EVENT_H
#define PMC_CORE_EVENT_EVENT_H

#include "agent/core/base/arena.h"

#include <pmc/dump.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMC_NO_BRACE (-1)

struct pmc_event {
	const char *name; /* as it was asked for, modifiers included */
	const char *unit; /* "" if none; "ns" for clocks; from the PMU's .unit */
	const char *pmu;  /* sysfs name of the PMU, "" for generic types */
	/* On hybrid CPUs the PMU of the one type of core that counts it; else "" or NULL. */
	const char *core_type;
	/* The CPUs that stand for the whole machine, "0,18", if its PMU knows no threads; else ""
	 * or NULL. */
	const char *cpus;
	uint32_t type; /* perf_event_attr */
	uint64_t config, config1, config2, config3;
	double scale;
	bool exclude_user, exclude_kernel;
	bool asked_scope;  /* :u or :k was given: never fall back to another scope */
	bool pinned;	   /* :D, as in perf: all of the time or not at all */
	int brace;	   /* number of its {...}, PMC_NO_BRACE outside */
	unsigned position; /* place in the user's list */
	unsigned sets;	   /* bit n: it is in the n-th row of sets.def and came (also) from there */
};

struct pmc_events {
	struct pmc_event *list;
	unsigned count;
	unsigned sets; /* bit n: the n-th row of sets.def was named */
};

enum pmc_parse_code {
	PMC_PARSE_OK = 0,
	PMC_PARSE_EMPTY,
	PMC_PARSE_SYNTAX,
	PMC_PARSE_UNKNOWN_EVENT,
	PMC_PARSE_UNKNOWN_SET,
	PMC_PARSE_UNKNOWN_PMU,
	PMC_PARSE_UNKNOWN_FIELD,
	PMC_PARSE_BAD_VALUE,
	PMC_PARSE_BAD_MODIFIER,
	PMC_PARSE_TOO_MANY,
	PMC_PARSE_NO_MEMORY,
};

struct pmc_parse_error {
	enum pmc_parse_code code;
	size_t offset;	/* of the offending text in the string */
	char text[256]; /* one clause, no newline: what is wrong, and the nearest name if any */
};

/* Where to look things up; tests point it at trees of their own. NULL members: the default. */
struct pmc_event_roots {
	const char *sysfs;   /* "/sys/bus/event_source/devices" */
	const char *tracefs; /* "/sys/kernel/tracing", then "/sys/kernel/debug/tracing" */
	bool no_pfm;	     /* do not load libpfm4 */
};

/* Parses `text` into `events`, memory from the arena. Returns 0, or -EINVAL with *error filled
 * (-ENOMEM likewise). Reads sysfs and tracefs, may dlopen libpfm4: not for signal handlers. */
int pmc_events_parse(const char *text, const struct pmc_event_roots *roots, struct pmc_arena *arena,
		     struct pmc_events *events, struct pmc_parse_error *error);

/* Whether the event takes a counter of a PMU: neither software nor tracepoint nor breakpoint. */
bool pmc_event_needs_pmu(const struct pmc_event *event);
/* Whether the event is counted by this type of core; NULL is "", no particular one. */
bool pmc_event_is_of_core(const struct pmc_event *event, const char *core_type);

/* The default list, PMC_EVENTS unset. */
extern const char pmc_events_default[];

/* One row of sets.def. */
struct pmc_event_set {
	const char *name;    /* without the '@' */
	const char *events;  /* event lists, the first that resolves is taken, separated by '|' */
	const char *metrics; /* names of metrics.def that the set is for, comma separated */
	const char *doc;
};

extern const struct pmc_event_set pmc_event_sets[];
extern const unsigned pmc_n_event_sets;

/* The row of "default", "cache", ...; -1: no such set. */
int pmc_event_set_find(const char *name, size_t len);

/* A name that needs no library. Aliases come as rows of their own. */
struct pmc_builtin {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *alias_of; /* NULL: this is the canonical name */
	const char *doc;
};

/* Calls visit for every built-in name; of the cache names' many spellings only perf's canonical
 * one. The row is valid during the call only. */
void pmc_builtins_each(void (*visit)(const struct pmc_builtin *row, void *arg), void *arg);

#endif
