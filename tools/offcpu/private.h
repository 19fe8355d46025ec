/* SPDX-License-Identifier: MIT */
/*
 * private.h - threads, their waits, stacks and modules. Private to this folder.
 *
 * record.c reads records; threads.c follows threads and processes; unwind.c walks stacks with the
 * help of maps.c and module.c; stacks.c keeps each stack once; frames.c writes the dump.
 */
#ifndef PMC_TOOLS_OFFCPU_PRIVATE_H
#define PMC_TOOLS_OFFCPU_PRIVATE_H

#include "agent/core/base/hash.h"
#include "tools/offcpu/offcpu.h"

#include <limits.h>
#include <pmc/sampler.h>
#include <pthread.h>
#include <stdatomic.h>

/* Frames of a stack, as in the agent's. */
#define OFF_DEPTH PMC_STACK_DEPTH_MAX
/* A path, NUL, and a build ID. */
#define OFF_KEY (PATH_MAX + 1 + 64)

struct off_elf; /* of module.c */

/* A program or library. */
struct off_module {
	const char *path;
	uint8_t id[64];
	unsigned id_bytes;
	unsigned index; /* in the order of their first use */
	bool opened;
	struct off_elf *elf; /* NULL: cannot be read */
	uint64_t hash;	     /* of its MODULE frame, once that is written */
	unsigned place;	     /* in the list of the STACKS frame being written, from 1 */
	struct off_module *next;
	UT_hash_handle hh;
};

/* Where a file is mapped. */
struct off_map {
	uint64_t start, end, file_offset;
	struct off_module *module; /* NULL: no file */
};

/* Sorted by address. */
struct off_maps {
	struct off_map *list;
	size_t n, room;
};

/* A process from its fork or exec to the next exec. */
struct off_image {
	uint32_t pid;
	uint32_t threads; /* that have not ended */
	struct off_maps maps;
	UT_hash_handle hh;
};

/* A stack as STACKS frames have it: the module's index in the upper 16 bits of each word. */
struct off_stack {
	uint32_t id;
	uint16_t depth, flags; /* PMC_STACK_* */
	UT_hash_handle hh;
	uint64_t words[];
};

/* Waits of a thread in one stack. */
struct off_wait {
	struct {
		const struct off_thread *thread;
		const struct off_stack *stack; /* NULL: none is known */
	} key;
	uint64_t n, ns;
	struct off_wait *next; /* of the thread */
	UT_hash_handle hh;
};

struct off_thread {
	uint32_t pid, tid;
	uint64_t start_ns, end_ns; /* 0: before the recording; not ended */
	bool waiting;
	uint64_t since_ns, stack_ns;   /* of the wait; of the sample of its stack */
	const struct off_stack *stack; /* of the last switch; NULL: not recorded */
	struct off_wait *waits;
	uint64_t n_waits, wait_ns, lost, incomplete;
	struct off_thread *next; /* the one that was seen before */
	UT_hash_handle hh;	 /* by tid; the newest of a number */
};

struct off_ring {
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
};

struct off_cpu {
	struct pmc_arena arena;
	bool frame_pointers;

	struct off_ring *rings;
	unsigned n_rings;
	struct pmc_sampler_set *set;
	pthread_t reader;
	bool reads; /* the reader was started */
	_Atomic bool stop;
	uint64_t lost, lost_ns; /* records, and the time of the last report of a loss */
	uint64_t stop_ns;

	struct off_image *images; /* by pid; the newest */
	struct off_thread *threads, *last;
	struct off_stack *stacks;
	struct off_wait *waits;
	struct off_module *modules, *first, *newest; /* by path and build ID; in order */
	unsigned n_modules;
	struct off_rule *rules;
};

/* threads.c */
void off_take(struct off_cpu *off, const struct pmc_record *record);
/* Ends the waits that last until now. */
void off_settle(struct off_cpu *off);
void off_forget_images(struct off_cpu *off);

/* maps.c. False: no memory. */
bool off_maps_add(struct off_maps *maps, const struct off_map *map);
bool off_maps_copy(struct off_maps *maps, const struct off_maps *from);
const struct off_map *off_maps_find(const struct off_maps *maps, uint64_t address);
void off_maps_free(struct off_maps *maps);

/* module.c */
struct off_module *off_module(struct off_cpu *off, const char *path, const void *id, size_t bytes);
/* The address of a byte of the file as its symbol table has it. */
uint64_t off_module_address(struct off_module *module, uint64_t file_offset);
/* Unwind rules for an address of the module; NULL: there are none. */
struct Dwarf_CFI_s *off_module_cfi(struct off_module *module);
void off_modules_close(struct off_cpu *off);

/* unwind.c. The stack of a sample, the innermost frame first: `words` for OFF_DEPTH frames. Returns
 * their number. */
unsigned off_unwind(struct off_cpu *off, const struct off_image *image,
		    const struct pmc_record *record, uint64_t *words, uint16_t *flags);
/* User registers to sample for it; 0: not on this CPU. */
uint64_t off_unwind_registers(void);
void off_rules_free(struct off_cpu *off);

/* stacks.c. NULL: no memory. */
const struct off_stack *off_stack(struct off_cpu *off, const uint64_t *words, unsigned depth,
				  uint16_t flags);
void off_wait_add(struct off_cpu *off, struct off_thread *thread, uint64_t ns);

#endif
