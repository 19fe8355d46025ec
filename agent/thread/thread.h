/* SPDX-License-Identifier: MIT */
/* thread.h - threads and their rows; groups of a thread, inherit groups and uncore events. */
#pragma once

#include "agent/output/output.h"
#include "agent/sample/sample.h"

/* ---- thread.c ---- */
static inline struct snapshot_groups agent_groups_of(struct slot *slot)
{
	const struct reader own = agent_reader(0);

	return snapshot_groups_of(&own, slot);
}

/* request: PERF_EVENT_IOC_ENABLE or _DISABLE. */
static inline void agent_groups_switch(const struct snapshot_groups *groups, unsigned long request)
{
	for (unsigned g = 0; g < groups->groups; g++)
		if (groups->fds[groups->first[g]] >= 0)
			pmc_perf_ioctl(groups->fds[groups->first[g]], request, NULL);
}

/* Of a thread. Not inlined: the stack may be a small signal stack. */
void agent_thread_switch(struct slot *slot, unsigned long request);

int agent_threads_init(void);
/* A slot for a thread that the caller is about to create. NULL: the registry is full (noted). */
struct slot *agent_thread_reserve(void);
/* Takes descriptors for its groups; called by the creator. */
void agent_thread_reserve_groups(struct slot *slot);
/* First thing in a new thread: fills the slot, opens and enables the groups. Nothing, if the agent
 * has stopped since the thread was made. */
void agent_thread_begin(struct slot *slot);
/* Before the agent works at the end of a thread, and around what it rarely does in between: stops
 * its groups, if that work would count. */
void agent_thread_stop(struct slot *slot);
void agent_thread_go_on(struct slot *slot);
/* Moves a group descriptor to another number because the host is about to use this one. False: it
 * is not a group of ours. */
bool agent_thread_move_fd(int fd);
/* After the agent has stopped: waits until no other thread is in the agent's work at its start or
 * end, 0.1 s at most. */
void agent_threads_settle(void);
/* The main thread of a process image, or the one that called fork. */
void agent_thread_main(uint8_t blocked);

/* Appends a row to buf. The caller owns the slot or has it pinned. own: the slot is the calling
 * thread's. usage: of another thread; NULL: unknown. False: the dump has the same row already;
 * never at the end of the thread or of the process. */
bool agent_row(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, bool own,
	       const struct pmc_usage *usage, enum pmc_thread_state state);
/* The kernel's present values of such a thread. enabled_ns: raw time enabled of a group; 0:
 * unknown. */
void agent_thread_words(struct slot *slot, bool own, const struct pmc_usage *usage,
			uint64_t enabled_ns, struct account_words *now);

static inline void agent_account(const struct slot *slot, struct account_side *side)
{
	const struct reader own = agent_reader(0);

	snapshot_account(&own, slot, side);
}

/* ---- agent/process, agent/region: called by a thread that begins or ends ---- */
/* The first after the groups are enabled; before the others. */
void agent_tick_thread(struct slot *slot, bool begins);
/* Before its last row. */
void agent_regions_end(void);
/* After it: writes its regions and samples, and new stacks. */
void agent_thread_frames(struct slot *slot, uint64_t snapshot);

/* ---- adopt.c ---- */
/* Reserves a slot for every task of this process without one. room: 8-aligned, for directory
 * entries. Async-signal-safe. */
void agent_adopt(char *room, size_t bytes);

/* ---- place.c ---- */
struct agent_place {
	const char *module, *symbol; /* "": not looked up here, or none covers the address */
	uint64_t offset;	     /* from where the module is mapped */
};

/* False: the address is in no module. */
bool agent_find_place(const void *address, struct agent_place *place);

/* ---- start_routine.c ---- */
/* The hash of the SITE frame of an address, if that has been written; else 0. Both take a lock: not
 * for signal handlers. */
uint64_t agent_start_routine(const void *address);
/* Writes it to the dump, and returns its hash. */
uint64_t agent_start_routine_add(const void *address);
/* After dlclose: addresses are looked up again. */
void agent_start_routines_forget(void);
/* In a forked child. */
void agent_start_routines_forked(void);

/* ---- inherit_groups.c ---- */
/* Opens all of them, as PMC_INHERIT says; called while the process is single-threaded. */
void agent_inherit_open(void);
/* Enables the thread group and uncore events; the exec group enables itself. */
void agent_inherit_enable(void);
/* Where one of these groups keeps this descriptor; NULL: it is none of theirs. */
int *agent_inherit_find(int fd);
/* Appends a TOTAL frame for each open group, and the event sets that only they use. */
void agent_inherit_frames(struct pmc_frame_buf *buf, uint64_t snapshot);
/* In a forked child. */
void agent_inherit_forked(void);
