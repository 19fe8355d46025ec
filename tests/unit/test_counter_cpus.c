/* SPDX-License-Identifier: MIT */
/* test_counter_cpus.c - groups and rings on every CPU, counters closed before their sampler, and
 * texts of failures. */
#include "lib/counter/counter.h"
#include "tests/unit/counter_try.h"

#include <pmc/group.h>
#include <pmc/sampler.h>
#include <sys/resource.h>

static unsigned online(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

/* ---- groups -------------------------------------------------------------------------------*/

/* Moves this thread to the CPU and faults there. */
static void fault_on(int cpu, unsigned pages)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	touch_pages(pages, 4096);
}

static void a_group_on_each_cpu_counts_what_runs_there(void **state)
{
	const struct pmc_counter_event events[2] = { software(PERF_COUNT_SW_PAGE_FAULTS),
						     software(PERF_COUNT_SW_CPU_CLOCK) };
	struct pmc_group_value sum[2], one[2];
	struct pmc_group_times times, each;
	struct pmc_counter_cpus *cpus;
	struct pmc_failure why;
	uint64_t faults = 0, clock = 0, scaled;
	cpu_set_t before;
	int cpu, last = -1;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (pmc_counter_cpus_open(&cpus, events, 2, NULL, &why))
		fail_msg("%s: %s", why.what, why.advice);
	assert_int_equal(pmc_counter_cpus_count(cpus), online());
	assert_int_equal(pmc_counter_cpus_read(cpus, &times, sum, 2), -EAGAIN);
	assert_int_equal(pmc_counter_cpus_enable(cpus), 0);
	for (size_t i = 0; i < pmc_counter_cpus_count(cpus); i++) {
		assert_non_null(pmc_counter_cpus_at(cpus, i, &cpu));
		assert_true(cpu > last);
		last = cpu;
		if (CPU_ISSET(cpu, &before))
			fault_on(cpu, 100);
	}
	assert_int_equal(pmc_counter_cpus_disable(cpus), 0);
	for (size_t i = 0; i < pmc_counter_cpus_count(cpus); i++) {
		struct pmc_group *group = pmc_counter_cpus_at(cpus, i, &cpu);

		assert_int_equal(pmc_group_read(group, &each, one, 2), 0);
		if (CPU_ISSET(cpu, &before))
			assert_true(one[0].count >= 100);
		faults += one[0].count;
		clock += each.running_ns;
	}
	assert_int_equal(pmc_counter_cpus_read(cpus, &times, sum, 2), 0);
	assert_int_equal(times.n, 2);
	assert_int_equal(sum[0].count, faults);
	assert_int_equal(times.running_ns, clock);
	assert_int_equal(pmc_group_scale(&times, &sum[0], &scaled), 0);
	assert_int_equal(pmc_counter_cpus_reset(cpus), 0);
	assert_int_equal(pmc_counter_cpus_read(cpus, &times, sum, 2), -EAGAIN);
	pmc_counter_cpus_close(cpus);
	sched_setaffinity(0, sizeof(before), &before);
}

static void a_failed_open_on_all_cpus_leaves_nothing(void **state)
{
	const struct pmc_counter_event events[2] = { software(PERF_COUNT_SW_PAGE_FAULTS),
						     software(0xffff) };
	struct pmc_counter_cpus *cpus = (void *)1;
	unsigned before = open_fds();
	struct pmc_failure why;

	assert_int_equal(pmc_counter_cpus_open(&cpus, events, 2, NULL, &why), -ENOENT);
	assert_string_equal(why.what, "software 0xffff");
	assert_null(cpus);
	assert_int_equal(open_fds(), before);
}

/* ---- rings --------------------------------------------------------------------------------*/

/* Of a call that nobody else makes: other tests may fill a ring with calls of getppid now. */
static void getsid_calls(unsigned n)
{
	while (n-- > 0)
		syscall(SYS_getsid, 0);
}

static void a_ring_on_each_cpu_has_every_record(void **state)
{
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter_event event = entries_of("sys_enter_getsid");
	struct pmc_sampler_totals totals;
	struct pmc_sampler_set *set;
	struct pmc_sampler *from;
	struct pmc_record record;
	struct pmc_failure why;
	unsigned mine = 0, fds = open_fds();
	uint64_t lost = 77, last = 0;
	pid_t pid = getpid();
	cpu_set_t before;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	options.sample_period = 1;
	options.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CPU;
	options.enabled = true;
	if (pmc_sampler_set_open(&set, &event, &options, 16, &why))
		fail_msg("%s: %s", why.what, why.advice);
	assert_int_equal(open_fds(), fds + online());
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &before))
			continue;
		fault_on(cpu, 1);
		getsid_calls(50);
	}
	assert_int_equal(pmc_sampler_set_disable(set), 0);
	getsid_calls(10);
	while (pmc_sampler_set_next_wait(set, &record, &from, 100) == 0) {
		assert_true(record.time >= last);
		last = record.time;
		assert_ptr_equal(record.counter, pmc_sampler_counter(from));
		mine += record.type == PERF_RECORD_SAMPLE && record.pid == (uint32_t)pid;
	}
	assert_int_equal(mine, 50 * (unsigned)CPU_COUNT(&before));
	pmc_sampler_set_read_totals(set, &totals);
	assert_true(totals.samples >= mine);
	assert_int_equal(pmc_sampler_set_lost(set, &lost), 0);
	assert_int_equal(lost, 0);
	/* The set owns its rings and their counters. */
	pmc_sampler_set_free(set);
	assert_int_equal(open_fds(), fds);
	sched_setaffinity(0, sizeof(before), &before);
}

