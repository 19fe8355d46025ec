/* SPDX-License-Identifier: MIT */
/* test_bench.c - the benchmark harness on work with known counts: batches, results, tables,
 * refusals. */
#include "lib/bench/bench.h"
#include "tests/unit/touch_pages.h"
#include "tests/unit/unit.h"

#include <pmc/bench.h>
#include <pmc/counter.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* ---- work ----------------------------------------------------------------------------------*/

struct calls {
	uint64_t n, last, total;
	bool shrank;
};

static void spin(void *arg, uint64_t ops)
{
	struct calls *calls = arg;
	uint64_t x = 1;

	calls->n++;
	calls->total += ops;
	calls->shrank |= ops < calls->last;
	calls->last = ops;
	while (ops--) {
		x = x * 3 + 1;
		PMC_DO_NOT_OPTIMIZE(x);
	}
}

static size_t page_bytes;

/* Exactly 4 page faults per operation. */
static void fault(void *arg, uint64_t ops)
{
	while (ops--)
		touch_pages(4, page_bytes);
}

static void nothing(void *arg, uint64_t ops)
{
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The first call is slow, as if another process had the CPU. */
static void hiccup(void *arg, uint64_t ops)
{
	struct calls *calls = arg;
	uint64_t until = now() + 2 * MS;

	while (calls->n == 0 && now() < until)
		;
	spin(arg, ops);
}

/* ---- the bench -----------------------------------------------------------------------------*/

static struct pmc_bench *open_bench(const char *events)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench *bench;

	options.events = events;
	options.warmup_ns = MS;
	options.total_ns = 20 * MS;
	assert_int_equal(pmc_bench_open(&bench, &options, NULL), 0);
	return bench;
}

/* The output of the benchmark; the caller frees it. */
static char *written(const struct pmc_bench *bench, enum pmc_bench_format format)
{
	char *text = calloc(1, 65536);
	FILE *file = tmpfile();

	assert_non_null(text);
	assert_non_null(file);
	assert_int_equal(pmc_bench_write(bench, fileno(file), format), 0);
	rewind(file);
	assert_true(fread(text, 1, 65535, file) > 0);
	fclose(file);
	return text;
}

static void a_batch_grows_and_stays(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock");
	struct pmc_bench_result result;
	struct calls calls = { 0 };
	unsigned fds = open_fds();

	errno = 99;
	assert_int_equal(pmc_bench_run(bench, "spin", spin, &calls, 0), 0);
	assert_int_equal(errno, 99);
	assert_int_equal(open_fds(), fds);
	assert_int_equal(pmc_bench_n_results(bench), 1);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_int_equal(pmc_bench_get(bench, 1, &result), -ENOENT);
	assert_string_equal(result.name, "spin");
	assert_false(calls.shrank);
	assert_int_equal(result.ops_per_sample, calls.last);
	assert_true(result.samples >= 10 && result.samples < calls.n);
	assert_true(result.samples * result.ops_per_sample < calls.total);
	assert_true(result.ops_per_sample > 1000);
	/* The batch took 1 ms when its size was set, maybe with a slow call: samples may be
	 * shorter. */
	assert_true(result.time_ns.median * (double)result.ops_per_sample > 0.1e6);
	assert_true(result.time_ns.min > 0 && result.time_ns.min <= result.time_ns.median);
	assert_true(result.time_ns.median <= result.time_ns.max);
	assert_true(result.time_ns.mean >= result.time_ns.min);
	assert_true(result.time_ns.mean <= result.time_ns.max);
	assert_true(result.time_ns.stddev >= 0);
	assert_true(fabs(result.ops_per_s * result.time_ns.median - 1e9) < 1);
	assert_true(result.bytes_per_s == 0);
	assert_true(isnan(result.ipc));
	assert_int_equal(result.n_counts, 1);
	assert_int_equal(result.counts[0].state, PMC_COUNTED);
	assert_int_equal(result.counts[0].samples, result.samples);
	assert_string_equal(result.counts[0].unit, "ns");
	/* CPU time does not exceed wall time, except for the resolution of the clocks. */
	assert_true(result.counts[0].per_op.mean <= result.time_ns.mean * 1.01);
	assert_true(result.counts[0].per_op.mean > 0);
	pmc_bench_close(bench);
}

