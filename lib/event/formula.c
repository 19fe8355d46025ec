/* SPDX-License-Identifier: MIT */
/* formula.c - the inputs and formulas of metrics.def; see formula.h. */
#include "lib/event/formula.h"

#include <linux/perf_event.h>
#include <string.h>

static const struct {
	uint32_t type;
	uint64_t config;
	const char *name;
} inputs[] = {
#define INPUT(id, type, config, name) { type, config, name },
#include "lib/event/metrics.def"
};

const struct pmc_formula pmc_formulas[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ formula, PMC_INPUT_##a, PMC_INPUT_##b },
#include "lib/event/metrics.def"
};

bool pmc_is_input(enum pmc_input input, uint32_t type, uint64_t config, const char *name)
{
	/* On hybrid CPUs the upper half of a generic event's config is the type of the core. */
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
		config &= UINT32_MAX;
	if (type != inputs[input].type || config != inputs[input].config)
		return false;
	return !inputs[input].name || (name && strstr(name, inputs[input].name));
}

static bool is_event(enum pmc_input input, const struct pmc_event *event)
{
	return pmc_is_input(input, event->type, event->config, event->name);
}

bool pmc_is_ratio(const struct pmc_event *a, const struct pmc_event *b)
{
	for (unsigned i = 0; i < sizeof(pmc_formulas) / sizeof(pmc_formulas[0]); i++) {
		const struct pmc_formula *f = &pmc_formulas[i];

		if (f->kind != PER && f->kind != PCT)
			continue;
		if ((is_event(f->a, a) && is_event(f->b, b)) ||
		    (is_event(f->a, b) && is_event(f->b, a)))
			return true;
	}
	return false;
}
