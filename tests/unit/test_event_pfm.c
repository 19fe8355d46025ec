/* SPDX-License-Identifier: MIT */
/*
 * test_event_pfm.c - event names that only libpfm4 knows, and the state in which libpfm4 is left.
 *
 * Without libpfm4 the error message is tested instead.
 */
#include "tests/unit/event_tree.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>

#define LIBRARY	   "libpfm.so.4"
#define ZEN4	   "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS"
#define NOT_HERE   "not built in; libpfm4: event not found; pmctl list shows names"
#define NOT_LOADED "not built in; libpfm4: cannot be loaded; install the package libpfm4"

static const struct pmc_event_roots roots = { "sys", "trace", false };

/* NULL if libpfm4 is available, otherwise the text of the error. */
static const char *missing(void)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int rc = pmc_events_parse("zzz::zzz", &roots, &arena, &events, &error);

	assert_int_equal(rc, -ENOENT);
	pmc_arena_free(&arena);
	return strstr(error.text, NOT_LOADED) ? NOT_LOADED : NULL;
}

static bool is_loaded(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);

	if (library)
		dlclose(library);
	return library;
}

static const struct {
	const char *text;
	uint32_t type;
	uint64_t config;
	bool exclude_user, exclude_kernel, asked;
	const char *unit;
} goods[] = {
	{ "perf::cycles", PERF_TYPE_HARDWARE, 0, false, false, false, "" },
	{ "perf::PERF_COUNT_HW_INSTRUCTIONS", PERF_TYPE_HARDWARE, 1, false, false, false, "" },
	{ "perf::instructions:u", PERF_TYPE_HARDWARE, 1, false, true, true, "" },
	{ "perf::instructions:k", PERF_TYPE_HARDWARE, 1, true, false, true, "" },
	{ "perf::branch-misses:uk", PERF_TYPE_HARDWARE, 5, false, false, true, "" },
	{ "perf::task-clock", PERF_TYPE_SOFTWARE, 1, false, false, false, "ns" },
	{ "PERF_COUNT_SW_PAGE_FAULTS", PERF_TYPE_SOFTWARE, 2, false, false, false, "" },
	{ "perf::L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, false, false, false, "" },
	{ "PERF_COUNT_HW_CACHE_L1D:READ:MISS:u", PERF_TYPE_HW_CACHE, 0x10000, false, true, true,
	  "" },
	{ "perf_raw::r1c2:u", PERF_TYPE_RAW, 0x1c2, false, true, true, "" },
};

static void generic_names(void **state)
{
	const char *why = missing();

	for (size_t i = 0; i < sizeof(goods) / sizeof(goods[0]); i++) {
		struct pmc_parse_error error;
		struct pmc_arena arena = { 0 };
		struct pmc_events events;
		int rc = pmc_events_parse(goods[i].text, &roots, &arena, &events, &error);

		if (why) {
			assert_int_equal(rc, -ENOENT);
			assert_non_null(strstr(error.text, why));
			pmc_arena_free(&arena);
			continue;
		}
		if (rc)
			fail_msg("'%s': %s", goods[i].text, error.text);
		assert_int_equal(events.count, 1);
		assert_string_equal(events.list[0].name, goods[i].text);
		assert_int_equal(events.list[0].type, goods[i].type);
		assert_int_equal(events.list[0].config, goods[i].config);
		assert_int_equal(events.list[0].exclude_user, goods[i].exclude_user);
		assert_int_equal(events.list[0].exclude_kernel, goods[i].exclude_kernel);
		assert_int_equal(events.list[0].asked_scope, goods[i].asked);
		assert_string_equal(events.list[0].unit, goods[i].unit);
		pmc_arena_free(&arena);
	}
}

static void refusals(void **state)
{
	static const struct {
		const char *text;
		int error;
		const char *message;
	} bads[] = {
		{ "zzz", -ENOENT, "unknown event 'zzz': " NOT_HERE },
		{ "perf::zzz", -ENOENT, "unknown event 'perf::zzz': " NOT_HERE },
		{ "perf::cycles:zzz", -ENOENT,
		  "unknown event 'perf::cycles:zzz': not built in; libpfm4: invalid event "
		  "attribute; pmctl list shows names" },
		{ "perf::cycles:period=9", -EINVAL,
		  "'perf::cycles:period=9': of libpfm4's modifiers only u (user) and k (kernel) "
		  "are "
		  "supported" },
	};
	const char *why = missing();

	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		struct pmc_parse_error error;
		struct pmc_arena arena = { 0 };
		struct pmc_events events;

		assert_int_equal(pmc_events_parse(bads[i].text, &roots, &arena, &events, &error),
				 bads[i].error);
		if (why) {
			assert_non_null(strstr(error.text, why));
		} else {
			assert_int_equal(error.error, bads[i].error);
			assert_string_equal(error.text, bads[i].message);
		}
		pmc_arena_free(&arena);
	}
}

