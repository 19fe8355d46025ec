/* SPDX-License-Identifier: MIT */
/* checks.c - judges the facts of a Mac by the rules of mac_checks.def, and --require. */
#include "lib/event/event.h"
#include "lib/plan/mac_plan.h"
#include "lib/dump/words.h"
#include "tools/doctor/mac_facts.h"

#include <errno.h>

#define COMMAND(hint, ...) doctor_fix(to, hint, f->root, __VA_ARGS__)

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

void doctor_judge(const struct doctor_facts *facts, const struct pmc_planned *planned,
		  struct pmc_arena *arena, struct doctor_finding *to)
{
	const char *name = planned->event.name;

	(void)facts, (void)arena;
	if (planned->group != PMC_NO_GROUP) {
		doctor_say(to, DOCTOR_OK, "%s: counted", name);
		return;
	}
	doctor_say(to, DOCTOR_BLOCKS, "%s: not countable (%s)", name,
		   pmc_reason_text((uint32_t)planned->error));
	if (planned->error == EPERM && !pmc_mac_system.is_root())
		doctor_fix(to, "", false, "sudo pmctl doctor --require %s", name);
	else
		WORDS("change the list of events; pmctl list has those of this processor");
}

/* Events of kperf are programmed for the check, and released. */
int doctor_plan(const struct pmc_events *events, struct pmc_arena *arena, struct pmc_plan *plan)
{
	struct pmc_mac mac;
	int result;

	pmc_mac_open(&mac);
	result = pmc_mac_plan_make(&mac, events, false, arena, plan);
	pmc_mac_close(&mac);
	return result;
}
