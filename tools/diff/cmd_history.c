/* SPDX-License-Identifier: MIT */
/*
 * cmd_history.c - pmctl history: at which run a measurement of a row changed, over many runs in the
 * order of time.
 *
 * Rows and sums are those of pmctl diff with one side; a line is a change, or a measurement without
 * one.
 */
#include "lib/base/labels.h"
#include "lib/base/utf8.h"
#include "tools/bench/changes.h"
#include "tools/diff/diff.h"
#include "tools/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_OPTIONS struct history

enum { ORDER_TIME, ORDER_NAME, ORDER_GIVEN };
enum { CHANGES_MOST = 64 };
/* The probability of a false change among all measurements of all rows. Half of it is for CPU time
 * and events: they are few, and what is looked for. */
#define LEVEL 0.05

struct run {
	const char *file, *labels, *command; /* NULL: not known */
	time_t time;			     /* last modification of its dumps */
	unsigned dump;			     /* in sums */
};

struct line {
	const struct diff_row *row;
	unsigned column;
	bool changed, goes_on; /* goes_on: below a line of the same row */
	bool judged;	       /* by --fail-above */
	size_t n;	       /* runs that have a value */
	struct bench_change change;
	struct bench_trend trend; /* not known beside a change, which is no slope */
};

struct history {
	struct diff diff;
	const char **paths;
	unsigned n_paths;
	int order;
	const char *label; /* key of the label that names a run; NULL: chosen */

	struct run *runs;
	size_t n_runs, runs_room;
	size_t n_series[2]; /* whose values differ: accounting, and those of diff_is_cost() */
	size_t n_changed, n_unchanged;
	struct line *lines, *at;
	size_t n_lines, lines_room, sums; /* sums: lines of the total, the last ones */
	/* The last runs, too few for a change, that lie apart in a column of the total. */
	struct {
		size_t n; /* 0: none do */
		unsigned column;
		double pct; /* at least that far */
	} apart;
	bool for_people;
};

/* ---- runs --------------------------------------------------------------------------------- */

static int read_run(struct history *history, const struct diff_run *of)
{
	struct run run = {
		.file = of->name, .labels = "", .time = of->time, .dump = (unsigned)history->n_runs
	};
	struct pmc_profile profile;
	bool whole;
	const int code = diff_load_run(of, true, &profile, &whole);

	if (!code && whole) {
		history->diff.commands[0] = NULL;
		diff_take(&history->diff, 0, run.dump, &profile);
		run.command = history->diff.commands[0];
		for (uint64_t i = 0; i < profile.n_processes && !*run.labels; i++)
			run.labels = pmc_arena_strdup(&history->diff.arena,
						      profile.processes[i]->labels);
		history->runs = pmc_arena_grow(&history->diff.arena, history->runs, history->n_runs,
					       &history->runs_room, sizeof(run));
		history->runs[history->n_runs++] = run;
	}
	pmc_profile_free(&profile);
	return code;
}

/* Numbers in names by their size: run-9 before run-10. */
static int by_name(const void *a, const void *b)
{
	return table_natural_order(((const struct run *)a)->file, ((const struct run *)b)->file);
}

static int by_time(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->time != y->time ? (x->time > y->time ? 1 : -1) : by_name(a, b);
}

static bool has_label(const struct history *history)
{
	size_t len;

	for (size_t i = 0; i < history->n_runs; i++)
		if (pmc_label(history->runs[i].labels, history->label, &len))
			return true;
	return false;
}

static int read_runs(struct history *history)
{
	struct diff_runs runs;
	int code = diff_find_runs(&history->diff, history->paths, history->n_paths, true, &runs);

	diff_start(&history->diff, runs.n);
	for (unsigned i = 0; i < runs.n && !code; i++)
		code = read_run(history, &runs.list[i]);
	diff_end(&history->diff);
	if (code)
		return code;
	history->diff.n_files[0] = (unsigned)history->n_runs;
	if (history->n_runs < 2 * BENCH_SIDE_LEAST)
		return tool_fail(
			EXIT_FAIL,
			"at least %d runs are needed, and %zu %s there (dumps of one job are one "
			"run); give more dumps, or compare two with pmctl diff",
			2 * BENCH_SIDE_LEAST, history->n_runs, history->n_runs == 1 ? "is" : "are");
	if (history->label && !has_label(history))
		return tool_fail(EXIT_FAIL,
				 "no run has the label '%.60s'; PMC_LABEL=%.60s=... gives it one",
				 history->label, history->label);
	if (history->order != ORDER_GIVEN)
		qsort(history->runs, history->n_runs, sizeof(*history->runs),
		      history->order == ORDER_TIME ? by_time : by_name);
	return 0;
}

