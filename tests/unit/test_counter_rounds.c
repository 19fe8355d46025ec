/* SPDX-License-Identifier: MIT */
/*
 * test_counter_rounds.c - groups of software events that are stopped and started many times.
 *
 * Page faults and task-clock are of different PMUs of the kernel. Linux 6.18 leaves a member
 * stopped until the next context switch if it is enabled while its leader runs. A context switch
 * during the test hides that in a round; it never makes a correct round fail. A stopped member
 * counts nothing, so a part of the work shows that it runs.
 */
#include "lib/count/group.h"
#include "tests/unit/counter_try.h"

#include <pmc/group.h>

enum { ROUNDS = 8, PAGES = 16 };
static const uint64_t burnt_ns = 2000000;

#define SOFT(X)                                                                                    \
	X(faults, "page-faults", "", "page faults")                                                \
	X(clock, "task-clock", "ns", "CPU time")
PMC_GROUP(soft, SOFT)

static const uint64_t kinds[][2] = {
	{ PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK },
	{ PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS },
	{ PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_CPU_CLOCK },
};

static void work(void)
{
	touch_pages(PAGES, 4096);
	burn_ns(burnt_ns);
}

/*
 * Least that a running member counts in a round's work(), of the time for which the group ran: a
 * clock counts just that, but for the calls around the round. The thread's CPU clock is no
 * yardstick: it includes the switch from the thread before, in which events are stopped, and a
 * hypervisor may stop the CPU there (0.2 ms a switch were seen at a load of 40).
 */
static uint64_t least(uint64_t kind, uint64_t ran_ns)
{
	assert_true(ran_ns >= burnt_ns / 10);
	if (kind == PERF_COUNT_SW_PAGE_FAULTS)
		return PAGES;
	return kind == PERF_COUNT_SW_DUMMY ? 0 : ran_ns - ran_ns / 10;
}

struct last {
	uint64_t counts[2], ran_ns;
};

static struct pmc_group *must_group(const uint64_t kind[2])
{
	const struct pmc_counter_event events[2] = { software(kind[0]), software(kind[1]) };
	struct pmc_failure failure = { 0 };
	struct pmc_group *group;

	if (pmc_group_open(&group, events, 2, NULL, &failure))
		fail_msg("%s: %s", failure.what, failure.advice);
	return group;
}

/* Both values have grown by a round's work since the last call. */
static void assert_round(const struct pmc_group *group, const uint64_t kind[2], struct last *last)
{
	struct pmc_group_value values[2];
	struct pmc_group_times times;

	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t more = values[i].count - last->counts[i];
		uint64_t expected = least(kind[i], times.running_ns - last->ran_ns);

		if (more < expected)
			fail_msg("software event %u: %llu more, expected %llu", (unsigned)kind[i],
				 (unsigned long long)more, (unsigned long long)expected);
		last->counts[i] = values[i].count;
	}
	last->ran_ns = times.running_ns;
}

static void test_group(void **state)
{
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct pmc_group *group = must_group(kinds[k]);
		struct last last = { 0 };

		for (unsigned i = 0; i < ROUNDS; i++) {
			assert_int_equal(pmc_group_enable(group), 0);
			work();
			assert_int_equal(pmc_group_disable(group), 0);
			assert_round(group, kinds[k], &last);
		}
		pmc_group_close(group);
	}
}

static void test_reset_between(void **state)
{
	struct pmc_group *group = must_group(kinds[0]);

	assert_int_equal(pmc_group_enable(group), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct last last = { 0 };
		assert_int_equal(pmc_group_reset(group), 0);
		work();
		assert_round(group, kinds[0], &last);
	}
	pmc_group_close(group);
}

/* One member is stopped and started while its leader runs on. */
static void test_member(void **state)
{
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct pmc_group *group = must_group(kinds[k]);
		struct pmc_counter *member = pmc_group_at(group, 1);
		uint64_t enabled_ns, running_ns, count, stopped[2];
		struct last last = { 0 };

		assert_int_equal(pmc_group_enable(group), 0);
		for (unsigned i = 0; i < ROUNDS; i++) {
			assert_int_equal(pmc_counter_disable(member), 0);
			assert_int_equal(pmc_counter_enable(member), 0);
			work();
			assert_round(group, kinds[k], &last);
		}
		assert_int_equal(
			pmc_counter_read_count_and_time(member, &count, &enabled_ns, &running_ns),
			0);
		assert_int_equal(enabled_ns, running_ns);
		/* A stopped leader is not started by its member. */
		assert_int_equal(pmc_group_disable(group), 0);
		assert_int_equal(pmc_counter_enable(member), 0);
		assert_int_equal(pmc_counter_read(member, &stopped[0]), 0);
		work();
		assert_int_equal(pmc_counter_read(member, &stopped[1]), 0);
		assert_int_equal(stopped[0], stopped[1]);
		pmc_group_close(group);
	}
}

/* The library knows an adopted leader, not its members. */
static void test_adopted(void **state)
{
	struct pmc_group *group = must_group(kinds[0]);
	const struct pmc_counter *leader = pmc_group_at(group, 0);
	struct pmc_counter *adopted;
	struct last last = { 0 };

	assert_int_equal(
		pmc_counter_adopt(&adopted, dup(pmc_counter_fd(leader)), pmc_counter_attr(leader)),
		0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(pmc_counter_enable_group(adopted), 0);
		work();
		assert_int_equal(pmc_counter_disable_group(adopted), 0);
		assert_round(group, kinds[0], &last);
	}
	pmc_counter_close(adopted);
	pmc_group_close(group);
}

/* The group of the agent's threads, which pmctl ctl stops and starts. */
static void test_agent_group(void **state)
{
	static const struct pmc_event events[2] = {
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS },
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK },
	};
	uint64_t id, last = 0, ran_ns = 0, words[PMC_PERF_GROUP_WORDS(2)];
	struct pmc_reading reading;
	struct pmc_attr attrs[2];
	int fds[2];

	for (unsigned i = 0; i < 2; i++)
		pmc_perf_group_attr(&events[i], PMC_SCOPE_ALL, i == 0, &attrs[i]);
	assert_int_equal(pmc_perf_group_open(attrs, 2, &PMC_PERF_SELF, fds, &id), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(pmc_perf_group_enable(fds[0]), 0);
		work();
		assert_int_equal(pmc_perf_group_disable(fds[0]), 0);
		pmc_perf_group_read(fds[0], id, 2, &reading, words);
		assert_int_equal(reading.n, 2);
		assert_true(words[1] - last >=
			    least(PERF_COUNT_SW_TASK_CLOCK, reading.running_ns - ran_ns));
		last = words[1];
		ran_ns = reading.running_ns;
	}
	pmc_perf_group_close(fds, 2);
}

static void test_typed(void **state)
{
	struct soft_values before = { 0 }, now;
	struct soft group;

	assert_int_equal(soft_open(&group, 0, -1), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(soft_enable(&group), 0);
		work();
		assert_int_equal(soft_disable(&group), 0);
		assert_int_equal(soft_read(&group, &now), 0);
		assert_true(now.faults - before.faults >= PAGES);
		assert_true(now.clock - before.clock >=
			    least(PERF_COUNT_SW_TASK_CLOCK,
				  now.time_running_ns - before.time_running_ns));
		before = now;
	}
	soft_close(&group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group),	    cmocka_unit_test(test_reset_between),
		cmocka_unit_test(test_member),	    cmocka_unit_test(test_adopted),
		cmocka_unit_test(test_agent_group), cmocka_unit_test(test_typed),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
