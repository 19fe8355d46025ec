/* SPDX-License-Identifier: MIT */
/* test_fold.c - sums, spread and states against brute force; keys; events of two sets. */
#include "tools/rows/fold.h"
#include "tests/unit/report_profile.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>

#define ROWS   3000
#define EVENTS 3

static const struct pmc_p_event events[EVENTS] = {
	{ .name = "a", .unit = "", .core_type = "" },
	{ .name = "b", .unit = "", .core_type = "" },
	{ .name = "a", .unit = "", .core_type = "" },
};
static const struct pmc_p_set_view set = { .hash = 1, .count = EVENTS, .events = events };
static struct pmc_p_process process = { .known = true,
					.host = "h",
					.exe = "/bin/x",
					.cmdline = "x -y",
					.fixed.pid = 5,
					.fixed.rank = -1 };
static struct pmc_p_thread threads[ROWS];
static struct pmc_count counts[ROWS][EVENTS];

static void make_threads(void)
{
	srand(11);
	memset(threads, 0, sizeof(threads));
	for (int i = 0; i < ROWS; i++) {
		struct pmc_p_thread *t = &threads[i];

		t->process = &process;
		t->module = t->symbol = "";
		t->fixed.seq = (uint64_t)i;
		t->fixed.cpu_ns = (uint64_t)rand() * 1000;
		t->fixed.minor_faults = (uint64_t)(rand() % 50);
		t->fixed.voluntary_switches = (uint64_t)(rand() % 50);
		t->fixed.flags = rand() % 10 ? 0 :
				 rand() % 2  ? PMC_THREAD_NO_RUSAGE :
					       PMC_THREAD_NO_RUSAGE | PMC_THREAD_SWITCHES;
		if (t->fixed.flags)
			t->fixed.minor_faults = 0;
		if (t->fixed.flags == PMC_THREAD_NO_RUSAGE)
			t->fixed.voluntary_switches = 0;
		snprintf(t->fixed.name, sizeof(t->fixed.name), "n%d", rand() % 7);
		if (rand() % 20 == 0)
			continue; /* no events at all */
		t->set = &set;
		t->counts = counts[i];
		for (int e = 0; e < EVENTS; e++) {
			struct pmc_count *c = &counts[i][e];

			*c = (struct pmc_count){ .raw = 1000000000000ull + (uint64_t)rand(),
						 .enabled_ns = 100,
						 .running_ns = 100 };
			if (e == 1 && rand() % 4 == 0)
				*c = (struct pmc_count){ .state = PMC_NOT_COUNTED,
							 .error = PMC_REASON_NEVER_RAN };
			if (e == 2 && rand() % 3 == 0)
				*c = (struct pmc_count){ .raw = (uint64_t)rand(),
							 .enabled_ns = 300,
							 .running_ns = 100,
							 .state = PMC_SCALED };
		}
	}
}

struct brute {
	uint64_t rows, sum, min, max;
	double stddev;
};

/* By bisection, independent of the code under test. */
static double root_of(double value)
{
	double low = 0, high = value > 1 ? value : 1;

	for (int i = 0; i < 200; i++) {
		double mid = (low + high) / 2;

		*(mid * mid > value ? &high : &low) = mid;
	}
	return low;
}

static struct brute brute_force(const char *name, int event)
{
	struct brute b = { .min = UINT64_MAX };
	long double mean = 0, squares = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < ROWS; i++) {
			const struct pmc_p_thread *t = &threads[i];
			uint64_t v = t->fixed.cpu_ns;

			if (strcmp(t->fixed.name, name))
				continue;
			if (event >= 0) {
				const struct pmc_count *c = &counts[i][event];

				if (!t->set || c->state > PMC_SCALED)
					continue;
				v = c->raw * (c->enabled_ns / c->running_ns);
			}
			if (pass) {
				squares += ((long double)v - mean) * ((long double)v - mean);
				continue;
			}
			b.rows++;
			b.sum += v;
			b.min = v < b.min ? v : b.min;
			b.max = v > b.max ? v : b.max;
		}
		if (b.rows && !pass)
			mean = (long double)b.sum / b.rows;
	}
	if (b.rows)
		b.stddev = root_of((double)(squares / b.rows));
	return b;
}

