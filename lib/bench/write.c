/* SPDX-License-Identifier: MIT */
/*
 * write.c - results of a bench as Markdown and JSON.
 *
 * The cells of the table are padded, so that its source is readable too. Columns without any value
 * are left out, with the reason in a note.
 */
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/proc.h"
#include "lib/base/utf8.h"
#include "lib/bench/bench.h"
#include "lib/dump/words.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CELL_BYTES   256
#define NAME_COLUMNS 48

enum { WHY_BYTES = 320 };

/* Why count i of a result has no value: one line. */
static void why_of(const struct pmc_bench *bench, const struct pmc_bench_count *counts, size_t i,
		   char why[WHY_BYTES])
{
	const struct pmc_planned *event = &bench->plan.events[bench->order[i]];

	pmc_plan_why(event, counts[i].error ? counts[i].error : PMC_REASON_NEVER_RAN, why,
		     WHY_BYTES);
}

static bool has_value(const struct pmc_bench_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
}

static const char *const times[] = { "ns", "µs", "ms", "s", NULL };
static const char *const prefixes[] = { "", "k", "M", "G", "T", NULL };

/* Four digits and a unit: 81.03 MB/s. */
static void show(struct pmc_out *out, double value, const char *const *units, const char *unit)
{
	for (; value >= 999.95 && units[1]; units++)
		value /= 1000;
	pmc_out_fixed(out, value, value < 9.9995 ? 3 : value < 99.995 ? 2 : 1);
	pmc_outf(out, " %s%s", *units, unit);
}

static void show_spread(struct pmc_out *out, double value, double spread)
{
	show(out, value, times, " ± ");
	show(out, spread, times, "");
}

static void show_ratio(struct pmc_out *out, double ratio)
{
	if (ratio < 0.001)
		pmc_out_str(out, "<0.001");
	else
		pmc_out_fixed(out, ratio, ratio < 0.0995 ? 3 : 2);
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
		show(out, value, times, "");
	else if (value > 0 && value < 0.000001)
		pmc_out_str(out, "<0.000001");
	else if (value >= 99999.5)
		show(out, value, prefixes, "");
	else
		pmc_out_fixed(out, value, value >= 100 ? 1 : value >= 0.1 ? 3 : 6);
}

/* Text with | escaped and control characters replaced. */
static void show_text(struct pmc_out *out, const char *text, int columns)
{
	struct pmc_out to = PMC_OUT_MEM(CELL_BYTES);

	pmc_utf8_safe(&to, text, strlen(text), columns);
	for (const char *c = to.buf; *c; c++) {
		if (*c == '|')
			pmc_out_char(out, '\\');
		pmc_out_char(out, *c);
	}
}

static void show_value(struct pmc_out *out, const struct pmc_bench_result *result)
{
	show_text(out, result->parameter, NAME_COLUMNS);
	pmc_outf(out, "=%lld", (long long)result->value);
}

enum kind { NAME, VALUE, THREADS, TIME, MEAN, LEAST, OUTLIERS, OPS, BYTES, EVENT, IPC, SPEEDUP };

static void show_cell(struct pmc_out *out, enum kind kind, const struct pmc_bench_count *count,
		      const struct pmc_bench_result *result)
{
	if (kind == NAME) {
		show_text(out, result->name, NAME_COLUMNS);
	} else if (kind == VALUE && result->parameter) {
		show_value(out, result);
	} else if (kind == THREADS) {
		pmc_outf(out, "%u", result->threads);
	} else if (kind == TIME) {
		show_spread(out, result->time_ns.median, result->mad_ns);
	} else if (kind == MEAN) {
		show_spread(out, result->time_ns.mean, result->time_ns.stddev);
	} else if (kind == LEAST) {
		show(out, result->time_ns.min, times, "");
	} else if (kind == OUTLIERS) {
		pmc_outf(out, "%llu/%llu", (unsigned long long)result->outliers,
			 (unsigned long long)result->samples);
	} else if (kind == OPS) {
		show(out, result->ops_per_s, prefixes, "/s");
	} else if (kind == BYTES && result->bytes_per_op) {
		show(out, result->bytes_per_s, prefixes, "B/s");
	} else if (kind == EVENT) {
		show_event(out, count);
	} else if (kind == IPC && !isnan(result->ipc)) {
		pmc_out_fixed(out, result->ipc, 2);
	} else if (kind == SPEEDUP && result->baseline) {
		pmc_out_str(out, "baseline");
	} else if (kind == SPEEDUP && !isnan(result->speedup)) {
		show_ratio(out, result->speedup);
		pmc_out_str(out, " (");
		show_ratio(out, result->speedup_low);
		pmc_out_str(out, "–");
		show_ratio(out, result->speedup_high);
		pmc_out_str(out, result->significant ? ")" : "), not significant");
	} else {
		pmc_out_char(out, '-');
	}
}

