/* SPDX-License-Identifier: MIT */
/*
 * typed_group.c - counts events of one function, by name and in a loop over all of them.
 *
 * 	cc -std=c11 typed_group.c -lpmc -ldl -pthread
 *
 * Software events, so it runs everywhere; a machine with a PMU can have X(cycles, "cycles", ...)
 * and X(instructions, "instructions", ...) in the same list.
 */
#include <pmc/counter.h>
#include <pmc/group.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_EVENTS(X)                                                                             \
	X(cpu, "task-clock", "ns", "CPU time")                                                     \
	X(faults, "page-faults", "", "pages touched for the first time")                           \
	X(switches, "context-switches", "", "times another thread got the CPU")
PMC_GROUP(work, WORK_EVENTS)

static void do_work(void)
{
	const size_t bytes = (size_t)8 << 20;
	char *memory = malloc(bytes);

	if (memory)
		memset(memory, 1, bytes);
	/* Prevents the compiler from dropping the work. */
	__asm__ volatile("" : : "r"(memory) : "memory");
	free(memory);
}

int main(void)
{
	struct work_values values;
	struct pmc_failure failure;
	struct work group;
	int error = work_open(&group, 0, -1);

	if (!error)
		error = work_enable(&group);
	if (!error) {
		do_work();
		error = work_disable(&group);
	}
	if (!error)
		error = work_read(&group, &values);
	if (error) {
		work_explain(&group, error, &failure);
		fprintf(stderr, "typed_group: %s: %s (%s)\n", failure.what, strerror(-error),
			failure.advice);
		work_close(&group);
		return 1;
	}
	work_close(&group);

	/* values.instructions would not compile: no row of WORK_EVENTS names it. */
	printf("%llu page faults in %.3f ms of CPU time\n", (unsigned long long)values.faults,
	       (double)values.cpu / 1e6);
	for (unsigned i = 0; i < work_n_fields; i++)
		printf("%-10s %12llu %-3s %s\n", work_fields[i].name,
		       (unsigned long long)work_value(&values, i), work_fields[i].unit,
		       work_fields[i].doc);
	return 0;
}
