/* SPDX-License-Identifier: MIT */
/* test_plan.c - plans against a kernel that says what the test wants; and their text for PMC_JOB.
 */
#include "agent/core/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The kernel's double: what a group may hold when it is opened, how many counters there are to
 * run it, and what it refuses. A pinned group's descriptor is a file: empty, as a read of such a
 * group is, when the counters do not suffice for all pinned groups. */
static struct {
	unsigned group_size;
	unsigned counters;
	bool user_only;	  /* EACCES for whatever includes the kernel */
	uint64_t missing; /* config that does not exist: ENOENT */
	int everything;	  /* errno for every open, 0: none */
	struct {
		int leader; /* its own number for a leader */
		bool pinned;
		ino_t file; /* tells whether the number is still this event's */
	} events[1024];
	unsigned opens;
} kernel;

static bool still_open(int fd)
{
	struct stat st;

	return kernel.events[fd].file && fstat(fd, &st) == 0 && st.st_ino == kernel.events[fd].file;
}

static unsigned members(int leader)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += still_open(fd) && kernel.events[fd].leader == leader;
	return n;
}

/* Pinned groups take counters in the order they came; what is left over cannot run. */
static void schedule(void)
{
	unsigned left = kernel.counters;

	for (int fd = 0; fd < 256; fd++) {
		if (!still_open(fd) || !kernel.events[fd].pinned || kernel.events[fd].leader != fd)
			continue;
		bool fits = members(fd) <= left;

		left -= fits ? members(fd) : 0;
		assert_int_equal(ftruncate(fd, fits ? 1 << 20 : 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	}
}

static int fake_open(struct pmc_attr *attr, int leader)
{
	struct stat st;
	int fd;

	kernel.opens++;
	if (kernel.everything)
		return -kernel.everything;
	if (attr->base.config == kernel.missing)
		return -ENOENT;
	if (kernel.user_only && !attr->base.exclude_kernel)
		return -EACCES;
	if (leader >= 0 && members(leader) >= kernel.group_size)
		return -EINVAL;
	fd = memfd_create("event", 0);
	assert_in_range(fd, 0, 255);
	assert_int_equal(fstat(fd, &st), 0);
	kernel.events[fd].file = st.st_ino;
	kernel.events[fd].leader = leader >= 0 ? leader : fd;
	kernel.events[fd].pinned = attr->base.pinned;
	assert_int_equal(attr->base.pinned && attr->base.disabled, 0);
	schedule();
	return fd;
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static struct pmc_events hardware(struct pmc_arena *arena, unsigned n)
{
	struct pmc_event *list = pmc_arena_alloc(arena, n * sizeof(*list) + 1);
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	for (unsigned i = 0; i < n; i++)
		list[i] = (struct pmc_event){ .name = names[i],
					      .unit = "",
					      .pmu = "",
					      .config = 100 + i,
					      .scale = 1.0,
					      .brace = PMC_NO_BRACE,
					      .position = i };
	return (struct pmc_events){ .list = list, .count = n };
}

static int reset(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.group_size = kernel.counters = 6;
	kernel.missing = UINT64_MAX;
	return 0;
}

static void fills_groups_and_leaks_nothing(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 8);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.opened, 8);
	assert_int_equal(plan.first[0], 0);
	assert_int_equal(plan.first[1], 6);
	assert_int_equal(plan.first[2], 8);
	assert_true(plan.hardware);
	assert_true(plan.hash != 0);
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

static void what_fits_is_opened_once(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 6);
	struct pmc_plan plan;

	(void)state;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.opened, 6);
	assert_int_equal(kernel.opens, 6);
	/* It is known at once that there is no room for it twice. */
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	assert_int_equal(kernel.opens, 6 + 7);
	pmc_arena_free(&arena);
}

/* arm64 accepts seven where six run; a PC's watchdog holds a counter that open() knows not of. */
static void packs_what_runs_not_what_opens(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 7);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	kernel.group_size = 7;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 6);
	assert_int_equal(plan.opened, 7);
	kernel.counters = 5;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 5);
	/* Everything is taken just now: each may run yet, alone. */
	kernel.counters = 0;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 7);
	assert_int_equal(plan.opened, 7);
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

static void knows_whether_it_fits_twice(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 3);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
	kernel.counters = 5;
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	/* Two groups, each of which fits, but not both. */
	events.list[2].brace = 0;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	kernel.counters = 6;
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

static unsigned group_of(const struct pmc_plan *plan, const char *name)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (strcmp(plan->events[i].event.name, name) == 0)
			return plan->events[i].group;
	fail_msg("no event %s", name);
	return 0;
}

static void ratios_stay_together(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 8);
	static const uint64_t configs[] = { 0, 20, 2, 4, 21, 1, 3, 5 };
	struct pmc_plan plan;

	(void)state;
	/* cycles .. cache-references, branches .. instructions, cache-misses, branch-misses */
	for (unsigned i = 0; i < 8; i++)
		events.list[i].config = configs[i];
	kernel.counters = 4;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(group_of(&plan, "a"), group_of(&plan, "f"));
	assert_int_equal(group_of(&plan, "c"), group_of(&plan, "g"));
	assert_int_equal(group_of(&plan, "d"), group_of(&plan, "h"));
	/* But not at the price of a group more: two of three counters each, or three. */
	events.count = 6;
	events.list[1].config = 3, events.list[4].config = 5;
	kernel.counters = 3;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	pmc_arena_free(&arena);
}

