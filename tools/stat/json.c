/* SPDX-License-Identifier: MIT */
/* json.c - a line as a JSON object: events and metrics are in objects of their own. */
#include "lib/base/json.h"
#include "lib/dump/words.h"
#include "tools/stat/stat.h"

#include <math.h>

static void put_cell(struct pmc_json *json, const char *key, const struct table_cell *cell)
{
	if (cell->kind == CELL_NUMBER)
		pmc_json_u64(json, key, cell->number);
	else if (cell->kind == CELL_REAL)
		pmc_json_double(json, key, cell->real);
	else if (cell->kind == CELL_TEXT)
		pmc_json_strn(json, key, cell->text, cell->len);
	else
		pmc_json_null(json, key);
}

static void put_event(struct pmc_json *json, const struct stat_lines *lines, unsigned e)
{
	const struct pmc_p_event *event = &lines->stat->live.view.events[e];
	const struct pmc_count *count = &lines->at->counts[e];
	const struct table_cell value = live_event_cell(&lines->stat->live, lines->at->counts, e);
	const bool known = value.kind != CELL_NULL;
	const double number = value.kind == CELL_NUMBER ? (double)value.number : value.real;

	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", event->name);
	put_cell(json, "value", &value);
	pmc_json_known(json, "raw", known, count->raw);
	pmc_json_str(json, "unit", event->unit);
	pmc_json_double(json, "per_second",
			known && lines->ns ? number * 1e9 / (double)lines->ns : NAN);
	pmc_json_u64(json, "enabled_ns", count->enabled_ns);
	pmc_json_u64(json, "running_ns", count->running_ns);
	pmc_json_str(json, "scope", pmc_scope_name(event->def.scope));
	pmc_json_str(json, "state", pmc_state_name(count->state));
	pmc_json_object_end(json);
}

static void put_places(struct pmc_json *json, const struct live_place *places)
{
	pmc_json_object(json, "blocked_in");
	for (unsigned i = 0; i < LIVE_PLACES && places[i].ns; i++)
		pmc_json_u64(json, places[i].name, places[i].ns);
	pmc_json_object_end(json);
}

/* Fields that have no meaning here are left out; `summary` and `blocked_in` are of the last. */
static void put_field(struct pmc_json *json, struct stat_lines *lines,
		      const struct table_column *column)
{
	const struct table_cell cell = stat_cell(lines, column);

	if (column->kind == STAT_AT && lines->summary) {
		if (lines->at->places[0].ns)
			put_places(json, lines->at->places);
	} else if (cell.kind == CELL_BOOL) {
		if (lines->summary)
			pmc_json_bool(json, column->name, true);
	} else if (cell.kind != CELL_NULL || !column->blank) {
		put_cell(json, column->name, &cell);
	}
}

/* An event is there once if any of its columns is. */
static bool is_first_of_event(const struct stat_job *stat, unsigned i)
{
	const struct table_column *columns = stat->data;

	for (unsigned k = 0; k < i && columns[i].kind == STAT_EVENT; k++)
		if (columns[k].kind == STAT_EVENT && columns[k].index == columns[i].index)
			return false;
	return columns[i].kind == STAT_EVENT;
}

void stat_json(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	struct pmc_json json;

	pmc_json_init(&json, &stat->output.out, false);
	pmc_json_object(&json, NULL);
	for (unsigned i = 0; i < stat->n_data; i++)
		if (stat->data[i].kind == STAT_KEY)
			put_field(&json, lines, &stat->data[i]);
	pmc_json_array(&json, "events");
	for (unsigned i = 0; i < stat->n_data; i++)
		if (is_first_of_event(stat, i))
			put_event(&json, lines, stat->data[i].index);
	pmc_json_array_end(&json);
	pmc_json_object(&json, "metrics");
	for (unsigned i = 0; i < stat->n_data; i++)
		if (stat->data[i].kind == STAT_CPU_USE || stat->data[i].kind == STAT_METRIC) {
			const struct table_cell cell = stat_cell(lines, &stat->data[i]);

			put_cell(&json, stat->data[i].name, &cell);
		}
	pmc_json_object_end(&json);
	for (unsigned i = 0; i < stat->n_data; i++)
		if (stat->data[i].kind >= STAT_WAIT)
			put_field(&json, lines, &stat->data[i]);
	pmc_json_object_end(&json);
	pmc_out_char(&stat->output.out, '\n');
}
