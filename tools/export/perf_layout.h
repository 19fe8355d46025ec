/* SPDX-License-Identifier: MIT */
/*
 * perf_layout.h - what perf needs and dumps do not have: where modules are in memory, and process
 * numbers that are different on different hosts. Private to this folder.
 */
#pragma once

#include "lib/base/hash.h"
#include "tools/export/export.h"

/* A module has the same addresses in all processes: one mapping of its file from offset 0. */
struct perf_module {
	const struct pmc_p_module *module;
	uint64_t start, bytes; /* start 0: there is no room for it */
	uint64_t mapped_in;    /* the process of perf_layout.process that has it already */
	UT_hash_handle hh;
};

/* Where process numbers are unique at a time: a PID namespace of a boot of a host. */
struct perf_space {
	const char *host, *boot_id;
	uint64_t pid_namespace;
};

enum { PERF_SPACES_MOST = 512 };

struct perf_layout {
	struct export *export;
	struct perf_module *modules;
	struct perf_space spaces[PERF_SPACES_MOST];
	unsigned n_spaces;
	uint64_t process; /* counts processes as they are written */
};

/* Finds the addresses of all modules of the samples. 0 or -ENOMEM. */
int perf_layout_init(struct perf_layout *layout, struct export *export);
/* The module of a frame; NULL: it has none, or there is no room. */
struct perf_module *perf_layout_module(const struct perf_layout *layout,
				       const struct pmc_p_frame *frame);
uint64_t perf_layout_address(const struct perf_layout *layout, const struct pmc_p_stack *stack,
			     unsigned i);
/* Number of the process's space; -1: there are too many. */
int perf_layout_space(struct perf_layout *layout, const struct pmc_p_process *process);
/* A PID or TID of that space; 0: it is not known. */
uint32_t perf_layout_number(unsigned space, uint32_t number);
