/* SPDX-License-Identifier: MIT */
/*
 * table.c - the differences as rows of a table: a line for each measurement of a row.
 *
 * What is a column of reports is a line here, with its unit and decimals, which are the same in all
 * rows. A table has the lines that changed; the other rows are one line. JSON has the lines of a
 * row in a list.
 */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/diff/diff.h"

/* Smaller changes are not shown: with one run a side, and of the total in any case. */
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
	struct line *list;
	unsigned n, sums;  /* sums: the last ones, of others and the total */
	unsigned n_others; /* rows without a line */
	unsigned n_beyond; /* of these, rows that changed but are beyond --top */
	bool left_out;	   /* lines that have not changed */
	double *whole;	   /* of each column, the total of the larger side */
};

bool diff_compare(const struct diff *diff, const struct diff_row *row, unsigned column,
		  struct diff_compared *result)
{
	const struct diff_column *of = &diff->columns[column];
	struct diff_side *sides = result->sides;
	struct bench_mean means[2];

	for (unsigned side = 0, dump = 0; side < 2; side++) {
		double *values = diff->values;

		for (unsigned i = 0; i < diff->n_files[side]; i++, dump++) {
			const diff_number value = diff_value(diff, row, column, dump);

			values[i] = (double)value;
			sides[side].value = value;
		}
		bench_summarize(values, diff->n_files[side], &sides[side].summary);
	}
	bench_means(&sides[0].summary, &sides[1].summary, means);
	for (unsigned side = 0; side < 2; side++)
		if (diff->n_files[side] != 1 || !sides[side].summary.n)
			sides[side].value = means[side].value;
	result->delta = (struct bench_delta){ .known = false };
	result->comparable = sides[0].summary.n && sides[1].summary.n &&
			     (column < DIFF_EVENTS || of->scopes[0] == of->scopes[1]);
	if (result->comparable)
		bench_compare(&sides[0].summary, &sides[1].summary, &result->delta);
	/* A row that is not there has a value only beside one that is. */
	return (row->there[0] && sides[0].summary.n) || (row->there[1] && sides[1].summary.n);
}

/* ---- which lines -------------------------------------------------------------------------- */

/* The event that counts the same is shown. */
bool diff_is_event_too(const struct diff *diff, const struct diff_row *row, unsigned column)
{
	for (unsigned c = DIFF_EVENTS; c < diff->n_columns && column < DIFF_EVENTS; c++)
		for (unsigned i = 0; i < diff->n_files[0] + diff->n_files[1]; i++)
			if (!strcmp(diff->columns[c].name, diff->columns[column].head) &&
			    !isnan(diff_value(diff, row, c, i)))
				return true;
	return false;
}

/* With several runs a side, changes that are statistically significant; from 0, if the interval of
 * the new value excludes it. */
static bool is_changed(const struct lines *lines, const struct line *line)
{
	const struct diff_compared *value = &line->value;
	const struct bench_summary *a = &value->sides[0].summary, *b = &value->sides[1].summary;
	const double change = fabs((double)diff_change(value)),
		     before = fabs((double)value->sides[0].value);

	if (!value->comparable || change == 0 || change < LEAST_SHARE * lines->whole[line->column])
		return false;
	if (a->n > 1 && b->n > 1)
		return before > 0 ? value->delta.significant : change > bench_mean_ci(b);
	return change >= lines->diff->columns[line->column].least &&
	       change >= LEAST_CHANGE * before;
}

/* Adds the row's lines. Returns whether there are some that are not left out. In tables of threads
 * CPU time is then there, too: it adds up to that of the total. */
static bool add_row(struct lines *lines, const struct diff_row *row, bool all)
{
	const struct diff *diff = lines->diff;
	const unsigned before = lines->n;
	bool some = row == &diff->total;

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct line *line = &lines->list[lines->n];
		const struct diff_compared *value = &line->value;

		*line = (struct line){ .row = row, .column = c };
		if (!diff_compare(diff, row, c, &line->value))
			continue;
		if (lines->for_people &&
		    (diff_is_event_too(diff, row, c) ||
		     (value->comparable && !value->sides[0].value && !value->sides[1].value)))
			continue;
		if (!lines->for_people || all || is_changed(lines, line)) {
			some = true;
		} else if (c != diff_first(diff) ||
			   (pmc_by_samples(diff->by) && row != &diff->total)) {
			lines->left_out = true;
			continue;
		}
		lines->n++;
	}
	if (!some) {
		lines->left_out |= lines->n > before;
		lines->n = before;
	}
	return some;
}

