/* SPDX-License-Identifier: MIT */
/* test_hybrid_report.c - counts by type of core and of the whole machine, from frames to views. */
#include "tests/unit/report_profile.h"
#include "tests/unit/unpack.h"
#include "tests/unit/unit.h"

#include <errno.h>

static struct pmc_profile profile;

/* cycles on both types in groups 0 and 1, instructions in 2 and 3, as the plan orders them; events
 * that belong together are found by their positions in the frame. */
static uint64_t set_of(unsigned events, const uint16_t *group, uint8_t atom_state)
{
	struct pmc_eventset_fixed fixed = { .n_events = (uint16_t)(2 * events) };

	for (unsigned i = 0; i < 2 * events; i++)
		if (group[i] != PMC_NO_GROUP && group[i] >= fixed.n_groups)
			fixed.n_groups = (uint16_t)(group[i] + 1);
	pmc_frame_begin(&made, PMC_FRAME_EVENTSET, NULL, 0, &fixed, sizeof(fixed));
	for (unsigned i = 0; i < 2 * events; i++) {
		const char *name = i / 2 ? "instructions" : "cycles";
		struct pmc_event_def def = {
			.config = (uint64_t)(i % 2 ? 10 : 4) << 32 | i / 2,
			.group = group[i],
			.state = i % 2 ? atom_state : PMC_COUNTED,
			.error = i % 2 && atom_state ? ENOENT : 0,
			.scale = 1,
			.position = (uint16_t)(i / 2),
		};

		pmc_frame_bytes(&made, &def, sizeof(def));
		pmc_frame_str(&made, name, strlen(name));
		pmc_frame_str(&made, "", 0);
		pmc_frame_str(&made, i % 2 ? "cpu_atom" : "cpu_core", 8);
	}
	return pmc_frame_end(&made);
}

/* Group with two events, of which the second counts one more than the first. */
static unsigned shared = PMC_NO_GROUP;

/* One row of such a set; {enabled, running, value} for each group. */
static const struct pmc_count *row_of(uint64_t set, unsigned groups, uint64_t values[][3])
{
	struct made_value readings[4] = { 0 };

	for (unsigned g = 0; g < groups; g++)
		readings[g] = (struct made_value){ .enabled = values[g][0],
						   .running = values[g][1],
						   .n = g == shared ? 2 : 1,
						   .values = { values[g][2], values[g][2] + 1 } };
	made_process(1, &(struct pmc_process_fixed){ .pid = 1, .flags = PMC_PROCESS_FIRST }, "h",
		     "exe", "exe");
	made_thread(1, (struct pmc_thread_fixed){ .tid = 1, .cpu_ns = 10, .eventset = set }, "t",
		    readings, groups);
	made_profile(&profile, false);
	return unpack_row(&profile, profile.threads[0])->counts;
}

static const uint16_t two[] = { 0, 1 }, four[] = { 0, 1, 2, 3 };

static void is_count(const struct pmc_count *count, enum pmc_state state, uint64_t value)
{
	assert_int_equal(count->state, state);
	if (pmc_count_has_value(count))
		assert_int_equal(pmc_count_value(count), value);
}

static void one_event(uint64_t core[3], uint64_t atom[3], const enum pmc_state state[3],
		      const uint64_t value[3])
{
	uint64_t values[2][3];
	const struct pmc_count *counts;

	memcpy(values[0], core, sizeof(values[0]));
	memcpy(values[1], atom, sizeof(values[1]));
	made_begin();
	counts = row_of(set_of(1, two, PMC_COUNTED), 2, values);
	assert_int_equal(unpack_row(&profile, profile.threads[0])->set->count, 3);
	for (unsigned i = 0; i < 3; i++)
		is_count(&counts[i], state[i], value[i]);
	pmc_profile_free(&profile);
}

#define ROW(...)                                                                                   \
	(uint64_t[3])                                                                              \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define STATES(sum, core, atom)                                                                    \
	(const enum pmc_state[3])                                                                  \
	{                                                                                          \
		sum, core, atom                                                                    \
	}

