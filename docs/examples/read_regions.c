/* SPDX-License-Identifier: MIT */
/* read_regions.c - a program that reads its own regions: cc read_regions.c -lpmc
 * LD_PRELOAD=libpmcagent.so PMC_EVENTS=page-faults ./a.out */
#include <inttypes.h>
#include <pmc/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	struct pmc_region_sum sum;
	int code;

	for (size_t mib = 1; mib <= 8; mib *= 2) {
		pmc_region_begin("fill");
		free(memset(malloc(mib << 20), 1, mib << 20));
		pmc_region_end();
		code = pmc_region_read("fill", "page-faults", &sum);
		if (code) {
			fprintf(stderr, "read_regions: %s; start it by pmctl run\n",
				strerror(-code));
			return 1;
		}
		printf("%" PRIu64 " calls, %" PRIu64 " ns, %" PRIu64 " page faults\n", sum.calls,
		       sum.cpu_ns, sum.count);
	}
	return 0;
}
