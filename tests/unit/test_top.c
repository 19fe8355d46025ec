/* SPDX-License-Identifier: MIT */
/* test_top.c - pmctl top without /proc: sparklines, folding, filters, order and layout. */
#include "lib/base/utf8.h"
#include "tools/top/top.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TASKS 5

static struct top_flags flags = { .pids = "7", .interval_ns = 1000000000u };
static struct top_process process = { .pid = 7, .name = "server", .root = true };
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
	set_task(0, "server", 'S', 1, 0);
	set_task(1, "worker-1", 'R', 30, 70);
	set_task(2, "worker-2", 'R', 50, 50);
	set_task(3, "io", 'D', 0, 0);
	set_task(4, "e\033[1m", 'S', 2, 1);
	strcpy(tasks[3].task.wchan, "io_schedule");
	process.tasks = list;
	process.n = TASKS;
	watch = (struct top_watch){ .flags = &flags,
				    .n = 1,
				    .n_tasks = TASKS,
				    .before_ns = 1,
				    .now_ns = 1000000001u,
				    .slot_ns = 1000000000u };
	watch.processes = &process;
	return 0;
}

static int tear_down(void **state)
{
	pmc_arena_free(&rows.arena);
	pmc_arena_free(&watch.table);
	return 0;
}

/* The names of the rows, with commas between. */
static const char *names(struct top_look *look)
{
	static char text[256];

	text[0] = '\0';
	top_rows_make(&rows, &watch, look);
	for (unsigned r = 0; r < rows.n; r++) {
		strcat(text, r ? "," : "");
		strcat(text, rows.list[r]->name);
	}
	return text;
}

static const char *cell(unsigned row, unsigned column)
{
	struct top_source source = { .watch = &watch, .rows = &rows, .row = rows.list[row] };
	const struct table_column of = { .index = column };
	const struct table_cell value = top_cell(&source, &of);
	static char text[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	table_put_csv(&out, &value);
	pmc_out_char(&out, '\0');
	return text;
}

static void order(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = "cpu" };

	assert_string_equal(names(&look), "worker-2,worker-1,e\033[1m,server,io");
	look.reverse = true;
	assert_string_equal(names(&look), "io,server,e\033[1m,worker-1,worker-2");
	look.reverse = false;
	strcpy(look.sort, "delay");
	assert_string_equal(names(&look), "worker-1,worker-2,e\033[1m,server,io");
	strcpy(look.sort, "name");
	assert_string_equal(names(&look), "e\033[1m,io,server,worker-1,worker-2");
	strcpy(look.sort, "vol");
	assert_string_equal(names(&look), "e\033[1m,io,worker-2,worker-1,server");
}

/* A column that folded rows lack sorts again when rows are threads. */
static void order_of_folded_rows(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = "tid" };

	assert_string_equal(names(&look), "e\033[1m,io,worker-2,worker-1,server");
	look.by = TOP_POOL;
	assert_string_equal(names(&look), "worker-*,e\033[1m,server,io");
	assert_string_equal(rows.sort, "cpu");
	look.by = TOP_THREAD;
	assert_string_equal(names(&look), "e\033[1m,io,worker-2,worker-1,server");
	assert_string_equal(rows.sort, "tid");
}

static void unknown_values_are_last(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = "cpu" };

	tasks[2].task.known = false;
	assert_string_equal(names(&look), "worker-1,e\033[1m,server,io,worker-2");
	assert_string_equal(cell(4, TOP_CPU), "");
	look.reverse = true;
	assert_string_equal(names(&look), "io,server,e\033[1m,worker-1,worker-2");
}

