/* SPDX-License-Identifier: MIT */
/* test_counter.c - each call of pmc/counter.h for single counters, on this kernel. */
#include "tests/unit/counter_try.h"

#include <linux/bpf.h>
#include <pthread.h>

static void test_starts_disabled(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter = must_open(&event, NULL);
	uint64_t count = 77;

	touch_pages(10, 4096);
	assert_int_equal(pmc_counter_read(counter, &count), -EAGAIN);
	assert_int_equal(count, 77);
	pmc_counter_close(counter);
}

static void test_enable_disable(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_counter *counter = must_open(&event, NULL);
	uint64_t count;

	assert_int_equal(pmc_counter_enable(counter), 0);
	calls(100);
	assert_int_equal(pmc_counter_disable(counter), 0);
	calls(1000);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, 100);
	assert_int_equal(pmc_counter_enable(counter), 0);
	calls(11);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, 111);
	pmc_counter_close(counter);
}

static void test_reset_covers_the_times(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_counter *counter = must_open(&event, NULL);
	uint64_t count, enabled, running, before;

	pmc_counter_enable(counter);
	calls(5);
	burn_ns(20000000);
	assert_int_equal(pmc_counter_disable(counter), 0);
	assert_int_equal(pmc_counter_read_count_and_time(counter, &count, &before, &running), 0);
	assert_int_equal(count, 5);
	assert_true(before >= 5000000);
	assert_int_equal(pmc_counter_reset(counter), 0);

	/* Not enabled since the reset: no count, and both times are 0. */
	count = 77;
	assert_int_equal(pmc_counter_read_count_and_time(counter, &count, &enabled, &running),
			 -EAGAIN);
	assert_int_equal(count, 77);
	assert_int_equal(enabled, 0);
	assert_int_equal(running, 0);

	pmc_counter_enable(counter);
	calls(3);
	pmc_counter_disable(counter);
	assert_int_equal(pmc_counter_read_count_and_time(counter, &count, &enabled, &running), 0);
	assert_int_equal(count, 3);
	assert_true(enabled > 0 && enabled < before);
	assert_int_equal(enabled, running);
	pmc_counter_close(counter);
}

static void test_read_full(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter_reading reading;
	struct pmc_counter *counter;
	uint64_t id;

	open.read_format = PERF_FORMAT_LOST;
	open.enabled = true;
	counter = must_open(&event, &open);
	touch_pages(256, 4096);
	assert_int_equal(pmc_counter_read_full(counter, &reading), 0);
	assert_in_range(reading.count, 256, 400);
	assert_true(reading.has_times && reading.has_id && reading.has_lost);
	assert_true(reading.enabled_ns > 0);
	assert_int_equal(reading.enabled_ns, reading.running_ns);
	assert_int_equal(pmc_counter_id(counter, &id), 0);
	assert_int_not_equal(id, 0);
	assert_int_equal(reading.id, id);
	assert_int_equal(reading.lost, 0);
	pmc_counter_close(counter);
}

/* A ring of one page that is never emptied: records that do not fit are counted as lost. */
static void test_read_full_counts_the_lost(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter_reading reading;
	struct pmc_counter *counter;
	unsigned stored = 0;
	char *ring;

	open.read_format = PERF_FORMAT_LOST;
	open.sample_period = 1;
	open.sample_type = PERF_SAMPLE_TID;
	counter = must_open(&event, &open);
	ring = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pmc_counter_fd(counter), 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	pmc_counter_enable(counter);
	calls(1000);
	pmc_counter_disable(counter);
	stored = (unsigned)(((struct perf_event_mmap_page *)ring)->data_head / 16);
	assert_int_equal(pmc_counter_read_full(counter, &reading), 0);
	assert_int_equal(reading.count, 1000);
	assert_in_range(stored, 1, 256);
	assert_int_equal(reading.lost, 1000 - stored);
	munmap(ring, 2 * 4096);
	pmc_counter_close(counter);
}

static void test_refresh(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_mmap_page *ring;
	struct pmc_counter *counter;

	open.sample_period = 1;
	counter = must_open(&event, &open);
	ring = ring_map(counter, PROT_READ | PROT_WRITE);
	assert_int_equal(pmc_counter_refresh(counter, 3), 0);
	calls(100);
	/* The kernel stops the counter after the third overflow, asynchronously (irq_work). */
	for (int i = 0; i < 1000 && ring_count(ring, PERF_RECORD_SAMPLE) < 3; i++)
		sched_yield();
	assert_int_equal(ring_count(ring, PERF_RECORD_SAMPLE), 3);
	assert_int_equal(pmc_counter_refresh(counter, 0), -EINVAL);
	assert_int_equal(pmc_counter_refresh(counter, -1), -EINVAL);
	ring_unmap(ring);
	pmc_counter_close(counter);

	open.sample_period = 0;
	open.inherit = true;
	counter = must_open(&event, &open);
	assert_int_equal(pmc_counter_refresh(counter, 1), -EINVAL);
	pmc_counter_close(counter);
}

