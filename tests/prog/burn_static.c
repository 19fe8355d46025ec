/* SPDX-License-Identifier: MIT */
/* burn_static MS: uses MS ms of CPU; statically linked, so LD_PRELOAD has no effect. */
/* prog-flags: -static */
#include "burn.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	burn_thread_ms(argc > 1 ? strtol(argv[1], NULL, 10) : 300);
	puts("burnt");
	return 0;
}
