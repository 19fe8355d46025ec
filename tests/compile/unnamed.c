/* SPDX-License-Identifier: MIT */
/* unnamed.c - a row without an event. */
/* expect: PMC_GROUP: a row names no event */
#include <pmc/group.h>

#define LOOP(X)                                                                                    \
	X(cycles, "cycles", "", "core clock cycles")                                               \
	X(other, "", "", "what?")
PMC_GROUP(loop, LOOP)
