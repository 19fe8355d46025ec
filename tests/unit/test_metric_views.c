/* SPDX-License-Identifier: MIT */
/*
 * test_metric_views.c - metrics in the views against hand calculation: an event list goes through
 * the planner on a fake PMU, frames, JSON and the table.
 */
#include "tests/unit/fake_pmu.h"

#include "tests/unit/event_tree.h"
#include "tests/unit/report_profile.h"

#include <jansson.h>
#include <math.h>

static const struct pmc_event_roots plain = { "nothing", "trace", true };
static const struct pmc_event_roots slots = { "slots", "trace", true };
static const struct pmc_event_roots hybrid = { "hybrid", "trace", true };

/* What each event counts on the fake PMU, on cores of the second type, too. */
static const struct {
	const char *name;
	uint64_t value, atom;
} counts[] = {
	{ "cycles", 1000000, 250000 },
	{ "instructions", 2500000, 1500000 },
	{ "cache-references", 40000, 60000 },
	{ "cache-misses", 5000, 3000 },
	{ "branches", 500000, 300000 },
	{ "branch-misses", 2500, 5500 },
	{ "L1-dcache-loads", 800000, 0 },
	{ "L1-dcache-load-misses", 24000, 0 },
	{ "LLC-loads", 30000, 0 },
	{ "LLC-load-misses", 6000, 0 },
	{ "dTLB-loads", 640000, 0 },
	{ "dTLB-load-misses", 1600, 0 },
	{ "iTLB-loads", 100000, 0 },
	{ "iTLB-load-misses", 250, 0 },
	{ "stalled-cycles-frontend", 200000, 0 },
	{ "stalled-cycles-backend", 350000, 0 },
	{ "cpu/slots/", 6000000, 0 },
	{ "cpu/topdown-retiring/", 2400000, 0 },
	{ "cpu/topdown-bad-spec/", 600000, 0 },
	{ "cpu/topdown-fe-bound/", 900000, 0 },
	{ "cpu/topdown-be-bound/", 2100000, 0 },
};

