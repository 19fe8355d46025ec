/* SPDX-License-Identifier: MIT */
/* private.h - what the files of sampling share. Private to this folder. */
#pragma once

#include "agent/base/real.h"
#include "agent/sample/sample.h"

/* ---- sample_thread.c ---- */
struct sample_event {
	bool on;
	struct pmc_attr attr;
	bool by_reading; /* a sample is worth the difference of two readings, not the period */
	int ahead;	 /* overflows after which the event stops, unless one is handled before */
	uint64_t period;
};
extern struct sample_event sample_event;
extern bool sample_reads; /* whether process_vm_readv may be called */
/* NULL: there is no sampling. */
struct sample_thread *sample_of(const struct slot *slot);
/* Switches the event of the calling thread off. */
void sample_disarm(int fd);
/* Opens the event of the calling thread and closes it. False: it cannot be opened. */
bool sample_open(struct slot *slot, struct sample_thread *thread);
void sample_close(struct sample_thread *thread);

/* ---- sample_modules.c: reads of memory that may not be there, and modules ---- */
#define SAMPLE_BLOCK  1024u /* divides the size of a page */
#define SAMPLE_BLOCKS 16u
#define SAMPLE_AHEAD  4u /* blocks of the stack that are copied at once; divides SAMPLE_BLOCKS */
struct sample_memory {
	uintptr_t stack; /* readable from a page below here... */
	uintptr_t from, to;
	long pid;
	unsigned next, budget;
	uintptr_t blocks[SAMPLE_BLOCKS]; /* addresses of the copies; 0: none */
	uint8_t copies[SAMPLE_BLOCKS][SAMPLE_BLOCK];
};
/* ...up to here. */
#define SAMPLE_STACK_MOST ((uintptr_t)64 << 20)
void sample_memory_init(struct sample_memory *memory, uintptr_t stack);
/* Also [from, to) may be read: the module that is examined. */
static inline void sample_memory_module(struct sample_memory *memory, uintptr_t from, uintptr_t to)
{
	memory->from = from;
	memory->to = to;
}
bool sample_word(struct sample_memory *memory, uintptr_t at, uint64_t *word);
bool sample_bytes(struct sample_memory *memory, uintptr_t at, void *to, size_t n);
bool sample_object(uintptr_t address, struct agent_dl_object *object);
/* The address as a word of a STACKS frame. */
uint64_t sample_place(struct sample_memory *memory, uintptr_t address);

/* ---- sample_stacks.c: the table of stacks ---- */
/* The ID of a stack; 0: the table is full. */
uint32_t sample_stack_id(const uint64_t *frames, unsigned depth, unsigned flags);

extern struct sample_tables sample_tables;
#define SAMPLE_SCRATCH_BYTES ((size_t)64 << 10)
#define SAMPLE_SCRATCHES     64u /* bits of sample_scratch_taken */
/* 0 or -ENOMEM. */
int sample_area_init(uint32_t slots);
/* A part; NULL: there is no area. */
void *sample_area(enum sample_part part);
/* Empties it, in a forked child too. */
void sample_area_forked(void);

/* Samples of a thread by stack. */
/* False: there is no memory. */
bool sample_count(struct sample_thread *thread, uint32_t stack, uint64_t weight);
/* After a reset: removes all samples. Called by the thread. */
void sample_counts_clear(struct sample_thread *thread, uint64_t reset_ns);
void sample_counts_free(struct sample_thread *thread);

/* ---- sample_dwarf.c, and frame pointers in sample_signal.c ---- */
struct sample_regs {
	uintptr_t ip, sp, fp;
	const void *context; /* ucontext_t */
};
struct sample_walk {
	struct sample_memory memory;
	struct sample_regs regs;
	uintptr_t outer;       /* return address of the outermost frame to leave out; 0: none */
	unsigned depth, flags; /* PMC_STACK_* */
	uintptr_t at[PMC_STACK_DEPTH_MAX]; /* addresses inside the instructions */
	uint64_t frames[PMC_STACK_DEPTH_MAX];
};
/* Loads libunwind. False: it cannot be used. Not async-signal-safe. */
bool sample_dwarf_init(void);
/* False: libunwind cannot be used in this process. */
bool sample_walk_dwarf(struct sample_walk *walk);
/* After dlclose. */
void sample_dwarf_closed(void);
void sample_dwarf_forked(void);

/* ---- sample_signal.c ---- */
extern _Atomic uint64_t sample_scratch_taken; /* stacks for handlers in use, a bit each */
/* Takes a sample in a signal handler. fd: of the event; -1: of a timer, after `ns` of CPU time. */
void sample_take(struct sample_thread *thread, int fd, uint64_t ns, const void *context);

/* ---- sample_switches.c ---- */
/* After a sample of the thread's event: whether a timer takes the place of the event from now on.
 */
bool sample_to_timer(struct slot *slot, struct sample_thread *thread);
/* The thread ends. */
void sample_timed_end(struct sample_thread *thread);
