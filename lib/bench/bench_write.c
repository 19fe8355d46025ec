/* SPDX-License-Identifier: MIT */
/*
 * bench_write.c - the results of a bench as JSON, or as a Markdown table with notes below.
 *
 * The cells of the table are padded, so that its source is readable too. Columns without any value
 * are left out, with the reason in a note.
 */
#include "lib/bench/bench.h"
#include "lib/base/advice.h"
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "lib/dump/words.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define CELL_BYTES   256
#define NAME_COLUMNS 48

/* ---- reasons -------------------------------------------------------------------------------*/

struct why {
	char text[320];
};

/* The reason that count i of a result has no value: one line. */
static void why_of(const struct pmc_bench *bench, const struct pmc_bench_count *count, size_t i,
		   struct why *why)
{
	const struct pmc_planned *event = &bench->plan.events[bench->order[i]];
	struct pmc_tried tried;
	struct pmc_attr attr;
	struct pmc_here here;
	struct pmc_out out;

	if (count->error > 0 && count->error < PMC_REASON_ADOPTED) {
		tried = pmc_plan_tried(event, &attr);
		pmc_here_read(&here, NULL);
		pmc_advice_text(count->error, &tried, &here, why->text, sizeof(why->text));
		return;
	}
	pmc_out_to_mem(&out, why->text, sizeof(why->text));
	pmc_out_str(&out,
		    pmc_reason_text(count->error ? (uint32_t)count->error : PMC_REASON_NEVER_RAN));
}

static bool has_value(const struct pmc_bench_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
}

/* ---- cells ---------------------------------------------------------------------------------*/

/* Four digits and a unit: 81.03 M. */
static void show_in_units(struct pmc_out *out, double value, const char *const units[5])
{
	unsigned unit = 0;

	for (; value >= 999.95 && units[unit + 1]; unit++)
		value /= 1000;
	pmc_out_fixed(out, value, value < 9.9995 ? 3 : value < 99.995 ? 2 : 1);
	pmc_out_str(out, units[unit]);
}

static void show_ns(struct pmc_out *out, double ns)
{
	static const char *const units[] = { " ns", " µs", " ms", " s", NULL };

	show_in_units(out, ns, units);
}

static void show_prefixed(struct pmc_out *out, double value, const char *unit)
{
	static const char *const prefixes[] = { " ", " k", " M", " G", " T", NULL };

	show_in_units(out, value, prefixes);
	pmc_out_str(out, unit);
}

