/* SPDX-License-Identifier: MIT */
/* samples_made.h - modules, stacks and samples for tests, as frames in the dump of
 * tests/unit/made_dump.h. */
#ifndef PMC_TESTS_SAMPLES_MADE_H
#define PMC_TESTS_SAMPLES_MADE_H

#include "tests/unit/made_dump.h"

static inline uint64_t made_module(const char *path, const char *build_id)
{
	return pmc_build_module(&made, path, build_id, strlen(build_id));
}

/* A frame of a stack: the n-th module of the list. */
#define MADE_FRAME(module, address) ((uint64_t)(module) << 48 | (address))
#define MADE_RAW(address)	    MADE_FRAME(PMC_NO_MODULE, address)

struct made_stack {
	uint32_t id;
	uint16_t flags;
	uint16_t depth;
	uint64_t frames[8]; /* the innermost first */
};

static inline void made_stacks(unsigned process, const uint64_t *modules, unsigned n_modules,
			       const struct made_stack *stacks, unsigned n)
{
	const struct pmc_stacks_fixed fixed = { .n_modules = n_modules, .n_stacks = n };

	pmc_frame_begin(&made, PMC_FRAME_STACKS, made_identity(process), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_bytes(&made, modules, n_modules * sizeof(*modules));
	for (unsigned i = 0; i < n; i++) {
		const struct pmc_stack_def def = { .id = stacks[i].id,
						   .depth = stacks[i].depth,
						   .flags = stacks[i].flags };

		pmc_put_stack(&made, &def, stacks[i].frames);
	}
	pmc_frame_end(&made);
}

/* Of the next samples; NULL: none. */
static const struct pmc_waker *made_waker;

/* The event's own count is `raw`, of part 0. */
static inline void made_samples(unsigned process, struct pmc_samples_fixed fixed, uint64_t raw,
				const struct pmc_sample *list, unsigned n)
{
	const struct made_value value = {
		.enabled = 1000, .running = 1000, .n = 1, .values = { raw }
	};

	fixed.n = n;
	fixed.n_groups = fixed.part == 0;
	pmc_frame_begin(&made, PMC_FRAME_SAMPLES, made_identity(process), ++made_snapshot, &fixed,
			sizeof(fixed));
	made_readings(&value, fixed.n_groups);
	pmc_frame_bytes(&made, list, n * sizeof(*list));
	if (made_waker)
		pmc_frame_bytes(&made, made_waker, sizeof(*made_waker));
	pmc_frame_end(&made);
}

#endif
