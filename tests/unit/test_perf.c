/* SPDX-License-Identifier: MIT */
/* test_perf.c - readings in every format, short readings, and exact scaling. */
#include "lib/base/number.h"
#include "lib/count/group.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ENABLED PERF_FORMAT_TOTAL_TIME_ENABLED
#define RUNNING PERF_FORMAT_TOTAL_TIME_RUNNING
#define ID	PERF_FORMAT_ID
#define GROUP	PERF_FORMAT_GROUP
#define LOST	PERF_FORMAT_LOST
#define ALL	(ENABLED | RUNNING | ID | GROUP | LOST)

/* Builds and decodes a reading as perf_event_open(2) describes it, for each of the 32 formats. */
static void test_decodes_every_format(void **state)
{
	assert_int_equal(ALL, 31);
	for (uint64_t format = 0; format <= ALL; format++) {
		unsigned n = format & GROUP ? 3 : 1;
		struct pmc_record_value values[3];
		struct pmc_perf_head head;
		uint64_t words[16];
		size_t len = 0;

		if (format & GROUP)
			words[len++] = n;
		else
			words[len++] = 1000;
		if (format & ENABLED)
			words[len++] = 70;
		if (format & RUNNING)
			words[len++] = 60;
		for (unsigned i = 0; i < n; i++) {
			if (format & GROUP)
				words[len++] = 1000 + i;
			if (format & ID)
				words[len++] = 2000 + i;
			if (format & LOST)
				words[len++] = 3000 + i;
		}
		assert_int_equal(pmc_perf_read_words(format, n), len);
		/* A reading that is one word short is an error; words after its end are ignored. */
		memset(values, 0xff, sizeof(values));
		assert_int_equal(pmc_perf_decode(words, len - 1, format, &head, values, 3),
				 -EINVAL);
		words[len] = 0xbad;
		assert_int_equal(pmc_perf_decode(words, len + 1, format, &head, values, 3), len);
		assert_int_equal(head.n, n);
		assert_int_equal(head.enabled_ns, format & ENABLED ? 70 : 0);
		assert_int_equal(head.running_ns, format & RUNNING ? 60 : 0);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(values[i].value, 1000 + i);
			assert_int_equal(values[i].id, format & ID ? 2000 + i : 0);
			assert_int_equal(values[i].lost, format & LOST ? 3000 + i : 0);
		}
		/* A short array is filled, and the number of members returned. */
		memset(values, 0xff, sizeof(values));
		assert_int_equal(pmc_perf_decode(words, len, format, &head, values, 0), len);
		assert_int_equal(head.n, n);
		assert_int_equal(values[0].value, UINT64_MAX);
	}
}

static void test_a_number_of_members_that_cannot_be(void **state)
{
	const uint64_t numbers[] = { 2, UINT64_MAX, UINT64_MAX / 2 + 1, UINT64_C(1) << 61 };
	struct pmc_record_value value;
	struct pmc_perf_head head;
	uint64_t words[3] = { 0 };

	for (size_t i = 0; i < 4; i++) {
		words[0] = numbers[i];
		assert_int_equal(pmc_perf_decode(words, 3, GROUP | ID, &head, &value, 1), -EINVAL);
	}
	words[0] = 0;
	assert_int_equal(pmc_perf_decode(words, 3, GROUP | ID, &head, &value, 1), 1);
	assert_int_equal(head.n, 0);
	assert_int_equal(pmc_perf_decode(words, 0, 0, &head, &value, 1), -EINVAL);
}

/* A pipe in place of a perf event, to choose what is read. */
static int holding(const void *bytes, size_t n)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, n), n);
	close(ends[1]);
	return ends[0];
}

static void test_short_reads(void **state)
{
	const uint64_t sent[4] = { 1, 2, 3, 4 };
	uint64_t words[5];
	int fd;

	fd = holding(sent, sizeof(sent));
	assert_int_equal(pmc_perf_read_some(fd, words, 4), 4);
	assert_memory_equal(words, sent, sizeof(sent));
	/* An empty pipe reads 0 bytes, like a pinned group in error. */
	assert_int_equal(pmc_perf_read_some(fd, words, 4), -ENODATA);
	close(fd);
	assert_int_equal(pmc_perf_read_some(fd, words, 1), -EBADF);

	fd = holding(sent, 12);
	assert_int_equal(pmc_perf_read_some(fd, words, 5), -EIO);
	close(fd);
	fd = holding(sent, 24);
	assert_int_equal(pmc_perf_read_some(fd, words, 5), 3);
	close(fd);
}