static void the_sum_stands_in_front(void **state)
{
	const struct pmc_p_event *events;

	made_begin();
	row_of(set_of(2, four, PMC_COUNTED), 4,
	       (uint64_t[][3]){ { 100, 60, 6 }, { 100, 40, 4 }, { 100, 60, 5 }, { 100, 40, 3 } });
	events = unpack_row(&profile, profile.threads[0])->set->events;
	assert_int_equal(unpack_row(&profile, profile.threads[0])->set->count, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_string_equal(events[i].name, i < 3 ? "cycles" : "instructions");
		assert_string_equal(events[i].core_type, i % 3 == 0 ? "" :
							 i % 3 == 1 ? "cpu_core" :
								      "cpu_atom");
		assert_int_equal(!!(events[i].def.flags & PMC_EVENT_SUM), i % 3 == 0);
	}
	/* The code without the PMU: metrics use it. */
	assert_int_equal(events[3].def.config, 1);
	pmc_profile_free(&profile);
}

static void never_scaled_by_the_other_types_time(void **state)
{
	one_event(ROW(100, 70, 700), ROW(100, 30, 60),
		  STATES(PMC_COUNTED, PMC_COUNTED, PMC_COUNTED), ROW(760, 700, 60));
	/* The enabled times of two groups differ slightly. */
	one_event(ROW(1000000, 699990, 700), ROW(1000000, 299990, 60),
		  STATES(PMC_COUNTED, PMC_COUNTED, PMC_COUNTED), ROW(760, 700, 60));
}

static void a_type_that_was_never_used_counted_nothing(void **state)
{
	one_event(ROW(100, 100, 700), ROW(100, 0, 0), STATES(PMC_COUNTED, PMC_COUNTED, PMC_COUNTED),
		  ROW(700, 700, 0));
	one_event(ROW(100, 0, 0), ROW(100, 100, 60), STATES(PMC_COUNTED, PMC_COUNTED, PMC_COUNTED),
		  ROW(60, 0, 60));
}

static void what_never_ran_at_all_is_not_counted(void **state)
{
	one_event(ROW(100, 0, 0), ROW(100, 0, 0),
		  STATES(PMC_NOT_COUNTED, PMC_NOT_COUNTED, PMC_NOT_COUNTED), ROW(0, 0, 0));
	one_event(ROW(0, 0, 0), ROW(0, 0, 0),
		  STATES(PMC_NOT_COUNTED, PMC_NOT_COUNTED, PMC_NOT_COUNTED), ROW(0, 0, 0));
	/* No group ran for 60 of the 100 ns: the time on each type of core is unknown. */
	one_event(ROW(100, 40, 400), ROW(100, 0, 0),
		  STATES(PMC_NOT_COUNTED, PMC_SCALED, PMC_NOT_COUNTED), ROW(0, 1000, 0));
}

static void turns_are_scaled_to_the_time_on_that_type(void **state)
{
	static const uint16_t three[] = { 0, 1, 2, 1 };
	const struct pmc_count *counts;

	/* 700 ns on cpu_core, where two groups are multiplexed, 300 ns on cpu_atom, which has one
	 * group. */
	made_begin();
	shared = 1;
	counts = row_of(
		set_of(2, three, PMC_COUNTED), 3,
		(uint64_t[][3]){ { 1000, 350, 7001 }, { 1000, 300, 60 }, { 1000, 350, 35 } });
	shared = PMC_NO_GROUP;
	is_count(&counts[1], PMC_SCALED, 14002);
	is_count(&counts[2], PMC_COUNTED, 60);
	is_count(&counts[0], PMC_SCALED, 14062);
	is_count(&counts[4], PMC_SCALED, 70);
	is_count(&counts[5], PMC_COUNTED, 61);
	is_count(&counts[3], PMC_SCALED, 131);
	/* The fields that views show are consistent. */
	assert_int_equal(counts[1].enabled_ns, 700);
	assert_int_equal(counts[1].running_ns, 350);
	assert_int_equal(counts[0].raw, 7061);
	assert_int_equal(counts[0].running_ns, 650);
	assert_int_equal(counts[0].enabled_ns, 1000);
	pmc_profile_free(&profile);
}

static void groups_side_by_side_take_no_turns(void **state)
{
	const struct pmc_count *counts;

	made_begin();
	counts = row_of(
		set_of(2, four, PMC_COUNTED), 4,
		(uint64_t[][3]){
			{ 1000, 700, 7 }, { 1000, 300, 6 }, { 1000, 700, 5 }, { 1000, 300, 4 } });
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(counts[i].state, PMC_COUNTED);
	is_count(&counts[0], PMC_COUNTED, 13);
	pmc_profile_free(&profile);
}

