/* SPDX-License-Identifier: MIT */
/* none.c - macOS writes no records of switches: pmctl run has no --off-cpu there. */
#include "tools/profile/profile.h"

void off_cpu_stop(struct off_cpu *off)
{
	(void)off;
}

bool off_cpu_write(struct off_cpu *off, const struct pmc_profile *profile, const char *path, int fd)
{
	(void)off, (void)profile, (void)path, (void)fd;
	return false;
}

void off_cpu_free(struct off_cpu *off)
{
	(void)off;
}
