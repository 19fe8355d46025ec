/* SPDX-License-Identifier: MIT */
/* table_columns.c - which columns a table has, and which of them fit the screen. */
#include "lib/base/utf8.h"
#include "tools/view/table.h"

#include <errno.h>
#include <linux/perf_event.h>

enum { LABEL_MOST = 32, LABEL_LEAST = 12, FUNCTION_MOST = 44 };

static struct pmc_table_column *add(struct pmc_table *table, const struct pmc_column *column,
				    enum pmc_drop drop)
{
	struct pmc_table_column *to = &table->columns[table->n++];

	*to = (struct pmc_table_column){ .column = column, .drop = drop, .scale.divisor = 1 };
	to->left = column && column->unit == TEXT;
	return to;
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
	bool many = profile->n_processes > 1 && !table->view->options->only_first;

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

static const struct pmc_column *value_of(const struct pmc_columns *columns, unsigned event)
{
	for (unsigned i = 0; i < columns->n; i++)
		if (columns->list[i].kind == PMC_COL_EVENT && columns->list[i].index == event &&
		    columns->list[i].part == PMC_PART_VALUE)
			return &columns->list[i];
	return NULL;
}

/* When a field is hidden; requested: an event stands in its place. */
static enum pmc_drop drop_of(const struct pmc_column *column, bool requested)
{
	if (column->table != USAGE || column->index == PMC_FIELD_ran)
		return STAYS;
	if (column->index == PMC_FIELD_samples || column->index == PMC_FIELD_lost_samples)
		return DROP_SAMPLES;
	return requested ? DROP_EVENT : DROP_USAGE;
}

static void add_field(struct pmc_table *table, const struct pmc_columns *columns,
		      const struct pmc_column *column)
{
	int event = event_for(table, column->index);

	if (!wants_field(table, column->index))
		return;
	/* One event stands for both kinds of switches. */
	if (event >= 0 && column->index == PMC_FIELD_involuntary_switches)
		return;
	add(table, event < 0 ? column : value_of(columns, (unsigned)event),
	    drop_of(column, event >= 0));
	if (column->index == PMC_FIELD_share && !table->view->options->screen.ascii &&
	    !table->view->options->timeline)
		add(table, NULL, DROP_BAR);
}

static void add_event(struct pmc_table *table, const struct pmc_column *column)
{
	struct pmc_view *view = table->view;
	bool core = view->events.set.events[column->index].core_type[0];

	if (column->part != PMC_PART_VALUE)
		add(table, column, DROP_SPREAD);
	else if (!is_twin(table, column->index))
		add(table, column, core || is_input(view, column->index) ? DROP_INPUT : DROP_EVENT);
}

static void add_sample(struct pmc_table *table, const struct pmc_column *column)
{
	const struct pmc_view *view = table->view;
	const unsigned share = view->by == PMC_BY_PATH ? PMC_SAMPLE_total_pct : PMC_SAMPLE_self_pct;

	add(table, column,
	    column->index == PMC_SAMPLE_threads ? DROP_SPREAD :
	    column->index == PMC_SAMPLE_module	? DROP_INPUT :
						  STAYS);
	if (column->index == share && !view->options->screen.ascii)
		add(table, NULL, DROP_BAR);
}

static void add_usual(struct pmc_table *table, const struct pmc_columns *columns)
{
	const struct pmc_report_options *options = table->view->options;
	bool spread = table->lines.groups && options->by != PMC_BY_NONE;

	/* The events stand between the accounting columns. */
	for (int usage = 0; usage < 2; usage++) {
		for (unsigned i = 0; i < columns->n; i++) {
			const struct pmc_column *column = &columns->list[i];
			bool split = column->part != PMC_PART_VALUE;

			if (column->table == NEVER || (column->table == WIDE && !options->wide) ||
			    (column->table == USAGE) != usage || (split && !spread))
				continue;
			if (column->kind == PMC_COL_FIELD)
				add_field(table, columns, column);
			else if (column->kind == PMC_COL_EVENT)
				add_event(table, column);
			else if (column->kind == PMC_COL_SAMPLE)
				add_sample(table, column);
			else
				add(table, column,
				    column->kind == PMC_COL_METRIC ? DROP_METRIC : DROP_SPREAD);
		}
	}
}

/* ---- heads and units ---------------------------------------------------------------------- */

/* One unit and one number of decimals for all cells, from the largest. */
static void choose_unit(struct pmc_table *table, struct pmc_table_column *column, char unit[32])
{
	const struct pmc_column *of = column->column;
	struct pmc_scale *scale = &column->scale;
	struct pmc_out out;

	pmc_out_to_mem(&out, unit, 32);
	switch (of->unit) {
	case NS:
		pmc_scale_time(scale, column->most, table->view->glyphs->micro);
		pmc_out_str(&out, scale->unit);
		break;
	case COUNT:
		pmc_scale_count(scale, column->most, column->real);
		pmc_out_str(&out, scale->unit);
		if (of->kind == PMC_COL_EVENT)
			pmc_utf8_fit(&out, table->view->events.set.events[of->index].unit,
				     strlen(table->view->events.set.events[of->index].unit), 12,
				     PMC_CUT_END, table->view->options->screen.ascii);
		break;
	case RATIO:
		scale->decimals = pmc_decimals_for(column->most);
		if (scale->decimals > pmc_metrics[of->index].decimals)
			scale->decimals = pmc_metrics[of->index].decimals;
		break;
	default:
		break;
	}
}

static bool is_user_only(const struct pmc_view *view, const struct pmc_column *column)
{
	const struct pmc_event_def *def = &view->events.set.events[column->index].def;

	return column->kind == PMC_COL_EVENT && def->flags & PMC_EVENT_FELL_BACK &&
	       def->scope == PMC_SCOPE_USER;
}

static void make_head(struct pmc_table *table, struct pmc_table_column *column)
{
	const struct pmc_column *of = column->column;
	const char *name = !of ? "" : of->head ? of->head : of->name;
	char unit[32] = "";
	struct pmc_out out;

	if (of)
		choose_unit(table, column, unit);
	pmc_out_to_mem(&out, column->head, sizeof(column->head));
	pmc_utf8_fit(&out, name, strlen(name), 32, PMC_CUT_MIDDLE,
		     table->view->options->screen.ascii);
	if (of && is_user_only(table->view, of))
		pmc_out_str(&out, ":u");
	if (of && of->kind == PMC_COL_EVENT && of->part != PMC_PART_VALUE)
		pmc_outf(&out, " %s",
			 of->part == PMC_PART_STDDEV ? table->view->glyphs->sigma : of->suffix + 1);
	if (unit[0])
		pmc_outf(&out, " %s", unit);
}

/* ---- width -------------------------------------------------------------------------------- */

static void measure_cell(struct pmc_table *table, struct pmc_table_column *column,
			 const struct pmc_row *row)
{
	struct pmc_cell cell = pmc_table_cell(table, column->column, row);
	double value = cell.kind == PMC_CELL_REAL ? cell.real : (double)cell.number;

	if (cell.kind == PMC_CELL_NULL)
		return;
	column->filled = true;
	column->partial |= cell.partial;
	column->estimate |= cell.estimate != PMC_RATIO_EXACT;
	column->real |= cell.kind == PMC_CELL_REAL;
	if (cell.kind == PMC_CELL_TEXT || cell.kind == PMC_CELL_BOOL) {
		int width = pmc_utf8_columns(cell.text, cell.len);

		column->width = width > column->width ? width : column->width;
	} else if (value > column->most) {
		column->most = value;
	}
}

static void measure(struct pmc_table *table)
{
	for (uint64_t l = 0; l < table->lines.n + table->n_below; l++) {
		struct pmc_row row;

		pmc_table_row(table, l, &row);
		for (unsigned i = 0; i < table->n; i++)
			if (table->columns[i].column)
				measure_cell(table, &table->columns[i], &row);
		if (pmc_table_share(table, &row) > table->longest)
			table->longest = pmc_table_share(table, &row);
	}
}

static bool is_weight(const struct pmc_column *column)
{
	return column && column->kind == PMC_COL_SAMPLE &&
	       (column->index == PMC_SAMPLE_self || column->index == PMC_SAMPLE_total);
}

/* Self and total of functions are compared, so they have one unit. */
static void share_unit(struct pmc_table *table)
{
	double most = 0;

	for (unsigned i = 0; i < table->n; i++)
		if (is_weight(table->columns[i].column) && table->columns[i].most > most)
			most = table->columns[i].most;
	for (unsigned i = 0; i < table->n; i++)
		if (is_weight(table->columns[i].column))
			table->columns[i].most = most;
}

/* Numbers of a column are as wide as its largest one. */
static void set_width(struct pmc_table_column *column)
{
	struct pmc_cell cell = { .kind = PMC_CELL_REAL, .real = column->most };
	int head = pmc_utf8_columns(column->head, strlen(column->head)), width;
	char buf[64];
	struct pmc_out out;

	if (!column->column) {
		column->width = PMC_BAR_WIDTH;
		return;
	}
	if (!column->left) {
		if (column->column->unit == ID || column->column->unit == WHOLE)
			cell.number = pmc_nearest_integer(column->most);
		pmc_out_to_mem(&out, buf, sizeof(buf));
		pmc_table_number(column, &cell, &out);
		width = (int)out.len + column->estimate;
		/* "100" is narrower than the "99.9" that may be in other rows. */
		if (column->column->unit == PERCENT && width < 4)
			width = 4;
		column->width = column->width > width ? column->width : width;
		column->width += column->partial;
		head += column->partial;
	}
	column->width = column->width > head ? column->width : head;
	/* Names of C++ and Rust functions have no end. */
	if (column->left && column->column->kind == PMC_COL_SAMPLE &&
	    !pmc_is_sample_key(column->column) && column->width > LABEL_MOST)
		column->width = LABEL_MOST;
}

static int table_width(const struct pmc_table *table)
{
	int width = 2 - table->gap;

	for (unsigned i = 0; i < table->n; i++)
		if (!table->columns[i].hidden)
			width += table->columns[i].width + table->gap;
	return width;
}

static bool is_label(const struct pmc_column *column)
{
	return pmc_is_sample_key(column) ||
	       (column->kind == PMC_COL_FIELD &&
		(column->index == PMC_FIELD_thread || column->index == PMC_FIELD_key));
}

/* Among the columns of --columns another one of text may be the first that can have labels. */
static void choose_label(struct pmc_table *table)
{
	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];

