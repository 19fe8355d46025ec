/* SPDX-License-Identifier: MIT */
/* json.c - the differences as JSON, whose rows have their measurements in a list. */
#include "lib/base/json.h"
#include "tools/diff/diff.h"

#include <math.h>

bool diff_whole(diff_number value, uint64_t *size)
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

	if (!known || !diff_whole(value, &size) || (value < 0 && size > INT64_MAX))
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
	pmc_json_str(json, "side", diff_presence(row));
	pmc_json_array(json, "events");
	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct diff_compared value;

		if (!diff_compare(diff, row, c, &value))
			continue;
		pmc_json_object(json, NULL);
		pmc_json_str(json, "name", diff->columns[c].name);
		json_number(json, "a", value.sides[0].summary.n, value.sides[0].value);
		json_number(json, "b", value.sides[1].summary.n, value.sides[1].value);
		json_number(json, "delta", value.comparable, diff_change(&value));
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

void diff_write_json(const struct diff *diff, struct pmc_out *out)
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
