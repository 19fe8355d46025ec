/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash, with its memory from an arena.
 *
 * A user of HASH_ADD* has a `struct pmc_arena *arena` in scope. Buckets that a growing table
 * leaves behind stay in the arena until it is freed (they add up to at most what is in use).
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
