/* SPDX-License-Identifier: MIT */
/* arena.c - blocks of growing size; see arena.h. */
#include "lib/base/arena.h"
#include "lib/base/out.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN	      16u
#define FIRST_BLOCK   ((size_t)64 << 10)
#define BIGGEST_BLOCK ((size_t)4 << 20)

struct pmc_arena_block {
	struct pmc_arena_block *next;
	size_t bytes;
};

void (*pmc_arena_exhausted)(void);

#define HEAD ((sizeof(struct pmc_arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1))

static void put_block(struct pmc_arena *arena, struct pmc_arena_block *block, size_t bytes)
{
	block->bytes = bytes;
	block->next = arena->head;
	arena->head = block;
	arena->used = HEAD;
	arena->room = bytes - HEAD;
}

void pmc_arena_give(struct pmc_arena *arena, void *room, size_t bytes)
{
	put_block(arena, room, bytes);
}

static bool add_block(struct pmc_arena *arena, size_t bytes)
{
	size_t next = arena->head ? arena->head->bytes * 2 : FIRST_BLOCK;
	struct pmc_arena_block *block = MAP_FAILED;

	if (next > BIGGEST_BLOCK)
		next = BIGGEST_BLOCK;
	if (next < HEAD + bytes)
		next = HEAD + bytes;
	if (bytes <= SIZE_MAX / 2)
		block = mmap(NULL, next, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (block == MAP_FAILED) {
		if (pmc_arena_exhausted)
			pmc_arena_exhausted();
		arena->failed = true;
		return false;
	}
	put_block(arena, block, next);
	return true;
}

void *pmc_arena_alloc(struct pmc_arena *arena, size_t bytes)
{
	void *p;

	if (bytes <= SIZE_MAX / 2)
		bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if ((!arena->head || arena->room < bytes) && !add_block(arena, bytes))
		return NULL;
	p = (char *)arena->head + arena->used;
	arena->used += bytes;
	arena->room -= bytes;
	return p;
}

void pmc_arena_shrink(struct pmc_arena *arena, void *last, size_t bytes)
{
	const size_t end = (size_t)((char *)last - (char *)arena->head) +
			   ((bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1));

	arena->room += arena->used - end;
	arena->used = end;
}

char *pmc_arena_strndup(struct pmc_arena *arena, const char *text, size_t len)
{
	char *copy = pmc_arena_alloc(arena, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

char *pmc_arena_strdup(struct pmc_arena *arena, const char *text)
{
	return pmc_arena_strndup(arena, text, strlen(text));
}

char *pmc_arena_format(struct pmc_arena *arena, const char *format, ...)
{
	struct pmc_out out = PMC_OUT_MEM(1024);
	va_list args;

	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	return pmc_arena_strndup(arena, out.buf, out.len);
}

void *pmc_arena_grow(struct pmc_arena *arena, void *list, size_t n, size_t *room, size_t item_bytes)
{
	const size_t more = *room ? 2 * *room : 16;
	void *moved;

	if (n < *room)
		return list;
	moved = pmc_arena_alloc(arena, more * item_bytes);
	if (!moved)
		return NULL;
	if (n)
		memcpy(moved, list, n * item_bytes);
	*room = more;
	return moved;
}

void pmc_arena_free(struct pmc_arena *arena)
{
	struct pmc_arena_block *block = arena->head;

	while (block) {
		struct pmc_arena_block *next = block->next;

		munmap(block, block->bytes);
		block = next;
	}
	memset(arena, 0, sizeof(*arena));
}
