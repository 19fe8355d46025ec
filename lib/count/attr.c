/* SPDX-License-Identifier: MIT */
/* attr.c - the perf_event_attr of an event, also where the kernel is not Linux; see group.h. */
#include "lib/count/group.h"

#include <string.h>

void pmc_perf_size(struct pmc_attr *attr)
{
#ifdef PERF_ATTR_SIZE_VER8
	attr->base.size = sizeof(attr->base);
	attr->base.config3 = attr->config3;
#else
	_Static_assert(offsetof(struct pmc_attr, config3) == 128, "config3 follows sig_data");
	attr->base.size = sizeof(*attr);
#endif
}

void pmc_perf_group_attr(const struct pmc_event *event, enum pmc_scope scope, bool leader,
			 struct pmc_attr *to)
{
	struct perf_event_attr *attr = &to->base;

	memset(to, 0, sizeof(*to));
	to->config3 = event->config3;
	attr->type = event->type;
	attr->config = event->config;
	attr->config1 = event->config1;
	attr->config2 = event->config2;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			    PERF_FORMAT_ID | PERF_FORMAT_GROUP;
	attr->disabled = leader;
	attr->pinned = leader && event->pinned;
	attr->exclude_user = event->exclude_user;
	attr->exclude_kernel = event->exclude_kernel || scope == PMC_SCOPE_USER;
	/* The same events restricted to user mode. */
	if (pmc_event_filter(event) == PMC_UNFILTERED) {
		attr->exclude_user = 0;
		attr->exclude_kernel = 1;
	}
	attr->exclude_hv = attr->exclude_kernel;
	pmc_perf_size(to);
}

void pmc_perf_sample_attr(const struct pmc_event *event, const struct pmc_config_sample *asked,
			  struct pmc_attr *to)
{
	struct perf_event_attr *attr = &to->base;

	pmc_perf_group_attr(event, PMC_SCOPE_USER, true, to);
	if (!asked->frequency) {
		attr->sample_period = asked->period;
	} else if (pmc_event_is_clock(event)) {
		/* As the kernel does for its clocks. */
		attr->sample_period = 1000000000u / asked->frequency;
	} else {
		attr->freq = 1;
		attr->sample_freq = asked->frequency;
	}
}
