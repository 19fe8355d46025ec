/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - call stacks of samples, by unwind tables or frame pointers, from outside the
 * processes.
 *
 * The owner opens events with the options below and hands over all their records in the order of
 * time. Processes that started before have their mappings read from /proc. For one thread.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"

#include <pmc/dump.h>
#include <pmc/record.h>
#include <stdbool.h>
#include <stdint.h>

struct pmc_open_options;

struct unwind_image;
struct unwind_root;
struct unwind_rule;

struct unwind_module {
	struct symbol_module *file;
	unsigned index;	  /* in the order of their first use */
	const char *path; /* as the kernel has it, without its mark of a removed file */
	uint64_t inode;	  /* of a file without a known build ID; 0: unknown */
	bool is_found;	  /* unwind_find_file() was called */
	/* For the owner. */
	uint64_t hash;
	unsigned place;
	UT_hash_handle hh;
};

/* A stack as STACKS frames have it, the innermost frame first: the module's index, PMC_NO_MODULE if
 * there is none, in the upper 16 bits of each word. */
struct unwind_stack {
	uint32_t id;	       /* from PMC_STACK_OUTSIDE on, in the order of their first use */
	uint16_t depth, flags; /* PMC_STACK_* */
	UT_hash_handle hh;
	uint64_t words[];
};

/* Waits in one stack, or of another kind of the owner's, in a list of the owner's. */
struct unwind_wait {
	struct {
		const void *list, *of; /* of a stack that is not known: NULL */
		uint64_t length;       /* as the owner groups them by length; else 0 */
	} key;
	uint64_t n, ns;
	struct unwind_wait *next; /* of the list */
	UT_hash_handle hh;
};

/* Code behind a return address, looked at once. */
struct unwind_trampoline {
	uint32_t pid;
	uint64_t address, bytes; /* of its frame; 0: it is something else */
};

#define UNWIND_TRAMPOLINES 1024

struct unwind {
	bool frame_pointers;		/* stacks by these, else by unwind tables */
	bool both;			/* beyond the copy of the stack by frame pointers */
	unsigned stack_bytes;		/* of the copy, a multiple of 8 */
	uint64_t chain_most;		/* functions that the kernel finds by frame pointers */
	uint64_t copies, beyond_copies; /* those walked; of these, with callers beyond the copy */
	struct unwind_module *kernel;	/* stacks have its functions, too; NULL: not */
	struct symbols *symbols;
	struct pmc_arena arena;
	struct unwind_module *modules, **list; /* by file; by index */
	unsigned n_modules;
	size_t room;			   /* of the list */
	uint64_t scheduler, scheduler_end; /* addresses of the kernel's scheduler; 0: unknown */
	struct unwind_stack *stacks;
	struct pmc_map whole;	      /* stacks of switches by their part without the scheduler */
	size_t kept_bytes, kept_most; /* of these */
	uint64_t shortened;	      /* samples whose stack was not kept but for a function */
	struct unwind_wait *waits;    /* by list, kind and length */
	struct unwind_image *images;  /* by pid; the newest */
	struct unwind_rule *rules;
	struct unwind_root *roots;
	struct unwind_trampoline trampolines[UNWIND_TRAMPOLINES];
};

#define UNWIND_STACK_BYTES 8192
#define UNWIND_STACK_MOST  65528
void unwind_init(struct unwind *unwind, bool frame_pointers);
/* Before the options: stacks have functions of the kernel, too, from the system call or interrupt
 * on. */
void unwind_add_kernel(struct unwind *unwind);
/* Pages of a ring that suffice for some thousands of stacks. */
unsigned unwind_pages(const struct unwind *unwind);
void unwind_options_stack(const struct unwind *unwind, struct pmc_open_options *options);
/* Adds records of mappings, forks, execs and ends, which one event of each thread must write. */
void unwind_options_maps(struct pmc_open_options *options);

/* Any record but a sample. */
void unwind_take(struct unwind *unwind, const struct pmc_record *record);
/* The stack of a sample, the innermost frame first, as `words` for PMC_STACK_DEPTH_MAX frames and
 * PMC_STACK_* flags. Returns their number; 0: it has none. */
unsigned unwind_frames(struct unwind *unwind, const struct pmc_record *record, uint64_t *words,
		       uint16_t *flags);
/* The same, each stack once; of a switch without the scheduler's own functions. Where too many are
 * known, a new one is shortened to its innermost function. NULL: it has none. */
const struct unwind_stack *unwind_stack_of(struct unwind *unwind, const struct pmc_record *record,
					   bool of_switch);
/* The stack of a thread that is blocked now, of which the kernel's part needs root. NULL: it runs,
 * or this user may not see it. */
const struct unwind_stack *unwind_blocked(struct unwind *unwind, uint32_t pid, uint32_t tid);
/* Adds n > 0 waits to those of that kind and length in a list, which stays where it is. Returns
 * them. */
const struct unwind_wait *unwind_wait_add(struct unwind *unwind, struct unwind_wait **list,
					  const void *of, uint64_t length, uint64_t n, uint64_t ns);
/* The module of a frame; NULL: none. */
struct unwind_module *unwind_module_at(const struct unwind *unwind, uint64_t word);
void unwind_free(struct unwind *unwind);
