/* SPDX-License-Identifier: MIT */
/* try.c - whether macOS counts an event for threads of this user, and which it counts at once. */
#include "lib/plan/mac_plan.h"
#include "tools/cli/flags.h"
#include "tools/list/mac_kpep.h"

#include <stdlib.h>
#include <string.h>

static bool is_kept_by_the_kernel(const struct pmc_event *event)
{
	const int kind = pmc_mac_kind(event);

	return kind >= 0 && kind != PMC_MAC_KPEP;
}

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	(void)list, (void)cpu;
	if (is_kept_by_the_kernel(event))
		return (struct list_answer){ .available = true };
	if (event->type == PMC_TYPE_KPEP)
		return list_kpep_answer();
	return (struct list_answer){ .reason = "not counted on macOS; see events of type kpep" };
}

static int by_name(const void *a, const void *b)
{
	const struct pmc_event *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int list_fit_host(struct list_fit *fit, const char *text)
{
	struct pmc_events events;
	uint64_t kpep = 0;

	list_init(&fit->list);
	if (tool_parse_events("--fit", text, &fit->list.arena, &events))
		return EXIT_USAGE;
	/* The result must not depend on the order of the arguments. */
	qsort(events.list, events.count, sizeof(*events.list), by_name);
	fit->n = events.count;
	for (unsigned i = 0; i < fit->n; i++) {
		const struct pmc_event *event = &events.list[i];

		list_fit_name(fit, i,
			      pmc_arena_strndup(&fit->list.arena, event->name,
						strcspn(event->name, ":")));
		fit->events[i].counter = -1;
		if (event->type == PMC_TYPE_KPEP) {
			kpep |= UINT64_C(1) << i;
		} else if (!is_kept_by_the_kernel(event)) {
			fit->events[i].reason = "not counted on macOS";
			fit->clash |= fit->clash ? 0 : UINT64_C(1) << i;
		}
	}
	return list_kpep_fit(fit, kpep);
}

void list_machine(struct list *list)
{
	const char *why = list_kpep(list);

	if (why)
		tool_warn("no events of the processor: %s", why);
}
