/* SPDX-License-Identifier: MIT */
/* symbols.c - none on macOS: pmctl is built there without elfutils, which reads symbol tables. */
#include "tools/report/symbols.h"

void symbols_resolve(struct pmc_profile *profile, const char *host)
{
	(void)profile, (void)host;
}
