/* SPDX-License-Identifier: MIT */
/*
 * registry.h - a slot for every live thread, which is reused, so memory stays flat; and accounts.
 *
 * A slot belongs to its thread. Readers (snapshots) pin it. The owner never waits for readers: if
 * one still has the slot pinned when the thread ends, the last reader closes the descriptors and
 * frees the slot. All functions are async-signal-safe and lock-free.
 */
#pragma once

#include "lib/base/clock.h"

#include <pmc/dump.h>
#include <stdatomic.h>

/* ---- OS accounting while counting is on ---------------------------------------------------
 *
 * The kernel's clocks, faults and switches of a thread advance while counting is off (PMC_START,
 * PMC_DELAY, pmctl ctl). An account has the values to subtract, so that these columns cover the
 * same time as the events.
 *
 * It has two sides: a change is written to the invalid side, which becomes valid with a new
 * sequence number. So a reader never uses a half-written side, and a writer that is killed leaves
 * the old one. */

enum {
	ACCOUNT_WALL, /* CLOCK_MONOTONIC */
	ACCOUNT_CPU,
	ACCOUNT_OVERHEAD, /* of a process */
	ACCOUNT_MINOR,
	ACCOUNT_MAJOR,
	ACCOUNT_VOLUNTARY,
	ACCOUNT_INVOLUNTARY,
	/* Of threads, with events of PMC_TYPE_OS only. */
	ACCOUNT_DELAY,
	ACCOUNT_USER,
	ACCOUNT_SYSTEM,
	ACCOUNT_WORDS,
};
#define ACCOUNT_BIT(word) (1u << (word))
#define ACCOUNT_FAULTS	  (ACCOUNT_BIT(ACCOUNT_MINOR) | ACCOUNT_BIT(ACCOUNT_MAJOR))
#define ACCOUNT_SWITCHES  (ACCOUNT_BIT(ACCOUNT_VOLUNTARY) | ACCOUNT_BIT(ACCOUNT_INVOLUNTARY))
#define ACCOUNT_TIMES	  (ACCOUNT_BIT(ACCOUNT_USER) | ACCOUNT_BIT(ACCOUNT_SYSTEM))
/* All that a pmc_usage has. */
#define ACCOUNT_USAGE (ACCOUNT_FAULTS | ACCOUNT_SWITCHES | ACCOUNT_TIMES)

/* Present values of the kernel; or values of a row after subtraction. */
struct account_words {
	uint64_t of[ACCOUNT_WORDS];
	uint32_t unknown; /* bits of words that could not be read */
};

struct account_side {
	uint64_t owner;	   /* seq + 1 of the thread; 1 of a process; 0: nobody */
	uint64_t reset_ns; /* time of the last reset; 0: none */
	uint32_t stopped;
	uint32_t unknown;	      /* words that could not be read at a change */
	uint64_t base[ACCOUNT_WORDS]; /* to be subtracted */
	uint64_t at[ACCOUNT_WORDS];   /* when counting stopped */
	/* To be subtracted from the sampling event: its time enabled, time running and value at the
	 * last reset. */
	uint64_t sampled[3];
};

struct account {
	_Atomic uint32_t number; /* its lowest bit selects the valid side */
	uint32_t reserved;
	struct account_side sides[2];
};

/* An account that has counted nothing yet (stopped), or everything since `base`. */
void account_open(struct account_side *side, uint64_t owner, const uint64_t base[ACCOUNT_WORDS],
		  bool stopped);
void account_start(struct account_side *side, const struct account_words *now);
void account_stop(struct account_side *side, const struct account_words *now);
void account_reset(struct account_side *side, const struct account_words *now);
/* Converts `now` to values of the counted phases; WALL is the time for which counting was on. */
void account_values(const struct account_side *side, struct account_words *now);

/* Copies the valid side. False: the account has another owner. */
bool account_read(const struct account *account, uint64_t owner, struct account_side *side);
/* Makes the side the valid one. Only one writer at a time. */
void account_write(struct account *account, const struct account_side *side);

