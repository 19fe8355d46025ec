/* SPDX-License-Identifier: MIT */
/* print.c - the differences as a table, JSON or CSV. */
#include "agent/core/base/json.h"
#include "agent/core/base/utf8.h"
#include "agent/core/report/report.h"
#include "agent/core/report/words.h"
#include "tools/bench/units.h"
#include "tools/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A column of a row, compared. */
struct compared {
	struct diff_side sides[2];
	struct bench_delta delta;
	bool comparable;
};

static bool compare(const struct diff *diff, const struct diff_row *row, unsigned column,
		    struct compared *result)
{
	result->comparable = diff_values(diff, row, column, result->sides);
	bench_compare(&result->sides[0].summary, &result->sides[1].summary, &result->delta);
	if (!result->comparable)
		result->delta = (struct bench_delta){ .known = false };
	return result->sides[0].summary.n || result->sides[1].summary.n;
}

static const char *presence(const struct diff_row *row)
{
	return bench_presence(row->there[0], row->there[1]);
}

static diff_number difference(const struct compared *value)
{
	return value->sides[1].value - value->sides[0].value;
}

/* ---- table -------------------------------------------------------------------------------- */

#define CELLS	  7 /* key, measurement, A, B, delta, percent, note */
#define NAME_MOST 32
#define KEY_LEAST 12

struct line {
	char cells[CELLS][64];
};

struct measuring {
	int widths[CELLS];
	size_t key_most;
};

static struct measuring measuring;

static void show(char cell[64], double value, enum bench_unit unit, bool sign)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, cell, 64);
	if (sign && value > 0)
		pmc_out_char(&out, '+');
	bench_show(&out, value, unit);
}

/* As reports have them. */
static const char *const names[DIFF_EVENTS] = {
	[DIFF_CPU] = "cpu",	  [DIFF_THREADS] = "threads",	[DIFF_FAULTS] = "page-faults",
	[DIFF_VOLUNTARY] = "vol", [DIFF_INVOLUNTARY] = "invol",
};

/* The event that counts the same is shown. */
static bool is_event_too(const struct diff *diff, const struct diff_row *row, unsigned column)
{
	struct compared value;

	for (unsigned c = DIFF_EVENTS; c < diff->n_columns && column < DIFF_EVENTS; c++)
		if (!strcmp(diff->columns[c].name, names[column]))
			return compare(diff, row, c, &value);
	return false;
}

static bool fill(const struct diff *diff, const struct diff_row *row, unsigned column,
		 struct line *line)
{
	const struct diff_column *of = &diff->columns[column];
	const char *name = column < DIFF_EVENTS ? names[column] : of->name;
	enum bench_unit unit = of->is_time ? BENCH_NS : BENCH_COUNT;
	struct compared value;
	struct pmc_out out;

	*line = (struct line){ 0 };
	if (!compare(diff, row, column, &value) || is_event_too(diff, row, column))
		return false;
	pmc_out_to_mem(&out, line->cells[1], sizeof(line->cells[1]));
	pmc_utf8_safe(&out, name, strlen(name), NAME_MOST);
	for (unsigned side = 0; side < 2; side++)
		if (value.sides[side].summary.n)
			show(line->cells[2 + side], (double)value.sides[side].value, unit, false);
		else
			strcpy(line->cells[2 + side], "-");
	if (!value.comparable)
		return true;
	if (value.sides[0].value == 0 && value.sides[1].value == 0)
		return false;
	show(line->cells[4], (double)difference(&value), unit, true);
	pmc_out_to_mem(&out, line->cells[5], sizeof(line->cells[5]));
	if (value.delta.known) {
		pmc_out_str(&out, value.delta.pct > 0 ? "+" : "");
		pmc_out_fixed(&out, value.delta.pct, 1);
		pmc_out_char(&out, '%');
	}
	if (value.delta.known && value.delta.has_ci) {
		pmc_out_str(&out, " ± ");
		pmc_out_fixed(&out, value.delta.ci_pct, 1);
		pmc_out_str(&out, value.delta.significant ? "% *" : "%");
	}
	return true;
}

static void write_line(const struct line *line, const int widths[CELLS], struct pmc_out *out)
{
	unsigned last = CELLS - 1;

	while (last && !line->cells[last][0])
		last--;
	for (unsigned i = 0; i <= last; i++) {
		int pad = widths[i] - pmc_utf8_columns(line->cells[i], strlen(line->cells[i]));

		pmc_out_str(out, "  ");
		pmc_out_pad(out, ' ', i < 2 ? 0 : pad);
		pmc_out_str(out, line->cells[i]);
		pmc_out_pad(out, ' ', i < 2 && i < last ? pad : 0);
	}
	pmc_out_char(out, '\n');
}

