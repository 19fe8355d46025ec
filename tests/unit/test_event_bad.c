/* SPDX-License-Identifier: MIT */
/* test_event_bad.c - what event strings that cannot be meant are told: code, place, text. */
#include "tests/unit/event_tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct bad {
	const char *text;
	enum pmc_parse_code code;
	size_t offset;
	const char *message;
} bads[] = {
	{ "", PMC_PARSE_EMPTY, 0, "no event is named" },
	{ " \t\n", PMC_PARSE_EMPTY, 0, "no event is named" },
	{ ",", PMC_PARSE_SYNTAX, 0, "an event is missing before a ','" },
	{ "cycles,", PMC_PARSE_SYNTAX, 7, "an event is missing after a ','" },
	{ "cycles,,instructions", PMC_PARSE_SYNTAX, 7, "an event is missing before a ','" },
	{ "cycles instructions", PMC_PARSE_SYNTAX, 7, "a ',' is missing before 'instructions'" },
	{ "cycles}", PMC_PARSE_SYNTAX, 6, "a ',' is missing before '}'" },
	{ "}", PMC_PARSE_SYNTAX, 0, "a '}' has no '{'" },
	{ "cs,{cycles,instructions", PMC_PARSE_SYNTAX, 3, "a '{' has no '}'" },
	{ "{}", PMC_PARSE_SYNTAX, 0, "a group is empty" },
	{ "{ }:u", PMC_PARSE_SYNTAX, 0, "a group is empty" },
	{ "{cycles,}", PMC_PARSE_SYNTAX, 8, "an event is missing in a group" },
	{ "{,cycles}", PMC_PARSE_SYNTAX, 1, "an event is missing in a group" },
	{ "{cycles cs}", PMC_PARSE_SYNTAX, 8, "a ',' is missing in a group" },
	{ "{cycles,{cs}}", PMC_PARSE_SYNTAX, 8, "a group cannot hold another group" },
	{ "{@default}", PMC_PARSE_SYNTAX, 1, "a group cannot hold a set" },
	{ "{cycles}cs", PMC_PARSE_SYNTAX, 8, "a ',' is missing before 'cs'" },
	{ ":u", PMC_PARSE_SYNTAX, 0, "no event before the ':' of ':u'" },
	{ "sched:*", PMC_PARSE_SYNTAX, 6,
	  "wildcards are not accepted in 'sched:*': name each event" },
	{ "cs,L1-dcache-load?", PMC_PARSE_SYNTAX, 17,
	  "wildcards are not accepted in 'L1-dcache-load?': name each event" },

	{ "cycels", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'cycels', nearest is 'cycles': not built in" },
	{ "cs,Instructoins:u", PMC_PARSE_UNKNOWN_EVENT, 3,
	  "unknown event 'Instructoins', nearest is 'instructions': not built in" },
	{ "cycels:p", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'cycels:p', nearest is 'cycles': not built in; nor is it a tracepoint" },
	{ "L1_dcache_load_misses", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'L1_dcache_load_misses', nearest is 'L1-dcache-load-misses': not built "
	  "in" },
	{ "llc-loads", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'llc-loads', nearest is 'LLC-loads': not built in" },
	{ "L1-icache-stores", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'L1-icache-stores', nearest is 'L1-dcache-stores': not built in" },
	{ "iTLB-prefetches", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'iTLB-prefetches', nearest is 'dTLB-prefetches': not built in" },
	{ "branches-loads", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'branches-loads', nearest is 'branch-loads': not built in" },
	{ "LLC-", PMC_PARSE_UNKNOWN_EVENT, 0, "unknown event 'LLC-': not built in" },
	{ "L1-dcache-loads-loads", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'L1-dcache-loads-loads': not built in" },
	{ "energy-pgk", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'energy-pgk', nearest is 'power/energy-pkg/': not built in" },
	{ "topdown", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'topdown', nearest is '@topdown': not built in" },
	{ "zzz", PMC_PARSE_UNKNOWN_EVENT, 0, "unknown event 'zzz': not built in" },
	{ "r", PMC_PARSE_UNKNOWN_EVENT, 0, "unknown event 'r': not built in" },
	{ "rcx", PMC_PARSE_UNKNOWN_EVENT, 0, "unknown event 'rcx': not built in" },
	{ "bad\001byte", PMC_PARSE_UNKNOWN_EVENT, 0, "unknown event 'bad?byte': not built in" },
	{ "sched:sched_swich", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'sched:sched_swich', nearest is 'sched:sched_switch': not built in; nor "
	  "is "
	  "it a tracepoint" },
	{ "sched:sched_swich:u", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'sched:sched_swich', nearest is 'sched:sched_switch': not built in; nor "
	  "is "
	  "it a tracepoint" },
	{ "../sched:sched_switch", PMC_PARSE_SYNTAX, 0,
	  "'../sched:sched_switch' lacks its closing slash" },
	{ "SNB::MEM:X:Y", PMC_PARSE_UNKNOWN_EVENT, 0,
	  "unknown event 'SNB::MEM:X:Y': not built in" },

	{ "@defualt", PMC_PARSE_UNKNOWN_SET, 0, "unknown set '@defualt', nearest is '@default'" },
	{ "cs, @caches", PMC_PARSE_UNKNOWN_SET, 4, "unknown set '@caches', nearest is '@cache'" },
	{ "@", PMC_PARSE_UNKNOWN_SET, 0, "unknown set '@'" },
	{ "@everything", PMC_PARSE_UNKNOWN_SET, 0, "unknown set '@everything'" },

	{ "rfffffffffffffffff", PMC_PARSE_BAD_VALUE, 1,
	  "raw event 'rfffffffffffffffff' has more than 64 bits" },

	{ "cycles:", PMC_PARSE_BAD_MODIFIER, 7,
	  "no modifier follows the ':' of 'cycles:'; u (user), k (kernel) and D (pinned) are "
	  "accepted" },
	{ "cycles:p", PMC_PARSE_BAD_MODIFIER, 7,
	  "modifier 'p' of 'cycles:p' is not accepted; u (user), k (kernel) and D (pinned) are" },
	{ "cs,cycles:uG", PMC_PARSE_BAD_MODIFIER, 11,
	  "modifier 'G' of 'cycles:uG' is not accepted; u (user), k (kernel) and D (pinned) are" },
	{ "r1c2:h", PMC_PARSE_BAD_MODIFIER, 5,
	  "modifier 'h' of 'r1c2:h' is not accepted; u (user), k (kernel) and D (pinned) are" },
	{ "cycles:uu", PMC_PARSE_BAD_MODIFIER, 8, "modifier 'u' of 'cycles:uu' is given twice" },
	{ "cycles:u:k", PMC_PARSE_BAD_MODIFIER, 8,
	  "modifier ':' of 'cycles:u:k' is not accepted; u (user), k (kernel) and D (pinned) are" },
	{ "sched:sched_switch:p", PMC_PARSE_BAD_MODIFIER, 19,
	  "modifier 'p' of 'sched:sched_switch:p' is not accepted; u (user), k (kernel) and D "
	  "(pinned) are" },
	{ "cpu/event=1/pp", PMC_PARSE_BAD_MODIFIER, 12,
	  "modifier 'p' of 'cpu/event=1/pp' is not accepted; u (user), k (kernel) and D (pinned) "
	  "are" },
	{ "cpu/event=1/:", PMC_PARSE_BAD_MODIFIER, 13,
	  "no modifier follows the ':' of 'cpu/event=1/:'; u (user), k (kernel) and D (pinned) are "
	  "accepted" },
	{ "{cycles,cs}:S", PMC_PARSE_BAD_MODIFIER, 12,
	  "modifier 'S' of '{cycles,cs}:S' is not accepted; u (user), k (kernel) and D (pinned) "
	  "are" },
	{ "@default:x", PMC_PARSE_BAD_MODIFIER, 9,
	  "modifier 'x' of '@default:x' is not accepted; u (user), k (kernel) and D (pinned) are" },

	{ "cpu/event=1", PMC_PARSE_SYNTAX, 0, "'cpu/event=1' lacks its closing slash" },
	{ "cpu/event=1,cycles", PMC_PARSE_SYNTAX, 0,
	  "'cpu/event=1,cycles' lacks its closing slash" },
	{ "/event=1/", PMC_PARSE_SYNTAX, 0, "'/event=1/' names no PMU before its first slash" },
	{ "cpu//", PMC_PARSE_SYNTAX, 4, "'cpu//' names no event between its slashes" },
	{ "cpu/event=1,/", PMC_PARSE_SYNTAX, 12, "a field is missing in 'cpu/event=1,/'" },
	{ "cpu/=1/", PMC_PARSE_SYNTAX, 4, "a field is missing in 'cpu/=1/'" },
	{ "cpu/event=1/umask=1/", PMC_PARSE_SYNTAX, 12,
	  "'cpu/event=1/umask=1/' has too many slashes" },
	{ "cpu/cpu-cycles,instructions/", PMC_PARSE_SYNTAX, 15,
	  "'cpu-cycles' and 'instructions' are two events: one each" },
	{ "cpuu/event=1/", PMC_PARSE_UNKNOWN_PMU, 0,
	  "this machine has no PMU 'cpuu', nearest is 'cpu'" },
	{ "cs,gpu3d/event=1/", PMC_PARSE_UNKNOWN_PMU, 3, "this machine has no PMU 'gpu3d'" },
	{ "../cpu/event=1/", PMC_PARSE_SYNTAX, 7, "'../cpu/event=1/' has too many slashes" },
	{ "../event=1/", PMC_PARSE_UNKNOWN_PMU, 0, "this machine has no PMU '..'" },
	{ "odd/event=1/", PMC_PARSE_UNKNOWN_PMU, 0,
	  "the kernel's type of PMU 'odd' is not understood" },
	{ "cpu/evnt=1/", PMC_PARSE_UNKNOWN_FIELD, 4,
	  "PMU 'cpu' has no field or event 'evnt', nearest is 'event'" },
	{ "cpu/event=1,instuctions/", PMC_PARSE_UNKNOWN_FIELD, 12,
	  "PMU 'cpu' has no field or event 'instuctions', nearest is 'instructions'" },
	{ "cpu/config4=1/", PMC_PARSE_UNKNOWN_FIELD, 4,
	  "PMU 'cpu' has no field or event 'config4'" },
	{ "cpu/config/", PMC_PARSE_UNKNOWN_FIELD, 4, "PMU 'cpu' has no field or event 'config'" },
	{ "power/umask=1/", PMC_PARSE_UNKNOWN_FIELD, 6,
	  "PMU 'power' has no field or event 'umask'" },
	{ "power/energy-pkg.scale/", PMC_PARSE_UNKNOWN_FIELD, 6,
	  "PMU 'power' has no field or event 'energy-pkg.scale'" },
	{ "cpu/misdescribed/", PMC_PARSE_UNKNOWN_FIELD, 4,
	  "PMU 'cpu' has no field or event 'nonsense'" },
	{ "cpu/broken=1/", PMC_PARSE_UNKNOWN_FIELD, 4,
	  "the kernel's format of field 'broken', 'config9:0-3', is not understood" },
	{ "cpu/backwards=1/", PMC_PARSE_UNKNOWN_FIELD, 4,
	  "the kernel's format of field 'backwards', 'config:7-0', is not understood" },
	{ "cpu/beyond=1/", PMC_PARSE_UNKNOWN_FIELD, 4,
	  "the kernel's format of field 'beyond', 'config:60-64', is not understood" },
	{ "cpu/umask=0x100/", PMC_PARSE_BAD_VALUE, 4,
	  "value '0x100' of field 'umask' does not fit its 8 bits" },
	{ "cpu/event=1,edge=2/", PMC_PARSE_BAD_VALUE, 12,
	  "value '2' of field 'edge' does not fit its 1 bits" },
	{ "cpu/event=0x1000/", PMC_PARSE_BAD_VALUE, 4,
	  "value '0x1000' of field 'event' does not fit its 12 bits" },
	{ "cpu/event=/", PMC_PARSE_BAD_VALUE, 4,
	  "value '' of field 'event' is no number of up to 64 bits, decimal or 0x hexadecimal" },
	{ "cpu/event=abc/", PMC_PARSE_BAD_VALUE, 4,
	  "value 'abc' of field 'event' is no number of up to 64 bits, decimal or 0x hexadecimal" },
	{ "cpu/event=-1/", PMC_PARSE_BAD_VALUE, 4,
	  "value '-1' of field 'event' is no number of up to 64 bits, decimal or 0x hexadecimal" },
	{ "cpu/config=18446744073709551616/", PMC_PARSE_BAD_VALUE, 4,
	  "value '18446744073709551616' of field 'config' is no number of up to 64 bits, decimal "
	  "or "
	  "0x hexadecimal" },
	{ "cpu/name=/", PMC_PARSE_BAD_VALUE, 4, "name= gives no name" },
	{ "hv_24x7/HPM_CYC,domain=1/", PMC_PARSE_BAD_VALUE, 8,
	  "event 'HPM_CYC' needs a value for 'core', as in core=1" },
	{ "power/energy-bad/", PMC_PARSE_BAD_VALUE, 6,
	  "the kernel's scale of event 'energy-bad' is not understood" },
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
	if (error.code != want->code || error.offset != want->offset ||
	    strcmp(error.text, want->message))
		fail_msg("'%s': %d at %zu: %s", want->text, error.code, error.offset, error.text);
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(events.count, 0);
	pmc_arena_free(&arena);
}

static void bad_strings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
		check(&bads[i], &tree_roots);
}

static void tracefs_not_there(void **state)
{
	static const struct pmc_event_roots roots = { "sys", "nowhere", true };
	static const struct bad bad = {
		"sched:sched_switch:u", PMC_PARSE_UNKNOWN_EVENT, 0,
		"unknown event 'sched:sched_switch': not built in; "
		"tracepoints are unknown: tracefs is not mounted at nowhere"
	};

	(void)state;
	check(&bad, &roots);
}

static void too_many(void **state)
{
	char text[PMC_EVENTS_MAX * 3 + 8] = "";
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;

	(void)state;
	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		strcat(text, i ? ",cs" : "cs");
	assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &events, &error), 0);
	assert_int_equal(events.count, PMC_EVENTS_MAX);
	strcat(text, ",cs");
	assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &events, &error), -EINVAL);
	assert_int_equal(error.code, PMC_PARSE_TOO_MANY);
	assert_int_equal(error.offset, PMC_EVENTS_MAX * 3);
	assert_string_equal(error.text, "more than 64 events");
	strcpy(text + strlen(text) - 2, "@cache");
	assert_int_equal(pmc_events_parse(text, &tree_roots, &arena, &events, &error), -EINVAL);
	assert_int_equal(error.code, PMC_PARSE_TOO_MANY);
	assert_int_equal(error.offset, PMC_EVENTS_MAX * 3);
	pmc_arena_free(&arena);
}

/* Whatever comes: an answer, one line, pointing into the text. */
static void mangled_strings(void **state)
{
	static const char alphabet[] = ",:{}@/=u k?0x1\n\377cyesrbdfault-";
	unsigned seed = 1;

	(void)state;
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
			assert_true(error.code != PMC_PARSE_OK);
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