/* A ring removed from the set is owned by the caller, together with its counter. */
static void a_removed_ring_is_closed_with_its_counter(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_sampler *first = NULL;
	struct pmc_sampler_set *set;
	struct pmc_record record;
	unsigned fds = open_fds();

	options.sample_period = 1;
	options.enabled = true;
	assert_int_equal(pmc_sampler_set_open(&set, &event, &options, 1, NULL), 0);
	touch_pages(10, 4096);
	assert_int_equal(pmc_sampler_set_next_wait(set, &record, &first, 1000), 0);
	assert_int_equal(pmc_sampler_set_remove(set, first), 0);
	pmc_sampler_set_free(set);
	assert_int_equal(open_fds(), fds + 1);
	pmc_sampler_close(first);
	assert_int_equal(open_fds(), fds);
}

/* Once its counter is closed, a ring gives its remaining records and then ends. */
static void a_counter_may_be_closed_before_its_sampler(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_sampler *sampler, *second = (void *)1;
	struct pmc_counter *counter;
	struct pmc_record record;
	struct pmc_failure why;
	unsigned samples = 0;
	uint64_t lost;
	int error;

	options.sample_period = 1;
	options.sample_type = PERF_SAMPLE_ADDR;
	counter = must_open(&event, &options);
	assert_int_equal(pmc_sampler_open(&sampler, counter, 8, &why), 0);
	assert_int_equal(pmc_sampler_open(&second, counter, 8, &why), -EBUSY);
	assert_string_equal(why.what, "page-faults");
	assert_null(second);
	assert_int_equal(pmc_counter_release(counter), -EBUSY);
	pmc_counter_enable(counter);
	touch_pages(20, 4096);
	pmc_counter_close(counter);
	assert_null(pmc_sampler_counter(sampler));
	while ((error = pmc_sampler_next_wait(sampler, &record, 1000)) == 0) {
		assert_null(record.counter);
		samples += record.type == PERF_RECORD_SAMPLE;
	}
	assert_true(samples >= 20);
	assert_int_equal(error, -EBADF);
	assert_int_equal(pmc_sampler_pause(sampler), -EBADF);
	assert_int_equal(pmc_sampler_lost(sampler, &lost), -EBADF);
	assert_int_equal(pmc_sampler_fd(sampler), -EBADF);
	pmc_sampler_explain(sampler, error, &why);
	assert_int_equal(why.error, EBADF);
	pmc_sampler_close(sampler);
	/* After a sampler is closed, its counter can get another one. */
	counter = must_open(&event, &options);
	assert_int_equal(pmc_sampler_open(&sampler, counter, 8, NULL), 0);
	pmc_sampler_close(sampler);
	assert_int_equal(pmc_sampler_open(&sampler, counter, 8, NULL), 0);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

/* ---- texts of failures ---------------------------------------------------------------------- */

static void a_reading_before_the_enable_is_explained(void **state)
{
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	struct pmc_failure why;
	uint64_t count;
	int error;

	assert_int_equal(pmc_counter_event_parse(&event, "page-faults:u", NULL), 0);
	counter = must_open(&event, NULL);
	assert_string_equal(pmc_counter_name(counter), "page-faults:u");
	assert_int_equal(pmc_counter_scope(counter), PMC_SCOPE_USER);
	error = pmc_counter_read(counter, &count);
	assert_int_equal(error, -EAGAIN);
	pmc_counter_explain(counter, error, &why);
	assert_int_equal(why.error, EAGAIN);
	assert_string_equal(why.what, "page-faults:u");
	assert_non_null(strstr(why.advice, "enable"));
	pmc_counter_close(counter);
}

/* Adds members until the kernel refuses one. */
static void a_reading_that_is_too_large_is_explained(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	struct pmc_group *group;
	struct pmc_failure why;
	int error = 0;

	assert_int_equal(pmc_group_open(&group, NULL, 0, NULL, NULL), 0);
	for (int i = 0; i < 2000 && !error; i++)
		error = pmc_group_add(group, &event, NULL, NULL, &why);
	pmc_group_close(group);
	if (error == -EMFILE) {
		print_message("skip: too few descriptors\n");
		skip();
	}
	assert_int_equal(error, -E2BIG);
	assert_string_equal(why.what, "dummy");
	assert_non_null(strstr(why.advice, "of that size"));
}

static void both_ways_to_a_tracepoint_fail_alike(void **state)
{
	const struct pmc_event_roots none = { .tracefs = "/no/such/tracefs", .no_pfm = true };
	const struct pmc_group_typed_field row = { "switches", "sched:sched_switch", "", "" };
	struct pmc_counter_event event;
	struct pmc_failure a, b;
	int status;
	pid_t pid;

	counter_roots = &none;
	assert_int_equal(pmc_counter_event_tracepoint(&event, "sched", "sched_switch", &a),
			 -ENODEV);
	assert_int_equal(pmc_counter_event_parse(&event, "sched:sched_switch:u", &b), -ENODEV);
	assert_non_null(strstr(b.advice, a.advice));
	counter_roots = NULL;
	if (!have_tracefs() || geteuid() != 0)
		return;
	/* Only root may read tracefs. */
	pid = fork();
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		if (access("/sys/kernel/tracing/events", R_OK) == 0)
			_exit(0);
		if (pmc_counter_event_tracepoint(&event, "sched", "sched_switch", &a) != -EACCES)
			_exit(2);
		if (pmc_counter_event_parse(&event, "sched:sched_switch", &b) != -EACCES)
			_exit(3);
		if (pmc_group_typed_open(&(struct pmc_group_typed){ 0 }, &row, 1, 0, -1) != -EACCES)
			_exit(5);
		_exit(strstr(b.advice, a.advice) ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_lack_of_descriptors_is_told(void **state)
{
	struct pmc_counter_event event, faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter_cpus *cpus;
	struct rlimit all, few;
	struct pmc_failure why;

	getrlimit(RLIMIT_NOFILE, &all);
	few = (struct rlimit){ 0, all.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	assert_int_equal(pmc_counter_event_tracepoint(&event, "sched", "sched_switch", &why),
			 -EMFILE);
	assert_non_null(strstr(why.advice, "too many open files"));
	assert_int_equal(pmc_counter_event_parse(&event, "sched:sched_switch", &why), -EMFILE);
	assert_int_equal(pmc_counter_event_parse(&event, "nonesuch", &why), -EMFILE);
	assert_non_null(strstr(why.advice, "too many open files"));
	assert_int_equal(pmc_counter_event_pmu(&event, "cpu", NULL, 0, &why), -EMFILE);
	assert_int_equal(pmc_counter_cpus_open(&cpus, &faults, 1, NULL, &why), -EMFILE);
	assert_non_null(strstr(why.advice, "too many open files"));
	setrlimit(RLIMIT_NOFILE, &all);
}

/* ---- formats ------------------------------------------------------------------------------*/

static void see(const struct pmc_counter_format *format, void *arg)
{
	if (!strcmp(format->name, "retprobe") && !strcmp(format->format, "config:0"))
		*(unsigned *)arg += format->n_bits;
	if (!strcmp(format->name, "ref_ctr_offset"))
		*(unsigned *)arg += format->n_bits * 100;
}

static void the_format_of_a_pmu_is_listed(void **state)
{
	struct pmc_failure why;
	unsigned bits = 0;

	if (access("/sys/bus/event_source/devices/uprobe/format/retprobe", R_OK))
		skip();
	assert_int_equal(pmc_counter_event_formats("uprobe", see, &bits, &why), 0);
	/* retprobe config:0, ref_ctr_offset config:32-63. */
	assert_int_equal(bits, 3201);
	assert_int_equal(pmc_counter_event_formats("software", see, &bits, &why), 0);
	assert_int_equal(bits, 3201);
}

static void scaling_tells_what_is_missing(void **state)
{
	uint64_t scaled = 77;

	assert_int_equal(pmc_scale(5, 0, 0, &scaled), -EAGAIN);
	assert_int_equal(pmc_scale(5, 10, 0, &scaled), -EBUSY);
	assert_int_equal(pmc_scale(UINT64_MAX, 3, 2, &scaled), -EOVERFLOW);
	assert_int_equal(scaled, 77);
	assert_int_equal(pmc_scale((UINT64_C(1) << 60) + 1, 3, 1, &scaled), 0);
	assert_true(scaled == 3 * ((UINT64_C(1) << 60) + 1));
	assert_int_equal(pmc_scale(5, 10, 11, &scaled), 0);
	assert_int_equal(scaled, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_on_each_cpu_counts_what_runs_there),
		cmocka_unit_test(a_failed_open_on_all_cpus_leaves_nothing),
		cmocka_unit_test(a_ring_on_each_cpu_has_every_record),
		cmocka_unit_test(a_removed_ring_is_closed_with_its_counter),
		cmocka_unit_test(a_counter_may_be_closed_before_its_sampler),
		cmocka_unit_test(a_reading_before_the_enable_is_explained),
		cmocka_unit_test(a_reading_that_is_too_large_is_explained),
		cmocka_unit_test(both_ways_to_a_tracepoint_fail_alike),
		cmocka_unit_test(a_lack_of_descriptors_is_told),
		cmocka_unit_test(the_format_of_a_pmu_is_listed),
		cmocka_unit_test(scaling_tells_what_is_missing),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
