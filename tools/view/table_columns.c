/* SPDX-License-Identifier: MIT */
/* table_columns.c - which columns a table has, in which order, and which are hidden first. */
#include "lib/base/utf8.h"
#include "tools/view/table.h"

#include <errno.h>
#include <linux/perf_event.h>

enum { NAME_MOST = 32 };

static bool is_key(const struct table_column *column)
{
	return column->kind == PMC_COL_KEY ||
	       (column->kind == PMC_COL_FIELD && column->index == PMC_FIELD_thread);
}

/* The end of a path, which distinguishes files best, is kept. */
static enum pmc_cut cut_of(const struct pmc_view *view, const struct table_column *column)
{
	const enum pmc_fold_by key =
		column->kind == PMC_COL_KEY ? pmc_key_at(view, column->index) : PMC_BY_NONE;

	if (key == PMC_BY_PATH)
		return PMC_CUT_END;
	if (key == PMC_BY_EXE ||
	    (column->kind == PMC_COL_FIELD &&
	     (column->index == PMC_FIELD_exe || column->index == PMC_FIELD_start_routine)))
		return PMC_CUT_LEFT;
	return PMC_CUT_MIDDLE;
}

static void add(struct pmc_table *table, const struct table_column *column, enum table_drop drop)
{
	const struct pmc_view *view = table->view;
	struct table_column *to = &table->columns[table->n];

	*to = *column;
	to->drop = (unsigned char)drop;
	/* The last requested event is hidden first; of other columns the rightmost. */
	to->place = drop == TABLE_DROP_EVENT ? column->index : table->n;
	to->cut = (unsigned char)cut_of(view, column);
	/* Cut short, names of functions and the paths of --by start tell little. */
	to->functions = pmc_is_sample_key(view, column) ||
			(column->kind == PMC_COL_KEY && view->options->path_of &&
			 pmc_key_at(view, column->index) == PMC_BY_START);
	/* Names of C++ and Rust functions have no end. The first column shrinks to what fits. */
	if (column->kind == PMC_COL_SAMPLE && column->unit == TABLE_TEXT)
		to->most = NAME_MOST;
	if (column->kind == PMC_COL_KEY && table->n)
		to->most = view->options->wide ? 0 :
			   to->functions       ? pmc_screen_width(&view->options->screen) / 2 :
						 NAME_MOST;
	to->together = column->kind == PMC_COL_SAMPLE &&
		       (column->index == PMC_SAMPLE_self || column->index == PMC_SAMPLE_total);
	table->n++;
}

static void add_bar(struct pmc_table *table)
{
	static const struct table_column bar = {
		.name = "", .kind = PMC_COL_FIELD, .index = PMC_FIELD_share, .unit = TABLE_BAR
	};

	add(table, &bar, TABLE_DROP_BAR);
}

/* ---- choice ------------------------------------------------------------------------------ */

/* Whether some metric is made of this event and shows it in fewer columns. */
static bool is_input(struct pmc_view *view, unsigned event)
{
	struct pmc_event_def *def = &view->events.events[event].def;
	struct pmc_event_def kept = *def;
	bool input = false;

	/* Cycles and instructions are worth seeing for themselves. */
	if (def->type == PERF_TYPE_HARDWARE && def->config <= PERF_COUNT_HW_INSTRUCTIONS)
		return false;
	def->type = UINT32_MAX;
	for (unsigned i = 0; i < pmc_n_metrics && !input; i++)
		input = view->events.ratios >> i & 1 && !pmc_metric_applies(i, &view->events.set);
	*def = kept;
	return input;
}

/* The event that counts what the accounting column shows; -1: none. Of duplicates the last one:
 * these columns stand behind the events. */
static int twin_of(const struct pmc_table *table, unsigned field)
{
	if (field == PMC_FIELD_cpu_ns)
		return table->view->clock_event;
	if (field == PMC_FIELD_faults)
		return pmc_view_software(table->view, PERF_COUNT_SW_PAGE_FAULTS, true);
	if (field == PMC_FIELD_voluntary_switches || field == PMC_FIELD_involuntary_switches)
		return pmc_view_software(table->view, PERF_COUNT_SW_CONTEXT_SWITCHES, true);
	return -1;
}

/* The event that stands in the accounting column's place: its twin, unless that has fewer values.
 * -1: none. */
static int event_for(const struct pmc_table *table, unsigned field)
{
	const int event = twin_of(table, field);
	const uint64_t rows = event < 0 ? 0 : table->all->events[event].rows;

	if (field == PMC_FIELD_cpu_ns)
		return event;
	return rows && rows >= table->all->usage_rows ? event : -1;
}

/* Whether the event's values are in the place of an accounting column, or those in its own. */
static bool is_twin(const struct pmc_table *table, unsigned event)
{
	static const unsigned fields[] = { PMC_FIELD_cpu_ns, PMC_FIELD_faults,
					   PMC_FIELD_voluntary_switches };

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (twin_of(table, fields[i]) == (int)event)
			return true;
	return false;
}

static bool has_many_hosts(const struct pmc_profile *profile)
{
	for (uint64_t i = 1; i < profile->n_processes; i++)
		if (strcmp(profile->processes[0]->host, profile->processes[i]->host))
			return true;
	return false;
}

static bool any_scaled(const struct pmc_table *table)
{
	for (unsigned i = 0; i < table->view->events.set.count; i++)
		if (table->all->events[i].scaled)
			return true;
	return false;
}

