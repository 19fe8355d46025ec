/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash with memory from an arena.
 *
 * HASH_ADD* needs a `struct pmc_arena *arena` in scope. The old bucket arrays of a growing table
 * stay in the arena until it is freed; together they are no larger than the current one.
 */
#ifndef PMC_CORE_BASE_HASH_H
#define PMC_CORE_BASE_HASH_H

#include "agent/core/base/arena.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes)     pmc_arena_alloc(arena, bytes)
#define uthash_free(ptr, bytes)  ((void)(ptr), (void)(bytes))
#define uthash_nonfatal_oom(elt) ((void)(elt))
#include <uthash.h>

#endif
