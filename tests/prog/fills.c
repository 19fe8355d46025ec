/* SPDX-License-Identifier: MIT */
/* fills: allocates blocks of 1 MiB until malloc fails. Prints how many. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	static volatile void *last;
	unsigned n = 0;

	while ((last = malloc((size_t)1 << 20)))
		n++;
	printf("%u\n", n);
	return 0;
}