static void one_slow_call_does_not_settle_the_batch(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock");
	struct pmc_bench_result result;
	struct calls calls = { 0 };

	assert_int_equal(pmc_bench_run(bench, "hiccup", hiccup, &calls, 0), 0);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_true(result.ops_per_sample > 1000);
	pmc_bench_close(bench);
}

/* Counts exclude the harness's own work. */
static void counts_are_of_the_work_alone(void **state)
{
	struct pmc_bench *bench = open_bench("page-faults,task-clock,minor-faults:u");
	const struct pmc_bench_count *faults;
	struct pmc_bench_result result;

	assert_int_equal(pmc_bench_run(bench, "fault", fault, NULL, 4096), 0);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_int_equal(result.n_counts, 3);
	for (int i = 0; i < 3; i += 2) {
		faults = &result.counts[i];
		assert_int_equal(faults->state, PMC_COUNTED);
		assert_int_equal(faults->error, 0);
		assert_true(faults->per_op.median == 4);
		assert_true(faults->per_op.min == 4);
		/* A reclaimed page, or a sanitizer, may add a few faults. */
		assert_true(faults->per_op.mean >= 4 && faults->per_op.mean < 4.5);
		assert_true(faults->total >= 4 * result.samples * result.ops_per_sample);
		assert_true(faults->total < 4.5 * (double)(result.samples * result.ops_per_sample));
	}
	assert_string_equal(result.counts[0].event, "page-faults");
	assert_string_equal(result.counts[1].event, "task-clock");
	assert_int_equal(result.counts[2].scope, PMC_SCOPE_USER);
	assert_true(fabs(result.bytes_per_s / result.ops_per_s - 4096) < 1e-6);
	pmc_bench_close(bench);
}

static void work_that_takes_no_time_is_refused(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock");

	assert_int_equal(pmc_bench_run(bench, "nothing", nothing, NULL, 0), -ERANGE);
	assert_int_equal(pmc_bench_run(bench, NULL, nothing, NULL, 0), -EINVAL);
	assert_int_equal(pmc_bench_run(bench, "none", NULL, NULL, 0), -EINVAL);
	assert_int_equal(pmc_bench_n_results(bench), 0);
	assert_int_equal(pmc_bench_set_baseline(bench, 0), -ENOENT);
	pmc_bench_close(bench);
	pmc_bench_close(NULL);
}

static void options_out_of_range(void **state)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_failure failure;
	struct pmc_bench *bench;

	options.events = "task-clokc";
	assert_int_equal(pmc_bench_open(&bench, &options, &failure), -ENOENT);
	assert_null(bench);
	assert_int_equal(failure.error, ENOENT);
	assert_non_null(strstr(failure.advice, "task-clock"));
	options.events = "task-clock,";
	assert_int_equal(pmc_bench_open(&bench, &options, NULL), -EINVAL);
	options = pmc_bench_options_init();
	options.min_samples = 1;
	assert_int_equal(pmc_bench_open(&bench, &options, &failure), -EINVAL);
	assert_true(failure.advice[0] != 0);
	options.min_samples = 100;
	options.max_samples = 99;
	assert_int_equal(pmc_bench_open(&bench, &options, NULL), -EINVAL);
	options.max_samples = 1000001;
	assert_int_equal(pmc_bench_open(&bench, &options, NULL), -EINVAL);
	memset(&options, 0, sizeof(options));
	assert_int_equal(pmc_bench_open(&bench, &options, NULL), -EINVAL);
}

