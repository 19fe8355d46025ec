/* SPDX-License-Identifier: MIT */
/* test_capture_bench.c - captures of bench, with made runs of its commands. */
#include "tests/unit/capture.h"
#include "tests/unit/capture_dumps.h"
#include "tests/unit/made_machine.h"
#include "tools/bench/bench.h"

#include <limits.h>

#define CAPTURE(lines, more) capture_list(lines, N(lines), more)

/* ---- runs ------------------------------------------------------------------------------------ */

static const struct made_command {
	const char *name;
	double wall_ms, spread_pct; /* spread: of the slowest run */
	int fails_in;		    /* run, from 1; 0: none */
} made_commands[] = {
	{ "./old", 120, 4, 0 },	 { "./new", 93, 3, 0 },	   { "./same", 119.9, 5, 0 },
	{ "./fails", 50, 2, 3 }, { "./tiny", 2.4, 30, 0 }, { "./quick", 0.01, 5, 0 },
	{ "", 1.2, 30, 0 }, /* an empty shell */
};

static const char *dump_path; /* under the agent; NULL: not under it */

static const struct made_command *command_of(const struct bench_command *command)
{
	const struct made_command *made_command = made_commands;

	while (strncmp(command->text, made_command->name, strlen(made_command->name)) != 0)
		made_command++;
	return made_command;
}

int __wrap_bench_runner_start(struct bench *bench, struct bench_runner **runner);
int __wrap_bench_runner_start(struct bench *bench, struct bench_runner **runner)
{
	static int any;

	*runner = (struct bench_runner *)(void *)&any;
	dump_path = bench->environment ? getenv("PMC_OUT") : NULL;
	return 0;
}

void __wrap_bench_runner_stop(struct bench_runner *runner);
void __wrap_bench_runner_stop(struct bench_runner *runner)
{
}

/* Of few threads without events, or of many with some. */
static void write_dump(unsigned run, bool changed, bool many)
{
	FILE *file = fopen(dump_path, "w");

	if (many)
		dump_server(run, changed);
	else
		dump_samples(run + (changed ? 40 : 0));
	if (!file || fwrite(made.data, 1, made.len, file) != made.len || fclose(file))
		_exit(98);
}

int __wrap_bench_runner_run(const struct bench *bench, struct bench_command *command,
			    struct bench_runner *runner, unsigned pass, struct spawn_result *result,
			    double *values);
int __wrap_bench_runner_run(const struct bench *bench, struct bench_command *command,
			    struct bench_runner *runner, unsigned pass, struct spawn_result *result,
			    double *values)
{
	const struct made_command *made_command = command_of(command);
	const size_t run = dump_path ? command->thread_runs : command->n_runs;
	const double spread = (double)(run * 7 % 10) / 10 * made_command->spread_pct / 100;
	const double ns = made_command->wall_ms * (double)MS * (1 + spread);

	*result = (struct spawn_result){ .wall_ns = (uint64_t)ns,
					 .user_ns = (uint64_t)(ns * 0.8),
					 .sys_ns = (uint64_t)(ns * 0.15),
					 .peak_rss_bytes = (40 + run % 3) << 20 };
	if (run + 1 == (size_t)made_command->fails_in)
		result->status = 1 << 8;
	for (unsigned m = BENCH_EVENTS; values && m < bench->n_measures; m++)
		if (bench_counts(bench, bench->measures[m].event, pass))
			values[m] = (double)machine_event(&bench->measures[m].event->event,
							  (uint64_t)(ns * 0.95), 40, 140);
	if (dump_path)
		write_dump((unsigned)run, made_command == &made_commands[1],
			   strstr(bench->events, "cycles"));
	return 0;
}

bool __wrap_tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX]);
bool __wrap_tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX])
{
	strcpy(dir, "/opt/none");
	strcpy(found, "/opt/none/libpmcagent.so");
	return true;
}

/* ---- captures -------------------------------------------------------------------------------- */

#define OLD "./old"
#define NEW "./new"

static void bench(void **state)
{
	static const char *const views[] = {
		"pmctl bench -r 12 " OLD " " NEW,
		"pmctl bench -r 12 -e page-faults,task-clock " OLD " " NEW " ./same",
		"pmctl bench -r 12 --per-thread -e page-faults " OLD " " NEW,
		"pmctl bench -r 12 -e page-faults --shell ./tiny " OLD,
		"pmctl bench -r 6 -e page-faults --ignore-failure " OLD " ./fails",
	};
	static const char *const data[] = {
		"pmctl bench -r 4 -e cycles,page-faults --format csv " OLD " " NEW,
		"pmctl bench -r 3 -e cycles,page-faults --format json " OLD " " NEW,
		"pmctl bench -r 3 -e page-faults --per-thread --format json " OLD " " NEW,
		"pmctl bench -r 2 -e page-faults -L n 1,2 --format csv -- " OLD " {n}",
		"pmctl bench -r 2 -e page-faults -L n=1,2 --format json -- " OLD " {n}",
		"pmctl bench -r 12 --format markdown " OLD " " NEW,
		"pmctl bench -r 4 -e page-faults -L n=1,2 --format markdown " NEW " -- " OLD " {n}",
		"pmctl bench -r 12 -e page-faults --per-thread --format markdown " OLD " " NEW,
	};
	static const char *const once[] = {
		"pmctl bench -r 12 -e page-faults --fail-above 5 " NEW " " OLD,
		"pmctl bench -r 12 -e page-faults --fail-on page-faults=5 " NEW " " OLD,
		"pmctl bench -r 4 -e page-faults -L n=1,2 -L k=,b " NEW " -- " OLD " {n} {k}",
		"pmctl bench -r 12 -e cycles " OLD,
		"pmctl bench -r 3 -e cycles --per-thread " OLD " " NEW,
		"pmctl bench -r 6 -e cycles ./fails " OLD,
		"pmctl bench -r 4 -e page-faults,cycles " OLD " ./quick",
		"pmctl bench",
		"pmctl bench --fail-above 5 " OLD,
		"pmctl bench -r 3 -d 5s " OLD,
	};

	capture_widths("bench", views, N(views), NULL);
	capture_begin();
	CAPTURE(data, "");
	capture_end("bench.data");
	capture_begin();
	CAPTURE(once, "");
	machine_without_pmu = true;
	capture_run("pmctl bench -r 12 " OLD " " NEW);
	machine_without_pmu = false;
	capture_locale = "C";
	capture_run("pmctl bench -r 12 -e cycles " OLD " " NEW);
	capture_locale = NULL;
	capture_end("bench.once");
}

static char dir[] = "/tmp/pmc-capture-XXXXXX";

static void at_each(int (*act)(const char *path))
{
	char path[64];

	for (unsigned i = 0; i + 1 < N(made_commands); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, made_commands[i].name);
		assert_true(act(path) >= 0);
	}
}

static int create(const char *path)
{
	return close(open(path, O_CREAT | O_WRONLY, 0755));
}

static int set_up(void **state)
{
	fake_reset(state);
	kernel.group_size = kernel.counters = 4;
	if (!mkdtemp(dir))
		return -1;
	capture_dir = dir;
	at_each(create);
	return 0;
}

static int tear_down(void **state)
{
	at_each(unlink);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bench) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
