/* SPDX-License-Identifier: MIT */
/* counter_try.h - shared by the tests of counters: known work, tracefs, rings, descriptors. */
#ifndef PMC_TESTS_COUNTER_TRY_H
#define PMC_TESTS_COUNTER_TRY_H

#include "tests/unit/touch_pages.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pmc/counter.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Uses CPU until the thread's clock has advanced by this much. */
static inline void burn_ns(uint64_t ns)
{
	struct timespec from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((uint64_t)(now.tv_sec - from.tv_sec) * 1000000000 +
		       (uint64_t)(now.tv_nsec - from.tv_nsec) <
	       ns);
}

static inline struct pmc_counter_event software(uint64_t id)
{
	struct pmc_counter_event event;

	assert_int_equal(pmc_counter_event_software(&event, id), 0);
	return event;
}

/* Whether this user may count the kernel, as most of these tests do. If not, prints why; the caller
 * ends. */
static inline bool may_count(void)
{
	struct pmc_counter_event event;
	struct pmc_failure failure = { 0 };
	struct pmc_counter *counter;
	int error;

	pmc_counter_event_software(&event, PERF_COUNT_SW_PAGE_FAULTS);
	error = pmc_counter_open(&counter, &event, NULL, &failure);
	pmc_counter_close(counter);
	if (error == -EACCES || error == -EPERM || error == -ENOSYS)
		printf("1..0 # SKIP %s\n", failure.advice);
	return error != -EACCES && error != -EPERM && error != -ENOSYS;
}

/* Opens, or fails the test with the reason. */
static inline struct pmc_counter *must_open(const struct pmc_counter_event *event,
					    const struct pmc_open_options *open)
{
	struct pmc_failure failure = { 0 };
	struct pmc_counter *counter;
	int error = pmc_counter_open(&counter, event, open, &failure);

	if (error)
		fail_msg("open: %s: %s: %s", strerror(-error), failure.what, failure.advice);
	return counter;
}

/* Mounts tracefs in a mount namespace of this process if the machine has none mounted. False: not
 * possible. */
static inline bool have_tracefs(void)
{
	static int known = -1;

	if (known < 0) {
		known = access("/sys/kernel/tracing/events", R_OK) == 0;
		if (!known && unshare(CLONE_NEWNS) == 0) {
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
			known = mount("t", "/sys/kernel/tracing", "tracefs", 0, NULL) == 0;
		}
	}
	return known;
}

/* Calls of getppid(2), by a tracepoint: one per call. */
static inline void calls(unsigned n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
}

static inline struct pmc_counter_event entries_of(const char *tracepoint)
{
	struct pmc_failure failure = { 0 };
	struct pmc_counter_event event;

	if (!have_tracefs()) {
		print_message("skip: tracefs cannot be mounted by this user\n");
		skip();
	}
	if (pmc_counter_event_tracepoint(&event, "syscalls", tracepoint, &failure))
		fail_msg("%s: %s", failure.what, failure.advice);
	return event;
}

static inline struct pmc_counter_event getppid_event(void)
{
	return entries_of("sys_enter_getppid");
}

/* ---- rings ------------------------------------------------------------------------------- */

#define RING_PAGES 64

static inline struct perf_event_mmap_page *ring_map(const struct pmc_counter *counter, int prot)
{
	void *ring =
		mmap(NULL, (1 + RING_PAGES) * 4096, prot, MAP_SHARED, pmc_counter_fd(counter), 0);

	if (ring == MAP_FAILED)
		fail_msg("mmap: %s", strerror(errno));
	return ring;
}

static inline void ring_unmap(struct perf_event_mmap_page *ring)
{
	munmap(ring, (1 + RING_PAGES) * 4096);
}

/* The first record of this type, with all of these bits in misc, in a ring that is not emptied; or
 * NULL. */
static inline const struct perf_event_header *ring_find(const struct perf_event_mmap_page *ring,
							uint32_t type, uint16_t misc)
{
	const char *data = (const char *)ring + 4096;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);

	assert_true(head <= RING_PAGES * 4096);
	for (uint64_t at = 0; at < head;) {
		const struct perf_event_header *record = (const void *)(data + at);

		assert_true(record->size >= sizeof(*record));
		if (record->type == type && (record->misc & misc) == misc)
			return record;
		at += record->size;
	}
	return NULL;
}

static inline unsigned ring_count(const struct perf_event_mmap_page *ring, uint32_t type)
{
	const char *data = (const char *)ring + 4096;
	unsigned n = 0;

	for (uint64_t at = 0; at < ring->data_head;) {
		const struct perf_event_header *record = (const void *)(data + at);

		n += record->type == type;
		at += record->size;
	}
	return n;
}

/* The record after its header. */
static inline const uint64_t *words_of(const struct perf_event_header *record)
{
	return (const uint64_t *)(record + 1);
}

#endif
