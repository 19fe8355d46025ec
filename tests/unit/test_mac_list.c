/* SPDX-License-Identifier: MIT */
/* test_mac_list.c - pmctl list on macOS against a double of kperfdata. */
#include "tests/unit/mac_double.h"
#include "tools/list/mac_kpep.h"
#include "tests/unit/unit.h"

const struct pmc_mac_calls pmc_mac_system = DOUBLE_CALLS(double_usage);

static const char *rows(const char *glob, struct list *list)
{
	*list = (struct list){ .glob = glob };
	return list_kpep(list);
}

static void events_and_aliases_are_rows(void **state)
{
	struct list list;

	double_reset(2);
	assert_null(rows(NULL, &list));
	/* The name with an escape sequence is left out. */
	assert_int_equal(list.n, 4);
	assert_string_equal(list.rows[0].name, "CLASH_A");
	assert_string_equal(list.rows[0].description, "no description");
	assert_false(list.rows[0].answer.available);
	assert_string_equal(list.rows[1].name, "Cycles");
	assert_string_equal(list.rows[1].description, "same as FIXED_CYCLES");
	assert_string_equal(list.rows[3].name, "INST_ALL");
	assert_string_equal(list.rows[3].description, "All retired instructions");
	list_free(&list);
	mac_double.root = true;
	assert_null(rows("inst*", &list));
	assert_int_equal(list.n, 1);
	assert_true(list.rows[0].answer.available);
	assert_null(list.rows[0].answer.reason);
	list_free(&list);
	assert_int_equal(mac_double.live_db, 0);
}

static void errors_leave_no_rows(void **state)
{
	struct list list;

	double_reset(2);
	mac_double.no_kperf = true;
	assert_non_null(rows(NULL, &list));
	assert_int_equal(list.n, 0);
	double_reset(2);
	mac_double.db_error = 6;
	assert_non_null(rows(NULL, &list));
	assert_int_equal(list.n, 0);
	double_reset(2);
	mac_double.events_error = 3;
	assert_non_null(rows(NULL, &list));
	assert_int_equal(list.n, 0);
	assert_int_equal(mac_double.live_db, 0);
}

static void fit(struct list_fit *to, const char *const *names, unsigned n, uint64_t kpep)
{
	memset(to, 0, sizeof(*to));
	to->n = n;
	for (unsigned i = 0; i < n; i++)
		list_fit_name(to, i, names[i]);
	assert_int_equal(list_kpep_fit(to, kpep), 0);
	assert_int_equal(mac_double.live_db, 0);
	assert_int_equal(mac_double.live_config, 0);
}

static void kperfdata_assigns_the_counters(void **state)
{
	static const char *const names[] = { "cycles", "INST_A", "INST_B", "INST_C", "NONE" };
	struct list_fit result;

	double_reset(2);
	mac_double.counters = 2;
	fit(&result, names, 3, 6);
	assert_int_equal(result.clash, 0);
	assert_int_equal(result.passes, 1);
	list_free(&result.list);
	fit(&result, names, 4, 14);
	assert_int_equal(result.clash, 14);
	assert_int_equal(result.passes, 2);
	assert_int_equal(result.lower_bound, 2);
	assert_int_equal(result.events[2].pass, 0);
	assert_int_equal(result.events[3].pass, 1);
	list_free(&result.list);
	fit(&result, names, 5, 16);
	assert_non_null(result.events[4].reason);
	assert_int_equal(result.clash, 16);
	assert_int_equal(result.passes, 1);
	list_free(&result.list);
	fit(&result, names, 1, 0);
	assert_int_equal(result.clash, 0);
	assert_int_equal(result.passes, 1);
	list_free(&result.list);
}

static void an_event_without_a_counter(void **state)
{
	static const char *const names[] = { "CLASH_A", "INST_A" };
	struct list_fit result;

	double_reset(2);
	fit(&result, names, 2, 3);
	assert_non_null(result.events[0].reason);
	assert_null(result.events[1].reason);
	assert_int_equal(result.clash, 1);
	assert_int_equal(result.passes, 1);
	list_free(&result.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_and_aliases_are_rows),
		cmocka_unit_test(errors_leave_no_rows),
		cmocka_unit_test(kperfdata_assigns_the_counters),
		cmocka_unit_test(an_event_without_a_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