/* Adds the row to the sum of those without a line. What functions call is in several totals, and
 * what a region has but its calls is also in those around it. */
static void add_other(struct lines *lines, const struct diff_row *row)
{
	struct diff *diff = lines->diff;
	const unsigned step = pmc_by_samples(diff->by) ? 2 : diff->n_columns;
	const unsigned first = diff->by == PMC_BY_REGION ? DIFF_THREADS : diff_first(diff);

	lines->n_others++;
	for (unsigned side = 0; side < 2; side++)
		diff->others.there[side] |= row->there[side];
	for (unsigned c = first; c < diff->n_columns; c += step) {
		const diff_number *sums = diff_sums(row, c);

		for (unsigned i = 0; sums && i < diff->n_dumps; i++)
			if (!isnan(sums[i]))
				diff_add(diff, &diff->others, c, i, sums[i]);
	}
}

static void add_others(struct lines *lines)
{
	struct diff *diff = lines->diff;
	const unsigned before = lines->n;
	struct pmc_out out = PMC_OUT_MEM(32);

	table_say(&out, &diff->out.screen, "%n %(other|others)", (uint64_t)lines->n_others);
	diff->others.label = pmc_arena_strdup(&diff->arena, out.buf);
	if (add_row(lines, &diff->others, true))
		lines->n = before + 1;
}

/* Lines of all rows, of which a table has what changed and --top permits; then the sums. */
static void make_lines(struct lines *lines)
{
	struct diff *diff = lines->diff;
	/* Where lines are sorted, --top counts lines. */
	const bool chosen = diff->out.choice.n_where, whole = diff->out.choice.sort || chosen,
		   all = diff->all || chosen;
	const size_t n = (HASH_COUNT(diff->rows) + 3) * (size_t)diff->n_columns;
	unsigned shown = 0, sums;

	lines->list = pmc_arena_alloc(&diff->arena, n * sizeof(*lines->list));
	lines->whole = pmc_arena_alloc(&diff->arena, diff->n_columns * sizeof(*lines->whole));
	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct diff_compared value;

		diff_compare(diff, &diff->total, c, &value);
		for (unsigned side = 0; side < 2; side++)
			lines->whole[c] = fmax(lines->whole[c], value.sides[side].value);
	}
	for (const struct diff_row *row = diff->rows; row; row = row->hh.next) {
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
}

/* ---- cells -------------------------------------------------------------------------------- */

enum { KEY, SIDE, NAME, SIDE_A, SIDE_B, CHANGE, PERCENT, INTERVAL, MARK, N_COLUMNS };

void diff_choose_scales(struct diff *diff)
{
	for (struct diff_column *c = diff->columns; c < diff->columns + diff->n_columns; c++)
		if (c->is_time)
			pmc_scale_time(&c->scale, c->most, diff->out.screen.ascii ? "us" : "µs");
		else
			pmc_scale_count(&c->scale, c->most, c->real);
}

struct table_cell diff_name_cell(struct diff *diff, unsigned column, const struct pmc_scale *scale)
{
	const char *unit = scale ? scale->unit : "";

	if (!scale)
		return cell_text(diff->columns[column].name);
	return cell_text(pmc_arena_format(&diff->arena, "%.150s%s%s", diff->columns[column].head,
					  *unit ? " " : "", unit));
}

