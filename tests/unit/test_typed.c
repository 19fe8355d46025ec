/* SPDX-License-Identifier: MIT */
/* test_typed.c - typed groups on this kernel: exact counts; failed opens leave no descriptor. */
#include "tests/unit/touch_pages.h"
#include "tests/unit/unit.h"

#include <pmc/counter.h>
#include <pmc/group.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same event three times: the siblings' counts must equal the leader's. */
#define FAULTS(X)                                                                                  \
	X(first, "page-faults", "", "page faults")                                                 \
	X(cpu, "task-clock", "ns", "CPU time")                                                     \
	X(second, "page-faults", "", "the same")                                                   \
	X(third, "faults", "", "the same by another name")
PMC_GROUP(faults, FAULTS)

#define USER_FAULTS(X) X(faults, "page-faults:u", "", "page faults in user mode")
PMC_GROUP(user, USER_FAULTS)

#define UNKNOWN(X)                                                                                 \
	X(known, "page-faults", "", "fine")                                                        \
	X(bad, "page-fautls", "", "mistyped")
PMC_GROUP(unknown, UNKNOWN)

#define TWO_IN_ONE(X)                                                                              \
	X(fine, "task-clock", "ns", "fine")                                                        \
	X(both, "page-faults,context-switches", "", "two events")
PMC_GROUP(two, TWO_IN_ONE)

#define BRACED(X) X(faults, "{page-faults}", "", "one event, but not by its name alone")
PMC_GROUP(braced, BRACED)

static long page_bytes;

static void fault(unsigned n)
{
	touch_pages(n, (size_t)page_bytes);
}

/* ThreadSanitizer's own memory may fault in between. */
#ifdef __SANITIZE_THREAD__
enum { OTHER_FAULTS = 4 };
#else
enum { OTHER_FAULTS = 0 };
#endif

/* All three count the same, and every fault. */
static void assert_faults(const struct faults_values *values, unsigned n)
{
	assert_in_range(values->first, n, n + OTHER_FAULTS);
	assert_int_equal(values->second, values->first);
	assert_int_equal(values->third, values->first);
}

static unsigned fds_before;

static int setup(void **state)
{
	struct faults_values values;
	struct faults group;

	page_bytes = sysconf(_SC_PAGESIZE);
	/* Touches all code that runs while counting, so that it causes no page faults. */
	if (faults_open(&group, 0, -1))
		return -1;
	faults_reset(&group);
	faults_enable(&group);
	fault(16);
	faults_disable(&group);
	if (faults_read(&group, &values))
		return -1;
	faults_close(&group);
	fds_before = open_fds();
	return 0;
}

static int teardown(void **state)
{
	return open_fds() == fds_before ? 0 : -1;
}

static void counts_between_enable_and_disable(void **state)
{
	struct faults_values values;
	struct faults group;

	memset(&group, 0xa5, sizeof(group));
	assert_int_equal(faults_open(&group, 0, -1), 0);
	assert_int_equal(faults_open(&group, 0, -1), -EALREADY);
	assert_int_equal(faults_failed(&group), -1);
	fault(32);
	assert_int_equal(faults_read(&group, &values), -EAGAIN);
	assert_true(values.first == PMC_NO_VALUE);
	assert_int_equal(faults_enable(&group), 0);
	fault(100);
	assert_int_equal(faults_disable(&group), 0);
	fault(32);
	assert_int_equal(faults_read(&group, &values), 0);
	assert_int_equal(values.state, PMC_COUNTED);
	assert_faults(&values, 100);
	assert_true(values.cpu > 0 && values.cpu <= values.time_enabled_ns);
	assert_true(values.time_running_ns == values.time_enabled_ns);
	assert_true(faults_value(&values, 2) == values.second);
	faults_close(&group);
}

/* RESET without PERF_IOC_FLAG_GROUP left siblings at 256, 512, 768; it never resets the times. */
static void reset_covers_siblings_and_times(void **state)
{
	struct faults_values values, longer;
	struct faults group;

	assert_int_equal(faults_open(&group, 0, -1), 0);
	assert_int_equal(faults_enable(&group), 0);
	fault(20000);
	assert_int_equal(faults_disable(&group), 0);
	assert_int_equal(faults_read(&group, &longer), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(faults_reset(&group), 0);
		assert_int_equal(faults_read(&group, &values), -EAGAIN);
		assert_int_equal(values.time_enabled_ns, 0);
		assert_int_equal(faults_enable(&group), 0);
		fault(256);
		assert_int_equal(faults_disable(&group), 0);
		assert_int_equal(faults_read(&group, &values), 0);
		assert_faults(&values, 256);
		assert_int_equal(values.time_running_ns, values.time_enabled_ns);
	}
	/* The reset subtracts the time of the long run. */
	assert_true(values.time_enabled_ns < longer.time_enabled_ns);
	faults_close(&group);
}

