/* SPDX-License-Identifier: MIT */
/* test_event_bad.c - errors of event strings: code, offset and text. */
#include "tests/unit/event_tree.h"
#include "tests/unit/unit.h"

#include <errno.h>

static const struct bad {
	const char *text;
	int error;
	size_t offset;
	const char *message;
} bads[] = {
	{ "", -EINVAL, 0, "empty event list" },
	{ " \t\n", -EINVAL, 0, "empty event list" },
	{ ",", -EINVAL, 0, "missing event before ','" },
	{ "cycles,", -EINVAL, 7, "missing event after ','" },
	{ "cycles,,instructions", -EINVAL, 7, "missing event before ','" },
	{ "cycles instructions", -EINVAL, 7, "missing ',' before 'instructions'" },
	{ "cycles}", -EINVAL, 6, "missing ',' before '}'" },
	{ "}", -EINVAL, 0, "missing event before '}'" },
	{ "cs,{cycles,instructions", -EINVAL, 3, "'{' without '}'" },
	{ "{}", -EINVAL, 0, "empty group" },
	{ "{ }:u", -EINVAL, 0, "empty group" },
	{ "{cycles,}", -EINVAL, 8, "missing event after ','" },
	{ "{,cycles}", -EINVAL, 1, "missing event before ','" },
	{ "{cycles cs}", -EINVAL, 8, "missing ',' before 'cs'" },
	{ "{cycles,{cs}}", -EINVAL, 8, "'{' in braces: a group cannot contain groups or sets" },
	{ "{@default}", -EINVAL, 1, "'@' in braces: a group cannot contain groups or sets" },
	{ "{cycles}cs", -EINVAL, 8, "missing ',' before 'cs'" },
	{ ":u", -EINVAL, 0, "no event before ':' in ':u'" },
	{ "sched:*", -EINVAL, 6,
	  "no wildcards in 'sched:*': name each event; pmctl list 'sched:*' shows them" },
	{ "cs,L1-dcache-load?", -EINVAL, 17,
	  "no wildcards in 'L1-dcache-load?': name each event; pmctl list 'L1-dcache-load?' shows "
	  "them" },

	{ "cycels", -ENOENT, 0, "unknown event 'cycels': not built in; nearest is 'cycles'" },
	{ "cs,Instructoins:u", -ENOENT, 3,
	  "unknown event 'Instructoins': not built in; nearest is 'instructions'" },
	{ "cycels:p", -ENOENT, 0,
	  "unknown event 'cycels:p': not built in, and not a tracepoint; nearest is 'cycles'" },
	{ "L1_dcache_load_misses", -ENOENT, 0,
	  "unknown event 'L1_dcache_load_misses': not built in; nearest is "
	  "'L1-dcache-load-misses'" },
	{ "llc-loads", -ENOENT, 0,
	  "unknown event 'llc-loads': not built in; nearest is 'LLC-loads'" },
	{ "L1-icache-stores", -ENOENT, 0,
	  "unknown event 'L1-icache-stores': not built in; nearest is 'L1-dcache-stores'" },
	{ "iTLB-prefetches", -ENOENT, 0,
	  "unknown event 'iTLB-prefetches': not built in; nearest is 'dTLB-prefetches'" },
	{ "branches-loads", -ENOENT, 0,
	  "unknown event 'branches-loads': not built in; nearest is 'branch-loads'" },
	{ "LLC-", -ENOENT, 0, "unknown event 'LLC-': not built in; pmctl list shows names" },
	{ "L1-dcache-loads-loads", -ENOENT, 0,
	  "unknown event 'L1-dcache-loads-loads': not built in; pmctl list shows names" },
	{ "energy-pgk", -ENOENT, 0,
	  "unknown event 'energy-pgk': not built in; nearest is 'power/energy-pkg/'" },
	{ "topdown", -ENOENT, 0, "unknown event 'topdown': not built in; nearest is '@topdown'" },
	{ "zzz", -ENOENT, 0, "unknown event 'zzz': not built in; pmctl list shows names" },
	{ "r", -ENOENT, 0, "unknown event 'r': not built in; pmctl list shows names" },
	{ "rcx", -ENOENT, 0, "unknown event 'rcx': not built in; pmctl list shows names" },
	{ "bad\001byte", -ENOENT, 0,
	  "unknown event 'bad?byte': not built in; pmctl list shows names" },
	{ "sched_swich", -ENOENT, 0,
	  "unknown event 'sched_swich': not built in; nearest is 'sched:sched_switch'" },
	{ "sched:sched_swich", -ENOENT, 0,
	  "unknown event 'sched:sched_swich': not built in, and not a tracepoint; nearest is "
	  "'sched:sched_switch'" },
	{ "sched:sched_swich:u", -ENOENT, 0,
	  "unknown event 'sched:sched_swich': not built in, and not a tracepoint; nearest is "
	  "'sched:sched_switch'" },
	{ "../sched:sched_switch", -EINVAL, 0, "'../sched:sched_switch': missing closing slash" },
	{ "SNB::MEM:X:Y", -ENOENT, 0,
	  "unknown event 'SNB::MEM:X:Y': not built in; pmctl list shows names" },

	{ "@defualt", -ENOENT, 0, "unknown set '@defualt'; nearest is '@default'" },
	{ "cs, @caches", -ENOENT, 4, "unknown set '@caches'; nearest is '@cache'" },
	{ "@", -ENOENT, 0, "unknown set '@'" },
	{ "@everything", -ENOENT, 0, "unknown set '@everything'" },

	{ "rfffffffffffffffff", -ENOENT, 0,
	  "unknown event 'rfffffffffffffffff': not built in; pmctl list shows names" },

	{ "cycles:", -EINVAL, 7,
	  "no modifier after ':' in 'cycles:': use u (user), k (kernel) or D (pinned)" },
	{ "cycles:p", -EINVAL, 7,
	  "unknown modifier 'p' in 'cycles:p': use u (user), k (kernel) or D (pinned)" },
	{ "cs,cycles:uG", -EINVAL, 11,
	  "unknown modifier 'G' in 'cycles:uG': use u (user), k (kernel) or D (pinned)" },
	{ "r1c2:h", -EINVAL, 5,
	  "unknown modifier 'h' in 'r1c2:h': use u (user), k (kernel) or D (pinned)" },
	{ "cycles:uu", -EINVAL, 8, "duplicate modifier 'u' in 'cycles:uu'" },
	{ "cycles:u:k", -EINVAL, 8,
	  "unknown modifier ':' in 'cycles:u:k': use u (user), k (kernel) or D (pinned)" },
	{ "sched:sched_switch:p", -EINVAL, 19,
	  "unknown modifier 'p' in 'sched:sched_switch:p': use u (user), k (kernel) or D "
	  "(pinned)" },
	{ "cpu/event=1/pp", -EINVAL, 12,
	  "unknown modifier 'p' in 'cpu/event=1/pp': use u (user), k (kernel) or D (pinned)" },
	{ "cpu/event=1/:", -EINVAL, 13,
	  "no modifier after ':' in 'cpu/event=1/:': use u (user), k (kernel) or D (pinned)" },
	{ "{cycles,cs}:S", -EINVAL, 12,
	  "unknown modifier 'S' in '{cycles,cs}:S': use u (user), k (kernel) or D (pinned)" },
	{ "@default:x", -EINVAL, 9,
	  "unknown modifier 'x' in '@default:x': use u (user), k (kernel) or D (pinned)" },

	{ "cpu/event=1", -EINVAL, 0, "'cpu/event=1': missing closing slash" },
	{ "cpu/event=1,cycles", -EINVAL, 0, "'cpu/event=1,cycles': missing closing slash" },
	{ "/event=1/", -EINVAL, 0, "'/event=1/': no PMU before the first slash" },
	{ "cpu//", -EINVAL, 4, "'cpu//': no event between the slashes" },
	{ "cpu/event=1,/", -EINVAL, 12, "'cpu/event=1,/': missing field" },
	{ "cpu/=1/", -EINVAL, 4, "'cpu/=1/': missing field" },
	{ "cpu/event=1/umask=1/", -EINVAL, 12, "'cpu/event=1/umask=1/': too many slashes" },
	{ "cpu/cpu-cycles,instructions/", -EINVAL, 15,
	  "'cpu-cycles' and 'instructions' are two events: write one item for each" },
	{ "cpuu/event=1/", -ENOENT, 0, "unknown PMU 'cpuu'; nearest is 'cpu'" },
	{ "cs,gpu3d/event=1/", -ENOENT, 3, "unknown PMU 'gpu3d'" },
	{ "../cpu/event=1/", -EINVAL, 7, "'../cpu/event=1/': too many slashes" },
	{ "../event=1/", -ENOENT, 0, "unknown PMU '..'" },
	{ "odd/event=1/", -ENOENT, 0, "unknown PMU 'odd'; nearest is 'odd'" },
	{ "cpu/evnt=1/", -ENOENT, 4,
	  "unknown field or event 'evnt' of PMU 'cpu'; nearest is 'event'" },
	{ "cpu/event=1,instuctions/", -ENOENT, 12,
	  "unknown field or event 'instuctions' of PMU 'cpu'; nearest is 'instructions'" },
	{ "cpu/config4=1/", -ENOENT, 4, "unknown field or event 'config4' of PMU 'cpu'" },
	{ "cpu/config/", -ENOENT, 4, "unknown field or event 'config' of PMU 'cpu'" },
	{ "power/umask=1/", -ENOENT, 6, "unknown field or event 'umask' of PMU 'power'" },
	{ "power/energy-pkg.scale/", -ENOENT, 6,
	  "unknown field or event 'energy-pkg.scale' of PMU 'power'" },
	{ "cpu/misdescribed/", -ENOENT, 4, "unknown field or event 'nonsense' of PMU 'cpu'" },
	{ "cpu/broken=1/", -ENOENT, 4, "field 'broken': unknown format 'config9:0-3' in sysfs" },
	{ "cpu/backwards=1/", -ENOENT, 4,
	  "field 'backwards': unknown format 'config:7-0' in sysfs" },
	{ "cpu/beyond=1/", -ENOENT, 4, "field 'beyond': unknown format 'config:60-64' in sysfs" },
	{ "cpu/umask=0x100/", -EINVAL, 4, "value '0x100' of field 'umask': more than 8 bits" },
	{ "cpu/event=1,edge=2/", -EINVAL, 12, "value '2' of field 'edge': more than 1 bits" },
	{ "cpu/event=0x1000/", -EINVAL, 4, "value '0x1000' of field 'event': more than 12 bits" },
	{ "cpu/event=/", -EINVAL, 4,
	  "value '' of field 'event': not a decimal or 0x number of 64 bits" },
	{ "cpu/event=abc/", -EINVAL, 4,
	  "value 'abc' of field 'event': not a decimal or 0x number of 64 bits" },
	{ "cpu/event=-1/", -EINVAL, 4,
	  "value '-1' of field 'event': not a decimal or 0x number of 64 bits" },
	{ "cpu/config=18446744073709551616/", -EINVAL, 4,
	  "value '18446744073709551616' of field 'config': not a decimal or 0x number of 64 bits" },
	{ "cpu/name=/", -EINVAL, 4, "name= without a name" },
	{ "hv_24x7/HPM_CYC,domain=1/", -EINVAL, 8,
	  "event 'HPM_CYC': no value for 'core'; add core=1" },
	{ "power/energy-bad/", -EINVAL, 6, "event 'energy-bad': unknown scale in sysfs" },
};

