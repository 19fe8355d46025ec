/* SPDX-License-Identifier: MIT */
/* formula.h - the inputs and formulas of metrics.def, for those who compute and who group them. */
#pragma once

#include "lib/event/event.h"

enum pmc_input {
#define INPUT(id, type, config, name) PMC_INPUT_##id,
#include "lib/event/metrics.def"
};

enum pmc_formula_kind { PER, PCT, KI, EXCESS_PCT, CPU_PCT, SWITCHES_PER_S };

struct pmc_formula {
	enum pmc_formula_kind kind;
	enum pmc_input a, b;
};

/* One for each row of metrics.def. */
extern const struct pmc_formula pmc_formulas[];

/* Whether an event of this type, config and name counts the input. */
bool pmc_is_input(enum pmc_input input, uint32_t type, uint64_t config, const char *name);
/* Whether the two form a ratio, which is exact only if they are in one group. Formulas per 1,000
 * instructions do not count: they would tie all events to one. */
bool pmc_is_ratio(const struct pmc_event *a, const struct pmc_event *b);