static void a_copy_is_the_group(void **state)
{
	struct faults *group = malloc(sizeof(*group));
	struct faults_values values;
	struct faults copy;

	assert_int_equal(faults_open(group, 0, -1), 0);
	copy = *group;
	memset(group, 0xff, sizeof(*group));
	free(group);
	assert_int_equal(faults_enable(&copy), 0);
	fault(10);
	assert_int_equal(faults_disable(&copy), 0);
	assert_int_equal(faults_read(&copy, &values), 0);
	assert_int_equal(values.second, 10);
	faults_close(&copy);
	faults_close(&copy);
}

static void descriptors_are_close_on_exec(void **state)
{
	struct faults group;

	assert_int_equal(faults_open(&group, 0, -1), 0);
	for (unsigned i = 0; i < faults_n_fields; i++)
		assert_int_equal(
			fcntl(pmc_counter_fd(pmc_group_at(group.typed.counters, i)), F_GETFD),
			FD_CLOEXEC);
	faults_close(&group);
	assert_null(group.typed.counters);
}

static void names_that_are_no_event(void **state)
{
	const struct pmc_group_typed_field set = {
		.name = "a", .event = "@cache", .unit = "", .doc = ""
	};
	const struct pmc_group_typed_field open_brace[] = { { .event = "{page-faults" },
							    { .event = "task-clock}" } };
	const struct pmc_group_typed_field split[] = { { .event = "cpu/event=1" },
						       { .event = "umask=2/" },
						       { .event = "page-faults,faults" } };
	const struct pmc_group_typed_field empty = { .event = "" }, none = { .event = NULL };
	struct unknown unknown;
	struct pmc_group_typed typed;
	struct two two;

	errno = 77;
	assert_int_equal(unknown_open(&unknown, 0, -1), -ENOENT);
	assert_int_equal(errno, 77);
	assert_int_equal(unknown_failed(&unknown), 1);
	unknown_close(&unknown);
	assert_int_equal(unknown_open_with(&unknown, NULL), -ENOENT);
	assert_int_equal(unknown_failed(&unknown), 1);
	assert_int_equal(two_open(&two, 0, -1), -EINVAL);
	assert_int_equal(two_failed(&two), 1);
	assert_int_equal(pmc_group_typed_open(&typed, &set, 1, 0, -1), -EINVAL);
	assert_int_equal(typed.failed, 0);
	assert_int_equal(pmc_group_typed_open(&typed, open_brace, 2, 0, -1), -EINVAL);
	assert_true(pmc_group_typed_open(&typed, split, 3, 0, -1) < 0);
	assert_int_equal(pmc_group_typed_open(&typed, &empty, 1, 0, -1), -EINVAL);
	assert_int_equal(pmc_group_typed_open(&typed, &none, 1, 0, -1), -EINVAL);
	assert_int_equal(pmc_group_typed_open(&typed, &none, 0, 0, -1), -EINVAL);
	assert_int_equal(pmc_group_typed_open(&typed, &none, PMC_EVENTS_MAX + 1, 0, -1), -EINVAL);
	pmc_group_typed_close(&typed);
}

static void a_failure_has_words(void **state)
{
	struct pmc_failure failure;
	struct unknown unknown;
	struct braced braced;
	struct faults group;
	struct two two;
	int error;

	error = unknown_open(&unknown, 0, -1);
	unknown_explain(&unknown, error, &failure);
	assert_int_equal(failure.error, ENOENT);
	assert_string_equal(failure.what, "page-fautls");
	assert_non_null(strstr(failure.advice, "page-faults"));
	error = two_open(&two, 0, -1);
	two_explain(&two, error, &failure);
	assert_int_equal(failure.error, EINVAL);
	assert_string_equal(failure.what, "page-faults,context-switches");
	assert_true(failure.advice[0] != 0);
	error = braced_open(&braced, 0, -1);
	braced_explain(&braced, error, &failure);
	assert_int_equal(failure.error, EINVAL);
	assert_string_equal(failure.what, "{page-faults}");
	assert_non_null(strstr(failure.advice, "without braces"));
	/* Neither a thread nor a CPU. */
	error = faults_open(&group, -1, -1);
	faults_explain(&group, error, &failure);
	assert_int_equal(failure.error, EINVAL);
	assert_string_equal(failure.what, "cpu");
	assert_non_null(strstr(failure.advice, "needs a CPU"));
	error = faults_open(&group, 0x7ffffff0, -1);
	faults_explain(&group, error, &failure);
	assert_int_equal(failure.error, ESRCH);
	assert_string_equal(failure.what, "pid");
	error = faults_open(&group, 0, 1 << 20);
	faults_explain(&group, error, &failure);
	assert_int_equal(failure.error, EINVAL);
	assert_string_equal(failure.what, "cpu");
	assert_true(failure.advice[0] != 0);
	assert_int_equal(faults_open(&group, 0, -1), 0);
	errno = 88;
	faults_explain(&group, -EAGAIN, &failure);
	assert_int_equal(errno, 88);
	assert_int_equal(failure.error, EAGAIN);
	assert_string_equal(failure.what, "page-faults");
	assert_true(failure.advice[0] != 0);
	faults_close(&group);
}

