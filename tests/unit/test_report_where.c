/* SPDX-License-Identifier: MIT */
/* test_report_where.c - samples of the threads, functions and paths that --where selects, and the
 * sums below columns that --columns selects. */
#include "tests/unit/samples_report.h"

#include <errno.h>

static void threads_of_a_condition(void **state)
{
	const char *where[] = { "name=pool-*" };
	char *text = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .format = PMC_FORMAT_CSV, .where = where, .n_where = 1 });

	has(text, "app+0x2000,1,20,20000000,100.000000,20,20000000,100.000000,");
	has(text, "app+0x1000,1,0,0,0.000000,20,20000000,100.000000,");
	has_not(text, "lib.so");
}

static void no_thread_matches(void **state)
{
	const char *where[] = { "name=nobody" }, *near[] = { "name=pol-1" },
		   *pool[] = { "name=pool" };
	const char *events[] = { NULL, "off-cpu", "task-clock" }, *problem = NULL;

	for (unsigned i = 0; i < 3; i++) {
		report_with((struct pmc_report_options){ .by = PMC_BY_FUNCTION,
							 .event = events[i],
							 .where = where,
							 .n_where = 1 },
			    -ENOENT, &problem);
		has(problem, "no thread matches name=nobody");
		has_not(problem, "did you mean");
	}
	report_with((struct pmc_report_options){ .where = near, .n_where = 1 }, -ENOENT, &problem);
	has(problem, "; did you mean 'pool-1'?");
	report_with((struct pmc_report_options){ .where = pool, .n_where = 1 }, -ENOENT, &problem);
	has(problem, "; did you mean 'pool-*'?");
}

static void threads_of_a_pool(void **state)
{
	const char *where[] = { "pool=pool-*" };
	char *text = report((struct pmc_report_options){
		.format = PMC_FORMAT_CSV, .columns = "name", .where = where, .n_where = 1 });

	assert_string_equal(text, "name\npool-1\n");
	where[0] = "pool=pool-1"; /* as the table has it */
	assert_string_equal(report((struct pmc_report_options){ .format = PMC_FORMAT_CSV,
								.columns = "name",
								.where = where,
								.n_where = 1 }),
			    "name\npool-1\n");
}

/* Rows are chosen by their own columns; values and shares stay those of all samples. */
static void rows_of_a_condition(void **state)
{
	const char *function[] = { "function=lib.so+*" }, *module[] = { "module=lib*" };
	const char *both[] = { "name=pool-*", "module=app" }, *none[] = { "function=nothing" };
	const char *problem = NULL;
	const struct pmc_report_options csv = { .by = PMC_BY_FUNCTION,
						.format = PMC_FORMAT_CSV,
						.columns = "key,threads,self_pct",
						.n_where = 1 };
	struct pmc_report_options options = csv;
	char *text;

	options.where = function;
	text = report(options);
	assert_string_equal(text, "key,threads,self_pct\n"
				  "lib.so+0x3000,1,37.500000\n"
				  "lib.so+0x4000,1,20.833333\n");
	/* By the name of the file, as tables show it, or the whole path. */
	options.where = module;
	text = report(options);
	has(text, "\nlib.so+0x3000,");
	has_not(text, "app+");
	options.where = (const char *[]){ "module=/opt/*/lib.so" };
	text = report(options);
	has(text, "\nlib.so+0x3000,");
	has_not(text, "app+");
	options.where = both;
	options.n_where = 2;
	text = report(options);
	assert_string_equal(text, "key,threads,self_pct\n"
				  "app+0x2000,1,100.000000\n"
				  "app+0x1000,1,0.000000\n");
	options = (struct pmc_report_options){ .by = PMC_BY_FUNCTION,
					       .where = function,
					       .n_where = 1 };
	text = report(options);
	has(text, "lib.so+0x3000 ");
	has(text, "function=lib.so+*");
	has(text, "2 of 6 functions");
	has(text, "2 threads in 1 process");
	has_not(text, "of 2 threads");
	has_not(text, "\n  app+");
	options.where = none;
	report_with(options, -ENOENT, &problem);
	has(problem, "no function matches function=nothing");
}