static void test_set_period(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_mmap_page *ring;
	struct pmc_counter *counter;

	open.sample_period = 1000000;
	counter = must_open(&event, &open);
	ring = ring_map(counter, PROT_READ | PROT_WRITE);
	assert_int_equal(pmc_counter_set_period(counter, 10), 0);
	assert_int_equal(pmc_counter_attr(counter)->sample_period, 10);
	pmc_counter_enable(counter);
	calls(100);
	pmc_counter_disable(counter);
	assert_in_range(ring_count(ring, PERF_RECORD_SAMPLE), 9, 10);
	assert_int_equal(pmc_counter_set_period(counter, 0), -EINVAL);
	assert_int_equal(pmc_counter_attr(counter)->sample_period, 10);
	ring_unmap(ring);
	pmc_counter_close(counter);

	counter = must_open(&event, NULL);
	assert_int_equal(pmc_counter_set_period(counter, 10), -EINVAL);
	pmc_counter_close(counter);
}

static void test_set_filter(void **state)
{
	struct pmc_counter_event event, faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter;
	struct pmc_failure why;
	uint64_t count;

	getppid_event();
	assert_int_equal(pmc_counter_event_tracepoint(&event, "raw_syscalls", "sys_enter", NULL),
			 0);
	counter = must_open(&event, NULL);
	assert_int_equal(pmc_counter_set_filter(counter, "id =="), -EINVAL);
	char text[32];

	snprintf(text, sizeof(text), "id == %d", SYS_getppid);
	assert_int_equal(pmc_counter_set_filter(counter, text), 0);
	assert_int_equal(pmc_counter_set_filter(counter, text), -EEXIST);
	pmc_counter_explain(counter, -EEXIST, &why);
	assert_non_null(strstr(why.advice, "has a filter"));
	pmc_counter_enable(counter);
	calls(10);
	for (int i = 0; i < 50; i++)
		syscall(SYS_getuid);
	calls(10);
	pmc_counter_disable(counter);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, 20);
	pmc_counter_close(counter);

	counter = must_open(&faults, NULL);
	assert_int_equal(pmc_counter_set_filter(counter, "id == 1"), -EINVAL);
	pmc_counter_close(counter);
}

/* A BPF program that returns 0 suppresses the sample. */
static int load_program(enum bpf_prog_type type, int result)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = result },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t) "MIT";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void test_set_bpf(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_counter *counter = must_open(&event, NULL);
	int swallow = load_program(BPF_PROG_TYPE_TRACEPOINT, 0);
	uint64_t count;

	if (swallow < 0 && (errno == ENOSYS || errno == EPERM)) {
		print_message("skip: no BPF program can be loaded here: %s\n", strerror(errno));
		pmc_counter_close(counter);
		skip();
	}
	assert_true(swallow >= 0);
	assert_int_equal(pmc_counter_enable(counter), 0);
	calls(10);
	assert_int_equal(pmc_counter_set_bpf(counter, swallow), 0);
	calls(1000);
	assert_int_equal(pmc_counter_disable(counter), 0);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, 10);
	assert_int_equal(pmc_counter_set_bpf(counter, swallow), -EEXIST);
	close(swallow);
	assert_int_equal(pmc_counter_set_bpf(counter, swallow), -EBADF);
	pmc_counter_close(counter);
}

static void test_configuration(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct pmc_counter *counter = must_open(&event, NULL);
	const struct perf_event_attr *attr = pmc_counter_attr(counter);

	assert_int_equal(attr->type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr->config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_true(attr->size >= 64);
	assert_true(attr->disabled);
	assert_true(attr->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED);
	assert_true(attr->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	assert_int_equal(fcntl(pmc_counter_fd(counter), F_GETFD), FD_CLOEXEC);
	pmc_counter_close(counter);
}

static void test_fd_out_and_in(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_counter *counter = must_open(&event, NULL);
	struct perf_event_attr attr = *pmc_counter_attr(counter);
	unsigned before = open_fds();
	uint64_t count;
	int fd;

	pmc_counter_enable(counter);
	calls(7);
	fd = pmc_counter_release(counter);
	assert_true(fd >= 0);
	calls(7);
	assert_int_equal(pmc_counter_adopt(&counter, fd, &attr), 0);
	assert_int_equal(pmc_counter_fd(counter), fd);
	assert_memory_equal(pmc_counter_attr(counter), &attr, sizeof(attr));
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, 14);
	assert_int_equal(open_fds(), before);
	pmc_counter_close(counter);
	assert_int_equal(open_fds(), before - 1);
}

static void test_adopt_what_is_none(void **state)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct pmc_counter *counter = (void *)1;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pmc_counter_adopt(&counter, ends[0], &attr), -ENOTTY);
	assert_null(counter);
	assert_int_equal(pmc_counter_adopt(&counter, -1, &attr), -EBADF);
	assert_int_equal(pmc_counter_adopt(&counter, 4095, &attr), -EBADF);
	attr.size = 48;
	assert_int_equal(pmc_counter_adopt(&counter, ends[0], &attr), -EINVAL);
	/* After a failure the descriptor is still the caller's. */
	assert_true(fcntl(ends[0], F_GETFD) >= 0);
	close(ends[0]);
	close(ends[1]);
}

