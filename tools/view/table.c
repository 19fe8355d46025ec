/* SPDX-License-Identifier: MIT */
/*
 * table.c - the table a person sees: title, columns and which of them are hidden first, rows by CPU
 * time, the rest in one row, totals.
 */
#include "lib/base/map.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/view/view.h"

#include <errno.h>
#include <linux/perf_event.h>

/* ---- title ------------------------------------------------------------------------------- */

static void table_figures(struct pmc_view *view, const struct pmc_coverage *coverage,
			  struct pmc_out *out)
{
	const struct pmc_screen *screen = &view->options->screen;
	const uint64_t cpu_ns = coverage->shown_cpu_ns, threads = coverage->selected;
	const uint64_t hosts = view->n_where ? coverage->selected_hosts : coverage->hosts;
	const bool wall = coverage->wall_ns && coverage->runs == 1;
	const uint64_t seen = coverage->threads_seen > threads ? coverage->threads_seen : threads;

	if (wall)
		table_say(out, screen, "%t wall%.", coverage->wall_ns);
	if (coverage->selected && !coverage->has_cpu)
		pmc_out_str(out, "CPU not counted");
	else
		table_say(out, screen, "%s%t CPU", coverage->least_cpu ? "at least " : "", cpu_ns);
	if (wall && !coverage->has_earlier)
		pmc_show_cpus(out, (double)cpu_ns / (double)coverage->wall_ns);
	table_say(out, screen, view->n_where ? "%.%n of " : "%.", threads);
	if (seen || !coverage->lacks_rows)
		table_say(out, screen, "%s%n %(thread|threads) in ",
			  coverage->lacks_rows ? "at least " : "", seen);
	table_say(out, screen, "%n %(process|processes)",
		  view->n_where ? coverage->selected_processes : coverage->processes);
	if (hosts > 1)
		table_say(out, screen, " on %n hosts", hosts);
}

static const char *table_command(const struct pmc_view *view, const struct pmc_coverage *coverage)
{
	/* The command that was started, whatever it became by exec. */
	const char *command = pmc_view_command(view->first ? view->first->origin : NULL);
	char runs[48];
	struct pmc_out text;

	/* Those of a machine, or several that were named: none of them is the command. */
	if (coverage->recorded && coverage->processes > 1 && coverage->runs < 2 &&
	    !(view->first->fixed.flags & PMC_PROCESS_FIRST))
		return "several processes";
	if (coverage->runs < 2)
		return command[0] ? command : "(unknown command)";
	pmc_out_to_mem(&text, runs, sizeof(runs));
	table_say(&text, &view->options->screen, "%n runs", coverage->runs);
	return pmc_arena_strndup(view->arena, runs, text.len);
}

void pmc_table_title(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	enum { INDENT = 11, COLUMN = 27, GAP = 2, LEAST = 12 };
	int screen = pmc_screen_width(&view->options->screen);
	char buf[200];
	const char *command = table_command(view, coverage);
	struct pmc_out *out = view->out, text;
	int room, width;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	pmc_out_char(&text, ' ');
	table_figures(view, coverage, &text);
	room = screen - INDENT - GAP - pmc_utf8_columns(buf, text.len);
	if (view->options->screen.color)
		pmc_out_str(out, "\x1b[1m");
	pmc_out_str(out, " pmcagent: ");
	width = INDENT + pmc_utf8_fit(out, command, strlen(command),
				      room > LEAST ? room : screen - INDENT, PMC_CUT_END,
				      view->options->screen.ascii);
	if (view->options->screen.color)
		pmc_out_str(out, "\x1b[0m");
	if (room > LEAST) {
		pmc_out_pad(out, ' ', width + GAP > COLUMN ? GAP : COLUMN - width);
		pmc_outf(out, "%s\n", buf);
	} else {
		pmc_out_char(out, '\n');
		pmc_show_wrapped(out, buf, screen);
	}
	pmc_out_char(out, '\n');
}

/* ---- lines ------------------------------------------------------------------------------- */

/* CPU time of work beside the rows in which no event was counted, by task-clock; 0 without it:
 * children made past fork, start and end of processes. Of both rows together: the raw threads of a
 * child have their CPU time in one, their events in the other. */
