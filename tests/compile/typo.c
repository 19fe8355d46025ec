/* SPDX-License-Identifier: MIT */
/* typo.c - a standard event, misspelt. */
/* expect: PMC_EVENT_CYCELS */
#include <pmc/group.h>

#define LOOP(X) X(cycles, PMC_EVENT_CYCELS)
PMC_GROUP(loop, LOOP)