/* Calls `use` for each line of a row. */
static void each_cell(const struct diff *diff, const struct diff_row *row,
		      void (*use)(const struct line *line, const int widths[CELLS],
				  struct pmc_out *out),
		      const int widths[CELLS], struct pmc_out *out)
{
	bool first = true;
	struct line line;
	struct pmc_out key;

	for (unsigned c = 0; c < diff->n_columns; c++) {
		if (!fill(diff, row, c, &line))
			continue;
		if (first) {
			pmc_out_to_mem(&key, line.cells[0], sizeof(line.cells[0]));
			pmc_utf8_safe(&key, row->key, strlen(row->key), measuring.key_most);
			if (strcmp(presence(row), "both"))
				snprintf(line.cells[6], sizeof(line.cells[6]), "%s", presence(row));
		}
		first = false;
		use(&line, widths, out);
	}
}

/* Calls `use` for each line of the table: rows by their impact, then the total. */
static void each_line(const struct diff *diff,
		      void (*use)(const struct line *line, const int widths[CELLS],
				  struct pmc_out *out),
		      const int widths[CELLS], struct pmc_out *out)
{
	struct line line = { { "", "", "A", "B", "B - A", "delta" } };
	unsigned shown = 0;

	strcpy(line.cells[0],
	       diff->by == PMC_BY_POOL || diff->by == PMC_BY_NAME ? "thread" : "row");
	use(&line, widths, out);
	for (const struct diff_row *row = diff->rows; row; row = row->next)
		if (!diff->top || ++shown <= diff->top)
			each_cell(diff, row, use, widths, out);
	each_cell(diff, &diff->total, use, widths, out);
}

static void widen(const struct line *line, const int widths[CELLS], struct pmc_out *out)
{
	(void)widths;
	(void)out;
	for (unsigned i = 0; i < CELLS; i++) {
		int width = pmc_utf8_columns(line->cells[i], strlen(line->cells[i]));

		if (width > measuring.widths[i])
			measuring.widths[i] = width;
	}
}

static void write_text(const char *text, struct pmc_out *out)
{
	pmc_utf8_safe(out, text, strlen(text), 0);
}

static void note_differences(const struct diff *diff, struct pmc_out *out)
{
	for (unsigned c = DIFF_EVENTS; c < diff->n_columns; c++) {
		const unsigned *scopes = diff->columns[c].scopes;

		if (scopes[0] == scopes[1])
			continue;
		pmc_out_char(out, ' ');
		write_text(diff->columns[c].name, out);
		if (scopes[0] && scopes[1])
			pmc_out_str(out,
				    " was counted in different modes (user, kernel) and is not "
				    "compared\n");
		else
			pmc_outf(out, " was counted on side %s only\n", scopes[0] ? "A" : "B");
	}
	if (diff->hosts[0] && diff->hosts[1] && strcmp(diff->hosts[0], diff->hosts[1])) {
		pmc_out_str(out, " hosts differ: A ");
		write_text(diff->hosts[0], out);
		pmc_out_str(out, ", B ");
		write_text(diff->hosts[1], out);
		pmc_out_char(out, '\n');
	}
	for (unsigned side = 0; side < 2; side++) {
		if (!diff->off_ns[side])
			continue;
		pmc_outf(out, " counting was off in %c for ", "AB"[side]);
		bench_show(out, (double)diff->off_ns[side], BENCH_NS);
		pmc_out_str(out, ": its values are of the rest\n");
	}
	if (diff->total.scaled)
		pmc_out_str(out,
			    " some counts were multiplexed, and are scaled to the whole time\n");
	if (diff->n_files[0] > 1 && diff->n_files[1] > 1)
		pmc_out_str(out, " ±: 95 % interval; *: it excludes 0\n");
}

static void write_side(const struct diff *diff, unsigned side, struct pmc_out *out)
{
	const char *file = diff->files[side][0];

	pmc_outf(out, " %c ", "AB"[side]);
	pmc_utf8_safe(out, file, strlen(file), 60);
	if (diff->n_files[side] > 1)
		pmc_outf(out, " and %u more", diff->n_files[side] - 1);
	if (diff->commands[side]) {
		pmc_out_str(out, ": ");
		pmc_utf8_safe(out, diff->commands[side], strlen(diff->commands[side]), 60);
	}
	pmc_out_char(out, '\n');
}

/* Widths of the columns; the key is shortened if the lines do not fit otherwise. */
static void measure(const struct diff *diff, size_t key_most, struct pmc_out *out)
{
	int width = 0;

	measuring = (struct measuring){ .key_most = key_most };
	each_line(diff, widen, NULL, out);
	for (unsigned i = 0; i < CELLS; i++)
		width += measuring.widths[i] ? measuring.widths[i] + 2 : 0;
	if (!diff->width || width <= (int)diff->width || measuring.widths[0] <= KEY_LEAST)
		return;
	width -= (int)diff->width;
	measure(diff,
		(size_t)(measuring.widths[0] - width > KEY_LEAST ? measuring.widths[0] - width :
								   KEY_LEAST),
		out);
}

