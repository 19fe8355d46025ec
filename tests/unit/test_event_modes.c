/* SPDX-License-Identifier: MIT */
/*
 * test_event_modes.c - every built-in event, as root and without privilege, plain, with :u and :k:
 * what is counted in which scope, and what is refused. On a double of perf_event_open(2) that
 * refuses to count the kernel, as perf_event_paranoid 2 does.
 */
#include "tests/unit/fake_pmu.h"

#include "tests/unit/event_tree.h"

/* Named here, independently of the table: events that the kernel counts in all modes, or in kernel
 * mode only. */
static const char *const unfiltered[] = { "cpu-clock", "task-clock", "syscalls:sys_enter_openat" };
static const char *const in_kernel[] = { "context-switches", "cs",
					 "cpu-migrations",   "migrations",
					 "cgroup-switches",  "sched:sched_switch" };

static bool among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

#define AMONG(name, list) among(name, list, sizeof(list) / sizeof(*(list)))

enum { PLAIN, USER, KERNEL };

struct expected {
	enum pmc_state state;
	enum pmc_scope scope;
	int error;
};

static struct expected expected_of(const char *name, int mode, bool root)
{
	if (AMONG(name, unfiltered))
		return (struct expected){ PMC_COUNTED, PMC_SCOPE_ALL, 0 };
	if (mode == USER && AMONG(name, in_kernel))
		return (struct expected){ PMC_NOT_SUPPORTED, PMC_SCOPE_USER,
					  PMC_REASON_KERNEL_ONLY };
	if (mode == USER)
		return (struct expected){ PMC_COUNTED, PMC_SCOPE_USER, 0 };
	if (!root && (mode == KERNEL || AMONG(name, in_kernel)))
		return (struct expected){ PMC_NOT_PERMITTED,
					  mode == KERNEL ? PMC_SCOPE_KERNEL : PMC_SCOPE_ALL,
					  EACCES };
	if (mode == KERNEL)
		return (struct expected){ PMC_COUNTED, PMC_SCOPE_KERNEL, 0 };
	return (struct expected){ PMC_COUNTED, root ? PMC_SCOPE_ALL : PMC_SCOPE_USER, 0 };
}

static void plan_of(const char *text, struct pmc_arena *arena, struct pmc_plan *plan)
{
	struct pmc_parse_error error;
	struct pmc_events events;

	if (pmc_events_parse(text, &tree_roots, arena, &events, &error))
		fail_msg("%s: %s", text, error.text);
	assert_int_equal(pmc_plan_make(&events, fake_open, arena, plan), 0);
}

static void check_attr(const struct pmc_planned *planned, const struct pmc_attr *attr)
{
	if (pmc_event_filter(&planned->event) == PMC_UNFILTERED)
		assert_true(attr->base.exclude_kernel && !attr->base.exclude_user);
	else
		assert_true(attr->base.exclude_kernel == (planned->scope == PMC_SCOPE_USER) &&
			    attr->base.exclude_user == (planned->scope == PMC_SCOPE_KERNEL));
}

static void check(const char *name, int mode, bool root)
{
	static const char *const modifiers[] = { "", ":u", ":k" };
	struct expected want = expected_of(name, mode, root);
	const struct pmc_planned *planned;
	struct pmc_arena arena = { 0 };
	struct pmc_plan plan;
	char text[96];

	kernel.user_only = !root;
	snprintf(text, sizeof(text), "%s%s", name, modifiers[mode]);
	plan_of(text, &arena, &plan);
	assert_int_equal(plan.count, 1);
	planned = &plan.events[0];
	if (planned->state != want.state || planned->scope != want.scope ||
	    planned->error != want.error)
		fail_msg("%s as %s: state %u, scope %u, error %d; expected %u, %u, %d", text,
			 root ? "root" : "user", planned->state, planned->scope, planned->error,
			 want.state, want.scope, want.error);
	assert_int_equal(planned->group == PMC_NO_GROUP, want.state != PMC_COUNTED);
	/* An unprivileged user gets the user-mode fallback without :u. */
	assert_int_equal(!!(planned->flags & PMC_EVENT_FELL_BACK),
			 !root && mode == PLAIN && want.scope == PMC_SCOPE_USER);
	if (want.state == PMC_COUNTED)
		check_attr(planned, &plan.attrs[0]);
	pmc_arena_free(&arena);
}

