/* SPDX-License-Identifier: MIT */
/*
 * test_counter_defect.c - defects of other counting libraries, one test for each.
 *
 * A type-safe group that reset only its leader; a monitor whose attr was too short; a counter
 * library that confused kprobes with uprobes. Further defects are covered elsewhere: registers and
 * probes in test_counter_sample.c and test_counter_event.c, options in test_counter_refuse.c,
 * scaling and short readings in test_perf.c.
 */
#include "lib/counter/counter.h"
#include "tests/unit/counter_try.h"

#include <signal.h>
#include <sys/prctl.h>

static struct pmc_group *two_of_page_faults(const struct pmc_open_options *open)
{
	const struct pmc_counter_event events[2] = { software(PERF_COUNT_SW_PAGE_FAULTS),
						     software(PERF_COUNT_SW_PAGE_FAULTS_MIN) };
	struct pmc_failure failure = { 0 };
	struct pmc_group *group;

	if (pmc_group_open(&group, events, 2, open, &failure))
		fail_msg("%s: %s", failure.what, failure.advice);
	return group;
}

/* How often a cycle is repeated. Linux 6.18 sometimes drops all of a task's tracepoints while other
 * processes trace; it never adds any. */
enum { ONCE_MORE = 5 };

/* RESET without PERF_IOC_FLAG_GROUP left the siblings at 512 and 768. */
static void test_reset_reaches_the_siblings(void **state)
{
	struct pmc_counter_event events[2] = { getppid_event() };
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	int short_ones = 0;
	uint64_t count;

	assert_int_equal(
		pmc_counter_event_tracepoint(&events[1], "syscalls", "sys_exit_getppid", NULL), 0);
	assert_int_equal(pmc_group_open(&group, events, 2, NULL, NULL), 0);
	for (int cycle = 0; cycle < 3; cycle++) {
		assert_int_equal(pmc_group_reset(group), 0);
		/* The kernel's own counts are 0 as well, for other readers of the events. */
		for (size_t i = 0; i < 2; i++) {
			struct pmc_perf_head head;
			struct pmc_record_value raw;

			assert_int_equal(counter_fetch(pmc_group_at(group, i), &head, &raw, 1), 0);
			assert_int_equal(raw.value, 0);
		}
		assert_int_equal(pmc_group_enable(group), 0);
		calls(256);
		assert_int_equal(pmc_group_disable(group), 0);
		assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
		if (values[0].count < 256 && short_ones++ < ONCE_MORE) {
			cycle--;
			continue;
		}
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(values[i].count, 256);
			assert_int_equal(pmc_counter_read(pmc_group_at(group, i), &count), 0);
			assert_int_equal(count, 256);
		}
	}
	pmc_group_close(group);
}

/* A reset in the kernel leaves the times: scaling by them would mix in the run before. */
static void test_reset_does_not_mix_runs(void **state)
{
	struct pmc_group *group = two_of_page_faults(NULL);
	struct pmc_group_value values[2];
	struct pmc_group_times before, times;

	pmc_group_enable(group);
	burn_ns(50000000);
	pmc_group_disable(group);
	assert_int_equal(pmc_group_read(group, &before, values, 2), 0);
	assert_true(before.enabled_ns >= 10000000);
	assert_int_equal(pmc_group_reset(group), 0);
	pmc_group_enable(group);
	touch_pages(256, 4096);
	pmc_group_disable(group);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_in_range(values[0].count, 256, 400);
	assert_true(times.enabled_ns > 0 && times.enabled_ns < before.enabled_ns);
	assert_int_equal(times.enabled_ns, times.running_ns);
	pmc_group_close(group);
}

/* Software events belong to several PMUs, and the kernel does not start a member of one when it
 * joins a running group of another. */
static void test_joins_a_running_group(void **state)
{
	static const uint64_t leaders[] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CPU_CLOCK,
					    PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_DUMMY };
	static const uint64_t joining[] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK };
	struct pmc_open_options open = PMC_OPEN_INIT;
	unsigned rounds = 0, whole = 0;

	open.enabled = true;
	for (size_t i = 0; i < 100 * sizeof(leaders) / sizeof(*leaders) * 2; i++) {
		struct pmc_counter_event event = software(leaders[i / 2 % 4]);
		struct pmc_group *group;
		struct pmc_counter *member;
		struct pmc_group_value values[2];
		struct pmc_group_times times;
		uint64_t count = 0, enabled_ns, running_ns;

		assert_int_equal(pmc_group_open(&group, &event, 1, &open, NULL), 0);
		event = software(joining[i % 2]);
		assert_int_equal(pmc_group_add(group, &event, NULL, &member, NULL), 0);
		touch_pages(16, 4096);
		assert_int_equal(
			pmc_counter_read_count_and_time(member, &count, &enabled_ns, &running_ns),
			0);
		assert_true(count >= 16);
		/* A context switch in between may have started the member before. */
		whole += enabled_ns == running_ns;
		rounds++;
		assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
		assert_true(values[1].count >= count);
		pmc_group_close(group);

		/* A member that joins a stopped group is not started. */
		event = software(leaders[i / 2 % 4]);
		assert_int_equal(pmc_group_open(&group, &event, 1, NULL, NULL), 0);
		event = software(joining[i % 2]);
		assert_int_equal(pmc_group_add(group, &event, NULL, &member, NULL), 0);
		assert_int_equal(pmc_counter_read(member, &count), -EAGAIN);
		pmc_group_close(group);
	}
	assert_true(whole > rounds * 3 / 4);
}