		if (!column->left || (table->labels && !is_label(column->column)))
			continue;
		table->labels = column->column;
		if (is_label(column->column))
			return;
	}
}

static void shrink_label(struct pmc_table *table, int screen, int least)
{
	int over = table_width(table) - screen;
	int *width = &table->columns[0].width;

	if (over > 0)
		*width = *width - over > least ? *width - over : *width > least ? least : *width;
}

/* Cut short, names of functions and the paths of --by start tell little. */
static bool has_functions(const struct pmc_view *view)
{
	return pmc_by_samples(view->by) || (view->by == PMC_BY_START && view->options->path_of);
}

/* The last requested event is hidden first; of other columns the rightmost. */
static unsigned place(const struct pmc_table *table, unsigned i)
{
	const struct pmc_table_column *column = &table->columns[i];

	return column->drop == DROP_EVENT ? column->column->index : i;
}

static void hide(struct pmc_table *table, enum pmc_drop drop, int screen)
{
	while (table_width(table) > screen) {
		unsigned last = table->n;

		for (unsigned i = 0; i < table->n; i++)
			if (table->columns[i].drop == drop && !table->columns[i].hidden &&
			    (last == table->n || place(table, i) >= place(table, last)))
				last = i;
		if (last == table->n)
			return;
		table->columns[last].hidden = true;
	}
}