/* ---- series ------------------------------------------------------------------------------- */

/* The values of the runs that have one, and the places of these runs. Returns their number. */
static size_t values_of(const struct history *history, const struct diff_row *row, unsigned column,
			double *values, size_t *places)
{
	size_t n = 0;

	for (size_t i = 0; i < history->n_runs; i++) {
		const diff_number value =
			diff_value(&history->diff, row, column, history->runs[i].dump);

		if (isnan(value))
			continue;
		values[n] = (double)value;
		places[n++] = i;
	}
	return n;
}

static struct line *add_line(struct history *history, const struct diff_row *row, unsigned column)
{
	struct line *line;

	history->lines = pmc_arena_grow(&history->diff.arena, history->lines, history->n_lines,
					&history->lines_room, sizeof(*line));
	line = &history->lines[history->n_lines++];
	*line = (struct line){ .row = row, .column = column };
	return line;
}

/* Looks for last runs that are further from those before than these are from each other. */
static void find_apart(struct history *history, unsigned column, const double *values, size_t n)
{
	struct bench_summary before, last;

	for (size_t k = BENCH_SIDE_LEAST - 1; k; k--) {
		double gap, pct;

		bench_summarize(values, n - k, &before);
		bench_summarize(values + n - k, k, &last);
		gap = last.min > before.max ? last.min - before.max : last.max - before.min;
		pct = gap / (gap > 0 ? before.max : before.min) * 100;
		if ((last.min <= before.max && last.max >= before.min) ||
		    fabs(gap) <= before.max - before.min || !isfinite(pct) ||
		    fabs(pct) <= fmax(1, fabs(history->apart.pct)))
			continue;
		history->apart.n = k;
		history->apart.column = column;
		history->apart.pct = pct;
	}
}

/* Adds the lines of a measurement. `values` and `places` have room for each run. */
static void take_series(struct history *history, const struct diff_row *row, unsigned column,
			double *values, size_t *places)
{
	const size_t n = values_of(history, row, column, values, places);
	/* Of the total in a table the first measurement is always there; a condition is of all. */
	const bool always = !history->for_people || history->diff.all ||
			    history->diff.out.choice.n_where ||
			    (row == &history->diff.total && column == diff_first(&history->diff));
	const size_t of_its_kind = history->n_series[diff_is_cost(column)];
	struct bench_change changes[CHANGES_MOST];
	struct bench_summary whole;
	struct line *line;
	size_t n_changes;

	if (n < 2 * BENCH_SIDE_LEAST)
		return;
	n_changes = bench_changes(values, n, LEVEL / 2 / fmax(1, (double)of_its_kind), changes,
				  CHANGES_MOST);
	history->n_unchanged += !n_changes && !always;
	history->n_changed += n_changes > 0;
	if (row == &history->diff.total && diff_is_cost(column)) {
		const size_t from = n_changes ? changes[n_changes - 1].at : 0;

		if (n >= from + 2 * BENCH_SIDE_LEAST - 1)
			find_apart(history, column, values + from, n - from);
	}
	if (!n_changes && !always)
		return;
	for (size_t i = 0; i < n_changes; i++) {
		line = add_line(history, row, column);
		line->n = n;
		line->changed = true;
		line->change = changes[i];
		line->change.at = places[changes[i].at];
		line->change.from = places[changes[i].from];
		line->change.to = places[changes[i].to];
	}
	if (n_changes)
		return;
	bench_summarize(values, n, &whole);
	line = add_line(history, row, column);
	line->n = n;
	line->change.before = whole.trimmed.n ? whole.trimmed.value : whole.mean;
	bench_trend_of(values, n, &line->trend);
}

/* Whether the row has values in the column that an event does not have, too. */
static bool is_series(const struct history *history, const struct diff_row *row, unsigned column)
{
	return diff_sums(row, column) && !diff_is_event_too(&history->diff, row, column);
}

static bool varies(const struct history *history, const struct diff_row *row, unsigned column)
{
	const diff_number *sums = diff_sums(row, column);

	for (unsigned i = 1; i < history->n_runs; i++)
		if (sums[i] != sums[0])
			return true;
	return false;
}

