/* SPDX-License-Identifier: MIT */
/* alone.c - two groups in one unit, not all of their functions used: no warning in any language. */
#include <pmc/group.h>

#define TWO(X)                                                                                     \
	X(cpu, "task-clock", "ns", "CPU time")                                                     \
	X(faults, "page-faults", "", "page faults")
PMC_GROUP(two, TWO)

#define ONE(X) X(cpu, "task-clock", "ns", "CPU time")
PMC_GROUP(one, ONE);

size_t sizes(void);

size_t sizes(void)
{
	return sizeof(struct two_values) + sizeof(struct one);
}