static void check_all(const char *name)
{
	for (int mode = PLAIN; mode <= KERNEL; mode++) {
		check(name, mode, true);
		check(name, mode, false);
	}
}

static void check_builtin(const struct pmc_builtin *row, void *arg)
{
	if (row->type != PMC_TYPE_OS)
		check_all(row->name);
	++*(unsigned *)arg;
}

static void test_every_event(void **state)
{
	unsigned n = 0;

	pmc_builtins_each(check_builtin, &n);
	assert_true(n > 40);
	check_all("sched:sched_switch");
	check_all("syscalls:sys_enter_openat");
	check_all("r1c2");
	check_all("cpu/event=1/");
}

/* They are never opened, and keep their place in the list. */
static void test_events_of_the_os(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_plan plan;

	plan_of("run-delay,task-clock,system_time", &arena, &plan);
	assert_int_equal(plan.opened, 1);
	assert_int_equal(plan.os, 1u << PMC_OS_RUN_DELAY | 1u << PMC_OS_SYSTEM_TIME);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(plan.events[i].group, PMC_NO_GROUP);
		assert_int_equal(plan.events[i].error, PMC_REASON_OS);
		assert_int_equal(plan.events[i].event.position, i == 1 ? 0 : 2);
		assert_string_equal(plan.events[i].event.unit, "ns");
	}
	pmc_arena_free(&arena);
}

/* Events from PMC_JOB open the same in descendants. */
static void test_survives_encoding(void **state)
{
	static const char *const names[] = { "task-clock:u", "syscalls:sys_enter_openat:k",
					     "page-faults", "context-switches:k" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct pmc_arena arena = { 0 };
		struct pmc_plan plan, copy;
		struct pmc_out out;
		char text[2048];

		plan_of(names[i], &arena, &plan);
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_plan_encode(&plan, &out);
		assert_int_equal(pmc_plan_decode(text, out.len, &arena, &copy), 0);
		assert_int_equal(copy.hash, plan.hash);
		assert_memory_equal(&copy.attrs[0].base, &plan.attrs[0].base,
				    sizeof(plan.attrs[0].base));
		pmc_arena_free(&arena);
	}
}

/* Root's plan, for threads started after a loss of privilege: groups keep their layout, and events
 * that occur only in the kernel are marked. */
static void test_user_plan(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_plan plan, user;
	struct pmc_events events;

	assert_int_equal(pmc_events_parse("{page-faults,context-switches,task-clock}", &tree_roots,
					  &arena, &events, &error),
			 0);
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(pmc_plan_user(&plan, &arena, &user), 0);
	assert_int_equal(user.groups, 1);
	assert_int_equal(user.opened, 3);
	assert_int_equal(user.events[0].state, PMC_COUNTED);
	assert_int_equal(user.events[0].scope, PMC_SCOPE_USER);
	assert_int_equal(user.events[1].state, PMC_NOT_PERMITTED);
	assert_int_equal(user.events[1].group, 0);
	assert_int_equal(user.events[2].state, PMC_COUNTED);
	assert_int_equal(user.events[2].scope, PMC_SCOPE_ALL);
	for (unsigned i = 0; i < 3; i++)
		assert_true(user.attrs[i].base.exclude_kernel);
	pmc_arena_free(&arena);
}

static bool opens_nowhere(const struct pmc_attr *attr)
{
	return attr->base.type == 9;
}

static int open_without_exclude(struct pmc_attr *attr, int leader)
{
	if (opens_nowhere(attr) && (attr->base.exclude_kernel || attr->base.exclude_user))
		return -EINVAL;
	return fake_open(attr, leader);
}

/* PMUs that cannot exclude a mode fail with EINVAL although permission is the cause. */
static void test_pmu_without_modes(void **state)
{
	struct pmc_planned planned = { .event = { .name = "msr/tsc/", .type = 9 } };

	kernel.user_only = true;
	assert_true(pmc_plan_try(open_without_exclude, &planned) < 0);
	assert_int_equal(planned.state, PMC_NOT_PERMITTED);
	assert_int_equal(planned.error, EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_event, fake_reset),
		cmocka_unit_test_setup(test_events_of_the_os, fake_reset),
		cmocka_unit_test_setup(test_survives_encoding, fake_reset),
		cmocka_unit_test_setup(test_user_plan, fake_reset),
		cmocka_unit_test_setup(test_pmu_without_modes, fake_reset),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
