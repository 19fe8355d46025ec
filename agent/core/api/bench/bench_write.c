/* SPDX-License-Identifier: MIT */
/* bench_write.c - the results of a bench as JSON, and the reasons for missing values. */
#include "agent/core/base/advice.h"
#include "agent/core/api/bench/bench.h"
#include "agent/core/count/group.h"
#include "agent/core/base/json.h"
#include "agent/core/report/words.h"

#include <errno.h>
#include <math.h>

/* ---- reasons -------------------------------------------------------------------------------*/

const char *bench_why(const struct pmc_bench *bench, const struct pmc_bench_result *result,
		      size_t i, char *text, size_t bytes)
{
	const struct pmc_bench_count *count = &result->counts[i];
	struct pmc_tried tried = { .call = PMC_CALL_OPEN };
	struct pmc_attr attr;
	struct pmc_here here;
	struct pmc_out out;

	if (count->error > 0 && count->error < PMC_REASON_ADOPTED) {
		const struct pmc_planned *event = &bench->plan.events[bench->order[i]];

		pmc_group_attr(&event->event, event->scope, true, &attr);
		tried.attr = &attr.base;
		pmc_here_read(&here, NULL);
		return pmc_advice_text(count->error, &tried, &here, text, bytes);
	}
	pmc_out_to_mem(&out, text, bytes);
	pmc_out_str(&out,
		    pmc_reason_text(count->error ? (uint32_t)count->error : PMC_REASON_NEVER_RAN));
	return text;
}

bool bench_has_value(const struct pmc_bench_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
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
			const struct pmc_bench_result *result, size_t i)
{
	const struct pmc_bench_count *count = &result->counts[i];
	static const char *const scopes[] = { "all", "user", "kernel" };
	char why[BENCH_WHY_BYTES];

	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", count->event);
	pmc_json_str(json, "unit", count->unit);
	pmc_json_str(json, "core_type", count->core_type[0] ? count->core_type : NULL);
	pmc_json_str(json, "scope", scopes[count->scope]);
	pmc_json_str(json, "state", pmc_state_name(count->state));
	if (bench_has_value(count)) {
		pmc_json_u64(json, "samples", count->samples);
		pmc_json_u64(json, "total", count->total);
		write_stat(json, "per_op", &count->per_op);
		pmc_json_null(json, "reason");
	} else {
		pmc_json_u64(json, "samples", 0);
		pmc_json_null(json, "total");
		pmc_json_null(json, "per_op");
		pmc_json_str(json, "reason", bench_why(bench, result, i, why, sizeof(why)));
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
		write_count(json, bench, result, i);
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
	int kept = errno, error;
	char buf[4096];

	/* struct pmc_out with fd < 0 writes to memory. */
	if (fd < 0)
		return -EBADF;
	pmc_out_to_fd(&out, fd, buf, sizeof(buf));
	if (format == PMC_BENCH_JSON)
		write_json(bench, &out);
	else if (format == PMC_BENCH_MARKDOWN)
		bench_markdown(bench, &out);
	else
		return -EINVAL;
	error = pmc_out_flush(&out);
	errno = kept;
	return error;
}
