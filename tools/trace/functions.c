/* SPDX-License-Identifier: MIT */
/* functions.c - the kernel's functions, from /proc/kallsyms. */
#include "tools/trace/functions.h"
#include "tools/cli/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
	const struct trace_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void trace_functions_read(struct trace_functions *functions)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[48], type;
	struct trace_function *list;
	unsigned long long start;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %c %47s", &start, &type, name) != 3 || !start ||
		    !strchr("tTwW", type))
			continue;
		list = tool_list_grow(functions->list, functions->n, &functions->room,
				      sizeof(*list));
		if (!list)
			break;
		functions->list = list;
		functions->list[functions->n].start = start;
		strcpy(functions->list[functions->n++].name, name);
	}
	if (file)
		fclose(file);
	if (functions->n)
		qsort(functions->list, functions->n, sizeof(*functions->list), by_start);
}

struct trace_function *trace_function_at(const struct trace_functions *functions, uint64_t address)
{
	size_t low = 0, high = functions->n;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (functions->list[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return functions->n && functions->list[low].start <= address ? &functions->list[low] : NULL;
}

void trace_functions_free(struct trace_functions *functions)
{
	free(functions->list);
	*functions = (struct trace_functions){ .n = 0 };
}
