/* SPDX-License-Identifier: MIT */
/* test_counter_group.c - groups: started, stopped and read together, opened completely or not at
 * all. */
#include "tests/unit/counter_try.h"

#include <pthread.h>

/* Entry and exit of getppid(2): both events count exactly the number of calls. */
static void pair(struct pmc_counter_event events[2])
{
	struct pmc_failure failure = { 0 };

	events[0] = getppid_event();
	if (pmc_counter_event_tracepoint(&events[1], "syscalls", "sys_exit_getppid", &failure))
		fail_msg("%s: %s", failure.what, failure.advice);
}

static struct pmc_group *must_group(const struct pmc_counter_event *events, size_t n,
				    const struct pmc_open_options *open)
{
	struct pmc_failure failure = { 0 };
	struct pmc_group *group;
	int error = pmc_group_open(&group, events, n, open, &failure);

	if (error)
		fail_msg("group: %s: %s: %s", strerror(-error), failure.what, failure.advice);
	return group;
}

static void test_reads_all_at_once(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	uint64_t id, count;

	pair(events);
	group = must_group(events, 2, NULL);
	assert_int_equal(pmc_group_count(group), 2);
	calls(5);
	assert_int_equal(pmc_group_read(group, &times, values, 2), -EAGAIN);
	assert_int_equal(times.n, 2);
	assert_int_equal(pmc_group_enable(group), 0);
	calls(100);
	assert_int_equal(pmc_group_disable(group), 0);
	calls(1000);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_int_equal(times.n, 2);
	assert_true(times.enabled_ns > 0);
	assert_int_equal(times.enabled_ns, times.running_ns);
	for (size_t i = 0; i < 2; i++) {
		struct pmc_counter *member = pmc_group_at(group, i);

		assert_int_equal(values[i].count, 100);
		assert_int_equal(pmc_counter_id(member, &id), 0);
		assert_int_equal(values[i].id, id);
		assert_int_equal(pmc_group_index(group, member), i);
		assert_int_equal(pmc_counter_read(member, &count), 0);
		assert_int_equal(count, 100);
		assert_int_equal(pmc_group_scale(&times, &values[i], &count), 0);
		assert_int_equal(count, 100);
	}
	assert_null(pmc_group_at(group, 2));
	pmc_group_close(group);
}

static void test_lost_in_a_group(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	uint64_t stored;
	char *ring;

	pair(events);
	open.read_format = PERF_FORMAT_LOST;
	open.sample_period = 1;
	open.sample_type = PERF_SAMPLE_TID;
	group = must_group(events, 2, &open);
	ring = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
		    pmc_counter_fd(pmc_group_at(group, 1)), 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	pmc_group_enable(group);
	calls(1000);
	pmc_group_disable(group);
	stored = ((struct perf_event_mmap_page *)ring)->data_head / 16;
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_int_equal(values[1].count, 1000);
	assert_int_equal(values[1].lost, 1000 - stored);
	assert_int_equal(values[0].lost, 0);
	munmap(ring, 2 * 4096);
	pmc_group_close(group);
}

static void test_short_arrays(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_group *group;
	struct pmc_group_value values[2] = { { 0 }, { 77, 77, 77, 0 } };
	struct pmc_group_times times;

	pair(events);
	group = must_group(events, 2, NULL);
	pmc_group_enable(group);
	calls(10);
	pmc_group_disable(group);
	assert_int_equal(pmc_group_read(group, &times, values, 1), -ENOSPC);
	assert_int_equal(times.n, 2);
	assert_int_equal(values[0].count, 10);
	assert_int_equal(values[1].count, 77);
	assert_int_equal(pmc_group_read(group, &times, NULL, 0), -ENOSPC);
	pmc_group_close(group);
}

/* First a group whose reading exceeds a small buffer on the stack, then the largest that the kernel
 * permits. */
