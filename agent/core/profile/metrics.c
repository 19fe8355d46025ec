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

static bool is_accounting(unsigned metric)
{
	return pmc_formulas[metric].kind == CPU_PCT || pmc_formulas[metric].kind == SWITCHES_PER_S;
}

/* The first pair of events for a and b after the pair in *events; with counts: that has values. */
static bool find_pair(const struct pmc_formula *formula, const struct pmc_p_set_view *set,
		      const struct pmc_count *counts, bool next, struct pmc_metric_events *events)
{
	for (unsigned i = next ? events->a : 0; set && i < set->count; i++) {
		if (!is_input(&set->events[i], formula->a) ||
		    (counts && !pmc_count_has_value(&counts[i])))
			continue;
		for (unsigned j = next && i == events->a ? events->b + 1 : 0; j < set->count; j++) {
			if (!is_input(&set->events[j], formula->b) ||
			    !is_pair(&set->events[i], &set->events[j]) ||
			    (counts && !pmc_count_has_value(&counts[j])))
				continue;
			events->a = i;
			events->b = j;
			return true;
		}
	}
	return false;
}

void pmc_metric_events(unsigned metric, const struct pmc_p_set_view *set,
		       struct pmc_metric_events *events)
{
	struct pmc_metric_events other;

	*events = (struct pmc_metric_events){ .applies = is_accounting(metric) };
	if (events->applies)
		return;
	events->applies = find_pair(&pmc_formulas[metric], set, NULL, false, events);
	other = *events;
	events->many = events->applies && find_pair(&pmc_formulas[metric], set, NULL, true, &other);
}

bool pmc_metric_applies(unsigned metric, const struct pmc_p_set_view *set)
{
	struct pmc_metric_events events;

	if (metric >= pmc_n_metrics)
		return false;
	pmc_metric_events(metric, set, &events);
	return events.applies;
}

static bool quotient(double factor, uint64_t dividend, uint64_t divisor, double *value)
{
	if (!divisor)
		return false;
	*value = factor * (double)dividend / (double)divisor;
	return true;
}

bool pmc_metric_of(unsigned metric, const struct pmc_metric_events *events,
		   const struct pmc_metric_input *input, double *value, bool *estimate)
{
	const struct pmc_formula *formula = &pmc_formulas[metric];
	struct pmc_metric_events pair = *events;
	const struct pmc_count *a, *b;
	uint64_t a_value, b_value;

	*estimate = false;
	if (formula->kind == CPU_PCT)
		return input->has_cpu && quotient(100, input->cpu_ns, input->wall_ns, value);
	if (formula->kind == SWITCHES_PER_S)
		return input->has_switches && quotient(1e9, input->switches, input->wall_ns, value);
	if (!pair.applies || !input->counts)
		return false;
	if (pair.many && !find_pair(formula, input->set, input->counts, false, &pair))
		return false;
	a = &input->counts[pair.a];
	b = &input->counts[pair.b];
	if (!pmc_count_has_value(a) || !pmc_count_has_value(b))
		return false;
	*estimate = a->state == PMC_SCALED || b->state == PMC_SCALED ||
		    input->set->events[pair.a].def.group != input->set->events[pair.b].def.group;
	a_value = pmc_count_value(a);
	b_value = pmc_count_value(b);
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

bool pmc_metric_compute(unsigned metric, const struct pmc_metric_input *input, double *value)
{
	struct pmc_metric_events events;
	bool estimate;

	if (metric >= pmc_n_metrics)
		return false;
	pmc_metric_events(metric, input->set, &events);
	return pmc_metric_of(metric, &events, input, value, &estimate);
}
