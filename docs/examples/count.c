/* SPDX-License-Identifier: MIT */
/* count.c - counts the page faults of a function. */
#include <pmc/counter.h>
#include <stdio.h>

int main(void)
{
	static volatile char memory[1 << 20];
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	struct pmc_failure why;
	uint64_t count;

	if (pmc_counter_event_parse(&event, "page-faults", &why) ||
	    pmc_counter_open(&counter, &event, NULL, &why))
		return fprintf(stderr, "%s: %s\n", why.what, why.advice), 1;
	pmc_counter_enable(counter);
	for (size_t i = 0; i < sizeof(memory); i += 4096)
		memory[i] = 1;
	pmc_counter_disable(counter);
	if (pmc_counter_read(counter, &count) == 0)
		printf("%llu page faults\n", (unsigned long long)count);
	pmc_counter_close(counter);
}
