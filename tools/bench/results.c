/* SPDX-License-Identifier: MIT */
/*
 * results.c - the results of a bench: what each command is compared with, tables of measurements
 * and the lines under them, rows of runs, and JSON.
 *
 * A table has a row for each measurement, which has one unit in the tables of all commands; these
 * have the same widths. CSV and JSON lines have a row for each run.
 */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>

#define RSS_BYTES (1 << 20) /* by which intervals of peak_rss are widened */

/* ---- summaries ---------------------------------------------------------------------------- */

const struct bench_command *bench_reference(const struct bench *bench,
					    const struct bench_command *command)
{
	if (!bench->baseline)
		return command == bench->commands ? NULL : bench->commands;
	for (unsigned c = 0; c < bench->n_baseline; c++)
		if (!strcmp(bench->baseline[c].text, command->text))
			return &bench->baseline[c];
	return bench->n_baseline == 1 ? bench->baseline : NULL;
}

/* Commands of a baseline have no threads. */
static bool has_thread(const struct bench *bench, const struct bench_command *command,
		       const struct bench_thread *thread)
{
	return command && command->thread_runs && thread->values[command - bench->commands];
}

/* Of a thread in run r: 0 if the run does not have it, but not of an event of another pass. */
static double thread_value(const struct bench *bench, const struct bench_command *command,
			   const struct bench_thread *thread, unsigned column, size_t r)
{
	const double *values = thread->values[command - bench->commands];

	if (column && bench->by_agent &&
	    !bench_counts(bench, bench->measures[BENCH_EVENTS + column - 1].event, r))
		return NAN;
	return values ? values[r * bench_thread_columns(bench) + column] : 0;
}

/* By run; NAN: none. */
static double *values_of(const struct bench *bench, const struct bench_command *command,
			 const struct bench_thread *thread, unsigned measure, size_t *n)
{
	double *values;

	*n = !command ? 0 : thread ? command->thread_runs : command->n_runs;
	values = tool_realloc(NULL, (*n + 1) * sizeof(*values));
	for (size_t r = 0; r < *n; r++)
		values[r] = thread ? thread_value(bench, command, thread, measure, r) :
				     command->runs[r].values[measure];
	return values;
}

/* Of this session, see bench->baseline_speed. */
static double speed_of(const struct bench *bench, unsigned measure)
{
	struct bench_row row;

	bench_row_of(bench, &bench->machine, NULL, NULL, measure, &row);
	return row.summary.median;
}

/* By how much the machine was slower or faster in the baseline's session, in percent; 0: unknown.
 */
static double drift_of(const struct bench *bench, unsigned measure)
{
	const double ratio = speed_of(bench, measure) / bench->baseline_speed[measure];

	return isfinite(ratio) && ratio > 0 ? 100 * (ratio - 1) : 0;
}

void bench_row_of(const struct bench *bench, const struct bench_command *command,
		  const struct bench_command *reference, const struct bench_thread *thread,
		  unsigned measure, struct bench_row *row)
{
	size_t n, n_base;
	double *values = values_of(bench, command, thread, measure, &n);
	double *base = values_of(bench, reference, thread, measure, &n_base);
	const bool own =
		reference >= bench->commands && reference < bench->commands + bench->n_commands;
	struct bench_summary summary;
	double drift;

	*row = (struct bench_row){ .delta.known = false };
	bench_summarize(values, n, &row->summary);
	bench_summarize(base, n_base, &summary);
	/* Nothing is in percent of a time below that of an empty shell. */
	if (summary.mean > 0 && (!summary.trimmed.n || summary.trimmed.value > 0))
		bench_compare(&summary, &row->summary, &row->delta);
	if (row->delta.known && !own) {
		bench_compare_sessions(base, n_base, values, n, &row->delta);
		if (bench->measures[measure].unit == BENCH_NS) {
			bench_widen(&row->delta, BENCH_DRIFT_PCT * row->delta.base / 100);
			drift = drift_of(bench, measure == BENCH_WALL ? BENCH_WALL : BENCH_CPU);
			/* Twice, as a program may depend more on what the machine lacked. */
			bench_widen(&row->delta, 2 * drift * row->delta.base / 100);
		}
	}
	/* Commands took turns, so that their runs of one round are a pair. */
	if (row->delta.known && own && !bench->sequential)
		bench_compare_pairs(base, values, n < n_base ? n : n_base, &summary, &row->delta);
	/* How many pages of a file a page fault maps depends on the page cache. */
	if (row->delta.known && !thread && measure == BENCH_RSS)
		bench_widen(&row->delta, RSS_BYTES);
	free(base);
	free(values);
}

/* ---- rows of measurements ----------------------------------------------------------------- */

#define MOST_THREADS 20

/* A measurement of a command or of one of its threads. */
struct result {
	const struct bench_command *command;
	const struct bench_thread *thread; /* NULL: of the command */
	const struct bench_measure *measure;
	struct bench_row values;
	const char *presence; /* in place of a delta; NULL: both commands have the thread */
	struct pmc_scale scale;
};

struct results {
	struct bench *bench;
	struct result *list;
	const struct result *at;
	size_t n, room;
	size_t *first; /* of the results of each command that has any */
	uint64_t n_first;
	bool for_people; /* with units and marks; else as it is compared and ordered */
	bool nested;	 /* events of a thread are under its CPU time */
	char text[256];
};

