/* SPDX-License-Identifier: MIT */
/*
 * sample_depth DEPTH N: a loop of N instructions (N even) in the DEPTH-th function from main on.
 */
#include "loop.h"

#include <stdlib.h>

__attribute__((noinline)) static void descend(unsigned depth, unsigned long n)
{
	if (depth > 1)
		descend(depth - 1, n);
	else
		run_instructions(n);
	/* No call is the last thing that this function does. */
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	unsigned long n = depth ? strtoul(argv[2], NULL, 10) : 0;

	if (!n)
		return 2;
	if (depth > 1)
		descend(depth - 1, n);
	else
		run_instructions(n);
	return 0;
}