/* The third of four events gets no descriptor: the two before it must be closed. */
static void a_failed_open_leaks_nothing(void **state)
{
	struct rlimit was, low;
	struct faults group;
	int next;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	next = dup(0);
	assert_true(next >= 0);
	close(next);
	low = was;
	low.rlim_cur = (rlim_t)next + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	errno = 77;
	int error = faults_open(&group, 0, -1);
	int kept = errno;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(error, -EMFILE);
	assert_int_equal(kept, 77);
	assert_int_equal(faults_failed(&group), 2);
	assert_int_equal(open_fds(), fds_before);
	faults_close(&group);
	/* The group can be opened once descriptors are free. */
	assert_int_equal(faults_open(&group, 0, -1), 0);
	faults_close(&group);
}

static void the_kernels_errors_come_through(void **state)
{
	struct faults group;
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(faults_open(&group, child, -1), -ESRCH);
	assert_int_equal(faults_failed(&group), 0);
	assert_int_equal(faults_open(&group, -1, -1), -EINVAL);
	assert_int_equal(faults_open(&group, 0, 1 << 20), -EINVAL);
}

static void *fault_in_thread(void *arg)
{
	fault(*(unsigned *)arg);
	return NULL;
}

static unsigned faults_with_thread(struct faults *group, unsigned n)
{
	struct faults_values values;
	pthread_t thread;

	assert_int_equal(faults_reset(group), 0);
	assert_int_equal(faults_enable(group), 0);
	assert_int_equal(pthread_create(&thread, NULL, fault_in_thread, &n), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(faults_disable(group), 0);
	assert_int_equal(faults_read(group, &values), 0);
	assert_int_equal(values.first, values.second);
	return (unsigned)values.first;
}

static void inherit_is_asked_for(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct faults group;

	assert_int_equal(faults_open(&group, 0, -1), 0);
	faults_with_thread(&group, 8);
	assert_in_range(faults_with_thread(&group, 5000), 0, 1000);
	faults_close(&group);
	open.inherit = true;
	assert_int_equal(faults_open_with(&group, &open), 0);
	assert_in_range(faults_with_thread(&group, 5000), 5000, 6000);
	/* A reset also subtracts the counts of ended children. */
	assert_in_range(faults_with_thread(&group, 5000), 5000, 6000);
	faults_close(&group);
}

static void options_reach_the_kernel(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct faults_values values;
	struct faults group;
	struct user user;

	open.enabled = true;
	open.pinned = true;
	open.exclude_kernel = true;
	assert_int_equal(faults_open_with(&group, &open), 0);
	assert_int_equal(faults_scope(&group), PMC_SCOPE_USER);
	assert_int_equal(faults_reset(&group), 0);
	fault(12);
	assert_int_equal(faults_read(&group, &values), 0);
	/* ThreadSanitizer's own memory faults now and then. */
	assert_in_range(values.third, 12, 16);
	faults_close(&group);
	assert_int_equal(user_open(&user, 0, -1), 0);
	assert_int_equal(user_scope(&user), PMC_SCOPE_USER);
	user_close(&user);
	/* open.size is not that of PMC_OPEN_INIT. */
	open = pmc_open_options_init();
	open.size = 3;
	assert_int_equal(faults_open_with(&group, &open), -EINVAL);
}

/* As user nobody: perf_event_paranoid 2 permits user mode only, 3 and above nothing. */
static int open_as_nobody(void)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct faults_values values;
	struct faults group;
	int error;

	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	error = faults_open(&group, 0, -1);
	if (error)
		return error == -EACCES || error == -EPERM ? 2 : 3;
	faults_enable(&group);
	fault(64);
	faults_disable(&group);
	/* Pages shared with the parent since fork cause further faults. */
	if (faults_read(&group, &values) || values.first < 64 || values.first > 256 ||
	    values.second != values.first)
		return 4;
	if (faults_scope(&group) == PMC_SCOPE_ALL)
		return 5;
	if (faults_scope(&group) != PMC_SCOPE_USER)
		return 6;
	faults_close(&group);
	/* The fallback also applies with options, unless user_if_denied is false. */
	if (faults_open_with(&group, &open) || faults_scope(&group) != PMC_SCOPE_USER)
		return 9;
	faults_close(&group);
	open.user_if_denied = false;
	error = faults_open_with(&group, &open);
	return error == -EACCES || error == -EPERM ? 7 : 8;
}

static void what_is_not_permitted_is_left_out(void **state)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY), level, status;
	pid_t child;

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	level = atoi(text);
	child = fork();
	if (!child)
		_exit(open_as_nobody());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (geteuid() == 0)
		assert_int_equal(WEXITSTATUS(status), level <= 1 ? 5 : level == 2 ? 7 : 2);
	else
		assert_int_equal(WEXITSTATUS(status), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_between_enable_and_disable),
		TEST(reset_covers_siblings_and_times),
		TEST(a_copy_is_the_group),
		TEST(descriptors_are_close_on_exec),
		TEST(names_that_are_no_event),
		TEST(a_failure_has_words),
		TEST(a_failed_open_leaks_nothing),
		TEST(the_kernels_errors_come_through),
		TEST(inherit_is_asked_for),
		TEST(options_reach_the_kernel),
		TEST(what_is_not_permitted_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
