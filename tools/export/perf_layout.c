/* SPDX-License-Identifier: MIT */
/* perf_layout.c - addresses of modules and numbers of processes in perf.data files. */
#include "tools/export/perf_layout.h"

#include <errno.h>

/* Addresses of code in no file are below, as a dump has 48 bits of them. */
#define MODULES_START	 (UINT64_C(1) << 48)
#define MODULES_END	 (UINT64_C(1) << 62)
#define FILE_OFFSET_MOST (UINT64_C(1) << 47)
#define PAGE_BYTES	 UINT64_C(65536)

/* Linux has no PID from here on. */
#define NUMBERS_OF_SPACE  4194304u
#define NUMBER_OF_UNKNOWN (NUMBERS_OF_SPACE - 1)

/* perf looks for symbols by their offset in the file. Where the file is not known, most have the
 * same numbers as addresses. */
static uint64_t file_offset(const struct perf_layout *layout, const struct pmc_p_stack *stack,
			    unsigned i)
{
	const struct pmc_p_frame *frame = &stack->frames[i];
	uint64_t offset;

	if (!names_file_offset(layout->export->names, stack->process, frame, &offset))
		offset = frame->address;
	return offset < FILE_OFFSET_MOST ? offset : FILE_OFFSET_MOST - 1;
}

static struct perf_module *find_module(const struct perf_layout *layout,
				       const struct pmc_p_module *module)
{
	struct perf_module *found;

	HASH_FIND_PTR(layout->modules, &module, found);
	return found;
}

static int measure(struct perf_layout *layout, const struct pmc_p_stack *stack)
{
	struct pmc_arena *arena = &layout->export->arena;

	for (unsigned i = 0; i < stack->depth; i++) {
		const struct pmc_p_module *of = stack->frames[i].module;
		struct perf_module *module = of ? find_module(layout, of) : NULL;
		uint64_t bytes;

		if (!of || names_skip(stack, i))
			continue;
		if (!module) {
			module = pmc_arena_alloc(arena, sizeof(*module));
			if (!module)
				return -ENOMEM;
			module->module = of;
			HASH_ADD_PTR(layout->modules, module, module);
		}
		bytes = (file_offset(layout, stack, i) / PAGE_BYTES + 1) * PAGE_BYTES;
		module->bytes = bytes > module->bytes ? bytes : module->bytes;
	}
	return 0;
}

int perf_layout_init(struct perf_layout *layout, struct export *export)
{
	const struct pmc_profile *profile = export->profile;
	uint64_t next = MODULES_START;
	int error = 0;

	layout->export = export;
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *of = profile->samples[i];

		if (export_event_of(export, of) < 0)
			continue;
		for (uint64_t k = 0; !error && k < of->n; k++)
			if (of->list[k].stack)
				error = measure(layout, of->list[k].stack);
	}
	for (struct perf_module *at = layout->modules; at; at = at->hh.next) {
		if (at->bytes > MODULES_END - next)
			continue;
		at->start = next;
		next += at->bytes;
	}
	return error;
}

struct perf_module *perf_layout_module(const struct perf_layout *layout,
				       const struct pmc_p_frame *frame)
{
	struct perf_module *module = frame->module ? find_module(layout, frame->module) : NULL;

	return module && module->start ? module : NULL;
}

uint64_t perf_layout_address(const struct perf_layout *layout, const struct pmc_p_stack *stack,
			     unsigned i)
{
	const struct perf_module *module = perf_layout_module(layout, &stack->frames[i]);

	return module ? module->start + file_offset(layout, stack, i) : stack->frames[i].address;
}

int perf_layout_space(struct perf_layout *layout, const struct pmc_p_process *process)
{
	const struct perf_space space = { process->host, process->boot_id,
					  process->fixed.pid_namespace };

	for (unsigned i = 0; i < layout->n_spaces; i++) {
		const struct perf_space *known = &layout->spaces[i];

		if (known->pid_namespace == space.pid_namespace &&
		    !strcmp(known->host, space.host) && !strcmp(known->boot_id, space.boot_id))
			return (int)i;
	}
	if (layout->n_spaces == PERF_SPACES_MOST)
		return -1;
	layout->spaces[layout->n_spaces] = space;
	return (int)layout->n_spaces++;
}

uint32_t perf_layout_number(unsigned space, uint32_t number)
{
	number %= NUMBERS_OF_SPACE;
	return space * NUMBERS_OF_SPACE + (number ? number : NUMBER_OF_UNKNOWN);
}
