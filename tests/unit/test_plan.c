/* SPDX-License-Identifier: MIT */
/* test_plan.c - plans made on a fake PMU, and their text in PMC_JOB. */
#include "tests/unit/plan_try.h"

static void fills_groups(void **state)
{
	struct pmc_events events = hardware(&arena, 8);

	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.opened, 8);
	assert_int_equal(plan.first[0], 0);
	assert_int_equal(plan.first[1], 6);
	assert_int_equal(plan.first[2], 8);
	assert_true(plan.hardware);
	assert_true(plan.hash != 0);
}

static void one_group_takes_few_opens(void **state)
{
	struct pmc_events events = hardware(&arena, 6);

	make_plan(&events);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.opened, 6);
	/* Six opens of single events, six as one group. */
	assert_int_equal(kernel.opens, 12);
	/* The seventh open fails; the rest are not tried. */
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	assert_int_equal(kernel.opens, 12 + 7);
}

/* arm64 may accept seven events where six run; the NMI watchdog may hold a counter. */
static void packs_what_runs_not_what_opens(void **state)
{
	struct pmc_events events = hardware(&arena, 7);

	kernel.group_size = 7;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 6);
	assert_int_equal(plan.opened, 7);
	kernel.counters = 5;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 5);
	/* All counters are taken: each event gets its own group and may run later. */
	kernel.counters = 0;
	make_plan(&events);
	assert_int_equal(plan.groups, 7);
	assert_int_equal(plan.opened, 7);
}

static unsigned group_of(const char *name)
{
	for (unsigned i = 0; i < plan.count; i++)
		if (strcmp(plan.events[i].event.name, name) == 0)
			return plan.events[i].group;
	fail_msg("no event %s", name);
	return 0;
}

static void ratios_stay_together(void **state)
{
	struct pmc_events events = hardware(&arena, 8);
	static const uint64_t configs[] = { 0, 20, 2, 4, 21, 1, 3, 5 };

	/* cycles .. cache-references, branches .. instructions, cache-misses, branch-misses */
	for (unsigned i = 0; i < 8; i++)
		events.list[i].config = configs[i];
	kernel.counters = 4;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(group_of("a"), group_of("f"));
	assert_int_equal(group_of("c"), group_of("g"));
	assert_int_equal(group_of("d"), group_of("h"));
	/* Ratios are split if keeping them together needs one more group. */
	events.count = 6;
	events.list[1].config = 3, events.list[4].config = 5;
	kernel.counters = 3;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
}

static void braces_are_never_taken_apart(void **state)
{
	struct pmc_events events = hardware(&arena, 8);

	kernel.group_size = 8;
	for (unsigned i = 0; i < 7; i++)
		events.list[i].brace = 0;
	make_plan(&events);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.opened, 1);
	assert_string_equal(plan.events[0].event.name, "h");
	for (unsigned i = 1; i < 8; i++) {
		assert_int_equal(plan.events[i].group, PMC_NO_GROUP);
		assert_int_equal(plan.events[i].state, PMC_NOT_COUNTED);
		assert_int_equal(plan.events[i].error, PMC_REASON_BRACE);
	}
}

static void falls_back_to_user_mode(void **state)
{
	struct pmc_events events = hardware(&arena, 2);

	kernel.user_only = true;
	events.list[1].asked_scope = true; /* :uk: no fallback */
	make_plan(&events);
	assert_int_equal(plan.opened, 1);
	assert_int_equal(plan.events[0].scope, PMC_SCOPE_USER);
	assert_int_equal(plan.events[0].flags, PMC_EVENT_FELL_BACK);
	assert_int_equal(plan.events[1].group, PMC_NO_GROUP);
	assert_int_equal(plan.events[1].state, PMC_NOT_PERMITTED);
	assert_int_equal(plan.events[1].error, EACCES);
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

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pmc_events events = hardware(&arena, 1);

		kernel.everything = rows[i].error;
		make_plan(&events);
		assert_int_equal(plan.opened, 0);
		assert_int_equal(plan.groups, 0);
		assert_int_equal(plan.events[0].state, rows[i].state);
		assert_int_equal(plan.events[0].error, rows[i].error);
	}
}

static void braces_stay_apart(void **state)
{
	struct pmc_events events = hardware(&arena, 4);

	events.list[1].brace = events.list[2].brace = 0;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_string_equal(plan.events[0].event.name, "a");
	assert_string_equal(plan.events[1].event.name, "d");
	assert_string_equal(plan.events[2].event.name, "b");
	assert_string_equal(plan.events[3].event.name, "c");
}

