/* SPDX-License-Identifier: MIT */
/* delay.c - waits for a CPU that have not ended yet; see delay.h. */
#include "tools/live/delay.h"
#include "lib/base/number.h"

void live_delay_begin(struct live_delay *delay, uint64_t cpu_ns, uint64_t charged_ns, bool runnable)
{
	*delay = (struct live_delay){ .cpu_before_ns = cpu_ns,
				      .charged_before_ns = charged_ns,
				      .waited = runnable };
}

/* Splits the time off the CPU since the first reading, so that each part never falls. The kernel
 * adds a wait for a CPU when it ends, and time on a CPU at the next tick or switch. What it has not
 * added yet of a thread that was runnable throughout is a wait; of another one nobody knows, and it
 * counts as blocked until the kernel adds it. */
void live_delay_read(struct live_delay *delay, uint64_t ns, uint64_t cpu_ns, uint64_t charged_ns,
		     bool runnable)
{
	uint64_t charged = charged_ns - delay->charged_before_ns;
	const uint64_t left_ns = pmc_sub_sat(ns, cpu_ns - delay->cpu_before_ns + delay->blocked_ns);

	/* The rest is of before the first reading. */
	if (delay->waited && charged > left_ns) {
		delay->charged_before_ns += charged - left_ns;
		charged = left_ns;
	}
	delay->waited = delay->waited && !charged;
	if (runnable || charged > left_ns)
		charged = left_ns;
	if (charged > delay->delay_ns)
		delay->delay_ns = charged;
	delay->blocked_ns += pmc_sub_sat(left_ns, delay->delay_ns);
}
