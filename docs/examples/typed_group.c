/* SPDX-License-Identifier: MIT */
/* typed_group.c - counts events by name; values.instructions would not compile here. */
#include <pmc/group.h>
#include <stdio.h>

#define EVENTS(X) X(faults, PMC_EVENT_PAGE_FAULTS) X(cpu, PMC_EVENT_TASK_CLOCK, "ns")
PMC_GROUP(work, EVENTS)
int main(void)
{
	static volatile char memory[8 << 20];
	struct work group = { 0 };
	struct work_values v;
	if (work_open(&group, 0, -1) || work_enable(&group))
		return 1;
	for (size_t i = 0; i < sizeof(memory); i += 4096)
		memory[i] = 1;
	if (work_read(&group, &v) == 0)
		printf("%.0f page faults in %.3f ms\n", (double)v.faults, (double)v.cpu / 1e6);
	work_close(&group);
}