static bool wants_field(const struct pmc_table *table, unsigned field)
{
	const struct pmc_profile *profile = table->view->profile;
	bool many = profile->n_processes > 1;

	switch (field) {
	case PMC_FIELD_host:
		return many && has_many_hosts(profile);
	case PMC_FIELD_pid:
		return many;
	case PMC_FIELD_ran:
		return any_scaled(table);
	case PMC_FIELD_lost_samples:
		return table->all->lost_samples;
	case PMC_FIELD_voluntary_switches:
	case PMC_FIELD_involuntary_switches:
	case PMC_FIELD_faults:
		return table->all->usage_rows || event_for(table, field) >= 0;
	default:
		return true;
	}
}

static const struct table_column *value_of(const struct pmc_columns *columns, unsigned event)
{
	for (unsigned i = 0; i < columns->n; i++)
		if (columns->list[i].kind == PMC_COL_EVENT && columns->list[i].index == event &&
		    columns->list[i].part == PMC_PART_VALUE)
			return &columns->list[i];
	return NULL;
}

/* When a field is hidden; requested: an event stands in its place. */
static enum table_drop drop_of(const struct table_column *column, bool requested)
{
	if (column->when != USAGE || column->index == PMC_FIELD_ran)
		return TABLE_STAYS;
	if (column->index == PMC_FIELD_samples || column->index == PMC_FIELD_lost_samples)
		return TABLE_DROP_LAST;
	return requested ? TABLE_DROP_EVENT : TABLE_DROP_USAGE;
}

static void add_field(struct pmc_table *table, const struct pmc_columns *columns,
		      const struct table_column *column)
{
	int event = event_for(table, column->index);

	if (!wants_field(table, column->index))
		return;
	/* One event stands for both kinds of switches. */
	if (event >= 0 && column->index == PMC_FIELD_involuntary_switches)
		return;
	add(table, event < 0 ? column : value_of(columns, (unsigned)event),
	    drop_of(column, event >= 0));
	if (column->index == PMC_FIELD_share && !table->view->options->timeline)
		add_bar(table);
}

static void add_event(struct pmc_table *table, const struct table_column *column)
{
	struct pmc_view *view = table->view;
	bool core = view->events.set.events[column->index].core_type[0];

	if (column->part != PMC_PART_VALUE)
		add(table, column, TABLE_DROP_SPREAD);
	else if (!is_twin(table, column->index))
		add(table, column,
		    core || is_input(view, column->index) ? TABLE_DROP_INPUT : TABLE_DROP_EVENT);
}

static void add_sample(struct pmc_table *table, const struct table_column *column)
{
	const struct pmc_view *view = table->view;
	const unsigned share = view->by == PMC_BY_PATH ? PMC_SAMPLE_total_pct : PMC_SAMPLE_self_pct;

	add(table, column,
	    column->index == PMC_SAMPLE_threads ? TABLE_DROP_SPREAD :
	    column->index == PMC_SAMPLE_module	? TABLE_DROP_INPUT :
						  TABLE_STAYS);
	if (column->index == share)
		add_bar(table);
}

static void add_usual(struct pmc_table *table, const struct pmc_columns *columns)
{
	const struct pmc_report_options *options = table->view->options;
	bool spread = table->lines.groups && options->by != PMC_BY_NONE;

	/* The events stand between the accounting columns. */
	for (int usage = 0; usage < 2; usage++) {
		for (unsigned i = 0; i < columns->n; i++) {
			const struct table_column *column = &columns->list[i];
			bool split = column->part != PMC_PART_VALUE;

			if (column->when == NEVER || (column->when == WIDE && !options->wide) ||
			    (column->when == USAGE) != usage || (split && !spread))
				continue;
			if (column->kind == PMC_COL_FIELD)
				add_field(table, columns, column);
			else if (column->kind == PMC_COL_EVENT)
				add_event(table, column);
			else if (column->kind == PMC_COL_SAMPLE)
				add_sample(table, column);
			else
				add(table, column,
				    column->kind == PMC_COL_METRIC ? TABLE_DROP_METRIC :
								     TABLE_DROP_SPREAD);
		}
	}
}

/* Sums have their labels in this column: among those of --columns another one of text may be it. */
static void choose_label(struct pmc_table *table)
{
	for (unsigned i = 0; i < table->n; i++) {
		const struct table_column *column = &table->columns[i];

		if (column->unit != TABLE_TEXT || (table->labels && !is_key(column)))
			continue;
		table->labels = column;
		if (is_key(column))
			return;
	}
}

int pmc_table_make(struct pmc_table *table)
{
	struct pmc_view *view = table->view;
	const struct pmc_columns *columns =
		table->lines.groups ? &view->of_groups : &view->of_threads;
	struct pmc_columns chosen;

	if (view->options->columns) {
		if (pmc_columns_choose(view, columns, &chosen))
			return -EINVAL;
		columns = &chosen;
	}
	table->columns =
		pmc_arena_alloc(view->arena, (columns->n * 2 + 4) * sizeof(*table->columns));
	if (view->options->columns) {
		for (unsigned i = 0; i < chosen.n; i++)
			add(table, &chosen.list[i], TABLE_STAYS);
	} else {
		for (unsigned i = 0; i < columns->n; i++)
			if (is_key(&columns->list[i]) && columns->list[i].index != PMC_ALL_KEYS)
				add(table, &columns->list[i], TABLE_STAYS);
		add_usual(table, columns);
	}
	choose_label(table);
	pmc_table_layout(table);
	return 0;
}
