/* SPDX-License-Identifier: MIT */
/* test_typed_read.c - made-up readings of a typed group: scaling, resets, order, errors. */
#include "lib/counter/counter.h"
#include "tests/unit/unit.h"

#include <pmc/group.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define TRIO(X)                                                                                    \
	X(one, "cycles", "", "first")                                                              \
	X(two, "instructions", "", "second")                                                       \
	X(three, "task-clock", "ns", "third")
PMC_GROUP(trio, TRIO)

/* A group whose leader is a pipe: the bytes written to it are the next reading. */
struct pipe_group {
	struct trio group;
	struct pmc_group *counters;
	int to;
};

static int group_setup(void **state)
{
	struct pipe_group *p = calloc(1, sizeof(*p));
	int fds[2];

	if (!p || pipe(fds))
		return -1;
	p->to = fds[1];
	p->counters = calloc(1, sizeof(*p->counters));
	p->counters->members = calloc(3, sizeof(*p->counters->members));
	p->counters->count = 3;
	for (unsigned i = 0; i < 3; i++) {
		struct pmc_counter *member = calloc(1, sizeof(*member));

		member->fd = i ? -1 : fds[0];
		member->id = 100 + i;
		member->attr.base.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
						PERF_FORMAT_GROUP;
		member->group = p->counters;
		p->counters->members[i] = member;
	}
	p->counters->zero = calloc(3, sizeof(*p->counters->zero));
	p->group.typed = (struct pmc_group_typed){ .counters = p->counters, .failed = -1 };
	*state = p;
	return 0;
}

static int group_teardown(void **state)
{
	struct pipe_group *p = *state;

	trio_close(&p->group);
	if (p->to >= 0)
		close(p->to);
	free(p);
	return 0;
}

static void reading(struct pipe_group *p, uint64_t enabled, uint64_t running, uint64_t one,
		    uint64_t two, uint64_t three)
{
	uint64_t words[] = { 3, enabled, running, one, 100, two, 101, three, 102 };

	assert_int_equal(write(p->to, words, sizeof(words)), sizeof(words));
}

static void assert_nothing(const struct trio_values *values)
{
	assert_int_equal(values->state, PMC_NOT_COUNTED);
	for (unsigned i = 0; i < trio_n_fields; i++)
		assert_true(trio_value(values, i) == PMC_NO_VALUE);
}

static void counted(void **state)
{
	struct pipe_group *p = *state;
	struct trio_values values;

	reading(p, 1000, 1000, 1, 2, 3);
	assert_int_equal(trio_read(&p->group, &values), 0);
	assert_int_equal(values.state, PMC_COUNTED);
	assert_int_equal(values.one, 1);
	assert_int_equal(values.two, 2);
	assert_int_equal(values.three, 3);
	assert_int_equal(values.time_enabled_ns, 1000);
	assert_int_equal(values.time_running_ns, 1000);
	/* A count of 0 is valid. */
	reading(p, 1000, 1000, 0, 0, 0);
	assert_int_equal(trio_read(&p->group, &values), 0);
	assert_int_equal(values.one, 0);
}

/* A double has 53 bits: 2^60 + 1 and 3 * (2^55 + 1) have no exact value as double. */
static void scaled_without_loss_above_53_bits(void **state)
{
	struct pipe_group *p = *state;
	struct trio_values values;
	const uint64_t big = (UINT64_C(1) << 55) + 1;

	reading(p, 3000, 1000, big, 7, 0);
	assert_int_equal(trio_read(&p->group, &values), 0);
	assert_int_equal(values.state, PMC_SCALED);
	assert_true(values.one == 3 * big);
	assert_int_equal(values.two, 21);
	assert_int_equal(values.three, 0);
	/* Rounded to nearest: 5 * 3 / 2 = 7.5. */
	reading(p, 3, 2, 5, 0, 0);
	assert_int_equal(trio_read(&p->group, &values), 0);
	assert_int_equal(values.one, 8);
	/* A scaled value above 64 bits is an error. */
	reading(p, 4000, 1000, UINT64_C(1) << 63, 0, 0);
	assert_int_equal(trio_read(&p->group, &values), -EOVERFLOW);
	assert_nothing(&values);
}