/* A measurement, or a column of the thread. */
static void add_result(struct results *results, const struct bench_command *command,
		       const struct bench_thread *thread, unsigned column)
{
	static const struct bench_measure cpu_time = { .unit = BENCH_NS };
	const struct bench *bench = results->bench;
	const struct bench_command *reference = bench_reference(bench, command);
	struct result *result;

	results->list = tool_list_grow(results->list, results->n, &results->room, sizeof(*result));
	result = &results->list[results->n++];
	*result = (struct result){ .command = command, .thread = thread };
	result->measure = !thread ? &bench->measures[column] :
			  column  ? &bench->measures[BENCH_EVENTS + column - 1] :
				    &cpu_time;
	bench_row_of(bench, command, reference, thread, column, &result->values);
	if (thread && reference && reference->thread_runs)
		result->presence = !has_thread(bench, command, thread)	 ? "gone" :
				   !has_thread(bench, reference, thread) ? "new" :
									   NULL;
	if (result->presence)
		result->values.delta = (struct bench_delta){ .known = false };
}

/* ---- units -------------------------------------------------------------------------------- */

/* Of a measurement in all commands: the largest values of the one with the smallest ones and of the
 * one with the largest ones; 0: none is above 0. */
struct extent {
	double least, most;
};

static double most_of(const struct bench_summary *summary)
{
	return summary->n ? fmax(fabs(summary->max), fabs(summary->min)) : 0;
}

static void extend(struct extent *extent, const struct bench_summary *summary)
{
	const double most = most_of(summary);

	if (most > extent->most)
		extent->most = most;
	if (most > 0 && (most < extent->least || extent->least == 0))
		extent->least = most;
}

static void scale_by(const struct bench *bench, enum bench_unit unit, double size,
		     struct pmc_scale *scale)
{
	if (unit == BENCH_NS)
		pmc_scale_time(scale, size, bench->rows.screen.ascii ? "us" : "µs");
	else
		pmc_scale_count(scale, size, false);
}

/* That of the largest value if the smallest has three digits in it, else that of the smallest, if
 * the largest has no more than six digits then. */
static void choose_unit(const struct bench *bench, enum bench_unit unit,
			const struct extent *extent, struct pmc_scale *scale)
{
	/* Without any time, in the unit of most tables. */
	const double none = unit == BENCH_NS ? 1e6 : 0;

	scale_by(bench, unit, extent->most > 0 ? extent->most : none, scale);
	if (extent->most <= 0 || extent->least >= scale->divisor / 10)
		return;
	scale_by(bench, unit, extent->least, scale);
	for (double up = 1e3; up <= 1e9 && extent->most / scale->divisor >= 999999.5; up *= 1000)
		scale_by(bench, unit, unit == BENCH_NS ? up : extent->most, scale);
}

static int decimals_for(const struct pmc_scale *scale, double most, bool real)
{
	return scale->divisor > 1 || real ? pmc_decimals_for(most / scale->divisor) : 0;
}

void bench_scale_of(const struct bench *bench, unsigned measure, double most,
		    struct pmc_scale *scale)
{
	struct extent extent = { 0 };
	struct bench_row row;

	for (unsigned c = 0; c < bench->n_commands; c++) {
		bench_row_of(bench, &bench->commands[c], NULL, NULL, measure, &row);
		extend(&extent, &row.summary);
	}
	choose_unit(bench, bench->measures[measure].unit, &extent, scale);
	scale->decimals = decimals_for(scale, most, true);
}

/* Of a command or thread in all tables. */
static void choose_scales(struct results *results)
{
	for (struct result *r = results->list; r < results->list + results->n; r++) {
		const struct bench_summary *summary = &r->values.summary;
		const double own = most_of(summary);
		struct extent extent = { 0 };

		for (struct result *other = results->list; other < results->list + results->n;
		     other++)
			if (other->measure == r->measure && other->thread == r->thread)
				extend(&extent, &other->values.summary);
		choose_unit(results->bench, r->measure->unit, &extent, &r->scale);
		r->scale.decimals =
			decimals_for(&r->scale, own > 0 ? own : extent.most,
				     summary->mean != floor(summary->mean) || summary->stddev > 0);
	}
}

struct ranked {
	const struct bench_thread *thread;
	double impact; /* change of its CPU time; without a reference the CPU time */
};

static int by_impact(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->impact, y = ((const struct ranked *)b)->impact;

	return (x < y) - (x > y);
}

/* Threads of the command and its reference, the largest change first. */
static void add_threads(struct results *results, const struct bench_command *command)
{
	const struct bench *bench = results->bench;
	const struct bench_command *reference = bench_reference(bench, command);
	struct ranked *list = NULL;
	size_t n = 0, room = 0;

	for (const struct bench_thread *t = bench->threads; t; t = t->next) {
		struct bench_row row;

		if (!has_thread(bench, command, t) && !has_thread(bench, reference, t))
			continue;
		bench_row_of(bench, command, reference, t, 0, &row);
		list = tool_list_grow(list, n, &room, sizeof(*list));
		list[n++] = (struct ranked){ t, row.delta.known ?
							fabs(row.delta.pct * row.delta.base) / 100 :
							row.summary.mean };
	}
	if (n)
		qsort(list, n, sizeof(*list), by_impact);
	for (size_t i = 0; i < n && i < MOST_THREADS; i++)
		for (unsigned c = 0; c < bench_thread_columns(bench); c++)
			add_result(results, command, list[i].thread, c);
	free(list);
}

/* ---- cells -------------------------------------------------------------------------------- */

