/* SPDX-License-Identifier: MIT */
/* group.c - counts events as one group, and scales them if they shared the PMU with others. */
#include <pmc/counter.h>
#include <stdio.h>

static const char *const names[] = { "task-clock", "page-faults", "minor-faults" };

int main(void)
{
	static volatile char memory[1 << 20];
	struct pmc_counter_event events[3];
	struct pmc_group_value values[3];
	struct pmc_group_times times;
	struct pmc_group *group;
	struct pmc_failure why;
	uint64_t count;

	for (int i = 0; i < 3; i++)
		if (pmc_counter_event_parse(&events[i], names[i], &why))
			return fprintf(stderr, "%s: %s\n", why.what, why.advice), 1;
	if (pmc_group_open(&group, events, 3, NULL, &why))
		return fprintf(stderr, "%s: %s\n", why.what, why.advice), 1;
	pmc_group_enable(group);
	for (size_t i = 0; i < sizeof(memory); i += 4096)
		memory[i] = 1;
	pmc_group_disable(group);
	if (pmc_group_read(group, &times, values, 3) == 0)
		for (int i = 0; i < 3; i++)
			if (pmc_group_scale(&times, &values[i], &count) == 0)
				printf("%-12s %12llu %s\n", names[i], (unsigned long long)count,
				       times.running_ns < times.enabled_ns ? "scaled" : "");
	pmc_group_close(group);
}
