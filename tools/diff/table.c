/* SPDX-License-Identifier: MIT */
/*
 * table.c - the differences as a table: a line for each row and what was measured of it.
 *
 * What is a column of reports is a line here, with its unit and decimals, which are the same in all
 * rows.
 */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/bench/units.h"
#include "tools/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY, NAME, SIDE_A, SIDE_B, DIFFERENCE, PERCENT, INTERVAL, N_CELLS };
enum { TEXT_MOST = 32, KEY_SOME = 18, TEXT_LEAST = 12 };

struct line {
	char cells[N_CELLS][160];
};

struct table {
	const struct diff *diff;
	struct pmc_out *out;
	struct pmc_scale scales[DIFF_EVENTS + PMC_UNION_MAX];
	int widths[N_CELLS], most[NAME + 1], gap;
	bool hidden[N_CELLS];
};

static const char *const heads[N_CELLS] = { "row", "", "A", "B", "B - A", "delta", "interval" };

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

/* The event that counts the same is shown. */
static bool is_event_too(const struct diff *diff, const struct diff_row *row, unsigned column)
{
	struct diff_compared value;

	for (unsigned c = DIFF_EVENTS; c < diff->n_columns && column < DIFF_EVENTS; c++)
		if (!strcmp(diff->columns[c].name, name_of(diff, column)))
			return diff_compare(diff, row, c, &value);
	return false;
}

/* Whether the row has a line for the column. */
static bool has_line(const struct diff *diff, const struct diff_row *row, unsigned column,
		     struct diff_compared *value)
{
	if (!diff_compare(diff, row, column, value) || is_event_too(diff, row, column))
		return false;
	return !value->comparable || value->sides[0].value != 0 || value->sides[1].value != 0;
}

/* The rows that are shown, then the total, then NULL. */
static const struct diff_row *next_row(const struct diff *diff, const struct diff_row *row,
				       unsigned *shown)
{
	if (row == &diff->total)
		return NULL;
	row = row ? row->next : diff->rows;
	return row && (!diff->top || ++*shown <= diff->top) ? row : &diff->total;
}

/* ---- cells -------------------------------------------------------------------------------- */

static void choose_scale(struct table *table, unsigned column)
{
	const struct diff *diff = table->diff;
	const struct diff_row *row = NULL;
	struct diff_compared value;
	unsigned shown = 0;
	bool real = false;
	double most = 0;

	while ((row = next_row(diff, row, &shown))) {
		if (!has_line(diff, row, column, &value))
			continue;
		for (unsigned side = 0; side < 2; side++) {
			diff_number of = value.sides[side].value;

			real |= of != roundl(of);
			most = (double)of > most ? (double)of : most;
		}
	}
	if (diff->columns[column].is_time)
		pmc_scale_time(&table->scales[column], most, diff->screen.ascii ? "us" : "µs");
	else
		pmc_scale_count(&table->scales[column], most, real);
}

static void put_text(const struct table *table, char cell[160], const char *text, int columns,
		     const char *unit)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, cell, 160);
	pmc_utf8_fit(&out, text, strlen(text), columns, PMC_CUT_MIDDLE, table->diff->screen.ascii);
	pmc_outf(&out, "%s%s", *unit ? " " : "", unit);
}

static void put_percent(const struct table *table, const struct diff_row *row,
			const struct bench_delta *delta, struct line *line)
{
	const char *mark = delta->significant ? " *" : "  ";
	const char *presence = bench_presence(row->there[0], row->there[1]);
	struct pmc_out out;

	pmc_out_to_mem(&out, line->cells[PERCENT], sizeof(line->cells[PERCENT]));
	if (strcmp(presence, "both")) {
		pmc_out_str(&out, presence);
		return;
	}
	if (!delta->known)
		return;
	pmc_out_str(&out, delta->pct > 0 ? "+" : "");
	pmc_out_fixed(&out, delta->pct, 1);
	pmc_out_char(&out, '%');
	/* One wider than the value itself says nothing. */
	if (!delta->has_ci || (!delta->significant && delta->ci_pct > 100))
		return;
	if (table->hidden[INTERVAL])
		pmc_out_str(&out, mark);
	pmc_out_to_mem(&out, line->cells[INTERVAL], sizeof(line->cells[INTERVAL]));
	pmc_out_str(&out, table->diff->screen.ascii ? "+- " : "± ");
	pmc_out_fixed(&out, delta->ci_pct, 1);
	pmc_outf(&out, "%%%s", mark);
}