/* From PARAMETERS on: parameters, and means of the measurements in the table of a scan. */
enum { COMMAND, NAME, MEAN, SIGMA, MEDIAN, MIN, MAX, OUTLIERS, DELTA, FORM, PARAMETERS };

/* "wall_time"; of a thread "pool-*", and "pool-* cycles" or nested "  cycles". For people with the
 * unit, and how many runs have it if an event is not in all. */
static struct table_cell name_cell(struct results *results)
{
	const struct bench *bench = results->bench;
	const struct result *result = results->at;
	const struct bench_measure *measure = result->measure;
	const bool bytes = measure->unit == BENCH_BYTES;
	const size_t n = result->values.summary.n;
	struct pmc_out name = PMC_OUT_MEM(256);
	struct pmc_out out = pmc_out_mem(results->text, sizeof(results->text));

	if (!result->thread)
		pmc_out_str(&name, measure->name);
	else if (!measure->event)
		pmc_out_str(&name, result->thread->name);
	else
		pmc_outf(&name, "%s %s", results->nested ? " " : result->thread->name,
			 measure->event->event.name);
	pmc_utf8_fit(&out, name.buf, name.len, results->for_people ? 40 : 0, PMC_CUT_END,
		     bench->rows.screen.ascii);
	if (results->for_people && n && (result->scale.unit[0] || bytes))
		pmc_outf(&out, " %s%s", result->scale.unit, bytes ? "B" : "");
	if (results->for_people && n && n < result->command->n_runs && measure->event &&
	    !result->thread)
		pmc_outf(&out, " (%zu runs)", n);
	return cell_textn(out.buf, out.len);
}

/* The mark shows significance and direction without color, too. */
static struct table_cell delta_cell(struct results *results)
{
	static const char *const marks[2][2] = { { "↓ ", "↑ " }, { "v ", "^ " } };
	const struct bench_delta *delta = &results->at->values.delta;
	const bool ascii = results->bench->rows.screen.ascii;
	struct pmc_out out = pmc_out_mem(results->text, sizeof(results->text));

	if (!results->for_people)
		return cell_real(delta->known ? delta->pct : NAN, 3);
	if (!delta->known)
		return cell_text(results->at->presence);
	pmc_out_str(&out, !delta->significant ? "  " : marks[ascii][delta->pct > 0]);
	pmc_out_char(&out, delta->pct < 0 ? '-' : '+');
	pmc_out_fixed(&out, fabs(delta->pct), 1);
	pmc_out_char(&out, '%');
	if (delta->has_ci) {
		pmc_out_str(&out, ascii ? " +- " : " ± ");
		pmc_out_fixed(&out, bench_shown_ci(delta), 1);
		pmc_out_char(&out, '%');
	}
	return cell_textn(out.buf, out.len);
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct results *results = arg;
	const struct result *result = results->at;
	const struct pmc_planned *event = result->thread ? NULL : result->measure->event;
	const struct bench_summary *summary = &result->values.summary;
	const double values[] = { [MEAN] = summary->mean,
				  [SIGMA] = summary->stddev,
				  [MEDIAN] = summary->median,
				  [MIN] = summary->min,
				  [MAX] = summary->max };
	const unsigned p = column->index - PARAMETERS, n = results->bench->n_parameters;
	struct table_cell cell;

	/* A command's measurements follow one another. */
	if (column->index >= PARAMETERS + n) {
		summary = &result[p - n].values.summary;
		return cell_real(summary->n ? summary->mean : NAN, 3);
	}
	if (column->index >= PARAMETERS)
		return cell_text(result->command->values[p]);
	if (column->index == COMMAND)
		return cell_text(result->command->text);
	if (column->index == FORM)
		return cell_text(result->command->form);
	if (column->index == NAME)
		return name_cell(results);
	if (column->index == DELTA)
		return delta_cell(results);
	if (column->index == OUTLIERS)
		return cell_number(summary->n, summary->outliers);
	if (!summary->n || (column->index == SIGMA && summary->n < 2))
		return cell_null();
	/* Less the time of a shell, a time may be negative. */
	cell = cell_real(result->measure->unit == BENCH_NS ? fmax(values[column->index], 0) :
							     values[column->index],
			 3);
	cell.scale = &result->scale;
	cell.estimate = column->index == MEAN && event &&
			result->command->scaled[event - results->bench->plan.events];
	return cell;
}

static void make_row(void *arg, uint64_t i)
{
	struct results *results = arg;

	results->at = &results->list[i];
}

static struct table_line line_of(void *arg)
{
	const struct bench_delta *delta = &((struct results *)arg)->at->values.delta;

	return (struct table_line){ .color = !delta->significant ? 0 : delta->pct < 0 ? -1 : 1 };
}

const struct table_column bench_columns[] = {
	TABLE_COLUMN("command", COMMAND, .data = true),
	TABLE_COLUMN("measurement", NAME, .functions = true),
	TABLE_COLUMN("mean", MEAN, .unit = TABLE_COUNT),
	TABLE_COLUMN("stddev", SIGMA, .head = "± σ", .unit = TABLE_COUNT),
	TABLE_COLUMN("median", MEDIAN, .unit = TABLE_COUNT, .drop = TABLE_DROP_BAR),
	TABLE_COLUMN("min", MIN, .unit = TABLE_COUNT, .drop = TABLE_DROP_METRIC),
	TABLE_COLUMN("max", MAX, .unit = TABLE_COUNT, .drop = TABLE_DROP_INPUT),
	TABLE_COLUMN("outliers", OUTLIERS, .unit = TABLE_WHOLE, .drop = TABLE_DROP_SPREAD),
	TABLE_COLUMN("delta", DELTA, .unit = TABLE_PERCENT, .blank = true),
};

