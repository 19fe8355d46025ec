/* SPDX-License-Identifier: MIT */
/* test_top.c - pmctl top without /proc: sparklines, folding, filters, order and layout. */
#include "tools/top/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TASKS 5

static struct top_flags flags = { .pids = "7", .interval_ns = 1000000000u };
static struct top_process process = { .pid = 7, .name = "server", .root = true };
static struct top_process *processes[] = { &process };
static struct top_task tasks[TASKS], *list[TASKS];
static struct top_watch watch;
static struct top_rows rows;

/* Percent of a second on a CPU and waiting for one. */
static void set_task(unsigned i, const char *name, char state, uint64_t cpu, uint64_t delay)
{
	struct live_task *task = &tasks[i].task;

	tasks[i] = (struct top_task){ .process = &process, .number = i + 1 };
	live_task_init(task, 7, (pid_t)(7 + i));
	strcpy(task->stat.name, name);
	task->stat.state = state;
	task->known = true;
	task->span = (struct live_span){ .ns = 1000000000u,
					 .cpu_ns = cpu * 10000000u,
					 .delay_ns = delay * 10000000u,
					 .blocked_ns = (100 - cpu - delay) * 10000000u,
					 .voluntary = i };
	list[i] = &tasks[i];
}

static int set_up(void **state)
{
	(void)state;
	set_task(0, "server", 'S', 1, 0);
	set_task(1, "worker-1", 'R', 30, 70);
	set_task(2, "worker-2", 'R', 50, 50);
	set_task(3, "io", 'D', 0, 0);
	set_task(4, "e\033[1m", 'S', 2, 1);
	strcpy(tasks[3].task.wchan, "io_schedule");
	process.tasks = list;
	process.n = TASKS;
	watch = (struct top_watch){ .flags = &flags,
				    .processes = processes,
				    .n = 1,
				    .n_tasks = TASKS,
				    .before_ns = 1,
				    .now_ns = 1000000001u,
				    .slot_ns = 1000000000u };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	top_rows_free(&rows);
	return 0;
}

/* The names of the rows, with commas between. */
static const char *names(const struct top_look *look)
{
	static char text[256];

	text[0] = '\0';
	assert_int_equal(top_rows_make(&rows, &watch, look), 0);
	for (unsigned r = 0; r < rows.n; r++) {
		strcat(text, r ? "," : "");
		strcat(text, rows.rows[r].name);
	}
	return text;
}

static const char *cell(unsigned row, unsigned column)
{
	static char text[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	top_cell(&watch, &rows.rows[row], column, &out);
	return text;
}

static void order(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = TOP_CPU };

	(void)state;
	assert_string_equal(names(&look), "worker-2,worker-1,e\033[1m,server,io");
	look.reverse = true;
	assert_string_equal(names(&look), "io,server,e\033[1m,worker-1,worker-2");
	look.reverse = false;
	look.sort = TOP_DELAY;
	assert_string_equal(names(&look), "worker-1,worker-2,e\033[1m,server,io");
	look.sort = TOP_NAME;
	assert_string_equal(names(&look), "e\033[1m,io,server,worker-1,worker-2");
	look.sort = TOP_VOLUNTARY;
	assert_string_equal(names(&look), "e\033[1m,io,worker-2,worker-1,server");
}

static void unknown_values_are_last(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = TOP_CPU };

	(void)state;
	tasks[2].task.known = false;
	assert_string_equal(names(&look), "worker-1,e\033[1m,server,io,worker-2");
	assert_string_equal(cell(4, TOP_CPU), "-");
	look.reverse = true;
	assert_string_equal(names(&look), "io,server,e\033[1m,worker-1,worker-2");
}

static void pools(void **state)
{
	const struct top_look look = { .by = TOP_POOL, .sort = TOP_CPU };

	(void)state;
	assert_string_equal(names(&look), "worker-*,e\033[1m,server,io");
	assert_string_equal(cell(0, TOP_TID), "2");
	assert_string_equal(cell(0, TOP_CPU), "80.0");
	assert_string_equal(cell(0, TOP_ONCPU), "40.0");
	assert_string_equal(cell(0, TOP_DELAY), "120.0");
	assert_string_equal(cell(0, TOP_STATE), "2R");
	assert_string_equal(cell(0, TOP_WHERE), "(waits for CPU)");
	assert_string_equal(cell(3, TOP_WHERE), "io_schedule");
	/* A pool of one thread has its name. */
	process.n = 2;
	assert_string_equal(names(&look), "worker-1,server");
}

