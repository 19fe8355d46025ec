/* SPDX-License-Identifier: MIT */
/* stacks.c - the functions of a stack, without frames that say nothing about the program. */
#include "tools/report/names.h"
#include "tools/cli/list.h"

#include <errno.h>

int spot_list_add(struct spot_list *spots, struct spot *spot)
{
	struct spot **list = tool_list_grow(spots->list, spots->n, &spots->room, sizeof(*list));

	if (!list || !spot)
		return -ENOMEM;
	spots->list = list;
	spots->list[spots->n++] = spot;
	return 0;
}

int names_of_stack(struct report_names *names, const struct pmc_p_stack *stack, enum names_by by,
		   bool mark, struct spot_list *to)
{
	const bool agent = stack && names_of_agent(stack);
	const unsigned guessed = PMC_STACK_FP | PMC_STACK_BROKEN;
	const struct spot *nowhere = names_word(names, "(code in no file)");
	int err = 0;

	to->n = 0;
	if (agent)
		err = spot_list_add(to, names_word(names, "(agent)"));
	for (unsigned i = 0; stack && !agent && !err && i < stack->depth; i++) {
		const struct spots *spots;

		if (names_skip(stack, i))
			continue;
		spots = names_of_frame(names, stack->process, &stack->frames[i], by);
		err = spots ? 0 : -ENOMEM;
		for (unsigned k = 0; !err && k < spots->n; k++)
			err = spot_list_add(to, spots->list[k]);
	}
	/* Callers that no perf map names may be any words of the stack. */
	while (!err && to->n > 1 && (stack->flags & guessed) == guessed &&
	       to->list[to->n - 1] == nowhere)
		to->n--;
	if (!err && !to->n)
		err = spot_list_add(to, names_word(names, "(no stack)"));
	else if (!err && mark && !agent && stack->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		err = spot_list_add(to, names_word(names, "(incomplete stack)"));
	return err;
}