#define N_COLUMNS (sizeof(bench_columns) / sizeof(bench_columns[0]))

bool bench_has_name(const struct bench *bench, unsigned p)
{
	const char *name = bench->parameters[p].name;
	bool found = !strcmp(name, "run") || !strcmp(name, "exit");

	while (p-- > 0)
		found |= !strcmp(name, bench->parameters[p].name);
	for (unsigned i = 0; i < N_COLUMNS; i++)
		found |= !strcmp(name, bench_columns[i].name);
	for (unsigned m = 0; m < bench->n_measures; m++)
		found |= !strcmp(name, bench->measures[m].name) ||
			 !strcmp(name, bench->measures[m].key);
	return found;
}

static void put_parameters(const struct bench *bench, struct table_column *to, bool data)
{
	for (unsigned p = 0; p < bench->n_parameters; p++)
		to[p] = (struct table_column){ .name = bench->parameters[p].name,
					       .index = PARAMETERS + p,
					       .data = data };
}

static void put_left_out(struct bench *bench, const struct table *table)
{
	pmc_out_str(&bench->rows.out,
		    table->hidden[0] && bench->rows.format == TABLE_PLAIN ? "\n" : "");
	tool_rows_put_left_out(&bench->rows, table);
}

/* ---- the table of a scan ------------------------------------------------------------------ */

static void make_scan_row(void *arg, uint64_t i)
{
	struct results *results = arg;

	results->at = &results->list[results->first[i]];
}

/* The unit of the measurement in the other tables. */
static const struct pmc_scale *scan_scale(const struct results *results, unsigned measure)
{
	struct bench *bench = results->bench;
	struct pmc_scale *scale = pmc_arena_alloc(&bench->arena, sizeof(*scale));
	double most = 0;

	for (uint64_t i = 0; i < results->n_first; i++)
		most = fmax(most, results->list[results->first[i] + measure].values.summary.mean);
	bench_scale_of(bench, measure, most, scale);
	if (bench->measures[measure].unit == BENCH_BYTES)
		scale->unit = pmc_arena_format(&bench->arena, "%sB", scale->unit);
	return scale;
}

/* A row for each command: its values of parameters, means, and the change of wall time. */
static void make_scan(const struct results *results, struct table *table)
{
	struct bench *bench = results->bench;
	const unsigned p = bench->n_parameters, n = p + bench->n_measures;
	const bool several = bench->n_words + !!bench->tail > 1;
	struct table_column *list = pmc_arena_alloc(&bench->arena, (n + 2) * sizeof(*list));

	table->columns = list;
	table->n_columns = n + 1 + several;
	table->n_rows = results->n_first;
	table->row = make_scan_row;
	table->line = NULL;
	put_parameters(bench, list, false);
	for (unsigned i = p; i < n; i++) {
		const struct bench_measure *measure = &bench->measures[i - p];

		list[i] = (struct table_column){ .name = measure->key, .index = PARAMETERS + i };
		list[i].head = measure->name;
		list[i].unit = measure->unit == BENCH_NS ? TABLE_NS : TABLE_COUNT;
		list[i].scale = scan_scale(results, i - p);
		list[i].drop = measure->event ? TABLE_DROP_EVENT : TABLE_DROP_INPUT;
	}
	list[p].drop = TABLE_STAYS;
	list[n] = (struct table_column)TABLE_COLUMN("delta", DELTA, .head = "wall_time delta",
						    .blank = true);
	list[n + 1] = (struct table_column)TABLE_COLUMN("command", FORM);
}

static void write_scan(struct bench *bench, struct table *table)
{
	table_layout(table);
	pmc_out_str(&bench->rows.out, "\n");
	table_print(table, (enum table_format)bench->rows.format, &bench->rows.out);
	put_left_out(bench, table);
}

static bool has_column(const struct table *table, const char *condition)
{
	const char *problem;

	return table_find(table->columns, table->n_columns, condition, strcspn(condition, "="),
			  table->arena, &problem);
}

/* Of the flags those whose column the table has. */
static int choose(const struct bench *bench, struct table *table)
{
	struct tool_rows rows = bench->rows;
	struct table_choice *choice = &rows.choice;

	choice->where = pmc_arena_alloc(table->arena, (choice->n_where + 1) * sizeof(char *));
	choice->n_where = 0;
	for (unsigned i = 0; i < bench->rows.choice.n_where; i++)
		if (has_column(table, bench->rows.choice.where[i]))
			choice->where[choice->n_where++] = bench->rows.choice.where[i];
	if (choice->sort && !has_column(table, choice->sort))
		choice->sort = NULL;
	if (table->row == make_scan_row)
		choice->columns = NULL;
	return tool_rows_choose(&rows, table, 0);
}

/* Chooses rows of both tables. A column must be one of either. */
static int choose_rows(const struct bench *bench, struct table *table, struct table *scan)
{
	const unsigned n = table->n_columns, more = bench->n_parameters ? bench->n_measures : 0;
	struct table_column *list = pmc_arena_alloc(table->arena, (n + more) * sizeof(*list));
	struct table both = { .columns = list, .n_columns = n + more, .arena = table->arena };
	int code;

	memcpy(list, table->columns, n * sizeof(*list));
	if (more)
		memcpy(list + n, scan->columns + bench->n_parameters, more * sizeof(*list));
	code = tool_rows_choose(&bench->rows, &both, 0);
	if (!code)
		code = choose(bench, table);
	if (!code && more)
		code = choose(bench, scan);
	return code;
}

