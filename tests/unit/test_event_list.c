/* SPDX-License-Identifier: MIT */
/* test_event_list.c - lists of events: order, groups, sets, duplicates. */
#include "tests/unit/event_tree.h"
#include "tests/unit/unit.h"

#include "tools/rows/metrics.h"

/* The list as "name[#brace][*], ..."; '*': the event is (also) from a set. */
static const char *listed(const char *text, const struct pmc_event_roots *roots)
{
	static char out[2048];
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	size_t len = 0;

	out[0] = '\0';
	if (pmc_events_parse(text, roots, &arena, &events, &error))
		fail_msg("'%s': %s", text, error.text);
	for (unsigned i = 0; i < events.count; i++) {
		const struct pmc_event *event = &events.list[i];

		assert_int_equal(event->position, i);
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s", i ? "," : "",
					event->name);
		if (event->brace != PMC_NO_BRACE)
			len += (size_t)snprintf(out + len, sizeof(out) - len, "#%d", event->brace);
	}
	pmc_arena_free(&arena);
	return out;
}

#define assert_list(text, want) assert_string_equal(listed(text, &tree_roots), want)

static void order_and_spaces(void **state)
{
	assert_list("cs,faults,cycles", "cs,faults,cycles");
	assert_list(" cs ,\tfaults:u\n, cpu/ event=1, umask=2 /u ",
		    "cs,faults:u,cpu/ event=1, umask=2 /u");
}

static void groups(void **state)
{
	assert_list("{cycles,instructions},cs,{faults}", "cycles#0,instructions#0,cs,faults#1");
	assert_list("{ cycles , instructions:k }:u", "cycles:u#0,instructions:ku#0");
	assert_list("{cycles,cpu/event=1,umask=2/}:k,cs", "cycles:k#0,cpu/event=1,umask=2/:k#0,cs");
}

static void named_twice_counts_twice(void **state)
{
	assert_list("cycles,cycles,cpu-cycles", "cycles,cycles,cpu-cycles");
	assert_list("{cycles,cycles},cycles", "cycles#0,cycles#0,cycles");
}

static void sets_add_what_is_missing(void **state)
{
	assert_list("@default", "cycles,instructions,cache-references,cache-misses,branches,"
				"branch-misses");
	assert_list("@default,@default", "cycles,instructions,cache-references,cache-misses,"
					 "branches,branch-misses");
	assert_list("@branch,@stalls", "cycles,instructions,branches,branch-misses,"
				       "stalled-cycles-frontend,stalled-cycles-backend");
	/* Duplicates of a set's events merge in either order; the name that the user gave is kept.
	 */
	assert_list("cpu-cycles,@branch", "cpu-cycles,instructions,branches,branch-misses");
	assert_list("@branch,cpu-cycles", "cpu-cycles,instructions,branches,branch-misses");
	assert_list("@branch,cycles,cycles", "cycles,instructions,branches,branch-misses,cycles");
	assert_list("cycles,cycles,@branch", "cycles,cycles,instructions,branches,branch-misses");
	/* The same event in another mode is another event. */
	assert_list("cycles:u,@branch", "cycles:u,cycles,instructions,branches,branch-misses");
	assert_list("@branch:u", "cycles:u,instructions:u,branches:u,branch-misses:u");
	assert_list("cycles:uk,@branch", "cycles:uk,cycles,instructions,branches,branch-misses");
	/* A set does not remove an event from a group. */
	assert_list("{cycles,cs},@branch", "cycles#0,cs#0,instructions,branches,branch-misses");
	assert_list("@branch,{cycles,cs}", "instructions,branches,branch-misses,cycles#0,cs#0");
}

static void set_bits(void **state)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	unsigned branch = 1u << pmc_event_set_find("branch", 6);
	unsigned stalls = 1u << pmc_event_set_find("stalls", 6);

	assert_int_equal(
		pmc_events_parse("cs,@branch,@stalls", &tree_roots, &arena, &events, &error), 0);
	assert_int_equal(events.sets, branch | stalls);
	assert_int_equal(pmc_event_set_find("branc", 5), -1);
	assert_int_equal(pmc_event_set_find("", 0), -1);
	pmc_arena_free(&arena);
}

static void topdown_takes_slots_where_there_are_any(void **state)
{
	static const struct pmc_event_roots slots = { "slots", "nowhere", true };

	assert_list("cs,@topdown", "cs,cycles,instructions,stalled-cycles-frontend,"
				   "stalled-cycles-backend");
	assert_string_equal(listed("{cs},@topdown:u", &slots),
			    "cs#0,cpu/slots/:u#1,cpu/topdown-retiring/:u#1,"
			    "cpu/topdown-bad-spec/:u#1,cpu/topdown-fe-bound/:u#1,"
			    "cpu/topdown-be-bound/:u#1");
	/* A group stays whole even if one of its events is in the list already. */
	assert_string_equal(listed("cpu/slots/,@topdown", &slots),
			    "cpu/slots/,cpu/slots/#0,cpu/topdown-retiring/#0,"
			    "cpu/topdown-bad-spec/#0,cpu/topdown-fe-bound/#0,"
			    "cpu/topdown-be-bound/#0");
}

static void the_default_is_the_default_set(void **state)
{
	int row = pmc_event_set_find("default", 7);

	assert_true(row >= 0);
	assert_string_equal(pmc_event_sets[row].events, pmc_events_default);
	assert_string_equal(pmc_events_default,
			    "cycles,instructions,cache-references,cache-misses,branches,"
			    "branch-misses");
}

static bool applies(const char *metric, size_t len, const struct pmc_events *events)
{
	struct pmc_p_event rows[PMC_EVENTS_MAX] = { 0 };
	struct pmc_p_set_view set = { .count = events->count, .events = rows };

	for (unsigned i = 0; i < events->count; i++) {
		rows[i].name = events->list[i].name;
		rows[i].def.type = events->list[i].type;
		rows[i].def.config = events->list[i].config;
	}
	for (unsigned i = 0; i < pmc_n_metrics; i++)
		if (strlen(pmc_metrics[i].name) == len && !memcmp(pmc_metrics[i].name, metric, len))
			return pmc_metric_applies(i, &set);
	fail_msg("a set names the metric '%s'", metric);
	return false;
}

/* Each metric of a set exists and can be computed from the set on some machine. */
static void sets_have_their_metrics(void **state)
{
	static const struct pmc_event_roots slots = { "slots", "nowhere", true };

	for (unsigned row = 0; row < pmc_n_event_sets; row++) {
		const struct pmc_event_set *set = &pmc_event_sets[row];
		struct pmc_parse_error error;
		struct pmc_arena arena = { 0 };
		struct pmc_events here, there;
		char text[32];

		snprintf(text, sizeof(text), "@%s", set->name);
		assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &here, &error), 0);
		assert_int_equal(pmc_events_parse(text, &slots, &arena, &there, &error), 0);
		for (const char *at = set->metrics; *at;) {
			size_t len = strcspn(at, ",");

			if (!applies(at, len, &here) && !applies(at, len, &there))
				fail_msg("@%s has no events for '%s'", set->name, at);
			at += len + (at[len] == ',');
		}
		assert_true(strlen(set->doc) > 0);
		pmc_arena_free(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_spaces),
		cmocka_unit_test(groups),
		cmocka_unit_test(named_twice_counts_twice),
		cmocka_unit_test(sets_add_what_is_missing),
		cmocka_unit_test(set_bits),
		cmocka_unit_test(topdown_takes_slots_where_there_are_any),
		cmocka_unit_test(the_default_is_the_default_set),
		cmocka_unit_test(sets_have_their_metrics),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