static bool fill(const struct table *table, const struct diff_row *row, unsigned column,
		 struct line *line)
{
	const struct diff *diff = table->diff;
	const struct pmc_scale *scale = &table->scales[column];
	struct diff_compared value;
	double difference;
	struct pmc_out out;

	*line = (struct line){ 0 };
	if (!has_line(diff, row, column, &value))
		return false;
	put_text(table, line->cells[NAME], name_of(diff, column), table->most[NAME], scale->unit);
	for (unsigned side = 0; side < 2; side++) {
		pmc_out_to_mem(&out, line->cells[SIDE_A + side], sizeof(line->cells[SIDE_A]));
		if (value.sides[side].summary.n)
			pmc_show_scaled(&out, scale, (double)value.sides[side].value);
		else
			pmc_out_char(&out, '-');
	}
	if (!value.comparable)
		return true;
	difference = (double)(value.sides[1].value - value.sides[0].value);
	pmc_out_to_mem(&out, line->cells[DIFFERENCE], sizeof(line->cells[DIFFERENCE]));
	pmc_out_str(&out, difference > 0 ? "+" : "");
	pmc_show_scaled(&out, scale, difference);
	put_percent(table, row, &value.delta, line);
	return true;
}

/* ---- lines -------------------------------------------------------------------------------- */

static int width_of(const char *text)
{
	return pmc_utf8_columns(text, strlen(text));
}

static void widen(struct table *table, const struct line *line)
{
	for (unsigned i = 0; i < N_CELLS; i++)
		if (width_of(line->cells[i]) > table->widths[i])
			table->widths[i] = width_of(line->cells[i]);
}

static void write_line(struct table *table, const struct line *line)
{
	unsigned last = N_CELLS - 1;

	while (last && (!line->cells[last][0] || table->hidden[last]))
		last--;
	for (unsigned i = 0; i <= last; i++) {
		int pad = table->widths[i] - width_of(line->cells[i]);
		size_t len = strlen(line->cells[i]);

		if (table->hidden[i] || !table->widths[i])
			continue;
		pmc_out_pad(table->out, ' ', i ? table->gap : 2);
		pmc_out_pad(table->out, ' ', i <= NAME ? 0 : pad);
		while (i == last && len && line->cells[i][len - 1] == ' ')
			len--;
		pmc_out_bytes(table->out, line->cells[i], len);
		pmc_out_pad(table->out, ' ', i <= NAME && i < last ? pad : 0);
	}
	pmc_out_char(table->out, '\n');
}

/* Calls `use` for each line of the table: rows by their impact, then the total. */
static void each_line(struct table *table,
		      void (*use)(struct table *table, const struct line *line))
{
	const struct diff *diff = table->diff;
	const struct diff_row *row = NULL;
	struct line line = { 0 };
	unsigned shown = 0;

	for (unsigned i = 0; i < N_CELLS; i++)
		if (i != INTERVAL || table->widths[i])
			strcpy(line.cells[i], heads[i]);
	if (diff->by == PMC_BY_POOL || diff->by == PMC_BY_NAME)
		strcpy(line.cells[KEY], "thread");
	if (pmc_by_samples(diff->by))
		strcpy(line.cells[KEY], diff->by == PMC_BY_LINE	  ? "line" :
					diff->by == PMC_BY_MODULE ? "module" :
								    "function");
	use(table, &line);
	while ((row = next_row(diff, row, &shown))) {
		bool first = true;

		for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
			if (!fill(table, row, c, &line))
				continue;
			if (first)
				put_text(table, line.cells[KEY], row->label, table->most[KEY], "");
			first = false;
			use(table, &line);
		}
	}
}

/* ---- width -------------------------------------------------------------------------------- */

static int table_width(const struct table *table)
{
	int width = 2 - table->gap;

	for (unsigned i = 0; i < N_CELLS; i++)
		if (table->widths[i] && !table->hidden[i])
			width += table->widths[i] + table->gap;
	return width;
}

static void measure(struct table *table)
{
	memset(table->widths, 0, sizeof(table->widths));
	each_line(table, widen);
}

static void shrink(struct table *table, unsigned cell, int least)
{
	const int over = table_width(table) - pmc_screen_width(&table->diff->screen);

	if (over <= 0 || table->widths[cell] <= least)
		return;
	/* Units stand behind names. */
	table->most[cell] = table->widths[cell] - over > least ? table->widths[cell] - over : least;
	if (cell == NAME)
		table->most[cell] -= 3;
	measure(table);
}

/* As in reports: texts are shortened, columns move closer, the least important ones go. Returns the
 * width without all this. */
