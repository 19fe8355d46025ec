/* SPDX-License-Identifier: MIT */
/*
 * sample_memory.c - reads memory that may not be there.
 *
 * Reads are confined to the stack, upwards from the current frame, and to the module that is
 * examined: other threads do not unmap these meanwhile. Each page is tested once per stack. The
 * test is a call of rt_sigprocmask that always fails: the kernel copies the set (EFAULT) before it
 * looks at `how` (EINVAL); seccomp filters permit it, since every program needs it.
 */
#include "agent/sample/private.h"

#include <errno.h>
#include <string.h>

#include "agent/base/poison.h"

#define PAGE ((uintptr_t)4096) /* pages may be larger, not smaller */
/* Words read for one stack: some 20 for each frame, and more where a table is searched. */
#define BUDGET 400000u

void sample_memory_init(struct sample_memory *memory, uintptr_t stack)
{
	memset(memory, 0, sizeof(*memory));
	memory->stack = stack;
	memory->budget = BUDGET;
}

static bool page_is_readable(struct sample_memory *memory, uintptr_t page)
{
	for (unsigned i = 0; i < sizeof(memory->pages) / sizeof(memory->pages[0]); i++)
		if (memory->pages[i] == page)
			return true;
	if (pmc_sys4(SYS_rt_sigprocmask, -1, page, NULL, sizeof(uint64_t)) == -EFAULT)
		return false;
	memory->pages[memory->next++ % 8] = page;
	return true;
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

static bool readable(struct sample_memory *memory, uintptr_t at, size_t n)
{
	const uintptr_t low = memory->stack - PAGE;

	if (at + n < at || !memory->budget--)
		return false;
	if (!(at >= low && at - low < SAMPLE_STACK_MOST) && !in_module(memory, at, n))
		return false;
	return page_is_readable(memory, at & ~(PAGE - 1)) &&
	       page_is_readable(memory, (at + n - 1) & ~(PAGE - 1));
}

bool sample_bytes(struct sample_memory *memory, uintptr_t at, void *to, size_t n)
{
	if (n > PAGE || !readable(memory, at, n)) {
		memset(to, 0, n);
		return false;
	}
	memcpy(to, (const void *)at, n);
	return true;
}

bool sample_word(struct sample_memory *memory, uintptr_t at, uint64_t *word)
{
	return sample_bytes(memory, at, word, sizeof(*word));
}