static void a_sum_lacks_what_one_type_cannot_count(void **state)
{
	static const uint16_t core_only[] = { 0, PMC_NO_GROUP };
	const struct pmc_count *counts;

	made_begin();
	counts = row_of(set_of(1, core_only, PMC_NOT_SUPPORTED), 1,
			(uint64_t[][3]){ { 100, 70, 700 } });
	is_count(&counts[1], PMC_COUNTED, 700);
	is_count(&counts[2], PMC_NOT_SUPPORTED, 0);
	is_count(&counts[0], PMC_NOT_COUNTED, 0);
	assert_int_equal(counts[0].error, ENOENT);
	pmc_profile_free(&profile);
}

static void totals_less_rows_type_by_type(void **state)
{
	const struct pmc_p_remainder *rest;
	struct made_value row[] = { { .enabled = 100, .running = 70, .n = 1, .values = { 700 } },
				    { .enabled = 100, .running = 30, .n = 1, .values = { 60 } } };
	struct made_value total[] = {
		{ .enabled = 200, .running = 150, .n = 1, .values = { 1500 } },
		{ .enabled = 200, .running = 50, .n = 1, .values = { 100 } }
	};
	uint64_t set;

	made_begin();
	set = set_of(1, two, PMC_COUNTED);
	made_process(1, &(struct pmc_process_fixed){ .pid = 1, .flags = PMC_PROCESS_FIRST }, "h",
		     "exe", "exe");
	made_thread(1, (struct pmc_thread_fixed){ .tid = 1, .eventset = set }, "t", row, 2);
	made_total(1, PMC_TOTAL_THREADS, set, total, 2);
	made_profile(&profile, false);
	rest = &profile.processes[0]->unattributed;
	is_count(&rest->counts[0], PMC_COUNTED, 1600 - 760);
	is_count(&rest->counts[1], PMC_COUNTED, 800);
	is_count(&rest->counts[2], PMC_COUNTED, 40);
	pmc_profile_free(&profile);
}

static char *view(enum pmc_report_format format)
{
	struct pmc_report_options options = { .format = format, .top = -1, .wide = true };
	int result;
	char *text = made_report(&profile, &options, &result, NULL);

	assert_int_equal(result, 0);
	return text;
}

static void views_name_the_types(void **state)
{
	char *text;

	made_begin();
	row_of(set_of(2, four, PMC_COUNTED), 4,
	       (uint64_t[][3]){
		       { 100, 60, 6000 }, { 100, 40, 400 }, { 100, 60, 9000 }, { 100, 40, 600 } });
	text = view(PMC_FORMAT_JSON);
	has(text, "{\"name\":\"cycles\",\"value\":6400,\"raw\":6400,\"enabled_ns\":100,"
		  "\"running_ns\":100,\"scope\":\"all\",\"state\":\"counted\",\"core_type\":null}");
	has(text, "\"value\":400,\"raw\":400,\"enabled_ns\":40,\"running_ns\":40,\"scope\":\"all\","
		  "\"state\":\"counted\",\"core_type\":\"cpu_atom\"}");
	has(text, "\"ipc\":1.5");
	text = view(PMC_FORMAT_CSV);
	has(text, ",cycles,cycles.raw,");
	has(text, ",cycles@cpu_core,");
	has(text, ",6400,6400,100,100,counted,all,6000,6000,60,60,counted,all,400,400,40,40,"
		  "counted,all,");
	text = view(PMC_FORMAT_TABLE);
	has(text, "instructions@cpu_atom");
	has(text, "6,400");
	pmc_profile_free(&profile);
}

/* ---- the whole machine ------------------------------------------------------------------ */