/* A group that was enabled but never scheduled used to be read as zeros. Here the thread runs on
 * another CPU. */
static void test_unscheduled_is_not_zero(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter_reading reading;
	struct pmc_group_value values[2];
	struct pmc_group *group;
	struct pmc_group_times times;
	struct pmc_failure why;
	uint64_t count = 77;
	cpu_set_t all, one;
	int cpus[2] = { -1, -1 };

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && cpus[1] < 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			cpus[cpus[0] >= 0] = cpu;
	if (cpus[1] < 0) {
		print_message("skip: this machine has one CPU\n");
		skip();
	}
	CPU_ZERO(&one);
	CPU_SET(cpus[0], &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	open.cpu = cpus[1];
	open.enabled = true;
	group = two_of_page_faults(&open);
	touch_pages(100, 4096);
	burn_ns(1000000);
	assert_int_equal(pmc_group_read(group, &times, values, 2), -EBUSY);
	assert_true(times.enabled_ns > 0);
	assert_int_equal(times.running_ns, 0);
	assert_int_equal(pmc_group_scale(&times, &values[0], &count), -EBUSY);
	assert_int_equal(count, 77);
	for (size_t i = 0; i < 2; i++) {
		const struct pmc_counter *member = pmc_group_at(group, i);

		assert_int_equal(pmc_counter_read(member, &count), -EBUSY);
		assert_int_equal(pmc_counter_read_full(member, &reading), -EBUSY);
		assert_int_equal(reading.running_ns, 0);
	}
	assert_int_equal(count, 77);
	/* A reset does not change why. */
	assert_int_equal(pmc_group_reset(group), 0);
	pmc_group_explain(group, -EBUSY, &why);
	assert_non_null(strstr(why.advice, "never had a counter"));
	pmc_group_close(group);
	sched_setaffinity(0, sizeof(all), &all);
}

/* Scaling in floating point lost the bits beyond the 53rd. */
static void test_scaled_group_value_is_exact(void **state)
{
	const struct pmc_group_times times = { .n = 1, .enabled_ns = 3, .running_ns = 1 };
	const struct pmc_group_value value = { .count = (UINT64_C(1) << 60) + 1 };
	uint64_t count;

	assert_int_equal(pmc_group_scale(&times, &value, &count), 0);
	assert_int_equal(count, 3 * (UINT64_C(1) << 60) + 3);
}

/* A reading with fewer words than its format requires was accepted. */
static void test_short_reading_is_an_error(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter = must_open(&event, NULL), *liar;
	struct perf_event_attr attr = *pmc_counter_attr(counter);
	struct pmc_group_value value;
	struct pmc_group_times times;
	uint64_t count = 77;

	pmc_counter_enable(counter);
	attr.read_format |= PERF_FORMAT_LOST;
	assert_int_equal(pmc_counter_adopt(&liar, pmc_counter_release(counter), &attr), 0);
	assert_int_equal(pmc_counter_read(liar, &count), -EIO);
	/* A single event's reading starts with the value, a group's with the number of members. */
	liar->attr.base.read_format |= PERF_FORMAT_GROUP;
	touch_pages(1000, 4096);
	assert_int_equal(pmc_counter_read_group(liar, &times, &value, 1), -EIO);
	assert_int_equal(count, 77);
	pmc_counter_close(liar);
}

static void test_close_on_exec(void **state)
{
	struct pmc_group *group = two_of_page_faults(NULL);

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fcntl(pmc_counter_fd(pmc_group_at(group, i)), F_GETFD),
				 FD_CLOEXEC);
	pmc_group_close(group);
}

/* An attr of 48 bytes is less than any kernel accepts: each open failed with E2BIG. */
static void test_attr_is_long_enough(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter = must_open(&event, NULL);

	assert_true(pmc_counter_attr(counter)->size >= PERF_ATTR_SIZE_VER0);
	pmc_counter_close(counter);
}