static void pools(void **state)
{
	struct top_look look = { .by = TOP_POOL, .sort = "cpu" };

	/* A pool that had one thread has its name. */
	process.n = 2;
	assert_string_equal(names(&look), "worker-1,server");
	process.n = TASKS;
	assert_string_equal(names(&look), "worker-*,e\033[1m,server,io");
	assert_string_equal(cell(0, TOP_THREADS), "2");
	assert_string_equal(cell(0, TOP_CPU), "80.000");
	assert_string_equal(cell(0, TOP_ONCPU), "40.000");
	assert_string_equal(cell(0, TOP_DELAY), "120.000");
	assert_string_equal(cell(0, TOP_STATE), "2R");
	assert_string_equal(cell(0, TOP_WHERE), "(waits for CPU)");
	assert_string_equal(cell(3, TOP_WHERE), "io_schedule");
	/* At the end of the interval they sleep. */
	tasks[1].task.stat.state = tasks[2].task.stat.state = 'S';
	names(&look);
	assert_string_equal(cell(0, TOP_STATE), "2S");
	assert_string_equal(cell(0, TOP_WHERE), "(waited for CPU)");
	tasks[1].task.stat.state = tasks[2].task.stat.state = 'R';
	names(&look);
	/* It stays the same pool when others have ended. */
	process.n = 2;
	assert_string_equal(names(&look), "worker-*,server");
}

static void whole_process(void **state)
{
	struct top_look look = { .by = TOP_PROCESS, .sort = "cpu" };

	/* Threads that have ended used two more CPUs. */
	process.ended_ns = 2000000000u;
	assert_string_equal(names(&look), "server");
	assert_string_equal(cell(0, TOP_THREADS), "5");
	assert_string_equal(cell(0, TOP_PID), "7");
	assert_string_equal(cell(0, TOP_CPU), "283.000");
	assert_string_equal(cell(0, TOP_STATE), "2R 1D 2S");
	assert_int_equal(rows.cpu_ns, 2830000000u);
	process.ended_ns = 0;
}

/* Its reading was late, or the last one was: the share is that of the time in between. */
static void late_readings(void **state)
{
	struct top_look look = { .by = TOP_POOL, .sort = "cpu" };

	watch.now_ns = 1200000001u;
	assert_string_equal(names(&look), "worker-*,e\033[1m,server,io");
	assert_string_equal(cell(3, TOP_BLOCKED), "100.000");
	assert_string_equal(cell(0, TOP_CPU), "80.000");
	/* One that was not there before has its share of the interval. */
	watch.now_ns = 2000000001u;
	tasks[1].born = tasks[2].born = true;
	names(&look);
	assert_string_equal(cell(0, TOP_CPU), "40.000");
}

static void filters(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = "cpu", .filter = "work" };

	assert_string_equal(names(&look), "worker-2,worker-1");
	assert_int_equal(rows.hidden, 3);
	strcpy(look.filter, "*-1");
	assert_string_equal(names(&look), "worker-1");
	strcpy(look.filter, "none");
	assert_string_equal(names(&look), "");
}

/* Inside a process the filter for processes is not in force; it is again outside. */
static void filter_and_zoom(void **state)
{
	struct top_look look = { .by = TOP_PROCESS, .sort = "cpu", .filter = "serv" };

	assert_string_equal(names(&look), "server");
	top_look_inside(&look, rows.list[0]);
	assert_string_equal(names(&look), "worker-2,worker-1,e\033[1m,server,io");
	assert_int_equal(rows.hidden, 0);
	strcpy(look.filter, "work");
	assert_string_equal(names(&look), "worker-2,worker-1");
	assert_int_equal(rows.hidden, 3);
	/* A pool inside the process: Esc leads back to the processes. */
	look.by = TOP_POOL;
	assert_string_equal(names(&look), "worker-*");
	top_look_inside(&look, rows.list[0]);
	assert_string_equal(names(&look), "worker-2,worker-1");
	top_look_outside(&look);
	assert_string_equal(look.filter, "serv");
	assert_int_equal(look.by, TOP_PROCESS);
}

/* Times of before the first reading are in the sums of one thread, too. */
static void zoom(void **state)
{
	struct top_job job = { .flags = flags, .watch = watch };
	const struct top_screen screen = { .job = &job, .zoomed = 2 };
	struct live_task *task = &tasks[1].task;
	char text[4096];
	struct pmc_out out;

	task->charged_ns = 23000000000u;
	task->delay.charged_before_ns = 22000000000u;
	task->sum.cpu_ns = 5000000000u;
	/* Its last wait goes on. */
	task->sum.delay_ns = 1480000000u;
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_zoom(&screen, &out);
	assert_non_null(strstr(text, "on a CPU               5.00 s"));
	assert_non_null(strstr(text, "waiting for a CPU      23.48 s"));
}

