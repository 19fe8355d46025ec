/* SPDX-License-Identifier: MIT */
/* columns.c - which columns a table has, how wide they are, and which do not fit. */
#include "agent/core/report/view.h"
#include "agent/core/base/utf8.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* Order in which columns give way. */
enum { STAYS, DROP_SPREAD, DROP_INPUT, DROP_METRIC, DROP_EVENT, DROP_USAGE, DROP_WHERE };

static struct pmc_table_column *column_add(struct pmc_table *table, enum pmc_table_kind kind,
					   const char *head, unsigned char drop)
{
	struct pmc_table_column *column = &table->columns[table->n++];
	struct pmc_out out;

	*column = (struct pmc_table_column){ .kind = kind, .drop = drop };
	pmc_out_to_mem(&out, column->head, sizeof(column->head));
	column->width = pmc_utf8_safe(&out, head, strlen(head), 24);
	return column;
}

/* Whether some metric is made from this event: it says the same in fewer columns. */
static bool is_folded(struct pmc_view *view, unsigned event)
{
	struct pmc_p_event *events = view->events.events;
	struct pmc_event_def def = events[event].def;
	bool folded = false;

	/* Cycles and instructions are worth seeing for themselves. */
	if (def.type == PERF_TYPE_HARDWARE && def.config <= PERF_COUNT_HW_INSTRUCTIONS)
		return false;
	events[event].def.type = UINT32_MAX;
	for (unsigned i = 0; i < pmc_n_metrics && !folded; i++)
		folded = view->metric_applies[i] && !pmc_metric_applies(i, &view->events.set);
	events[event].def = def;
	return folded;
}

static void spread_columns(struct pmc_table *table, enum pmc_table_kind kind, unsigned index)
{
	static const struct {
		const char *head;
		enum pmc_part part;
	} parts[] = { { "min", PMC_PART_MIN },
		      { "mean", PMC_PART_MEAN },
		      { "max", PMC_PART_MAX },
		      { "σ", PMC_PART_STDDEV } };

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct pmc_table_column *column =
			column_add(table, kind, parts[i].head, DROP_SPREAD);

		column->index = index;
		column->part = parts[i].part;
	}
}

/* Whether any row could have a value: the events it is made of were counted somewhere. */
static bool metric_can_be(struct pmc_table *table, unsigned metric)
{
	struct pmc_view *view = table->view;
	struct pmc_metric_input input = {
		.set = &view->events.set,
		.counts = view->counts,
		.has_cpu = table->all->cpu.rows,
		.has_switches = table->all->usage_rows,
		.cpu_ns = 1,
		.wall_ns = 1,
	};
	double value;

	view->counts_of = NULL;
	for (unsigned i = 0; i < view->events.set.count; i++)
		view->counts[i] = (struct pmc_count){
			.raw = 1,
			.enabled_ns = 1,
			.running_ns = 1,
			.state = table->all->events[i].rows ? PMC_COUNTED : PMC_NOT_COUNTED,
		};
	return pmc_metric_compute(metric, &input, &value);
}

static void event_columns(struct pmc_table *table)
{
	struct pmc_view *view = table->view;
	bool groups = view->options->by != PMC_BY_NONE && !view->options->timeline;
	bool regions = groups && view->options->by == PMC_BY_REGION;
	struct pmc_table_column *column;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const char *label = view->events.columns[i]->label;
		bool folded;

		if (!table->all->events[i].rows)
			continue;
		folded = is_folded(view, i);
		column = column_add(table, PMC_COL_EVENT,
				    strcmp(label, "instructions") ? label : "instr",
				    folded || view->events.set.events[i].core_type[0] ? DROP_INPUT :
											DROP_EVENT);
		column->index = i;
		if (regions) {
			column = column_add(table, PMC_COL_EVENT, "self", DROP_SPREAD);
			column->index = i;
			column->part = PMC_PART_SELF;
		}
		if (groups)
			spread_columns(table, PMC_COL_EVENT, i);
	}
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		if (!view->metric_applies[i] || !(pmc_metrics[i].table || view->options->wide))
			continue;
		if (!metric_can_be(table, i))
			continue;
		column_add(table, PMC_COL_METRIC, pmc_metrics[i].column, DROP_METRIC)->index = i;
	}
}

static bool any_below_all(const struct pmc_table *table)
{
	for (unsigned i = 0; i < table->view->events.set.count; i++)
		if (table->all->events[i].scaled)
			return true;
	return false;
}

int pmc_table_columns(struct pmc_table *table, const struct pmc_fold_row *all, uint64_t cpu_ns)
{
	struct pmc_view *view = table->view;
	const struct pmc_profile *profile = view->profile;
	bool groups = view->options->by != PMC_BY_NONE && !view->options->timeline;
	bool many = profile->n_processes > 1 && !view->options->only_first;
	unsigned room = view->events.set.count * 6 + pmc_n_metrics + 32;
	const char *host = profile->n_processes ? profile->processes[0]->host : "";
	bool hosts = false;

	table->all = all;
	table->cpu_ns = cpu_ns;
	table->columns = pmc_arena_alloc(view->arena, room * sizeof(*table->columns));
	if (!table->columns)
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_processes; i++)
		hosts |= strcmp(host, profile->processes[i]->host) != 0;
	table->label_width = view->options->wide ? 0 : groups ? 40 : 28;
	column_add(table, PMC_COL_LABEL, groups ? pmc_by_name(view->options->by) : "thread", STAYS);
	if (groups) {
		column_add(table, PMC_COL_THREADS, "threads", STAYS);
		if (view->options->by == PMC_BY_REGION)
			column_add(table, PMC_COL_CALLS, "calls", STAYS);
	} else {
		if (many && hosts)
			column_add(table, PMC_COL_HOST, "host", DROP_WHERE);
		if (many)
			column_add(table, PMC_COL_PID, "pid", STAYS);
		column_add(table, PMC_COL_TID, "tid", STAYS);
	}
	if (view->options->timeline) {
		column_add(table, PMC_COL_AT, "at", STAYS);
		column_add(table, PMC_COL_DT, "for", STAYS);
	}
	column_add(table, PMC_COL_CPU, "cpu", STAYS);
	column_add(table, PMC_COL_SHARE, "%", STAYS);
	if (groups && view->options->by == PMC_BY_REGION)
		column_add(table, PMC_COL_SELF, "self", STAYS);
	if (groups)
		spread_columns(table, PMC_COL_CPU, 0);
	event_columns(table);
	if (all->usage_rows) {
		column_add(table, PMC_COL_SWITCHES, "switches", DROP_USAGE);
		column_add(table, PMC_COL_FAULTS, "faults", DROP_USAGE);
	}
	if (any_below_all(table))
		column_add(table, PMC_COL_RAN, "ran", STAYS);
	return 0;
}

static int table_width(const struct pmc_table *table)
{
	int width = 2 - table->gap;

	for (unsigned i = 0; i < table->n; i++)
		width += table->columns[i].hidden ? 0 : table->columns[i].width + table->gap;
	return width;
}

void pmc_table_fit(struct pmc_table *table)
{
	table->gap = 2;
	if (table->view->options->wide)
		return;
	for (unsigned drop = DROP_SPREAD; drop <= DROP_WHERE; drop++) {
		/* Before a figure goes that nothing else tells, columns move closer. */
		if (drop == DROP_METRIC && table_width(table) > PMC_TABLE_COLUMNS)
			table->gap = 1;
		for (unsigned i = table->n; i-- > 0 && table_width(table) > PMC_TABLE_COLUMNS;)
			if (table->columns[i].drop == drop)
				table->columns[i].hidden = true;
	}
}
