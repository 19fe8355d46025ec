/* SPDX-License-Identifier: MIT */
/* mark_regions.c - pmctl run -o run.pmc -- ./mark_regions; pmctl report --by region run.pmc */
#include <pmc/region.h>
#include <pthread.h>

static void *work(void *arg)
{
	static _Thread_local volatile unsigned numbers[100000];

	pmc_region_begin("fill");
	for (unsigned i = 0; i < 100000; i++)
		numbers[i] = i * 1103515245 + 12345;
	pmc_region_end();
	pmc_region_begin("sum");
	for (unsigned i = 1; i < 100000; i++)
		numbers[i] += numbers[i - 1];
	pmc_region_end();
	return arg;
}
int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
