/* SPDX-License-Identifier: MIT */
/* here.c - the facts of struct pmc_here that macOS has, and random bytes of this process for
 * hash.h.
 */
#include "lib/base/advice.h"
#include "lib/base/hash.h"

#include <stdlib.h>
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

static uint8_t bytes[16];

/* Before main, and so before the first table. */
__attribute__((constructor)) static void draw(void)
{
	arc4random_buf(bytes, sizeof(bytes));
}

const void *pmc_process_random(void)
{
	return bytes;
}
