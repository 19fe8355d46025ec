/* SPDX-License-Identifier: MIT */
/* here.c - the facts of struct pmc_here that macOS has, and random bytes of this process for
 * hash.h.
 */
#include "lib/base/advice.h"
#include "lib/base/hash.h"

#include <stdatomic.h>
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

/* Drawn once. */
const void *pmc_process_random(void)
{
	static uint8_t bytes[16];
	static _Atomic int state; /* 0: not drawn, 1: being drawn, 2: drawn */
	int none = 0;

	if (atomic_compare_exchange_strong(&state, &none, 1)) {
		arc4random_buf(bytes, sizeof(bytes));
		atomic_store(&state, 2);
	}
	/* Another thread may be drawing: tables must use one key from their first entry on. */
	while (atomic_load(&state) != 2)
		;
	return bytes;
}