_Static_assert(sizeof(bads) / sizeof(bads[0]) >= 40, "the table is to be at least this long");

static void check(const struct bad *want, const struct pmc_event_roots *roots)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int rc = pmc_events_parse(want->text, roots, &arena, &events, &error);

	if (!rc)
		fail_msg("'%s' is accepted", want->text);
	if (error.error != want->error || error.offset != want->offset ||
	    strcmp(error.text, want->message))
		fail_msg("'%s': %d at %zu: %s", want->text, error.error, error.offset, error.text);
	assert_int_equal(rc, want->error);
	assert_int_equal(events.count, 0);
	pmc_arena_free(&arena);
}

static void bad_strings(void **state)
{
	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
		check(&bads[i], &tree_roots);
}

static void tracefs_not_there(void **state)
{
	static const struct pmc_event_roots roots = { "sys", "nowhere", true };
	static const struct bad bad = { "sched:sched_switch:u", -ENODEV, 0,
					"unknown event 'sched:sched_switch': not built in, "
					"and tracepoints are unknown: tracefs is not mounted; "
					"mount -t tracefs tracefs nowhere" };

	check(&bad, &roots);
}

static void too_many(void **state)
{
	char text[PMC_EVENTS_MAX * 3 + 8] = "";
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		strcat(text, i ? ",cs" : "cs");
	assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &events, &error), 0);
	assert_int_equal(events.count, PMC_EVENTS_MAX);
	strcat(text, ",cs");
	assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &events, &error), -E2BIG);
	assert_int_equal(error.offset, PMC_EVENTS_MAX * 3);
	assert_string_equal(error.text, "more than 64 events");
	strcpy(text + strlen(text) - 2, "@cache");
	assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &events, &error), -E2BIG);
	assert_int_equal(error.offset, PMC_EVENTS_MAX * 3);
	pmc_arena_free(&arena);
}

