/* SPDX-License-Identifier: MIT */
/*
 * bench_table.c - the results of a bench as a Markdown table with notes below.
 *
 * Cells are padded, so that the source is readable too. Columns without any value are left out,
 * with the reason in a note.
 */
#include "agent/core/api/bench/bench.h"
#include "agent/core/base/utf8.h"

#include <string.h>

#define CELL_BYTES   256
#define NAME_COLUMNS 48
#define COLUMNS_MAX  (PMC_EVENTS_MAX + 8)

enum kind { NAME, TIME, MEAN, LEAST, OPS, BYTES, EVENT, IPC, SPEEDUP };

struct column {
	enum kind kind;
	size_t event;
	int width;
};

struct table {
	const struct pmc_bench *bench;
	struct column columns[COLUMNS_MAX];
	unsigned n;
};

/* ---- cells ---------------------------------------------------------------------------------*/

static void show_ns(struct pmc_out *out, double ns)
{
	static const char *const units[] = { " ns", " µs", " ms", " s" };
	unsigned unit = 0;

	for (; ns >= 999.95 && unit < 3; unit++)
		ns /= 1000;
	pmc_out_fixed(out, ns, ns < 9.9995 ? 3 : ns < 99.995 ? 2 : 1);
	pmc_out_str(out, units[unit]);
}

/* Decimal prefixes, four digits: 81.03 M. */
static void show_prefixed(struct pmc_out *out, double value, const char *unit)
{
	static const char *const prefixes[] = { " ", " k", " M", " G", " T" };
	unsigned prefix = 0;

	for (; value >= 999.95 && prefix < 4; prefix++)
		value /= 1000;
	pmc_out_fixed(out, value, value < 9.9995 ? 3 : value < 99.995 ? 2 : 1);
	pmc_outf(out, "%s%s", prefixes[prefix], unit);
}

/* Fixed decimals, so that values of a column compare; small values do not become 0. */
static void show_per_op(struct pmc_out *out, double value)
{
	if (value > 0 && value < 0.000001)
		pmc_out_str(out, "<0.000001");
	else if (value >= 99999.5)
		show_prefixed(out, value, "");
	else
		pmc_out_fixed(out, value, value >= 100 ? 1 : value >= 0.1 ? 3 : 6);
}

static void show_event(struct pmc_out *out, const struct pmc_bench_count *count)
{
	if (!bench_has_value(count)) {
		pmc_out_char(out, '-');
		return;
	}
	if (count->state == PMC_SCALED)
		pmc_out_char(out, '~');
	if (!strcmp(count->unit, "ns"))
		show_ns(out, count->per_op.mean);
	else
		show_per_op(out, count->per_op.mean);
}

/* Text with | escaped and control characters replaced. */
static void show_text(struct pmc_out *out, const char *text, int columns)
{
	char safe[CELL_BYTES];
	struct pmc_out to;

	pmc_out_to_mem(&to, safe, sizeof(safe));
	pmc_utf8_safe(&to, text, strlen(text), columns);
	for (const char *c = safe; *c; c++) {
		if (*c == '|')
			pmc_out_char(out, '\\');
		pmc_out_char(out, *c);
	}
}

static void show_head(struct pmc_out *out, const struct column *column,
		      const struct pmc_bench_result *first)
{
	static const char *const heads[] = {
		[NAME] = "benchmark", [TIME] = "time/op",     [MEAN] = "mean ± σ",
		[LEAST] = "min",      [OPS] = "ops/s",	      [BYTES] = "bytes/s",
		[IPC] = "IPC",	      [SPEEDUP] = "speed-up",
	};
	const struct pmc_bench_count *count;

	if (column->kind != EVENT) {
		pmc_out_str(out, heads[column->kind]);
		return;
	}
	count = &first->counts[column->event];
	show_text(out, count->event, NAME_COLUMNS);
	if (count->core_type[0])
		pmc_outf(out, " (%s)", count->core_type);
	pmc_out_str(out, "/op");
}

static void show_cell(struct pmc_out *out, const struct column *column,
		      const struct pmc_bench_result *result)
{
	switch (column->kind) {
	case NAME:
		show_text(out, result->name, NAME_COLUMNS);
		break;
	case TIME:
		show_ns(out, result->time_ns.median);
		break;
	case MEAN:
		show_ns(out, result->time_ns.mean);
		pmc_out_str(out, " ± ");
		show_ns(out, result->time_ns.stddev);
		break;
	case LEAST:
		show_ns(out, result->time_ns.min);
		break;
	case OPS:
		show_prefixed(out, result->ops_per_s, "/s");
		break;
	case BYTES:
		if (result->bytes_per_op)
			show_prefixed(out, result->bytes_per_s, "B/s");
		else
			pmc_out_char(out, '-');
		break;
	case EVENT:
		show_event(out, &result->counts[column->event]);
		break;
	case IPC:
		pmc_out_fixed(out, result->ipc, 2);
		break;
	case SPEEDUP:
		if (result->baseline)
			pmc_out_str(out, "baseline");
		else if (result->speedup < 0.01)
			pmc_out_str(out, "<0.01");
		else
			pmc_out_fixed(out, result->speedup, 2);
		break;
	}
}

/* ---- columns -------------------------------------------------------------------------------*/

static bool any(const struct pmc_bench *bench, enum kind kind, size_t event)
{
	struct pmc_bench_result result;

	for (size_t i = 0; !pmc_bench_get(bench, i, &result); i++)
		if ((kind == BYTES && result.bytes_per_op) ||
		    (kind == IPC && result.ipc == result.ipc) || (kind == SPEEDUP && i > 0) ||
		    (kind == EVENT && bench_has_value(&result.counts[event])))
			return true;
	return false;
}

