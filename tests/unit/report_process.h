/* SPDX-License-Identifier: MIT */
/* report_process.h - a process of 0.62 s and its threads, for tests of the table. */
#ifndef PMC_TESTS_REPORT_PROCESS_H
#define PMC_TESTS_REPORT_PROCESS_H

#include "tests/unit/report_profile.h"
#include "tests/unit/unit.h"

#define MS 1000000ull

static const struct pmc_process_fixed process_like = {
	.pid = 12037,
	.ppid = 1,
	.start_ns = 1000 * MS,
	.end_ns = 1620 * MS,
	.time_ns = 1620 * MS,
	.cpu_ns = 2310 * MS,
	.overhead_ns = 7 * MS,
	.flags = PMC_PROCESS_FIRST,
	.how_ended = PMC_ENDED_EXIT,
	.rank = -1,
};

static inline struct pmc_thread_fixed thread_like(uint64_t seq, uint64_t cpu_ns, uint64_t set)
{
	return (struct pmc_thread_fixed){
		.seq = seq,
		.tid = (uint32_t)(12037 + seq),
		.state = PMC_THREAD_EXITED,
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.start_ns = 1000 * MS,
		.end_ns = 1600 * MS,
		.time_ns = 1600 * MS,
		.cpu_ns = cpu_ns,
		.minor_faults = 300 + seq,
		.major_faults = seq == 1,
		.voluntary_switches = 10,
		.involuntary_switches = 8,
		.created_by = seq ? 0 : PMC_NO_SEQ,
		.eventset = set,
	};
}

static inline char *table_of(struct pmc_profile *profile, struct pmc_report_options options)
{
	char *text;
	int result;

	options.top = options.top ? options.top : -1;
	text = made_report(profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	return text;
}

#endif
