/* SPDX-License-Identifier: MIT */
/*
 * registry.h - a slot for every live thread; memory is reused, so it stays flat.
 *
 * A slot belongs to its thread. Readers (snapshots) pin it; the owner never waits for them: if
 * one still reads when the thread ends, it closes the descriptors and frees the slot in the
 * owner's place. All functions are async-signal-safe and lock-free.
 */
#ifndef PMC_CORE_REGISTRY_H
#define PMC_CORE_REGISTRY_H

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
/* Which of the smaller plans its groups are of; 0: the job's. */
#define SLOT_SPLIT_ONE 0x200u
#define SLOT_SPLIT     0x600u

struct slot {
	_Atomic uint32_t word;
	_Atomic uint32_t next_free; /* index + 1 */
	uint32_t tid;
	uint32_t flags;	 /* PMC_THREAD_* */
	uint32_t reason; /* why a group is not open */
	uint32_t n_fds;
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
	/* Ids of the groups' leaders; what to subtract (see slot_base); the descriptors as int. */
	uint64_t data[];
};

struct registry {
	char *slots;
	size_t slot_bytes, map_bytes;
	unsigned n_groups, n_fds;
	uint32_t capacity;
	_Atomic uint32_t high; /* slots ever used */
	_Atomic uint64_t vacant; /* tag << 32 | index + 1 */
	_Atomic uint32_t live; /* RESERVED and LIVE slots */
	_Atomic uint32_t recent_at;
	_Atomic uint32_t recent[256]; /* tids that ended last: still in /proc for a moment */
};

/* 0 or -errno. */
int registry_init(struct registry *registry, unsigned n_groups, unsigned n_fds, uint32_t capacity);
void registry_fini(struct registry *registry);

/* A RESERVED slot, zeroed, fds -1; NULL when all are in use. */
struct slot *registry_alloc(struct registry *registry);
/* RESERVED to LIVE, by the slot's thread. */
void registry_live(struct slot *slot);
/* LIVE to CLOSING: no reader may pin it from here on. */
void registry_close(struct slot *slot);
/* Closes a CLOSING slot's descriptors now, unless somebody still reads them. */
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

static inline uint64_t *slot_ids(struct slot *slot)
{
	return slot->data;
}

/* A reset sets no counter to 0 (the kernel would keep the times): it notes what they say, and
 * rows are the difference. Time enabled and time running of each group, then each value. */
static inline uint64_t *slot_base(const struct registry *registry, struct slot *slot)
{
	return slot->data + registry->n_groups;
}

static inline int *slot_fds(const struct registry *registry, struct slot *slot)
{
	return (int *)(void *)(slot->data + 3 * registry->n_groups + registry->n_fds);
}

static inline struct slot *registry_slot(const struct registry *registry, uint32_t index)
{
	return (struct slot *)(void *)(registry->slots + index * registry->slot_bytes);
}

void registry_ended(struct registry *registry, uint32_t tid);
bool registry_ended_lately(const struct registry *registry, uint32_t tid);

/* Closes the descriptors of a slot (some may be -1), as many as its share that it had taken, and
 * sets them to -1. pmc_group_close() unless set. */
extern void (*registry_closer)(int *fds, unsigned n_fds);

#endif