/* Result -1 is the head. False: no such result. */
static bool cell(const struct table *table, unsigned c, long result, char text[CELL_BYTES])
{
	const struct column *column = &table->columns[c];
	struct pmc_bench_result is;
	struct pmc_out out;

	if (pmc_bench_get(table->bench, result < 0 ? 0 : (size_t)result, &is))
		return false;
	pmc_out_to_mem(&out, text, CELL_BYTES);
	if (result < 0)
		show_head(&out, column, &is);
	else
		show_cell(&out, column, &is);
	return true;
}

static int width_of(const char *text)
{
	return pmc_utf8_columns(text, strlen(text));
}

static void add_column(struct table *table, enum kind kind, size_t event)
{
	struct column *column = &table->columns[table->n];
	char text[CELL_BYTES];

	*column = (struct column){ .kind = kind, .event = event };
	for (long r = -1; cell(table, table->n, r, text); r++)
		if (width_of(text) > column->width)
			column->width = width_of(text);
	table->n++;
}

static void choose_columns(struct table *table, const struct pmc_bench_result *first)
{
	static const enum kind always[] = { NAME, TIME, MEAN, LEAST, OPS };

	for (unsigned i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		add_column(table, always[i], 0);
	if (any(table->bench, BYTES, 0))
		add_column(table, BYTES, 0);
	for (size_t i = 0; i < first->n_counts; i++)
		if (any(table->bench, EVENT, i))
			add_column(table, EVENT, i);
	if (any(table->bench, IPC, 0))
		add_column(table, IPC, 0);
	if (any(table->bench, SPEEDUP, 0))
		add_column(table, SPEEDUP, 0);
}

/* ---- notes ---------------------------------------------------------------------------------*/

/* One line per reason, with all its events. */
static void note_missing(const struct pmc_bench *bench, const struct pmc_bench_result *first,
			 struct pmc_out *out)
{
	bool told[PMC_EVENTS_MAX] = { false };
	char why[BENCH_WHY_BYTES], other[BENCH_WHY_BYTES];

	for (size_t i = 0; i < first->n_counts; i++) {
		if (told[i] || any(bench, EVENT, i))
			continue;
		bench_why(bench, first, i, why, sizeof(why));
		pmc_out_str(out, "\nNot counted: ");
		for (size_t k = i; k < first->n_counts; k++) {
			if (told[k] || any(bench, EVENT, k) ||
			    strcmp(bench_why(bench, first, k, other, sizeof(other)), why))
				continue;
			told[k] = true;
			pmc_out_str(out, k == i ? "" : ", ");
			show_text(out, first->counts[k].event, 0);
		}
		pmc_outf(out, ": %s.\n", why);
	}
}

/* A line with the events for which `says` is true in some result. */
static void note(const struct pmc_bench *bench, const struct pmc_bench_result *first,
		 bool (*says)(const struct pmc_bench_count *count), const char *head,
		 const char *tail, struct pmc_out *out)
{
	struct pmc_bench_result result;
	bool begun = false;

	for (size_t k = 0; k < first->n_counts; k++) {
		bool does = false;

		for (size_t i = 0; !pmc_bench_get(bench, i, &result); i++)
			does |= bench_has_value(&result.counts[k]) && says(&result.counts[k]);
		if (!does)
			continue;
		pmc_out_str(out, begun ? ", " : head);
		show_text(out, first->counts[k].event, 0);
		begun = true;
	}
	if (begun)
		pmc_outf(out, "%s\n", tail);
}

static bool is_scaled(const struct pmc_bench_count *count)
{
	return count->state == PMC_SCALED;
}

static bool is_user(const struct pmc_bench_count *count)
{
	return count->scope == PMC_SCOPE_USER;
}

/* ---- the table -----------------------------------------------------------------------------*/

static void write_row(const struct table *table, long result, struct pmc_out *out)
{
	char text[CELL_BYTES];

	for (unsigned c = 0; c < table->n; c++) {
		int pad;

		cell(table, c, result, text);
		pad = table->columns[c].width - width_of(text);
		pmc_out_str(out, "| ");
		if (c > 0)
			pmc_out_pad(out, ' ', pad);
		pmc_out_str(out, text);
		if (c == 0)
			pmc_out_pad(out, ' ', pad);
		pmc_out_char(out, ' ');
	}
	pmc_out_str(out, "|\n");
}

static void write_rule(const struct table *table, struct pmc_out *out)
{
	for (unsigned c = 0; c < table->n; c++) {
		pmc_out_str(out, c ? "|-" : "|:");
		pmc_out_pad(out, '-', table->columns[c].width);
		pmc_out_char(out, c ? ':' : '-');
	}
	pmc_out_str(out, "|\n");
}

void bench_markdown(const struct pmc_bench *bench, struct pmc_out *out)
{
	struct table table = { .bench = bench };
	struct pmc_bench_result first;

	if (pmc_bench_get(bench, 0, &first)) {
		pmc_out_str(out, "Nothing was measured.\n");
		return;
	}
	choose_columns(&table, &first);
	write_row(&table, -1, out);
	write_rule(&table, out);
	for (size_t i = 0; i < pmc_bench_n_results(bench); i++)
		write_row(&table, (long)i, out);
	note_missing(bench, &first, out);
	note(bench, &first, is_user, "\nIn user mode only: ", ".", out);
	note(bench, &first, is_scaled, "\nMarked ~ (multiplexed, scaled): ", ".", out);
}
