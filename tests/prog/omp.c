/* SPDX-License-Identifier: MIT */
/* omp [REGIONS]: an OpenMP parallel loop on four threads, each named; or so many small ones; or
 * less than none: so many in which one of two threads has 30 times the work of the other. */
/* prog-flags: -fopenmp */
#include "burn.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const long regions = argc > 1 ? atol(argv[1]) : 0;
	long sum = 0;

	for (long region = regions; region < 0; region++) {
#pragma omp parallel num_threads(2)
		burn_thread_ms(omp_get_thread_num() ? region % 10 == 0 : 3);
	}
	for (long region = 0; region < regions; region++) {
#pragma omp parallel for num_threads(4) reduction(+ : sum)
		for (long i = 0; i < 20000; i++)
			sum += i ^ region;
	}
	if (regions) {
		printf("sum %ld\n", sum);
		return 0;
	}
#pragma omp parallel num_threads(4) reduction(+ : sum)
	{
		if (omp_get_thread_num()) {
			char name[16];

			snprintf(name, sizeof(name), "omp-%d", omp_get_thread_num());
			pthread_setname_np(pthread_self(), name);
		}
		burn_thread_ms(15);
#pragma omp for
		for (long i = 1; i <= 1000; i++)
			sum += i;
	}
	printf("sum %ld\n", sum);
	return 0;
}