static uint64_t uncounted_ns(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	const struct pmc_fold_row *beside[] = { &coverage->unattributed, &coverage->descendants };
	int clock = pmc_view_software(view, PERF_COUNT_SW_TASK_CLOCK, false);
	uint64_t cpu_ns = 0, counted_ns = 0;

	for (unsigned i = 0; clock >= 0 && i < 2; i++) {
		if (!beside[i]->events[clock].rows)
			continue;
		pmc_add_sat(&cpu_ns, beside[i]->cpu.sum);
		pmc_add_sat(&counted_ns, beside[i]->events[clock].sum);
	}
	return pmc_sub_sat(cpu_ns, counted_ns);
}

static uint64_t some_ns(const struct pmc_fold_row *total)
{
	return total->cpu.sum / 200 > 1000000 ? total->cpu.sum / 200 : 1000000;
}

/* Whether 0.5 % of an event may have been in so much CPU time, in which it was not counted: system
 * calls, faults and the like take 100 ns; others may be ten times as frequent there as in rows. */
static bool may_matter(const struct pmc_p_event *event, uint64_t n,
		       const struct pmc_fold_row *total, uint64_t ns)
{
	if (!strcmp(event->unit, "ns"))
		return ns > some_ns(total);
	return event->def.type == PERF_TYPE_SOFTWARE || event->def.type == PERF_TYPE_TRACEPOINT ?
		       ns > n / 2 :
		       ns > total->cpu.sum / 2000;
}

/* Adds what is beside the rows to their sum. An event that was not counted there (lacks: in a part
 * worth mentioning) makes the sum partial if it may matter; so do faults and switches that are not
 * known. */
static void sum_beside(struct pmc_view *view, struct pmc_fold_row *total,
		       const struct pmc_fold_row *beside, bool has_usage, bool lacks)
{
	const bool matters = beside->cpu.sum > some_ns(total);

	if (beside->cpu.rows) {
		total->cpu.extra++;
		pmc_fold_add_value(&total->cpu, beside->cpu.sum, false);
	}
	total->usage_lacks |= matters && !has_usage;
	total->switches_lack |= matters && !has_usage;
	pmc_usage_add(&total->usage, &beside->usage);
	for (unsigned i = 0; i < view->events.set.count; i++) {
		struct pmc_fold_stat *stat = &total->events[i];
		const struct pmc_fold_stat *more = &beside->events[i];

		/* No row has it: the sum stays unknown, unless there are no rows at all. */
		if (!stat->rows && total->rows)
			continue;
		if (more->rows) {
			stat->extra += 1 + lacks;
			pmc_fold_add_value(stat, more->sum, false);
			pmc_add_sat(&stat->raw, more->raw);
			pmc_add_sat(&stat->enabled_ns, more->enabled_ns);
			pmc_add_sat(&stat->running_ns, more->running_ns);
			stat->scaled += more->scaled;
		} else if (may_matter(&view->events.set.events[i], stat->sum, total,
				      beside->cpu.sum)) {
			stat->extra++;
		}
	}
}

/* The metric covers only rows that have both events. */
static void ratios_beside(struct pmc_view *view, struct pmc_fold_row *total,
			  const struct pmc_fold_row *beside)
{
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		struct pmc_ratio *ratio = pmc_fold_ratio(total, &view->events, i);

		if (ratio && (ratio->known || !total->rows))
			pmc_ratio_add(ratio, pmc_fold_ratio(beside, &view->events, i));
	}
}

const char *pmc_more(const struct pmc_lines *lines)
{
	struct pmc_view *view = lines->view;
	struct pmc_out out = PMC_OUT_MEM(48);

	table_say(&out, &view->options->screen, "(%n more)", lines->all - lines->n);
	return pmc_arena_strndup(view->arena, out.buf, out.len);
}