/* Mangled text gives events, or a one-line error with an offset inside the text. */
static void mangled_strings(void **state)
{
	static const char alphabet[] = ",:{}@/=u k?0x1\n\377cyesrbdfault-";
	unsigned seed = 1;

	for (unsigned round = 0; round < 20000; round++) {
		char text[96] =
			"{cycles,cpu/event=0xc0,umask=1/u}:k,@topdown,sched:sched_switch,r1c2";
		struct pmc_parse_error error;
		struct pmc_arena arena = { 0 };
		struct pmc_events events;
		size_t len = strlen(text);

		for (unsigned i = 0; i < 1 + round % 5; i++) {
			seed = seed * 1103515245 + 12345;
			text[(seed >> 8) % len] = alphabet[(seed >> 20) % (sizeof(alphabet) - 1)];
		}
		if (round % 7 == 0)
			text[(seed >> 12) % len] = '\0';
		if (pmc_events_parse(text, &tree_roots, &arena, &events, &error)) {
			assert_true(error.error != 0);
			assert_true(error.offset <= strlen(text));
			assert_true(error.text[0] && !strchr(error.text, '\n'));
		} else {
			assert_true(events.count > 0);
		}
		pmc_arena_free(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_strings),
		cmocka_unit_test(tracefs_not_there),
		cmocka_unit_test(too_many),
		cmocka_unit_test(mangled_strings),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
