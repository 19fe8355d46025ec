/* SPDX-License-Identifier: MIT */
/* field.c - a field that no row names. */
/* expect: no member named .branches. */
#include <pmc/group.h>

#define LOOP(X) X(cycles, "cycles", "", "core clock cycles")
PMC_GROUP(loop, LOOP)

uint64_t branches_of(const struct loop_values *values);

uint64_t branches_of(const struct loop_values *values)
{
	return values->branches;
}