static void sum_lines(struct pmc_table *table, struct pmc_fold_row *total)
{
	struct pmc_view *view = table->view;
	struct pmc_lines *lines = &table->lines;
	struct pmc_fold_row *rest = pmc_arena_alloc(view->arena, sizeof(*rest));

	pmc_fold_init(rest, &view->events, view->by == PMC_BY_REGION);
	for (uint64_t i = 0; i < lines->all; i++) {
		struct pmc_fold_row *sum = i < lines->n ? total : rest;

		pmc_line_row(lines, i);
		if (lines->row.thread)
			pmc_fold_add(sum, &view->events, lines->row.thread, false);
		else
			pmc_fold_merge(sum, lines->row.sums, &view->events);
	}
	pmc_fold_merge(total, rest, &view->events);
	if (lines->n == lines->all || view->options->summary)
		return;
	rest->label = pmc_more(lines);
	table->below[table->n_below++] = rest;
}

/* The last row of each thread. Regions lie in each other and do not add up: they are shares of what
 * the threads did. Steps of a timeline may lie before a reset. */
static void sum_threads(struct pmc_view *view, struct pmc_fold_row *total)
{
	struct pmc_thread_buf buf;

	pmc_fold_clear(total, &view->events);
	for (uint64_t i = 0; i < view->n_rows; i++)
		if (i + 1 == view->n_rows || !pmc_same_thread(view->rows[i], view->rows[i + 1]))
			pmc_fold_add(total, &view->events,
				     pmc_profile_thread(view->profile, view->rows[i], &buf), false);
}

/* Whether the row has anything but zeros; one that could not be counted has. */
static bool has_something(const struct pmc_view *view, const struct pmc_fold_row *row)
{
	bool known = row->cpu.rows;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		if (row->events[i].sum)
			return true;
		known |= row->events[i].rows != 0;
	}
	return row->cpu.sum || !known;
}

static void line_beside(struct pmc_table *table, const char *label, struct pmc_fold_row *beside,
			struct pmc_fold_row *total, bool has_usage, bool lacks)
{
	beside->label = label;
	ratios_beside(table->view, total, beside);
	sum_beside(table->view, total, beside, has_usage, lacks);
	table->below[table->n_below++] = beside;
}

static void lines_below(struct pmc_table *table, struct pmc_coverage *coverage,
			struct pmc_fold_row *total)
{
	struct pmc_view *view = table->view;
	const bool lacks = uncounted_ns(view, coverage) > some_ns(total);
	const bool ascii = view->options->screen.ascii;

	/* A metric of the total takes the run's time, not a thread's. */
	total->wall_ns = coverage->wall_ns;
	total->label = view->by == PMC_BY_REGION ? "all threads" : "total";
	if (view->by != PMC_BY_REGION && !view->n_where) {
		if (coverage->has_unattributed)
			line_beside(table, ascii ? "- unattributed" : "─ unattributed",
				    &coverage->unattributed, total, !coverage->usage_unknown,
				    lacks);
		/* Those of rows that do not know them are in the processes' own. */
		if (coverage->has_unattributed && !coverage->usage_unknown)
			total->usage_rows = total->switch_rows = total->rows ? total->rows : 1;
		if (coverage->has_descendants && has_something(view, &coverage->descendants))
			line_beside(table, ascii ? "- descendants" : "─ descendants",
				    &coverage->descendants, total, false, lacks);
	}
	table->below[table->n_below++] = total;
	coverage->shown_cpu_ns = total->cpu.sum;
	/* The title is the same in all tables, also in one that has no lines beside threads. */
	if (view->by == PMC_BY_REGION && !view->n_where) {
		pmc_add_sat(&coverage->shown_cpu_ns, coverage->unattributed.cpu.sum);
		pmc_add_sat(&coverage->shown_cpu_ns, coverage->descendants.cpu.sum);
	}
	coverage->least_cpu = total->cpu.rows < total->rows + total->cpu.extra;
}

void pmc_table_sum(struct pmc_table *table, struct pmc_coverage *coverage)
{
	struct pmc_fold_row total;

	pmc_fold_init(&total, &table->view->events, false);
	sum_threads(table->view, &total);
	lines_below(table, coverage, &total);
	table->n_below = 0;
}

/* ---- columns ----------------------------------------------------------------------------- */

enum { NAME_MOST = 32 };

static bool is_key(const struct table_column *column)
{
	return column->kind == PMC_COL_KEY ||
	       (column->kind == PMC_COL_FIELD && column->index == PMC_FIELD_thread);
}

