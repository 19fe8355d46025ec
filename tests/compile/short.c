/* SPDX-License-Identifier: MIT */
/* short.c - rows as short as they may be, a semicolon behind PMC_GROUP, and the example of
 * pmc/group.h with no other header. */
#include <pmc/group.h>

#define ROWS(X)                                                                                    \
	X(one, PMC_EVENT_TASK_CLOCK)                                                               \
	X(two, "page-faults", "faults") X(three, PMC_EVENT_PAGE_FAULTS ":u", "", "in user mode")
PMC_GROUP(rows, ROWS);

#define LOOP_EVENTS(X)                                                                             \
	X(cycles, PMC_EVENT_CYCLES)                                                                \
	X(instructions, PMC_EVENT_INSTRUCTIONS)
PMC_GROUP(loop, LOOP_EVENTS);

uint64_t example(void (*work)(void));

uint64_t example(void (*work)(void))
{
	static struct loop group;
	struct loop_values values;
	struct pmc_failure why;
	int error = loop_open(&group, 0, -1);

	if (error == 0) {
		loop_enable(&group);
		work();
		loop_disable(&group);
		error = loop_read(&group, &values);
	}
	if (error)
		loop_explain(&group, error, &why);
	loop_close(&group);
	return error ? sizeof(rows_fields) : values.instructions / values.cycles;
}