static void whole_process(void **state)
{
	const struct top_look look = { .by = TOP_PROCESS, .sort = TOP_CPU };

	(void)state;
	/* Threads that have ended used two more CPUs. */
	process.ended_ns = 2000000000u;
	assert_string_equal(names(&look), "server");
	assert_string_equal(cell(0, TOP_TID), "5");
	assert_string_equal(cell(0, TOP_PID), "7");
	assert_string_equal(cell(0, TOP_CPU), "283.0");
	assert_string_equal(cell(0, TOP_STATE), "2R 1D 2S");
	assert_int_equal(rows.cpu_ns, 2830000000u);
	process.ended_ns = 0;
}

static void filters(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = TOP_CPU, .filter = "work" };

	(void)state;
	assert_string_equal(names(&look), "worker-2,worker-1");
	assert_int_equal(rows.hidden, 3);
	strcpy(look.filter, "*-1");
	assert_string_equal(names(&look), "worker-1");
	strcpy(look.filter, "none");
	assert_string_equal(names(&look), "");
}

static void sparkline(void **state)
{
	uint32_t us[TOP_HISTORY] = { 0, 1, 500, 1000, 5000 };
	char text[64];
	struct pmc_out out;

	(void)state;
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_sparkline(us, 0, 5, 1000, true, &out);
	assert_string_equal(text, " .=@@");
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_sparkline(us, TOP_HISTORY - 1, 4, 1000, false, &out);
	assert_string_equal(text, "  \u2581\u2584");
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_sparkline(us, 3, 1, 0, true, &out);
	assert_string_equal(text, ".");
}

static bool has(const struct top_layout *layout, unsigned column)
{
	for (unsigned i = 0; i < layout->n; i++)
		if (layout->columns[i] == column)
			return true;
	return false;
}

static void layout(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = TOP_CPU };
	struct top_layout made;

	(void)state;
	names(&look);
	for (int width = 0; width < 300; width++) {
		int sum = 0;
		char text[2048];
		struct pmc_out out;

		top_layout_make(&made, &watch, &look, &rows, width);
		for (unsigned i = 0; i < made.n; i++)
			sum += made.widths[i] + (i ? 1 : 0);
		assert_true(sum <= width);
		for (unsigned r = 0; r < rows.n; r++) {
			pmc_out_to_mem(&out, text, sizeof(text));
			top_put_row(&made, &watch, &rows.rows[r], true, &out);
			assert_int_equal(out.len, sum);
			assert_null(strchr(text, 033));
		}
	}
	top_layout_make(&made, &watch, &look, &rows, 80);
	assert_true(has(&made, TOP_WHERE) && has(&made, TOP_HISTORY_) && !has(&made, TOP_MAJOR));
	/* What is sorted by is shown. */
	look.sort = TOP_MAJOR;
	top_layout_make(&made, &watch, &look, &rows, 80);
	assert_true(has(&made, TOP_MAJOR));
}

/* The process has ended, and another one has its ID: only the start time tells. */
static void used_id(void **state)
{
	struct top_flags own = { .interval_ns = 1000000000u };
	struct top_watch of_own;

	(void)state;
	assert_int_equal(top_watch_start(&of_own, &own, getpid()), 0);
	/* Files that stay open would tell, too. */
	of_own.budget.most = 0;
	assert_true(top_watch_scan(&of_own));
	assert_true(top_watch_scan(&of_own));
	assert_int_equal(of_own.n, 1);
	of_own.processes[0]->tasks[0]->task.stat.start_ticks--;
	assert_false(top_watch_scan(&of_own));
	assert_int_equal(of_own.n, 0);
	top_watch_stop(&of_own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_values_are_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pools, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whole_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(layout, set_up, tear_down),
		cmocka_unit_test(sparkline),
		cmocka_unit_test(used_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