/* ---- the table -----------------------------------------------------------------------------*/

struct column {
	enum kind kind;
	size_t event;
	int width;
};

/* The head (row 0) or the cell of a result. Returns its width. */
static int put_cell(const struct pmc_bench *bench, const struct column *column, size_t row,
		    struct pmc_out *out)
{
	static const char *const heads[] = {
		[NAME] = "benchmark",	 [VALUE] = "parameter",
		[THREADS] = "threads",	 [TIME] = "time/op ± MAD",
		[MEAN] = "mean ± σ",	 [LEAST] = "min",
		[OUTLIERS] = "outliers", [OPS] = "ops/s",
		[BYTES] = "bytes/s",	 [IPC] = "IPC",
		[SPEEDUP] = "speed-up",
	};
	struct pmc_bench_result result;
	const struct pmc_bench_count *count;

	pmc_bench_get(bench, row ? row - 1 : 0, &result);
	count = &result.counts[column->event];
	if (row)
		show_cell(out, column->kind, count, &result);
	else if (column->kind != EVENT)
		pmc_out_str(out, heads[column->kind]);
	else
		show_text(out, count->event, NAME_COLUMNS);
	if (!row && column->kind == EVENT && count->core_type[0])
		pmc_outf(out, " (%s)", count->core_type);
	if (!row && column->kind == EVENT)
		pmc_out_str(out, "/op");
	return pmc_utf8_columns(out->buf, out->len);
}

/* Sets the width of the column. Whether it has a value. */
static bool has_values(const struct pmc_bench *bench, struct column *column)
{
	bool any = false;

	for (size_t r = 0; r <= bench->n; r++) {
		struct pmc_out cell = PMC_OUT_MEM(CELL_BYTES);
		int width = put_cell(bench, column, r, &cell);

		any |= r && strcmp(cell.buf, column->kind == THREADS ? "1" : "-");
		column->width = width > column->width ? width : column->width;
	}
	return any;
}

static void write_table(const struct pmc_bench *bench, const struct column *columns, unsigned n,
			struct pmc_out *out)
{
	for (size_t r = 0; r <= bench->n; r++) {
		for (unsigned c = 0; c < n; c++) {
			struct pmc_out cell = PMC_OUT_MEM(CELL_BYTES);
			int pad = columns[c].width - put_cell(bench, &columns[c], r, &cell);

			pmc_out_str(out, "| ");
			pmc_out_pad(out, ' ', c ? pad : 0);
			pmc_out_str(out, cell.buf);
			pmc_out_pad(out, ' ', c ? 1 : pad + 1);
		}
		pmc_out_str(out, "|\n");
		for (unsigned c = 0; r == 0 && c < n; c++) {
			pmc_out_str(out, c ? "|-" : "|:");
			pmc_out_pad(out, '-', columns[c].width);
			pmc_out_char(out, c ? ':' : '-');
		}
		pmc_out_str(out, r ? "" : "|\n");
	}
}

/* One line per reason, with all its events. */
static void note_missing(const struct pmc_bench *bench, const struct pmc_bench_count *counts,
			 bool *missing, struct pmc_out *out)
{
	char why[WHY_BYTES], other[WHY_BYTES];

	for (size_t i = 0; i < bench->plan.count; i++) {
		if (!missing[i])
			continue;
		why_of(bench, counts, i, why);
		for (size_t k = i; k < bench->plan.count; k++) {
			why_of(bench, counts, k, other);
			if (!missing[k] || strcmp(other, why))
				continue;
			missing[k] = false;
			pmc_out_str(out, k == i ? "\nNot counted: " : ", ");
			show_text(out, counts[k].event, 0);
		}
		pmc_outf(out, ": %s.\n", why);
	}
}

