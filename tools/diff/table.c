/* SPDX-License-Identifier: MIT */
/*
 * table.c - the differences as rows of a table: a line for each measurement of a row.
 *
 * What is a column of reports is a line here, with its unit and decimals, which are the same in all
 * rows. A table has the lines that changed; the other rows are one line.
 */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/bench/units.h"
#include "tools/diff/diff.h"

#include <math.h>
#include <stdlib.h>

/* With one dump a side, smaller changes are not shown; and of the total in any case. */
#define LEAST_CHANGE 0.05
#define LEAST_SHARE  0.01

struct line {
	const struct diff_row *row;
	unsigned column;
	bool goes_on; /* below a line of the same row */
	struct diff_compared value;
};

struct lines {
	struct diff *diff;
	bool for_people; /* texts and units of tables */
	struct line *list, *at;
	unsigned n, sums;  /* sums: the last ones, of others and the total */
	unsigned n_others; /* rows without a line */
	unsigned n_beyond; /* of these, rows that changed but are beyond --top */
	bool left_out;	   /* lines that have not changed */
	double *whole;	   /* of each column, the total of the larger side */
	struct pmc_scale *scales;
};

bool diff_compare(const struct diff *diff, const struct diff_row *row, unsigned column,
		  struct diff_compared *result)
{
	result->comparable = diff_values(diff, row, column, result->sides);
	bench_compare(&result->sides[0].summary, &result->sides[1].summary, &result->delta);
	if (!result->comparable)
		result->delta = (struct bench_delta){ .known = false };
	/* A row that is not there has a value only beside one that is. */
	return (row->there[0] && result->sides[0].summary.n) ||
	       (row->there[1] && result->sides[1].summary.n);
}

static const char *name_of(const struct diff *diff, unsigned column)
{
	/* As reports have them. */
	static const char *const names[DIFF_EVENTS] = {
		[DIFF_CPU] = "cpu",
		[DIFF_THREADS] = "threads",
		[DIFF_FAULTS] = "page-faults",
		[DIFF_VOLUNTARY] = "vol",
		[DIFF_INVOLUNTARY] = "invol",
	};

	return column < DIFF_EVENTS ? names[column] : diff->columns[column].name;
}

/* ---- which lines -------------------------------------------------------------------------- */

/* The event that counts the same is shown. */
static bool is_event_too(const struct diff *diff, const struct diff_row *row, unsigned column)
{
	struct diff_compared value;

	for (unsigned c = DIFF_EVENTS; c < diff->n_columns && column < DIFF_EVENTS; c++)
		if (!strcmp(diff->columns[c].name, name_of(diff, column)))
			return diff_compare(diff, row, c, &value);
	return false;
}

/* Whether a table of everything has the line. */
static bool has_line(const struct lines *lines, const struct line *line)
{
	const struct diff_side *sides = line->value.sides;

	if (is_event_too(lines->diff, line->row, line->column))
		return false;
	return !line->value.comparable || sides[0].value != 0 || sides[1].value != 0;
}

/* With several dumps a side, changes that are statistically significant. */
static bool is_changed(const struct lines *lines, const struct line *line)
{
	const struct diff_compared *value = &line->value;
	const double change = fabs((double)diff_change(value)),
		     before = fabs((double)value->sides[0].value);

	if (!value->comparable || change == 0 ||
	    change < lines->diff->columns[line->column].least ||
	    change < LEAST_SHARE * lines->whole[line->column])
		return false;
	return value->delta.has_ci && before > 0 ? value->delta.significant :
						   change >= LEAST_CHANGE * before;
}

/* Adds the row's lines. Returns whether there are some that are not left out. */
static bool add_row(struct lines *lines, const struct diff_row *row, bool all)
{
	const struct diff *diff = lines->diff;
	bool some = false;

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct line *line = &lines->list[lines->n];

		*line = (struct line){ .row = row, .column = c };
		if (!diff_compare(diff, row, c, &line->value))
			continue;
		if (lines->for_people && !has_line(lines, line))
			continue;
		if (lines->for_people && !all && !is_changed(lines, line) &&
		    !(row == &diff->total && c == diff_first(diff))) {
			lines->left_out = true;
			continue;
		}
		lines->n++;
		some = true;
	}
	return some;
}