static void test_open_and_ioctl_tell_errno(void **state)
{
	struct pmc_attr attr = { .base = { .type = PERF_TYPE_SOFTWARE, .exclude_kernel = 1 } };
	uint64_t id = 0;
	int fd;

	attr.base.config = PERF_COUNT_SW_DUMMY;
	fd = pmc_perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		fail_msg("open: %s", strerror(-fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &id), 0);
	assert_int_not_equal(id, 0);
	close(fd);
	assert_int_equal(pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &id), -EBADF);
	assert_int_equal(pmc_perf_open(&attr, -1, -1, -1, 0), -EINVAL);
	attr.base.config = 0xffff;
	assert_int_equal(pmc_perf_open(&attr, 0, -1, -1, 0), -ENOENT);
}

/* After each disable and enable, a sibling counts as the leader does. */
static void test_a_group_restarts(void **state)
{
	static const uint64_t configs[] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK };
	uint64_t id, words[PMC_PERF_GROUP_WORDS(2)], last = 0;
	struct pmc_reading reading;
	struct pmc_attr attrs[2];
	const struct pmc_perf_target target = { .cpu = -1, .move_to = 100 };
	int fds[2];

	for (unsigned i = 0; i < 2; i++) {
		const struct pmc_event event = { .type = PERF_TYPE_SOFTWARE, .config = configs[i] };

		pmc_perf_group_attr(&event, PMC_SCOPE_USER, i == 0, &attrs[i]);
	}
	assert_int_equal(pmc_perf_group_open(attrs, 2, &target, fds, &id), 0);
	assert_in_range(fds[0], 100, 1000);
	for (unsigned round = 0; round < 4; round++) {
		assert_int_equal(pmc_perf_group_enable(fds[0]), 0);
		for (volatile unsigned i = 0; i < 100000; i++)
			;
		assert_int_equal(pmc_perf_group_disable(fds[0]), 0);
		pmc_perf_group_read(fds[0], id, 2, &reading, words);
		assert_int_equal(reading.error, 0);
		assert_true(words[1] > last);
		last = words[1];
	}
	pmc_perf_group_read(fds[0], id + 1, 2, &reading, words);
	assert_int_equal(reading.error, PMC_REASON_RECYCLED);
	pmc_perf_group_close(fds, 2);
	assert_int_equal(fds[1], -1);
}

/* raw * enabled / running, rounded to nearest; expected values by long division. */
static void test_scaling_is_exact(void **state)
{
	static const struct {
		uint64_t raw, enabled, running, value;
		int error;
	} all[] = {
		{ 0, 10, 10, 0, 0 },
		{ 0, 10, 5, 0, 0 },
		{ 7, 10, 10, 7, 0 },
		{ 7, 10, 5, 14, 0 },
		{ 1, 3, 2, 2, 0 },
		{ 1, 4, 3, 1, 0 },
		/* A double has 53 bits: floating point would give other values. */
		{ (UINT64_C(1) << 53) + 1, 10, 10, (UINT64_C(1) << 53) + 1, 0 },
		{ (UINT64_C(1) << 53) + 1, 2, 1, (UINT64_C(1) << 54) + 2, 0 },
		{ (UINT64_C(1) << 62) + 1, 3, 1, 3 * (UINT64_C(1) << 62) + 3, 0 },
		{ UINT64_C(9007199254740993), UINT64_C(3000000000000000003),
		  UINT64_C(1000000000000000001), UINT64_C(27021597764222979), 0 },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0 },
		{ UINT64_MAX, 2, 1, UINT64_MAX, -EOVERFLOW },
		{ UINT64_MAX, UINT64_MAX, 1, UINT64_MAX, -EOVERFLOW },
		/* Never scheduled: no division by 0, and no value. */
		{ 0, 10, 0, 77, -EAGAIN },
		{ 5, 0, 0, 77, -EAGAIN },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t value = 77;

		assert_int_equal(pmc_scaled(all[i].raw, all[i].enabled, all[i].running, &value),
				 all[i].error);
		if (value != all[i].value)
			fail_msg("row %zu: %llu", i, (unsigned long long)value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decodes_every_format),
		cmocka_unit_test(test_a_number_of_members_that_cannot_be),
		cmocka_unit_test(test_short_reads),
		cmocka_unit_test(test_open_and_ioctl_tell_errno),
		cmocka_unit_test(test_a_group_restarts),
		cmocka_unit_test(test_scaling_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