/* ---- tables ------------------------------------------------------------------------------- */

static void write_heading(struct bench *bench, const struct bench_command *command)
{
	const struct bench_command *reference = bench_reference(bench, command);
	const struct pmc_screen *screen = &bench->rows.screen;
	const bool markdown = bench->rows.format == TABLE_MARKDOWN;
	struct pmc_out *out = &bench->rows.out;
	const char *mark = markdown ? "**" : "";

	pmc_outf(out, "%sBenchmark %u%s (", mark, (unsigned)(command - bench->commands) + 1, mark);
	table_say(out, screen, "%n %(run|runs)", (uint64_t)command->n_runs);
	if (command->failures)
		pmc_outf(out, ", %llu failed", (unsigned long long)command->failures);
	table_say(out, screen, markdown ? "): `` %S ``\n\n" : "): %S\n", command->text);
	if (bench->baseline && reference)
		table_say(out, screen, "  compared with %s: %S%s", bench->baseline_file,
			  reference->text, markdown ? "\n\n" : "\n");
}

/* Those of the command's rows, or of its threads' rows, that the table has. */
static struct table rows_of(const struct results *results, const struct table *table,
			    const struct bench_command *command, bool threads)
{
	uint64_t *order = pmc_arena_alloc(table->arena, table->n_rows * sizeof(*order));
	struct table part = *table;

	part.order = order;
	part.n_rows = 0;
	for (uint64_t i = 0; i < table->n_rows; i++) {
		const struct result *result = &results->list[table->order[i]];

		if (result->command == command && !result->thread == !threads)
			order[part.n_rows++] = table->order[i];
	}
	return part;
}

/* A table of the command's rows, and those of its threads below. Returns whether there are any. */
static bool write_command(struct bench *bench, const struct results *results, struct table *table,
			  const struct bench_command *command, bool first)
{
	const struct table parts[2] = { rows_of(results, table, command, false),
					rows_of(results, table, command, true) };
	const bool markdown = bench->rows.format == TABLE_MARKDOWN;
	struct table_place *last = &table->places[table->n - 1];
	struct pmc_out *out = &bench->rows.out;

	if (!parts[0].n_rows && !parts[1].n_rows)
		return false;
	/* The reference has no deltas. */
	if (last->column->index == DELTA && !bench->rows.choice.columns)
		last->hidden = !bench_reference(bench, command);
	pmc_out_str(out, first ? "" : "\n");
	write_heading(bench, command);
	if (!markdown)
		table_put_head(table, out);
	for (unsigned i = 0; i < 2; i++) {
		if (!parts[i].n_rows)
			continue;
		if (i == 1)
			table_say(out, &bench->rows.screen,
				  "%s%n more %(run|runs) under the agent, CPU time of each "
				  "thread:\n%s",
				  markdown ? "\n" : "  ", (uint64_t)command->thread_runs,
				  markdown ? "\n" : "");
		if (markdown)
			table_print(&parts[i], TABLE_MARKDOWN, out);
		else
			table_put_rows(&parts[i], 0, parts[i].n_rows, out);
	}
	return true;
}

/* ---- under the tables --------------------------------------------------------------------- */

/* A line, whose end is where the screen ends. */
struct note {
	struct bench *bench;
	struct pmc_out line;
	char text[8192];
	bool gap; /* an empty line before it */
};

static void end(struct note *note, const char *last)
{
	struct tool_rows *rows = &note->bench->rows;

	pmc_out_str(&rows->out, note->gap ? "\n" : "");
	note->gap = false;
	tool_rows_say(rows, "%s%s%s", rows->format == TABLE_MARKDOWN ? " " : "", note->text, last);
	pmc_out_to_mem(&note->line, note->text, sizeof(note->text));
}

/* In quotes if a sentence could not show where it ends. Behind a long one, which is cut, stand its
 * parameters and its number, as in the heading: two commands may begin alike. */
static void put_quoted(struct note *note, const struct bench_command *command)
{
	const struct bench *bench = note->bench;
	const char *quote = strpbrk(command->text, " ;") ? "'" : "";

	table_say(&note->line, &bench->rows.screen, "%s%60S%s", quote, command->text, quote);
	if (strlen(command->text) <= 60)
		return;
	for (unsigned i = 0; i < bench->n_parameters; i++)
		if (command->values && command->values[i])
			table_say(&note->line, &bench->rows.screen, " (%s=%20S)",
				  bench->parameters[i].name, command->values[i]);
	pmc_outf(&note->line, " (benchmark %u)", (unsigned)(command - bench->commands) + 1);
}

/* Why a delta is not that of the means beside it. */
static void note_delta(struct note *note, const struct results *results)
{
	const struct bench *bench = note->bench;
	bool trimmed = false;

	for (size_t i = 0; i < results->n; i++) {
		const struct bench_delta *delta = &results->list[i].values.delta;

		trimmed |= delta->known && delta->trimmed;
	}
	if (trimmed) {
		pmc_outf(&note->line,
			 "From %d runs on, delta is %s, in percent of the reference's trimmed "
			 "mean, and how many times faster follows from it; mean is of all runs.",
			 BENCH_TRIMMED,
			 bench->sequential || bench->baseline ?
				 "the difference between trimmed means" :
				 "the trimmed mean of the differences of paired runs");
		end(note, "");
	}
}

/* A time and its interval: the one that decides whether the difference is significant; a ratio has
 * another. */