/* Adds the row to the sum of those without a line. What functions call is in several totals. */
static void add_other(struct lines *lines, const struct diff_row *row)
{
	struct diff *diff = lines->diff;
	const unsigned step = pmc_by_samples(diff->by) ? 2 : diff->n_columns;

	lines->n_others++;
	for (unsigned side = 0; side < 2; side++) {
		diff->others.there[side] |= row->there[side];
		for (unsigned s = 0; s < diff->n_files[side]; s++) {
			const struct diff_sample *sample = &row->samples[side][s];

			for (unsigned c = diff_first(diff); c < sample->n; c += step)
				if (!isnan(sample->values[c]))
					diff_add(&diff->others.samples[side][s], c,
						 sample->values[c]);
		}
	}
}

static void add_others(struct lines *lines)
{
	struct diff *diff = lines->diff;
	const unsigned before = lines->n;
	char label[32];
	struct pmc_out out;

	pmc_out_to_mem(&out, label, sizeof(label));
	if (lines->n_beyond)
		pmc_show_count(&out, lines->n_others, "other", "others");
	else
		pmc_outf(&out, "%u unchanged", lines->n_others);
	diff->others.label = pmc_arena_strdup(&diff->arena, label);
	if (diff->others.label && add_row(lines, &diff->others, true))
		lines->n = before + 1;
}

/* Lines of all rows, of which a table has what changed and --top permits; then the sums. */
static int make_lines(struct lines *lines)
{
	struct diff *diff = lines->diff;
	/* Where lines are sorted, --top counts lines. */
	const bool chosen = diff->out.choice.n_where, whole = diff->out.choice.sort || chosen,
		   all = diff->all || chosen;
	const size_t n = (size_t)(diff->n_rows + 3) * diff->n_columns;
	unsigned shown = 0, sums;

	lines->list = calloc(n, sizeof(*lines->list));
	lines->whole = pmc_arena_alloc(&diff->arena, diff->n_columns * sizeof(*lines->whole));
	lines->scales = pmc_arena_alloc(&diff->arena, diff->n_columns * sizeof(*lines->scales));
	if (!lines->list || !lines->whole || !lines->scales)
		return -1;
	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct diff_compared value;

		diff_compare(diff, &diff->total, c, &value);
		for (unsigned side = 0; side < 2; side++)
			lines->whole[c] = fmax(lines->whole[c], (double)value.sides[side].value);
	}
	for (const struct diff_row *row = diff->rows; row; row = row->next) {
		const unsigned before = lines->n;
		const bool some = add_row(lines, row, all);

		if (some && (whole || !diff->top || ++shown <= diff->top))
			continue;
		lines->n_beyond += some;
		lines->n = before;
		add_other(lines, row);
	}
	sums = lines->n;
	if (lines->n_others && lines->for_people)
		add_others(lines);
	add_row(lines, &diff->total, all);
	lines->sums = lines->n - sums;
	diff->out.choice.top = whole ? diff->top : 0;
	return 0;
}

/* ---- cells -------------------------------------------------------------------------------- */

enum { KEY, SIDE, NAME, SIDE_A, SIDE_B, CHANGE, PERCENT, INTERVAL, MARK, N_COLUMNS };

/* One unit for a measurement in all rows, from the largest value. */
static void choose_scales(struct lines *lines, const struct table *table)
{
	const struct diff *diff = lines->diff;

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		bool real = false;
		double most = 0;

		for (uint64_t i = 0; i < table->n_rows; i++) {
			const struct line *line = &lines->list[table->order[i]];

			for (unsigned side = 0; side < 2 && line->column == c; side++) {
				const diff_number of = line->value.sides[side].value;

				real |= of != roundl(of);
				most = fmax(most, (double)of);
			}
		}
		if (diff->columns[c].is_time)
			pmc_scale_time(&lines->scales[c], most,
				       diff->out.screen.ascii ? "us" : "µs");
		else
			pmc_scale_count(&lines->scales[c], most, real);
	}
}

