/* SPDX-License-Identifier: MIT */
/*
 * regions_busy - raises a dump signal (PMC_DUMP=USR2) with the sequence number of its region area
 * set as during a record update, then a second one with it set as after the update.
 * prog-flags: -I. -Iinclude */
#include "lib/live/control.h"

#include <pmc/region.h>

#include <dlfcn.h>
#include <signal.h>

int main(void)
{
	struct pmc_control *control = dlsym(RTLD_DEFAULT, "pmc_agent_control");
	const struct registry *registry;
	struct region_area *area;

	pmc_region_begin("busy");
	pmc_region_end();
	if (!control)
		return 1;
	registry = (const struct registry *)(uintptr_t)control->registry;
	area = (struct region_area *)(uintptr_t)registry_slot(registry, 0)->regions;
	if (!area)
		return 1;
	atomic_fetch_add(&area->sequence, 1);
	raise(SIGUSR2);
	atomic_fetch_add(&area->sequence, 1);
	raise(SIGUSR2);
	return 0;
}