static void machine(const struct made_value *values, unsigned groups)
{
	const struct made_event thread_events[] = {
		{ .name = "cs", .type = 1, .config = 3 },
		{ .name = "power/energy/",
		  .group = PMC_NO_GROUP,
		  .state = PMC_NOT_COUNTED,
		  .error = PMC_REASON_UNCORE,
		  .unit = "Joules",
		  .scale = 0.25 },
	};
	struct pmc_eventset_fixed fixed = { .n_events = 2, .n_groups = (uint16_t)groups };
	struct made_value row = { .enabled = 9, .running = 9, .n = 1, .values = { 3 } };
	uint64_t set, machine_set;

	made_begin();
	set = made_set(thread_events, 2);
	pmc_frame_begin(&made, PMC_FRAME_EVENTSET, NULL, 0, &fixed, sizeof(fixed));
	for (uint16_t i = 0; i < 2; i++) {
		bool open = i < groups;
		struct pmc_event_def def = {
			.type = 9,
			.group = open ? i : PMC_NO_GROUP,
			.state = open ? PMC_COUNTED : PMC_NOT_PERMITTED,
			.error = open ? 0 : EACCES,
			.scale = 0.25,
			.position = 1,
			.flags = PMC_EVENT_UNCORE,
		};

		pmc_frame_bytes(&made, &def, sizeof(def));
		pmc_frame_str(&made, "power/energy/", 13);
		pmc_frame_str(&made, "Joules", 6);
		pmc_frame_str(&made, i ? "18" : "0", i ? 2 : 1);
	}
	machine_set = pmc_frame_end(&made);
	made_process(1,
		     &(struct pmc_process_fixed){
			     .pid = 1, .flags = PMC_PROCESS_FIRST, .eventset = set },
		     "h", "exe", "exe");
	made_thread(1, (struct pmc_thread_fixed){ .tid = 1, .cpu_ns = 10, .eventset = set }, "t",
		    &row, 1);
	made_total(1, PMC_TOTAL_UNCORE, machine_set, values, groups);
	made_profile(&profile, false);
}

static void the_machine_is_the_sum_of_its_cpus(void **state)
{
	const struct made_value values[] = {
		{ .enabled = 100, .running = 100, .n = 1, .values = { 30 } },
		{ .enabled = 100, .running = 50, .n = 1, .values = { 5 } },
	};
	char *text;

	machine(values, 2);
	assert_int_equal(profile.processes[0]->machine.set->count, 1);
	text = view(PMC_FORMAT_JSON);
	has(text, "\"machine\":[{\"name\":\"power/energy/\",\"value\":10.000000000,\"raw\":35,"
		  "\"enabled_ns\":200,\"running_ns\":150,\"scope\":\"all\",\"state\":\"scaled\","
		  "\"core_type\":null,\"unit\":\"Joules\",\"cpus\":\"0,18\"}]");
	/* In the thread rows the event is null, with a reason. */
	has(text,
	    "{\"name\":\"power/energy/\",\"value\":null,\"raw\":null,\"enabled_ns\":null,"
	    "\"running_ns\":null,\"scope\":\"all\",\"state\":\"not-counted\","
	    "\"core_type\":null,\"unit\":\"Joules\",\"reason\":\"it counts the whole machine");
	text = view(PMC_FORMAT_TABLE);
	has(text, " whole machine: power/energy/ 10 Joules, scaled\n");
	text = view(PMC_FORMAT_CSV);
	has(text, ",(machine),,,,machine,");
	has(text, ",10.000000000,35,200,150,scaled,");
	pmc_profile_free(&profile);
}

static void a_part_of_the_machine_is_none(void **state)
{
	const struct made_value one = { .enabled = 100, .running = 100, .n = 1, .values = { 30 } };
	char *text;

	machine(&one, 1);
	text = view(PMC_FORMAT_JSON);
	has(text, "\"machine\":[{\"name\":\"power/energy/\",\"value\":null,");
	has(text, "\"state\":\"not-permitted\"");
	text = view(PMC_FORMAT_TABLE);
	has(text, " whole machine: power/energy/ not-permitted: ");
	has(text, "kernel.perf_event_paranoid=0");
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_stands_in_front),
		cmocka_unit_test(never_scaled_by_the_other_types_time),
		cmocka_unit_test(a_type_that_was_never_used_counted_nothing),
		cmocka_unit_test(what_never_ran_at_all_is_not_counted),
		cmocka_unit_test(turns_are_scaled_to_the_time_on_that_type),
		cmocka_unit_test(groups_side_by_side_take_no_turns),
		cmocka_unit_test(a_sum_lacks_what_one_type_cannot_count),
		cmocka_unit_test(totals_less_rows_type_by_type),
		cmocka_unit_test(views_name_the_types),
		cmocka_unit_test(the_machine_is_the_sum_of_its_cpus),
		cmocka_unit_test(a_part_of_the_machine_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