static void samples_keep_to_their_limits(void **state)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench_result result;
	struct calls calls = { 0 };
	struct pmc_bench *bench;

	options.events = "task-clock";
	options.min_samples = options.max_samples = 7;
	options.warmup_ns = options.total_ns = 1;
	options.sample_ns = MS / 10;
	assert_int_equal(pmc_bench_open(&bench, &options, NULL), 0);
	assert_int_equal(pmc_bench_run(bench, "spin", spin, &calls, 0), 0);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_int_equal(result.samples, 7);
	pmc_bench_close(bench);
}

/* A run without free descriptors reports times, and names the missing counters. */
static void counters_that_fail_later(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock,page-faults");
	struct pmc_bench_result result;
	struct calls calls = { 0 };
	struct rlimit was, low;
	int next = dup(0), error;
	char *text;

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low = was;
	low.rlim_cur = (rlim_t)next + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	error = pmc_bench_run(bench, "spin", spin, &calls, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(error, 0);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_true(result.time_ns.median > 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(result.counts[i].state, PMC_NOT_COUNTED);
		assert_int_equal(result.counts[i].error, EMFILE);
		assert_int_equal(result.counts[i].samples, 0);
	}
	text = written(bench, PMC_BENCH_MARKDOWN);
	assert_non_null(strstr(text, "Not counted: task-clock, page-faults: "));
	assert_null(strstr(text, "page-faults/op"));
	free(text);
	pmc_bench_close(bench);
}

static void baseline_and_speed_up(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock");
	struct pmc_bench_result first, second;
	struct calls calls = { 0 };

	assert_int_equal(pmc_bench_run(bench, "spin", spin, &calls, 0), 0);
	assert_int_equal(pmc_bench_run(bench, "fault", fault, NULL, 0), 0);
	assert_int_equal(pmc_bench_get(bench, 0, &first), 0);
	assert_int_equal(pmc_bench_get(bench, 1, &second), 0);
	assert_true(first.baseline && !second.baseline);
	assert_true(first.speedup == 1);
	assert_true(first.speedup_low < 1 && first.speedup_high > 1 && !first.significant);
	assert_true(second.speedup < 1 && second.speedup_high < 1 && second.significant);
	assert_int_equal(pmc_bench_set_baseline(bench, 1), 0);
	assert_int_equal(pmc_bench_set_baseline(bench, 2), -ENOENT);
	assert_int_equal(pmc_bench_get(bench, 0, &first), 0);
	assert_false(first.baseline);
	assert_true(fabs(first.speedup * second.speedup - 1) < 1e-9);
	assert_true(first.speedup_low > 1 && first.significant);
	pmc_bench_close(bench);
}

struct nest {
	struct pmc_bench *bench;
	bool done;
};

static void run_another(void *arg, uint64_t ops)
{
	struct nest *nest = arg;
	struct calls calls = { 0 };

	if (!nest->done)
		assert_int_equal(pmc_bench_run(nest->bench, "inner", spin, &calls, 0), 0);
	nest->done = true;
	spin(&calls, ops);
}

static void a_benchmark_in_another(void **state)
{
	struct nest nest = { .bench = open_bench("task-clock") };
	struct pmc_bench_result first, second;

	assert_int_equal(pmc_bench_run(nest.bench, "outer", run_another, &nest, 0), 0);
	assert_int_equal(pmc_bench_n_results(nest.bench), 2);
	assert_int_equal(pmc_bench_get(nest.bench, 0, &first), 0);
	assert_int_equal(pmc_bench_get(nest.bench, 1, &second), 0);
	assert_string_equal(first.name, "inner");
	assert_string_equal(second.name, "outer");
	assert_true(first.time_ns.median > 0 && second.time_ns.median > 0);
	pmc_bench_close(nest.bench);
}

/* ---- the views -----------------------------------------------------------------------------*/

static unsigned bars(const char *line, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
	return n;
}

static void a_table_of_equal_rows(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock,page-faults");
	struct calls calls = { 0 };
	struct pmc_bench_result result;
	unsigned rows = 0, columns;
	char *text, *line, faults[32];

	text = written(bench, PMC_BENCH_MARKDOWN);
	assert_string_equal(text, "Nothing was measured.\n");
	free(text);
	assert_int_equal(pmc_bench_run(bench, "a|b\n\033[31m", spin, &calls, 0), 0);
	assert_int_equal(pmc_bench_run(bench,
				       "Größe, a name that is much longer than any column "
				       "of a table should ever be",
				       fault, NULL, 16384),
			 0);
	text = written(bench, PMC_BENCH_MARKDOWN);
	columns = bars(text, strcspn(text, "\n"));
	/* benchmark, time, mean, min, outliers, ops, bytes, two events, speed-up */
	assert_int_equal(columns, 11);
	for (line = text; *line == '|'; line += strcspn(line, "\n") + 1, rows++)
		assert_int_equal(bars(line, strcspn(line, "\n")), columns);
	assert_int_equal(rows, 4);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "| a\\|b"));
	assert_non_null(strstr(text, "page-faults/op"));
	/* 4 a call, and what the kernel or a sanitizer adds now and then. */
	assert_int_equal(pmc_bench_get(bench, 1, &result), 0);
	snprintf(faults, sizeof(faults), " %.3f |", result.counts[1].per_op.mean);
	assert_non_null(strstr(text, faults));
	assert_non_null(strstr(text, "baseline"));
	/* A speed-up below 0.01 is not rounded to 0.00. */
	assert_null(strstr(text, " 0.00 |"));
	assert_null(strstr(text, "IPC"));
	assert_null(strstr(text, "nan"));
	free(text);
	pmc_bench_close(bench);
}

