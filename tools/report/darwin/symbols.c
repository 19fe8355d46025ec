/* SPDX-License-Identifier: MIT */
/* symbols.c - none on macOS: pmctl is built there without elfutils, which reads symbol tables. */
#include "tools/report/report.h"

void symbols_resolve(struct pmc_profile *profile)
{
	(void)profile;
}

bool symbols_unchanged(const char *path, uint64_t start_ns)
{
	(void)path, (void)start_ns;
	return true;
}