/* Some processors have it for libpfm4, on others it refuses the modifier itself. */
static void hypervisor_is_refused(void **state)
{
	static const char *const names[] = { "perf::cycles:h", "perf::cycles:uh",
					     "perf::cycles:h=1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct pmc_parse_error error;
		struct pmc_arena arena = { 0 };
		struct pmc_events events;

		assert_true(pmc_events_parse(names[i], &roots, &arena, &events, &error) < 0);
		pmc_arena_free(&arena);
	}
}

static void events_of_one_processor(void **state)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	const char *why = missing();
	char text[256];

	if (!pmc_events_parse(ZEN4, &roots, &arena, &events, &error)) {
		assert_int_equal(events.list[0].type, PERF_TYPE_RAW);
		assert_int_equal(events.list[0].config, 0xc0);
	} else {
		snprintf(text, sizeof(text), "unknown event '" ZEN4 "': %s", why ? why : NOT_HERE);
		assert_int_equal(error.error, -ENOENT);
		assert_string_equal(error.text, text);
	}
	pmc_arena_free(&arena);
}

/* A tracepoint takes precedence over an event of libpfm4 with the same name. */
static void tracepoints_come_first(void **state)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	assert_int_equal(pmc_events_parse("sched:sched_switch", &roots, &arena, &events, &error),
			 0);
	assert_int_equal(events.list[0].type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(events.list[0].config, 316);
	pmc_arena_free(&arena);
}

static void the_library_is_let_go(void **state)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	if (missing())
		skip();
	assert_false(is_loaded());
	assert_int_equal(pmc_events_parse("perf::cycles,perf::cs", &roots, &arena, &events, &error),
			 0);
	assert_false(is_loaded());
	pmc_arena_free(&arena);
}

/* A host that uses libpfm4 itself must not find it terminated. */
static void a_hosts_library_stays_initialised(void **state)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int (*initialize)(void);
	int (*find)(const char *name);
	void *library;
	int before;

	if (missing())
		skip();
	library = dlopen(LIBRARY, RTLD_NOW);
	assert_non_null(library);
	*(void **)&initialize = dlsym(library, "pfm_initialize");
	*(void **)&find = dlsym(library, "pfm_find_event");
	assert_int_equal(initialize(), 0);
	before = find("perf::PERF_COUNT_HW_CPU_CYCLES");
	assert_true(before >= 0);
	assert_int_equal(pmc_events_parse("perf::cs", &roots, &arena, &events, &error), 0);
	assert_int_equal(find("perf::PERF_COUNT_HW_CPU_CYCLES"), before);
	pmc_arena_free(&arena);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generic_names),
		cmocka_unit_test(refusals),
		cmocka_unit_test(hypervisor_is_refused),
		cmocka_unit_test(events_of_one_processor),
		cmocka_unit_test(tracepoints_come_first),
		cmocka_unit_test(the_library_is_let_go),
		cmocka_unit_test(a_hosts_library_stays_initialised),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
