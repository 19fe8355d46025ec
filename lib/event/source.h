/* SPDX-License-Identifier: MIT */
/*
 * source.h - shared by the sources of event names: the parse, spans, errors.
 *
 * For lib/event, the counting library, and what searches tracefs.
 */
#pragma once

#include "lib/base/file.h"
#include "lib/base/suggest.h"
#include "lib/event/event.h"

enum { EVENT_NOT_MINE = 0, EVENT_FOUND = 1 };

#define EVENT_NAME_MAX	96
#define EVENT_CORES_MAX 8

/* A piece of the user's text (or of a sysfs file); not NUL-terminated. at NULL: there is none. */
struct event_span {
	const char *at;
	size_t len;
};

/* For %.*s in an error text. */
#define EVENT_SHOW(span) (int)((span).len < 64 ? (span).len : 64), (span).at

/* libpfm4 while a parse needs it. */
struct event_pfm {
	void *library;
	bool tried;
	bool shared; /* the host had it loaded: never terminated here */
	int (*initialize)(void);
	void (*terminate)(void);
	int (*encode)(const char *name, int levels, int os, void *arg);
	const char *(*strerror)(int code);
};

/* The PMUs of the CPU's cores, by type number: one for each type of core. */
struct event_cores {
	bool known;
	unsigned n; /* 0: all cores are alike */
	struct event_core {
		const char *name;
		uint32_t type;
	} list[EVENT_CORES_MAX];
};

struct event_parse {
	const char *text; /* what offsets are counted from */
	struct pmc_event_roots roots;
	struct pmc_arena *arena;
	struct pmc_events *events;
	struct pmc_parse_error *error;
	int braces;		    /* numbers given out */
	unsigned position;	    /* likewise */
	int set;		    /* row of sets.def being expanded, -1 outside */
	bool named[PMC_EVENTS_MAX]; /* named by the user, not only by a set */
	struct event_pfm pfm;
	struct event_cores cores;
};

/* ---- text.c ------------------------------------------------------------------------*/
/* Fills the error in, without control characters, cut if too long; returns it (-errno). */
int event_fail(struct event_parse *parse, int error, const char *at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
struct event_span event_span_of(const char *text);
bool event_span_is(struct event_span span, const char *word);
struct event_span event_trim(struct event_span span);
/* Removes the first n characters. */
struct event_span event_skip(struct event_span span, size_t n);
/* Up to the first `c` of *rest, which then starts behind it; all of it if there is none, and *rest
 * is then no span. */
struct event_span event_split(struct event_span *rest, char c);
bool event_has(struct event_span span, char c);
/* Digits in base 10 or, with 0x, 16: false if anything else, or more than 64 bits. */
bool event_number(struct event_span span, uint64_t *value);
bool event_hex(struct event_span span, uint64_t *value);
/* Applies modifiers to the event, if the span is one; `whole` is named in a refusal. 0 or -EINVAL.
 */
int event_modify(struct event_parse *parse, struct event_span modifiers, struct event_span whole,
		 struct pmc_event *event);
/* The name as asked for, with what a brace or a set added to its modifiers. NULL: no memory. */
const char *event_full_name(struct event_parse *parse, struct event_span item,
			    const struct pmc_event *event, struct event_span added);
/* Whether the span is nothing but letters of modifiers. */
bool event_is_modifiers(struct event_span span);
/* May be one component of a path: [A-Za-z0-9_.-], no leading dot. */
bool event_is_file_name(struct event_span span);

/* ---- the sources --------------------------------------------------------------------------*/
bool event_builtin(struct event_span name, struct pmc_event *event);
bool event_raw(struct event_span name, struct pmc_event *event);
/* The item as a whole, pmu/terms/modifiers. 0 or -EINVAL. */
int event_pmu(struct event_parse *parse, struct event_span item, struct pmc_event *event);
/* The type number of a PMU in sysfs; false: there is no such PMU. */
bool event_pmu_type(const char *sysfs, struct event_span pmu, uint32_t *type);
/* The PMU of a type number that is not one of PERF_TYPE_*. False: there is none. */
bool event_pmu_of_type(const char *sysfs, uint32_t type, char name[EVENT_NAME_MAX]);
/* Parses a format such as "config1:0-7,32-35" into a word of the event and a mask. */
bool event_format(struct pmc_event *event, const char *text, uint64_t **word, uint64_t *mask);
/* EVENT_FOUND, EVENT_NOT_MINE, or the -errno for which tracefs cannot be read; -ENOENT: it is not
 * mounted. */
int event_tracepoint(const struct pmc_event_roots *roots, struct event_span sys,
		     struct event_span name, struct pmc_event *event);
/* The error to return for that -errno, with the reason and the fix in text. */
int event_tracefs_error(const struct pmc_event_roots *roots, int error, char text[PMC_PATH_MAX]);
/* The tracefs in use, for texts and searches. */
const char *event_tracefs(const struct pmc_event_roots *roots);

/* EVENT_FOUND; EVENT_NOT_MINE: *why is the reason, NULL if libpfm4 is not to be asked; or -EINVAL.
 */
int event_pfm(struct event_parse *parse, struct event_span name, struct pmc_event *event,
	      const char **why);
void event_pfm_close(struct event_parse *parse);

struct event_nearest {
	const struct pmc_event_roots *roots;
	struct pmc_nearest best;
	/* Around the names that are tried, in a suggestion. */
	char prefix[EVENT_NAME_MAX];
	const char *suffix;
	char text[2 * EVENT_NAME_MAX + 32]; /* "; nearest is 'x'", or "" while nothing is near */
};

void event_nearest_init(struct event_nearest *nearest, const struct pmc_event_roots *roots,
			struct event_span word);
/* Compares the word with `name`; nearest is a struct event_nearest. */
void event_nearest_try(const char *name, void *nearest);
void event_nearest_set(struct event_nearest *nearest);
/* The nearest of all names that exist without libpfm4: built in, sysfs, tracefs, sets. */
void event_nearest_any(struct event_nearest *nearest, const struct pmc_event_roots *roots,
		       struct event_span word);
