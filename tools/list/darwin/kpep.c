/* SPDX-License-Identifier: MIT */
/* kpep.c - see mac_kpep.h. Results of a failed call are not used. */
#include "tools/list/mac_kpep.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>
#include <string.h>

enum { KPEP_NOT_FOUND = 11, KPEP_CONFLICT = 12, EVENTS_MAX = 1 << 16 };

/* X(result, name, parameters) */
#define FUNCTIONS(X)                                                                               \
	X(int, kpep_db_create, (const char *, void **))                                            \
	X(void, kpep_db_free, (void *))                                                            \
	X(int, kpep_db_events_count, (void *, size_t *))                                           \
	X(int, kpep_db_events, (void *, void **, size_t))                                          \
	X(int, kpep_db_event, (void *, const char *, void **))                                     \
	X(int, kpep_event_name, (void *, const char **))                                           \
	X(int, kpep_event_alias, (void *, const char **))                                          \
	X(int, kpep_event_description, (void *, const char **))                                    \
	X(int, kpep_config_create, (void *, void **))                                              \
	X(void, kpep_config_free, (void *))                                                        \
	X(int, kpep_config_force_counters, (void *))                                               \
	X(int, kpep_config_add_event, (void *, void **, uint32_t, uint32_t *))

struct kpep {
#define X(result, name, parameters) result(*name) parameters;
	FUNCTIONS(X)
#undef X
	void *db;
	const struct list_fit *fit; /* whose events are tried */
};

/* NULL, or why there is no database. */
static const char *open_database(struct kpep *kpep)
{
	static const char path[] =
		"/System/Library/PrivateFrameworks/kperfdata.framework/kperfdata";
	void *library = pmc_mac_system.library(path);

	memset(kpep, 0, sizeof(*kpep));
	if (!library)
		return "the framework kperfdata is missing";
#define X(result, name, parameters)                                                                \
	*(void **)&kpep->name = pmc_mac_system.symbol(library, #name);                             \
	if (!kpep->name)                                                                           \
		return "the framework kperfdata lacks " #name;
	FUNCTIONS(X)
#undef X
	if (kpep->kpep_db_create(NULL, &kpep->db) != 0 || !kpep->db) {
		kpep->db = NULL;
		return "/usr/share/kpep has no database of this processor";
	}
	return NULL;
}

static void close_database(struct kpep *kpep)
{
	if (kpep->db)
		kpep->kpep_db_free(kpep->db);
	kpep->db = NULL;
}

const char *list_kpep_missing(void)
{
	struct kpep kpep;
	const char *why = open_database(&kpep);

	close_database(&kpep);
	return why;
}

/* NULL: there is none, or it cannot be printed. */
static const char *text_of(int (*get)(void *, const char **), void *event)
{
	const char *text = NULL;

	return get(event, &text) == 0 && text && *text && pmc_utf8_is_safe(text) ? text : NULL;
}

static void add_row(struct list *list, const struct kpep *kpep, void *event,
		    const struct list_answer *answer)
{
	const char *name = text_of(kpep->kpep_event_name, event);
	const char *alias = text_of(kpep->kpep_event_alias, event);
	const char *what = text_of(kpep->kpep_event_description, event);
	struct list_row row = { .pmu = "kpep", .type = "kpep", .answer = *answer };

	row.name = name;
	row.description = what ? what : "no description";
	if (name && list_wants(list, name))
		list_add(list, &row);
	if (!name || !alias || strcmp(name, alias) == 0 || !list_wants(list, alias))
		return;
	row.name = alias;
	row.description = pmc_arena_format(&list->arena, "same as %s", name);
	list_add(list, &row);
}

struct list_answer list_kpep_answer(void)
{
	const bool root = pmc_mac_system.is_root();

	return (struct list_answer){ root, root ? NULL : "kperf needs root; use sudo", NULL };
}

const char *list_kpep(struct list *list)
{
	const struct list_answer answer = list_kpep_answer();
	const unsigned first = list->n;
	struct kpep kpep;
	const char *why = open_database(&kpep);
	void **events = NULL;
	size_t n = 0;

	if (why)
		return why;
	if (kpep.kpep_db_events_count(kpep.db, &n) == 0 && n && n <= EVENTS_MAX)
		events = calloc(n, sizeof(*events));
	if (!events || kpep.kpep_db_events(kpep.db, events, n * sizeof(*events)) != 0)
		why = "kperfdata does not list the events of this processor";
	for (size_t i = 0; !why && i < n; i++)
		if (events[i])
			add_row(list, &kpep, events[i], &answer);
	list_sort(list, first);
	free(events);
	close_database(&kpep);
	return why;
}

/* ---- fitting ------------------------------------------------------------------------------*/
/* Whether the events get counters at the same time: 1, 0, or the negative code of another error of
 * kperfdata. */
static int together(const struct kpep *kpep, uint64_t events)
{
	const struct list_fit *fit = kpep->fit;
	void *config = NULL;
	int code = kpep->kpep_config_create(kpep->db, &config);

	if (code || !config)
		return code > 0 ? -code : -1;
	/* Without it the counters that macOS keeps for itself are left out. */
	(void)kpep->kpep_config_force_counters(config);
	for (unsigned i = 0; i < fit->n && !code; i++) {
		void *event = NULL;

		if (!(events >> i & 1))
			continue;
		code = kpep->kpep_db_event(kpep->db, fit->events[i].asked, &event);
		if (!code && event)
			code = kpep->kpep_config_add_event(config, &event, 0, NULL);
		else if (!code)
			code = KPEP_NOT_FOUND;
	}
	kpep->kpep_config_free(config);
	return code == 0 ? 1 : code == KPEP_CONFLICT ? 0 : -code;
}

/* Events that are not in the database, or get no counter even alone. */
static uint64_t remove_impossible(const struct kpep *kpep, struct list_fit *fit, uint64_t events)
{
	for (unsigned i = 0; i < fit->n; i++) {
		int fits = events >> i & 1 ? together(kpep, UINT64_C(1) << i) : 1;

		if (fits > 0)
			continue;
		events &= ~(UINT64_C(1) << i);
		fit->clash |= fit->clash ? 0 : UINT64_C(1) << i;
		fit->events[i].code = fits == -KPEP_NOT_FOUND ? PMC_REASON_NO_EVENT :
				      fits == 0		      ? PMC_REASON_CONFLICT :
								PMC_REASON_NO_KPERF;
		fit->events[i].reason =
			fits == -KPEP_NOT_FOUND ?
				"the database has no such event" :
			fits == 0 ?
				"the database gives it no counter" :
				pmc_arena_format(&fit->list.arena, "error %d of kperfdata", -fits);
	}
	return events;
}

/* A list_together: errors were found of each event alone. */
static int fits(void *arg, uint64_t events)
{
	return together(arg, events) > 0;
}

int list_kpep_fit(struct list_fit *fit, uint64_t events)
{
	struct kpep kpep;
	const char *why = events ? open_database(&kpep) : NULL;

	if (why)
		return tool_fail(EXIT_FAIL, "cannot read the events of this processor: %s", why);
	if (events) {
		kpep.fit = fit;
		events = remove_impossible(&kpep, fit, events);
		list_fit_try(fit, events, fits, &kpep);
		close_database(&kpep);
	}
	/* The others, which need no counter of kperf, are in the first pass. */
	for (unsigned i = 0; i < fit->n; i++)
		if (!fit->events[i].reason && !fit->passes)
			fit->passes = 1;
	fit->lower_bound = fit->passes < 2 ? fit->passes : 2;
	return EXIT_OK;
}