/* An event that no kernel supports, with or without a PMU: its column is omitted, with a note. */
static void what_cannot_be_counted_is_left_out(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock,software/config=99/,page-faults");
	struct pmc_bench_result result;
	struct calls calls = { 0 };
	json_t *json, *event;
	char *text;

	assert_int_equal(pmc_bench_run(bench, "spin", spin, &calls, 0), 0);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_int_equal(result.counts[2].state, PMC_COUNTED);
	text = written(bench, PMC_BENCH_MARKDOWN);
	assert_null(strstr(text, "software/config=99//op"));
	assert_non_null(strstr(text, "\nNot counted: software/config=99/: "));
	free(text);
	text = written(bench, PMC_BENCH_JSON);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	event = json_array_get(
		json_object_get(json_array_get(json_object_get(json, "benchmarks"), 0), "events"),
		1);
	assert_string_equal(json_string_value(json_object_get(event, "name")),
			    "software/config=99/");
	assert_true(json_is_null(json_object_get(event, "total")));
	assert_true(json_is_null(json_object_get(event, "per_op")));
	assert_true(json_string_length(json_object_get(event, "reason")) > 0);
	json_decref(json);
	free(text);
	pmc_bench_close(bench);
}

static void json_has_what_the_results_have(void **state)
{
	struct pmc_bench *bench = open_bench("page-faults");
	struct pmc_bench_result result;
	json_t *json, *one, *event, *per_op, *samples, *host;
	char *text;

	assert_int_equal(pmc_bench_run(bench, "f \"1\"", fault, NULL, 64), 0);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	text = written(bench, PMC_BENCH_JSON);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	one = json_array_get(json_object_get(json, "benchmarks"), 0);
	assert_string_equal(json_string_value(json_object_get(one, "name")), "f \"1\"");
	assert_int_equal(json_integer_value(json_object_get(one, "samples")), result.samples);
	assert_int_equal(json_integer_value(json_object_get(one, "ops_per_sample")),
			 result.ops_per_sample);
	assert_int_equal(json_integer_value(json_object_get(one, "bytes_per_op")), 64);
	assert_true(json_is_null(json_object_get(one, "ipc")));
	assert_true(json_is_true(json_object_get(one, "baseline")));
	assert_true(json_number_value(json_object_get(one, "speedup")) == 1);
	assert_true(
		fabs(json_number_value(json_object_get(json_object_get(one, "time_ns"), "median")) -
		     result.time_ns.median) < 1e-5);
	samples = json_object_get(one, "samples_ns");
	assert_int_equal(json_array_size(samples), result.samples);
	for (size_t i = 0; i < result.samples; i++)
		assert_true(fabs(json_number_value(json_array_get(samples, i)) -
				 result.samples_ns[i]) < 1e-5);
	assert_true(json_number_value(json_object_get(one, "speedup_low")) < 1);
	assert_true(json_is_false(json_object_get(one, "significant")));
	assert_true(json_is_null(json_object_get(one, "parameter")));
	assert_true(json_is_null(json_object_get(one, "value")));
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "options"), "events")),
		"page-faults");
	host = json_object_get(json, "host");
	assert_int_equal(json_integer_value(json_object_get(host, "cpus")),
			 sysconf(_SC_NPROCESSORS_ONLN));
	assert_string_equal(json_string_value(json_object_get(host, "pmcagent")), PMC_VERSION);
	event = json_array_get(json_object_get(one, "events"), 0);
	samples = json_object_get(event, "samples_per_op");
	assert_int_equal(json_array_size(samples), result.samples);
	assert_true(json_number_value(json_array_get(samples, 0)) >= 4);
	/* Median: a fault of the system's own, as TSan's shadow memory has them, moves the mean. */
	per_op = json_object_get(event, "per_op");
	assert_true(json_number_value(json_object_get(per_op, "median")) == 4);
	assert_true(fabs(json_number_value(json_object_get(per_op, "mean")) -
			 result.counts[0].per_op.mean) < 1e-5);
	assert_string_equal(json_string_value(json_object_get(event, "state")), "counted");
	assert_true(json_is_null(json_object_get(event, "reason")));
	json_decref(json);
	free(text);
	pmc_bench_close(bench);
}

