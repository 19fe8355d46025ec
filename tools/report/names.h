/* SPDX-License-Identifier: MIT */
/* names.h - functions of addresses, as rows have them. Private to this folder. */
#ifndef PMC_TOOLS_REPORT_NAMES_H
#define PMC_TOOLS_REPORT_NAMES_H

#include "agent/core/base/hash.h"
#include "tools/report/samples.h"

/* A function, or a line of one, in which samples can be. Equal ones are one. */
struct spot {
	const char *function, *module, *file; /* as in struct pmc_sample_row */
	unsigned line;
	uint64_t index; /* from 0, in the order of first use */
	UT_hash_handle hh;
};

/* What an address stands for: at least one, the innermost inlined function first. */
struct spots {
	struct spot **list;
	unsigned n;
};

/* The spots of a frame, by function or by line. NULL: no memory. */
const struct spots *names_of_frame(struct report_names *names, const struct pmc_p_process *process,
				   const struct pmc_p_frame *frame, bool lines);
/* Whether frame i of a stack is one of the agent's around main() or a start routine, which says
 * nothing about the program. The innermost frame is the agent's own cost. */
bool names_skip(const struct pmc_p_stack *stack, unsigned i);
/* Whether it is one of a wait in the agent, as when it writes a row. */
bool names_agent_waits(const struct pmc_p_stack *stack);
/* A spot that is no function, such as "(no stack)". NULL: no memory. */
struct spot *names_word(struct report_names *names, const char *word);

#endif
