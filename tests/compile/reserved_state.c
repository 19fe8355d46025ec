/* SPDX-License-Identifier: MIT */
/* reserved_state.c - a field called like the group's state. */
/* expect: PMC_GROUP: a field is named state, time_enabled_ns or time_running_ns */
#include <pmc/group.h>

#define LOOP(X) X(cycles, PMC_EVENT_CYCLES) X(state, PMC_EVENT_INSTRUCTIONS)
PMC_GROUP(loop, LOOP)