/* The end of a path, which distinguishes files best, is kept. */
static enum pmc_cut cut_of(const struct pmc_view *view, const struct table_column *column)
{
	const bool field = column->kind == PMC_COL_FIELD;
	const enum pmc_fold_by key =
		column->kind == PMC_COL_KEY ? pmc_key_at(view, column->index) : PMC_BY_NONE;

	if (key == PMC_BY_PATH || (field && column->index >= PMC_FIELD_cmdline))
		return PMC_CUT_END;
	if (key == PMC_BY_EXE ||
	    (field && (column->index == PMC_FIELD_exe || column->index == PMC_FIELD_start_routine)))
		return PMC_CUT_LEFT;
	return PMC_CUT_MIDDLE;
}

/* CPU time of a row, of its threads and outside the MPI library; weights of samples; values of one
 * event. A deviation has a unit of its own: it may be very small. */
static unsigned together_of(const struct pmc_view *view, const struct table_column *column)
{
	enum { NOT, CPU_TIMES, WEIGHTS, EVENTS };
	const unsigned i = column->index;

	if (column->part == PMC_PART_STDDEV)
		return NOT;
	switch (column->kind) {
	case PMC_COL_FIELD:
		return i == PMC_FIELD_self_cpu_ns || i == PMC_FIELD_cpu_ns ||
				       i == PMC_FIELD_outside_mpi_ns ?
			       CPU_TIMES :
			       NOT;
	case PMC_COL_CPU:
		return CPU_TIMES;
	case PMC_COL_SAMPLE:
		return i == PMC_SAMPLE_self || i == PMC_SAMPLE_total ? WEIGHTS : NOT;
	case PMC_COL_EVENT:
		return (int)i == view->clock_event ? CPU_TIMES : EVENTS + i;
	default:
		return NOT;
	}
}

static void add_column(struct pmc_table *table, const struct table_column *column,
		       enum table_drop drop)
{
	const struct pmc_view *view = table->view;
	struct table_column *to = &table->columns[table->n];

	*to = *column;
	to->drop = (unsigned char)drop;
	/* The last requested event is hidden first; of other columns the rightmost, and those of
	 * waits last. */
	to->place = drop == TABLE_DROP_EVENT ? column->index :
		    column->place	     ? column->place :
					       PMC_WAITS_PLACES + table->n;
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
	to->together = together_of(view, column);
	to->own_decimals = column->kind != PMC_COL_SAMPLE;
	table->n++;
}

static void add_bar(struct pmc_table *table)
{
	static const struct table_column bar = {
		.name = "", .kind = PMC_COL_FIELD, .index = PMC_FIELD_share, .unit = TABLE_BAR
	};

	add_column(table, &bar, TABLE_DROP_BAR);
}

/* ---- choice ------------------------------------------------------------------------------ */

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

/* The event in the accounting column's place: its twin, unless that has fewer values; or -1. */
static int event_for(const struct pmc_table *table, unsigned field)
{
	const int event = twin_of(table, field);
	const uint64_t rows = event < 0 ? 0 : table->all->events[event].rows;

	if (field == PMC_FIELD_cpu_ns)
		return event;
	return rows && rows >= (field == PMC_FIELD_faults ? table->all->usage_rows :
							    table->all->switch_rows) ?
		       event :
		       -1;
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
		/* Processes are in the order of their machines. */
		return many && strcmp(profile->processes[0]->node,
				      profile->processes[profile->n_processes - 1]->node) != 0;
	case PMC_FIELD_pid:
		return many;
	case PMC_FIELD_elapsed_ns:
		return many && table->view->by == PMC_BY_PROCESS;
	case PMC_FIELD_args: /* in Markdown nothing is cut */
		return many && table->view->by == PMC_BY_PROCESS &&
		       table->view->options->format != PMC_FORMAT_MARKDOWN;
	case PMC_FIELD_ran:
		return any_scaled(table);
	case PMC_FIELD_lost_samples:
		return table->all->lost_samples;
	case PMC_FIELD_voluntary_switches:
	case PMC_FIELD_involuntary_switches:
		return table->all->switch_rows || event_for(table, field) >= 0;
	case PMC_FIELD_faults:
		return table->all->usage_rows || event_for(table, field) >= 0;
	case PMC_FIELD_preempted_ns:
		return table->all->delays.lengths.n;
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

/* Thread IDs and shares stay beside the default events. */
static enum table_drop drop_of(const struct pmc_view *view, const struct table_column *column)
{
	const bool extra = column->index == PMC_FIELD_tid || column->index == PMC_FIELD_share;

	for (unsigned i = 0; extra && i < view->events.set.count; i++)
		if (view->requested[i])
			return TABLE_DROP_ROW;
	return (enum table_drop)column->drop;
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
	if (event < 0)
		add_column(table, column, drop_of(table->view, column));
	else
		add_column(table, value_of(columns, (unsigned)event),
			   column->drop == TABLE_STAYS ? TABLE_STAYS : TABLE_DROP_EVENT);
	if (column->index == PMC_FIELD_share && !table->view->options->timeline)
		add_bar(table);
}

static unsigned bar_of_samples(const struct pmc_view *view)
{
	return view->by == PMC_BY_PATH ? PMC_SAMPLE_total_pct : PMC_SAMPLE_self_pct;
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
			else if (column->kind != PMC_COL_EVENT || split ||
				 !is_twin(table, column->index))
				add_column(table, column, column->drop);
			if (column->kind == PMC_COL_SAMPLE &&
			    column->index == bar_of_samples(table->view))
				add_bar(table);
		}
	}
}

