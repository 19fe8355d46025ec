/* SPDX-License-Identifier: MIT */
/* arena.h - memory from mmap that is freed all at once; never the host's malloc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pmc_arena_block;

/* All zero is an empty arena. Not thread-safe: one owner. */
struct pmc_arena {
	struct pmc_arena_block *head;
	size_t used, room;
	bool failed; /* an allocation has failed */
};

/* Gives an empty arena its first memory, zeroed and aligned to 16; then pmc_arena_free() must not
 * be called. */
void pmc_arena_give(struct pmc_arena *arena, void *room, size_t bytes);
/* Zeroed memory, aligned to 16; NULL and `failed` set if there is none. */
void *pmc_arena_alloc(struct pmc_arena *arena, size_t bytes);
/* Gives back the end, still zero, of what was allocated last. */
void pmc_arena_shrink(struct pmc_arena *arena, void *last, size_t bytes);
/* A NUL-terminated copy of len bytes. */
char *pmc_arena_strndup(struct pmc_arena *arena, const char *text, size_t len);
char *pmc_arena_strdup(struct pmc_arena *arena, const char *text);
/* By pmc_outf(), of at most 1,023 bytes. */
char *pmc_arena_format(struct pmc_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A list with room for item n: the list itself, or a copy of twice the size. The old ones stay in
 * the arena; together they are no larger than the new one. NULL: no memory. */
void *pmc_arena_grow(struct pmc_arena *arena, void *list, size_t n, size_t *room,
		     size_t item_bytes);
/* Called before an allocation fails, if it is set. pmctl ends there: its arenas never fail. */
extern void (*pmc_arena_exhausted)(void);
/* Frees everything. May be called twice. */
void pmc_arena_free(struct pmc_arena *arena);
