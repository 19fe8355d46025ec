/* SPDX-License-Identifier: MIT */
/* test_mac_stat.c - pmctl stat of macOS against a double of proc_pid_rusage. */
#include "lib/count/thread_counts.h"
#include "tools/stat/mac_stat.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Each reading is 1,000 cycles and 3,000 instructions further. */
static struct {
	uint64_t n;
	int error; /* of all readings from `from` on */
	uint64_t from;
	bool no_counters, translated;
} readings;

static int usage_of(pid_t pid, int version, struct pmc_mac_usage *to)
{
	struct pmc_mac_usage reply = { .user = ++readings.n * 1000000 };

	assert_int_equal(version, 4);
	memset(to, 0xa5, sizeof(*to));
	if (readings.error && readings.n >= readings.from)
		return readings.error;
	reply.instructions = readings.no_counters ? 0 : readings.n * 3000;
	reply.cycles = readings.no_counters ? 0 : readings.n * 1000;
	memcpy(to, &reply, offsetof(struct pmc_mac_usage, flags));
	return 0;
}

static void timebase(uint32_t *numer, uint32_t *denom)
{
	*numer = 1;
	*denom = !readings.translated;
}

const struct pmc_mac_calls pmc_mac_system = { .process_usage = usage_of, .timebase = timebase };
static char text[8192];

static int run(struct mac_stat *stat)
{
	int code;

	readings.n = 0;
	memset(text, 0, sizeof(text));
	pmc_out_to_mem(&stat->out, text, sizeof(text));
	code = mac_stat_run(stat);
	return code;
}

static void a_command_has_totals(void **state)
{
	char *shell[] = { (char *)"sh", (char *)"-c", (char *)"exit 3", NULL };
	char *none[] = { (char *)"no-such-program-here", NULL };
	struct mac_stat stat = { .cmd = shell, .json = true };
	char want[64];

	memset(&readings, 0, sizeof(readings));
	assert_int_equal(run(&stat), 0);
	assert_int_equal(WEXITSTATUS(stat.status), 3);
	/* From 0: the command did not run before. */
	snprintf(want, sizeof(want), "\"name\":\"cycles\",\"value\":%llu,",
		 (unsigned long long)readings.n * 1000);
	assert_non_null(strstr(text, want));
	assert_non_null(strstr(text, "\"ipc\":3"));
	assert_non_null(strstr(text, "\"summary\":true"));
	stat = (struct mac_stat){ .cmd = none };
	assert_int_equal(run(&stat), 127);
}

static void intervals_are_differences(void **state)
{
	struct mac_stat stat = { .pid = 1, .json = true, .interval_ns = 1000000, .count = 2 };
	const char *second;

	memset(&readings, 0, sizeof(readings));
	assert_int_equal(run(&stat), 0);
	second = strchr(text, '\n');
	assert_non_null(second);
	/* Lines for two intervals, and the summary. */
	assert_non_null(strchr(second + 1, '\n'));
	assert_null(strstr(second, "\"value\":0,"));
	assert_true(strstr(text, "\"summary\":true") > strchr(second + 1, '\n'));
}

static void a_process_that_goes_leaves_its_last_reading(void **state)
{
	struct mac_stat stat = { .pid = 1, .json = true, .interval_ns = 1000000 };

	memset(&readings, 0, sizeof(readings));
	readings.error = -ESRCH;
	readings.from = 4;
	assert_int_equal(run(&stat), 0);
	/* Readings 1 to 3 worked; the first is the begin. */
	assert_non_null(strstr(text, "\"name\":\"cycles\",\"value\":2000,"));
	readings.from = 1;
	assert_int_equal(run(&stat), 1);
	assert_string_equal(text, "");
}

static void a_virtual_machine_has_cpu_time(void **state)
{
	struct mac_stat stat = { .pid = 1, .json = true, .interval_ns = 1000000, .count = 1 };

	memset(&readings, 0, sizeof(readings));
	readings.no_counters = true;
	assert_int_equal(run(&stat), 0);
	assert_non_null(strstr(text, "\"name\":\"cycles\",\"value\":null,\"raw\":null"));
	assert_non_null(strstr(text, "\"state\":\"not-supported\""));
	assert_non_null(strstr(text, "\"ipc\":null"));
	stat.json = false;
	assert_int_equal(run(&stat), 0);
	assert_non_null(strstr(text, " - "));
}

static void under_rosetta_times_are_unknown(void **state)
{
	struct mac_stat stat = { .pid = 1, .json = true, .interval_ns = 1000000, .count = 1 };

	memset(&readings, 0, sizeof(readings));
	readings.translated = true;
	assert_int_equal(run(&stat), 0);
	assert_non_null(strstr(text, "\"name\":\"task-clock\",\"value\":null,\"raw\":null"));
	assert_non_null(strstr(text, "\"cpus\":null"));
	assert_non_null(strstr(text, "\"ipc\":3"));
	stat.json = false;
	assert_int_equal(run(&stat), 0);
	assert_non_null(strstr(text, "  3.00           - "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_has_totals),
		cmocka_unit_test(intervals_are_differences),
		cmocka_unit_test(a_process_that_goes_leaves_its_last_reading),
		cmocka_unit_test(a_virtual_machine_has_cpu_time),
		cmocka_unit_test(under_rosetta_times_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
