/* SPDX-License-Identifier: MIT */
/* empty.c - a list without an event. */
/* expect: PMC_GROUP: the list of events is empty */
#include <pmc/group.h>

#define NOTHING(X)
PMC_GROUP(my, NOTHING)
