/* SPDX-License-Identifier: MIT */
/*
 * test_mac_bench.c - pmctl bench of macOS, with real commands and doubles of proc_pid_rusage, kperf
 * and kperfdata.
 *
 * Runs under the agent are those in which PMC_OUT is set: the commands leave a prepared dump.
 */
#include "tests/unit/dump_build.h"
#include "tests/unit/mac_double.h"
#include "tests/unit/tool_run.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

static struct {
	int error;
	bool no_counters;
} usage;

static int usage_of(pid_t pid, int version, struct pmc_mac_usage *to)
{
	struct pmc_mac_usage reply = { .user = 24000, .system = 12000 };

	assert_int_equal(version, 4);
	memset(to, 0xa5, sizeof(*to));
	/* It has ended and was not reaped. */
	if (usage.error || kill(pid, 0) != 0)
		return usage.error ? usage.error : -errno;
	reply.instructions = usage.no_counters ? 0 : 3000;
	reply.cycles = usage.no_counters ? 0 : 1000;
	memcpy(to, &reply, offsetof(struct pmc_mac_usage, flags));
	return 0;
}

const struct pmc_mac_calls pmc_mac_system = DOUBLE_CALLS(usage_of);

static char dir[64], script[96];

bool __wrap_tool_find_agent(char in[PATH_MAX], char found[PATH_MAX]);
bool __wrap_tool_find_agent(char in[PATH_MAX], char found[PATH_MAX])
{
	snprintf(in, PATH_MAX, "%s", dir);
	/* Linux ignores the variable. */
	snprintf(found, PATH_MAX, "%s/libpmcagent.dylib", dir);
	return true;
}

/* A dump of two threads with an event each of the pass. */
static void write_dump(const char *events, const char *event, uint64_t value, uint32_t error)
{
	const struct ev list[] = { { .name = event, .scope = PMC_SCOPE_ALL } };
	const struct pmc_process_fixed process = { .pid = 100, .flags = PMC_PROCESS_FIRST };
	char path[256];
	uint64_t set;
	FILE *file;

	build_start();
	build_process(1, 1, &process, "/app");
	set = build_set(list, 1, 1);
	build_row((struct thread_row){ 1, 2, 0, 100, set, PMC_THREAD_MAIN, 0, 0, 1, { value } });
	build_row((struct thread_row){ 1, 2, 1, 100, set, 0, 0, error, 1, { value } });
	snprintf(path, sizeof(path), "%s/%s", dir, events);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(build.data, build.len, 1, file), 1);
	fclose(file);
}

