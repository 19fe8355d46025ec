/* SPDX-License-Identifier: MIT */
/* other.c - a reading into another group's values. */
/* expect: incompatible|cannot convert|no matching function */
#include <pmc/group.h>

#define LOOP(X) X(cycles, "cycles", "", "core clock cycles")
PMC_GROUP(loop, LOOP)
#define WORK(X) X(cpu, "task-clock", "ns", "CPU time")
PMC_GROUP(work, WORK)

int mixed(struct loop *loop, struct work_values *values);

int mixed(struct loop *loop, struct work_values *values)
{
	return loop_read(loop, values);
}