/* A line with the events that were scaled in some result, or counted in user mode only. */
static void note(const struct pmc_bench *bench, bool scaled, const char *head, struct pmc_out *out)
{
	struct pmc_bench_result result;
	bool begun = false;

	for (size_t k = 0; k < bench->plan.count; k++) {
		bool applies = false;

		for (size_t i = 0; !pmc_bench_get(bench, i, &result); i++)
			applies |= scaled ? result.counts[k].state == PMC_SCALED :
					    has_value(&result.counts[k]) &&
						    result.counts[k].scope == PMC_SCOPE_USER;
		if (!applies)
			continue;
		pmc_out_str(out, begun ? ", " : head);
		show_text(out, result.counts[k].event, 0);
		begun = true;
	}
	pmc_out_str(out, begun ? ".\n" : "");
}

static void note_unstable(const struct pmc_bench *bench, struct pmc_out *out)
{
	struct pmc_bench_result result;
	bool begun = false;

	for (size_t i = 0; !pmc_bench_get(bench, i, &result); i++) {
		double share;
		const char *figure = bench_unstable(&result, &share);

		if (!figure)
			continue;
		pmc_out_str(out, begun ? ", " : "\nUnstable machine, measure again: ");
		show_text(out, result.name, 0);
		if (result.parameter) {
			pmc_out_char(out, ' ');
			show_value(out, &result);
		}
		pmc_outf(out, " (%s ", figure);
		pmc_out_fixed(out, share * 100, 1);
		pmc_out_str(out, " %)");
		begun = true;
	}
	pmc_out_str(out, begun ? ".\n" : "");
}