/* ---- cases ---------------------------------------------------------------------------------*/

struct seen {
	uint64_t setups, runs, teardowns;
	bool wrong;
	pthread_barrier_t all;
	unsigned threads[4];
};

static void before(void *arg, const struct pmc_bench_sample *sample)
{
	struct seen *seen = arg;

	seen->wrong |= seen->setups++ != seen->teardowns || sample->thread || !sample->ops;
	touch_pages(100, page_bytes);
}

static void after(void *arg, const struct pmc_bench_sample *sample)
{
	struct seen *seen = arg;

	seen->wrong |= ++seen->teardowns != seen->runs || seen->runs != seen->setups;
	touch_pages(100, page_bytes);
}

/* So many faults as the parameter says. */
static void touch(void *arg, const struct pmc_bench_sample *sample)
{
	struct seen *seen = arg;

	seen->wrong |= ++seen->runs != seen->setups || sample->threads != 1;
	for (uint64_t i = 0; i < sample->ops; i++)
		touch_pages((size_t)sample->value, page_bytes);
}

static void a_parameter_with_setup_and_teardown(void **state)
{
	static const int64_t sizes[] = { 1, 8 };
	struct pmc_bench *bench = open_bench("page-faults");
	struct pmc_bench_case what = PMC_BENCH_CASE_INIT;
	struct pmc_bench_result result;
	struct seen seen = { 0 };
	char name[] = "touch", parameter[] = "pages";
	json_t *json, *one;
	char *text;

	what.run = touch;
	what.setup = before;
	what.teardown = after;
	what.arg = &seen;
	what.values = sizes;
	what.n_values = 2;
	what.parameter = parameter;
	for (unsigned k = 0; k < 2; k++) {
		what.name = name;
		assert_int_equal(pmc_bench_run_case(bench, &what), 0);
		name[0] = 'T';
	}
	parameter[0] = 'X';
	assert_false(seen.wrong);
	assert_int_equal(pmc_bench_n_results(bench), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pmc_bench_get(bench, i, &result), 0);
		assert_string_equal(result.name, i < 2 ? "touch" : "Touch");
		assert_string_equal(result.parameter, "pages");
		assert_int_equal(result.value, sizes[i % 2]);
		assert_int_equal(result.threads, 1);
		/* Without those of setup and teardown. */
		assert_true(result.counts[0].per_op.median == (double)result.value);
		/* Compared with the result of the same value. */
		assert_int_equal(result.baseline, i < 2);
		assert_true(result.speedup > 0);
	}
	text = written(bench, PMC_BENCH_MARKDOWN);
	assert_non_null(strstr(text, "| parameter |"));
	assert_non_null(strstr(text, "| touch     |   pages=1 |"));
	assert_non_null(strstr(text, "| Touch     |   pages=8 |"));
	assert_null(strstr(text, "| threads |"));
	free(text);
	text = written(bench, PMC_BENCH_JSON);
	json = json_loads(text, 0, NULL);
	one = json_array_get(json_object_get(json, "benchmarks"), 3);
	assert_string_equal(json_string_value(json_object_get(one, "parameter")), "pages");
	assert_int_equal(json_integer_value(json_object_get(one, "value")), 8);
	json_decref(json);
	free(text);
	/* Another parameter, and none: nothing to compare with. */
	what.parameter = "rows";
	assert_int_equal(pmc_bench_run_case(bench, &what), 0);
	assert_int_equal(pmc_bench_run(bench, "fault", fault, NULL, 0), 0);
	for (size_t i = 4; i < 7; i++) {
		assert_int_equal(pmc_bench_get(bench, i, &result), 0);
		assert_true(isnan(result.speedup) && !result.baseline && !result.significant);
	}
	pmc_bench_close(bench);
}