static void text_brings_the_plan_back(void **state)
{
	struct pmc_events events = hardware(&arena, 8);
	struct pmc_plan back;
	struct pmc_out out;
	char text[8192];

	kernel.missing = 103;
	events.list[0].name = "cpu/event=0x3c,umask=1/u";
	events.list[0].config3 = UINT64_MAX;
	events.list[0].exclude_kernel = events.list[0].asked_scope = true;
	events.list[1].scale = 2.5e-10;
	events.list[1].unit = "MiB; 100 %:\n";
	events.list[1].core_type = "cpu_atom";
	make_plan(&events);
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
	/* The hash covers every field of the event set. */
	assert_true(back.hash == plan.hash);
}

static void descendants_plan_pins_and_uncore_events_anew(void **state)
{
	struct pmc_events events = hardware(&arena, 3);
	struct pmc_out out;
	char text[8192];

	events.list[2].pinned = true;
	for (int i = 0; i < 2; i++) {
		make_plan(&events);
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_plan_encode(&plan, &out);
		assert_string_equal(text, "");
		events.list[2].pinned = false;
		events.list[1].cpus = "0-3,8";
	}
}

static int decode(const char *text, size_t len)
{
	struct pmc_arena memory = { 0 };
	struct pmc_plan decoded;
	int rc = pmc_plan_decode(text, len, &memory, &decoded);

	pmc_arena_free(&memory);
	return rc;
}

/* Software events that the kernel accounts for anyway. */
static void accounted_events_open_nothing(void **state)
{
	static const char text[] = "task-clock,page-faults,context-switches,{minor-faults},"
				   "page-faults:u,major-faults,cpu-migrations,faults,"
				   "task-clock";
	static const char *const accounted[] = { "task-clock",	     "task-clock",   "page-faults",
						 "context-switches", "major-faults", "faults" };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_plan back;
	struct pmc_out out;
	char hex[8192];

	assert_int_equal(pmc_events_parse(text, NULL, &arena, &events, &error), 0);
	pmc_events_account(&events, true);
	make_plan(&events);
	assert_int_equal(plan.opened, 3);
	assert_int_equal(plan.readings, plan.groups + 2);
	assert_int_equal(plan.first[plan.readings], 9);
	for (unsigned i = 0; i < 6; i++) {
		const struct pmc_planned *planned = &plan.events[plan.opened + i];

		assert_string_equal(planned->event.name, accounted[i]);
		assert_int_equal(planned->group, plan.groups + (i > 1));
		assert_int_equal(planned->flags, PMC_EVENT_ACCOUNTED);
	}
	pmc_out_to_mem(&out, hex, sizeof(hex));
	pmc_plan_encode(&plan, &out);
	assert_int_equal(pmc_plan_decode(hex, out.len, &arena, &back), 0);
	assert_int_equal(back.hash, plan.hash);
	assert_int_equal(back.opened, plan.opened);
	assert_int_equal(back.readings, plan.readings);
	assert_true(back.events[back.opened].event.accounted);
	/* Without faults and switches, of which snapshots know those of their own thread only. */
	pmc_events_parse(text, NULL, &arena, &events, &error);
	pmc_events_account(&events, false);
	make_plan(&events);
	assert_int_equal(plan.opened, 7);
	assert_int_equal(plan.readings, plan.groups + 1);
}

/* An event set whose accounted events are not the last groups. */
static void mixed_groups_are_refused(void **state)
{
	static const struct {
		uint16_t group[3], flags[3];
		int error;
	} sets[] = {
		{ { 0, 1, 1 }, { 0, PMC_EVENT_ACCOUNTED, PMC_EVENT_ACCOUNTED }, 0 },
		{ { 0, 0, 0 }, { 0, PMC_EVENT_ACCOUNTED, PMC_EVENT_ACCOUNTED }, -EINVAL },
		{ { 0, 0, 1 }, { PMC_EVENT_ACCOUNTED, 0, 0 }, -EINVAL },
		{ { 0, 1, 1 }, { 0, PMC_EVENT_ACCOUNTED, 0 }, -EINVAL },
		{ { 0, 1, PMC_NO_GROUP },
		  { 0, PMC_EVENT_ACCOUNTED, PMC_EVENT_ACCOUNTED },
		  -EINVAL },
	};

	for (unsigned s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		uint64_t room[128];
		struct pmc_frame_buf buf;
		struct pmc_plan made;

		pmc_frame_buf_init(&buf, room, sizeof(room));
		pmc_begin_eventset(&buf, 3, 2);
		for (unsigned i = 0; i < 3; i++) {
			const struct pmc_event_def def = {
				.type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_PAGE_FAULTS,
				.group = sets[s].group[i],
				.flags = sets[s].flags[i],
			};

			pmc_put_event(&buf, &def, "faults", "", "");
		}
		pmc_frame_end(&buf);
		assert_int_equal(pmc_plan_from_frame(buf.data, buf.len, &arena, &made),
				 sets[s].error);
	}
}