static void write_table(const struct diff *diff, struct pmc_out *out)
{
	measure(diff, NAME_MOST, out);
	write_side(diff, 0, out);
	write_side(diff, 1, out);
	pmc_out_str(out, "\n");
	each_line(diff, write_line, measuring.widths, out);
	if (diff->top && diff->n_rows > diff->top)
		pmc_outf(out, "  and %u more (--top 0 shows all)\n", diff->n_rows - diff->top);
	pmc_out_char(out, '\n');
	note_differences(diff, out);
}

/* ---- JSON and CSV ------------------------------------------------------------------------- */

/* False: it is no whole number, or too large. */
static bool is_whole(diff_number value, uint64_t *size)
{
	diff_number positive = value < 0 ? -value : value;

	if (!(positive < 0x1p64L))
		return false;
	*size = (uint64_t)positive;
	return (diff_number)*size == positive;
}

static void json_number(struct pmc_json *json, const char *key, bool known, diff_number value)
{
	uint64_t size;

	if (!known || !is_whole(value, &size) || (value < 0 && size > INT64_MAX))
		pmc_json_double(json, key, known ? (double)value : NAN);
	else if (value < 0)
		pmc_json_i64(json, key, -(int64_t)size);
	else
		pmc_json_u64(json, key, size);
}

static void json_row(struct pmc_json *json, const struct diff *diff, const struct diff_row *row)
{
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "key", row->key);
	pmc_json_str(json, "side", presence(row));
	pmc_json_array(json, "events");
	for (unsigned c = 0; c < diff->n_columns; c++) {
		struct compared value;

		if (!compare(diff, row, c, &value))
			continue;
		pmc_json_object(json, NULL);
		pmc_json_str(json, "name", diff->columns[c].name);
		json_number(json, "a", value.sides[0].summary.n, value.sides[0].value);
		json_number(json, "b", value.sides[1].summary.n, value.sides[1].value);
		json_number(json, "delta", value.comparable, difference(&value));
		pmc_json_double(json, "delta_pct", value.delta.known ? value.delta.pct : NAN);
		pmc_json_double(json, "ci_pct", value.delta.has_ci ? value.delta.ci_pct : NAN);
		if (value.delta.has_ci)
			pmc_json_bool(json, "significant", value.delta.significant);
		else
			pmc_json_null(json, "significant");
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	pmc_json_object_end(json);
}

static void write_json(const struct diff *diff, struct pmc_out *out)
{
	struct pmc_json json;

	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	pmc_json_array(&json, "rows");
	for (const struct diff_row *row = diff->rows; row; row = row->next)
		json_row(&json, diff, row);
	pmc_json_array_end(&json);
	pmc_json_array(&json, "total");
	json_row(&json, diff, &diff->total);
	pmc_json_array_end(&json);
	for (unsigned side = 0; side < 2; side++) {
		pmc_json_str(&json, side ? "hosts_b" : "hosts_a", diff->hosts[side]);
		pmc_json_u64(&json, side ? "off_ns_b" : "off_ns_a", diff->off_ns[side]);
	}
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

static void csv_number(struct pmc_out *out, bool known, diff_number value)
{
	uint64_t size;

	pmc_out_char(out, ',');
	if (known && is_whole(value, &size)) {
		pmc_out_str(out, value < 0 ? "-" : "");
		pmc_out_u64(out, size);
	} else if (known) {
		pmc_out_fixed(out, (double)value, 3);
	}
}

static void csv_row(const struct diff *diff, const struct diff_row *row, struct pmc_out *out)
{
	for (unsigned c = 0; c < diff->n_columns; c++) {
		struct compared value;

		if (!compare(diff, row, c, &value))
			continue;
		pmc_csv_text(out, row->key, strlen(row->key));
		pmc_outf(out, ",%s,", presence(row));
		pmc_csv_text(out, diff->columns[c].name, strlen(diff->columns[c].name));
		csv_number(out, value.sides[0].summary.n, value.sides[0].value);
		csv_number(out, value.sides[1].summary.n, value.sides[1].value);
		csv_number(out, value.comparable, difference(&value));
		csv_number(out, value.delta.known, value.delta.pct);
		csv_number(out, value.delta.has_ci, value.delta.ci_pct);
		pmc_outf(out, ",%s\n",
			 !value.delta.has_ci	 ? "" :
			 value.delta.significant ? "true" :
						   "false");
	}
}

static void write_csv(const struct diff *diff, struct pmc_out *out)
{
	pmc_out_str(out, "key,side,name,a,b,delta,delta_pct,ci_pct,significant\n");
	for (const struct diff_row *row = diff->rows; row; row = row->next)
		csv_row(diff, row, out);
	csv_row(diff, &diff->total, out);
}

void diff_print(const void *arg, struct pmc_out *out)
{
	const struct diff *diff = arg;

	if (diff->format == PMC_FORMAT_JSON)
		write_json(diff, out);
	else if (diff->format == PMC_FORMAT_CSV)
		write_csv(diff, out);
	else
		write_table(diff, out);
}
