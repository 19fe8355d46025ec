/* SPDX-License-Identifier: MIT */
/*
 * agent.h - the agent of a running process, for commands that show its threads again and again.
 *
 * It reads the process as pmctl dump does: see attach.h for what that guards against. Nothing is
 * printed; what can fail leaves the reason in `why`, of ATTACH_WHY bytes.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/dump/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ATTACH_WHY ((size_t)512)

struct attach;

/* A thread as its slot had it at the last look. */
struct attach_thread {
	uint32_t slot;
	bool main;
	uint64_t start_ns;
	uint64_t eventset;  /* hash; 0: no events */
	const char *module; /* of its start routine; "": unknown. Valid as long as the agent */
	uint64_t offset;    /* in the module, or the address; 0: unknown */
};

/* Processes whose counting starts after PMC_DELAY. */
struct attach_delays {
	uint64_t delay_ns;     /* where the environment of a process does not have it any more */
	struct pmc_map images; /* those found so far, by identity */
	struct pmc_arena arena;
};
/* Starts counting in the process if its delay is over, and nothing has switched counting since it
 * was found. *due_ns: when to call it again, UINT64_MAX: not, as where it has no agent or has
 * ended. False: why it cannot. */
bool attach_end_delay(pid_t pid, struct attach_delays *delays, uint64_t *due_ns, char *why);

/* NULL: the process has no agent that counts, or may not be read (why is ""); or why it cannot be
 * used. */
struct attach *attach_agent_open(pid_t pid, char *why);
void attach_agent_close(struct attach *agent);
/* Whether the process still exists and has not called exec. */
bool attach_same_image(const struct attach *agent);
/* Copies the slots of its threads. False: why, or "" if the process is ending. */
bool attach_agent_look(struct attach *agent, char *why);
/* tid: as pmctl sees it. False: the thread has no slot. */
bool attach_agent_thread(const struct attach *agent, pid_t tid, struct attach_thread *thread);
/* A duplicate of the descriptor of the leader of group g of n events; its kernel ID. -1: the group
 * is not open, or has another size. */
int attach_agent_leader(const struct attach *agent, const struct attach_thread *thread, unsigned g,
			unsigned n, uint64_t *id);
/* The EVENTSET frame of that hash; buf->len 0: there is none. The caller frees buf->data. */
void attach_agent_set(const struct attach *agent, uint64_t eventset, struct pmc_frame_buf *buf);
/* The frames that pmctl dump would write now of this thread: its row and regions. False: why. Look
 * first. The caller frees buf->data. */
bool attach_agent_frames(struct attach *agent, const struct attach_thread *thread,
			 struct pmc_frame_buf *buf, char *why);
