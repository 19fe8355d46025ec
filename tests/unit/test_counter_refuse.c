/* SPDX-License-Identifier: MIT */
/* test_counter_refuse.c - failures have the kernel's errno and name their cause; they leave no
 * descriptor open. */
#include "lib/counter/counter.h"
#include "tests/unit/counter_try.h"

#include <sys/resource.h>

static struct pmc_failure failure;

/* A bit in the masks of <asm/perf_regs.h> that is no register. */
#ifdef __x86_64__
#define NO_REGISTER (UINT64_C(1) << 28)
#else
#define NO_REGISTER (UINT64_C(1) << 63)
#endif

/* Opening page-faults with these options fails with this errno, and failure.what is `what`. */
static void refused(const struct pmc_open_options *open, int error, const char *what)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter = (void *)1;
	unsigned before = open_fds();
	int got;

	memset(&failure, 0, sizeof(failure));
	got = pmc_counter_open(&counter, &event, open, &failure);
	if (got != error)
		fail_msg("%s: want %s, got %s: %s", what, strerror(-error), strerror(-got),
			 failure.advice);
	assert_null(counter);
	assert_int_equal(failure.error, -error);
	assert_string_equal(failure.what, what);
	assert_true(strlen(failure.advice) > 10);
	assert_null(strchr(failure.advice, '\n'));
	assert_int_equal(open_fds(), before);
	/* The same without a struct pmc_failure. */
	assert_int_equal(pmc_counter_open(&counter, &event, open, NULL), error);
	assert_int_equal(open_fds(), before);
}

static void test_options_that_exclude_each_other(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.sample_period = open.sample_freq = 10;
	refused(&open, -EINVAL, "sample_freq");
	open = pmc_open_options_init();
	open.wakeup_events = open.wakeup_watermark = 10;
	refused(&open, -EINVAL, "wakeup_watermark");
	open = pmc_open_options_init();
	open.precise_ip = 4;
	refused(&open, -EINVAL, "precise_ip");
}

/* For each of these the kernel says only EINVAL or EOPNOTSUPP. */
static void test_the_option_is_named(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.sigtrap = true;
	refused(&open, -EINVAL, "sigtrap");
	open = pmc_open_options_init();
	open.inherit_thread = true;
	refused(&open, -EINVAL, "inherit_thread");
	open = pmc_open_options_init();
	open.remove_on_exec = open.enable_on_exec = true;
	refused(&open, -EINVAL, "remove_on_exec");
	open = pmc_open_options_init();
	open.use_clockid = true;
	open.clockid = 1000;
	refused(&open, -EINVAL, "clockid");
	open = pmc_open_options_init();
	open.sample_type = PERF_SAMPLE_REGS_INTR;
	open.sample_regs_intr = NO_REGISTER;
	refused(&open, -EINVAL, "PERF_SAMPLE_REGS_INTR");
	open = pmc_open_options_init();
	open.sample_type = PERF_SAMPLE_REGS_USER;
	open.sample_regs_user = NO_REGISTER;
	refused(&open, -EINVAL, "PERF_SAMPLE_REGS_USER");
	open = pmc_open_options_init();
	open.sample_type = PERF_SAMPLE_STACK_USER;
	open.sample_stack_user = 7;
	refused(&open, -EINVAL, "PERF_SAMPLE_STACK_USER");
	open = pmc_open_options_init();
	open.sample_type = PERF_SAMPLE_BRANCH_STACK;
	open.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	open.sample_period = 1;
	refused(&open, -EOPNOTSUPP, "PERF_SAMPLE_BRANCH_STACK");
	open = pmc_open_options_init();
	open.sample_type = UINT64_C(1) << 40;
	refused(&open, -EINVAL, "sample_type");
	open = pmc_open_options_init();
	open.read_format = UINT64_C(1) << 40;
	refused(&open, -EINVAL, "read_format");
	open = pmc_open_options_init();
	open.sample_type = PERF_SAMPLE_AUX;
	open.aux_sample_size = 4096;
	refused(&open, -EINVAL, "aux_sample_size");
	open = pmc_open_options_init();
	open.aux_output = true;
	refused(&open, -EOPNOTSUPP, "aux_output");
}

/* One wrong option among many correct ones. */
static void test_the_option_is_named_among_many(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.inherit = open.inherit_thread = open.mmap = open.mmap2 = open.build_id = true;
	open.comm = open.comm_exec = open.task = open.sample_id_all = true;
	open.read_format = PERF_FORMAT_LOST;
	open.sample_period = 1000;
	open.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
	open.use_clockid = true;
	open.clockid = 77;
	refused(&open, -EINVAL, "clockid");
}

