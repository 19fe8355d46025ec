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

/* Zeroed memory, aligned to 16; NULL and `failed` set if there is none. */
void *pmc_arena_alloc(struct pmc_arena *arena, size_t bytes);
/* A NUL-terminated copy of len bytes. */
char *pmc_arena_strndup(struct pmc_arena *arena, const char *text, size_t len);
char *pmc_arena_strdup(struct pmc_arena *arena, const char *text);
/* Frees everything. May be called twice. */
void pmc_arena_free(struct pmc_arena *arena);
