/* SPDX-License-Identifier: MIT */
/* omp: an OpenMP parallel loop on four threads, each named. */
/* prog-flags: -fopenmp */
#include "burn.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>

int main(void)
{
	long sum = 0;

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
