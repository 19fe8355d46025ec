/* SPDX-License-Identifier: MIT */
/* options.c - what events must record for call stacks. */
#include "tools/unwind/private.h"

#include <errno.h>

unsigned unwind_pages(const struct unwind *unwind)
{
	return unwind->frame_pointers ? 256 : 2048;
}

void unwind_options_stack(const struct unwind *unwind, struct pmc_open_options *options)
{
	const uint64_t registers = unwind_registers();

	options->exclude_callchain_kernel = true;
	if (unwind->frame_pointers || !registers) {
		options->sample_type |= PERF_SAMPLE_CALLCHAIN;
		return;
	}
	options->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	options->sample_regs_user = registers;
	options->sample_stack_user = UNWIND_STACK_BYTES;
}

void unwind_options_maps(struct pmc_open_options *options)
{
	options->task = true;
	options->mmap = true;
	options->mmap2 = true;
	options->build_id = true;
	options->comm = true;
	options->comm_exec = true;
	options->sample_id_all = true;
}

int unwind_open(struct pmc_counter **counter, const struct pmc_counter_event *event,
		struct pmc_open_options *options, struct pmc_failure *why)
{
	int error;

	options->read_format |= PMC_READ_FORMAT_LOST;
	error = pmc_counter_open(counter, event, options, why);
	if (error && error != -EACCES && error != -EPERM) { /* Linux before 6.0 */
		options->read_format &= ~(uint64_t)PMC_READ_FORMAT_LOST;
		error = pmc_counter_open(counter, event, options, why);
	}
	if (error && error != -EACCES && error != -EPERM && options->build_id) { /* 5.12 */
		options->build_id = false;
		error = pmc_counter_open(counter, event, options, why);
	}
	return error;
}