/* Ends only if all threads are in it at the same time. */
static void together(void *arg, const struct pmc_bench_sample *sample)
{
	struct seen *seen = arg;

	pthread_barrier_wait(&seen->all);
	seen->threads[sample->thread]++;
	for (uint64_t i = 0; i < sample->ops; i++)
		touch_pages(4, page_bytes);
}

static void threads_that_run_together(void **state)
{
	struct pmc_bench *bench = open_bench("page-faults,task-clock");
	struct pmc_bench_case what = PMC_BENCH_CASE_INIT;
	struct pmc_bench_result result;
	struct seen seen = { 0 };
	unsigned fds = open_fds();
	char *text;

	what.name = "together";
	what.run = together;
	what.arg = &seen;
	what.threads = 3;
	pthread_barrier_init(&seen.all, NULL, 3);
	assert_int_equal(pmc_bench_run_case(bench, &what), 0);
	assert_int_equal(open_fds(), fds);
	assert_int_equal(pmc_bench_get(bench, 0, &result), 0);
	assert_int_equal(result.threads, 3);
	assert_int_equal(result.ops_per_sample % 3, 0);
	assert_true(seen.threads[0] > result.samples);
	assert_int_equal(seen.threads[0], seen.threads[1]);
	assert_int_equal(seen.threads[0], seen.threads[2]);
	/* A sum over the threads, per operation of any of them. */
	assert_true(result.counts[0].per_op.median == 4);
	assert_true(result.counts[1].state == PMC_COUNTED && result.counts[1].per_op.mean > 0);
	text = written(bench, PMC_BENCH_MARKDOWN);
	assert_non_null(strstr(text, "| threads |"));
	assert_non_null(strstr(text, "| together  |       3 |"));
	free(text);
	pthread_barrier_destroy(&seen.all);
	pmc_bench_close(bench);
}

static void idle(void *arg, const struct pmc_bench_sample *sample)
{
}

static void cases_that_are_refused(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock");
	struct pmc_bench_case what = pmc_bench_case_init();
	int64_t value = 1;

	what.name = "idle";
	what.run = idle;
	what.threads = 1025;
	assert_int_equal(pmc_bench_run_case(bench, &what), -EINVAL);
	what.threads = 1;
	what.parameter = "n";
	assert_int_equal(pmc_bench_run_case(bench, &what), -EINVAL);
	what.n_values = 1;
	assert_int_equal(pmc_bench_run_case(bench, &what), -EINVAL);
	what.values = &value;
	what.parameter = NULL;
	assert_int_equal(pmc_bench_run_case(bench, &what), -EINVAL);
	what.parameter = "n";
	what.size = 8;
	assert_int_equal(pmc_bench_run_case(bench, &what), -EINVAL);
	what.size = sizeof(what);
	assert_int_equal(pmc_bench_run_case(bench, &what), -ERANGE);
	assert_int_equal(pmc_bench_n_results(bench), 0);
	pmc_bench_close(bench);
}