static void count_series(struct history *history, const struct diff_row *row)
{
	for (unsigned c = diff_first(&history->diff); c < history->diff.n_columns; c++)
		if (is_series(history, row, c) && varies(history, row, c))
			history->n_series[diff_is_cost(c)]++;
}

/* Orders the rows by the sum of their first column, and counts the series that vary: each is a
 * chance to be wrong, so all of them share one level. */
static void order_rows(struct history *history)
{
	struct diff *diff = &history->diff;

	for (struct diff_row *row = diff->rows; row; row = row->hh.next) {
		const diff_number *sums = diff_sums(row, diff_first(diff));

		for (unsigned i = 0; sums && i < history->n_runs; i++)
			row->impact[0] += isnan(sums[i]) ? 0 : (double)sums[i];
	}
	HASH_SORT(diff->rows, diff_by_impact);
	for (const struct diff_row *row = diff->rows; row; row = row->hh.next)
		count_series(history, row);
	count_series(history, &diff->total);
}

static void take_row(struct history *history, const struct diff_row *row, double *values,
		     size_t *places)
{
	for (unsigned c = diff_first(&history->diff); c < history->diff.n_columns; c++)
		if (is_series(history, row, c))
			take_series(history, row, c, values, places);
}

static void make_lines(struct history *history)
{
	struct diff *diff = &history->diff;
	double *values = pmc_arena_alloc(&diff->arena, history->n_runs * sizeof(*values));
	size_t *places = pmc_arena_alloc(&diff->arena, history->n_runs * sizeof(*places));

	order_rows(history);
	for (const struct diff_row *row = diff->rows; row; row = row->hh.next)
		take_row(history, row, values, places);
	history->sums = history->n_lines;
	take_row(history, &diff->total, values, places);
	history->sums = history->n_lines - history->sums;
}

/* ---- cells -------------------------------------------------------------------------------- */

enum {
	KEY,
	NAME,
	RUNS,
	TREND,
	MEAN,
	BEFORE,
	AFTER,
	PERCENT,
	INTERVAL,
	RUN,
	FIRST,
	LAST,
	LABEL,
	LABELS,
	RUN_FILE,
	N_COLUMNS
};

static const struct table_column columns[N_COLUMNS] = {
	TABLE_COLUMN("key", KEY, .cut = PMC_CUT_MIDDLE),
	TABLE_COLUMN("name", NAME, .head = "", .most = 32, .cut = PMC_CUT_MIDDLE),
	TABLE_COLUMN("runs", RUNS, .unit = TABLE_WHOLE, .data = true),
	TABLE_COLUMN("trend_pct", TREND, .head = "trend %", .unit = TABLE_PERCENT,
		     .drop = TABLE_DROP_METRIC, .blank = true),
	/* Of measurements without a change; in data it is `before`. */
	TABLE_COLUMN("mean", MEAN, .unit = TABLE_COUNT, .hidden = true, .blank = true),
	TABLE_COLUMN("before", BEFORE, .unit = TABLE_COUNT, .kept = true, .blank = true),
	TABLE_COLUMN("after", AFTER, .unit = TABLE_COUNT, .kept = true, .blank = true),
	TABLE_COLUMN("change_pct", PERCENT, .head = "change %", .unit = TABLE_PERCENT, .kept = true,
		     .blank = true),
	TABLE_COLUMN("ci_pct", INTERVAL, .head = "± %", .unit = TABLE_PERCENT,
		     .drop = TABLE_DROP_USAGE, .blank = true),
	TABLE_COLUMN("run", RUN, .unit = TABLE_WHOLE, .kept = true, .blank = true),
	TABLE_COLUMN("run_first", FIRST, .head = "from", .unit = TABLE_WHOLE,
		     .drop = TABLE_DROP_INPUT, .blank = true),
	TABLE_COLUMN("run_last", LAST, .head = "to", .unit = TABLE_WHOLE, .drop = TABLE_DROP_INPUT,
		     .blank = true),
	TABLE_COLUMN("label", LABEL, .hidden = true, .blank = true, .cut = PMC_CUT_END),
	TABLE_COLUMN("labels", LABELS, .data = true),
	TABLE_COLUMN("file", RUN_FILE, .data = true),
};