static struct table_cell number_cell(bool known, diff_number value)
{
	struct table_cell cell = cell_null();
	uint64_t size;

	if (known && diff_whole(value, &size)) {
		cell = cell_number(true, size);
		cell.negative = value < 0;
	} else if (known) {
		cell = cell_real((double)value, 3);
	}
	return cell;
}

static struct table_cell value_cell(const struct lines *lines, bool known, diff_number value)
{
	struct table_cell cell = number_cell(known, value);

	if (lines->for_people)
		cell.scale = &lines->scales[lines->at->column];
	return cell;
}

static struct table_cell percent_cell(const struct lines *lines, bool known, double value)
{
	static const struct pmc_scale scale = { .divisor = 1, .decimals = 1, .unit = "" };
	struct table_cell cell = number_cell(known && !isnan(value), value);

	if (lines->for_people)
		cell.scale = &scale;
	return cell;
}

/* The name and its unit: good until the next row. */
static struct table_cell name_cell(const struct lines *lines)
{
	static char text[160];
	const char *name = name_of(lines->diff, lines->at->column),
		   *unit = lines->scales[lines->at->column].unit;
	struct pmc_out out;

	if (!lines->for_people)
		return cell_text(lines->diff->columns[lines->at->column].name);
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_outf(&out, "%.*s%s%s", 150, name, *unit ? " " : "", unit);
	return cell_textn(text, out.len);
}

static struct table_cell change_cells(const struct lines *lines, unsigned column)
{
	const struct diff_row *row = lines->at->row;
	const struct bench_delta *delta = &lines->at->value.delta;
	/* In tables: an interval wider than the value itself says nothing. */
	const bool vague = lines->for_people && !delta->significant && delta->ci_pct > 100;
	struct table_cell cell;

	switch (column) {
	case CHANGE:
		cell = value_cell(lines, lines->at->value.comparable,
				  diff_change(&lines->at->value));
		break;
	case PERCENT:
		if (lines->for_people && row->there[0] != row->there[1])
			return cell_text(diff_presence(row));
		cell = percent_cell(lines, delta->known, delta->pct);
		break;
	case INTERVAL:
		return percent_cell(lines, delta->has_ci && !vague, delta->ci_pct);
	default:
		if (lines->for_people)
			return cell_text(delta->has_ci && delta->significant ? "*" : NULL);
		return delta->has_ci ? cell_bool(delta->significant) : cell_null();
	}
	cell.plus = true;
	return cell;
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	const struct lines *lines = arg;
	const struct line *line = lines->at;
	const struct diff_side *sides = line->value.sides;

	switch (column->index) {
	case KEY:
		return cell_text(!lines->for_people ? line->row->key :
				 line->goes_on	    ? "" :
						      line->row->label);
	case SIDE:
		return cell_text(diff_presence(line->row));
	case NAME:
		return name_cell(lines);
	case SIDE_A:
	case SIDE_B:
		sides += column->index - SIDE_A;
		return value_cell(lines, sides->summary.n, sides->value);
	default:
		return change_cells(lines, column->index);
	}
}

static void make_row(void *arg, uint64_t i)
{
	struct lines *lines = arg;

	lines->at = &lines->list[i];
}

static const struct table_column columns[N_COLUMNS] = {
	{ .name = "key", .index = KEY },
	{ .name = "side", .index = SIDE, .data = true },
	{ .name = "name", .index = NAME, .head = "", .most = 32, .cut = PMC_CUT_MIDDLE },
	{ .name = "a", .index = SIDE_A, .head = "A", .unit = TABLE_COUNT, .kept = true },
	{ .name = "b", .index = SIDE_B, .head = "B", .unit = TABLE_COUNT, .kept = true },
	{ .name = "delta",
	  .index = CHANGE,
	  .head = "B - A",
	  .unit = TABLE_COUNT,
	  .drop = TABLE_DROP_METRIC,
	  .blank = true },
	{ .name = "delta_pct",
	  .index = PERCENT,
	  .head = "delta %",
	  .unit = TABLE_PERCENT,
	  .blank = true },
	{ .name = "ci_pct",
	  .index = INTERVAL,
	  .head = "± %",
	  .unit = TABLE_PERCENT,
	  .drop = TABLE_DROP_USAGE,
	  .blank = true },
	{ .name = "significant", .index = MARK, .head = "", .blank = true },
};

