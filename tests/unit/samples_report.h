/* SPDX-License-Identifier: MIT */
/* samples_report.h - a dump with samples of two threads, and its report. */
#ifndef PMC_TESTS_SAMPLES_REPORT_H
#define PMC_TESTS_SAMPLES_REPORT_H

#include "tests/unit/report_profile.h"
#include "tests/unit/samples_made.h"
#include "tools/report/report.h"
#include "tests/unit/unit.h"

static const struct made_event clock_event = {
	.name = "task-clock", .type = 1, .config = 1, .unit = "ns", .flags = PMC_EVENT_UNFILTERED
};
static const struct made_event faults_event = {
	.name = "page-faults", .type = 1, .config = 2, .scope = PMC_SCOPE_USER
};

enum { MAIN = 0x1000, WORK = 0x2000, SORT = 0x3000, READ = 0x4000 };

#define APP(address) MADE_FRAME(1, address)
#define LIB(address) MADE_FRAME(0, address)

/* main calls work and read; work calls sort, which calls itself. */
static const struct made_stack stacks[] = {
	{ 1, 0, 1, { APP(MAIN) } },
	{ 2, 0, 2, { APP(WORK), APP(MAIN) } },
	{ 3, 0, 3, { LIB(SORT), APP(WORK), APP(MAIN) } },
	{ 4, 0, 5, { LIB(SORT), LIB(SORT), LIB(SORT), APP(WORK), APP(MAIN) } },
	{ 5, 0, 2, { LIB(READ), APP(MAIN) } },
	{ 6, PMC_STACK_TRUNCATED, 2, { LIB(SORT), LIB(SORT) } },
	{ 7, 0, 2, { MADE_RAW(0x7f0000001234), APP(MAIN) } },
};

static const struct made_event wait_event = {
	.name = "off-cpu", .type = PMC_TYPE_OS, .config = PMC_OS_OFF_CPU, .unit = "ns"
};

static const char *lib_path = "/opt/none/lib.so";

/* Two threads: 100 samples of 1 ms in the first, 20 in the second; two waits of 2.5 s. */
static inline void make(struct pmc_profile *profile)
{
	const struct pmc_process_fixed process = { .pid = 7,
						   .rank = -1,
						   .start_ns = 1,
						   .end_ns = 1000000000,
						   .time_ns = 1000000000,
						   .cpu_ns = 120000000,
						   .threads_seen = 2,
						   .flags = PMC_PROCESS_FIRST,
						   .how_ended = PMC_ENDED_EXIT };
	const struct pmc_sample first[] = {
		{ 1, 5, 5000000 },   { 2, 15, 15000000 }, { 3, 30, 30000000 }, { 4, 10, 10000000 },
		{ 5, 25, 25000000 }, { 6, 5, 5000000 },	  { 7, 6, 6000000 },   { 0, 4, 4000000 },
	};
	const struct pmc_sample second[] = { { 2, 20, 20000000 } };
	const struct pmc_sample faults[] = { { 1, 2, 2 } };
	const struct pmc_sample waits[] = { { 5, 1, 2000000000 }, { 3, 1, 500000000 } };
	uint64_t clock, fault, wait, modules[2];

	made_begin();
	clock = made_set(&clock_event, 1);
	fault = made_set(&faults_event, 1);
	wait = made_set(&wait_event, 1);
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .flags = PMC_THREAD_MAIN, .cpu_ns = 100000000 },
		    "app", NULL, 0);
	made_thread(1,
		    (struct pmc_thread_fixed){ .seq = 1, .cpu_ns = 20000000, .created_stack = 2 },
		    "pool-1", NULL, 0);
	modules[0] = made_module(lib_path, "lib-id");
	modules[1] = made_module("/opt/none/app", "app-id");
	made_stacks(1, modules, 2, stacks, sizeof(stacks) / sizeof(stacks[0]));
	made_samples(1,
		     (struct pmc_samples_fixed){ .eventset = clock,
						 .period = 1000000,
						 .samples = 100,
						 .lost = 3,
						 .truncated = 5 },
		     125000000, first, 8);
	made_samples(1,
		     (struct pmc_samples_fixed){
			     .seq = 1, .eventset = clock, .period = 1000000, .samples = 20 },
		     25000000, second, 1);
	made_samples(1, (struct pmc_samples_fixed){ .eventset = fault, .period = 1, .samples = 2 },
		     4, faults, 1);
	made_samples(1, (struct pmc_samples_fixed){ .eventset = wait, .period = 1, .samples = 2 },
		     0, waits, 2);
	made_profile(profile, false);
}

static inline char *report_with(struct pmc_report_options options, int result_wanted,
				const char **problem)
{
	struct report_names *names;
	struct pmc_profile profile;
	char *text;
	int result;

	make(&profile);
	options.top = options.top ? options.top : -1;
	names = report_names_new(NULL);
	options.fold_samples = report_fold_samples;
	options.path_of = report_path_of;
	options.names_arg = names;
	text = made_report(&profile, &options, &result, problem);
	assert_int_equal(result, result_wanted);
	report_names_free(names);
	if (!problem)
		pmc_profile_free(&profile);
	return text;
}

static inline char *report(struct pmc_report_options options)
{
	return report_with(options, 0, NULL);
}

#endif
