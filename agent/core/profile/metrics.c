/* SPDX-License-Identifier: MIT */
/* metrics.c - computes the rows of metrics.def from a row's counts. */
#include "agent/core/profile/metrics.h"

#include <linux/perf_event.h>
#include <string.h>

enum input {
#define INPUT(id, type, config, name) INPUT_##id,
#include "agent/core/event/metrics.def"
};

enum formula { PER, PCT, KI, EXCESS_PCT, CPU_PCT, SWITCHES_PER_S };

static const struct {
	uint32_t type;
	uint64_t config;
	const char *name;
} inputs[] = {
#define INPUT(id, type, config, name) { type, config, name },
#include "agent/core/event/metrics.def"
};

const struct pmc_metric pmc_metrics[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ #name, column, unit, decimals, table, doc },
#include "agent/core/event/metrics.def"
};

/* The same rows: how they are computed. */
static const struct recipe {
	enum formula formula;
	enum input a, b;
} recipes[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ formula, INPUT_##a, INPUT_##b },
#include "agent/core/event/metrics.def"
};

const unsigned pmc_n_metrics = sizeof(pmc_metrics) / sizeof(pmc_metrics[0]);

static bool is_input(const struct pmc_p_event *event, enum input input)
{
	uint64_t config = event->def.config;

	if (event->def.type != inputs[input].type)
		return false;
	/* On hybrid CPUs the upper half says which PMU a generic event is meant for. */
	if (event->def.type == PERF_TYPE_HARDWARE || event->def.type == PERF_TYPE_HW_CACHE)
		config &= UINT32_MAX;
	if (config != inputs[input].config || event->def.config1 || event->def.config2 ||
	    event->def.config3)
		return false;
	return !inputs[input].name || (event->name && strstr(event->name, inputs[input].name));
}

/* Whether the two counted the same part of the same work. */
static bool is_pair(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	const char *a_type = a->core_type ? a->core_type : "";
	const char *b_type = b->core_type ? b->core_type : "";

	return a->def.scope == b->def.scope && !strcmp(a_type, b_type);
}

/* The first pair of events that stands for a and b; with counts, that has values too. */
static bool find_pair(const struct recipe *recipe, const struct pmc_p_set_view *set,
		      const struct pmc_count *counts, unsigned *a, unsigned *b)
{
	for (unsigned i = 0; set && i < set->count; i++) {
		if (!is_input(&set->events[i], recipe->a) ||
		    (counts && !pmc_count_has_value(&counts[i])))
			continue;
		for (unsigned j = 0; j < set->count; j++) {
			if (!is_input(&set->events[j], recipe->b) ||
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
	if (recipes[metric].formula == CPU_PCT || recipes[metric].formula == SWITCHES_PER_S)
		return true;
	return find_pair(&recipes[metric], set, NULL, &a, &b);
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
	const struct recipe *recipe;
	uint64_t a_value, b_value;
	unsigned a, b;

	if (metric >= pmc_n_metrics)
		return false;
	recipe = &recipes[metric];
	if (recipe->formula == CPU_PCT)
		return input->has_cpu && quotient(100, input->cpu_ns, input->wall_ns, value);
	if (recipe->formula == SWITCHES_PER_S)
		return input->has_switches && quotient(1e9, input->switches, input->wall_ns, value);
	if (!input->counts || !find_pair(recipe, input->set, input->counts, &a, &b))
		return false;
	a_value = pmc_count_value(&input->counts[a]);
	b_value = pmc_count_value(&input->counts[b]);
	switch (recipe->formula) {
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
