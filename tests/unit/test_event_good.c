/* SPDX-License-Identifier: MIT */
/* test_event_good.c - event strings and the attr that each gives, field by field. */
#include "tests/unit/event_tree.h"
#include "tests/unit/unit.h"

#include <linux/perf_event.h>

/* Modes: all by default, user mode, kernel mode, or both by :uk. */
enum { ALL, USER, KERNEL, BOTH };

#define HW    PERF_TYPE_HARDWARE
#define SW    PERF_TYPE_SOFTWARE
#define TP    PERF_TYPE_TRACEPOINT
#define CACHE PERF_TYPE_HW_CACHE
#define RAW   PERF_TYPE_RAW
#define IMC   4000000000u
#define OUT   PMC_NO_BRACE

static const struct good {
	const char *text;
	uint32_t type;
	uint64_t config, config1, config2, config3;
	int scope, brace;
	const char *name; /* NULL: same as the text */
} goods[] = {
	{ "cycles", HW, 0, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu-cycles", HW, 0, 0, 0, 0, ALL, OUT, NULL },
	{ "instructions", HW, 1, 0, 0, 0, ALL, OUT, NULL },
	{ "cache-references", HW, 2, 0, 0, 0, ALL, OUT, NULL },
	{ "cache-misses", HW, 3, 0, 0, 0, ALL, OUT, NULL },
	{ "branches", HW, 4, 0, 0, 0, ALL, OUT, NULL },
	{ "branch-instructions", HW, 4, 0, 0, 0, ALL, OUT, NULL },
	{ "branch-misses", HW, 5, 0, 0, 0, ALL, OUT, NULL },
	{ "bus-cycles", HW, 6, 0, 0, 0, ALL, OUT, NULL },
	{ "stalled-cycles-frontend", HW, 7, 0, 0, 0, ALL, OUT, NULL },
	{ "idle-cycles-frontend", HW, 7, 0, 0, 0, ALL, OUT, NULL },
	{ "stalled-cycles-backend", HW, 8, 0, 0, 0, ALL, OUT, NULL },
	{ "idle-cycles-backend", HW, 8, 0, 0, 0, ALL, OUT, NULL },
	{ "ref-cycles", HW, 9, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu-clock", SW, 0, 0, 0, 0, ALL, OUT, NULL },
	{ "task-clock", SW, 1, 0, 0, 0, ALL, OUT, NULL },
	{ "page-faults", SW, 2, 0, 0, 0, ALL, OUT, NULL },
	{ "faults", SW, 2, 0, 0, 0, ALL, OUT, NULL },
	{ "context-switches", SW, 3, 0, 0, 0, ALL, OUT, NULL },
	{ "cs", SW, 3, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu-migrations", SW, 4, 0, 0, 0, ALL, OUT, NULL },
	{ "migrations", SW, 4, 0, 0, 0, ALL, OUT, NULL },
	{ "minor-faults", SW, 5, 0, 0, 0, ALL, OUT, NULL },
	{ "major-faults", SW, 6, 0, 0, 0, ALL, OUT, NULL },
	{ "alignment-faults", SW, 7, 0, 0, 0, ALL, OUT, NULL },
	{ "emulation-faults", SW, 8, 0, 0, 0, ALL, OUT, NULL },
	{ "dummy", SW, 9, 0, 0, 0, ALL, OUT, NULL },
	{ "bpf-output", SW, 10, 0, 0, 0, ALL, OUT, NULL },
	{ "cgroup-switches", SW, 11, 0, 0, 0, ALL, OUT, NULL },

	{ "L1-dcache-loads", CACHE, 0x00000, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-dcache-load-misses", CACHE, 0x10000, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-dcache-stores", CACHE, 0x00100, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-dcache-prefetch-misses", CACHE, 0x10200, 0, 0, 0, ALL, OUT, NULL },
	{ "l1d-read-miss", CACHE, 0x10000, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-data-misses-loads", CACHE, 0x10000, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-dcache-misses", CACHE, 0x10000, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-icache-load-misses", CACHE, 0x10001, 0, 0, 0, ALL, OUT, NULL },
	{ "L1-icache-prefetches", CACHE, 0x00201, 0, 0, 0, ALL, OUT, NULL },
	{ "LLC", CACHE, 0x00002, 0, 0, 0, ALL, OUT, NULL },
	{ "LLC-load-misses", CACHE, 0x10002, 0, 0, 0, ALL, OUT, NULL },
	{ "LLC-speculative-read-misses", CACHE, 0x10202, 0, 0, 0, ALL, OUT, NULL },
	{ "L2-stores", CACHE, 0x00102, 0, 0, 0, ALL, OUT, NULL },
	{ "dTLB-loads", CACHE, 0x00003, 0, 0, 0, ALL, OUT, NULL },
	{ "dTLB-store-misses", CACHE, 0x10103, 0, 0, 0, ALL, OUT, NULL },
	{ "Data-TLB-write-refs", CACHE, 0x00103, 0, 0, 0, ALL, OUT, NULL },
	{ "iTLB-load-misses", CACHE, 0x10004, 0, 0, 0, ALL, OUT, NULL },
	{ "branch-loads", CACHE, 0x00005, 0, 0, 0, ALL, OUT, NULL },
	{ "branch-load-misses", CACHE, 0x10005, 0, 0, 0, ALL, OUT, NULL },
	{ "node-loads", CACHE, 0x00006, 0, 0, 0, ALL, OUT, NULL },
	{ "node-prefetch-misses", CACHE, 0x10206, 0, 0, 0, ALL, OUT, NULL },

	{ "r1c2", RAW, 0x1c2, 0, 0, 0, ALL, OUT, NULL },
	{ "r0x1C2", RAW, 0x1c2, 0, 0, 0, ALL, OUT, NULL },
	{ "rffffffffffffffff:k", RAW, UINT64_MAX, 0, 0, 0, KERNEL, OUT, NULL },

	{ "cpu/event=0xc0,umask=0x01/", RAW, 0x1c0, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/event=192,umask=1/", RAW, 0x1c0, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/event=0x1c2/", RAW, 0x1000000c2, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/event=0xfff/", RAW, 0xf000000ff, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/event=0x3c,edge,inv=0,cmask=1/", RAW, 0x104003c, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/edge/", RAW, 0x40000, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/event=0xb7,offcore_rsp=0xffffffffffffffff/", RAW, 0xb7, UINT64_MAX, 0, 0, ALL, OUT,
	  NULL },
	{ "cpu/split=0x1ff/", RAW, 0, 0, 0xf0000000000010f0, 0, ALL, OUT, NULL },
	{ "cpu/split=0x15/", RAW, 0, 0, 0x1050, 0, ALL, OUT, NULL },
	{ "cpu/wide=18446744073709551615/", RAW, 0, 0, 0, UINT64_MAX, ALL, OUT, NULL },
	{ "cpu/config=0x1,config1=2,config2=0x3,config3=4/", RAW, 1, 2, 3, 4, ALL, OUT, NULL },
	{ "cpu/config=0xc0,period=1000/", RAW, 0xc0, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/r1c2/", RAW, 0x1c2, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/cpu-cycles/", RAW, 0x3c, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/cache-misses/u", RAW, 0x412e, 0, 0, 0, USER, OUT, NULL },
	{ "cpu/cache-misses/:k", RAW, 0x412e, 0, 0, 0, KERNEL, OUT, NULL },
	{ "cpu/instructions/uk", RAW, 0xc0, 0, 0, 0, BOTH, OUT, NULL },
	{ "cpu/mem-loads/", RAW, 0x1cd, 3, 0, 0, ALL, OUT, NULL },
	{ "cpu/mem-loads,ldlat=0x40/", RAW, 0x1cd, 0x40, 0, 0, ALL, OUT, NULL },
	{ "cpu/ldlat=64,mem-loads,umask=3/", RAW, 0x3cd, 64, 0, 0, ALL, OUT, NULL },
	{ "cpu/edges/", RAW, 0x4003c, 0, 0, 0, ALL, OUT, NULL },
	{ "cpu/event=0xc0,name=retired/u", RAW, 0xc0, 0, 0, 0, USER, OUT, "retired" },
	{ "cpu/ event = 0xc0 , umask=1 /", RAW, 0x1c0, 0, 0, 0, ALL, OUT, NULL },
	{ "hv_24x7/HPM_CYC,domain=2,core=7/", 21, 0x2000070002, 0, 0, 0, ALL, OUT, NULL },
	{ "uncore_imc_0/clockticks/", IMC, 0xff, 0, 0, 0, ALL, OUT, NULL },
	{ "power/energy-pkg/", 9, 2, 0, 0, 0, ALL, OUT, NULL },

	{ "sched:sched_switch", TP, 316, 0, 0, 0, ALL, OUT, NULL },
	{ "sched:sched_wakeup:u", TP, 318, 0, 0, 0, USER, OUT, NULL },
	{ "syscalls:sys_enter_openat:k", TP, 614, 0, 0, 0, KERNEL, OUT, NULL },

	{ "cycles:u", HW, 0, 0, 0, 0, USER, OUT, NULL },
	{ "cycles:k", HW, 0, 0, 0, 0, KERNEL, OUT, NULL },
	{ "cycles:uk", HW, 0, 0, 0, 0, BOTH, OUT, NULL },
	{ "cycles:ku", HW, 0, 0, 0, 0, BOTH, OUT, NULL },
	{ "  cycles:u\n", HW, 0, 0, 0, 0, USER, OUT, "cycles:u" },
	{ "{cycles}", HW, 0, 0, 0, 0, ALL, 0, "cycles" },
	{ "{cycles}:u", HW, 0, 0, 0, 0, USER, 0, "cycles:u" },
	{ "{ cycles:u }:u", HW, 0, 0, 0, 0, USER, 0, "cycles:u" },
	{ "{cycles:k}:u", HW, 0, 0, 0, 0, BOTH, 0, "cycles:ku" },
	{ "{cpu/event=0xc0,umask=1/}:u", RAW, 0x1c0, 0, 0, 0, USER, 0,
	  "cpu/event=0xc0,umask=1/:u" },
	{ "{cpu/edge/u}:k", RAW, 0x40000, 0, 0, 0, BOTH, 0, "cpu/edge/uk" },
	{ "{cs}:k", SW, 3, 0, 0, 0, KERNEL, 0, "cs:k" },
};

_Static_assert(sizeof(goods) / sizeof(goods[0]) >= 60, "the table is to be at least this long");

static void good_strings(void **state)
{
	for (size_t i = 0; i < sizeof(goods) / sizeof(goods[0]); i++) {
		const struct good *want = &goods[i];
		struct pmc_parse_error error;
		struct pmc_arena arena = { 0 };
		struct pmc_events events;
		const struct pmc_event *got;
		int rc = pmc_events_parse(want->text, &tree_roots, &arena, &events, &error);

		if (rc)
			fail_msg("'%s': %d at %zu: %s", want->text, error.error, error.offset,
				 error.text);
		if (events.count != 1)
			fail_msg("'%s' is %u events", want->text, events.count);
		got = events.list;
		if (got->type != want->type || got->config != want->config ||
		    got->config1 != want->config1 || got->config2 != want->config2 ||
		    got->config3 != want->config3)
			fail_msg("'%s' is type %u config %#llx,%#llx,%#llx,%#llx", want->text,
				 got->type, (unsigned long long)got->config,
				 (unsigned long long)got->config1, (unsigned long long)got->config2,
				 (unsigned long long)got->config3);
		if (got->exclude_user != (want->scope == KERNEL) ||
		    got->exclude_kernel != (want->scope == USER) ||
		    got->asked_scope != (want->scope != ALL))
			fail_msg("'%s': exclude_user %d exclude_kernel %d asked_scope %d",
				 want->text, got->exclude_user, got->exclude_kernel,
				 got->asked_scope);
		if (got->brace != want->brace)
			fail_msg("'%s': brace %d", want->text, got->brace);
		assert_string_equal(got->name, want->name ? want->name : want->text);
		assert_int_equal(got->position, 0);
		assert_int_equal(error.error, 0);
		pmc_arena_free(&arena);
	}
}

static void units_and_scales(void **state)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	assert_int_equal(pmc_events_parse("power/energy-pkg/,task-clock,cpu-clock:u,cycles,"
					  "sched:sched_switch",
					  &tree_roots, &arena, &events, &error),
			 0);
	assert_int_equal(events.count, 5);
	assert_string_equal(events.list[0].unit, "Joules");
	assert_string_equal(events.list[0].pmu, "power");
	assert_true(events.list[0].scale == 0x1p-32);
	assert_string_equal(events.list[1].unit, "ns");
	assert_string_equal(events.list[2].unit, "ns");
	assert_string_equal(events.list[3].unit, "");
	assert_string_equal(events.list[3].pmu, "");
	assert_true(events.list[3].scale == 1.0);
	assert_string_equal(events.list[4].unit, "");
	pmc_arena_free(&arena);
}

/* Built-in names must not need the file system or a library: they are parsed at process start. */
static void builtin_names_need_nothing(void **state)
{
	static const struct pmc_event_roots nowhere = { "nowhere", "nowhere", true };
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	assert_int_equal(pmc_events_parse(pmc_events_default, &nowhere, &arena, &events, &error),
			 0);
	assert_int_equal(events.count, 6);
	pmc_arena_free(&arena);
}

struct seen {
	unsigned count, cache;
};

static void see(const struct pmc_builtin *row, void *arg)
{
	struct seen *seen = arg;
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	assert_int_equal(pmc_events_parse(row->name, &tree_roots, &arena, &events, &error), 0);
	assert_int_equal(events.list[0].type, row->type);
	assert_int_equal(events.list[0].config, row->config);
	assert_true(row->alias_of || strlen(row->doc) > 0);
	seen->count++;
	seen->cache += row->type == CACHE;
	pmc_arena_free(&arena);
}

static void every_listed_name_resolves(void **state)
{
	struct seen seen = { 0 };

	pmc_builtins_each(see, &seen);
	/* 26 events, 10 aliases; 16 combinations of cache and operation, each with two results. */
	assert_int_equal(seen.cache, 32);
	assert_int_equal(seen.count, 26 + 10 + 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_strings),
		cmocka_unit_test(units_and_scales),
		cmocka_unit_test(builtin_names_need_nothing),
		cmocka_unit_test(every_listed_name_resolves),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