/* What the command lines of all rows of a program begin with is left out, up to a word or a part of
 * a path; and all, where rows do not differ. */
static void tell_apart(struct pmc_table *table)
{
	static const struct table_column column = { .kind = PMC_COL_FIELD,
						    .index = PMC_FIELD_args };
	struct pmc_view *view = table->view;
	const char *ellipsis = view->options->screen.ascii ? "... " : "… ";
	const uint64_t n = table->lines.n;
	const char **all = pmc_arena_alloc(view->arena, (n + 1) * sizeof(*all));
	struct program {
		const char *args;
		size_t same;
	} **programs = pmc_arena_alloc(view->arena, (n + 1) * sizeof(*programs));
	struct pmc_map map = { 0 };
	bool differ = view->options->columns;

	for (uint64_t i = 0; i < n; i++) {
		const char *name;
		size_t same = 0;

		pmc_line_row(&table->lines, i);
		all[i] = pmc_cell(view, &column, &table->lines.row).text;
		differ |= !all[i] || !all[0] || strcmp(all[i], all[0]) != 0;
		if (!all[i])
			continue;
		name = pmc_view_command(pmc_row_process(view, &table->lines.row));
		programs[i] =
			pmc_map_at(&map, view->arena, name, strcspn(name, " "), sizeof(**programs));
		if (!programs[i]->args)
			*programs[i] = (struct program){ all[i], strlen(all[i]) };
		while (same < programs[i]->same && all[i][same] == programs[i]->args[same])
			same++;
		programs[i]->same = same;
	}
	for (uint64_t i = 0; i < n; i++) {
		size_t same = all[i] ? programs[i]->same : 0;

		if (!differ)
			all[i] = NULL;
		if (!differ || !same || !all[i][same])
			continue;
		while (same && !strchr(" /=", all[i][same - 1]))
			same--;
		if (same)
			all[i] = pmc_arena_format(view->arena, "%s%s", ellipsis, all[i] + same);
	}
	table->arguments = all;
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

/* ---- rows and cells ----------------------------------------------------------------------- */

static void make_row(void *arg, uint64_t i)
{
	struct pmc_table *table = arg;

	table->at = i;
	if (i < table->lines.n)
		pmc_line_row(&table->lines, i);
	else if (table->rest)
		table->lines.row = (struct pmc_row){ .sample = table->rest };
	else
		table->lines.row = (struct pmc_row){ .sums = table->below[i - table->lines.n] };
}

static bool is_beside(const struct pmc_table *table, const struct pmc_row *row)
{
	return row->sums && (row->sums == &table->coverage->unattributed ||
			     row->sums == &table->coverage->descendants);
}

static bool is_spread(const struct table_column *column)
{
	return (column->kind == PMC_COL_CPU || column->kind == PMC_COL_EVENT) &&
	       column->part >= PMC_PART_MIN && column->part <= PMC_PART_LARGEST;
}

/* Percent of all CPU time, or of the samples, for the bar; 0 for rows that have none. */
static double share_of(struct pmc_table *table, const struct pmc_row *row)
{
	static const struct table_column cpu = { .kind = PMC_COL_FIELD, .index = PMC_FIELD_share };
	const struct table_column samples = { .kind = PMC_COL_SAMPLE,
					      .index = bar_of_samples(table->view) };
	struct table_cell cell;

	if (row->sample ? row->sample == table->rest :
			  is_beside(table, row) || row->sums == table->all)
		return 0;
	cell = pmc_cell(table->view, row->sample ? &samples : &cpu, row);
	return cell.kind == CELL_REAL ? cell.real : 0;
}

/* Times of the clock since the machine's start tell nothing: a table has them from the start of the
 * job on, as in the column `at`. */
static bool is_clock(const struct table_column *column)
{
	return column->kind == PMC_COL_FIELD && column->index >= PMC_FIELD_start_ns &&
	       column->index <= PMC_FIELD_t_ns;
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct pmc_table *table = arg;
	const struct pmc_row *row = &table->lines.row;
	const bool across = table->view->options->across;
	struct table_cell cell;

	if (column->unit == TABLE_BAR)
		return cell_real(share_of(table, row), TABLE_DECIMALS);
	if (row->sample && row->sample == table->rest)
		return pmc_sample_rest(table, column);
	if (!row->thread && row->sums && !row->sums->groups && column == table->labels)
		return cell_text(row->sums->label);
	if (table->branches && pmc_is_sample_key(table->view, column))
		return pmc_table_branch(table);
	if (column->rest && table->at < table->lines.n)
		return cell_text(table->arguments[table->at]);
	/* A ratio of two small differences is noise. */
	if ((is_spread(column) && (across ? row->sums->rows : row->sums->threads) < 2) ||
	    (column->kind == PMC_COL_METRIC && row->sums == &table->coverage->unattributed))
		return cell_null();
	cell = pmc_cell(table->view, column, row);
	if (is_clock(column) && cell.kind == CELL_NUMBER)
		cell.number = pmc_sub_sat(cell.number, row->thread->process->job_start_ns);
	return cell;
}

/* Without a line between them a root would look like a callee of the last line of the tree above:
 * an only callee stands in its caller's column. */
static struct table_line line_of(void *arg)
{
	const struct pmc_table *table = arg;
	const uint64_t i = table->at;
	const bool root =
		table->branches && (i >= table->lines.n ||
				    !((const struct pmc_sample_row *)table->lines.list[i])->depth);

	return (struct table_line){ .dim = is_beside(table, &table->lines.row), .gap = i && root };
}

static void lay_out(struct pmc_table *table)
{
	table->print = (struct table){
		.columns = table->columns,
		.n_columns = table->n,
		.n_rows = table->lines.n + table->n_below,
		.arg = table,
		.row = make_row,
		.cell = cell_of,
		.line = line_of,
		.screen = table->view->options->screen,
		.arena = table->view->arena,
		.wide = table->view->options->wide ||
			table->view->options->format == PMC_FORMAT_MARKDOWN,
		.indent = 2,
	};
	table_layout(&table->print);
}

/* ---- what is printed ----------------------------------------------------------------------- */

static const char *unnamed_sums(struct pmc_table *table)
{
	struct pmc_out out = PMC_OUT_MEM(256);

	for (unsigned i = 0; !table->labels && i < table->n_below; i++)
		pmc_outf(&out, "%s%s", i ? ", " : "",
			 table->rest ? table->rest->function : table->below[i]->label);
	return pmc_arena_strndup(table->view->arena, out.buf, out.len);
}

static void note_marks(struct pmc_table *table, struct pmc_footer *footer)
{
	footer->partial = table->print.has_partial;
	footer->estimate = table->print.has_estimate;
	for (unsigned i = 0; i < table->print.n; i++) {
		const struct table_column *column = table->print.places[i].column;

		if (column->kind != PMC_COL_FIELD)
			continue;
		footer->scaled |= column->index == PMC_FIELD_ran;
		footer->usage |= column->index >= PMC_FIELD_minor_faults &&
				 column->index <= PMC_FIELD_faults;
	}
	footer->hidden = table->print.hidden;
	footer->sums = unnamed_sums(table);
}

static void put_json(struct pmc_table *table, const char *figures)
{
	const uint64_t n = table->lines.n;
	struct pmc_view *view = table->view;
	struct pmc_json json;

	pmc_json_init(&json, view->out);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "command", table_command(view, table->coverage));
	pmc_json_str(&json, "figures", figures);
	pmc_json_u64(&json, "all", table->lines.all);
	table_page_columns(&table->print, &json);
	table_page_rows(&table->print, &json, "rows", 0, n);
	table_page_rows(&table->print, &json, "sums", n, n + table->n_below);
	pmc_json_array(&json, "notes");
	for (size_t i = 0; i < view->n_notes; i++)
		pmc_json_str(&json, NULL, view->notes[i] + 1);
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
}

