/* SPDX-License-Identifier: MIT */
/*
 * regions_busy - a region that another thread keeps recording, whenever a snapshot looks: its area
 * is left as if it were being changed while a dump signal comes (PMC_DUMP=USR2), then no more.
 * prog-flags: -I. -Iinclude */
#include "agent/core/live/control.h"
#include "agent/core/live/region_area.h"

#include <pmc/region.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
	struct pmc_control *control = dlsym(RTLD_DEFAULT, "pmc_agent_control");
	struct region_area *area;

	pmc_region_begin("busy");
	pmc_region_end();
	if (!control || !control->region_areas)
		return 1;
	area = *(struct region_area **)(uintptr_t)control->region_areas;
	atomic_fetch_add(&area->sequence, 1);
	raise(SIGUSR2);
	atomic_fetch_add(&area->sequence, 1);
	raise(SIGUSR2);
	return 0;
}
