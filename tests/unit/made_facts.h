/* SPDX-License-Identifier: MIT */
/* made_facts.h - facts about made machines for pmctl doctor. */
#ifndef PMC_TESTS_UNIT_MADE_FACTS_H
#define PMC_TESTS_UNIT_MADE_FACTS_H

#include "tools/doctor/facts.h"

#include <errno.h>

static const struct doctor_facts good = {
	.here = {
		.paranoid = 0,
		.max_sample_rate = 100000,
		.user_namespace = PMC_NO,
		.perfmon = PMC_NO,
		.core_pmu = PMC_YES,
		.filtered = PMC_NO,
	},
	.pmus = "cpu",
	.cycles_run = PMC_YES,
	.counters = 6,
	.counters_free = 6,
	.uid = 1000,
	.nmi_watchdog = 0,
	.ptrace_scope = 0,
	.user_access = DOCTOR_NONE,
	.rdpmc = 1,
	.rdpmc_file = "/sys/bus/event_source/devices/cpu/rdpmc",
	.nofile_soft = 1024,
	.nofile_hard = 1 << 20,
	.tracefs_mounted = true,
	.tracefs_readable = true,
	.tracefs_names = true,
	.agent = "/usr/local/bin/libpmcagent.so",
	.agent_dir = "/usr/local/bin",
	.agent_version = PMC_VERSION,
	.pfm = "/usr/lib/libpfm.so.4",
};

static inline void all_opens(struct doctor_facts *facts, int error)
{
	facts->cycles = facts->cycles_user = facts->software = facts->software_user =
		facts->system_wide = facts->ring = error;
	if (error)
		facts->counters = facts->counters_free = 0;
}

static inline void no_pmu(struct doctor_facts *facts)
{
	facts->pmus[0] = '\0';
	facts->here.core_pmu = PMC_NO;
	facts->cycles = facts->cycles_user = -ENOENT;
	facts->cycles_run = PMC_UNKNOWN;
	facts->counters = facts->counters_free = 0;
}

#endif