static void put_markdown(struct pmc_table *table, const char *figures)
{
	struct pmc_view *view = table->view;
	struct pmc_out text = PMC_OUT_MEM(512);

	table_say(&text, &(struct pmc_screen){ .width = 110, .ascii = view->options->screen.ascii },
		  "%100S", table_command(view, table->coverage));
	pmc_out_str(view->out, "**");
	table_put_markdown(view->out, text.buf, text.len);
	pmc_outf(view->out, "**: %s\n\n", figures);
	table_print(&table->print, TABLE_MARKDOWN, view->out);
	pmc_out_char(view->out, '\n');
	for (size_t i = 0; i < view->n_notes; i++) {
		pmc_out_str(view->out, "- ");
		table_put_markdown(view->out, view->notes[i] + 1, strlen(view->notes[i] + 1));
		pmc_out_char(view->out, '\n');
	}
}

void pmc_table_put(struct pmc_table *table, struct pmc_footer *footer)
{
	struct pmc_view *view = table->view;
	struct pmc_out text = PMC_OUT_MEM(200);

	table_figures(view, table->coverage, &text);
	note_marks(table, footer);
	pmc_view_footer(view, footer);
	if (view->options->cells) {
		put_json(table, text.buf);
	} else if (view->options->format == PMC_FORMAT_MARKDOWN) {
		put_markdown(table, text.buf);
	} else {
		if (!pmc_by_samples(view->by))
			pmc_table_title(view, table->coverage);
		table_print(&table->print, TABLE_PLAIN, view->out);
		pmc_out_char(view->out, '\n');
		pmc_view_put_notes(view);
	}
}