/* Calculated by hand from the values above; `sum`: over both types of cores. */
static const struct {
	const char *metric, *a, *b;
	double value, sum;
} metrics[] = {
	{ "ipc", "instructions", "cycles", 2.5, 3.2 },
	{ "cache_miss_ki", "cache-misses", "instructions", 2, 2 },
	{ "cache_miss_pct", "cache-misses", "cache-references", 12.5, 8 },
	{ "branch_miss_pct", "branch-misses", "branches", 0.5, 1 },
	{ "branch_miss_ki", "branch-misses", "instructions", 1, 2 },
	{ "l1d_miss_pct", "L1-dcache-load-misses", "L1-dcache-loads", 3, 0 },
	{ "l1d_miss_ki", "L1-dcache-load-misses", "instructions", 9.6, 0 },
	{ "llc_miss_pct", "LLC-load-misses", "LLC-loads", 20, 0 },
	{ "llc_miss_ki", "LLC-load-misses", "instructions", 2.4, 0 },
	{ "dtlb_miss_pct", "dTLB-load-misses", "dTLB-loads", 0.25, 0 },
	{ "dtlb_miss_ki", "dTLB-load-misses", "instructions", 0.64, 0 },
	{ "itlb_miss_pct", "iTLB-load-misses", "iTLB-loads", 0.25, 0 },
	{ "itlb_miss_ki", "iTLB-load-misses", "instructions", 0.1, 0 },
	{ "stall_frontend_pct", "stalled-cycles-frontend", "cycles", 20, 0 },
	{ "stall_backend_pct", "stalled-cycles-backend", "cycles", 35, 0 },
	{ "stall_bound_pct", "cycles", "instructions", 0, 0 },
	{ "td_retiring_pct", "cpu/topdown-retiring/", "cpu/slots/", 40, 0 },
	{ "td_bad_spec_pct", "cpu/topdown-bad-spec/", "cpu/slots/", 10, 0 },
	{ "td_frontend_pct", "cpu/topdown-fe-bound/", "cpu/slots/", 15, 0 },
	{ "td_backend_pct", "cpu/topdown-be-bound/", "cpu/slots/", 35, 0 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct pmc_arena arena;
static struct pmc_plan plan;
static struct pmc_profile profile;

/* ---- from events to a profile --------------------------------------------------------------- */

static bool is_atom(const struct pmc_event *event)
{
	return event->core_type && !strcmp(event->core_type, "cpu_atom");
}

static uint64_t value_of(const struct pmc_event *event)
{
	for (size_t i = 0; i < COUNT(counts); i++)
		if (!strcmp(event->name, counts[i].name))
			return is_atom(event) ? counts[i].atom : counts[i].value;
	fail_msg("no value for %s", event->name);
	return 0;
}

static void make_plan(const char *text, const struct pmc_event_roots *roots)
{
	struct pmc_parse_error error;
	struct pmc_events events;

	pmc_arena_free(&arena);
	if (pmc_events_parse(text, roots, &arena, &events, &error))
		fail_msg("%s: %s", text, error.text);
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.opened, plan.count);
}

static uint64_t put_set(void)
{
	return pmc_plan_frame(&plan, &made);
}

static void put_process(unsigned id, uint64_t set)
{
	made_process(id,
		     &(struct pmc_process_fixed){
			     .pid = id, .flags = PMC_PROCESS_FIRST, .eventset = set, .rank = -1 },
		     "host", "/bin/program", "program");
}

/* A row with the value of each event; group g ran for running[g] of 1,000 ns; `turns` groups of its
 * type of core shared that time. */
static void put_row(unsigned id, uint64_t seq, uint64_t set, const uint64_t *running,
		    const unsigned *turns)
{
	struct made_value readings[8] = { 0 };

	assert_true(plan.groups <= COUNT(readings));
	for (unsigned g = 0; g < plan.groups; g++) {
		struct made_value *reading = &readings[g];

		reading->enabled = 1000;
		reading->running = running[g];
		for (unsigned i = plan.first[g]; i < plan.first[g + 1]; i++)
			reading->values[reading->n++] = value_of(&plan.events[i].event) / turns[g];
	}
	made_thread(id,
		    (struct pmc_thread_fixed){
			    .seq = seq, .tid = (uint32_t)seq + 1, .cpu_ns = 1000, .eventset = set },
		    "thread", readings, plan.groups);
}

static json_t *json_report(enum pmc_fold_by by)
{
	const struct pmc_report_options options = { .format = PMC_FORMAT_JSON,
						    .top = -1,
						    .by = by };
	json_error_t error;
	json_t *root;
	char *text;
	int result;

	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	root = json_loads(text, 0, &error);
	if (!root)
		fail_msg("%s in %s", error.text, text);
	return root;
}

/* ---- compared with the table --------------------------------------------------------------- */

/* The group of an event on a type of core; -1: not in the list. */
static int group_of(const char *name, const char *core_type)
{
	for (unsigned i = 0; i < plan.count; i++)
		if (!strcmp(plan.events[i].event.name, name) &&
		    pmc_event_is_of_core(&plan.events[i].event, core_type))
			return plan.events[i].group;
	return -1;
}

static const char *state_of(const char *a, const char *b, const char *core_type, bool scaled)
{
	if (group_of(a, core_type) != group_of(b, core_type))
		return "mixed";
	return scaled ? "scaled" : NULL;
}

static void check_metric(const json_t *row, size_t i, double want, const char *state)
{
	const char *name = metrics[i].metric;
	const json_t *value = json_object_get(json_object_get(row, "metrics"), name);
	const json_t *got = json_object_get(json_object_get(row, "metric_states"), name);
	bool bound = !strcmp(name, "stall_bound_pct");

	if (bound && state && !strcmp(state, "mixed")) {
		assert_true(json_is_null(value));
		assert_null(got);
		return;
	}
	if (!json_is_number(value) || fabs(json_number_value(value) - want) > 1e-6)
		fail_msg("%s is %f, expected %f", name, json_number_value(value), want);
	if (!state != !got || (state && strcmp(json_string_value(got), state)))
		fail_msg("%s has the state %s, expected %s", name,
			 got ? json_string_value(got) : "none", state ? state : "none");
}

/* Whether the list has the events of the metric. */
static bool applies(size_t i, const char *core_type)
{
	return group_of(metrics[i].a, core_type) >= 0 && group_of(metrics[i].b, core_type) >= 0;
}

/* The row of one thread, and the sum of two such rows. */
static void check_rows(bool scaled)
{
	json_t *threads = json_report(PMC_BY_NONE), *groups = json_report(PMC_BY_EXE);
	const json_t *rows[] = { json_array_get(json_object_get(threads, "threads"), 0),
				 json_array_get(json_object_get(groups, "groups"), 0) };
	unsigned n = 0;

	for (size_t i = 0; i < COUNT(metrics); i++) {
		const char *state = state_of(metrics[i].a, metrics[i].b, NULL, scaled);

		if (!applies(i, NULL)) {
			assert_null(json_object_get(json_object_get(rows[0], "metrics"),
						    metrics[i].metric));
			continue;
		}
		for (size_t r = 0; r < COUNT(rows); r++)
			check_metric(rows[r], i, metrics[i].value, state);
		n++;
	}
	assert_true(n > 0);
	json_decref(threads);
	json_decref(groups);
}

static void check_list(const char *text, const struct pmc_event_roots *roots, unsigned counters)
{
	uint64_t set, running[8];
	unsigned turns[8];

	kernel.counters = counters;
	kernel.group_size = counters;
	make_plan(text, roots);
	for (unsigned g = 0; g < plan.groups; g++) {
		turns[g] = plan.groups;
		running[g] = 1000 / plan.groups;
	}
	/* So that scaled counts are whole numbers. */
	assert_in_range(plan.groups, 1, 2);
	made_begin();
	set = put_set();
	put_process(1, set);
	put_row(1, 0, set, running, turns);
	put_row(1, 1, set, running, turns);
	made_profile(&profile, false);
	check_rows(plan.groups > 1);
	pmc_profile_free(&profile);
}

static void test_sets(void **state)
{
	static const char *const sets[] = { "@default", "@cache", "@branch", "@tlb", "@stalls" };

	for (size_t i = 0; i < COUNT(sets); i++) {
		check_list(sets[i], &plain, 8);
		check_list(sets[i], &plain, 4);
	}
	check_list("@topdown", &slots, 8);
	check_list("@topdown", &plain, 8);
	check_list("@topdown", &plain, 2);
}

/* Each metric of a set needs a row in the table above. */
static void test_every_metric(void **state)
{
	for (unsigned i = 0; i < pmc_n_event_sets; i++) {
		const char *list = pmc_event_sets[i].metrics;

		for (size_t len; *list; list += len + (list[len] == ',')) {
			bool has = false;

			len = strcspn(list, ",");
			for (size_t k = 0; k < COUNT(metrics); k++)
				has |= strlen(metrics[k].metric) == len &&
				       !strncmp(metrics[k].metric, list, len);
			if (!has)
				fail_msg("no row for %.*s", (int)len, list);
		}
	}
}

/* ---- hybrid rows ---------------------------------------------------------------------------- */

static void check_hybrid(unsigned core_counters)
{
	uint64_t set, running[8];
	unsigned turns[8], of_core = 0, n = 0;
	json_t *root;

	fake_reset(NULL);
	kernel.counters = kernel.group_size = 6;
	kernel.atom_counters = 6;
	kernel.counters = core_counters;
	make_plan("@default", &hybrid);
	for (unsigned g = 0; g < plan.groups; g++)
		of_core += !is_atom(&plan.events[plan.first[g]].event);
	assert_int_equal(of_core, core_counters == 6 ? 1 : 2);
	/* 600 ns on one type, where groups are multiplexed, 400 ns on the other. */
	for (unsigned g = 0; g < plan.groups; g++) {
		bool atom = is_atom(&plan.events[plan.first[g]].event);

		turns[g] = atom ? 1 : of_core;
		running[g] = atom ? 400 : 600 / of_core;
	}
	made_begin();
	set = put_set();
	put_process(1, set);
	put_row(1, 0, set, running, turns);
	made_profile(&profile, false);
	root = json_report(PMC_BY_NONE);
	for (size_t i = 0; i < COUNT(metrics); i++) {
		if (!applies(i, "cpu_core"))
			continue;
		check_metric(json_array_get(json_object_get(root, "threads"), 0), i, metrics[i].sum,
			     state_of(metrics[i].a, metrics[i].b, "cpu_core", of_core > 1));
		n++;
	}
	assert_int_equal(n, 6);
	json_decref(root);
	pmc_profile_free(&profile);
}

static void test_hybrid(void **state)
{
	check_hybrid(6);
	check_hybrid(3);
}

/* ---- rows without one of the events ---------------------------------------------------------- */

static void put_dump(unsigned id, const char *text)
{
	static const uint64_t running[] = { 1000 };
	static const unsigned turns[] = { 1 };
	uint64_t set;

	make_plan(text, &plain);
	set = put_set();
	put_process(id, set);
	put_row(id, 0, set, running, turns);
}

static char *report_as(int format)
{
	const struct pmc_report_options options = { .format = format, .top = -1, .wide = true };
	char *text;
	int result;

	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	return text;
}

/* The IPC of the sum over the dumps; -1: null. */
static double ipc_of_all(void)
{
	json_t *root = json_report(PMC_BY_EXE);
	const json_t *group = json_array_get(json_object_get(root, "groups"), 0);
	const json_t *ipc = json_object_get(json_object_get(group, "metrics"), "ipc");
	double value = json_is_number(ipc) ? json_number_value(ipc) : -1;

	assert_null(json_object_get(group, "metric_states"));
	json_decref(root);
	return value;
}

static void test_rows_that_have_both(void **state)
{
	char *text;

	made_begin();
	put_dump(1, "cycles");
	put_dump(2, "instructions");
	made_profile(&profile, false);
	assert_true(ipc_of_all() == -1);
	text = report_as(PMC_FORMAT_TABLE);
	assert_null(strstr(text, "IPC"));
	pmc_profile_free(&profile);

	made_begin();
	put_dump(1, "cycles");
	put_dump(2, "cycles,instructions");
	put_dump(3, "instructions");
	made_profile(&profile, false);
	assert_true(ipc_of_all() == 2.5);
	text = report_as(PMC_FORMAT_TABLE);
	assert_non_null(strstr(text, "IPC"));
	assert_non_null(strstr(text, "2.50"));
	assert_null(strstr(text, "~2.50"));
	text = report_as(PMC_FORMAT_CSV);
	assert_non_null(strstr(text, "2.500000,exact,"));
	pmc_profile_free(&profile);
}

/* Each row is judged by the groups of its own event set, not of the first set. */
static void test_groups_of_the_rows_own_set(void **state)
{
	json_t *root;
	char *text;

	made_begin();
	put_dump(1, "instructions");
	kernel.counters = kernel.group_size = 1;
	make_plan("cycles,instructions", &plain);
	assert_int_equal(plan.groups, 2);
	{
		uint64_t set = put_set();

		put_process(2, set);
		put_row(2, 0, set, (const uint64_t[]){ 500, 500 }, (const unsigned[]){ 2, 2 });
	}
	made_profile(&profile, false);
	root = json_report(PMC_BY_NONE);
	check_metric(json_array_get(json_object_get(root, "threads"), 1), 0, 2.5, "mixed");
	json_decref(root);
	text = report_as(PMC_FORMAT_TABLE);
	assert_non_null(strstr(text, "~2.50"));
	assert_non_null(strstr(text, "~: "));
	text = report_as(PMC_FORMAT_CSV);
	assert_non_null(strstr(text, ",ipc,ipc.state,"));
	assert_non_null(strstr(text, "2.500000,mixed,"));
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sets, fake_reset),
		cmocka_unit_test_setup(test_every_metric, fake_reset),
		cmocka_unit_test_setup(test_hybrid, fake_reset),
		cmocka_unit_test_setup(test_rows_that_have_both, fake_reset),
		cmocka_unit_test_setup(test_groups_of_the_rows_own_set, fake_reset),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
