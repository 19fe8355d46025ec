/* SPDX-License-Identifier: MIT */
/*
 * registry.h - a slot for every live thread; memory is reused, so it stays flat.
 *
 * A slot belongs to its thread. Readers (snapshots) pin it; the owner never waits for them: if
 * one still reads when the thread ends, it closes the descriptors and frees the slot in the
 * owner's place. All functions are async-signal-safe and lock-free.
 */
#ifndef PMC_CORE_LIVE_REGISTRY_H
#define PMC_CORE_LIVE_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The word: phase in the high half, number of readers in the low half. */
enum slot_phase {
	SLOT_FREE = 0,
	SLOT_RESERVED = 1u << 16, /* the creator fills it; its thread has not begun */
	SLOT_LIVE = 2u << 16,
	SLOT_CLOSING = 3u << 16, /* ended: nobody may pin it any more */
};

/* In a slot's flags, beyond PMC_THREAD_*: its groups count user mode only, though the plan says
 * otherwise (the process gave up its privilege). */
#define SLOT_USER_ONLY 0x100u

struct slot {
	_Atomic uint32_t word;
	_Atomic uint32_t next_free; /* index + 1 */
	_Atomic uint64_t regions;   /* address of its struct region_area; 0: none. Stays with it */
	uint32_t tid;
	uint32_t reason; /* why a group is not open */
	uint16_t flags;	 /* PMC_THREAD_* */
	uint8_t n_fds;
	uint8_t reserved[5];
	uint64_t seq;
	uint64_t start_ns;
	uint64_t created_by;
	uint64_t site;
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} start;
	void *arg;
	char name[16];
	/* What the last snapshot of a sleeping thread saw; see row.c. For whoever gets the lock at
	 * once. */
	_Atomic uint32_t seen_lock;
	uint32_t seen_switched;
	uint64_t seen_enabled_ns, seen_cpu_ns;
	/* A set of groups: ids of the leaders; what to subtract (see set_base); the descriptors as
	 * int. */
	uint64_t data[];
};
/* Its creator and its thread each take the lines of it from the other's cache. */
_Static_assert(sizeof(struct slot) <= 128, "a slot without groups has two cache lines");

struct registry {
	char *slots;
	size_t slot_bytes, map_bytes, set_words;
	unsigned n_groups, n_fds;
	uint32_t capacity;
	_Atomic uint32_t high; /* slots ever used */
	/* From the lowest bit: index + 1 of the first free slot that was used before; how many are
	 * RESERVED, LIVE or CLOSING; a tag. */
	_Atomic uint64_t vacant;
	/* Threads that ended: still in /proc for a moment, which is long where many wait for a CPU.
	 * Each has its place by its tid, as the kernel gives them out in turn: tid | tag << 32. */
	_Atomic uint64_t *recent;
};

#define SLOT_INDEX_BITS 18
#define SLOT_INDEX_MASK ((UINT64_C(1) << SLOT_INDEX_BITS) - 1)
#define SLOT_ONE_TAKEN	(UINT64_C(1) << SLOT_INDEX_BITS)
#define SLOT_ONE_TAG	(UINT64_C(1) << 2 * SLOT_INDEX_BITS)
#define SLOT_TAG_MASK	(UINT64_MAX >> 2 * SLOT_INDEX_BITS)
/* Of registry.recent; so many slots were taken or given back since: lately. */
#define REGISTRY_RECENT 16384u
#define REGISTRY_LATELY UINT64_C(65536)

/* 0 or -errno; the capacity is below 2^SLOT_INDEX_BITS. */
int registry_init(struct registry *registry, unsigned n_groups, unsigned n_fds, uint32_t capacity);
void registry_fini(struct registry *registry);

/* How many slots are taken: RESERVED, LIVE or CLOSING. */
static inline uint32_t registry_taken(const struct registry *registry)
{
	return (uint32_t)(atomic_load(&registry->vacant) >> SLOT_INDEX_BITS & SLOT_INDEX_MASK);
}

/* A RESERVED slot, zeroed, fds -1; NULL when all are in use. */
struct slot *registry_alloc(struct registry *registry);
/* RESERVED to LIVE, by the slot's thread. */
void registry_live(struct slot *slot);
/* LIVE to CLOSING: no reader may pin it from here on. */
void registry_close(struct slot *slot);
/* Whether the slot is CLOSING and nobody reads it any more, nor will. */
static inline bool registry_unread(const struct slot *slot)
{
	return atomic_load_explicit(&slot->word, memory_order_acquire) == SLOT_CLOSING;
}
/* Closes such a slot's descriptors now. */
void registry_close_fds(struct registry *registry, struct slot *slot);
/* Done with a CLOSING (or RESERVED) slot: closes its descriptors and frees it, or leaves that to
 * the last reader. Returns whether the caller did it. */
bool registry_release(struct registry *registry, struct slot *slot);

/* Pins a LIVE slot for reading; false if it is none. */
bool registry_pin(struct slot *slot);
void registry_unpin(struct registry *registry, struct slot *slot);

/* For a slot whose thread is gone without a word (an adopted one): its only reader, who has it
 * pinned, ends it; unpin then frees it. With other readers nothing happens. */
void registry_retire(struct slot *slot);

/* ---- a set of groups ---- */
static inline uint64_t *set_ids(uint64_t *set)
{
	return set;
}

/* A reset sets no counter to 0 (the kernel would keep the times): it notes what they say, and
 * rows are the difference. Time enabled and time running of each group, then each value. */
static inline uint64_t *set_base(const struct registry *registry, uint64_t *set)
{
	return set + registry->n_groups;
}

static inline int *set_fds(const struct registry *registry, uint64_t *set)
{
	return (int *)(void *)(set + 3 * registry->n_groups + registry->n_fds);
}

/* What a counter says less its base. Clocks that are read a moment apart may make it negative. */
static inline uint64_t set_less(uint64_t says, uint64_t base)
{
	uint64_t left = says - base;

	return left & ~(uint64_t)((int64_t)left >> 63);
}

static inline struct slot *registry_slot(const struct registry *registry, uint32_t index)
{
	return (struct slot *)(void *)(registry->slots + index * registry->slot_bytes);
}

/* Where the slot keeps this descriptor; NULL: it is none of its. */
int *registry_find_fd(struct registry *registry, struct slot *slot, int fd);

/* Before the slot is released. */
void registry_ended(struct registry *registry, uint32_t tid);
bool registry_ended_lately(const struct registry *registry, uint32_t tid);
/* The same from outside: `entry` is what recent[tid % REGISTRY_RECENT] says. */
bool registry_is_recent(const struct registry *registry, uint64_t entry, uint32_t tid);

/* Closes the descriptors of a slot (some may be -1), as many as its share that it had taken, and
 * sets them to -1. pmc_group_close() unless set. */
extern void (*registry_closer)(int *fds, unsigned n_fds);

#endif
