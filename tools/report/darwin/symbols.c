/* SPDX-License-Identifier: MIT */
/* symbols.c - none on macOS: pmctl is built there without elfutils, which reads symbol tables. */
#include "tools/report/report.h"

void symbols_resolve(struct pmc_profile *profile)
{
	(void)profile;
}

const char *symbols_start(struct symbols *symbols, const struct pmc_profile *profile,
			  const char *path, uint64_t offset, uint64_t start_ns)
{
	(void)symbols, (void)profile, (void)path, (void)offset, (void)start_ns;
	return NULL;
}

bool symbols_unchanged(const char *path, uint64_t start_ns)
{
	(void)path, (void)start_ns;
	return true;
}
