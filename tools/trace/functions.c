/* SPDX-License-Identifier: MIT */
/* functions.c - the kernel's functions, from /proc/kallsyms. */
#include "tools/trace/trace.h"

#include <stdio.h>
#include <string.h>
#include <traceevent/event-parse.h>

static struct tep_handle *read_functions(void)
{
	struct tep_handle *functions = tep_alloc();
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[48], type;
	unsigned long long start;

	while (functions && file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %47s", &start, &type, name) == 3 && start &&
		    strchr("tTwW", type))
			(void)tep_register_function(functions, name, start, NULL);
	if (file)
		fclose(file);
	return functions;
}

const char *trace_function_at(uint64_t address, uint64_t *start)
{
	static struct tep_handle *functions; /* for the rest of the process */

	functions = functions ? functions : read_functions();
	if (functions && start)
		*start = tep_find_function_address(functions, address);
	return functions ? tep_find_function(functions, address) : NULL;
}
