/* SPDX-License-Identifier: MIT */
/* counter_event.c - events given as numbers. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <pmc/counter_event.h>

static int fill(struct pmc_counter_event *event, uint32_t type, uint64_t config)
{
	*event = (struct pmc_counter_event){ .type = type, .config = config, .scale = 1 };
	return 0;
}

int pmc_counter_event_hardware(struct pmc_counter_event *event, uint64_t id)
{
	return fill(event, PERF_TYPE_HARDWARE, id);
}

int pmc_counter_event_software(struct pmc_counter_event *event, uint64_t id)
{
	fill(event, PERF_TYPE_SOFTWARE, id);
	if (id == PERF_COUNT_SW_CPU_CLOCK || id == PERF_COUNT_SW_TASK_CLOCK) {
		event->unit[0] = 'n';
		event->unit[1] = 's';
	}
	return 0;
}

int pmc_counter_event_cache(struct pmc_counter_event *event, uint32_t cache, uint32_t op,
			    uint32_t result)
{
	if (cache > 0xff || op > 0xff || result > 0xff)
		return -EINVAL;
	return fill(event, PERF_TYPE_HW_CACHE, cache | (uint64_t)op << 8 | (uint64_t)result << 16);
}

int pmc_counter_event_raw(struct pmc_counter_event *event, uint64_t config, uint64_t config1,
			  uint64_t config2)
{
	fill(event, PERF_TYPE_RAW, config);
	event->config1 = config1;
	event->config2 = config2;
	return 0;
}

int pmc_counter_event_tracepoint_id(struct pmc_counter_event *event, uint64_t id)
{
	return fill(event, PERF_TYPE_TRACEPOINT, id);
}

int pmc_counter_event_breakpoint(struct pmc_counter_event *event, uint32_t type, uint64_t address,
				 uint64_t length)
{
	if (length == 0)
		length = sizeof(long);
	if (type != HW_BREAKPOINT_R && type != HW_BREAKPOINT_W && type != HW_BREAKPOINT_RW &&
	    type != HW_BREAKPOINT_X)
		return -EINVAL;
	if (length > 8 || (length & (length - 1)))
		return -EINVAL;
	fill(event, PERF_TYPE_BREAKPOINT, 0);
	event->bp_type = type;
	event->config1 = address;
	event->config2 = length;
	return 0;
}
