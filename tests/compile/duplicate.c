/* SPDX-License-Identifier: MIT */
/* duplicate.c - a field named twice. */
/* expect: (duplicate member|redeclaration of).*cycles */
#include <pmc/group.h>

#define LOOP(X)                                                                                    \
	X(cycles, "cycles", "", "core clock cycles")                                               \
	X(cycles, "instructions", "", "retired instructions")
PMC_GROUP(loop, LOOP)
