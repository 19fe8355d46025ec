/* SPDX-License-Identifier: MIT */
/* symbols.c - none on macOS: the agent asks dyld for the names of start routines. */
#include "tools/report/symbols.h"

size_t symbols_lookup(const char *module, uint64_t offset, char *name, size_t cap)
{
	(void)module, (void)offset, (void)name, (void)cap;
	return 0;
}

void symbols_resolve(struct pmc_profile *profile, const char *host)
{
	(void)profile, (void)host;
}
