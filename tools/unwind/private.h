/* SPDX-License-Identifier: MIT */
/*
 * private.h - processes and their mappings, modules and unwind rules. Private to this folder.
 *
 * images.c follows processes; files.c finds files of modules; walk.c walks stacks; blocked.c has
 * those of threads that do not run.
 */
#pragma once

#include "tools/unwind/unwind.h"

#include <pmc/sampler.h>

#if defined(__x86_64__)
#define UNWIND_X86_64 true
#else
#define UNWIND_X86_64 false
#endif

struct unwind_map {
	uint64_t start, end, file_offset;
	struct unwind_module *module; /* NULL: no file */
};

/* Sorted by address. */
struct unwind_maps {
	struct unwind_map *list;
	size_t n, room;
};

/* The root directory of processes that have another one than pmctl, as those of a container. */
struct unwind_root {
	ino_t mounts; /* the namespace */
	dev_t device;
	ino_t inode; /* of the directory */
	int fd;	     /* -1: pmctl's own, or too many are known */
	struct unwind_root *next;
};

/* A process from its fork or exec to the next exec. */
struct unwind_image {
	uint32_t pid;
	uint32_t tid;	  /* of its last sample; its main thread may have ended */
	uint32_t threads; /* that have not ended */
	struct unwind_maps maps;
	size_t n_read; /* of maps, when they were last read */
	const struct unwind_root *root;
	UT_hash_handle hh;
};

/* images.c */
/* Whether the name of the function there begins with one of these, the last of which is NULL. */
bool unwind_is_named(struct unwind *unwind, uint64_t word, const char *const *names);
void unwind_maps_add(struct unwind_maps *maps, const struct unwind_map *map);
void unwind_maps_copy(struct unwind_maps *maps, const struct unwind_maps *from);
const struct unwind_map *unwind_maps_find(const struct unwind_maps *maps, uint64_t address);
void unwind_maps_free(struct unwind_maps *maps);

/* files.c. At the first use of the module of a mapping: gives it its file if its path leads to
 * another one, or to none. */
void unwind_find_file(struct unwind *unwind, const struct unwind_image *image,
		      const struct unwind_map *map);

/* walk.c. The stack of a sample, the innermost frame first: `words` for PMC_STACK_DEPTH_MAX frames.
 * Returns their number. */
unsigned unwind_walk(struct unwind *unwind, const struct unwind_image *image,
		     const struct pmc_record *record, uint64_t *words, uint16_t *flags);
/* User registers to sample for it; 0: not on this CPU. */
uint64_t unwind_registers(void);
/* Of these, the stack pointer and the program counter. */
uint64_t unwind_pointers(void);
/* blocked.c, by the code of a thread's process. How far the stack pointer is below the frame
 * pointer, but for registers that are saved there, in a function with one; false: its code does not
 * tell. */
bool unwind_frame_bytes(uint32_t tid, uint64_t function, uint64_t pc, uint64_t *bytes);
/* Of code without rules: what the instructions at a return address add to the stack pointer before
 * they return; 0: others are there. */
uint64_t unwind_bytes_behind(uint32_t tid, uint64_t address);
bool unwind_is_behind_call(uint32_t tid, uint64_t address);
void unwind_rules_free(struct unwind *unwind);