static void braces_are_never_taken_apart(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 8);
	struct pmc_plan plan;

	(void)state;
	kernel.group_size = 8;
	for (unsigned i = 0; i < 7; i++)
		events.list[i].brace = 0;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.opened, 1);
	assert_string_equal(plan.events[0].event.name, "h");
	for (unsigned i = 1; i < 8; i++) {
		assert_int_equal(plan.events[i].group, PMC_NO_GROUP);
		assert_int_equal(plan.events[i].state, PMC_NOT_COUNTED);
		assert_int_equal(plan.events[i].error, PMC_REASON_BRACE);
	}
	pmc_arena_free(&arena);
}

static void falls_back_to_user_mode(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 2);
	struct pmc_plan plan;

	(void)state;
	kernel.user_only = true;
	events.list[1].asked_scope = true; /* :uk, say: never changed behind the user's back */
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.opened, 1);
	assert_int_equal(plan.events[0].scope, PMC_SCOPE_USER);
	assert_int_equal(plan.events[0].flags, PMC_EVENT_FELL_BACK);
	assert_int_equal(plan.events[1].group, PMC_NO_GROUP);
	assert_int_equal(plan.events[1].state, PMC_NOT_PERMITTED);
	assert_int_equal(plan.events[1].error, EACCES);
	pmc_arena_free(&arena);
}

static void each_errno_has_its_state(void **state)
{
	static const struct {
		int error;
		enum pmc_state state;
	} rows[] = {
		{ ENOENT, PMC_NOT_SUPPORTED }, { EOPNOTSUPP, PMC_NOT_SUPPORTED },
		{ ENODEV, PMC_NOT_SUPPORTED }, { ENOSYS, PMC_NOT_SUPPORTED },
		{ EINVAL, PMC_NOT_SUPPORTED }, { EACCES, PMC_NOT_PERMITTED },
		{ EPERM, PMC_NOT_PERMITTED },  { EMFILE, PMC_NOT_COUNTED },
		{ EBUSY, PMC_NOT_COUNTED },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pmc_arena arena = { 0 };
		struct pmc_events events = hardware(&arena, 1);
		struct pmc_plan plan;

		kernel.everything = rows[i].error;
		assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
		assert_int_equal(plan.opened, 0);
		assert_int_equal(plan.groups, 0);
		assert_int_equal(plan.events[0].state, rows[i].state);
		assert_int_equal(plan.events[0].error, rows[i].error);
		pmc_arena_free(&arena);
	}
}

static void braces_stay_apart(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 4);
	struct pmc_plan plan;

	(void)state;
	events.list[1].brace = events.list[2].brace = 0;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_string_equal(plan.events[0].event.name, "a");
	assert_string_equal(plan.events[1].event.name, "d");
	assert_string_equal(plan.events[2].event.name, "b");
	assert_string_equal(plan.events[3].event.name, "c");
	pmc_arena_free(&arena);
}

static void text_brings_the_plan_back(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 8);
	struct pmc_plan plan, back;
	struct pmc_out out;
	char text[8192];

	(void)state;
	kernel.missing = 103;
	events.list[0].name = "cpu/event=0x3c,umask=1/u";
	events.list[0].config3 = UINT64_MAX;
	events.list[0].exclude_kernel = events.list[0].asked_scope = true;
	events.list[1].scale = 2.5e-10;
	events.list[1].unit = "MiB; 100 %:\n";
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_plan_encode(&plan, &out);
	assert_int_equal(out.error, 0);
	assert_null(strpbrk(text, ": \n"));
	assert_int_equal(pmc_plan_decode(text, out.len, &arena, &back), 0);
	assert_int_equal(back.count, plan.count);
	assert_int_equal(back.opened, plan.opened);
	assert_int_equal(back.groups, plan.groups);
	assert_int_equal(back.hardware, plan.hardware);
	assert_memory_equal(back.first, plan.first, sizeof(unsigned) * (plan.groups + 1));
	/* The frame has every field: equal hashes are equal plans. */
	assert_true(back.hash == plan.hash);
	pmc_arena_free(&arena);
}

static void damaged_text_is_refused(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 3);
	struct pmc_plan plan, back;
	struct pmc_out out;
	char text[4096];
	unsigned refused = 0;

	(void)state;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_plan_encode(&plan, &out);
	srand(1);
	for (unsigned i = 0; i < 5000; i++) {
		size_t at = (size_t)rand() % out.len, len = out.len;
		char was = text[at];

		if (i % 2)
			len = at;
		else
			text[at] = (char)rand();
		refused += pmc_plan_decode(text, len, &arena, &back) == -EINVAL;
		text[at] = was;
		if (i % 100 == 0) {
			pmc_arena_free(&arena);
			memset(&arena, 0, sizeof(arena));
		}
	}
	assert_true(refused > 2500);
	pmc_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(fills_groups_and_leaks_nothing, reset),
		cmocka_unit_test_setup(what_fits_is_opened_once, reset),
		cmocka_unit_test_setup(packs_what_runs_not_what_opens, reset),
		cmocka_unit_test_setup(knows_whether_it_fits_twice, reset),
		cmocka_unit_test_setup(ratios_stay_together, reset),
		cmocka_unit_test_setup(braces_are_never_taken_apart, reset),
		cmocka_unit_test_setup(falls_back_to_user_mode, reset),
		cmocka_unit_test_setup(each_errno_has_its_state, reset),
		cmocka_unit_test_setup(braces_stay_apart, reset),
		cmocka_unit_test_setup(text_brings_the_plan_back, reset),
		cmocka_unit_test_setup(damaged_text_is_refused, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