/* The number of a closed descriptor is reused, for a file and for another event. A pinned event in
 * error also reads 0 bytes but is -ENODATA; the emulated machine tests that. */
static void test_a_recycled_descriptor_is_not_read(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter, *other = must_open(&event, NULL);
	struct pmc_counter_reading reading;
	uint64_t count = 77, enabled = 77, running = 77;
	struct pmc_failure why;
	int file;

	for (int i = 0; i < 2; i++) {
		counter = must_open(&event, NULL);
		pmc_counter_enable(counter);
		file = i ? dup(pmc_counter_fd(other)) : openat(AT_FDCWD, "/dev/null", O_RDONLY);
		assert_int_equal(dup2(file, pmc_counter_fd(counter)), pmc_counter_fd(counter));
		close(file);
		assert_int_equal(pmc_counter_read(counter, &count), -EBADF);
		assert_int_equal(
			pmc_counter_read_count_and_time(counter, &count, &enabled, &running),
			-EBADF);
		assert_int_equal(pmc_counter_read_full(counter, &reading), -EBADF);
		assert_int_equal(pmc_counter_enable(counter), -EBADF);
		assert_int_equal(pmc_counter_disable(counter), -EBADF);
		assert_int_equal(pmc_counter_reset(counter), -EBADF);
		assert_int_equal(pmc_counter_enable_group(counter), -EBADF);
		pmc_counter_explain(counter, -EBADF, &why);
		assert_string_equal(why.what, "page-faults");
		assert_int_equal(count, 77);
		assert_int_equal(enabled, 77);
		/* The number now belongs to the file. */
		file = pmc_counter_fd(counter);
		pmc_counter_close(counter);
		assert_true(fcntl(file, F_GETFD) >= 0);
		close(file);
	}
	/* The other event was not changed. */
	assert_int_equal(pmc_counter_read(other, &count), -EAGAIN);
	pmc_counter_close(other);
}

/* Two counters outside a group are read at different times: their ratio is meaningless. */
static void test_ratio_of_one_moment(void **state)
{
	struct pmc_counter_event events[2] = { getppid_event(), getppid_event() };
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	struct pmc_open_options open = PMC_OPEN_INIT;
	unsigned apart = 0;
	pid_t pid;

	open.inherit = true;
	assert_int_equal(pmc_group_open(&group, events, 2, &open, NULL), 0);
	pmc_group_enable(group);
	pid = fork();
	if (pid == 0) {
		calls(200000);
		_exit(0);
	}
	for (int i = 0; i < 1000; i++) {
		int error = pmc_group_read(group, &times, values, 2);

		assert_true(error == 0 || error == -EAGAIN);
		apart += values[0].count - values[1].count + 1 > 2;
	}
	/* The two reads are some calls apart, more if the reader is preempted between them. */
	assert_in_range(apart, 0, 300);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	/* On a busy machine the kernel rarely drops some of a child's tracepoints. */
	assert_in_range(values[0].count, 198000, 200000);
	assert_in_range(values[1].count, 198000, 200000);
	pmc_group_close(group);
}

/* Starts and ends children until the test ends. */
static pid_t churn(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pid == 0) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return pid;
}

/* While a child ends, the sum over its copies of the group may differ for a moment: up to two
 * readings in a hundred. */
static void test_children_that_end(void **state)
{
	static const uint64_t kinds[] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
					  PERF_COUNT_SW_CONTEXT_SWITCHES,
					  PERF_COUNT_SW_CPU_MIGRATIONS };
	struct pmc_counter_event events[4] = { 0 };
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_group *group;
	struct pmc_group_value values[4];
	struct pmc_group_times times;
	uint64_t clock = 0;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		events[i] = (struct pmc_counter_event){ .type = PERF_TYPE_SOFTWARE,
							.config = kinds[i] };
	open.inherit = open.enabled = true;
	assert_int_equal(pmc_group_open(&group, events, 4, &open, NULL), 0);
	pid = churn();
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(pmc_group_read(group, &times, values, 4), 0);
		assert_true(values[0].count >= clock);
		clock = values[0].count;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	pmc_group_close(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reset_reaches_the_siblings),
		cmocka_unit_test(test_reset_does_not_mix_runs),
		cmocka_unit_test(test_joins_a_running_group),
		cmocka_unit_test(test_unscheduled_is_not_zero),
		cmocka_unit_test(test_scaled_group_value_is_exact),
		cmocka_unit_test(test_short_reading_is_an_error),
		cmocka_unit_test(test_close_on_exec),
		cmocka_unit_test(test_attr_is_long_enough),
		cmocka_unit_test(test_a_recycled_descriptor_is_not_read),
		cmocka_unit_test(test_ratio_of_one_moment),
		cmocka_unit_test(test_children_that_end),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