static void compare(const struct pmc_fold_stat *stat, struct brute want)
{
	assert_int_equal(stat->rows, want.rows);
	if (!want.rows)
		return;
	assert_int_equal(stat->sum, want.sum);
	assert_int_equal(stat->min, want.min);
	assert_int_equal(stat->max, want.max);
	assert_true(fabs(stat->mean - (double)want.sum / (double)want.rows) < 1e-9 * stat->mean);
	assert_true(fabs(pmc_fold_stddev(stat) - want.stddev) <= 1e-7 * want.stddev);
}

static void groups(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_union u;
	struct pmc_fold fold;
	uint64_t total = 0;

	make_threads();
	pmc_union_init(&u, &arena);
	pmc_union_add(&u, &set, true);
	assert_int_equal(u.set.count, 3);
	assert_string_equal(u.columns[2].label, "a#2");
	pmc_fold_begin(&fold, &u, NULL, PMC_BY_NAME);
	fold.spread = true;
	for (int i = 0; i < ROWS; i++)
		pmc_fold_thread(&fold, &threads[i]);
	pmc_fold_end(&fold);
	assert_int_equal(fold.n_rows, 7);
	for (const struct pmc_fold_row *row = fold.rows; row; row = row->next) {
		uint64_t faults = 0, known = 0, switches = 0, some = 0, n = 0;

		for (int i = 0; i < ROWS; i++) {
			if (strcmp(threads[i].fixed.name, row->label))
				continue;
			n++;
			some += threads[i].fixed.flags != PMC_THREAD_NO_RUSAGE;
			switches += threads[i].fixed.voluntary_switches;
			if (threads[i].fixed.flags & PMC_THREAD_NO_RUSAGE)
				continue;
			known++;
			faults += threads[i].fixed.minor_faults;
		}
		assert_int_equal(row->threads, n);
		assert_int_equal(row->usage_rows, known);
		assert_int_equal(row->usage.minor_faults, faults);
		assert_int_equal(row->switch_rows, some);
		assert_int_equal(row->usage.voluntary_switches, switches);
		compare(&row->cpu, brute_force(row->label, -1));
		for (int e = 0; e < EVENTS; e++)
			compare(&row->events[e], brute_force(row->label, e));
		assert_int_equal(pmc_fold_state(&row->events[0], row->rows), PMC_PARTIAL);
		total += row->threads;
	}
	assert_int_equal(total, ROWS);
	pmc_arena_free(&arena);
}

static struct pmc_fold_stat sum_of(struct pmc_union *u, const struct pmc_count *list, unsigned n,
				   uint64_t *rows)
{
	struct pmc_fold_row row;

	pmc_fold_init(&row, u, false);
	for (unsigned i = 0; i < n; i++) {
		struct pmc_count three[EVENTS] = { list[i], list[i], list[i] };
		struct pmc_p_thread thread = { .process = &process, .set = &set, .counts = three };

		pmc_fold_add(&row, u, &thread, true);
	}
	*rows = row.rows;
	return row.events[1];
}