static void write_markdown(const struct pmc_bench *bench, struct pmc_out *out)
{
	struct column columns[PMC_EVENTS_MAX + SPEEDUP + 1];
	bool missing[PMC_EVENTS_MAX] = { false };
	struct pmc_bench_result first;
	unsigned n = 0;

	if (pmc_bench_get(bench, 0, &first)) {
		pmc_out_str(out, "Nothing was measured.\n");
		return;
	}
	for (enum kind kind = NAME; kind <= SPEEDUP; kind++)
		for (size_t i = 0; i < (kind == EVENT ? first.n_counts : 1); i++) {
			bool any;

			columns[n] = (struct column){ .kind = kind, .event = i };
			any = (kind != SPEEDUP || bench->n > 1) && has_values(bench, &columns[n]);
			n += any;
			missing[i] |= kind == EVENT && !any;
		}
	write_table(bench, columns, n, out);
	note_missing(bench, first.counts, missing, out);
	note(bench, false, "\nIn user mode only: ", out);
	note(bench, true, "\nMarked ~ (multiplexed, scaled): ", out);
	note_unstable(bench, out);
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

static void write_samples(struct pmc_json *json, const char *key, const double *values, uint64_t n)
{
	pmc_json_array(json, key);
	for (uint64_t k = 0; k < n; k++)
		pmc_json_double(json, NULL, values[k]);
	pmc_json_array_end(json);
}

static void write_count(struct pmc_json *json, const struct pmc_bench *bench,
			const struct pmc_bench_result *result, size_t i)
{
	const struct pmc_bench_count *count = &result->counts[i];
	char why[WHY_BYTES];

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", count->event);
	pmc_json_str(json, "unit", count->unit);
	pmc_json_str(json, "core_type", count->core_type[0] ? count->core_type : NULL);
	pmc_json_str(json, "scope", pmc_scope_name(count->scope));
	pmc_json_str(json, "state", pmc_state_name(count->state));
	pmc_json_u64(json, "samples", count->samples);
	pmc_json_known(json, "total", has_value(count), count->total);
	if (has_value(count)) {
		write_stat(json, "per_op", &count->per_op);
		write_samples(json, "samples_per_op", count->samples_per_op, result->samples);
	} else {
		pmc_json_null(json, "per_op");
		pmc_json_null(json, "samples_per_op");
	}
	why_of(bench, result->counts, i, why);
	pmc_json_str(json, "reason", has_value(count) ? NULL : why);
	pmc_json_object_end(json);
}

static void write_result(struct pmc_json *json, const struct pmc_bench *bench,
			 const struct pmc_bench_result *result)
{
	double share;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", result->name);
	pmc_json_str(json, "parameter", result->parameter);
	if (result->parameter)
		pmc_json_i64(json, "value", result->value);
	else
		pmc_json_null(json, "value");
	pmc_json_u64(json, "threads", result->threads);
	pmc_json_u64(json, "ops_per_sample", result->ops_per_sample);
	pmc_json_u64(json, "samples", result->samples);
	write_stat(json, "time_ns", &result->time_ns);
	pmc_json_double(json, "mad_ns", result->mad_ns);
	pmc_json_u64(json, "outliers", result->outliers);
	pmc_json_double(json, "drift", result->drift);
	pmc_json_str(json, "unstable", bench_unstable(result, &share));
	write_samples(json, "samples_ns", result->samples_ns, result->samples);
	/* NaN becomes null: a time of 0 has no rate. */
	pmc_json_double(json, "ops_per_s", result->ops_per_s > 0 ? result->ops_per_s : NAN);
	pmc_json_known(json, "bytes_per_op", result->bytes_per_op, result->bytes_per_op);
	pmc_json_double(json, "bytes_per_s", result->bytes_per_s > 0 ? result->bytes_per_s : NAN);
	pmc_json_double(json, "ipc", result->ipc);
	pmc_json_bool(json, "baseline", result->baseline);
	pmc_json_double(json, "speedup", result->speedup);
	pmc_json_double(json, "speedup_low", result->speedup_low);
	pmc_json_double(json, "speedup_high", result->speedup_high);
	pmc_json_bool(json, "significant", result->significant);
	pmc_json_array(json, "events");
	for (size_t i = 0; i < result->n_counts; i++)
		write_count(json, bench, result, i);
	pmc_json_array_end(json);
	pmc_json_object_end(json);
}

static void write_options(struct pmc_json *json, const struct pmc_bench_options *options)
{
	pmc_json_object(json, "options");
	pmc_json_str(json, "events", options->events);
	pmc_json_u64(json, "min_samples", options->min_samples);
	pmc_json_u64(json, "max_samples", options->max_samples);
	pmc_json_u64(json, "warmup_ns", options->warmup_ns);
	pmc_json_u64(json, "sample_ns", options->sample_ns);
	pmc_json_u64(json, "total_ns", options->total_ns);
	pmc_json_object_end(json);
}

static void write_host(struct pmc_json *json)
{
	struct utsname name = { .sysname = "" };
	char text[4096], *cpu, governor[64];

	uname(&name);
	/* The first CPU is in the part of the file that is read. */
	pmc_file_read(text, sizeof(text), "/proc/cpuinfo");
	cpu = (char *)pmc_proc_field(text, "model name");
	pmc_file_read(governor, sizeof(governor),
		      "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	pmc_json_object(json, "host");
	pmc_json_str(json, "name", name.nodename);
	pmc_json_strn(json, "cpu", cpu, cpu ? strcspn(cpu, "\n") : 0);
	pmc_json_u64(json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	pmc_json_str(json, "kernel", name.release);
	pmc_json_str(json, "machine", name.machine);
	pmc_json_str(json, "governor", *governor ? governor : NULL);
	pmc_json_str(json, "pmcagent", PMC_VERSION);
	pmc_json_object_end(json);
}

static void write_json(const struct pmc_bench *bench, struct pmc_out *out)
{
	struct pmc_bench_result result;
	struct pmc_json json;

	pmc_json_init(&json, out);
	pmc_json_object(&json, NULL);
	write_options(&json, &bench->options);
	write_host(&json);
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
	int kept = errno, error;
	char buf[4096];

	if (!bench || (format != PMC_BENCH_JSON && format != PMC_BENCH_MARKDOWN))
		return -EINVAL;
	/* struct pmc_out with fd < 0 writes to memory. */
	if (fd < 0)
		return -EBADF;
	pmc_out_to_fd(&out, fd, buf, sizeof(buf));
	if (format == PMC_BENCH_JSON)
		write_json(bench, &out);
	else
		write_markdown(bench, &out);
	error = pmc_out_flush(&out);
	errno = kept;
	return error;
}