/* ---- all --------------------------------------------------------------------------------- */

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
			add_column(table, &chosen.list[i], TABLE_STAYS);
	} else {
		for (unsigned i = 0; i < columns->n; i++)
			if (is_key(&columns->list[i]) && columns->list[i].index != PMC_ALL_KEYS)
				add_column(table, &columns->list[i], TABLE_STAYS);
		add_usual(table, columns);
	}
	choose_label(table);
	tell_apart(table);
	lay_out(table);
	return 0;
}

int pmc_view_table(struct pmc_view *view)
{
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	struct pmc_footer footer = { 0 };
	struct pmc_coverage coverage;
	struct pmc_fold_row total;
	int err = pmc_view_lines(view, view->by != PMC_BY_NONE, &table->lines);

	if (err)
		return err;
	pmc_view_coverage(view, &coverage);
	pmc_fold_init(&total, &view->events, false);
	table->view = view;
	table->all = footer.all = &total;
	table->coverage = footer.coverage = &coverage;
	sum_lines(table, &total);
	if (view->options->summary)
		table->lines.n = 0;
	if (view->by == PMC_BY_REGION)
		sum_threads(view, &total);
	if (view->options->timeline)
		pmc_table_sum(table, &coverage);
	else
		lines_below(table, &coverage, &total);
	/* Shares are of all CPU time, and this task-clock covers a part of the work only. */
	if (view->clock_event >= 0 &&
	    pmc_fold_state(&total.events[view->clock_event], total.rows) == PMC_PARTIAL)
		view->clock_event = -1;
	view->whole_cpu = (double)(view->clock_event < 0 ? total.cpu.sum :
							   total.events[view->clock_event].sum);
	err = pmc_table_make(table);
	if (!err)
		pmc_table_put(table, &footer);
	if (!err && view->options->histogram)
		pmc_view_histograms(&table->lines);
	return err;
}