static void show_event(struct pmc_out *out, const struct pmc_bench_count *count)
{
	double value = count->per_op.mean;

	if (!has_value(count)) {
		pmc_out_char(out, '-');
		return;
	}
	if (count->state == PMC_SCALED)
		pmc_out_char(out, '~');
	/* Fixed decimals, so that values of a column compare; small values do not become 0. */
	if (!strcmp(count->unit, "ns"))
		show_ns(out, value);
	else if (value > 0 && value < 0.000001)
		pmc_out_str(out, "<0.000001");
	else if (value >= 99999.5)
		show_prefixed(out, value, "");
	else
		pmc_out_fixed(out, value, value >= 100 ? 1 : value >= 0.1 ? 3 : 6);
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

enum kind { NAME, TIME, MEAN, LEAST, OPS, BYTES, EVENT, IPC, SPEEDUP };

static void show_head(struct pmc_out *out, enum kind kind, const struct pmc_bench_count *count)
{
	static const char *const heads[] = {
		[NAME] = "benchmark", [TIME] = "time/op",     [MEAN] = "mean ± σ",
		[LEAST] = "min",      [OPS] = "ops/s",	      [BYTES] = "bytes/s",
		[IPC] = "IPC",	      [SPEEDUP] = "speed-up",
	};

	if (kind != EVENT) {
		pmc_out_str(out, heads[kind]);
		return;
	}
	show_text(out, count->event, NAME_COLUMNS);
	if (count->core_type[0])
		pmc_outf(out, " (%s)", count->core_type);
	pmc_out_str(out, "/op");
}

static void show_cell(struct pmc_out *out, enum kind kind, size_t event,
		      const struct pmc_bench_result *result)
{
	if (kind == NAME) {
		show_text(out, result->name, NAME_COLUMNS);
	} else if (kind == TIME) {
		show_ns(out, result->time_ns.median);
	} else if (kind == MEAN) {
		show_ns(out, result->time_ns.mean);
		pmc_out_str(out, " ± ");
		show_ns(out, result->time_ns.stddev);
	} else if (kind == LEAST) {
		show_ns(out, result->time_ns.min);
	} else if (kind == OPS) {
		show_prefixed(out, result->ops_per_s, "/s");
	} else if (kind == BYTES && result->bytes_per_op) {
		show_prefixed(out, result->bytes_per_s, "B/s");
	} else if (kind == EVENT) {
		show_event(out, &result->counts[event]);
	} else if (kind == IPC && !isnan(result->ipc)) {
		pmc_out_fixed(out, result->ipc, 2);
	} else if (kind == SPEEDUP && result->baseline) {
		pmc_out_str(out, "baseline");
	} else if (kind == SPEEDUP && result->speedup < 0.01) {
		pmc_out_str(out, "<0.01");
	} else if (kind == SPEEDUP && !isnan(result->speedup)) {
		pmc_out_fixed(out, result->speedup, 2);
	} else {
		pmc_out_char(out, '-');
	}
}

/* ---- the table -----------------------------------------------------------------------------*/

struct table {
	const struct pmc_bench *bench;
	size_t rows; /* the head and one for each result */
	struct column {
		char (*cells)[CELL_BYTES];
		int width;
	} columns[PMC_EVENTS_MAX + 8];
	unsigned n;
	struct pmc_arena arena;
};

static int width_of(const char *text)
{
	return pmc_utf8_columns(text, strlen(text));
}

/* Adds the column unless it has no value. */
static bool add_column(struct table *table, enum kind kind, size_t event)
{
	struct column *column = &table->columns[table->n];
	struct pmc_bench_result result;
	struct pmc_out out;
	bool any = false;

	column->cells = pmc_arena_alloc(&table->arena, table->rows * CELL_BYTES);
	if (!column->cells)
		return true;
	column->width = 0;
	for (size_t r = 0; r < table->rows; r++) {
		pmc_bench_get(table->bench, r ? r - 1 : 0, &result);
		pmc_out_to_mem(&out, column->cells[r], CELL_BYTES);
		if (r)
			show_cell(&out, kind, event, &result);
		else
			show_head(&out, kind, &result.counts[event]);
		any |= r && strcmp(column->cells[r], "-");
		if (width_of(column->cells[r]) > column->width)
			column->width = width_of(column->cells[r]);
	}
	table->n += any;
	return any;
}

static void write_table(const struct table *table, struct pmc_out *out)
{
	for (size_t r = 0; r < table->rows; r++) {
		for (unsigned c = 0; c < table->n; c++) {
			const char *text = table->columns[c].cells[r];
			int pad = table->columns[c].width - width_of(text);

			pmc_out_str(out, "| ");
			pmc_out_pad(out, ' ', c ? pad : 0);
			pmc_out_str(out, text);
			pmc_out_pad(out, ' ', c ? 1 : pad + 1);
		}
		pmc_out_str(out, "|\n");
		for (unsigned c = 0; r == 0 && c < table->n; c++) {
			pmc_out_str(out, c ? "|-" : "|:");
			pmc_out_pad(out, '-', table->columns[c].width);
			pmc_out_char(out, c ? ':' : '-');
		}
		pmc_out_str(out, r ? "" : "|\n");
	}
}

/* One line per reason, with all its events. */
static void note_missing(const struct pmc_bench *bench, const struct pmc_bench_count *counts,
			 const bool *missing, struct pmc_out *out)
{
	bool noted[PMC_EVENTS_MAX] = { false };
	struct why why, other;

	for (size_t i = 0; i < bench->plan.count; i++) {
		if (!missing[i] || noted[i])
			continue;
		why_of(bench, &counts[i], i, &why);
		for (size_t k = i; k < bench->plan.count; k++) {
			if (!missing[k])
				continue;
			why_of(bench, &counts[k], k, &other);
			if (strcmp(other.text, why.text))
				continue;
			noted[k] = true;
			pmc_out_str(out, k == i ? "\nNot counted: " : ", ");
			show_text(out, counts[k].event, 0);
		}
		pmc_outf(out, ": %s.\n", why.text);
	}
}

/* A line with the events of which some result is scaled, or of user mode only. */
static void note(const struct pmc_bench *bench, bool scaled, const char *head, struct pmc_out *out)
{
	struct pmc_bench_result result;
	const char *before = head;

	for (size_t k = 0; k < bench->plan.count; k++) {
		bool applies = false;

		for (size_t i = 0; !pmc_bench_get(bench, i, &result); i++) {
			const struct pmc_bench_count *count = &result.counts[k];

			applies |= has_value(count) && (scaled ? count->state == PMC_SCALED :
								 count->scope == PMC_SCOPE_USER);
		}
		if (!applies)
			continue;
		pmc_out_str(out, before);
		show_text(out, result.counts[k].event, 0);
		before = ", ";
	}
	if (before != head)
		pmc_out_str(out, ".\n");
}

static int write_markdown(const struct pmc_bench *bench, struct pmc_out *out)
{
	struct table table = { .bench = bench, .rows = bench->n + 1 };
	bool missing[PMC_EVENTS_MAX] = { false };
	struct pmc_bench_result first;

	if (pmc_bench_get(bench, 0, &first)) {
		pmc_out_str(out, "Nothing was measured.\n");
		return 0;
	}
	for (enum kind kind = NAME; kind <= SPEEDUP; kind++) {
		if (kind == EVENT)
			for (size_t i = 0; i < first.n_counts; i++)
				missing[i] = !add_column(&table, EVENT, i);
		else if (kind != SPEEDUP || bench->n > 1)
			add_column(&table, kind, 0);
	}
	if (!table.arena.failed) {
		write_table(&table, out);
		note_missing(bench, first.counts, missing, out);
		note(bench, false, "\nIn user mode only: ", out);
		note(bench, true, "\nMarked ~ (multiplexed, scaled): ", out);
	}
	pmc_arena_free(&table.arena);
	return table.arena.failed ? -ENOMEM : 0;
}

/* ---- JSON ----------------------------------------------------------------------------------*/

static void write_stat(struct pmc_json *json, const char *key, const struct pmc_bench_stat *stat)
{
	pmc_json_object(json, key);
	pmc_json_double(json, "median", stat->median);
	pmc_json_double(json, "mean", stat->mean);
	pmc_json_double(json, "stddev", stat->stddev);
	pmc_json_double(json, "min", stat->min);
	pmc_json_double(json, "max", stat->max);
	pmc_json_object_end(json);
}

static void write_count(struct pmc_json *json, const struct pmc_bench *bench,
			const struct pmc_bench_count *count, size_t i)
{
	struct why why;

	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", count->event);
	pmc_json_str(json, "unit", count->unit);
	pmc_json_str(json, "core_type", count->core_type[0] ? count->core_type : NULL);
	pmc_json_str(json, "scope", pmc_scope_name(count->scope));
	pmc_json_str(json, "state", pmc_state_name(count->state));
	pmc_json_u64(json, "samples", count->samples);
	if (has_value(count)) {
		pmc_json_u64(json, "total", count->total);
		write_stat(json, "per_op", &count->per_op);
		pmc_json_null(json, "reason");
	} else {
		why_of(bench, count, i, &why);
		pmc_json_null(json, "total");
		pmc_json_null(json, "per_op");
		pmc_json_str(json, "reason", why.text);
	}
	pmc_json_object_end(json);
}

static void write_result(struct pmc_json *json, const struct pmc_bench *bench,
			 const struct pmc_bench_result *result)
{
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", result->name);
	pmc_json_u64(json, "ops_per_sample", result->ops_per_sample);
	pmc_json_u64(json, "samples", result->samples);
	write_stat(json, "time_ns", &result->time_ns);
	/* NaN becomes null: a time of 0 has no rate. */
	pmc_json_double(json, "ops_per_s", result->ops_per_s > 0 ? result->ops_per_s : NAN);
	if (result->bytes_per_op)
		pmc_json_u64(json, "bytes_per_op", result->bytes_per_op);
	else
		pmc_json_null(json, "bytes_per_op");
	pmc_json_double(json, "bytes_per_s", result->bytes_per_s > 0 ? result->bytes_per_s : NAN);
	pmc_json_double(json, "ipc", result->ipc);
	pmc_json_bool(json, "baseline", result->baseline);
	pmc_json_double(json, "speedup", result->speedup);
	pmc_json_array(json, "events");
	for (size_t i = 0; i < result->n_counts; i++)
		write_count(json, bench, &result->counts[i], i);
	pmc_json_array_end(json);
	pmc_json_object_end(json);
}

static void write_json(const struct pmc_bench *bench, struct pmc_out *out)
{
	struct pmc_bench_result result;
	struct pmc_json json;

	pmc_json_init(&json, out, true);
	pmc_json_object(&json, NULL);
	pmc_json_array(&json, "benchmarks");
	for (size_t i = 0; !pmc_bench_get(bench, i, &result); i++)
		write_result(&json, bench, &result);
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

int pmc_bench_write(const struct pmc_bench *bench, int fd, enum pmc_bench_format format)
{
	struct pmc_out out;
	int kept = errno, error = 0;
	char buf[4096];

	if (!bench)
		return -EINVAL;
	/* struct pmc_out with fd < 0 writes to memory. */
	if (fd < 0)
		return -EBADF;
	pmc_out_to_fd(&out, fd, buf, sizeof(buf));
	if (format == PMC_BENCH_JSON)
		write_json(bench, &out);
	else if (format == PMC_BENCH_MARKDOWN)
		error = write_markdown(bench, &out);
	else
		return -EINVAL;
	if (!error)
		error = pmc_out_flush(&out);
	errno = kept;
	return error;
}
