/* SPDX-License-Identifier: MIT */
/* metrics.c - computes the rows of metrics.def from a row's counts. */
#include "tools/rows/metrics.h"
#include "lib/event/event.h"

#include <string.h>

const struct pmc_metric pmc_metrics[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ #name, column, unit, decimals, table, doc },
#include "lib/event/metrics.def"
};

const unsigned pmc_n_metrics = sizeof(pmc_metrics) / sizeof(pmc_metrics[0]);

_Static_assert(sizeof(pmc_metrics) / sizeof(pmc_metrics[0]) <= 64,
	       "pmc_union.ratios has a bit for each");

const char *pmc_ratio_state_name(unsigned state)
{
	return state == PMC_RATIO_EXACT ? "exact" : state == PMC_RATIO_SCALED ? "scaled" : "mixed";
}

static bool is_input(const struct pmc_p_event *event, enum pmc_input input)
{
	return !event->def.config1 && !event->def.config2 && !event->def.config3 &&
	       pmc_is_input(input, event->def.type, event->def.config, event->name);
}

/* Whether the two counted the same part of the same work. */
static bool is_pair(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a->def.scope == b->def.scope &&
	       !strcmp(a->core_type ? a->core_type : "", b->core_type ? b->core_type : "");
}

bool pmc_metric_is_accounting(unsigned metric)
{
	return pmc_formulas[metric].kind == CPU_PCT || pmc_formulas[metric].kind == SWITCHES_PER_S;
}

bool pmc_metric_events(unsigned metric, const struct pmc_p_set_view *set,
		       const struct pmc_count *counts, struct pmc_metric_events *events)
{
	const struct pmc_formula *formula = &pmc_formulas[metric];

	for (unsigned i = 0; set && i < set->count; i++) {
		if (!is_input(&set->events[i], formula->a) ||
		    (counts && !pmc_count_has_value(&counts[i])))
			continue;
		for (unsigned j = 0; j < set->count; j++) {
			if (!is_input(&set->events[j], formula->b) ||
			    !is_pair(&set->events[i], &set->events[j]) ||
			    (counts && !pmc_count_has_value(&counts[j])))
				continue;
			*events = (struct pmc_metric_events){ i, j };
			return true;
		}
	}
	return false;
}

bool pmc_metric_applies(unsigned metric, const struct pmc_p_set_view *set)
{
	struct pmc_metric_events events;

	return metric < pmc_n_metrics &&
	       (pmc_metric_is_accounting(metric) || pmc_metric_events(metric, set, NULL, &events));
}

static bool quotient(double factor, uint64_t dividend, uint64_t divisor, double *value)
{
	if (!divisor)
		return false;
	*value = factor * (double)dividend / (double)divisor;
	return true;
}

/* The parts of a sum over core types follow it. */
static const struct pmc_p_event *next_part(const struct pmc_p_set_view *set, unsigned sum,
					   unsigned i)
{
	const struct pmc_p_event *event = &set->events[sum + i];

	return sum + i < set->count && event->core_type && event->core_type[0] &&
			       event->def.position == set->events[sum].def.position ?
		       event :
		       NULL;
}

/* Whether the events are in one group; sums over core types: in one on each type. */
static bool run_together(const struct pmc_p_set_view *set, unsigned a, unsigned b)
{
	const struct pmc_p_event *p, *q;

	if (set->events[a].def.group != set->events[b].def.group)
		return false;
	if (!(set->events[a].def.flags & set->events[b].def.flags & PMC_EVENT_SUM))
		return true;
	for (unsigned i = 1; (p = next_part(set, a, i)); i++)
		for (unsigned k = 1; (q = next_part(set, b, k)); k++)
			if (!strcmp(p->core_type, q->core_type) && p->def.group != q->def.group)
				return false;
	return true;
}

void pmc_ratio_add(struct pmc_ratio *into, const struct pmc_ratio *more)
{
	pmc_add_sat(&into->a, more->a);
	pmc_add_sat(&into->b, more->b);
	into->known |= more->known;
	into->state = more->state > into->state ? more->state : into->state;
}

void pmc_ratio_take(unsigned metric, const struct pmc_metric_events *events,
		    const struct pmc_p_set_view *set, const struct pmc_count *counts,
		    struct pmc_ratio *ratio)
{
	struct pmc_metric_events pair = *events;
	struct pmc_ratio row = { .known = true };
	const struct pmc_count *a, *b;

	if (!counts)
		return;
	if ((!pmc_count_has_value(&counts[pair.a]) || !pmc_count_has_value(&counts[pair.b])) &&
	    !pmc_metric_events(metric, set, counts, &pair))
		return;
	a = &counts[pair.a];
	b = &counts[pair.b];
	if (!run_together(set, pair.a, pair.b))
		row.state = PMC_RATIO_MIXED;
	else if (a->state == PMC_SCALED || b->state == PMC_SCALED)
		row.state = PMC_RATIO_SCALED;
	if (pmc_formulas[metric].kind == EXCESS_PCT && row.state == PMC_RATIO_MIXED)
		return;
	row.a = pmc_count_value(a);
	row.b = pmc_count_value(b);
	pmc_ratio_add(ratio, &row);
}

bool pmc_ratio_value(unsigned metric, const struct pmc_ratio *ratio, double *value)
{
	const uint64_t a = ratio->a, b = ratio->b;

	if (!ratio->known)
		return false;
	switch (pmc_formulas[metric].kind) {
	case PER:
		return quotient(1, a, b, value);
	case PCT:
	case CPU_PCT:
		return quotient(100, a, b, value);
	case KI:
		return quotient(1000, a, b, value);
	case EXCESS_PCT:
		return quotient(100, a > b ? a - b : 0, a, value);
	case SWITCHES_PER_S:
		return quotient(1e9, a, b, value);
	default:
		return false;
	}
}