static void sparkline(void **state)
{
	/* The present slot is not shown. */
	const uint32_t us[TOP_HISTORY] = { 7, 5000, 1000, 500, 1, 0 };
	char text[64];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_sparkline(us, 5, 1000, true, &out);
	assert_string_equal(text, " .=@@");
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_sparkline(us + 2, 3, 1000, false, &out);
	assert_string_equal(text, " \u2581\u2584");
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_sparkline(us + 1, 1, 0, true, &out);
	assert_string_equal(text, ".");
}

static bool has_column(const struct top_layout *made, const char *name)
{
	for (unsigned i = 0; i < made->table.n; i++)
		if (!strcmp(made->table.places[i].column->name, name) &&
		    !made->table.places[i].hidden)
			return true;
	return false;
}

static void layout(void **state)
{
	struct top_job job = { .look = { .by = TOP_THREAD, .sort = "cpu" } };
	struct top_layout made = { .left_out = 0 };

	names(&job.look);
	job.watch = watch;
	job.rows = rows;
	for (int width = 20; width < 300; width++) {
		char text[8192], *line = text;
		struct pmc_out out;

		top_layout_make(&made, &job, 0, UINT_MAX, width);
		pmc_out_to_mem(&out, text, sizeof(text));
		table_print(&made.table, TABLE_PLAIN, &out);
		assert_null(strchr(text, 033));
		for (char *end; (end = strchr(line, '\n')); line = end + 1)
			assert_true(pmc_utf8_columns(line, (size_t)(end - line)) <= width);
	}
	top_layout_make(&made, &job, 0, UINT_MAX, 80);
	assert_true(has_column(&made, "where") && has_column(&made, "history") &&
		    !has_column(&made, "major-faults"));
	/* What is sorted by is shown. */
	strcpy(job.look.sort, "major-faults");
	top_layout_make(&made, &job, 0, UINT_MAX, 80);
	assert_true(has_column(&made, "major-faults"));
	pmc_arena_free(&made.arena);
}

/* 80 columns have room for the first part of a long name of a function, and no more is kept free
 * for the history than its head needs. */
static void layout_of_processes(void **state)
{
	struct top_job job = { .look = { .by = TOP_PROCESS, .sort = "cpu" } };
	struct top_layout made = { .left_out = 0 };

	process.n = 1;
	watch.children_ns = 50000000u;
	strcpy(tasks[0].task.wchan, "unix_stream_read_generic");
	names(&job.look);
	assert_int_equal(rows.n, 2);
	job.watch = watch;
	job.rows = rows;
	top_layout_make(&made, &job, 0, UINT_MAX, 80);
	assert_true(has_column(&made, "where"));
	strcpy(job.look.sort, "history");
	top_layout_make(&made, &job, 0, UINT_MAX, 80);
	assert_true(has_column(&made, "history") && has_column(&made, "vol"));
	watch.children_ns = 0;
	pmc_arena_free(&made.arena);
}

static const char *title(struct top_look *look)
{
	static char text[1024];
	struct top_job job = { .flags = flags, .look = *look };
	struct pmc_out out;

	names(look);
	job.watch = watch;
	job.rows = rows;
	pmc_out_to_mem(&out, text, sizeof(text));
	top_put_title(&job, true, &out);
	return text;
}

static void titles(void **state)
{
	struct top_look look = { .by = TOP_THREAD, .sort = "delay" };

	process.ended_ns = 500000000u;
	assert_string_equal(
		title(&look),
		"server 7, 1.33 CPUs, at least 1.21 waiting for one, 0.50 by ended threads, "
		"5 threads in 1 process, by delay");
	/* Read late: shares of a longer time. */
	tasks[2].task.span.ns *= 2;
	tasks[2].task.span.cpu_ns *= 2;
	tasks[2].task.span.delay_ns *= 2;
	assert_non_null(strstr(title(&look), "1.33 CPUs, at least 1.21 waiting for one, 0.50 by"));
	/* Where rows are hidden, it says so first. */
	strcpy(look.filter, "worker");
	assert_non_null(strstr(title(&look), "server 7, filter worker (3 hidden), 1.33 CPUs"));
	look.by = TOP_PROCESS;
	assert_null(strstr(title(&look), "ended"));
	process.ended_ns = 0;
}