static void damaged_text_is_refused(void **state)
{
	struct pmc_events events = hardware(&arena, 3);
	struct pmc_out out;
	char text[4096];

	make_plan(&events);
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_plan_encode(&plan, &out);
	assert_int_equal(decode(text, out.len), 0);
	for (size_t len = 0; len < out.len; len++)
		if (decode(text, len) != -EINVAL)
			fail_msg("cut to %zu bytes: %.*s", len, (int)len, text);
	for (size_t at = 0; at < out.len; at++) {
		char was = text[at];

		text[at] = was == '0' ? '1' : '0';
		if (decode(text, out.len) != -EINVAL)
			fail_msg("at %zu: %s", at, text);
		text[at] = was;
	}
}

static void pinned_events_are_groups_of_their_own(void **state)
{
	struct pmc_events events = hardware(&arena, 5);

	events.list[1].pinned = events.list[2].pinned = true;
	make_plan(&events);
	assert_int_equal(plan.groups, 3);
	assert_int_equal(group_of("a"), group_of("e"));
	assert_int_not_equal(group_of("b"), group_of("c"));
	for (unsigned i = 0; i < plan.opened; i++)
		assert_int_equal(plan.events[i].event.pinned,
				 strchr("bc", plan.events[i].event.name[0]) != NULL);
	/* In braces one pinned event pins the whole group. */
	events.list[3].brace = events.list[4].brace = 0;
	events.list[4].pinned = true;
	make_plan(&events);
	assert_int_equal(group_of("d"), group_of("e"));
	assert_true(plan.events[plan.first[group_of("d")]].event.pinned);
}

/* Pinned events always run: a group of the other events must fit beside them. */
static void pinned_events_take_their_counters_first(void **state)
{
	struct pmc_events events = hardware(&arena, 7);

	events.list[6].pinned = true;
	make_plan(&events);
	assert_int_equal(plan.groups, 3);
	assert_int_equal(plan.opened, 7);
	assert_int_equal(group_of("g"), 0);
	for (unsigned g = 1; g < 3; g++)
		assert_in_range(plan.first[g + 1] - plan.first[g], 1, 5);
	/* A braced group of the others would never be scheduled. */
	for (unsigned i = 0; i < 6; i++)
		events.list[i].brace = 0;
	make_plan(&events);
	assert_int_equal(plan.opened, 1);
	assert_int_equal(plan.events[1].state, PMC_NOT_COUNTED);
	assert_int_equal(plan.events[1].error, PMC_REASON_BRACE);
	/* No counters remain for the other event, nor for the last pinned one. */
	for (unsigned i = 0; i < 7; i++) {
		events.list[i].brace = PMC_NO_BRACE;
		events.list[i].pinned = i > 0;
	}
	make_plan(&events);
	assert_int_equal(plan.opened, 6);
	assert_string_equal(plan.events[6].event.name, "a");
	assert_int_equal(plan.events[6].error, PMC_REASON_ALL_PINNED);
	events.list[0].pinned = true;
	make_plan(&events);
	assert_int_equal(plan.opened, 6);
	assert_string_equal(plan.events[6].event.name, "g");
	assert_int_equal(plan.events[6].error, PMC_REASON_PINNED);
}

static void software_events_do_not_take_turns(void **state)
{
	struct pmc_events events = hardware(&arena, 8);

	events.list[0].type = events.list[4].type = PERF_TYPE_SOFTWARE;
	/* The software events need no counters, so one group is enough. */
	make_plan(&events);
	assert_int_equal(plan.groups, 1);
	kernel.counters = 4;
	make_plan(&events);
	assert_int_equal(plan.groups, 3);
	assert_int_equal(plan.opened, 8);
	assert_int_equal(group_of("a"), group_of("e"));
	assert_int_equal(plan.first[group_of("a") + 1] - plan.first[group_of("a")], 2);
	/* Braces still make groups of their own. */
	events.list[0].brace = events.list[1].brace = 0;
	make_plan(&events);
	assert_int_equal(group_of("a"), group_of("b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAN_TEST(fills_groups),
		PLAN_TEST(one_group_takes_few_opens),
		PLAN_TEST(packs_what_runs_not_what_opens),
		PLAN_TEST(ratios_stay_together),
		PLAN_TEST(braces_are_never_taken_apart),
		PLAN_TEST(falls_back_to_user_mode),
		PLAN_TEST(each_errno_has_its_state),
		PLAN_TEST(braces_stay_apart),
		PLAN_TEST(descendants_plan_pins_and_uncore_events_anew),
		PLAN_TEST(pinned_events_are_groups_of_their_own),
		PLAN_TEST(pinned_events_take_their_counters_first),
		PLAN_TEST(software_events_do_not_take_turns),
		PLAN_TEST(text_brings_the_plan_back),
		PLAN_TEST(accounted_events_open_nothing),
		PLAN_TEST(mixed_groups_are_refused),
		PLAN_TEST(damaged_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