static void name_columns(const struct diff *diff, struct table_column list[N_COLUMNS])
{
	memcpy(list, columns, sizeof(columns));
	list[KEY].cut = PMC_CUT_MIDDLE;
	list[KEY].head = diff->by == PMC_BY_POOL || diff->by == PMC_BY_NAME ? "thread" :
			 !pmc_by_samples(diff->by)			    ? "row" :
			 diff->by == PMC_BY_LINE			    ? "line" :
			 diff->by == PMC_BY_MODULE			    ? "module" :
									      "function";
	if (diff->out.screen.ascii)
		list[INTERVAL].head = "+- %";
}

/* ---- what stands around the lines --------------------------------------------------------- */

static void put(struct pmc_out *out, const struct diff *diff, const char *text)
{
	const int most = pmc_screen_width(&diff->out.screen) - 4;

	pmc_utf8_fit(out, text, strlen(text), most < 60 ? most : 60, PMC_CUT_END,
		     diff->out.screen.ascii);
}

/* Prints the text of `line` and empties it. */
static void end_line(struct diff *diff, struct pmc_out *line)
{
	pmc_show_wrapped(&diff->out.out, line->buf, pmc_screen_width(&diff->out.screen));
	pmc_out_to_mem(line, line->buf, line->cap);
}

static void write_sampled(const struct diff *diff, const struct diff_sampled *sampled,
			  struct pmc_out *line)
{
	if (!sampled->event)
		return;
	pmc_out_str(line, "; ");
	pmc_show_count(line, sampled->samples, "sample", "samples");
	pmc_out_str(line, " by ");
	put(line, diff, sampled->event);
	if (!sampled->value)
		return;
	pmc_out_str(line, ", ");
	pmc_out_fixed(line, 100 * ((double)sampled->weight / (double)sampled->value), 1);
	pmc_out_str(line, " % of it");
}

static void write_side(struct diff *diff, unsigned side, struct pmc_out *line)
{
	pmc_outf(line, " %c ", "AB"[side]);
	put(line, diff, diff->files[side][0]);
	if (diff->n_files[side] > 1)
		pmc_outf(line, " and %u more", diff->n_files[side] - 1);
	if (diff->commands[side]) {
		pmc_out_str(line, ": ");
		put(line, diff, diff->commands[side]);
	}
	write_sampled(diff, &diff->sampled[side], line);
	end_line(diff, line);
}

static void note_scopes(struct diff *diff, struct pmc_out *line)
{
	for (unsigned c = DIFF_EVENTS; c < diff->n_columns; c++) {
		const unsigned *scopes = diff->columns[c].scopes;

		if (scopes[0] == scopes[1])
			continue;
		pmc_out_char(line, ' ');
		put(line, diff, diff->columns[c].name);
		if (scopes[0] && scopes[1])
			pmc_out_str(line, " was counted in different modes (user, kernel) and is "
					  "not compared");
		else
			pmc_outf(line, " was counted on side %s only", scopes[0] ? "A" : "B");
		end_line(diff, line);
	}
}

/* Which lines and rows are left out. */
static void note_others(const struct lines *lines, struct pmc_out *line)
{
	struct diff *diff = lines->diff;

	if (lines->n_beyond) {
		pmc_outf(line, " %u of the others %s beyond --top %u (--top 0 shows all)",
			 lines->n_beyond, lines->n_beyond == 1 ? "is" : "are", diff->top);
		end_line(diff, line);
	}
	if (!lines->left_out)
		return;
	pmc_outf(line,
		 " not shown: changes %s, below 1 %% of the total, or below %s (--all shows "
		 "them)",
		 diff->n_files[0] > 1 && diff->n_files[1] > 1 ?
			 "that are not statistically significant" :
			 "below 5 %",
		 pmc_by_samples(diff->by) ? "10 samples" : "10 ms, 1 thread or 100 events");
	end_line(diff, line);
}