static struct table_cell label_cell(const struct history *history, const struct run *run)
{
	const char *key = history->label ? history->label : "commit";
	size_t len;
	const char *value = pmc_label(run->labels, key, &len);

	if (value)
		return cell_textn(value, len);
	if (history->label)
		return cell_null();
	return cell_text(*run->labels ? run->labels : pmc_base_name(run->file));
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	static const struct pmc_scale percent = { .divisor = 1, .decimals = 1, .unit = "" };
	struct history *history = arg;
	const struct line *line = history->at;
	const struct bench_change *change = &line->change;
	const struct pmc_scale *scale = &history->diff.columns[line->column].scale;
	const struct run *run = &history->runs[change->at];
	const bool people = history->for_people, changed = line->changed;
	struct table_cell cell;

	switch (column->index) {
	case KEY:
		return cell_text(!people ? line->row->key : line->goes_on ? "" : line->row->label);
	case NAME:
		return diff_name_cell(&history->diff, line->column, people ? scale : NULL);
	case RUNS:
		return cell_number(true, line->n);
	case TREND:
		cell = diff_number_cell(people,
					line->trend.known && (!people || line->trend.significant),
					line->trend.pct, &percent, TABLE_LINE_DECIMALS);
		cell.plus = true;
		return cell;
	case MEAN:
		return diff_number_cell(people, !changed, change->before, scale,
					TABLE_LINE_DECIMALS);
	case BEFORE:
		return diff_number_cell(people, changed || !people, change->before, scale,
					TABLE_LINE_DECIMALS);
	case AFTER:
		return diff_number_cell(people, changed, change->after, scale, TABLE_LINE_DECIMALS);
	case PERCENT:
		cell = diff_number_cell(people, changed && change->delta.known, change->delta.pct,
					&percent, TABLE_LINE_DECIMALS);
		cell.plus = true;
		return cell;
	case INTERVAL:
		return diff_number_cell(people, changed && change->delta.has_ci,
					change->delta.ci_pct, &percent, TABLE_LINE_DECIMALS);
	case RUN:
		return cell_number(changed, change->at + 1);
	case FIRST:
		return cell_number(changed, change->from + 1);
	case LAST:
		return cell_number(changed, change->to + 1);
	case LABEL:
		return changed ? label_cell(history, run) : cell_null();
	case LABELS:
		return cell_text(changed ? run->labels : NULL);
	default:
		return cell_text(changed ? run->file : NULL);
	}
}

static void make_row(void *arg, uint64_t i)
{
	struct history *history = arg;

	history->at = &history->lines[i];
}

/* ---- output ------------------------------------------------------------------------------- */

/* A table names so many commands. */
enum { COMMANDS_MOST = 4 };

static void write_head(struct history *history)
{
	const struct pmc_screen *screen = &history->diff.out.screen;
	const struct run *runs = history->runs;
	struct table_tallies commands = { .n = 0 };
	struct pmc_out out = PMC_OUT_MEM(2048);

	for (size_t i = 0; i < history->n_runs; i++)
		if (runs[i].command)
			table_tally(&commands, 0, runs[i].command, 1);
	for (unsigned i = 0; i < commands.n && i < COMMANDS_MOST; i++) {
		const struct table_tally *command = &commands.list[i];

		table_say(&out, screen, i ? "; %60S" : " of %60S", command->text);
		if (command->count > 1 && command->count < history->n_runs)
			table_say(&out, screen, " (%n times)", command->count);
	}
	tool_rows_say(&history->diff.out, " %n runs%s%s: %60S to %60S", (uint64_t)history->n_runs,
		      out.buf, commands.n > COMMANDS_MOST ? "; and others" : "", runs[0].file,
		      runs[history->n_runs - 1].file);
}

static const char *apart_text(struct history *history)
{
	const double pct = history->apart.pct;
	struct pmc_out out = PMC_OUT_MEM(512);

	table_say(
		&out, &history->diff.out.screen,
		"not judged: %60S of the total in the last %n %(run|runs) is %p %% or more %s the "
		"runs before",
		history->diff.columns[history->apart.column].name, (uint64_t)history->apart.n,
		fabs(pct), pct > 0 ? "above" : "below");
	return pmc_arena_strdup(&history->diff.arena, out.buf);
}

