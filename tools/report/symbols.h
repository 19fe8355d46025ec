/* SPDX-License-Identifier: MIT */
/* symbols.h - names for start routines that a dump knows as module and offset only. */
#ifndef PMC_TOOLS_REPORT_SYMBOLS_H
#define PMC_TOOLS_REPORT_SYMBOLS_H

#include "agent/core/profile/profile.h"

/* Gives every thread of the profile whose start routine has no symbol one from its module's
 * file, where that is on this machine and has a function starting just there. Files that are
 * missing or no ELF change nothing. Threads of other hosts are left alone: their files of the
 * same path may differ. `host` NULL: this machine's name. */
void symbols_resolve(struct pmc_profile *profile, const char *host);

#endif
