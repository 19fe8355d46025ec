/* SPDX-License-Identifier: MIT */
/* callchains.c - samples call chains every 0.1 ms of CPU time; cc -fno-omit-frame-pointer. */
#include <pmc/sampler.h>
#include <stdio.h>

__attribute__((noinline)) static double work(unsigned n)
{
	volatile double sum = 0;

	for (unsigned i = 1; i <= n; i++)
		sum += 1.0 / i;
	return sum;
}

int main(void)
{
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	struct pmc_record record;
	struct pmc_failure why;

	options.sample_period = 100000; /* ns of task-clock */
	options.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	if (pmc_counter_event_parse(&event, "task-clock", &why) ||
	    pmc_counter_open(&counter, &event, &options, &why) ||
	    pmc_sampler_open(&sampler, counter, 64, &why))
		return fprintf(stderr, "%s: %s\n", why.what, why.advice), 1;
	pmc_counter_enable(counter);
	work(10000000);
	pmc_counter_disable(counter);
	while (pmc_sampler_next(sampler, &record) == 0) {
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		printf("%llu", (unsigned long long)record.time);
		for (uint64_t i = 0; i < record.sample.n_callchain; i++)
			printf(" %#llx", (unsigned long long)record.sample.callchain[i]);
		putchar('\n');
	}
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}
