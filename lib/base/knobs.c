/* SPDX-License-Identifier: MIT */
/* knobs.c - the rows of config.def, which the tools show; the agent does without. */
#include "lib/base/config.h"

const struct pmc_knob pmc_knobs[] = {
#define X(field, type, env, flag, letter, argument, def, values, help)                             \
	{ env, flag, letter, argument, def, values, help },
#include "lib/base/config.def"
#undef X
};
const unsigned pmc_n_knobs = sizeof(pmc_knobs) / sizeof(pmc_knobs[0]);