static void set_cells(const struct lines *lines, const struct line *line, struct table_cell *cells)
{
	static const struct pmc_scale percent = { .divisor = 1, .decimals = 1, .unit = "" };
	const struct diff_side *sides = line->value.sides;
	const struct bench_delta *delta = &line->value.delta;
	const struct pmc_scale *scale = &lines->diff->columns[line->column].scale;
	const bool *there = line->row->there, people = lines->for_people;
	const char *presence = there[0] && there[1] ? "both" : there[0] ? "gone" : "new";
	/* In tables: an interval wider than the value itself says nothing. */
	const bool wide = people && !delta->significant && delta->ci_pct > 100;
	const unsigned decimals =
		lines->diff->out.format == TABLE_JSON ? PMC_JSON_DECIMALS : TABLE_LINE_DECIMALS;

	cells[KEY] = cell_text(!people ? line->row->key : line->goes_on ? "" : line->row->label);
	cells[SIDE] = cell_text(presence);
	cells[NAME] = diff_name_cell(lines->diff, line->column, people ? scale : NULL);
	for (unsigned side = 0; side < 2; side++)
		cells[SIDE_A + side] = diff_number_cell(people, sides[side].summary.n,
							sides[side].value, scale, decimals);
	cells[CHANGE] = diff_number_cell(people, line->value.comparable, diff_change(&line->value),
					 scale, decimals);
	cells[PERCENT] = diff_number_cell(people, delta->known, delta->pct, &percent, decimals);
	cells[CHANGE].plus = cells[PERCENT].plus = true;
	if (people && there[0] != there[1])
		cells[PERCENT] = cell_text(presence);
	cells[INTERVAL] = diff_number_cell(people, delta->has_ci && !wide,
					   people ? bench_shown_ci(delta) : delta->ci_pct, &percent,
					   decimals);
	cells[MARK] = !people		 ? cell_bool(delta->significant) :
		      delta->significant ? cell_text("*") :
					   cell_null();
	if (!delta->has_ci)
		cells[MARK] = cell_null();
}

static void make_cells(const struct lines *lines, const struct table *table)
{
	const struct table_cells *cells = table->arg;

	for (unsigned i = 0; i < lines->n; i++)
		set_cells(lines, &lines->list[i], cells->cells + i * N_COLUMNS);
}

const struct table_column diff_table_columns[N_COLUMNS] = {
	TABLE_COLUMN("key", KEY, .cut = PMC_CUT_MIDDLE),
	TABLE_COLUMN("side", SIDE, .data = true),
	TABLE_COLUMN("name", NAME, .head = "", .most = 32, .cut = PMC_CUT_MIDDLE),
	TABLE_COLUMN("a", SIDE_A, .head = "A", .unit = TABLE_COUNT, .kept = true),
	TABLE_COLUMN("b", SIDE_B, .head = "B", .unit = TABLE_COUNT, .kept = true),
	TABLE_COLUMN("delta", CHANGE, .head = "B - A", .unit = TABLE_COUNT,
		     .drop = TABLE_DROP_METRIC, .blank = true),
	TABLE_COLUMN("delta_pct", PERCENT, .head = "delta %", .unit = TABLE_PERCENT, .blank = true),
	TABLE_COLUMN("ci_pct", INTERVAL, .head = "± %", .unit = TABLE_PERCENT,
		     .drop = TABLE_DROP_USAGE, .blank = true),
	TABLE_COLUMN("significant", MARK, .head = "", .blank = true),
};

const char *diff_key_head(const struct diff *diff)
{
	if (diff->outer[0])
		return "row";
	return diff->by == PMC_BY_POOL ? "thread" : pmc_by_names[diff->by];
}

