/* SPDX-License-Identifier: MIT */
/*
 * sample_memory.c - reads memory that may not be there.
 *
 * Another thread may unmap or protect memory at any time, so nothing is tested and then read: the
 * kernel copies, by process_vm_readv on the own process, which fails where a load would fault. It
 * copies blocks, some of which are kept for the rest of the walk. Reads are confined to the stack,
 * upwards from the current frame, and to the module that is examined.
 */
#include "agent/sample/private.h"

#include "agent/base/seccomp_probe.h"

#include <string.h>
#include <sys/uio.h>

#include "agent/base/poison.h"

/* The red zone below the stack pointer, and more. */
#define BELOW ((uintptr_t)4096)
/* Words read for one stack: some 20 for each frame, and more where a table is searched. */
#define BUDGET 400000u

void sample_memory_init(struct sample_memory *memory, uintptr_t stack)
{
	memory->stack = stack;
	memory->from = memory->to = 0;
	memory->pid = pmc_sys1(SYS_getpid, 0);
	memset(memory->blocks, 0, sizeof(memory->blocks));
	memory->next = 0;
	memory->budget = BUDGET;
}

/* A copy of the block at that address; NULL: it cannot be read. */
static const uint8_t *block_at(struct sample_memory *memory, uintptr_t block)
{
	struct iovec to = { NULL, SAMPLE_BLOCK }, from = { (void *)block, SAMPLE_BLOCK };
	unsigned i;

	for (i = 0; i < SAMPLE_BLOCKS; i++)
		if (memory->blocks[i] == block)
			return memory->copies[i];
	if (!block || !agent_read_allowed())
		return NULL;
	i = memory->next++ % SAMPLE_BLOCKS;
	memory->blocks[i] = 0;
	to.iov_base = memory->copies[i];
	if (pmc_sys6(SYS_process_vm_readv, memory->pid, &to, 1, &from, 1, 0) != SAMPLE_BLOCK)
		return NULL;
	memory->blocks[i] = block;
	return memory->copies[i];
}

/* Whether it is in a module, perhaps another one than the last. */
static bool in_module(struct sample_memory *memory, uintptr_t at, size_t n)
{
	struct sample_object object;

	if (at >= memory->from && at + n <= memory->to)
		return true;
	if (!sample_object(at, &object))
		return false;
	sample_memory_module(memory, (uintptr_t)object.map_start, (uintptr_t)object.map_end);
	return at + n <= memory->to;
}

static bool permitted(struct sample_memory *memory, uintptr_t at, size_t n)
{
	const uintptr_t low = memory->stack - BELOW;

	if (at + n < at || !memory->budget--)
		return false;
	return (at >= low && at - low < SAMPLE_STACK_MOST) || in_module(memory, at, n);
}

bool sample_bytes(struct sample_memory *memory, uintptr_t at, void *to, size_t n)
{
	bool all = permitted(memory, at, n);

	for (size_t done = 0, part; all && done < n; done += part) {
		const size_t offset = (at + done) % SAMPLE_BLOCK;
		const uint8_t *block = block_at(memory, at + done - offset);

		part = n - done < SAMPLE_BLOCK - offset ? n - done : SAMPLE_BLOCK - offset;
		all = block != NULL;
		if (all)
			memcpy((uint8_t *)to + done, block + offset, part);
	}
	if (!all)
		memset(to, 0, n);
	return all;
}

bool sample_word(struct sample_memory *memory, uintptr_t at, uint64_t *word)
{
	return sample_bytes(memory, at, word, sizeof(*word));
}
