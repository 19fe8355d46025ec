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
	/* Once the main thread has ended the process's ID does not lead to its memory. */
	memory->pid = agent_self ? (pid_t)agent_self->tid : agent.pid;
	memset(memory->blocks, 0, sizeof(memory->blocks));
	memory->next = 0;
	memory->budget = BUDGET;
}

static bool in_stack(const struct sample_memory *memory, uintptr_t at)
{
	const uintptr_t low = memory->stack - BELOW;

	return at >= low && at - low < SAMPLE_STACK_MOST;
}

/* Copies the block at that address, of the stack also those above it: their frames are next. The
 * call costs more than the bytes. */
static const uint8_t *copy(struct sample_memory *memory, uintptr_t block)
{
	const unsigned n = in_stack(memory, block) ? SAMPLE_AHEAD : 1;
	const unsigned first = (memory->next + n - 1) / n * n % SAMPLE_BLOCKS;
	struct iovec to = { memory->copies[first], n * SAMPLE_BLOCK };
	struct iovec from = { (void *)block, n * SAMPLE_BLOCK };
	/* Fewer bytes where a page cannot be read. */
	long bytes = pmc_sys6(SYS_process_vm_readv, memory->pid, &to, 1, &from, 1, 0);

	memory->next = first + n;
	for (unsigned i = 0; i < n; i++)
		memory->blocks[first + i] =
			bytes >= (long)((i + 1) * SAMPLE_BLOCK) ? block + i * SAMPLE_BLOCK : 0;
	return memory->blocks[first] ? memory->copies[first] : NULL;
}

/* A copy of the block at that address; NULL: it cannot be read. */
static const uint8_t *block_at(struct sample_memory *memory, uintptr_t block)
{
	for (unsigned i = 0; i < SAMPLE_BLOCKS; i++)
		if (memory->blocks[i] == block)
			return memory->copies[i];
	return block && sample_reads ? copy(memory, block) : NULL;
}

/* Whether it is in a module, perhaps another one than the last. */
static bool in_module(struct sample_memory *memory, uintptr_t at, size_t n)
{
	struct agent_dl_object object;

	if (at >= memory->from && at + n <= memory->to)
		return true;
	if (!sample_object(at, &object))
		return false;
	sample_memory_module(memory, (uintptr_t)object.map_start, (uintptr_t)object.map_end);
	return at + n <= memory->to;
}

static bool permitted(struct sample_memory *memory, uintptr_t at, size_t n)
{
	if (at + n < at || !memory->budget--)
		return false;
	return in_stack(memory, at) || in_module(memory, at, n);
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