/* ---- made samples --------------------------------------------------------------------------*/

enum { SAMPLES = 400, MADE = 6 };

/* A bench whose results are of these samples: a quiet machine; the same work again; a tenth
 * faster; a machine that becomes 8 % slower; times that alternate by 14 %; few that are 20 times
 * as long. */
static void make_bench(struct pmc_bench *bench, struct bench_result results[MADE])
{
	static const char *const names[MADE] = {
		"quiet", "again", "fast", "drift", "wide", "tail"
	};
	static double samples[MADE][SAMPLES];
	static struct pmc_bench_count none;

	for (unsigned r = 0; r < MADE; r++) {
		for (unsigned i = 0; i < SAMPLES; i++) {
			double *sample = &samples[r][i];

			*sample = 100 + (i * (r == 1 ? 41 : 37) % 11) * 0.1;
			*sample *= r == 2 ? 0.9 : r == 3 && i >= SAMPLES / 2 ? 1.08 : 1;
			*sample *= r != 4 ? 1 : i % 2 ? 1.07 : 0.93;
			*sample *= r == 5 && i % 40 == 7 ? 20 : 1;
		}
		results[r] = (struct bench_result){ .of = { .name = names[r],
							    .samples = SAMPLES,
							    .samples_ns = samples[r],
							    .threads = 1,
							    .ipc = NAN,
							    .counts = &none } };
		assert_int_equal(bench_result_judge(&results[r]), 0);
	}
	*bench = (struct pmc_bench){ .results = results, .n = MADE };
}

static void results_of_made_samples(void **state)
{
	static const char *const figures[MADE] = { NULL, NULL, NULL, "drift", "MAD", "σ" };
	struct bench_result results[MADE];
	struct pmc_bench_result is[MADE];
	struct pmc_bench bench;
	double share;

	make_bench(&bench, results);
	for (unsigned r = 0; r < MADE; r++) {
		const char *figure = bench_unstable(&results[r].of, &share);

		assert_int_equal(pmc_bench_get(&bench, r, &is[r]), 0);
		assert_int_equal(is[r].unstable, figures[r] != NULL);
		assert_true(figure ? !strcmp(figure, figures[r]) : !figures[r]);
	}
	/* 11 values from 100 to 101 in equal numbers. */
	assert_true(fabs(is[0].time_ns.median - 100.5) < 1e-9);
	assert_true(fabs(is[0].mad_ns - 0.3) < 1e-9);
	assert_true(fabs(is[0].drift) < 0.001);
	assert_int_equal(is[0].outliers, 0);
	assert_int_equal(is[5].outliers, 10);
	assert_true(fabs(is[3].drift - 0.08) < 0.001);
	assert_true(fabs(is[5].time_ns.median - 100.5) < 1e-9 && is[5].time_ns.stddev > 100);
	/* The same work, in quiet times or not: the interval of the speed-up has 1. */
	for (unsigned r = 0; r < MADE; r++) {
		assert_true(is[r].speedup_low < is[r].speedup &&
			    is[r].speedup < is[r].speedup_high);
		assert_int_equal(is[r].significant, r == 2);
		assert_int_equal(is[r].significant,
				 is[r].speedup_low > 1 || is[r].speedup_high < 1);
	}
	assert_true(fabs(is[2].speedup - 1 / 0.9) < 1e-3);
	/* A tenth, with an allowance of 3 %. */
	assert_true(fabs(is[2].speedup_low - is[2].speedup / 1.03) < 1e-3);
	assert_true(is[3].speedup_high - is[3].speedup_low > 0.08);
}

