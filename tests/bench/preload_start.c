/* SPDX-License-Identifier: MIT */
/*
 * preload_start: counts the default events of a process with as few system calls as possible.
 *
 * Tries the six events once, as the number of usable counters is unknown; then opens them as one
 * group or, if one read 0, as multiplexed groups of four and two; reads them at the end. Cost of
 * pmcagent above this is its own overhead.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS 6
/* A dead counter reads no more than this. */
#define NOISE 16

static const int kinds[EVENTS] = { PERF_COUNT_HW_CPU_CYCLES,	      PERF_COUNT_HW_INSTRUCTIONS,
				   PERF_COUNT_HW_CACHE_REFERENCES,    PERF_COUNT_HW_CACHE_MISSES,
				   PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES };
static int own[EVENTS], last_group;

static int open_one(int i, int leader, int pinned, int exclusive)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.config = (unsigned)kinds[i];
	attr.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = leader < 0;
	attr.pinned = leader < 0 && pinned;
	attr.exclusive = leader < 0 && exclusive;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static int all_count(void)
{
	unsigned long long words[3 + EVENTS] = { 0 };
	int fds[EVENTS], all = 1;

	for (int i = 0; i < EVENTS; i++)
		fds[i] = open_one(i, i ? fds[0] : -1, 1, 0);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	if (read(fds[0], words, sizeof(words)) != sizeof(words))
		all = 0;
	for (int i = EVENTS; i--;) {
		all = all && words[3 + i] > NOISE;
		close(fds[i]);
	}
	return all;
}

__attribute__((constructor)) static void begin(void)
{
	last_group = all_count() ? 0 : 4;
	for (int i = 0; i < EVENTS; i++) {
		int leads = i == 0 || i == last_group;

		own[i] = open_one(i, leads ? -1 : own[i < 4 ? 0 : last_group], 0, last_group);
	}
	ioctl(own[0], PERF_EVENT_IOC_ENABLE, 0);
	if (last_group)
		ioctl(own[last_group], PERF_EVENT_IOC_ENABLE, 0);
}

__attribute__((destructor)) static void end(void)
{
	unsigned long long words[3 + EVENTS];

	for (int i = 0; i <= last_group; i += 4) {
		ioctl(own[i], PERF_EVENT_IOC_DISABLE, 0);
		if (read(own[i], words, sizeof(words)) < 0)
			break;
	}
	for (int i = EVENTS; i--;)
		close(own[i]);
}
