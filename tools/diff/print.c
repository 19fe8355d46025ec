/* SPDX-License-Identifier: MIT */
/* print.c - the differences as JSON or CSV, and what all forms compare. */
#include "lib/base/csv.h"
#include "lib/base/json.h"
#include "tools/view/report.h"
#include "lib/dump/words.h"
#include "tools/bench/units.h"
#include "tools/diff/diff.h"

#include <math.h>
#include <string.h>

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

static const char *presence(const struct diff_row *row)
{
	return bench_presence(row->there[0], row->there[1]);
}

static diff_number difference(const struct diff_compared *value)
{
	return value->sides[1].value - value->sides[0].value;
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
	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct diff_compared value;

		if (!diff_compare(diff, row, c, &value))
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

/* Whether there is a row, and --top leaves it. */
static bool is_shown(const struct diff *diff, const struct diff_row *row, unsigned before)
{
	return row && (!diff->top || before < diff->top);
}

static void write_json(const struct diff *diff, struct pmc_out *out)
{
	struct pmc_json json;
	unsigned n = 0;

	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	pmc_json_array(&json, "rows");
	for (const struct diff_row *row = diff->rows; is_shown(diff, row, n++); row = row->next)
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
	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct diff_compared value;

		if (!diff_compare(diff, row, c, &value))
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
	unsigned n = 0;

	pmc_out_str(out, "key,side,name,a,b,delta,delta_pct,ci_pct,significant\n");
	for (const struct diff_row *row = diff->rows; is_shown(diff, row, n++); row = row->next)
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
		diff_write_table(diff, out);
}
