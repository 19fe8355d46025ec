/* SPDX-License-Identifier: MIT */
/*
 * private.h - processes and their mappings, modules and unwind rules. Private to this folder.
 *
 * images.c follows processes; walk.c walks stacks.
 */
#pragma once

#include "tools/unwind/unwind.h"

#include <pmc/sampler.h>

/* A copy of the stack takes this of the ring, also if less of it is in use. */
#define UNWIND_STACK_BYTES 8192

/* Where a file is mapped. */
struct unwind_map {
	uint64_t start, end, file_offset;
	struct unwind_module *module; /* NULL: no file */
};

/* A process from its fork or exec to the next exec. */
struct unwind_image {
	uint32_t pid;
	uint32_t threads;	     /* that have not ended */
	struct unwind_map *maps;     /* later ones replace what they overlap */
	size_t n_maps, room, n_read; /* n_read: when they were last read */
	UT_hash_handle hh;
};

/* images.c; NULL: nothing is mapped there. */
const struct unwind_map *unwind_map_at(const struct unwind_image *image, uint64_t address);

/* walk.c. The stack of a sample, the innermost frame first: `words` for PMC_STACK_DEPTH_MAX frames.
 * Returns their number. */
unsigned unwind_walk(struct unwind *unwind, const struct unwind_image *image,
		     const struct pmc_record *record, uint64_t *words, uint16_t *flags);
/* User registers to sample for it; 0: not on this CPU. */
uint64_t unwind_registers(void);
void unwind_rules_free(struct unwind *unwind);