/* An old kernel refuses the whole attr with E2BIG; the library finds the option that is too new. */
static void test_e2big_names_the_option(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct counter_request request;

	open.sigtrap = open.pinned = true;
	assert_int_equal(counter_request_make(&request, &event, &open, NULL), 0);
	memset(&failure, 0, sizeof(failure));
	counter_explain(&request, NULL, -E2BIG, &failure);
	assert_int_equal(failure.error, E2BIG);
	assert_string_equal(failure.what, "sigtrap");
}

static void test_targets(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	/* The kernel would take -1 for every thread. */
	open.pid = -1;
	refused(&open, -EINVAL, "pid");
	open = pmc_open_options_init();
	open.target = PMC_TARGET_ANY;
	refused(&open, -EINVAL, "cpu");
	open = pmc_open_options_init();
	open.target = PMC_TARGET_CGROUP;
	refused(&open, -EINVAL, "cpu");
	open.cpu = 0;
	open.cgroup_fd = -1;
	refused(&open, -EBADF, "cgroup_fd");
	open.cgroup_fd = openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
	refused(&open, -EBADF, "cgroup_fd");
	close(open.cgroup_fd);
	open = pmc_open_options_init();
	open.cpu = -2;
	refused(&open, -EINVAL, "cpu");
	open.cpu = 1 << 20;
	refused(&open, -EINVAL, "cpu");
	open = pmc_open_options_init();
	open.target = (enum pmc_target)4;
	open.cpu = 0;
	refused(&open, -EINVAL, "target");
	open = pmc_open_options_init();
	open.pid = 0x7ffffff0;
	refused(&open, -ESRCH, "pid");
}

static void test_what_is_no_pmc_open(void **state)
{
	struct {
		struct pmc_open_options open;
		uint64_t newer;
	} later = { .open = PMC_OPEN_INIT };
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_open_options zero, *garbage;
	struct pmc_counter *counter;
	size_t size = (size_t)getpagesize();
	char *page;

	memset(&zero, 0, sizeof(zero));
	refused(&zero, -EINVAL, "struct pmc_open_options");
	/* The structure ends at the end of a mapped page: a read past it would fault. */
	page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(munmap(page + size, size), 0);
	garbage = (struct pmc_open_options *)(page + size - sizeof(*garbage));
	*garbage = pmc_open_options_init();
	garbage->size = 0x7fffffff;
	refused(garbage, -EINVAL, "struct pmc_open_options");
	munmap(page, size);
	/* From a program built with a later version: options that this version lacks must be 0. */
	later.open.size = sizeof(later);
	assert_int_equal(pmc_counter_open(&counter, &event, &later.open, NULL), 0);
	pmc_counter_close(counter);
	later.newer = 1;
	refused(&later.open, -E2BIG, "struct pmc_open_options");
}

static void test_event_that_is_none(void **state)
{
	struct pmc_counter_event event = software(0xffff);
	struct pmc_counter *counter;

	assert_int_equal(pmc_counter_open(&counter, &event, NULL, &failure), -ENOENT);
	assert_int_equal(failure.error, ENOENT);
	assert_string_equal(failure.what, "software 0xffff");
	if (pmc_counter_event_uprobe(&event, PMC_PROBE_ENTRY, "/no/such/file", 0, NULL) == 0) {
		assert_int_equal(pmc_counter_open(&counter, &event, NULL, &failure), -ENOENT);
		assert_non_null(strstr(failure.advice, "/no/such/file"));
	}
	assert_int_equal(pmc_counter_event_tracepoint_id(&event, 0x7ffffff), 0);
	assert_true(pmc_counter_open(&counter, &event, NULL, &failure) < 0);
	assert_string_equal(failure.what, "tracepoint 0x7ffffff");
}

static void test_no_descriptor_left(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct rlimit old, low;
	struct pmc_counter *counter;
	int error;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	error = pmc_counter_open(&counter, &event, NULL, &failure);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(error, -EMFILE);
	assert_int_equal(failure.error, EMFILE);
}

/* As a user without capabilities: EACCES, and advice. */
static void test_not_permitted(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter_event switches = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct pmc_counter_event clock = software(PERF_COUNT_SW_TASK_CLOCK);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter *counter;
	int status, level = 0;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	pid_t pid;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &level), 1);
	fclose(file);
	if (level < 2 || geteuid() != 0) {
		print_message("skip: perf_event_paranoid is %d, below 2, or this is no root\n",
			      level);
		skip();
	}
	pid = fork();
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		/* An event that occurs only in the kernel has no user-mode fallback: it would read
		 * 0. */
		if (pmc_counter_open(&counter, &switches, &open, &failure) != -EACCES ||
		    strcmp(failure.what, "context-switches"))
			_exit(6);
		if (level == 2 && (pmc_counter_open(&counter, &event, NULL, NULL) ||
				   pmc_counter_scope(counter) != PMC_SCOPE_USER))
			_exit(7);
		if (level == 2 && (pmc_counter_open(&counter, &clock, NULL, NULL) ||
				   pmc_counter_scope(counter) != PMC_SCOPE_ALL))
			_exit(8);
		open.user_if_denied = false;
		if (pmc_counter_open(&counter, &event, &open, &failure) != -EACCES ||
		    failure.error != EACCES)
			_exit(2);
		if (!strstr(failure.advice, "perf_event_paranoid"))
			_exit(3);
		open.exclude_kernel = true;
		if (level == 2 && pmc_counter_open(&counter, &event, &open, &failure) != 0)
			_exit(4);
		open.target = PMC_TARGET_ANY;
		open.cpu = 0;
		if (pmc_counter_open(&counter, &event, &open, &failure) != -EACCES)
			_exit(5);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The second of three fails: the first is closed, and the failure names the second. */