static void fit(struct pmc_table *table)
{
	const struct pmc_report_options *options = table->view->options;
	int screen = pmc_screen_width(&options->screen);
	bool label = is_label(table->columns[0].column),
	     functions = label && has_functions(table->view);

	table->gap = 2;
	if (options->wide)
		return;
	if (functions)
		shrink_label(table, screen, FUNCTION_MOST);
	for (enum pmc_drop drop = DROP_BAR; drop <= DROP_SAMPLES; drop++) {
		if (drop == DROP_SPREAD && label && !functions)
			shrink_label(table, screen, LABEL_MOST);
		if (drop == DROP_METRIC && label && !functions)
			shrink_label(table, screen, LABEL_LEAST + 6);
		/* Columns move closer before one is hidden whose values no other column shows. */
		if (drop == DROP_METRIC && table_width(table) > screen)
			table->gap = 1;
		hide(table, drop, screen);
	}
	if (label)
		shrink_label(table, screen, LABEL_LEAST);
}

/* Columns that no cell fills are left out, unless they were asked for. */
static void drop_empty(struct pmc_table *table)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < table->n; i++) {
		struct pmc_table_column *column = &table->columns[i];

		if (!column->column ? table->longest > 0 :
				      column->filled || table->view->options->columns)
			table->columns[kept++] = *column;
	}
	table->n = kept;
}

int pmc_table_make(struct pmc_table *table)
{
	struct pmc_view *view = table->view;
	const struct pmc_columns *columns =
		table->lines.groups ? &view->of_groups : &view->of_threads;
	struct pmc_columns chosen;
	int err;

	if (view->options->columns) {
		err = pmc_columns_choose(view, columns, &chosen);
		if (err)
			return err;
		columns = &chosen;
	}
	table->columns =
		pmc_arena_alloc(view->arena, (columns->n * 2 + 4) * sizeof(*table->columns));
	if (!table->columns)
		return -ENOMEM;
	if (view->options->columns) {
		for (unsigned i = 0; i < chosen.n; i++)
			add(table, &chosen.list[i], STAYS);
	} else {
		add(table, &columns->list[0], STAYS);
		add_usual(table, columns);
	}
	choose_label(table);
	measure(table);
	share_unit(table);
	drop_empty(table);
	for (unsigned i = 0; i < table->n; i++) {
		make_head(table, &table->columns[i]);
		set_width(&table->columns[i]);
	}
	fit(table);
	return 0;
}
