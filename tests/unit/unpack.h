/* SPDX-License-Identifier: MIT */
/* unpack.h - rows of a profile, unpacked; each stays valid for the next 15. */
#ifndef PMC_TESTS_UNPACK_H
#define PMC_TESTS_UNPACK_H

#include "tools/rows/profile.h"

static inline const struct pmc_p_thread *unpack_row(const struct pmc_profile *profile,
						    const struct pmc_p_row *row)
{
	static struct pmc_thread_buf bufs[16];
	static unsigned next;

	return pmc_profile_thread(profile, row, &bufs[next++ % 16]);
}

#endif