static void test_partial_open_leaks_no_descriptor(void **state)
{
	struct pmc_counter_event events[3] = { software(PERF_COUNT_SW_PAGE_FAULTS),
					       software(0xffff),
					       software(PERF_COUNT_SW_PAGE_FAULTS_MIN) };
	struct pmc_group *group = (void *)1;
	struct pmc_open_options open = PMC_OPEN_INIT;
	unsigned before = open_fds();

	assert_int_equal(pmc_group_open(&group, events, 3, NULL, &failure), -ENOENT);
	assert_null(group);
	assert_string_equal(failure.what, "software 0xffff");
	assert_int_equal(failure.error, ENOENT);
	assert_int_equal(open_fds(), before);
	assert_int_equal(pmc_group_open(&group, events, 3, NULL, NULL), -ENOENT);
	assert_int_equal(open_fds(), before);
	events[1] = events[0];
	open.sigtrap = true;
	assert_int_equal(pmc_group_open(&group, events, 3, &open, &failure), -EINVAL);
	assert_string_equal(failure.what, "sigtrap");
	assert_int_equal(open_fds(), before);

	/* A failed addition leaves the group as it was. */
	assert_int_equal(pmc_group_open(&group, events, 1, NULL, &failure), 0);
	assert_int_equal(open_fds(), before + 1);
	events[1] = software(0xffff);
	assert_int_equal(pmc_group_add(group, &events[1], NULL, NULL, &failure), -ENOENT);
	assert_int_equal(pmc_group_count(group), 1);
	assert_int_equal(open_fds(), before + 1);
	pmc_group_close(group);
	assert_int_equal(open_fds(), before);
}

/* With its descriptor closed, each call returns the errno of the kernel. */
static void test_every_call_tells_errno(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct pmc_counter *counter = must_open(&event, NULL);
	struct pmc_group *group;
	struct pmc_group_value value;
	struct pmc_group_times times;
	struct pmc_counter_reading reading;
	uint64_t a, b, c;

	close(pmc_counter_fd(counter));
	assert_int_equal(pmc_counter_enable(counter), -EBADF);
	assert_int_equal(pmc_counter_disable(counter), -EBADF);
	assert_int_equal(pmc_counter_reset(counter), -EBADF);
	assert_int_equal(pmc_counter_enable_group(counter), -EBADF);
	assert_int_equal(pmc_counter_disable_group(counter), -EBADF);
	assert_int_equal(pmc_counter_reset_group(counter), -EBADF);
	assert_int_equal(pmc_counter_refresh(counter, 1), -EBADF);
	assert_int_equal(pmc_counter_set_period(counter, 1), -EBADF);
	assert_int_equal(pmc_counter_set_bpf(counter, 0), -EBADF);
	assert_int_equal(pmc_counter_set_filter(counter, "x"), -EBADF);
	assert_int_equal(pmc_counter_id(counter, &a), -EBADF);
	assert_int_equal(pmc_counter_read(counter, &a), -EBADF);
	assert_int_equal(pmc_counter_read_count_and_time(counter, &a, &b, &c), -EBADF);
	assert_int_equal(pmc_counter_read_full(counter, &reading), -EBADF);
	counter->fd = -1;
	pmc_counter_close(counter);

	assert_int_equal(pmc_group_open(&group, &event, 1, NULL, NULL), 0);
	close(group->members[0]->fd);
	assert_int_equal(pmc_group_enable(group), -EBADF);
	assert_int_equal(pmc_group_disable(group), -EBADF);
	assert_int_equal(pmc_group_reset(group), -EBADF);
	assert_int_equal(pmc_group_read(group, &times, &value, 1), -EBADF);
	group->members[0]->fd = -1;
	pmc_group_close(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_that_exclude_each_other),
		cmocka_unit_test(test_the_option_is_named),
		cmocka_unit_test(test_the_option_is_named_among_many),
		cmocka_unit_test(test_e2big_names_the_option),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_what_is_no_pmc_open),
		cmocka_unit_test(test_event_that_is_none),
		cmocka_unit_test(test_no_descriptor_left),
		cmocka_unit_test(test_not_permitted),
		cmocka_unit_test(test_partial_open_leaks_no_descriptor),
		cmocka_unit_test(test_every_call_tells_errno),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