static void states(void **state)
{
	static const struct pmc_count good = { .raw = 5, .enabled_ns = 9, .running_ns = 9 },
				      half = { .raw = 5,
					       .enabled_ns = 8,
					       .running_ns = 4,
					       .state = PMC_SCALED },
				      never = { .state = PMC_NOT_COUNTED, .error = 4099 },
				      unsupported = { .state = PMC_NOT_SUPPORTED, .error = ENOENT },
				      forbidden = { .state = PMC_NOT_PERMITTED, .error = EACCES };
	const struct {
		struct pmc_count list[3];
		unsigned n;
		enum pmc_state want;
		uint64_t sum;
	} table[] = {
		{ { good, good }, 2, PMC_COUNTED, 10 },
		{ { good, half }, 2, PMC_SCALED, 15 },
		{ { good, half, never }, 3, PMC_PARTIAL, 15 },
		{ { never, good }, 2, PMC_PARTIAL, 5 },
		{ { never, never }, 2, PMC_NOT_COUNTED, 0 },
		{ { unsupported, unsupported }, 2, PMC_NOT_SUPPORTED, 0 },
		{ { forbidden }, 1, PMC_NOT_PERMITTED, 0 },
		{ { forbidden, unsupported }, 2, PMC_NOT_COUNTED, 0 },
		{ { good }, 0, PMC_NOT_COUNTED, 0 },
	};
	struct pmc_arena arena = { 0 };
	struct pmc_union u;

	pmc_union_init(&u, &arena);
	pmc_union_add(&u, &set, true);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t rows;
		struct pmc_fold_stat stat = sum_of(&u, table[i].list, table[i].n, &rows);

		assert_int_equal(pmc_fold_state(&stat, rows), table[i].want);
		assert_int_equal(stat.sum, table[i].sum);
	}
	/* a sum that overflows stops at the largest number */
	struct pmc_fold_row row;

	pmc_fold_init(&row, &u, false);
	pmc_fold_add_value(&row.cpu, UINT64_MAX - 1, true);
	pmc_fold_add_value(&row.cpu, 7, true);
	assert_int_equal(row.cpu.sum, UINT64_MAX);
	pmc_arena_free(&arena);
}

static void unions(void **state)
{
	static const struct pmc_p_event other[] = {
		{ .name = "c", .unit = "", .core_type = "" },
		{ .name = "a", .unit = "", .core_type = "", .def.scope = PMC_SCOPE_USER },
		{ .name = "a", .unit = "", .core_type = "atom" },
		{ .name = "b", .unit = "Joules", .core_type = "", .def.scale = 0.5 },
	};
	const struct pmc_p_set_view second = { .hash = 2, .count = 4, .events = other };
	struct pmc_arena arena = { 0 };
	const uint16_t *map;
	struct pmc_union u;

	pmc_union_init(&u, &arena);
	pmc_union_add(&u, NULL, true);
	pmc_union_add(&u, &set, true);
	pmc_union_add(&u, &second, false);
	assert_int_equal(u.set.count, 3);
	map = pmc_union_map(&u, &second);
	assert_int_equal(map[0], PMC_NO_COLUMN);
	assert_int_equal(map[1], 0);
	assert_int_equal(map[2], PMC_NO_COLUMN);
	pmc_arena_free(&arena);
	pmc_union_init(&u, &arena);
	pmc_union_add(&u, &set, true);
	pmc_union_add(&u, &second, true);
	pmc_union_add(&u, &second, true);
	assert_int_equal(u.set.count, 6);
	map = pmc_union_map(&u, &second);
	assert_int_equal(map[0], 3);
	assert_int_equal(map[1], 0);
	assert_string_equal(u.columns[map[2]].label, "a@atom");
	assert_int_equal(map[3], 5);
	assert_true(u.columns[0].mixed_scope);
	assert_false(u.columns[1].mixed_scope);
	assert_true(u.set.events[0].def.scale == 1);
	pmc_arena_free(&arena);
}

static void patterns(void **state)
{
	static const struct {
		const char *name, *pattern;
	} table[] = {
		{ "pool-12", "pool-*" },
		{ "pool-1-12", "pool-*-*" },
		{ "worker7", "worker*" },
		{ "GC Thread#3", "GC Thread#*" },
		{ "xz", "xz" },
		{ "a1b2", "a*b*" },
		{ "123", "*" },
		{ "", "" },
		{ "gc-helper-with-", "gc-helper-with-*" },
		{ "pool-1-thread-1", "pool-*-thread-*" },
	};
	char pattern[20];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = pmc_pool_pattern(table[i].name, strlen(table[i].name), pattern);

		assert_int_equal(len, strlen(table[i].pattern));
		assert_memory_equal(pattern, table[i].pattern, len);
	}
}

