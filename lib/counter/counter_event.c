/* SPDX-License-Identifier: MIT */
/* counter_event.c - events given as numbers, and their names. */
#include "lib/counter/counter.h"
#include "lib/counter/counter_event.h"
#include "lib/base/out.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>

/* ---- names --------------------------------------------------------------------------------*/

struct name_search {
	uint32_t type;
	uint64_t config;
	struct pmc_out *out;
};

static void try_name(const struct pmc_builtin *row, void *arg)
{
	struct name_search *search = arg;

	if (!search->out->len && !row->alias_of && row->type == search->type &&
	    row->config == search->config)
		pmc_out_str(search->out, row->name);
}

/* The name as in perf, or of the form "software 12". */
static void set_name(struct pmc_counter_event *event, const char *kind)
{
	struct pmc_out out;
	struct name_search search = { event->type, event->config, &out };

	pmc_out_to_mem(&out, event->name, sizeof(event->name));
	pmc_builtins_each(try_name, &search);
	if (!out.len)
		pmc_outf(&out, "%s 0x%llx", kind, (unsigned long long)event->config);
}

const char *counter_event_name(const struct pmc_counter_event *event)
{
	return event->name[0] ? event->name : "event";
}

enum pmc_filter counter_filter(const struct pmc_counter_event *event)
{
	const struct pmc_event same = { .type = event->type,
					.config = event->config,
					.filter = event->filter };

	return pmc_event_filter(&same);
}

/* ---- numbers ------------------------------------------------------------------------------*/

static int fill(struct pmc_counter_event *event, uint32_t type, uint64_t config, const char *kind)
{
	if (!event)
		return -EINVAL;
	*event = (struct pmc_counter_event){ .type = type, .config = config, .scale = 1 };
	set_name(event, kind);
	return 0;
}

int pmc_counter_event_hardware(struct pmc_counter_event *event, uint64_t id)
{
	return fill(event, PERF_TYPE_HARDWARE, id, "hardware");
}

int pmc_counter_event_software(struct pmc_counter_event *event, uint64_t id)
{
	if (fill(event, PERF_TYPE_SOFTWARE, id, "software"))
		return -EINVAL;
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
	return fill(event, PERF_TYPE_HW_CACHE, cache | (uint64_t)op << 8 | (uint64_t)result << 16,
		    "cache");
}

int pmc_counter_event_raw(struct pmc_counter_event *event, uint64_t config, uint64_t config1,
			  uint64_t config2)
{
	if (fill(event, PERF_TYPE_RAW, config, "raw"))
		return -EINVAL;
	event->config1 = config1;
	event->config2 = config2;
	return 0;
}

int pmc_counter_event_tracepoint_id(struct pmc_counter_event *event, uint64_t id)
{
	return fill(event, PERF_TYPE_TRACEPOINT, id, "tracepoint");
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
	if (fill(event, PERF_TYPE_BREAKPOINT, address, "breakpoint"))
		return -EINVAL;
	event->config = 0;
	event->bp_type = type;
	event->config1 = address;
	event->config2 = length;
	return 0;
}
