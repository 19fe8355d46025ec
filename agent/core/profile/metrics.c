/* SPDX-License-Identifier: MIT */
/* metrics.c - computes the rows of metrics.def from a row's counts. */
#include "agent/core/profile/metrics.h"
#include "agent/core/event/formula.h"

#include <string.h>

const struct pmc_metric pmc_metrics[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ #name, column, unit, decimals, table, doc },
#include "agent/core/event/metrics.def"
};

const unsigned pmc_n_metrics = sizeof(pmc_metrics) / sizeof(pmc_metrics[0]);

static bool is_input(const struct pmc_p_event *event, enum pmc_input input)
{
	return !event->def.config1 && !event->def.config2 && !event->def.config3 &&
	       pmc_is_input(input, event->def.type, event->def.config, event->name);
}

/* Whether the two counted the same part of the same work. */
static bool is_pair(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	const char *a_type = a->core_type ? a->core_type : "";
	const char *b_type = b->core_type ? b->core_type : "";

	return a->def.scope == b->def.scope && !strcmp(a_type, b_type);
}

/* The first pair of events that stands for a and b; with counts, that has values too. */
static bool find_pair(const struct pmc_formula *formula, const struct pmc_p_set_view *set,
		      const struct pmc_count *counts, unsigned *a, unsigned *b)
{
	for (unsigned i = 0; set && i < set->count; i++) {
		if (!is_input(&set->events[i], formula->a) ||
		    (counts && !pmc_count_has_value(&counts[i])))
			continue;
		for (unsigned j = 0; j < set->count; j++) {
			if (!is_input(&set->events[j], formula->b) ||
			    !is_pair(&set->events[i], &set->events[j]) ||
			    (counts && !pmc_count_has_value(&counts[j])))
				continue;
			*a = i;
			*b = j;
			return true;
		}
	}
	return false;
}

bool pmc_metric_applies(unsigned metric, const struct pmc_p_set_view *set)
{
	unsigned a, b;

	if (metric >= pmc_n_metrics)
		return false;
	if (pmc_formulas[metric].kind == CPU_PCT || pmc_formulas[metric].kind == SWITCHES_PER_S)
		return true;
	return find_pair(&pmc_formulas[metric], set, NULL, &a, &b);
}

static bool quotient(double factor, uint64_t dividend, uint64_t divisor, double *value)
{
	if (!divisor)
		return false;
	*value = factor * (double)dividend / (double)divisor;
	return true;
}

bool pmc_metric_compute(unsigned metric, const struct pmc_metric_input *input, double *value)
{
	const struct pmc_formula *formula;
	uint64_t a_value, b_value;
	unsigned a, b;

	if (metric >= pmc_n_metrics)
		return false;
	formula = &pmc_formulas[metric];
	if (formula->kind == CPU_PCT)
		return input->has_cpu && quotient(100, input->cpu_ns, input->wall_ns, value);
	if (formula->kind == SWITCHES_PER_S)
		return input->has_switches && quotient(1e9, input->switches, input->wall_ns, value);
	if (!input->counts || !find_pair(formula, input->set, input->counts, &a, &b))
		return false;
	a_value = pmc_count_value(&input->counts[a]);
	b_value = pmc_count_value(&input->counts[b]);
	switch (formula->kind) {
	case PER:
		return quotient(1, a_value, b_value, value);
	case PCT:
		return quotient(100, a_value, b_value, value);
	case KI:
		return quotient(1000, a_value, b_value, value);
	case EXCESS_PCT:
		return quotient(100, a_value > b_value ? a_value - b_value : 0, a_value, value);
	default:
		return false;
	}
}
