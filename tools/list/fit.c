/* SPDX-License-Identifier: MIT */
/* fit.c - pmctl list --fit by a database of counter masks: assignment, clash, passes. */
#include "agent/core/base/out.h"
#include "agent/core/plan/matching.h"
#include "tools/cli/pmctl.h"
#include "tools/list/list.h"

#include <stdlib.h>
#include <string.h>

struct wanted {
	const char *name;
	int row; /* of the database */
};

static int wanted_order(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->row != y->row ? x->row - y->row : strcmp(x->name, y->name);
}

/* The next of a comma-separated list, without blanks around it; false at the end. */
static bool next_name(struct pmc_arena *arena, const char **rest, const char **name)
{
	const char *at = *rest;
	size_t len;

	if (!at)
		return false;
	at += strspn(at, " \t\n");
	len = strcspn(at, ",");
	*rest = at[len] ? at + len + 1 : NULL;
	while (len && strchr(" \t\n", at[len - 1]))
		len--;
	*name = pmc_arena_strndup(arena, at, len);
	return true;
}

static int find(const struct list_db *db, const char *name)
{
	int row = list_db_find(db, name);

	if (!*name)
		tool_fail(EXIT_USAGE, "empty event name in --fit; separate names by one comma");
	else if (row < 0)
		tool_fail_unknown("unknown event", name, list_db_nearest(db, name),
				  "the database has no such name");
	return row;
}

static bool add_name(struct list_fit *fit, const struct wanted *wanted, unsigned i)
{
	unsigned nth = 1;
	struct pmc_out out;
	char text[512];

	while (nth <= i && strcmp(wanted[i - nth].name, wanted[i].name) == 0)
		nth++;
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_outf(&out, "%s#%u", wanted[i].name, nth);
	fit->events[i].name = nth == 1 ? wanted[i].name : pmc_arena_strdup(&fit->arena, text);
	return fit->events[i].name;
}

static void solve(struct list_fit *fit, const uint64_t *masks)
{
	struct pmc_fit_passes split;

	pmc_fit_split(masks, fit->n, &split);
	fit->known_counters = true;
	fit->clash = pmc_fit_clash(masks, fit->n);
	fit->passes = fit->lower_bound = split.passes;
	fit->proof_events = split.proof_events;
	fit->proof_counters = split.proof_counters;
	for (unsigned i = 0; i < fit->n; i++) {
		fit->events[i].counter = split.counter[i];
		fit->events[i].pass = split.pass[i];
		if (split.impossible >> i & 1)
			fit->events[i].reason = "the database gives it no counter";
	}
}

int list_fit_db(struct list_fit *fit, const char *events, const char *path)
{
	struct wanted wanted[PMC_EVENTS_MAX];
	uint64_t masks[PMC_EVENTS_MAX];
	const char *rest = events, *name;
	struct list_db db;
	int code = list_db_read(&db, path);

	_Static_assert(PMC_EVENTS_MAX <= PMC_FIT_MAX, "every list can be fitted");
	while (!code && next_name(&fit->arena, &rest, &name)) {
		if (!name) {
			code = tool_fail(EXIT_FAIL, "out of memory");
		} else if (fit->n == PMC_EVENTS_MAX) {
			code = tool_fail(EXIT_USAGE, "too many events in --fit; the limit is %d",
					 PMC_EVENTS_MAX);
		} else {
			wanted[fit->n] = (struct wanted){ name, find(&db, name) };
			code = wanted[fit->n++].row < 0 ? EXIT_USAGE : EXIT_OK;
		}
	}
	/* The result must not depend on the order of the arguments. */
	if (!code)
		qsort(wanted, fit->n, sizeof(*wanted), wanted_order);
	for (unsigned i = 0; !code && i < fit->n; i++) {
		masks[i] = db.events[wanted[i].row].mask;
		if (!add_name(fit, wanted, i))
			code = tool_fail(EXIT_FAIL, "out of memory");
	}
	if (!code)
		solve(fit, masks);
	list_db_free(&db);
	return code;
}