static inline void account_put_usage(struct account_words *words, const struct pmc_usage *usage)
{
	words->of[ACCOUNT_MINOR] = usage->minor_faults;
	words->of[ACCOUNT_MAJOR] = usage->major_faults;
	words->of[ACCOUNT_VOLUNTARY] = usage->voluntary_switches;
	words->of[ACCOUNT_INVOLUNTARY] = usage->involuntary_switches;
	words->of[ACCOUNT_USER] = usage->user_ns;
	words->of[ACCOUNT_SYSTEM] = usage->system_ns;
}

/* ---- slots ------------------------------------------------------------------------------- */

/* The word: phase in the high half, number of readers in the low half. */
enum slot_phase {
	SLOT_FREE = 0,
	SLOT_RESERVED = 1u << 16, /* by the creator; the thread has not started */
	SLOT_LIVE = 2u << 16,
	SLOT_CLOSING = 3u << 16, /* the thread has ended: no new pins */
};

/* In a slot's flags, beyond PMC_THREAD_*: its groups count user mode only, unlike the plan, because
 * the process has dropped privileges. */
#define SLOT_USER_ONLY 0x100u

struct slot {
	_Atomic uint32_t word;
	_Atomic uint32_t next_free; /* index + 1 */
	_Atomic uint64_t regions;   /* address of its struct region_area; 0: none. Stays with it */
	uint32_t tid;
	uint32_t reason; /* why a group is not open */
	uint16_t flags;	 /* PMC_THREAD_* */
	uint8_t n_fds;
	uint8_t blocked;       /* the agent's signal, if the thread blocks all signals */
	_Atomic int32_t timer; /* ID + 1 of its CPU timer; 0: none */
	uint64_t seq;
	uint64_t start_ns;
	uint64_t created_by;
	uint64_t start_site; /* hash of the SITE frame of the start routine */
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} start;
	void *arg;
	char name[16];
	/* Time enabled and CPU time in the last snapshot, see row.c; skipped by a reader that does
	 * not get the lock at once. */
	_Atomic uint32_t seen_lock;
	uint32_t seen_switched;
	uint64_t seen_enabled_ns, seen_cpu_ns;
	_Atomic uint64_t written; /* content of the newest row in the dump, see row.c; 0: none */
	/* A set of groups: ids of the leaders; what to subtract (see set_base); the descriptors as
	 * int. */
	uint64_t data[];
};
/* The slot moves between the caches of the creator and the thread. */
_Static_assert(sizeof(struct slot) <= 128, "a slot without groups has two cache lines");

struct registry {
	char *slots;
	struct account *accounts; /* after the slots; memory is used from a first change on */
	size_t slot_bytes, map_bytes, set_words;
	unsigned n_groups, n_fds;
	uint32_t capacity;
	_Atomic uint32_t high; /* slots ever used */
	/* From the lowest bit: index + 1 of the first free slot, the number of taken slots
	 * (RESERVED, LIVE or CLOSING), and a tag against ABA. */
	_Atomic uint64_t vacant;
	/* One bit for each tid: a thread with a row had it and has ended. It may stay in /proc for
	 * seconds if it waits for a CPU. A thread that starts past the agent with the tid of such a
	 * thread, after the kernel's counter has wrapped, is taken for it. */
	_Atomic uint64_t *ended;
};

#define SLOT_INDEX_BITS 18
#define SLOT_INDEX_MASK ((UINT64_C(1) << SLOT_INDEX_BITS) - 1)
#define SLOT_ONE_TAKEN	(UINT64_C(1) << SLOT_INDEX_BITS)
#define SLOT_ONE_TAG	(UINT64_C(1) << 2 * SLOT_INDEX_BITS)
/* Threads alive at once. */
#define REGISTRY_CAPACITY (1u << 17)
/* All tids are below (PID_MAX_LIMIT of the kernel). */
#define REGISTRY_TIDS (1u << 22)

