/* SPDX-License-Identifier: MIT */
/* symbols.h - names for start routines that a dump knows as module and offset only. */
#ifndef PMC_TOOLS_REPORT_SYMBOLS_H
#define PMC_TOOLS_REPORT_SYMBOLS_H

#include "tools/rows/profile.h"
#include "tools/symbol/symbol.h"

/* Gives every thread of the profile whose start routine has no symbol one from its module's
 * file, where that is on this machine and has a function starting just there. Files that are
 * missing or no ELF change nothing. Threads of other hosts are left alone: their files of the
 * same path may differ. `host` NULL: this machine's name. */
void symbols_resolve(struct pmc_profile *profile, const char *host);

/* Whether a file has not changed since start_ns (CLOCK_MONOTONIC; 0: unknown, and false). */
bool symbols_unchanged(const char *path, uint64_t start_ns);
/* The function at `offset` of a file that is as a process had it: by the build ID in the stacks of
 * the dump, else because it has not changed since start_ns (CLOCK_MONOTONIC; 0: of another boot).
 * NULL: unknown. */
const char *symbols_start(struct symbols *symbols, const struct pmc_profile *profile,
			  const char *path, uint64_t offset, uint64_t start_ns);

#endif