static void put_difference(struct note *note, const struct bench_delta *delta)
{
	const bool ascii = note->bench->rows.screen.ascii;
	const double ns = delta->pct * delta->base / 100;
	struct pmc_out *line = &note->line;
	struct pmc_scale scale;

	pmc_scale_time(&scale, ns, ascii ? "us" : "µs");
	pmc_out_str(line, " (by ");
	pmc_show_scaled(line, &scale, ns);
	if (delta->has_ci) {
		pmc_out_str(line, ascii ? " +- " : " ± ");
		pmc_show_scaled(line, &scale, delta->difference_ci_pct * delta->base / 100);
	}
	pmc_outf(line, " %s%s)", scale.unit, delta->has_ci ? "" : ", too few runs for an interval");
}

/* How many times as long as the fastest command: for the reference by its column of differences, as
 * the trimmed mean of differences is not the difference of trimmed means. */
static double times_of(const struct bench *bench, const struct bench_command *command,
		       const struct bench_command *fastest, const struct bench_delta *delta)
{
	struct bench_row row = { .delta.pct = -100 };

	if (command == bench->commands && !bench->baseline)
		bench_row_of(bench, fastest, command, NULL, BENCH_WALL, &row);
	return row.delta.pct > -100 ? 1 / (1 + row.delta.pct / 100) : 1 + delta->pct / 100;
}

/* "B ran 1.34 times faster than A (by 5.1 ± 0.2 ms)", for each command but the fastest. */
static void note_fastest(struct note *note)
{
	const struct bench *bench = note->bench;
	const struct bench_command *fastest = bench->commands;
	struct bench_row best, row;

	bench_row_of(bench, fastest, NULL, NULL, BENCH_WALL, &best);
	for (unsigned c = 1; c < bench->n_commands; c++) {
		bench_row_of(bench, &bench->commands[c], fastest, NULL, BENCH_WALL, &row);
		if (row.summary.n && (!best.summary.n || row.delta.pct < 0)) {
			fastest = &bench->commands[c];
			best = row;
		}
	}
	for (unsigned c = 0; c < bench->n_commands && best.summary.n; c++) {
		const struct bench_command *command = &bench->commands[c];
		const struct bench_delta *delta = &row.delta;

		bench_row_of(bench, command, fastest, NULL, BENCH_WALL, &row);
		if (command == fastest || !delta->known)
			continue;
		put_quoted(note, fastest);
		if (delta->has_ci && delta->pct <= delta->difference_ci_pct) {
			pmc_out_str(&note->line, " and ");
			put_quoted(note, command);
			pmc_outf(&note->line, ": no statistically significant difference in %s",
				 bench->measures[BENCH_WALL].name);
		} else {
			pmc_out_str(&note->line, " ran ");
			pmc_out_fixed(&note->line, times_of(bench, command, fastest, delta),
				      delta->has_ci && delta->ci_pct < 0.5 ? 3 : 2);
			pmc_out_str(&note->line, " times faster than ");
			put_quoted(note, command);
			put_difference(note, delta);
		}
		end(note, "");
	}
}

/* One line for each reason. */
static void note_missing(struct note *note)
{
	struct bench *bench = note->bench;
	const struct pmc_plan *plan = &bench->plan;
	struct table_reason list[PMC_EVENTS_MAX] = { 0 };
	char why[320];

	for (unsigned i = 0; i < plan->count; i++) {
		list[i].name = plan->events[i].event.name;
		if (plan->events[i].state == PMC_COUNTED)
			continue;
		bench_why(bench, &plan->events[i], why, sizeof(why));
		list[i].why = pmc_arena_strdup(&bench->arena, why);
	}
	for (unsigned i = 0; i < plan->count; i++)
		if (table_put_reason(&note->line, &bench->rows.screen, "Not counted: ", list,
				     plan->count, i))
			end(note, ".");
}

static void note_scopes(struct note *note)
{
	const struct bench *bench = note->bench;
	bool scaled = false;

	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		const struct pmc_planned *event = bench->measures[m].event;

		for (unsigned c = 0; c < bench->n_commands; c++)
			scaled |= bench->commands[c].scaled[event - bench->plan.events];
		if (event->scope == PMC_SCOPE_USER)
			table_say(&note->line, &bench->rows.screen, "%s%S",
				  note->line.len ? ", " : "Counted in user mode only: ",
				  bench->measures[m].name);
	}
	if (note->line.len)
		end(note, ".");
	if (bench_remark && bench->n_measures > BENCH_EVENTS)
		end(note, bench_remark);
	if (scaled)
		end(note, "Marked ~: multiplexed, and scaled to the whole time.");
}

/* Which command is faster, and what was not counted. */
static void write_notes(struct bench *bench, const struct results *results)
{
	struct note note = { .bench = bench, .gap = true };

	pmc_out_to_mem(&note.line, note.text, sizeof(note.text));
	note_delta(&note, results);
	if (bench->baseline) {
		pmc_outf(&note.line,
			 "Intervals of times are widened by %d %% for the drift between sessions, "
			 "and by 2 x that of pmctl's own work (wall time ",
			 BENCH_DRIFT_PCT);
		pmc_out_fixed(&note.line, drift_of(bench, BENCH_WALL), 1);
		pmc_out_str(&note.line, " %, CPU time ");
		pmc_out_fixed(&note.line, drift_of(bench, BENCH_CPU), 1);
		pmc_out_str(&note.line, " %)");
		end(&note, "; commands of one bench are compared more exactly.");
	}
	note.gap = true;
	note_fastest(&note);
	note.gap = true;
	note_missing(&note);
	note_scopes(&note);
}

