/* SPDX-License-Identifier: MIT */
/* functions.h - names of the kernel's functions. Private to this folder. */
#ifndef PMC_TOOLS_TRACE_FUNCTIONS_H
#define PMC_TOOLS_TRACE_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct trace_function {
	uint64_t start;
	char name[48]; /* cut to fit */
};

/* All zero: none. */
struct trace_functions {
	struct trace_function *list; /* by address */
	size_t n, room;
};

/* From /proc/kallsyms; none if addresses are hidden (kernel.kptr_restrict). */
void trace_functions_read(struct trace_functions *functions);
/* The last one that starts at or below the address; NULL: none. */
struct trace_function *trace_function_at(const struct trace_functions *functions, uint64_t address);
void trace_functions_free(struct trace_functions *functions);

#endif