static void name_columns(const struct diff *diff, struct table_column list[N_COLUMNS])
{
	memcpy(list, diff_table_columns, sizeof(diff_table_columns));
	list[KEY].head = diff_key_head(diff);
	if (diff->out.screen.ascii)
		list[INTERVAL].head = "+- %";
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* The rows of the lines up to `to`, each with its lines in a list. */
static void put_rows(const struct table *table, const struct lines *lines, const char *key,
		     uint64_t from, uint64_t to)
{
	const struct table_cells *cells = table->arg;
	struct pmc_out *out = &lines->diff->out.out;

	pmc_outf(out, "\"%s\":[", key);
	for (uint64_t i = from; i < to; i++) {
		const struct diff_row *row = lines->list[i].row;
		const bool first = i == from || lines->list[i - 1].row != row;

		for (unsigned c = first ? KEY : NAME; c < N_COLUMNS; c++) {
			if (c == KEY)
				pmc_out_str(out, i == from ? "\n{" : ",\n{");
			if (c == NAME)
				pmc_out_str(out, first ? ",\"events\":[{" : ",{");
			pmc_outf(out, "%s\"%s\":", c == KEY || c == NAME ? "" : ",",
				 table->columns[c].name);
			table_put_json(out, &cells->cells[i * N_COLUMNS + c]);
		}
		pmc_out_str(out, i + 1 == to || lines->list[i + 1].row != row ? "}]}" : "}");
	}
	pmc_out_char(out, ']');
}

static void put_json(const struct table *table, const struct lines *lines)
{
	struct diff *diff = lines->diff;
	const uint64_t n = lines->n - lines->sums;
	struct pmc_json json;

	pmc_json_init(&json, &diff->out.out);
	pmc_json_object(&json, NULL);
	put_rows(table, lines, "rows", 0, n);
	pmc_out_char(&diff->out.out, ',');
	put_rows(table, lines, "total", n, lines->n);
	json.need_comma = true;
	for (unsigned side = 0; side < 2; side++) {
		pmc_json_str(&json, side ? "hosts_b" : "hosts_a", diff->hosts[side]);
		pmc_json_u64(&json, side ? "off_ns_b" : "off_ns_a", diff->off_ns[side]);
	}
	for (unsigned side = 0; side < 2; side++) {
		const struct diff_sampled *sampled = &diff->sampled[side];
		const bool known = sampled->event != NULL;

		pmc_json_known(&json, side ? "samples_b" : "samples_a", known, sampled->samples);
		pmc_json_known(&json, side ? "incomplete_b" : "incomplete_a", known,
			       sampled->incomplete);
	}
	pmc_json_object_end(&json);
	pmc_out_char(&diff->out.out, '\n');
}

/* ---- what stands around the lines --------------------------------------------------------- */

static void write_side(struct diff *diff, unsigned side)
{
	const struct pmc_screen *screen = &diff->out.screen;
	const struct diff_sampled *sampled = &diff->sampled[side];
	struct pmc_out line = PMC_OUT_MEM(1024);

	table_say(&line, screen, " %s %60S", side ? "B" : "A", diff_files(diff, side)[0]);
	if (diff->n_files[side] > 1)
		pmc_outf(&line, " and %u more", diff->n_files[side] - 1);
	if (diff->commands[side])
		table_say(&line, screen, ": %60S", diff->commands[side]);
	if (sampled->event)
		table_say(&line, screen, "; %n %(sample|samples) by %60S", sampled->samples,
			  sampled->event);
	if (sampled->value)
		table_say(&line, screen, ", %p %% of ",
			  100 * ((double)sampled->weight / (double)sampled->value));
	if (sampled->value && sampled->is_cpu)
		table_say(&line, screen, "%t CPU", sampled->value);
	else if (sampled->value)
		pmc_out_str(&line, "it");
	if (sampled->incomplete)
		table_say(&line, screen, ", %n with a truncated stack", sampled->incomplete);
	tool_rows_say(&diff->out, "%s", line.buf);
}

static double incomplete_pct(const struct diff *diff, unsigned side)
{
	const struct diff_sampled *sampled = &diff->sampled[side];

	return sampled->samples ? 100 * (double)sampled->incomplete / (double)sampled->samples : 0;
}

/* Functions near the start of a stack are missing in a truncated one. */
static void note_incomplete(struct diff *diff)
{
	const double a = incomplete_pct(diff, 0), b = incomplete_pct(diff, 1);

	if (diff->sampled[0].samples && diff->sampled[1].samples && fabs(a - b) > 5)
		tool_rows_say(&diff->out,
			      " %p %% of the stacks of A and %p %% of those of B are truncated: "
			      "totals of functions near their start, such as main, cannot be "
			      "compared",
			      a, b);
}

static void note_others(const struct lines *lines)
{
	struct diff *diff = lines->diff;
	const uint64_t beyond = lines->n_beyond, small = lines->n_others - lines->n_beyond;
	const bool repeated = diff->n_files[0] > 1 && diff->n_files[1] > 1;

	if (beyond)
		tool_rows_say(&diff->out,
			      " %n %(row is|rows are) beyond --top %n (--top 0 shows all)", beyond,
			      (uint64_t)diff->top);
	if (small)
		tool_rows_say(&diff->out,
			      " %n %(row|rows) changed less than the thresholds or not at all",
			      small);
	if (lines->left_out)
		tool_rows_say(&diff->out, " thresholds: %s (--all shows smaller changes)",
			      repeated ?
				      "statistical significance and 1 % of the total" :
			      pmc_by_samples(diff->by) ?
				      "5 %, 1 % of the total, and 10 samples" :
				      "5 %, 1 % of the total, and 10 ms, 1 thread or 100 events");
	if (!repeated)
		tool_rows_say(&diff->out, " noise is unknown with one run a side; give several: "
					  "pmctl diff A... --vs B...");
}

static void write_notes(const struct lines *lines, bool intervals)
{
	struct diff *diff = lines->diff;
	struct tool_rows *rows = &diff->out;

	note_others(lines);
	note_incomplete(diff);
	if (diff->by == PMC_BY_REGION)
		tool_rows_say(
			rows,
			" regions include inner ones; all times but elapsed-time are CPU time");
	for (unsigned c = DIFF_EVENTS; c < diff->n_columns; c++) {
		const unsigned *scopes = diff->columns[c].scopes;

		if (scopes[0] != scopes[1])
			tool_rows_say(rows, " %60S was counted %s", diff->columns[c].name,
				      !scopes[0] ? "on side B only" :
				      !scopes[1] ? "on side A only" :
						   "in different modes (user, kernel) and is not "
						   "compared");
	}
	if (diff->jobs[0] != diff->jobs[1])
		tool_rows_say(rows,
			      " values are sums of %n %(run|runs) in A and %n in B; give the dumps "
			      "of the single runs: pmctl diff A... --vs B...",
			      diff->jobs[0], diff->jobs[1]);
	if (diff->hosts[0] && diff->hosts[1] && strcmp(diff->hosts[0], diff->hosts[1]))
		tool_rows_say(rows, " hosts differ: A %60S, B %60S", diff->hosts[0],
			      diff->hosts[1]);
	for (unsigned side = 0; side < 2; side++)
		if (diff->off_ns[side])
			tool_rows_say(rows,
				      " counting was off in %s for %t: its values are of the rest",
				      side ? "B" : "A", diff->off_ns[side]);
	if (diff->scaled)
		tool_rows_say(rows,
			      " some counts were multiplexed, and are scaled to the whole time");
	if (intervals)
		tool_rows_say(rows, " *: statistically significant: the 95 %% interval of the "
				    "difference excludes 0");
}

static void write_table(struct lines *lines, struct table *table)
{
	struct diff *diff = lines->diff;
	bool intervals = false;

	for (uint64_t i = 0; i < table->n_rows; i++) {
		struct line *at = &lines->list[table->order[i]];

		at->goes_on = i && lines->list[table->order[i - 1]].row == at->row;
		intervals |= at->value.delta.has_ci;
		for (unsigned side = 0; side < 2; side++)
			diff_measure(&diff->columns[at->column], at->value.sides[side].value);
	}
	diff_choose_scales(diff);
	make_cells(lines, table);
	write_side(diff, 0);
	write_side(diff, 1);
	pmc_out_char(&diff->out.out, '\n');
	tool_rows_print(&diff->out, table);
	pmc_out_char(&diff->out.out, '\n');
	tool_rows_put_left_out(&diff->out, table);
	write_notes(lines, intervals);
}

int diff_write_rows(struct diff *diff)
{
	struct table_column list[N_COLUMNS];
	struct lines lines = { .diff = diff, .for_people = tool_rows_is_table(&diff->out) };
	struct table_cells cells = { .n = N_COLUMNS };
	struct table table = {
		.columns = list, .n_columns = N_COLUMNS, .arena = &diff->arena, .indent = 2
	};
	int code;

	pmc_screen_from_env(&diff->out.screen, environ);
	make_lines(&lines);
	name_columns(diff, list);
	table.n_rows = lines.n;
	/* Conditions and order are of the values, as in CSV. */
	lines.for_people = false;
	cells.cells =
		pmc_arena_alloc(&diff->arena, (lines.n + 1) * N_COLUMNS * sizeof(*cells.cells));
	table_set_cells(&table, &cells);
	make_cells(&lines, &table);
	code = tool_rows_choose(&diff->out, &table, lines.sums);
	lines.for_people = tool_rows_is_table(&diff->out);
	if (!code)
		code = tool_rows_open(&diff->out);
	if (code)
		return code;
	if (diff->out.format == TABLE_JSON)
		put_json(&table, &lines);
	else if (lines.for_people)
		write_table(&lines, &table);
	else
		tool_rows_print(&diff->out, &table);
	return tool_rows_close(&diff->out);
}