/* A row for each measurement of each command. */
static struct table_column *make_table(struct results *results, struct table *table)
{
	struct bench *bench = results->bench;
	const unsigned n = N_COLUMNS + bench->n_parameters;
	struct table_column *all = pmc_arena_alloc(&bench->arena, n * sizeof(*all));

	/* The deltas are last. */
	put_parameters(bench, all, true);
	memcpy(all + bench->n_parameters, bench_columns, sizeof(bench_columns));
	if (bench->rows.screen.ascii)
		all[bench->n_parameters + SIGMA].head = "+- s";
	results->first =
		pmc_arena_alloc(&bench->arena, bench->n_commands * sizeof(*results->first));
	for (unsigned c = 0; c < bench->n_commands; c++) {
		if (bench->commands[c].n_runs)
			results->first[results->n_first++] = results->n;
		for (unsigned m = 0; m < bench->n_measures && bench->commands[c].n_runs; m++)
			add_result(results, &bench->commands[c], NULL, m);
		if (bench->per_thread)
			add_threads(results, &bench->commands[c]);
	}
	choose_scales(results);
	*table = (struct table){ .columns = all,
				 .n_columns = n,
				 .n_rows = results->n,
				 .arg = results,
				 .row = make_row,
				 .cell = cell_of,
				 .line = line_of,
				 .screen = bench->rows.screen,
				 .arena = &bench->arena,
				 .indent = 2 };
	return all;
}

/* A delta is a text with its interval now. */
static void lay_out(struct results *results, struct table *table)
{
	results->for_people = true;
	table_layout(table);
	for (unsigned i = 0; i < table->n; i++)
		table->places[i].left |= table->places[i].column->index == DELTA;
}

void bench_put_table(struct bench *bench, struct pmc_out *out)
{
	struct results results = { .bench = bench };
	struct table table;
	struct table_column *all = make_table(&results, &table);

	for (unsigned i = 0; i < table.n_columns; i++)
		all[i].data = false;
	table.wide = true;
	lay_out(&results, &table);
	table_print(&table, TABLE_HTML, out);
	free(results.list);
}

static int write_tables(struct bench *bench)
{
	const struct table_choice *choice = &bench->rows.choice;
	struct results results = { .bench = bench, .nested = !choice->sort && !choice->n_where };
	struct table table, scan;
	bool first = true;
	int code;

	make_table(&results, &table);
	table.wide = bench->rows.format == TABLE_MARKDOWN;
	scan = table;
	make_scan(&results, &scan);
	code = choose_rows(bench, &table, &scan);
	if (!code && results.n) {
		lay_out(&results, &table);
		for (unsigned c = 0; c < bench->n_commands; c++)
			first &=
				!write_command(bench, &results, &table, &bench->commands[c], first);
		put_left_out(bench, &table);
		if (bench->n_parameters)
			write_scan(bench, &scan);
		write_notes(bench, &results);
	}
	free(results.list);
	return code;
}

/* ---- rows of runs ------------------------------------------------------------------------- */

/* As a shell has it: the status, or 128 and the signal. */
static int exit_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Values are whole numbers, but for scaled counts and times less a shell's. */
static bool is_whole(double value)
{
	return !isnan(value) && value >= 0 && value < 9e15 && value == floor(value);
}

