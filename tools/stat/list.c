/* SPDX-License-Identifier: MIT */
/* list.c - the sum of one target as a list: value, unit, event and rate. */
#include "lib/base/clock.h"
#include "lib/dump/words.h"
#include "tools/stat/stat.h"

#include <string.h>

enum { VALUE, UNIT, EVENT, RATE };

static const struct table_column columns[] = {
	{ .name = "value", .unit = TABLE_COUNT, .index = VALUE, .least = 18, .kept = true },
	{ .name = "unit", .unit = TABLE_TEXT, .index = UNIT, .least = 6, .kept = true },
	{ .name = "event", .unit = TABLE_TEXT, .index = EVENT, .least = 23, .kept = true },
	{ .name = "rate", .unit = TABLE_TEXT, .index = RATE, .blank = true },
};

struct item {
	struct table_cell value;
	struct pmc_scale scale;
	const char *unit, *name;
	char rate[64];
	bool first; /* of the times, below the counts */
};

struct list {
	struct item *items;
	const struct item *at;
	unsigned n;
};

static void set_item(void *arg, uint64_t i)
{
	struct list *list = arg;

	list->at = &list->items[i];
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	const struct item *item = ((struct list *)arg)->at;

	return column->index == VALUE ? item->value :
	       column->index == UNIT  ? cell_text(item->unit) :
	       column->index == EVENT ? cell_text(item->name) :
					cell_text(item->rate[0] ? item->rate : NULL);
}

static struct table_line line_of(void *arg)
{
	return (struct table_line){ .gap = ((struct list *)arg)->at->first };
}

static struct item *add(struct list *list, struct table_cell value, double divisor, int decimals,
			const char *unit, const char *name)
{
	struct item *item = &list->items[list->n++];

	*item = (struct item){
		.value = value, .scale = { divisor, decimals, "" }, .unit = unit, .name = name
	};
	item->value.scale = value.kind == CELL_TEXT ? NULL : &item->scale;
	return item;
}

/* Clocks in ms; what has a scale, such as energy, with decimals. */
static void add_event(struct list *list, const struct stat_lines *lines, unsigned e)
{
	const struct stat_job *stat = lines->stat;
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const struct table_cell cell = live_event_cell(&stat->live, lines->at->counts, e);
	const double value = cell.kind == CELL_REAL ? cell.real : (double)cell.number;
	const bool clock = !strcmp(event->unit, "ns");
	struct item *item;
	struct pmc_out rate;

	if (cell.kind == CELL_NULL) {
		add(list, cell_text(pmc_state_name(lines->at->counts[e].state)), 1, 0, "",
		    event->name);
		return;
	}
	item = add(list, cell, clock ? 1e6 : 1, event->unit[0] ? 2 : 0, clock ? "ms" : event->unit,
		   event->name);
	pmc_out_to_mem(&rate, item->rate, sizeof(item->rate));
	if (clock && (int)e == stat_clock(stat) && lines->ns) {
		pmc_out_fixed(&rate, value / (double)lines->ns, 3);
		pmc_out_str(&rate, " CPUs");
	} else if (!clock && lines->ns) {
		pmc_show_number(&rate, value * 1e9 / (double)lines->ns);
		pmc_out_str(&rate, "/s");
	}
	if (event->def.scope != PMC_SCOPE_ALL)
		pmc_outf(&rate, "%s%s mode", rate.len ? "  " : "",
			 pmc_scope_name(event->def.scope));
}

static void add_time(struct list *list, const char *name, uint64_t ns)
{
	add(list, cell_number(true, ns), 1e9, 6, "s", name);
}

void stat_list(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	const struct live_events *live = &stat->live;
	struct pmc_out *out = &stat->output.out;
	struct list list = { .items = pmc_arena_alloc(lines->arena,
						      (live->view.count + pmc_n_metrics + 3) *
							      sizeof(struct item)) };
	struct table table = {
		.columns = columns,
		.n_columns = sizeof(columns) / sizeof(columns[0]),
		.arg = &list,
		.row = set_item,
		.cell = cell_of,
		.line = line_of,
		.screen = stat->output.screen,
		.arena = lines->arena,
		.tight = true,
	};

	lines->at = lines->list;
	for (unsigned e = 0; e < live->view.count; e++)
		add_event(&list, lines, e);
	for (unsigned m = 0; m < pmc_n_metrics; m++)
		if (live_shows_metric(live, m))
			add(&list, live_metric_cell(live, lines->at->counts, m), 1,
			    pmc_metrics[m].decimals, "", pmc_metrics[m].column);
	add_time(&list, "elapsed", lines->ns);
	list.items[list.n - 1].first = true;
	if (stat->target == STAT_COMMAND) {
		add_time(&list, "user", pmc_timeval_ns(&stat->usage.ru_utime));
		add_time(&list, "system", pmc_timeval_ns(&stat->usage.ru_stime));
	}
	table.n_rows = list.n;
	table_layout(&table);
	pmc_out_char(out, '\n');
	if (stat->output.format == TABLE_MARKDOWN)
		table_print(&table, TABLE_MARKDOWN, out);
	else
		table_put_rows(&table, 0, list.n, out);
	pmc_out_char(out, '\n');
}