static void test_many_members(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_failure failure = { 0 };
	struct pmc_group_value *values;
	struct pmc_group *group;
	struct pmc_group_times times;
	int error = 0;
	size_t n = 0;

	pair(events);
	group = must_group(NULL, 0, NULL);
	while (!error && n < 1500) {
		error = pmc_group_add(group, &events[n % 2], NULL, NULL, &failure);
		n += !error;
	}
	if (n < 900)
		fail_msg("%zu members: %s: %s", n, strerror(-error), failure.advice);
	assert_true(error == -E2BIG || error == -EMFILE);
	values = calloc(n, sizeof(*values));
	pmc_group_enable(group);
	calls(3);
	pmc_group_disable(group);
	assert_int_equal(pmc_group_reset(group), 0);
	pmc_group_enable(group);
	calls(7);
	pmc_group_disable(group);
	assert_int_equal(pmc_group_read(group, &times, values, n), 0);
	assert_int_equal(times.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(values[i].count, 7);
	free(values);
	pmc_group_close(group);
}

static void test_empty_group(void **state)
{
	struct pmc_group *group = must_group(NULL, 0, NULL);
	struct pmc_group_value value;
	struct pmc_group_times times;

	assert_int_equal(pmc_group_count(group), 0);
	assert_null(pmc_group_at(group, 0));
	assert_int_equal(pmc_group_enable(group), -ENOENT);
	assert_int_equal(pmc_group_disable(group), -ENOENT);
	assert_int_equal(pmc_group_reset(group), -ENOENT);
	assert_int_equal(pmc_group_read(group, &times, &value, 1), -ENOENT);
	pmc_group_close(group);
}

static void test_members_belong_to_the_group(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_group *group;
	struct pmc_counter *member, *stranger;
	uint64_t count;

	pair(events);
	group = must_group(events, 1, NULL);
	assert_int_equal(pmc_group_add(group, &events[1], NULL, &member, NULL), 0);
	assert_ptr_equal(pmc_group_at(group, 1), member);
	assert_int_equal(pmc_counter_release(member), -EBUSY);
	pmc_counter_close(member);
	stranger = must_open(&events[0], NULL);
	assert_int_equal(pmc_group_index(group, stranger), -ENOENT);
	pmc_counter_close(stranger);
	/* The calls for groups, given a member, apply to its whole group. */
	assert_int_equal(pmc_counter_enable_group(member), 0);
	calls(10);
	assert_int_equal(pmc_counter_disable_group(member), 0);
	assert_int_equal(pmc_counter_read(member, &count), 0);
	assert_int_equal(count, 10);
	assert_int_equal(pmc_counter_read(pmc_group_at(group, 0), &count), 0);
	assert_int_equal(count, 10);
	pmc_group_close(group);
}

/* Resetting one member leaves the others unchanged. */
static void test_reset_of_one_member(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	uint64_t count;

	pair(events);
	group = must_group(events, 2, NULL);
	pmc_group_enable(group);
	calls(10);
	assert_int_equal(pmc_counter_reset(pmc_group_at(group, 0)), 0);
	calls(1);
	assert_int_equal(pmc_counter_reset(pmc_group_at(group, 1)), 0);
	calls(2);
	pmc_group_disable(group);
	assert_int_equal(pmc_counter_read(pmc_group_at(group, 0), &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(pmc_counter_read(pmc_group_at(group, 1), &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_int_equal(values[0].count, 13);
	assert_int_equal(values[1].count, 13);
	pmc_group_close(group);
}

/* A disabled member of an enabled group does not count, the others do. */
static void test_disable_one_member(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;

	pair(events);
	group = must_group(events, 2, NULL);
	pmc_group_enable(group);
	calls(10);
	assert_int_equal(pmc_counter_disable(pmc_group_at(group, 1)), 0);
	calls(5);
	pmc_group_disable(group);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_int_equal(values[0].count, 15);
	assert_int_equal(values[1].count, 10);
	pmc_group_close(group);
}

/* Options of a group apply to its leader; a member may have its own. */
static void test_options_of_members(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_open_options open = PMC_OPEN_INIT, other = PMC_OPEN_INIT;
	struct pmc_failure failure = { 0 };
	struct pmc_group *group;
	const struct perf_event_attr *attr;
	struct pmc_counter *member;

	pair(events);
	open.pinned = open.exclusive = open.exclude_user = true;
	group = must_group(events, 2, &open);
	attr = pmc_counter_attr(pmc_group_at(group, 0));
	assert_true(attr->pinned && attr->exclusive && attr->exclude_user && attr->disabled);
	assert_true(attr->read_format & PERF_FORMAT_GROUP);
	attr = pmc_counter_attr(pmc_group_at(group, 1));
	assert_false(attr->pinned || attr->exclusive || attr->disabled);
	assert_true(attr->exclude_user);
	assert_false(attr->read_format & PERF_FORMAT_GROUP);
	other.sample_period = 10;
	assert_int_equal(pmc_group_add(group, &events[0], &other, &member, &failure), 0);
	assert_int_equal(pmc_counter_attr(member)->sample_period, 10);
	assert_false(pmc_counter_attr(member)->exclude_user);
	other.pinned = true;
	assert_int_equal(pmc_group_add(group, &events[0], &other, &member, &failure), -EINVAL);
	assert_string_equal(failure.what, "pinned");
	assert_null(member);
	assert_int_equal(pmc_group_count(group), 3);
	pmc_group_close(group);
}

/* A group opened enabled starts when complete: the leader does not count the opening of members. */
static void test_enabled_from_the_start(void **state)
{
	struct pmc_counter_event events[3];
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_group *group;
	struct pmc_group_value values[3];
	struct pmc_group_times times;

	getppid_event();
	assert_int_equal(
		pmc_counter_event_tracepoint(&events[0], "raw_syscalls", "sys_enter", NULL), 0);
	events[1] = events[2] = events[0];
	open.enabled = true;
	group = must_group(events, 3, &open);
	calls(10);
	assert_int_equal(pmc_group_read(group, &times, values, 3), 0);
	assert_true(values[0].count >= 11);
	assert_int_equal(values[1].count, values[0].count);
	assert_int_equal(values[2].count, values[0].count);
	pmc_group_close(group);
}

static volatile pid_t worker;

static void *work(void *arg)
{
	worker = (pid_t)syscall(SYS_gettid);
	calls((unsigned)(uintptr_t)arg);
	return NULL;
}

/* Puts the two threads on different CPUs if possible: when two threads with copies of the same
 * events meet on a CPU, the kernel may swap their event contexts, and their counts. */
static void run_thread(unsigned n)
{
	cpu_set_t all, one;
	pthread_attr_t attr;
	pthread_t thread;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	one = all;
	if (CPU_COUNT(&all) > 1)
		CPU_CLR(cpu, &one);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	assert_int_equal(pthread_create(&thread, &attr, work, (void *)(uintptr_t)n), 0);
	pthread_attr_destroy(&attr);
	pthread_join(thread, NULL);
	/* After pthread_join the thread may still exist; its counts are added to the parent's when
	 * it is gone. */
	while (syscall(SYS_tgkill, getpid(), worker, 0) == 0)
		sched_yield();
	sched_setaffinity(0, sizeof(all), &all);
}

/* Counts of ended children are in the parent's event; a reset removes these, too. */
static void test_inherited_group(void **state)
{
	struct pmc_counter_event events[2];
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_group *group;
	struct pmc_group_value values[2];
	struct pmc_group_times times;
	uint64_t before;

	pair(events);
	open.inherit = true;
	group = must_group(events, 2, &open);
	pmc_group_enable(group);
	run_thread(100);
	calls(11);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_int_equal(values[0].count, 111);
	assert_int_equal(values[1].count, 111);
	before = times.enabled_ns;
	assert_int_equal(pmc_group_disable(group), 0);
	assert_int_equal(pmc_group_reset(group), 0);
	assert_int_equal(pmc_group_enable(group), 0);
	run_thread(7);
	assert_int_equal(pmc_group_disable(group), 0);
	assert_int_equal(pmc_group_read(group, &times, values, 2), 0);
	assert_int_equal(values[0].count, 7);
	assert_int_equal(values[1].count, 7);
	assert_true(times.enabled_ns > 0 && times.enabled_ns < 1000 * before);
	pmc_group_close(group);
}

/* A member that is added after a child has copied the group: parent and child differ. */
static int added[2][2];

static void *wait_there(void *arg)
{
	char c;

	if (write(added[0][1], "x", 1) != 1 || read(added[1][0], &c, 1) != 1)
		return NULL;
	return NULL;
}

/* Results: 0 or -errno of adding; *read_error: of reading after it. */
static int add_late(int *read_error)
{
	struct pmc_counter_event events[2];
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_group *group;
	struct pmc_group_value values[2] = { { 77, 77, 77, 0 } };
	struct pmc_group_times times;
	pthread_t thread;
	int error;
	char c;

	pair(events);
	open.inherit = open.enabled = true;
	assert_int_equal(pipe(added[0]), 0);
	assert_int_equal(pipe(added[1]), 0);
	group = must_group(events, 1, &open);
	assert_int_equal(pthread_create(&thread, NULL, wait_there, NULL), 0);
	assert_int_equal(read(added[0][0], &c, 1), 1);
	error = pmc_group_add(group, &events[1], NULL, NULL, NULL);
	assert_int_equal(pmc_group_count(group), error ? 1 : 2);
	*read_error = pmc_group_read(group, &times, values, 2);
	if (*read_error) {
		assert_int_equal(pmc_group_reset(group), *read_error);
		assert_int_equal(values[0].count, 77);
	}
	assert_int_equal(write(added[1][1], "x", 1), 1);
	pthread_join(thread, NULL);
	pmc_group_close(group);
	for (int i = 0; i < 4; i++)
		close(added[i / 2][i % 2]);
	return error;
}

static void test_echild(void **state)
{
	int error = -EINVAL, read_error = 0;

	/* If the two threads met on a CPU, their event contexts were swapped, and the leader is in
	 * the other thread's context (perf_event_context_sched_out()). */
	for (int i = 0; i < 100 && error; i++) {
		error = add_late(&read_error);
		if (error) {
			assert_int_equal(error, -EINVAL);
			assert_int_equal(read_error, 0);
		}
	}
	assert_int_equal(error, 0);
	/* Older kernels do not detect the difference. */
	if (read_error)
		assert_int_equal(read_error, -ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_all_at_once),
		cmocka_unit_test(test_lost_in_a_group),
		cmocka_unit_test(test_short_arrays),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_empty_group),
		cmocka_unit_test(test_members_belong_to_the_group),
		cmocka_unit_test(test_reset_of_one_member),
		cmocka_unit_test(test_disable_one_member),
		cmocka_unit_test(test_options_of_members),
		cmocka_unit_test(test_enabled_from_the_start),
		cmocka_unit_test(test_inherited_group),
		cmocka_unit_test(test_echild),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