static int set_up(void **state)
{
	FILE *file;

	strcpy(dir, "/tmp/mac-bench-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(script, sizeof(script), "%s/script", dir);
	file = fopen(script, "w");
	if (!file)
		return -1;
	fprintf(file, "#!/bin/sh\n[ -z \"$PMC_OUT\" ] || cp \"%s/$PMC_EVENTS\" \"$PMC_OUT\"\n",
		dir);
	fclose(file);
	return chmod(script, 0755);
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void begin(void)
{
	double_reset(2);
	memset(&usage, 0, sizeof(usage));
}

static struct tool_run result;

/* jq's .commands[0].runs[run].events[event]; NAN: null. */
static double event_of(unsigned run, const char *event)
{
	json_t *root = json_loads(result.out, 0, NULL);
	json_t *command = json_array_get(json_object_get(root, "commands"), 0);
	json_t *row = json_array_get(json_object_get(command, "runs"), run);
	const json_t *value = json_object_get(json_object_get(row, "events"), event);
	double number = json_is_number(value) ? json_number_value(value) : -1;

	if (!value)
		print_message("out: %serr: %s", result.out, result.err);
	assert_non_null(value);
	json_decref(root);
	return number;
}

static void says(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_message("'%s' is not in: %s\n", part, text);
	assert_non_null(strstr(text, part));
}

static void a_run_has_counts_without_privilege(void **state)
{
	begin();
	PMCTL(&result, "bench", "-r", "2", "-e", "cycles,instructions,task-clock", "--format",
	      "json", "sh -c 'exit 0'");
	assert_int_equal(result.code, 0);
	assert_int_equal(event_of(1, "cycles"), 1000);
	assert_int_equal(event_of(1, "instructions"), 3000);
	assert_int_equal(event_of(0, "task-clock"), 1500000);
	assert_null(strstr(result.out, "\"wall_ns\":0,"));
	PMCTL(&result, "bench", "-r", "2", "-e", "cycles", "true");
	says(result.out, "without its children");
	says(result.out, "cycles ");
}

static void what_is_not_counted_has_its_reason(void **state)
{
	begin();
	mac_double.self_error = -ENOTSUP;
	usage.no_counters = true;
	PMCTL(&result, "bench", "-r", "1", "-e", "cycles,cache-misses,INST_ALL", "true");
	assert_int_equal(result.code, 0);
	says(result.out, "Not counted: cycles: the virtual machine");
	says(result.out, "Not counted: cache-misses: macOS does not count it");
	says(result.out, "Not counted: INST_ALL: kperf needs root; use sudo");
	begin();
	usage.error = -EPERM;
	PMCTL(&result, "bench", "-r", "1", "-e", "cycles,task-clock", "--format", "json", "true");
	assert_int_equal(result.code, 0);
	assert_true(event_of(0, "cycles") < 0);
	assert_true(event_of(0, "task-clock") < 0);
	begin();
	usage.no_counters = true;
	PMCTL(&result, "bench", "-r", "1", "-e", "cycles,task-clock", "--format", "json", "true");
	assert_true(event_of(0, "cycles") < 0);
	assert_int_equal(event_of(0, "task-clock"), 1500000);
}

static void events_of_kperf_are_spread_over_runs_of_the_agent(void **state)
{
	begin();
	mac_double.root = true;
	mac_double.counters = 1;
	write_dump("cycles,INST_A", "INST_A", 7, 0);
	write_dump("cycles,INST_B", "INST_B", 9, 0);
	PMCTL(&result, "bench", "-r", "3", "-e", "cycles,INST_A,INST_B", "--format", "json",
	      script);
	assert_int_equal(result.code, 0);
	assert_int_equal(event_of(0, "INST_A"), 14);
	assert_true(event_of(0, "INST_B") < 0);
	assert_true(event_of(1, "INST_A") < 0);
	assert_int_equal(event_of(1, "INST_B"), 18);
	assert_int_equal(event_of(2, "INST_A"), 14);
	/* Of all runs. */
	assert_int_equal(event_of(1, "cycles"), 1000);
	PMCTL(&result, "bench", "-r", "3", "-e", "cycles,INST_A,INST_B", "--per-thread", script);
	says(result.out, "INST_A (2 runs)");
	says(result.out, "INST_B (1 runs)");
	says(result.out, "3 more runs under the agent");
	/* The database does not have one, and the kernel another. */
	write_dump("cycles,INST_A", "INST_A", 7, PMC_REASON_OWN_THREAD);
	PMCTL(&result, "bench", "-r", "1", "-e", "cycles,INST_A,NOT_THERE", script);
	assert_int_equal(result.code, 0);
	says(result.out, "Not counted: INST_A: only the thread itself can read it");
	says(result.out, "Not counted: NOT_THERE: the processor's event database");
	PMCTL(&result, "bench", "-r", "1", "-e", "cycles,INST_A", "--format", "json", script);
	assert_true(event_of(0, "INST_A") < 0);
}

static void what_keeps_the_agent_from_counting_is_an_error(void **state)
{
	begin();
	mac_double.root = true;
	mac_double.no_kperf = true;
	PMCTL(&result, "bench", "-r", "1", "-e", "INST_A", script);
	assert_int_equal(result.code, 1);
	says(result.err, "framework kperfdata is missing");
	begin();
	mac_double.root = true;
	PMCTL(&result, "bench", "-r", "1", "-e", "INST_A", "true");
	assert_int_equal(result.code, 1);
	says(result.err, "left no dump");
	PMCTL(&result, "bench", "-r", "1", "-e", "INST_A",
	      "sh -c 'test -z \"$PMC_OUT\" || kill -9 $$'");
	assert_int_equal(result.code, 1);
	says(result.err, "under the agent was killed by signal 9");
	PMCTL(&result, "bench", "-r", "1", "--baseline", script, "true");
	assert_int_equal(result.code, 2);
	says(result.err, "baseline");
}

static void commands_that_fail(void **state)
{
	char text[128];
	struct pollfd end;
	FILE *file;
	int ends[2];

	begin();
	assert_int_equal(pipe(ends), 0);
	snprintf(text, sizeof(text), "%s/garbage", dir);
	file = fopen(text, "w");
	assert_non_null(file);
	fputs("garbage", file);
	fclose(file);
	chmod(text, 0755);
	PMCTL(&result, "bench", "-r", "1", text);
	assert_int_equal(result.code, 126);
	PMCTL(&result, "bench", "-r", "1", "sh -c 'kill -9 $$'");
	assert_int_equal(result.code, 1);
	says(result.err, "killed by signal 9");
	PMCTL(&result, "bench", "-r", "1", "--ignore-failure", "--format", "json",
	      "sh -c 'kill -9 $$'");
	assert_int_equal(result.code, 0);
	says(result.out, "\"exit\":137");
	/* Its child is killed too: nobody writes to the pipe any more. */
	snprintf(text, sizeof(text), "sh -c 'sleep 1000 3>&%d & wait'", ends[1]);
	PMCTL(&result, "bench", "-r", "1", "--timeout", "50ms", text);
	assert_int_equal(result.code, 1);
	says(result.err, "exceeded --timeout");
	close(ends[1]);
	end = (struct pollfd){ .fd = ends[0] };
	assert_int_equal(poll(&end, 1, 60000), 1);
	close(ends[0]);
	PMCTL(&result, "bench", "-r", "1", "--prepare", "exit 4", "true");
	assert_int_equal(result.code, 1);
	says(result.err, "exit status 4");
}

static void signals_end_the_bench(void **state)
{
	char command[256];

	begin();
	/* The third run sends the signal to pmctl, which kills it. */
	snprintf(command, sizeof(command),
		 "sh -c 'echo >>%s/n; test $(wc -l <%s/n) -lt 3 || { kill -TERM $PPID; sleep 1000; "
		 "}'",
		 dir, dir);
	PMCTL(&result, "bench", "-d", "1000s", "--format", "json", command);
	assert_int_equal(result.code, 128 + SIGTERM);
	says(result.out, "\"interrupted\":true");
	assert_int_equal(event_of(1, "cycles"), 1000);
	PMCTL(&result, "bench", "-r", "1", "--setup", "kill -TERM $PPID; exec sleep 1000", "true");
	assert_int_equal(result.code, 128 + SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_has_counts_without_privilege),
		cmocka_unit_test(what_is_not_counted_has_its_reason),
		cmocka_unit_test(events_of_kperf_are_spread_over_runs_of_the_agent),
		cmocka_unit_test(what_keeps_the_agent_from_counting_is_an_error),
		cmocka_unit_test(commands_that_fail),
		cmocka_unit_test(signals_end_the_bench),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