/* With PERF_FORMAT_GROUP, reading any member returns the whole group, the leader first. */
static void test_adopt_a_member(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int leader = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), fd;
	struct pmc_counter_reading reading;
	struct pmc_counter *counter;
	uint64_t count, id;

	attr.disabled = 0;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);
	assert_true(leader >= 0 && fd >= 0);
	assert_int_equal(pmc_counter_adopt(&counter, fd, &attr), 0);
	assert_int_equal(pmc_counter_enable_group(counter), 0);
	touch_pages(64, 4096);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_in_range(count, 64, 300);
	assert_int_equal(pmc_counter_id(counter, &id), 0);
	assert_int_equal(pmc_counter_read_full(counter, &reading), 0);
	assert_int_equal(reading.id, id);
	assert_int_equal(pmc_counter_reset(counter), 0);
	touch_pages(16, 4096);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_in_range(count, 16, 60);
	pmc_counter_close(counter);
	close(leader);
}

/* Formats that this library would not choose: without times, and a whole group. */
static void test_adopt_any_format(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
	};
	struct pmc_counter_reading reading;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	struct pmc_counter *counter;
	uint64_t count = 0;
	int fd, sibling;

	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	assert_true(fd >= 0);
	assert_int_equal(pmc_counter_adopt(&counter, fd, &attr), 0);
	touch_pages(16, 4096);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_in_range(count, 16, 100);
	assert_int_equal(pmc_counter_read_full(counter, &reading), 0);
	assert_false(reading.has_times || reading.has_id || reading.has_lost);
	assert_int_equal(pmc_counter_read_group(counter, &times, values, 2), -ENOTSUP);
	assert_int_equal(pmc_counter_reset(counter), 0);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_in_range(count, 0, 15);
	pmc_counter_close(counter);

	attr.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	attr.read_format = 0;
	sibling = (int)syscall(SYS_perf_event_open, &attr, 0, -1, fd, 0);
	assert_true(sibling >= 0);
	attr.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	assert_int_equal(pmc_counter_adopt(&counter, fd, &attr), 0);
	touch_pages(16, 4096);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_in_range(count, 16, 200);
	assert_int_equal(pmc_counter_disable_group(counter), 0);
	assert_int_equal(pmc_counter_reset_group(counter), 0);
	assert_int_equal(pmc_counter_enable_group(counter), 0);
	touch_pages(256, 4096);
	assert_int_equal(pmc_counter_disable_group(counter), 0);
	assert_int_equal(pmc_counter_read_group(counter, &times, values, 2), 0);
	assert_int_equal(times.n, 2);
	assert_in_range(values[0].count, 256, 400);
	assert_int_equal(values[1].count, values[0].count);
	pmc_counter_close(counter);
	close(sibling);
}

static void test_closing_nothing(void **state)
{
	pmc_counter_close(NULL);
	pmc_group_close(NULL);
}

/* An event of another thread, by thread id. */
static int gate[2][2];
static pid_t other_tid;

static void *other(void *arg)
{
	char c;

	other_tid = (pid_t)syscall(SYS_gettid);
	if (write(gate[0][1], "x", 1) == 1 && read(gate[1][0], &c, 1) == 1)
		calls(42);
	return NULL;
}

static void test_another_thread(void **state)
{
	struct pmc_counter_event event = getppid_event();
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter *counter;
	pthread_t thread;
	uint64_t count;
	char c;

	assert_int_equal(pipe(gate[0]), 0);
	assert_int_equal(pipe(gate[1]), 0);
	assert_int_equal(pthread_create(&thread, NULL, other, NULL), 0);
	assert_int_equal(read(gate[0][0], &c, 1), 1);
	open.pid = other_tid;
	open.enabled = true;
	counter = must_open(&event, &open);
	calls(1000);
	assert_int_equal(write(gate[1][1], "x", 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(count, 42);
	pmc_counter_close(counter);
	for (int i = 0; i < 4; i++)
		close(gate[i / 2][i % 2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_disabled),
		cmocka_unit_test(test_enable_disable),
		cmocka_unit_test(test_reset_covers_the_times),
		cmocka_unit_test(test_read_full),
		cmocka_unit_test(test_read_full_counts_the_lost),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_set_period),
		cmocka_unit_test(test_set_filter),
		cmocka_unit_test(test_set_bpf),
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_fd_out_and_in),
		cmocka_unit_test(test_adopt_what_is_none),
		cmocka_unit_test(test_adopt_any_format),
		cmocka_unit_test(test_adopt_a_member),
		cmocka_unit_test(test_closing_nothing),
		cmocka_unit_test(test_another_thread),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