/* 3.6 % faster, by samples that differ by 40 %: more than the allowance, less than the interval. */
static void wide_samples_prove_nothing(void **state)
{
	double samples[2][16];
	struct bench_result results[2];
	struct pmc_bench bench = { .results = results, .n = 2 };
	struct pmc_bench_result is;

	for (unsigned r = 0; r < 2; r++) {
		for (unsigned i = 0; i < 16; i++)
			samples[r][i] = (i % 2 ? 140 : 100) / (r ? 1.036 : 1);
		results[r] = (struct bench_result){
			.of = { .name = "r", .samples = 16, .samples_ns = samples[r] }
		};
		assert_int_equal(bench_result_judge(&results[r]), 0);
	}
	assert_int_equal(pmc_bench_get(&bench, 1, &is), 0);
	assert_true(fabs(is.speedup - 1.036) < 1e-9);
	assert_true(is.speedup_low < 0.95 && is.speedup_high > 1.1 && !is.significant);
	assert_int_equal(pmc_bench_set_baseline(&bench, 1), 0);
	assert_int_equal(pmc_bench_get(&bench, 0, &is), 0);
	assert_true(is.speedup_low < 0.93 && is.speedup_high > 1.05 && !is.significant);
}

static void notes_of_made_samples(void **state)
{
	struct bench_result results[MADE];
	struct pmc_bench bench;
	char *text;

	make_bench(&bench, results);
	text = written(&bench, PMC_BENCH_MARKDOWN);
	assert_non_null(strstr(text, "| 100.5 ns ± 0.300 ns |"));
	assert_non_null(strstr(text, "|   10/400 |"));
	assert_non_null(strstr(text, "| 1.00 (0.97–1.03), not significant |"));
	assert_non_null(strstr(text, " 1.11 (1.08–1.14) |"));
	assert_non_null(strstr(text, "\nUnstable machine, measure again: drift (drift 8.0 %), "
				     "wide (MAD 7.0 %), tail (σ "));
	free(text);
	bench.n = 3;
	text = written(&bench, PMC_BENCH_MARKDOWN);
	assert_null(strstr(text, "Unstable"));
	free(text);
}

static void a_failed_write_is_an_error(void **state)
{
	struct pmc_bench *bench = open_bench("task-clock");
	int full = open("/dev/full", O_WRONLY);

	errno = 98;
	assert_int_equal(pmc_bench_write(bench, full, PMC_BENCH_JSON), -ENOSPC);
	assert_int_equal(pmc_bench_write(bench, -1, PMC_BENCH_MARKDOWN), -EBADF);
	assert_int_equal(errno, 98);
	assert_int_equal(pmc_bench_write(bench, full, (enum pmc_bench_format)99), -EINVAL);
	close(full);
	pmc_bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_grows_and_stays),
		cmocka_unit_test(one_slow_call_does_not_settle_the_batch),
		cmocka_unit_test(counts_are_of_the_work_alone),
		cmocka_unit_test(work_that_takes_no_time_is_refused),
		cmocka_unit_test(options_out_of_range),
		cmocka_unit_test(samples_keep_to_their_limits),
		cmocka_unit_test(counters_that_fail_later),
		cmocka_unit_test(baseline_and_speed_up),
		cmocka_unit_test(a_benchmark_in_another),
		cmocka_unit_test(a_table_of_equal_rows),
		cmocka_unit_test(what_cannot_be_counted_is_left_out),
		cmocka_unit_test(json_has_what_the_results_have),
		cmocka_unit_test(a_parameter_with_setup_and_teardown),
		cmocka_unit_test(threads_that_run_together),
		cmocka_unit_test(cases_that_are_refused),
		cmocka_unit_test(results_of_made_samples),
		cmocka_unit_test(wide_samples_prove_nothing),
		cmocka_unit_test(notes_of_made_samples),
		cmocka_unit_test(a_failed_write_is_an_error),
	};

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
