/* SPDX-License-Identifier: MIT */
/* random.c - the random bytes that the kernel gives to each process; see hash.h. */
#include "lib/base/hash.h"

#include <sys/auxv.h>

const void *pmc_process_random(void)
{
	return (const void *)getauxval(AT_RANDOM);
}
