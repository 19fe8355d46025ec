/* SPDX-License-Identifier: MIT */
/* sample.c - see sample.h. */
#include "lib/event/sample.h"
#include "lib/base/out.h"

#include <linux/perf_event.h>

#define SECOND_NS 1000000000u
/* The kernel takes shorter periods of its clocks for this one: perf_swevent_start_hrtimer() in
 * kernel/events/core.c. */
#define LEAST_CLOCK_NS (SECOND_NS / PMC_SAMPLE_HZ_MOST)

bool pmc_event_is_clock(const struct pmc_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_TASK_CLOCK ||
						     event->config == PERF_COUNT_SW_CPU_CLOCK);
}

const char *pmc_sample_refusal(const struct pmc_event *event, const struct pmc_config_sample *asked,
			       char text[PMC_SAMPLE_WHY])
{
	struct pmc_out out;

	pmc_out_to_mem(&out, text, PMC_SAMPLE_WHY);
	if (event->exclude_user || pmc_event_filter(event) == PMC_KERNEL_ONLY)
		pmc_out_str(&out, "it occurs in the kernel only, and samples are taken in user "
				  "mode; name another event, such as task-clock");
	else if (pmc_event_is_clock(event) && asked->period && asked->period < LEAST_CLOCK_NS)
		pmc_outf(&out,
			 "a period of %llu ns is too short for the kernel; give %u ns or more, or "
			 "samples per second, such as task-clock/997",
			 (unsigned long long)asked->period, LEAST_CLOCK_NS);
	return out.len ? text : NULL;
}

uint64_t pmc_sample_rate(const struct pmc_event *event, const struct pmc_config_sample *asked)
{
	const uint32_t id = (uint32_t)event->config; /* above it: the PMU of a type of core */
	const bool often = pmc_event_is_clock(event) ||
			   (event->type == PERF_TYPE_HARDWARE &&
			    (id == PERF_COUNT_HW_CPU_CYCLES || id == PERF_COUNT_HW_INSTRUCTIONS ||
			     id == PERF_COUNT_HW_REF_CPU_CYCLES));

	if (!asked->period)
		return asked->frequency;
	return often ? SECOND_NS / asked->period : 0;
}
