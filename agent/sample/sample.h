/* SPDX-License-Identifier: MIT */
/*
 * sample.h - sampling: at overflows of an event each thread records its call stack.
 *
 * The sampling event of a thread is apart from the counted ones. The kernel sends the agent's own
 * signal to the thread whose event overflowed, and switches the event off at the first or second
 * overflow that the handler has not recorded: signals cannot queue up. docs/design/sampling.md says
 * why the handler cannot deadlock. Functions are async-signal-safe unless they say otherwise.
 */
#pragma once

#include "agent/output/output.h"

/* ---- sample_thread.c ---- */
/* Resolves PMC_SAMPLE. Not async-signal-safe. 0; or -EINVAL with *why filled. */
int agent_sample_configure(char why[256]);
/* Whether sampling or stacks at thread creation were asked for. */
bool agent_sample_wanted(void);
/* Opens the event of all live threads and prepares unwinding, before main. signo: the agent's own
 * signal; 0: none. Not async-signal-safe. */
void agent_sample_start(int signo);

/* A thread starts and ends; both are called by the thread. */
void agent_sample_begin(struct slot *slot);
/* Stops sampling; the samples stay until agent_sample_release. */
void agent_sample_end(struct slot *slot);
void agent_sample_release(struct slot *slot);
/* Counting starts (PMC_DELAY). */
void agent_sample_enable(struct slot *slot);
/* The number of the agent's signal has changed. 0: none is left, or sampling ends in all threads,
 * before a seccomp filter. */
void agent_sample_moved(int signo);
/* The number for this thread has. */
void agent_sample_route(struct slot *slot);
/* agent/process: the agent's signal for a thread: one that has blocked all signals has the number
 * unblocked that the agent had then. 0: none. */
int agent_own_signal_of(const struct slot *slot);
/* Before an exec: no signal of this thread stays pending; after a failed one. */
void agent_sample_hold(void);
/* A pending signal of the calling thread's event was dropped. */
void agent_sample_dropped(void);
void agent_sample_let(void);
/* Moves the descriptor to another number because the host is about to use this one. False: it is
 * not of a sampling event. */
bool agent_sample_move_fd(int fd);
/* In a forked child, before it has a slot. */
void agent_sample_forked(void);

/* ---- sample_switches.c ---- */
/* Whether the thread is sampled by its timer. */
bool agent_sample_timed(const struct slot *slot);
/* At a tick of the calling thread's timer. context: ucontext_t. */
void agent_sample_tick(const void *context);
/* agent/process: starts the calling thread's timer anew, or stops it if nothing needs it. False: it
 * has none. */
bool agent_timer_switch(struct slot *slot);

/* ---- sample_dwarf.c ---- */
/* Around fork(): no thread is in libunwind, whose locks the child would inherit. */
void agent_sample_fork_begin(void);
void agent_sample_fork_end(void);

/* ---- sample_signal.c ---- */
/* The handler of the agent's signal, sent by a sampling event; stopped: the event has switched
 * itself off. context: ucontext_t. */
void agent_sample_signal(bool stopped, const void *context);
/* The calling thread is in libunwind: its changes of the signal mask are ignored, since all signals
 * are blocked. */
extern __thread bool agent_unwinding;

/* The stack of the calling thread, which creates the thread of this slot, from the frame on that
 * has the return address `caller`. Not async-signal-safe. */
void agent_sample_creation(struct slot *slot, const void *caller);

/* ---- sample_modules.c ---- */
/* After dlclose: addresses may be of other modules. */
void agent_sample_closed(void);

/* ---- sample_stacks.c ---- */
/* Appends the next part of the slot's samples, from *part = 0 on. False: there is none. */
bool agent_sample_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *part);
/* Appends modules and stacks that are not in the dump yet. False: there is none left. */
bool agent_sample_tables_next(struct pmc_frame_buf *buf, uint64_t snapshot);
/* Whether the thread has been sampled. */
bool agent_sample_has(const struct slot *slot);