/* Of paths those through a function, in a table below its callers. */
static void paths_through_a_function(void **state)
{
	const char *leaf[] = { "function=lib.so+0x4000" }, *problem = NULL;
	struct pmc_report_options options = { .by = PMC_BY_PATH, .where = leaf, .n_where = 1 };
	char *text = report(options);

	has(text, "\n  app+0x1000 ");
	has(text, "\n  └─ lib.so+0x4000 ");
	has(text, "1 of 11 lines selected by function=lib.so+0x4000: total 20.8 %;");
	has_not(text, "app+0x2000");
	has_not(text, "lib.so+0x3000");
	options.format = PMC_FORMAT_CSV;
	options.columns = "key,total";
	text = report(options);
	assert_string_equal(text, "key,total\n"
				  "app+0x1000;lib.so+0x4000,25000000\n");
	options.where = (const char *[]){ "function=app+0x2000" };
	text = report(options);
	has(text, "\napp+0x1000;app+0x2000,");
	has(text, "\napp+0x1000;app+0x2000;lib.so+0x3000;lib.so+0x3000;lib.so+0x3000,");
	has_not(text, "0x4000");
	has_not(text, "\napp+0x1000,");
	options.inverted = true;
	text = report(options);
	has(text, "\nlib.so+0x3000;lib.so+0x3000;lib.so+0x3000;app+0x2000;app+0x1000,");
	has(text, "\napp+0x2000;app+0x1000,");
	has_not(text, "\napp+0x1000");
	/* Other columns select rows, not what these called. */
	options.inverted = false;
	options.where = (const char *[]){ "function=app+0x2000", "module=app" };
	options.n_where = 2;
	text = report(options);
	has(text, "\napp+0x1000;app+0x2000,");
	has_not(text, "lib.so");
	options = (struct pmc_report_options){ .by = PMC_BY_PATH,
					       .format = PMC_FORMAT_FOLDED,
					       .where = (const char *[]){ "function=app+0x2000" },
					       .n_where = 1 };
	text = report(options);
	has(text, ";app+0x1000;app+0x2000 ");
	has(text, ";app+0x1000;app+0x2000;lib.so+0x3000");
	has_not(text, ";app+0x1000 ");
	has_not(text, "0x4000");
	options.where = (const char *[]){ "function=nothing" };
	report_with(options, -ENOENT, &problem);
	has(problem, "no path matches function=nothing");
}

/* The heaviest branches with a selected row, and the callers of these. The row of the others does
 * not include callers. */
static void top_of_a_condition(void **state)
{
	const char *where[] = { "function=lib.so+0x3000" };
	struct pmc_report_options options = {
		.by = PMC_BY_PATH, .where = where, .n_where = 1, .top = 1
	};
	char *text = report(options);

	has(text, "\n  app+0x1000 ");
	has(text, " lib.so+0x3000 ");
	has_not(text, "(more)");
	options.inverted = true;
	text = report(options);
	has(text, "\n  lib.so+0x3000 ");
	where[0] = "function=lib.so+0x*000";
	options.inverted = false;
	text = report(options);
	has(text, " lib.so+0x3000 ");
	has_not(text, "0x4000");
	/* Of lib.so+0x4000 and the truncated stacks, not of main(). */
	has(text, "(4 more)               25.0 ");
}

static void paths_of_a_condition(void **state)
{
	const char *where[] = { "path=app+0x1000;app*0x3000" };
	char *text = report((struct pmc_report_options){ .by = PMC_BY_PATH,
							 .format = PMC_FORMAT_CSV,
							 .columns = "key,total",
							 .where = where,
							 .n_where = 1 });

	has(text, "\napp+0x1000;app+0x2000;lib.so+0x3000;lib.so+0x3000;lib.so+0x3000,");
	has_not(text, "0x4000");
}

/* Rows of threads have no such column; the error says which have. */
static void condition_without_samples(void **state)
{
	const char *where[] = { "function=x" }, *problem = NULL;

	report_with((struct pmc_report_options){ .where = where, .n_where = 1 }, -EINVAL, &problem);
	has(problem, "'function'");
}

/* It says why, as a table does. */
static void folded_without_samples(void **state)
{
	const char *nobody[] = { "name=nobody" }, *problem = NULL;

	report_with((struct pmc_report_options){ .by = PMC_BY_PATH,
						 .format = PMC_FORMAT_FOLDED,
						 .where = nobody,
						 .n_where = 1 },
		    -ENOENT, &problem);
	has(problem, "no thread matches name=nobody");
}

/* Rows below the others have their label in a column of text, else a line names them. */
static void labels_of_sums(void **state)
{
	char *text = report((struct pmc_report_options){ .columns = "cpu,name,samples", .top = 1 });

	has(text, "  (1 more) ");
	has(text, "  total ");
	text = report((struct pmc_report_options){ .columns = "cpu,samples", .top = 1 });
	has(text, "(1 more), ");
	has(text, ", total\n");
	text = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .columns = "self,module", .top = 2 });
	has(text, "  (4 more)\n");
	text = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .columns = "self,total", .top = 2 });
	has(text, "(4 more)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_a_condition),
		cmocka_unit_test(no_thread_matches),
		cmocka_unit_test(threads_of_a_pool),
		cmocka_unit_test(labels_of_sums),
		cmocka_unit_test(rows_of_a_condition),
		cmocka_unit_test(paths_through_a_function),
		cmocka_unit_test(top_of_a_condition),
		cmocka_unit_test(paths_of_a_condition),
		cmocka_unit_test(condition_without_samples),
		cmocka_unit_test(folded_without_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