static void never_ran_is_not_zero(void **state)
{
	struct pipe_group *p = *state;
	struct trio_values values;

	reading(p, 5000, 0, 0, 0, 0);
	assert_int_equal(trio_read(&p->group, &values), -EBUSY);
	assert_nothing(&values);
	assert_int_equal(values.time_enabled_ns, 5000);
	assert_int_equal(values.time_running_ns, 0);
	reading(p, 0, 0, 0, 0, 0);
	assert_int_equal(trio_read(&p->group, &values), -EAGAIN);
	assert_nothing(&values);
}

/* Values after a reset must not be scaled by times before it. */
static void reset_covers_siblings_and_times(void **state)
{
	struct pipe_group *p = *state;
	struct trio_values values;

	reading(p, 4000, 1000, 256, 512, 768);
	assert_int_equal(trio_reset(&p->group), 0);
	reading(p, 5000, 2000, 512, 768, 1024);
	assert_int_equal(trio_read(&p->group, &values), 0);
	assert_int_equal(values.state, PMC_COUNTED);
	assert_int_equal(values.one, 256);
	assert_int_equal(values.two, 256);
	assert_int_equal(values.three, 256);
	assert_int_equal(values.time_enabled_ns, 1000);
	assert_int_equal(values.time_running_ns, 1000);
	/* Not scheduled since the reset: no value. */
	reading(p, 5000, 2000, 512, 768, 1024);
	assert_int_equal(trio_reset(&p->group), 0);
	reading(p, 5000, 2000, 512, 768, 1024);
	assert_int_equal(trio_read(&p->group, &values), -EAGAIN);
	assert_nothing(&values);
}

static void a_foreign_descriptor_is_not_read_as_ours(void **state)
{
	uint64_t other[] = { 3, 10, 10, 1, 100, 2, 101, 3, 7777 };
	uint64_t fewer[] = { 2, 10, 10, 1, 100, 2, 101, 0, 0 };
	struct pipe_group *p = *state;
	struct trio_values values;

	assert_int_equal(write(p->to, other, sizeof(other)), sizeof(other));
	assert_int_equal(trio_read(&p->group, &values), -EBADF);
	assert_nothing(&values);
	assert_int_equal(write(p->to, fewer, sizeof(fewer)), sizeof(fewer));
	assert_int_equal(trio_read(&p->group, &values), -EBADF);
	/* Short readings. */
	assert_int_equal(write(p->to, other, 5 * 8), 5 * 8);
	assert_int_equal(trio_read(&p->group, &values), -EBADF);
	assert_nothing(&values);
	assert_int_equal(write(p->to, other, 3), 3);
	assert_int_equal(trio_reset(&p->group), -EBADF);
	/* A failed reset changes nothing. */
	reading(p, 10, 10, 1, 2, 3);
	assert_int_equal(trio_read(&p->group, &values), 0);
	assert_int_equal(values.three, 3);
}

static void closed_is_an_error(void **state)
{
	struct pipe_group *p = *state;
	struct trio_values values;

	trio_close(&p->group);
	trio_close(&p->group);
	trio_close(NULL);
	assert_int_equal(trio_read(&p->group, &values), -EBADF);
	assert_nothing(&values);
	assert_int_equal(trio_enable(&p->group), -EBADF);
	assert_int_equal(trio_disable(&p->group), -EBADF);
	assert_int_equal(trio_reset(&p->group), -EBADF);
}

/* No call changes errno. */
static void errno_is_left_alone(void **state)
{
	struct pipe_group *p = *state;
	struct trio_values values;

	errno = 4242;
	assert_int_equal(trio_enable(&p->group), -EBADF);
	close(p->counters->members[0]->fd);
	assert_int_equal(trio_read(&p->group, &values), -EBADF);
	trio_close(&p->group);
	assert_int_equal(errno, 4242);
}

static void fields_can_be_looped_over(void **state)
{
	assert_int_equal(trio_n_fields, 3);
	assert_int_equal(sizeof(trio_fields) / sizeof(trio_fields[0]), 3);
	assert_string_equal(trio_fields[1].name, "two");
	assert_string_equal(trio_fields[1].event, "instructions");
	assert_string_equal(trio_fields[2].unit, "ns");
	assert_string_equal(trio_fields[0].doc, "first");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, group_setup, group_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counted),
		TEST(scaled_without_loss_above_53_bits),
		TEST(never_ran_is_not_zero),
		TEST(reset_covers_siblings_and_times),
		TEST(a_foreign_descriptor_is_not_read_as_ours),
		TEST(closed_is_an_error),
		TEST(errno_is_left_alone),
		cmocka_unit_test(fields_can_be_looped_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
