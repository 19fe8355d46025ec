/* SPDX-License-Identifier: MIT */
/* checks.c - judges the facts of a Mac by the rules of mac_checks.def, and --require. */
#include "lib/event/event.h"
#include "lib/plan/mac_plan.h"
#include "lib/dump/words.h"
#include "tools/cli/pmctl.h"
#include "tools/doctor/mac_facts.h"
#include "tools/doctor/rules.h"

#include <errno.h>

#define COMMAND(hint, ...) doctor_fix_command(to, f->root, hint, __VA_ARGS__)

bool doctor_hardware(const struct doctor_facts *f)
{
	return f->counts;
}

bool doctor_anything(const struct doctor_facts *f)
{
	return f->counts;
}

const char *doctor_summary(const struct doctor_facts *f)
{
	if (f->counts)
		return f->root && f->kperf && !f->no_kpep && !f->kpep_reason ?
			       "Cycles, instructions and events of the processor can be counted." :
			       "Cycles and instructions can be counted.";
	return "No hardware events can be counted. CPU time of every thread is always available.";
}

static const char *name_of(const struct doctor_facts *f)
{
	return f->cpu[0] ? f->cpu : "unknown";
}

static const char *release_of(const struct doctor_facts *f)
{
	return f->release[0] ? f->release : "unknown";
}

#include "tools/doctor/mac_checks.def"
#undef CHECK

const struct doctor_check doctor_checks[] = {
#define CHECK(id, name, ...) { name, judge_##id },
#include "tools/doctor/mac_checks.def"
#undef CHECK
};
const unsigned doctor_n_checks = sizeof(doctor_checks) / sizeof(doctor_checks[0]);

static void judge_event(const struct pmc_planned *planned, struct doctor_finding *to)
{
	const char *name = planned->event.name;

	if (planned->group != PMC_NO_GROUP) {
		doctor_say(to, DOCTOR_OK, "%s: counted", name);
		return;
	}
	doctor_say(to, DOCTOR_BLOCKS, "%s: not countable (%s)", name,
		   pmc_reason_text((uint32_t)planned->error));
	if (planned->error == EPERM && !pmc_mac_system.is_root())
		doctor_fix_command(to, false, "", "sudo pmctl doctor --require %s", name);
	else
		WORDS("change the list of events; pmctl list has those of this processor");
}

/* Events of kperf are programmed for the check, and released. */
int doctor_require(const struct doctor_facts *facts, const char *text, bool *counted,
		   struct doctor_finding *to)
{
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_mac_plan plan;
	struct pmc_mac mac;
	int code = EXIT_OK;

	(void)facts;
	pmc_mac_open(&mac, &pmc_mac_system);
	if (pmc_events_parse(text, NULL, &arena, &events, &error))
		code = tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_FAIL : EXIT_USAGE,
				 "--require '%s': %s", text, error.text);
	else if (pmc_mac_plan_make(&mac, &events, false, &arena, &plan))
		code = tool_fail(EXIT_FAIL, "out of memory");
	pmc_mac_close(&mac);
	*counted = !code;
	/* The finding is that of the first event that cannot be counted, or of the last. */
	for (unsigned i = 0; !code && *counted && i < plan.plan.count; i++) {
		judge_event(&plan.plan.events[i], to);
		*counted = to->status == DOCTOR_OK;
	}
	if (!code && *counted && events.count > 1)
		doctor_say(to, DOCTOR_OK, "%s: each counted", text);
	pmc_arena_free(&arena);
	return code;
}
