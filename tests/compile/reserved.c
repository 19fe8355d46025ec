/* SPDX-License-Identifier: MIT */
/* reserved.c - a field that every group has. */
/* expect: PMC_GROUP: a field is named state, time_enabled_ns or time_running_ns */
#include <pmc/group.h>

#define LOOP(X) X(time_running_ns, "cycles", "", "core clock cycles")
PMC_GROUP(loop, LOOP)