static uint64_t count_trends(const struct history *history, const struct table *table)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < table->n_rows + table->n_more; i++) {
		const struct line *line = &history->lines[table->order[i]];

		n += line->trend.significant;
	}
	return n;
}

static void write_notes(struct history *history, uint64_t n_trends)
{
	struct diff *diff = &history->diff;

	if (!history->n_changed && !n_trends)
		tool_rows_say(&diff->out, " no measurement has changed, as far as %n runs tell%s",
			      (uint64_t)history->n_runs,
			      history->n_unchanged ? " (--all shows them)" : "");
	else if (history->n_unchanged)
		tool_rows_say(&diff->out,
			      " %n %(measurement has|measurements have) no change (--all shows "
			      "%(it|them))",
			      (uint64_t)history->n_unchanged);
	if (n_trends)
		tool_rows_say(&diff->out,
			      " %n %(measurement rises or falls|measurements rise or fall) without "
			      "one run at which %(it|they) changed (trend); pmctl diff A... --vs "
			      "B... compares two sets of runs",
			      n_trends);
	if (history->n_changed)
		tool_rows_say(&diff->out, " run: the first one after the change, with its 95 %% "
					  "interval (from, to)");
	tool_rows_say(&diff->out,
		      " a change needs %n runs on each side: a shorter one, or one in the last "
		      "%n runs, is not shown",
		      (uint64_t)BENCH_SIDE_LEAST, (uint64_t)BENCH_SIDE_LEAST - 1);
	if (history->apart.n)
		tool_rows_say(&diff->out, " %s", apart_text(history));
	if (diff->scaled)
		tool_rows_say(&diff->out,
			      " some counts were multiplexed, and are scaled to the whole time");
	if (diff->off_ns[0])
		tool_rows_say(&diff->out,
			      " counting was off in some runs for up to %t: values are of the rest",
			      diff->off_ns[0]);
}

static void write_table(struct history *history, struct table *table)
{
	struct diff *diff = &history->diff;

	for (uint64_t i = 0; i < table->n_rows; i++) {
		struct line *at = &history->lines[table->order[i]];

		at->goes_on = i && history->lines[table->order[i - 1]].row == at->row;
		diff_measure(&diff->columns[at->column], at->change.before);
		diff_measure(&diff->columns[at->column], at->change.after);
	}
	diff_choose_scales(diff);
	write_head(history);
	pmc_out_char(&diff->out.out, '\n');
	tool_rows_print(&diff->out, table);
	pmc_out_char(&diff->out.out, '\n');
	tool_rows_put_left_out(&diff->out, table);
	write_notes(history, count_trends(history, table));
}

/* ---- --fail-above -------------------------------------------------------------------------- */

/* By how many percent the level of the last runs is above the lowest one before; `line` is the last
 * change of a measurement, `first` its first one. From 0 to something is any number. */
static double rise(const struct line *first, const struct line *line)
{
	double least = first->change.before;

	for (const struct line *at = first; at < line; at++)
		least = fmin(least, at->change.after);
	if (line->change.after <= least)
		return 0;
	return least > 0 ? (line->change.after / least - 1) * 100 : INFINITY;
}

static bool is_same_series(const struct line *a, const struct line *b)
{
	return a->row == b->row && a->column == b->column;
}

/* 0, or the exit code with the largest rise printed: of CPU time and events of all rows, or of the
 * lines that --where chose. */
static int judge(struct history *history, const struct table *table)
{
	const struct diff *diff = &history->diff;
	const struct line *worst = NULL, *first = history->lines;
	const bool chosen = diff->out.choice.n_where;
	char rose[64];
	double most = 0;

	if (diff->fail_above >= 0 && history->apart.pct > diff->fail_above)
		tool_warn("--fail-above: %s", apart_text(history));
	for (uint64_t i = 0; chosen && i < table->n_rows + table->n_more; i++)
		history->lines[table->order[i]].judged = true;
	for (size_t i = 0; i < history->n_lines; i++) {
		const struct line *line = &history->lines[i];
		const bool last = i + 1 == history->n_lines || !is_same_series(line, line + 1);

		if (!is_same_series(first, line))
			first = line;
		if (!line->changed || !last ||
		    !(chosen ? line->judged : diff_is_cost(line->column)) ||
		    rise(first, line) <= fmax(diff->fail_above, most))
			continue;
		most = rise(first, line);
		worst = line;
	}
	if (!worst || diff->fail_above < 0)
		return 0;
	if (most < INFINITY)
		snprintf(rose, sizeof(rose), "is %.1f %% above its lowest level", most);
	else
		snprintf(rose, sizeof(rose), "was 0 in earlier runs");
	return tool_fail(EXIT_FAIL,
			 "%s of %s %s; its last change is at run %zu (%.200s); --fail-above "
			 "permits a rise of %.1f %%",
			 diff->columns[worst->column].name, worst->row->label, rose,
			 worst->change.at + 1, history->runs[worst->change.at].file,
			 diff->fail_above);
}