static int write_runs(struct bench *bench)
{
	const unsigned p = bench->n_parameters, n = 3 + p + bench->n_measures;
	struct pmc_arena *arena = &bench->arena;
	struct table_column *list = pmc_arena_alloc(arena, n * sizeof(*list));
	struct table_cells cells = { .n = n };
	struct table table = {
		.columns = list, .n_columns = n, .n_rows = bench->n_runs, .arena = arena
	};
	struct table_cell *cell;
	int code;

	for (unsigned i = 0; i < n; i++) {
		list[i] = (struct table_column){ .index = i };
		list[i].unit = i <= p ? TABLE_TEXT : i < p + 3 ? TABLE_ID : TABLE_COUNT;
		list[i].name = i == 0	  ? "command" :
			       i <= p	  ? bench->parameters[i - 1].name :
			       i == p + 1 ? "run" :
			       i == p + 2 ? "exit" :
					    bench->measures[i - p - 3].key;
	}
	cell = cells.cells = pmc_arena_alloc(arena, bench->n_runs * n * sizeof(*cell));
	for (const struct bench_command *command = bench->commands;
	     command < bench->commands + bench->n_commands; command++)
		for (size_t r = 0; r < command->n_runs; r++) {
			const struct bench_run *run = &command->runs[r];

			*cell++ = cell_text(command->text);
			for (unsigned i = 0; i < p; i++)
				*cell++ = cell_text(command->values[i]);
			*cell++ = cell_number(true, r + 1);
			*cell++ = cell_number(true, (uint64_t)exit_of(run->status));
			for (unsigned m = 0; m < bench->n_measures; m++)
				*cell++ =
					cell_real(run->values[m], is_whole(run->values[m]) ? 0 : 3);
		}
	table_set_cells(&table, &cells);
	code = tool_rows_choose(&bench->rows, &table, 0);
	if (!code && table.n_rows)
		tool_rows_print(&bench->rows, &table);
	return code;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void put_value(struct pmc_json *json, const char *key, double value)
{
	if (is_whole(value))
		pmc_json_u64(json, key, (uint64_t)value);
	else
		pmc_json_double(json, key, value);
}

/* A measurement, or a column of the thread. */
static void put_summary(struct pmc_json *json, const char *key, const struct bench *bench,
			const struct bench_command *command, const struct bench_thread *thread,
			unsigned column)
{
	/* Which values delta_pct is of. */
	static const char *const names[2][2] = { { "runs", "runs-trimmed" },
						 { "pairs", "pairs-trimmed" } };
	struct bench_row row;
	const struct bench_summary *summary = &row.summary;
	const struct bench_delta *delta = &row.delta;

	bench_row_of(bench, command, bench_reference(bench, command), thread, column, &row);
	if (!summary->n) {
		pmc_json_null(json, key);
		return;
	}
	pmc_json_object(json, key);
	pmc_json_u64(json, "n", summary->n);
	pmc_json_double(json, "mean", summary->mean);
	pmc_json_double(json, "stddev", summary->n > 1 ? summary->stddev : NAN);
	put_value(json, "median", summary->median);
	put_value(json, "min", summary->min);
	put_value(json, "max", summary->max);
	pmc_json_u64(json, "outliers", summary->outliers);
	pmc_json_double(json, "delta_pct", delta->known ? delta->pct : NAN);
	pmc_json_str(json, "delta_of", delta->known ? names[delta->paired][delta->trimmed] : NULL);
	pmc_json_double(json, "delta_base", delta->known ? delta->base : NAN);
	pmc_json_double(json, "ci_pct", delta->has_ci ? delta->ci_pct : NAN);
	if (delta->has_ci)
		pmc_json_bool(json, "significant", delta->significant);
	else
		pmc_json_null(json, "significant");
	pmc_json_object_end(json);
}

static void put_run(struct pmc_json *json, const struct bench *bench, const struct bench_run *run)
{
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	for (unsigned m = 0; m < BENCH_EVENTS; m++)
		put_value(json, bench->measures[m].key, run->values[m]);
	pmc_json_i64(json, "exit", exit_of(run->status));
	pmc_json_object(json, "events");
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++)
		put_value(json, bench->measures[m].key, run->values[m]);
	pmc_json_object_end(json);
	pmc_json_object_end(json);
}

static void put_command(struct pmc_json *json, const struct bench *bench,
			const struct bench_command *command)
{
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "command", command->text);
	if (bench->n_parameters) {
		pmc_json_object(json, "parameters");
		for (unsigned p = 0; p < bench->n_parameters; p++)
			pmc_json_str(json, bench->parameters[p].name, command->values[p]);
		pmc_json_object_end(json);
	}
	pmc_json_u64(json, "failures", command->failures);
	pmc_json_array(json, "runs");
	for (size_t r = 0; r < command->n_runs; r++)
		put_run(json, bench, &command->runs[r]);
	pmc_json_array_end(json);
	pmc_json_object(json, "summary");
	for (unsigned m = 0; m < bench->n_measures; m++)
		put_summary(json, bench->measures[m].key, bench, command, NULL, m);
	pmc_json_object_end(json);
	if (bench->per_thread) {
		pmc_json_array(json, "threads");
		for (const struct bench_thread *t = bench->threads; t; t = t->next)
			if (has_thread(bench, command, t)) {
				pmc_json_line(json);
				pmc_json_object(json, NULL);
				pmc_json_str(json, "name", t->name);
				for (unsigned c = 0; c < bench_thread_columns(bench); c++)
					put_summary(json, bench_thread_column(bench, c), bench,
						    command, t, c);
				pmc_json_object_end(json);
			}
		pmc_json_array_end(json);
	}
	pmc_json_object_end(json);
}

static void put_planned(struct pmc_json *json, const struct bench *bench,
			const struct pmc_planned *event)
{
	const bool counted = event->state == PMC_COUNTED;
	char why[320];

	if (!counted)
		bench_why(bench, event, why, sizeof(why));
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", event->event.name);
	pmc_json_str(json, "unit", event->event.unit);
	pmc_json_str(json, "scope", pmc_scope_name((enum pmc_scope)event->scope));
	pmc_json_str(json, "state", pmc_state_name((enum pmc_state)event->state));
	pmc_json_str(json, "reason", counted ? NULL : why);
	pmc_json_object_end(json);
}

void bench_write_json(struct bench *bench, struct pmc_out *out)
{
	const double wall_ns = speed_of(bench, BENCH_WALL);
	struct pmc_json json;

	pmc_json_init(&json, out);
	pmc_json_object(&json, NULL);
	pmc_json_array(&json, "commands");
	for (unsigned c = 0; c < bench->n_commands; c++)
		put_command(&json, bench, &bench->commands[c]);
	pmc_json_array_end(&json);
	pmc_json_array(&json, "events");
	for (unsigned i = 0; i < bench->plan.count; i++)
		put_planned(&json, bench, &bench->plan.events[i]);
	pmc_json_array_end(&json);
	if (wall_ns > 0) {
		pmc_json_object(&json, "machine");
		pmc_json_double(&json, "wall_ns", wall_ns);
		pmc_json_double(&json, "cpu_ns", speed_of(bench, BENCH_CPU));
		pmc_json_object_end(&json);
	}
	pmc_json_bool(&json, "interrupted", bench->interrupted);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

int bench_write(struct bench *bench)
{
	if (bench->rows.format != TABLE_JSON)
		return tool_rows_is_table(&bench->rows) ? write_tables(bench) : write_runs(bench);
	if (bench->n_runs)
		bench_write_json(bench, &bench->rows.out);
	return 0;
}