/* 0 or -errno; the capacity is below 2^SLOT_INDEX_BITS. */
int registry_init(struct registry *registry, unsigned n_groups, unsigned n_fds, uint32_t capacity);
void registry_fini(struct registry *registry);
/* As after registry_init(), in a forked child: of the slots nothing is left, and nothing is closed.
 * Locked memory is mapped anew. */
int registry_empty(struct registry *registry);

/* How many slots are taken: RESERVED, LIVE or CLOSING. */
static inline uint32_t registry_taken(const struct registry *registry)
{
	return (uint32_t)(atomic_load(&registry->vacant) >> SLOT_INDEX_BITS & SLOT_INDEX_MASK);
}

/* A RESERVED slot, zeroed, fds -1; NULL when all are in use. */
struct slot *registry_alloc(struct registry *registry);
/* RESERVED to LIVE, by the slot's thread. */
void registry_live(struct slot *slot);
/* LIVE to CLOSING: readers cannot pin it any more. */
void registry_close(struct slot *slot);
/* Whether the slot is CLOSING and has no readers. */
static inline bool registry_unread(const struct slot *slot)
{
	return atomic_load_explicit(&slot->word, memory_order_acquire) == SLOT_CLOSING;
}
/* Whether the slot, with this word, is CLOSING and has not been released: the thread has its last
 * row to write. */
static inline bool registry_is_ending(uint32_t word)
{
	return (word & ~0x7fffu) == SLOT_CLOSING;
}
/* Closes the descriptors of a CLOSING slot without readers now. */
void registry_close_fds(struct registry *registry, struct slot *slot);
/* Closes the descriptors of a CLOSING or RESERVED slot and frees it, or leaves that to the last
 * reader. Returns whether the slot is free. */
bool registry_release(struct registry *registry, struct slot *slot);

/* Pins a LIVE slot for reading; false: it is not LIVE. */
bool registry_pin(struct slot *slot);
void registry_unpin(struct registry *registry, struct slot *slot);

/* Calls act for each LIVE slot, pinned. */
void registry_each(struct registry *registry, void (*act)(struct slot *slot));

/* Ends the slot of an adopted thread that is gone. The caller has it pinned; its unpin frees the
 * slot. Does nothing if there are other readers. */
void registry_retire(struct slot *slot);

/* ---- a set of groups ---- */
static inline uint64_t *set_ids(uint64_t *set)
{
	return set;
}

/* The readings at the last reset, which rows subtract: time enabled and time running of each group,
 * then each value. Counters are not set to 0, since the kernel would keep the times. */
static inline uint64_t *set_base(const struct registry *registry, uint64_t *set)
{
	return set + registry->n_groups;
}

static inline int *set_fds(const struct registry *registry, uint64_t *set)
{
	return (int *)(void *)(set + 3 * registry->n_groups + registry->n_fds);
}

/* A reading less its base, at least 0: clocks read a moment apart may differ the other way. */
static inline uint64_t set_less(uint64_t says, uint64_t base)
{
	uint64_t left = says - base;

	return left & ~(uint64_t)((int64_t)left >> 63);
}

static inline struct slot *registry_slot(const struct registry *registry, uint32_t index)
{
	return (struct slot *)(void *)(registry->slots + index * registry->slot_bytes);
}

static inline uint32_t registry_index(const struct registry *registry, const struct slot *slot)
{
	return (uint32_t)((size_t)((const char *)slot - registry->slots) / registry->slot_bytes);
}

/* Remembers the tid of a thread that ends; called before its slot is released. */
void registry_ended(struct registry *registry, uint32_t tid);
bool registry_has_ended(const struct registry *registry, uint32_t tid);

/* Closes the descriptors of a slot, of which some may be -1, and sets them to -1. The agent sets it
 * to agent_fds_close(); default: pmc_perf_group_close(). */
extern void (*registry_closer)(int *fds, unsigned n_fds);