static int fit(struct table *table)
{
	static const unsigned char least_first[] = { DIFFERENCE, INTERVAL };
	const int screen = pmc_screen_width(&table->diff->screen);
	int whole;

	table->gap = 2;
	table->most[KEY] = table->most[NAME] = TEXT_MOST;
	measure(table);
	whole = table_width(table);
	shrink(table, KEY, KEY_SOME);
	if (table_width(table) > screen)
		table->gap = 1;
	for (unsigned i = 0; i < sizeof(least_first) && table_width(table) > screen; i++) {
		table->hidden[least_first[i]] = table->widths[least_first[i]] != 0;
		measure(table);
	}
	shrink(table, KEY, TEXT_LEAST);
	shrink(table, NAME, TEXT_LEAST);
	return whole;
}

/* ---- what stands around the lines --------------------------------------------------------- */

static void put(struct pmc_out *out, const struct diff *diff, const char *text)
{
	int most = pmc_screen_width(&diff->screen) - 4;

	pmc_utf8_fit(out, text, strlen(text), most < 60 ? most : 60, PMC_CUT_END,
		     diff->screen.ascii);
}

/* Prints the text of `line` and empties it. */
static void end_line(struct table *table, struct pmc_out *line)
{
	pmc_show_wrapped(table->out, line->buf, pmc_screen_width(&table->diff->screen));
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

static void write_side(struct table *table, unsigned side, struct pmc_out *line)
{
	const struct diff *diff = table->diff;

	pmc_outf(line, " %c ", "AB"[side]);
	put(line, diff, diff->files[side][0]);
	if (diff->n_files[side] > 1)
		pmc_outf(line, " and %u more", diff->n_files[side] - 1);
	if (diff->commands[side]) {
		pmc_out_str(line, ": ");
		put(line, diff, diff->commands[side]);
	}
	write_sampled(diff, &diff->sampled[side], line);
	end_line(table, line);
}

static void note_scopes(struct table *table, struct pmc_out *line)
{
	const struct diff *diff = table->diff;

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
		end_line(table, line);
	}
}

static void write_notes(struct table *table, struct pmc_out *line, int whole)
{
	const struct diff *diff = table->diff;
	const char *micro = diff->screen.ascii ? "us" : "µs";
	const char *before = " not shown: ";

	for (unsigned i = 0; i < N_CELLS; i++) {
		if (!table->hidden[i])
			continue;
		pmc_outf(line, "%s%s", before, heads[i]);
		before = ", ";
	}
	if (line->len) {
		pmc_outf(line, " (--width %d)", whole);
		end_line(table, line);
	}
	note_scopes(table, line);
	if (diff->hosts[0] && diff->hosts[1] && strcmp(diff->hosts[0], diff->hosts[1])) {
		pmc_out_str(line, " hosts differ: A ");
		put(line, diff, diff->hosts[0]);
		pmc_out_str(line, ", B ");
		put(line, diff, diff->hosts[1]);
		end_line(table, line);
	}
	for (unsigned side = 0; side < 2; side++) {
		if (!diff->off_ns[side])
			continue;
		pmc_outf(line, " counting was off in %c for ", "AB"[side]);
		pmc_show_time(line, (double)diff->off_ns[side], micro);
		pmc_out_str(line, ": its values are of the rest");
		end_line(table, line);
	}
	if (diff->total.scaled) {
		pmc_out_str(line,
			    " some counts were multiplexed, and are scaled to the whole time");
		end_line(table, line);
	}
	if (table->widths[INTERVAL]) {
		pmc_outf(line, " *: the 95 %% interval%s excludes 0",
			 table->hidden[INTERVAL] ? "" :
			 diff->screen.ascii	 ? " (+-)" :
						   " (±)");
		end_line(table, line);
	}
}

void diff_write_table(const struct diff *diff, struct pmc_out *out)
{
	struct table *table = calloc(1, sizeof(*table));
	char buf[1024];
	struct pmc_out line;
	int whole;

	if (!table) {
		out->error = -ENOMEM;
		return;
	}
	*table = (struct table){ .diff = diff, .out = out };
	for (unsigned c = diff_first(diff); c < diff->n_columns; c++)
		choose_scale(table, c);
	whole = fit(table);
	pmc_out_to_mem(&line, buf, sizeof(buf));
	write_side(table, 0, &line);
	write_side(table, 1, &line);
	pmc_out_char(out, '\n');
	each_line(table, write_line);
	if (diff->top && diff->n_rows > diff->top)
		pmc_outf(out, "  and %u more (--top 0 shows all)\n", diff->n_rows - diff->top);
	pmc_out_char(out, '\n');
	write_notes(table, &line, whole);
	free(table);
}