/* Names of threads, and the pools that names with numbers form. */
static void pools(void **state)
{
	static const char *const names[] = {
		"db-pool-1",	   "db-pool-12",      "http-nio-80-exe", "http-nio-8080-e",
		"gc-helper-with-", "gc-helper-with-", "solo-7",		 "same-3",
		"same-3",	   "ForkJoinPool-1-", "ForkJoinPool-12", "averylongname-x",
		"conn_1_handler",  "conn_10_handler", "conn_100_handle", "123456789012345",
		"abcdefghijklmno", "a2345678901234z", "a2345678901235z",
	};
	static const struct {
		const char *label;
		uint64_t threads;
	} want[] = {
		{ "db-pool-*", 2 },	  { "http-nio-*-e*", 2 },  { "gc-helper-with-*", 2 },
		{ "solo-7", 1 },	  { "same-3", 2 },	   { "ForkJoinPool-*", 2 },
		{ "averylongname-x", 1 }, { "conn_*_handle*", 3 }, { "123456789012345", 1 },
		{ "abcdefghijklmno", 1 }, { "a*z*", 2 },
	};
	struct pmc_arena arena = { 0 };
	const struct pmc_fold_row *row;
	struct pmc_fold fold;
	struct pmc_union u;

	pmc_union_init(&u, &arena);
	pmc_fold_begin(&fold, &u, NULL, PMC_BY_POOL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct pmc_p_thread thread = { .process = &process, .module = "", .symbol = "" };

		memcpy(thread.fixed.name, names[i], strlen(names[i]));
		pmc_fold_thread(&fold, &thread);
	}
	pmc_fold_end(&fold);
	row = fold.rows;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++, row = row->next) {
		assert_non_null(row);
		assert_string_equal(row->label, want[i].label);
		assert_int_equal(row->threads, want[i].threads);
	}
	assert_null(row);
	pmc_arena_free(&arena);
}

static bool in_child, replaced;

static void label_is(const char *name, const char *exe, const char *cmdline, uint8_t flags,
		     const char *want)
{
	struct pmc_p_process p = {
		.known = true,
		.exe = exe,
		.cmdline = cmdline,
		.host = "",
		.fixed.flags = in_child ? 0 : PMC_PROCESS_FIRST,
		.fixed.how_ended = (uint8_t)(replaced ? PMC_ENDED_EXEC : PMC_ENDED_EXIT),
	};
	struct pmc_p_thread t = { .process = &p, .fixed.flags = flags };
	const char *label;
	size_t len;

	memcpy(t.fixed.name, name, strnlen(name, sizeof(t.fixed.name)));
	label = pmc_thread_label(&t, &len);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(label, want, len);
}

static void labels(void **state)
{
	label_is("xz", "/usr/bin/xz", "xz -T4", PMC_THREAD_MAIN, "(main)");
	label_is("xz", "/usr/bin/xz", "xz -T4", 0, "xz");
	label_is("python3", "/usr/bin/python3.11", "python3 x.py", PMC_THREAD_MAIN, "(main)");
	label_is("averylongprogra", "/bin/averylongprogram", "", PMC_THREAD_MAIN, "(main)");
	label_is("ui", "/usr/bin/xz", "xz", PMC_THREAD_MAIN, "ui");
	label_is("", "", "", PMC_THREAD_MAIN, "(main)");
	label_is("", "", "", 0, "(unnamed)");
	label_is("0123456789abcdef", "", "", 0, "0123456789abcdef");
	in_child = true;
	label_is("cc1", "/usr/libexec/cc1", "cc1 x.c", PMC_THREAD_MAIN, "cc1");
	label_is("", "/usr/libexec/cc1", "cc1 x.c", PMC_THREAD_MAIN, "(main)");
	in_child = false;
	replaced = true;
	label_is("bash", "/bin/bash", "bash x", PMC_THREAD_MAIN, "bash");
	replaced = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups),   cmocka_unit_test(states), cmocka_unit_test(unions),
		cmocka_unit_test(patterns), cmocka_unit_test(pools),  cmocka_unit_test(labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