static void write_notes(const struct lines *lines, struct pmc_out *line, bool intervals)
{
	struct diff *diff = lines->diff;

	note_others(lines, line);
	note_scopes(diff, line);
	if (diff->hosts[0] && diff->hosts[1] && strcmp(diff->hosts[0], diff->hosts[1])) {
		pmc_out_str(line, " hosts differ: A ");
		put(line, diff, diff->hosts[0]);
		pmc_out_str(line, ", B ");
		put(line, diff, diff->hosts[1]);
		end_line(diff, line);
	}
	for (unsigned side = 0; side < 2; side++) {
		if (!diff->off_ns[side])
			continue;
		pmc_outf(line, " counting was off in %c for ", "AB"[side]);
		pmc_show_time(line, (double)diff->off_ns[side],
			      diff->out.screen.ascii ? "us" : "µs");
		pmc_out_str(line, ": its values are of the rest");
		end_line(diff, line);
	}
	if (diff->total.scaled) {
		pmc_out_str(line,
			    " some counts were multiplexed, and are scaled to the whole time");
		end_line(diff, line);
	}
	if (intervals) {
		pmc_outf(line, " *: statistically significant: the 95 %% interval (%s) excludes 0",
			 diff->out.screen.ascii ? "+-" : "±");
		end_line(diff, line);
	}
}

static bool has_intervals(const struct lines *lines, const struct table *table)
{
	for (uint64_t i = 0; i < table->n_rows; i++)
		if (lines->list[table->order[i]].value.delta.has_ci)
			return true;
	return false;
}

static int write_table(struct lines *lines, struct table *table)
{
	struct diff *diff = lines->diff;
	char buf[1024];
	struct pmc_out line;
	int code;

	choose_scales(lines, table);
	for (uint64_t i = 1; i < table->n_rows; i++)
		lines->list[table->order[i]].goes_on =
			lines->list[table->order[i - 1]].row == lines->list[table->order[i]].row;
	pmc_out_to_mem(&line, buf, sizeof(buf));
	write_side(diff, 0, &line);
	write_side(diff, 1, &line);
	pmc_out_char(&diff->out.out, '\n');
	code = tool_rows_print(&diff->out, table);
	pmc_out_char(&diff->out.out, '\n');
	tool_rows_put_left_out(&diff->out, table);
	write_notes(lines, &line, has_intervals(lines, table));
	return code;
}

int diff_write_rows(struct diff *diff)
{
	struct table_column list[N_COLUMNS];
	struct lines lines = { .diff = diff, .for_people = tool_rows_is_table(&diff->out) };
	struct table table = { .columns = list,
			       .n_columns = N_COLUMNS,
			       .arg = &lines,
			       .row = make_row,
			       .cell = cell_of,
			       .arena = &diff->arena,
			       .indent = 2 };
	int code = make_lines(&lines) ? tool_fail(EXIT_FAIL, "out of memory") : EXIT_OK;
	int closed;

	pmc_screen_from_env(&diff->out.screen, environ);
	name_columns(diff, list);
	table.n_rows = lines.n;
	/* Conditions and order are of the values, as in CSV. */
	lines.for_people = false;
	if (!code)
		code = tool_rows_choose(&diff->out, &table, lines.sums);
	lines.for_people = tool_rows_is_table(&diff->out);
	if (!code)
		code = tool_rows_open(&diff->out);
	if (!code) {
		if (diff->out.format == TABLE_JSON)
			diff_write_json(diff, &diff->out.out);
		else if (lines.for_people)
			code = write_table(&lines, &table);
		else
			code = tool_rows_print(&diff->out, &table);
		closed = tool_rows_close(&diff->out);
		code = code ? code : closed;
	}
	free(lines.list);
	return code;
}