static int write_lines(struct history *history)
{
	struct table_column list[N_COLUMNS];
	struct tool_rows *out = &history->diff.out;
	struct table table = { .columns = list,
			       .n_columns = N_COLUMNS,
			       .arg = history,
			       .row = make_row,
			       .cell = cell_of,
			       .arena = &history->diff.arena,
			       .n_rows = history->n_lines,
			       .indent = 2 };
	int code;

	memcpy(list, columns, sizeof(columns));
	list[KEY].head = diff_key_head(&history->diff);
	if (out->screen.ascii)
		list[INTERVAL].head = "+- %";
	history->for_people = false;
	out->choice.top = history->diff.top;
	code = tool_rows_choose(out, &table, (unsigned)history->sums);
	history->for_people = tool_rows_is_table(out);
	if (!code)
		code = tool_rows_open(out);
	if (code)
		return code;
	if (history->for_people)
		write_table(history, &table);
	else
		tool_rows_print(out, &table);
	code = tool_rows_close(out);
	return code ? code : judge(history, &table);
}

/* ---- the command -------------------------------------------------------------------------- */

const struct tool_flag cmd_history_flags[] = {
	FLAG_BY_KEYS(diff.keys, diff_keys, .aliases = pmc_by_aliases),
	FLAG_WORD(0, "--order", "WORD", order, ((const char *const[]){ "time", "name", "given" }),
		  "order of the runs"),
	FLAG_TEXT(0, "--label", "KEY", label,
		  "key of PMC_LABEL that names a run (default: commit)"),
	FLAG_EVENT(diff.event, "event of the samples (default: all, without waits)"),
	FLAG_SYMFS(diff.root),
	FLAG_BOOL(0, "--all", diff.all, "measurements without a change, too"),
	FLAG_SORT(0, diff.out.choice.sort, "column to sort by (default: CPU time of the rows)"),
	FLAG_TOP(diff.top, "number of lines; 0: all (default: 20 in tables)"),
	FLAG_ROWS_CHOICE(diff.out, columns),
	FLAG_PERCENT(0, "--fail-above", diff.fail_above,
		     "exit status 1 if that far above the lowest level"),
	FLAG_FORMAT(diff.out.format, TABLE_FORMATS),
	FLAG_ROWS_OUTPUT(diff.out),
	OPERAND_LIST(paths, n_paths),
	FLAG_END,
};

static int parse(struct history *history, int argc, char **argv)
{
	struct diff *diff = &history->diff;
	int code = tool_args_parse(argc, argv, history);

	code = code ? code : diff_choose_keys(diff);
	if (code)
		return code;
	if (!history->n_paths)
		return tool_fail(EXIT_USAGE,
				 "history needs dumps of several runs: pmctl history DIR|FILE...");
	return report_check_output(diff->out.output, history->paths, history->n_paths);
}

static int run_history(struct history *history)
{
	struct diff *diff = &history->diff;
	int code = read_runs(history);

	if (code)
		return code;
	if (diff->n_columns == DIFF_EVENTS && pmc_by_samples(diff->by))
		return tool_fail(EXIT_FAIL,
				 "these dumps have no samples; pmctl run --sample takes some");
	pmc_screen_from_env(&diff->out.screen, environ);
	history->for_people = tool_rows_is_table(&diff->out);
	make_lines(history);
	return write_lines(history);
}

int cmd_history(int argc, char **argv)
{
	static struct history history = {
		.diff = { .by = PMC_BY_POOL, .top = UINT_MAX, .fail_above = -1 }
	};
	int code = parse(&history, argc, argv);

	if (history.diff.top == UINT_MAX)
		history.diff.top = tool_rows_is_table(&history.diff.out) ? 20 : 0;
	if (!code)
		code = run_history(&history);
	pmc_arena_free(&history.diff.arena);
	return code;
}
