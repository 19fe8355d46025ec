/* SPDX-License-Identifier: MIT */
/* fit.c - pmctl list --fit: assignment, clash and passes by counter masks, and output. */
#include "lib/base/json.h"
#include "lib/base/suggest.h"
#include "lib/base/utf8.h"
#include "lib/plan/matching.h"
#include "tools/cli/rows.h"
#include "tools/list/list.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "name\talias\tcounter_mask"

/* ---- the table ----------------------------------------------------------------------------*/
/* 0b... or 0x..., at most 64 bits. */
static bool mask_parse(const char *text, uint64_t *mask)
{
	int base = strncmp(text, "0b", 2) == 0 ? 2 : strncmp(text, "0x", 2) == 0 ? 16 : 0;
	char *end;

	if (!base || !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*mask = strtoull(text + 2, &end, base);
	return !*end && !errno;
}

/* The row of a name or alias, or NULL. */
static const struct list_mask *find(const struct list_table *table, const char *name)
{
	for (const struct list_mask *row = table->rows; row < table->rows + table->n; row++)
		if (strcmp(row->name, name) == 0 || (row->alias && strcmp(row->alias, name) == 0))
			return row;
	return NULL;
}

/* Adds a line, which is changed and kept. The error in it, or NULL. */
static const char *add_line(struct list_table *table, char *line, struct pmc_arena *arena)
{
	struct list_mask *row;
	const char *mask;

	table->rows =
		pmc_arena_grow(arena, table->rows, table->n, &table->room, sizeof(*table->rows));
	row = table->rows + table->n;
	row->name = strsep(&line, "\t");
	row->alias = strsep(&line, "\t");
	mask = strsep(&line, "\t");
	if (!mask || line)
		return "not three fields, separated by tabs";
	if (!*row->name || !*row->alias)
		return "empty name";
	/* Names are printed as they are. */
	if (!pmc_utf8_is_safe(row->name) || !pmc_utf8_is_safe(row->alias))
		return "a name has control characters or is not UTF-8";
	if (strcmp(row->alias, "-") == 0)
		row->alias = NULL;
	if (find(table, row->name) || (row->alias && find(table, row->alias)))
		return "duplicate name";
	if (!mask_parse(mask, &row->mask))
		return "the counter mask is not 0b... or 0x... of at most 64 bits";
	table->n++;
	return NULL;
}

int list_table_read(struct list_table *table, const char *path, struct pmc_arena *arena)
{
	FILE *file = fopen(path, "re");
	const char *error = NULL;
	unsigned number = 0;
	char line[LINE_MAX];
	bool broken;

	if (!file)
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", path, strerror(errno));
	errno = 0;
	while (!error && fgets(line, sizeof(line), file)) {
		size_t len = strlen(line);

		number++;
		if ((!len || line[len - 1] != '\n') && !feof(file)) {
			error = "NUL byte, or a line that is too long";
			break;
		}
		line[strcspn(line, "\r\n")] = '\0';
		if (number > 1)
			error = add_line(table, pmc_arena_strdup(arena, line), arena);
		else if (strcmp(line, HEADER) != 0)
			error = "the header is not 'name', 'alias' and 'counter_mask', separated "
				"by tabs";
	}
	broken = ferror(file);
	fclose(file);
	if (!error && broken)
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", path, strerror(errno));
	if (!error && !table->n)
		error = number++ ? "no event" : "the file is empty";
	return error ? tool_fail(EXIT_FAIL, "%s, line %u: %s", path, number, error) : EXIT_OK;
}

static int unknown(const struct list_table *table, const char *name)
{
	struct pmc_nearest nearest;

	if (!*name)
		return tool_fail(EXIT_USAGE,
				 "empty event name in --fit; separate names by one comma");
	pmc_nearest_init(&nearest, name, strlen(name));
	for (unsigned i = 0; i < table->n; i++) {
		pmc_nearest_try(&nearest, table->rows[i].name);
		if (table->rows[i].alias)
			pmc_nearest_try(&nearest, table->rows[i].alias);
	}
	return tool_fail_unknown("unknown event", name, nearest.name,
				 "the database has no such name");
}

/* ---- fitting ------------------------------------------------------------------------------*/
struct wanted {
	const char *name;
	const struct list_mask *row;
};

static int wanted_order(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->row != y->row ? (x->row < y->row ? -1 : 1) : strcmp(x->name, y->name);
}

void list_fit_name(struct list_fit *fit, unsigned i, const char *name)
{
	unsigned nth = 1;

	while (nth <= i && strcmp(fit->events[i - nth].asked, name) == 0)
		nth++;
	fit->events[i].asked = name;
	fit->events[i].name =
		nth == 1 ? name : pmc_arena_format(&fit->list.arena, "%s#%u", name, nth);
}

/* Puts each event into the first pass that has room for it. */
static int pack(struct list_fit *fit, uint64_t events, list_together *together, void *arg)
{
	uint64_t passes[PMC_EVENTS_MAX + 1] = { 0 };

	for (unsigned i = 0; i < fit->n; i++) {
		const uint64_t bit = UINT64_C(1) << i;
		int fits = 0;
		unsigned pass;

		if (!(events & bit))
			continue;
		for (pass = 0; pass <= fit->passes && !fits; pass++)
			fits = together(arg, passes[pass] | bit);
		if (fits < 0)
			return fits;
		if (!fits) {
			fit->events[i].reason =
				"opens, but other users of the PMU hold the counters";
			fit->clash |= fit->clash ? 0 : bit;
			continue;
		}
		fit->events[i].pass = --pass;
		passes[pass] |= bit;
		fit->passes += pass == fit->passes;
	}
	return 0;
}

int list_fit_try(struct list_fit *fit, uint64_t events, list_together *together, void *arg)
{
	int error = pack(fit, events, together, arg);

	/* Removes events from the clash as long as the rest still do not fit together. */
	if (!error && !fit->clash && fit->passes > 1) {
		fit->clash = events;
		for (unsigned i = fit->n; i-- > 0 && error >= 0;) {
			uint64_t fewer = fit->clash & ~(UINT64_C(1) << i);

			error = fewer && fewer != fit->clash ? together(arg, fewer) : 1;
			if (!error)
				fit->clash = fewer;
		}
	}
	/* Without counter masks another split cannot be ruled out. */
	fit->lower_bound = fit->passes < 2 ? fit->passes : 2;
	return error < 0 ? error : 0;
}

static void solve(struct list_fit *fit, const uint64_t *masks)
{
	struct pmc_fit_passes split;

	pmc_fit_split(masks, fit->n, &split);
	fit->known_counters = true;
	fit->clash = split.clash;
	fit->passes = fit->lower_bound = split.passes;
	for (unsigned i = 0; i < fit->n; i++) {
		fit->events[i].counter = split.counter[i];
		fit->events[i].pass = split.pass[i];
		if (split.impossible >> i & 1)
			fit->events[i].reason = "the database gives it no counter";
	}
}

int list_fit_db(struct list_fit *fit, const char *events, const char *path)
{
	char *rest = pmc_arena_strdup(&fit->list.arena, events), *name;
	struct wanted wanted[PMC_EVENTS_MAX];
	uint64_t masks[PMC_EVENTS_MAX];
	struct list_table table = { .n = 0 };
	int code = list_table_read(&table, path, &fit->list.arena);

	_Static_assert(PMC_EVENTS_MAX <= PMC_FIT_MAX, "every list can be fitted");
	while (!code && (name = strsep(&rest, ","))) {
		name += strspn(name, " \t\n");
		name[strcspn(name, " \t\n")] = '\0';
		if (fit->n == PMC_EVENTS_MAX) {
			code = tool_fail(EXIT_USAGE, "too many events in --fit; the limit is %d",
					 PMC_EVENTS_MAX);
			break;
		}
		wanted[fit->n] = (struct wanted){ name, find(&table, name) };
		if (!wanted[fit->n++].row)
			code = unknown(&table, name);
	}
	/* The result must not depend on the order of the arguments. */
	if (!code)
		qsort(wanted, fit->n, sizeof(*wanted), wanted_order);
	for (unsigned i = 0; !code && i < fit->n; i++) {
		masks[i] = wanted[i].row->mask;
		list_fit_name(fit, i, wanted[i].name);
	}
	if (!code)
		solve(fit, masks);
	return code;
}

/* ---- output --------------------------------------------------------------------------------- */

static bool possible(const struct list_fit *fit)
{
	for (unsigned i = 0; i < fit->n; i++)
		if (fit->events[i].reason)
			return false;
	return true;
}

static void json_events(struct pmc_json *json, const char *key, const struct list_fit *fit,
			uint64_t events)
{
	pmc_json_array(json, key);
	for (unsigned i = 0; i < fit->n; i++)
		if (events >> i & 1)
			pmc_json_str(json, NULL, fit->events[i].name);
	pmc_json_array_end(json);
}

static uint64_t members(const struct list_fit *fit, unsigned pass)
{
	uint64_t events = 0;

	for (unsigned i = 0; i < fit->n; i++)
		if (!fit->events[i].reason && fit->events[i].pass == pass)
			events |= UINT64_C(1) << i;
	return events;
}

static void json_assignment(struct pmc_json *json, const struct list_fit *fit)
{
	pmc_json_object(json, "assignment");
	for (unsigned i = 0; !fit->clash && i < fit->n; i++)
		pmc_json_known(json, fit->events[i].name, fit->known_counters,
			       (uint64_t)fit->events[i].counter);
	pmc_json_object_end(json);
}

static int print_json(const struct list_fit *fit, struct tool_rows *rows)
{
	const int code = tool_rows_open(rows);
	struct pmc_json json;

	if (code)
		return code;
	pmc_json_init(&json, &rows->out);
	pmc_json_object(&json, NULL);
	pmc_json_bool(&json, "fits", !fit->clash);
	json_assignment(&json, fit);
	json_events(&json, "clash", fit, fit->clash);
	pmc_json_array(&json, "passes");
	for (unsigned pass = 0; pass < fit->passes; pass++)
		json_events(&json, NULL, fit, members(fit, pass));
	pmc_json_array_end(&json);
	/* No number of passes counts an impossible event. */
	pmc_json_known(&json, "lower_bound", possible(fit), fit->lower_bound);
	pmc_json_array(&json, "impossible");
	for (unsigned i = 0; i < fit->n; i++) {
		if (!fit->events[i].reason)
			continue;
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "name", fit->events[i].name);
		pmc_json_str(&json, "reason", fit->events[i].reason);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_str(&json, "remark", fit->remark);
	pmc_json_object_end(&json);
	pmc_out_char(&rows->out, '\n');
	return tool_rows_close(rows);
}

static void put_pass(const struct list_fit *fit, unsigned pass)
{
	for (unsigned i = 0; i < fit->n; i++) {
		if (fit->events[i].reason || fit->events[i].pass != pass)
			continue;
		if (fit->known_counters)
			printf("  counter %2d  %s\n", fit->events[i].counter, fit->events[i].name);
		else
			printf("  %s\n", fit->events[i].name);
	}
}

static void print_text(const struct list_fit *fit)
{
	const char *between = "  ";

	if (fit->remark)
		puts(fit->remark);
	if (!fit->clash) {
		printf("All %u event%s can be counted at once:\n", fit->n, fit->n == 1 ? "" : "s");
		put_pass(fit, 0);
		return;
	}
	for (unsigned i = 0; i < fit->n; i++)
		if (fit->events[i].reason)
			printf("%s cannot be counted: %s\n", fit->events[i].name,
			       fit->events[i].reason);
	if (possible(fit)) {
		printf("The %u events cannot be counted at once. A smallest set that clashes:\n",
		       fit->n);
		for (unsigned i = 0; i < fit->n; i++) {
			if (!(fit->clash >> i & 1))
				continue;
			printf("%s%s", between, fit->events[i].name);
			between = ", ";
		}
		puts("");
	} else if (fit->passes) {
		puts("The others:");
	}
	for (unsigned pass = 0; pass < fit->passes; pass++) {
		printf("pass %u of %u\n", pass + 1, fit->passes);
		put_pass(fit, pass);
	}
	if (fit->passes > 1)
		printf("At least %u passes are needed%s.\n", fit->lower_bound,
		       fit->lower_bound < fit->passes ? "; not every combination was tried" : "");
}

int list_fit_print(const struct list_fit *fit, struct tool_rows *rows)
{
	if (rows->format == TABLE_JSON)
		return print_json(fit, rows);
	print_text(fit);
	return EXIT_OK;
}
