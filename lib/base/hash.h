/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash with memory from an arena and a keyed hash.
 *
 * HASH_ADD* needs a `struct pmc_arena *arena` in scope. The old bucket arrays of a growing table
 * stay in the arena until it is freed; together they are no larger than the current one.
 *
 * Keys come from files and from other processes, and those for an unkeyed hash function can be
 * chosen to share a bucket: SipHash-1-3 with a key of this process, as in the standard libraries of
 * Rust and Python. Async-signal-safe.
 */
#pragma once

#include "lib/base/arena.h"

#include <stdint.h>
#include <string.h>
#ifndef __APPLE__
#include <sys/auxv.h>
#endif

static inline uint64_t pmc_hash_turn(uint64_t word, unsigned by)
{
	return word << by | word >> (64 - by);
}

static inline void pmc_hash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = pmc_hash_turn(v[1], 13) ^ v[0];
	v[0] = pmc_hash_turn(v[0], 32);
	v[2] += v[3];
	v[3] = pmc_hash_turn(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = pmc_hash_turn(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = pmc_hash_turn(v[1], 17) ^ v[2];
	v[2] = pmc_hash_turn(v[2], 32);
}

static inline uint64_t pmc_hash_sip(const uint64_t key[2], const void *bytes, size_t len)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
			  key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u };
	const unsigned char *at = bytes;
	uint64_t word, last = (uint64_t)len << 56;

	for (; len >= 8; len -= 8, at += 8) {
		memcpy(&word, at, 8);
		v[3] ^= word;
		pmc_hash_round(v);
		v[0] ^= word;
	}
	while (len--)
		last |= (uint64_t)at[len] << (8 * len);
	v[3] ^= last;
	pmc_hash_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		pmc_hash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* 16 random bytes of this process, without a system call; NULL: there are none. */
#ifdef __APPLE__
const void *pmc_process_random(void); /* darwin/here.c */
#else
static inline const void *pmc_process_random(void)
{
	return (const void *)getauxval(AT_RANDOM);
}
#endif

static inline uint64_t pmc_hash(const void *bytes, size_t len)
{
	uint64_t key[2] = { 0, 0 };
	const void *random = pmc_process_random();

	if (random)
		memcpy(key, random, sizeof(key));
	return pmc_hash_sip(key, bytes, len);
}

#define HASH_NONFATAL_OOM	      1
#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)pmc_hash(key, len))
#define uthash_malloc(bytes)	      pmc_arena_alloc(arena, bytes)
#define uthash_free(ptr, bytes)	      ((void)(ptr), (void)(bytes))
#define uthash_nonfatal_oom(elt)      ((void)(elt))
#include <uthash.h>

/* The item whose member `field` is *key; if the table has none, a new one that is zero but for it.
 */
#define HASH_ENTRY(head, field, key, item)                                                         \
	do {                                                                                       \
		HASH_FIND(hh, head, key, sizeof((item)->field), item);                             \
		if (!(item)) {                                                                     \
			(item) = pmc_arena_alloc(arena, sizeof(*(item)));                          \
			memcpy(&(item)->field, key, sizeof((item)->field));                        \
			HASH_ADD(hh, head, field, sizeof((item)->field), item);                    \
		}                                                                                  \
	} while (0)
