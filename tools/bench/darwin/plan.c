/* SPDX-License-Identifier: MIT */
/*
 * plan.c - the events of a bench on macOS, and what it has no baseline for.
 *
 * The kernel keeps cycles, instructions and CPU time of the command's process, which are read at
 * its end. Events of kperf are counted by the agent, in runs of its own: kperfdata says which get
 * counters at once, and each pass has some of them.
 */
#include "lib/plan/mac_plan.h"
#include "lib/dump/words.h"
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"
#include "tools/list/mac_kpep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const bench_remark =
	"cycles, instructions and clocks: of the command's own process, without its children.";

/* The pass of an event of kperf is in `group`. */
unsigned bench_pass_of(const struct bench *bench, const struct pmc_planned *event)
{
	(void)bench;
	return pmc_mac_kind(&event->event) == PMC_MAC_KPEP ? event->group : BENCH_EVERY_PASS;
}

/* Spreads events of kperf, a bit each, over passes. 0 or the exit code of a printed error. */
static int spread(struct bench *bench, uint64_t kpep)
{
	static struct list_fit fit;
	struct pmc_plan *plan = &bench->plan;
	int code;

	memset(&fit, 0, sizeof(fit));
	fit.n = plan->count;
	for (unsigned i = 0; i < fit.n; i++) {
		const char *name = plan->events[i].event.name;

		name = pmc_arena_strndup(&bench->arena, name, strcspn(name, ":"));
		if (!name)
			return tool_fail(EXIT_FAIL, "out of memory");
		list_fit_name(&fit, i, name);
	}
	code = list_kpep_fit(&fit, &pmc_mac_system, kpep);
	for (unsigned i = 0; i < fit.n && !code; i++) {
		if (!(kpep >> i & 1))
			continue;
		plan->events[i].group = (uint16_t)fit.events[i].pass;
		bench->by_agent |= !fit.events[i].reason;
		if (fit.events[i].reason)
			pmc_mac_refuse(&plan->events[i], fit.events[i].code);
	}
	if (!code && fit.passes > 1)
		bench->passes = fit.passes;
	list_free(&fit.list);
	return code;
}

int bench_make_plan(struct bench *bench, const struct pmc_events *events)
{
	struct pmc_plan *plan = &bench->plan;
	struct pmc_mac mac;
	uint64_t kpep = 0;

	bench->passes = 1;
	pmc_mac_open(&mac, &pmc_mac_system);
	plan->events = pmc_arena_alloc(&bench->arena, (events->count + 1) * sizeof(*plan->events));
	if (!plan->events)
		return tool_fail(EXIT_FAIL, "out of memory");
	plan->count = plan->opened = events->count;
	for (unsigned i = 0; i < plan->count; i++) {
		struct pmc_planned *planned = &plan->events[i];
		const int kind = pmc_mac_kind(&events->list[i]);

		*planned = (struct pmc_planned){ .event = events->list[i], .scope = PMC_SCOPE_ALL };
		if (kind < 0)
			pmc_mac_refuse(planned, PMC_REASON_NO_SOURCE);
		else if (kind == PMC_MAC_KPEP && !pmc_mac_system.is_root())
			pmc_mac_refuse(planned, EPERM);
		else if (kind == PMC_MAC_KPEP)
			kpep |= UINT64_C(1) << i;
		else if (kind != PMC_MAC_CLOCK && mac.no_counts)
			pmc_mac_refuse(planned, mac.no_counts);
		if (kind == PMC_MAC_KPEP && planned->event.asked_scope &&
		    planned->event.exclude_kernel)
			planned->scope = PMC_SCOPE_USER;
	}
	return kpep ? spread(bench, kpep) : 0;
}

const char *bench_agent_events(struct bench *bench, size_t r)
{
	const struct pmc_plan *plan = &bench->plan;
	struct pmc_out out;
	char text[4096];

	pmc_out_to_mem(&out, text, sizeof(text));
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *planned = &plan->events[i];
		const unsigned pass = bench_pass_of(bench, planned);

		if (planned->group != PMC_NO_GROUP &&
		    (pass == BENCH_EVERY_PASS || pass == r % bench->passes))
			pmc_outf(&out, "%s%s", out.len ? "," : "", planned->event.name);
	}
	return out.error ? NULL : pmc_arena_strdup(&bench->arena, text);
}

void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap)
{
	(void)bench;
	if (event->error != EPERM)
		snprintf(text, cap, "%s", pmc_reason_text((uint32_t)event->error));
	else if (pmc_mac_system.is_root())
		snprintf(text, cap, "the kernel does not permit it (macOS 14.4 and later)");
	else
		snprintf(text, cap, "kperf needs root; use sudo");
}

int bench_read_baseline(struct bench *bench)
{
	if (!bench->baseline_file)
		return 0;
	return tool_fail(EXIT_USAGE, "--baseline is not available on macOS: pmctl cannot read JSON "
				     "there; give both commands to one bench");
}
