/* SPDX-License-Identifier: MIT */
/* here.c - the facts of struct pmc_here that macOS has: whether this is a virtual machine. */
#include "lib/base/advice.h"

#include <sys/sysctl.h>

void pmc_here_read(struct pmc_here *here, const struct pmc_roots *roots)
{
	int present = 0;
	size_t bytes = sizeof(present);

	(void)roots;
	*here = (struct pmc_here){ .paranoid = PMC_LEVEL_UNKNOWN };
	if (sysctlbyname("kern.hv_vmm_present", &present, &bytes, NULL, 0) == 0 && present)
		here->vm = "unnamed hypervisor";
}
