/* SPDX-License-Identifier: MIT */
/* sampler_try.h - counters of the running kernel for tests of the sampler. */
#ifndef TESTS_UNIT_SAMPLER_TRY_H
#define TESTS_UNIT_SAMPLER_TRY_H

#include "tests/unit/unit.h"

#include <pmc/sampler.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* getppid ignores its arguments, which carry the numbers of the samples. */
#define BEAT_CALL SYS_getppid

static inline void beat(uint64_t a, uint64_t b, uint64_t c)
{
	syscall(BEAT_CALL, a, b, c);
}

/* PERF_SAMPLE_RAW of raw_syscalls:sys_enter: 8 common bytes, the system call's number, 6 words. */
struct beat {
	uint64_t number, args[6];
};

static inline bool beat_of(const struct pmc_record *record, struct beat *b)
{
	if (record->type != PERF_RECORD_SAMPLE || record->sample.raw.size < 8 + sizeof(*b))
		return false;
	memcpy(b, record->sample.raw.data + 8, sizeof(*b));
	return b->number == BEAT_CALL;
}

/* tracefs, mounted in a mount namespace of this process if the machine has none mounted. */
static inline bool have_tracefs(void)
{
	const char *id = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";

	if (!access(id, R_OK))
		return true;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL))
		return false;
	return !access(id, R_OK);
}

static inline struct pmc_counter *opened(const struct pmc_counter_event *event,
					 const struct pmc_open_options *open)
{
	struct pmc_counter *counter;
	struct pmc_failure failure;
	int error = pmc_counter_open(&counter, event, open, &failure);

	if (error == -EACCES || error == -EPERM) {
		print_message("skipped: this user may not count that: %s\n", failure.advice);
		skip();
	}
	if (error)
		fail_msg("open: %s: %s: %s", strerror(-error), failure.what, failure.advice);
	return counter;
}

/* Counts the system calls that carry a number, with a sample for each. */
static inline struct pmc_counter *open_beats(struct pmc_open_options open)
{
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	char filter[32];

	assert_int_equal(pmc_counter_event_tracepoint(&event, "raw_syscalls", "sys_enter", NULL),
			 0);
	open.sample_period = 1;
	open.sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_TIME;
	open.sample_id_all = true;
	counter = opened(&event, &open);
	snprintf(filter, sizeof(filter), "id == %d", (int)BEAT_CALL);
	assert_int_equal(pmc_counter_set_filter(counter, filter), 0);
	return counter;
}

static inline struct pmc_counter *open_software(uint64_t id, const struct pmc_open_options *open)
{
	struct pmc_counter_event event;

	assert_int_equal(pmc_counter_event_software(&event, id), 0);
	return opened(&event, open);
}

static inline struct pmc_sampler *sampled(struct pmc_counter *counter, unsigned pages)
{
	struct pmc_sampler *sampler;
	int error = pmc_sampler_open(&sampler, counter, pages, NULL);

	if (error)
		fail_msg("sampler: %s", strerror(-error));
	return sampler;
}

#define NEED_TRACEFS()                                                                             \
	do {                                                                                       \
		if (!have_tracefs()) {                                                             \
			print_message("skipped: tracefs can't be read by this user\n");            \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#endif
