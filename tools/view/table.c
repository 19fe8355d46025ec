/* SPDX-License-Identifier: MIT */
/* table.c - the table a person sees: title, rows by CPU time, the rest in one row, totals. */
#include "tools/view/table.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <linux/perf_event.h>

/* ---- title ------------------------------------------------------------------------------- */

void pmc_table_figures(struct pmc_view *view, const struct pmc_coverage *coverage,
		       struct pmc_out *out)
{
	const struct pmc_screen *screen = &view->options->screen;
	const uint64_t cpu_ns = coverage->shown_cpu_ns, threads = coverage->selected;
	const uint64_t hosts = view->n_where ? coverage->selected_hosts : coverage->hosts;
	const bool wall = coverage->wall_ns && coverage->runs == 1;

	if (wall)
		table_say(out, screen, "%t wall%.", coverage->wall_ns);
	if (coverage->selected && !coverage->has_cpu)
		pmc_out_str(out, "CPU not counted");
	else
		table_say(out, screen, "%t CPU", cpu_ns);
	if (wall && !coverage->has_earlier) {
		pmc_out_str(out, " (");
		pmc_out_fixed(out, (double)cpu_ns / (double)coverage->wall_ns, 2);
		pmc_out_str(out, " CPUs)");
	}
	table_say(out, screen, view->n_where ? "%.%n of " : "%.", threads);
	table_say(out, screen, "%s%n %(thread|threads) in %n %(process|processes)",
		  coverage->lacks_rows ? "at least " : "",
		  coverage->threads_seen > threads ? coverage->threads_seen : threads,
		  view->n_where ? coverage->selected_processes : coverage->processes);
	if (hosts > 1)
		table_say(out, screen, " on %n hosts", hosts);
}

const char *pmc_table_command(const struct pmc_view *view, const struct pmc_coverage *coverage,
			      char room[48])
{
	/* The command that was started, whatever it became by exec. */
	const char *command = pmc_view_command(view->first ? view->first->origin : NULL);
	struct pmc_out text;

	if (coverage->runs < 2)
		return command[0] ? command : "(unknown command)";
	pmc_out_to_mem(&text, room, 48);
	pmc_show_integer(&text, coverage->runs);
	pmc_out_str(&text, " runs");
	return room;
}

void pmc_table_title(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	enum { INDENT = 11, COLUMN = 27, GAP = 2, LEAST = 12 };
	int screen = pmc_screen_width(&view->options->screen);
	char buf[200], runs[48];
	const char *command = pmc_table_command(view, coverage, runs);
	struct pmc_out *out = view->out, text;
	int room, width;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	pmc_out_char(&text, ' ');
	pmc_table_figures(view, coverage, &text);
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

/* CPU time worth mentioning. */
static uint64_t some_ns(const struct pmc_fold_row *total)
{
	return total->cpu.sum / 200 > 1000000 ? total->cpu.sum / 200 : 1000000;
}

/* Adds what is beside the rows to their sum. An event that was not counted there, in CPU time
 * worth mentioning (lacks: in part of it), makes the sum partial; so do faults and switches that
 * are not known. */
static void sum_beside(struct pmc_view *view, struct pmc_fold_row *total,
		       const struct pmc_fold_row *beside, bool has_usage, bool lacks)
{
	const bool matters = beside->cpu.sum > some_ns(total);

	if (beside->cpu.rows) {
		total->cpu.extra++;
		pmc_fold_add_value(&total->cpu, beside->cpu.sum, false);
	}
	total->usage_lacks |= matters && !has_usage;
	pmc_add_sat(&total->minor_faults, beside->minor_faults);
	pmc_add_sat(&total->major_faults, beside->major_faults);
	pmc_add_sat(&total->voluntary_switches, beside->voluntary_switches);
	pmc_add_sat(&total->involuntary_switches, beside->involuntary_switches);
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
		} else if (matters) {
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

/* "(17 more)" */
const char *pmc_more(const struct pmc_lines *lines)
{
	struct pmc_view *view = lines->view;
	char text[48];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	table_say(&out, &view->options->screen, "(%n more)", lines->all - lines->n);
	return pmc_arena_strndup(view->arena, text, out.len);
}

/* Sums the lines that are shown, and the others into one line for the rest. */
static void sum_lines(struct pmc_table *table, struct pmc_fold_row *total)
{
	struct pmc_view *view = table->view;
	struct pmc_lines *lines = &table->lines;
	struct pmc_fold_row *rest = pmc_arena_alloc(view->arena, sizeof(*rest));

	pmc_fold_init_region(rest, &view->events);
	if (view->by != PMC_BY_REGION)
		rest->self = NULL;
	for (uint64_t i = 0; i < lines->all; i++) {
		struct pmc_fold_row *sum = i < lines->n ? total : rest;

		pmc_line_row(lines, i);
		if (lines->row.sums)
			pmc_fold_merge(sum, lines->row.sums, &view->events);
		else
			pmc_fold_add(sum, &view->events, lines->row.thread, false);
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

/* The rows below the others: what is beside the threads, and the total. */
static void lines_below(struct pmc_table *table, struct pmc_coverage *coverage,
			struct pmc_fold_row *total)
{
	struct pmc_view *view = table->view;
	const bool lacks = uncounted_ns(view, coverage) > some_ns(total);

	/* A metric of the total takes the run's time, not a thread's. */
	total->wall_ns = coverage->wall_ns;
	total->label = view->by == PMC_BY_REGION ? "all threads" : "total";
	if (view->by != PMC_BY_REGION && !view->n_where) {
		if (coverage->has_unattributed)
			line_beside(table, view->glyphs->unattributed, &coverage->unattributed,
				    total, !coverage->usage_unknown, lacks);
		/* Those of rows that do not know them are in the processes' own. */
		if (coverage->has_unattributed && !coverage->usage_unknown)
			total->usage_rows = total->rows ? total->rows : 1;
		if (coverage->has_descendants && has_something(view, &coverage->descendants))
			line_beside(table, view->glyphs->descendants, &coverage->descendants, total,
				    false, lacks);
	}
	table->below[table->n_below++] = total;
	coverage->shown_cpu_ns = total->cpu.sum;
}

void pmc_table_sum(struct pmc_table *table, struct pmc_coverage *coverage)
{
	struct pmc_fold_row total;

	pmc_fold_init(&total, &table->view->events);
	sum_threads(table->view, &total);
	lines_below(table, coverage, &total);
	table->n_below = 0;
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
	pmc_fold_init(&total, &view->events);
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
	/* Shares are of all CPU time, which a sum of task-clock over a part of the work is not. */
	if (view->clock_event >= 0 &&
	    pmc_fold_state(&total.events[view->clock_event], total.rows) == PMC_PARTIAL)
		view->clock_event = -1;
	view->whole_cpu = (double)(view->clock_event < 0 ? total.cpu.sum :
							   total.events[view->clock_event].sum);
	err = pmc_table_make(table);
	if (!err)
		pmc_table_put(table, &footer);
	return err;
}