static void spin_ms(unsigned ms)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void *spin(void *arg)
{
	spin_ms(*(unsigned *)arg);
	return NULL;
}

/* arg: set when it is to end. */
static void *spin_until(void *arg)
{
	while (!atomic_load((atomic_bool *)arg))
		;
	return NULL;
}

/* This process: its own thread runs between all readings, and another one beside it. */
static void ended_threads(void **state)
{
	struct top_flags own = { .interval_ns = 10000000u };
	struct top_watch of_own;
	atomic_bool stop = false;
	pthread_t thread;
	unsigned short_ms = 30;

	assert_int_equal(top_watch_start(&of_own, &own, getpid()), 0);
	assert_int_equal(pthread_create(&thread, NULL, spin_until, &stop), 0);
	for (int i = 0; i < 300; i++) {
		assert_true(top_watch_scan(&of_own));
		assert_int_equal(of_own.processes->ended_ns, 0);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	top_watch_scan(&of_own);
	assert_int_equal(pthread_create(&thread, NULL, spin, &short_ms), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(top_watch_scan(&of_own));
	assert_in_range(of_own.processes->ended_ns, 25000000, 1000000000);
	top_watch_stop(&of_own);
}

/* stop: set in shared memory when the child is to end after `ms`; NULL: it ends then. */
static pid_t start_child(unsigned ms, atomic_bool *stop)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	spin_ms(ms);
	if (stop)
		spin_until(stop);
	_exit(0);
}

/* Children that start and end between two readings, and one that had a row before it ended. */
static void ended_children(void **state)
{
	struct top_flags own = { .interval_ns = 10000000u };
	struct top_look look = { .by = TOP_PROCESS, .sort = "cpu" };
	struct top_screen screen = { .job = &(struct top_job){ .look = look } };
	struct top_watch *of_own = &screen.job->watch;
	atomic_bool *stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_ptr_not_equal(stop, MAP_FAILED);
	assert_int_equal(top_watch_start(of_own, &own, getpid()), 0);
	assert_true(top_watch_scan(of_own));
	pid = start_child(100, stop);
	assert_true(top_watch_scan(of_own));
	assert_true(top_watch_scan(of_own));
	assert_int_equal(of_own->n, 2);
	atomic_store(stop, true);
	while (waitid(P_PID, (id_t)pid, &(siginfo_t){ .si_pid = 0 }, WEXITED | WNOWAIT) != 0)
		;
	assert_true(top_watch_scan(of_own));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(top_watch_scan(of_own));
	assert_int_equal(of_own->n, 1);
	assert_int_equal(of_own->children_ns, 0);
	for (unsigned i = 0; i < 40; i++)
		assert_true(waitpid(start_child(5, NULL), NULL, 0) > 0);
	assert_true(top_watch_scan(of_own));
	assert_in_range(of_own->children_ns, 170000000, 1000000000);
	/* Their row has no thread that could be shown alone. */
	top_remake(&screen);
	assert_int_equal(screen.job->rows.n, 2);
	assert_string_equal(screen.job->rows.list[0]->name, "(ended children)");
	for (enum top_by by = TOP_THREAD; by <= TOP_PROCESS; by++) {
		screen.job->look.by = by;
		top_remake(&screen);
		screen.selected = UINT64_MAX;
		top_press(&screen, '\n');
		assert_int_equal(screen.view, TOP_TABLE);
		assert_int_equal(screen.job->look.only, 0);
	}
	pmc_arena_free(&screen.job->rows.arena);
	top_watch_stop(of_own);
	munmap(stop, sizeof(*stop));
}

static void several_roots(void **state)
{
	struct top_flags own = { .interval_ns = 10000000u };
	struct top_watch of_own;
	char pids[64];
	unsigned roots;

	snprintf(pids, sizeof(pids), "%d,%d", getpid(), getppid());
	own.pids = pids;
	assert_int_equal(top_watch_start(&of_own, &own, 0), 0);
	assert_non_null(top_first_root(&of_own, &roots));
	assert_int_equal(roots, 2);
	top_watch_stop(&of_own);
}

/* The process has ended, and another one has its ID: only the start time differs. */
static void used_id(void **state)
{
	struct top_flags own = { .interval_ns = 1000000000u };
	struct top_watch of_own;

	assert_int_equal(top_watch_start(&of_own, &own, getpid()), 0);
	/* Files that stay open would tell, too. */
	of_own.budget.most = 0;
	assert_true(top_watch_scan(&of_own));
	assert_true(top_watch_scan(&of_own));
	assert_int_equal(of_own.n, 1);
	of_own.processes->tasks[0]->task.stat.start_ticks--;
	assert_false(top_watch_scan(&of_own));
	assert_int_equal(of_own.n, 0);
	top_watch_stop(&of_own);
}

static void take(uint32_t type, uint64_t time, uint32_t tid, bool out, bool preempted)
{
	struct pmc_record record = { .type = type, .time = time, .tid = tid };

	if (type == PERF_RECORD_LOST)
		record.lost.lost = 3;
	else if (type == PERF_RECORD_SWITCH)
		record.context_switch =
			(struct pmc_record_switch){ .out = out, .preempted = preempted };
	else
		record.task.tid = tid;
	top_waits_take(watch.waits, &record);
}

/* Waits of the interval in which they end; not of what was lost, or of another thread's number. */
static void lengths_of_waits(void **state)
{
	struct top_look look = { .by = TOP_POOL, .sort = "name" };

	watch.waits = top_waits_new();
	take(PERF_RECORD_SWITCH, 100, 8, true, false);
	take(PERF_RECORD_SWITCH, 200, 8, false, false);
	take(PERF_RECORD_SWITCH, 300, 8, true, true);
	take(PERF_RECORD_SWITCH, 320, 8, false, false);
	take(PERF_RECORD_SWITCH, 400, 9, true, false);
	take(PERF_RECORD_SWITCH, 430, 9, false, false);
	take(PERF_RECORD_SWITCH, 500, 9, true, false);
	top_waits_step(watch.waits);
	take(PERF_RECORD_SWITCH, 600, 9, false, false);
	names(&look);
	assert_string_equal(rows.list[3]->name, "worker-*");
	assert_string_equal(cell(3, TOP_WAIT_P50), "30");
	assert_string_equal(cell(3, TOP_LONGEST_WAIT), "100");
	assert_string_equal(cell(3, TOP_PREEMPTED_P99), "20");
	assert_string_equal(cell(2, TOP_WAIT_P99), "");
	take(PERF_RECORD_SWITCH, 700, 8, true, false);
	take(PERF_RECORD_SWITCH, 710, 9, true, false);
	take(PERF_RECORD_LOST, 720, 0, false, false);
	take(PERF_RECORD_SWITCH, 730, 8, false, false);
	take(PERF_RECORD_EXIT, 740, 9, false, false);
	take(PERF_RECORD_SWITCH, 750, 9, true, false);
	take(PERF_RECORD_FORK, 760, 9, false, false);
	take(PERF_RECORD_SWITCH, 790, 9, false, false);
	top_waits_step(watch.waits);
	names(&look);
	assert_string_equal(cell(3, TOP_LONGEST_WAIT), "100");
	assert_string_equal(cell(3, TOP_PREEMPTED_P50), "");
	assert_int_equal(top_waits_lost(watch.waits), 3);
	assert_string_equal(cell(3, TOP_LOST), "3");
	top_waits_step(watch.waits);
	names(&look);
	assert_string_equal(cell(3, TOP_LONGEST_WAIT), "");
	assert_int_equal(top_waits_lost(watch.waits), 3);
	assert_string_equal(cell(3, TOP_LOST), "0");
	top_waits_free(watch.waits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(order_of_folded_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_values_are_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pools, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whole_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(late_readings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(filter_and_zoom, set_up, tear_down),
		cmocka_unit_test_setup_teardown(zoom, set_up, tear_down),
		cmocka_unit_test_setup_teardown(layout, set_up, tear_down),
		cmocka_unit_test_setup_teardown(layout_of_processes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(titles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lengths_of_waits, set_up, tear_down),
		cmocka_unit_test(sparkline),
		cmocka_unit_test(ended_threads),
		cmocka_unit_test(ended_children),
		cmocka_unit_test(several_roots),
		cmocka_unit_test(used_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
