/* SPDX-License-Identifier: MIT */
/* perf.c - the system calls of perf events on Linux; see perf.h. */
#include "lib/count/perf.h"
#include "lib/base/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int pmc_perf_open(struct pmc_attr *attr, int pid, int cpu, int leader, unsigned long flags)
{
	pmc_perf_size(attr);
	return pmc_perf_open_sized(attr, pid, cpu, leader, flags);
}

int pmc_perf_open_sized(const struct pmc_attr *attr, int pid, int cpu, int leader,
			unsigned long flags)
{
	return (int)pmc_sys5(SYS_perf_event_open, attr, pid, cpu, leader,
			     flags | PERF_FLAG_FD_CLOEXEC);
}

int pmc_perf_open_self(struct pmc_attr *attr, int leader)
{
	return pmc_perf_open(attr, 0, -1, leader, 0);
}

int pmc_perf_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)pmc_sys3(SYS_ioctl, fd, request, arg);
}

static unsigned bit(uint64_t read_format, uint64_t flag)
{
	return (read_format & flag) != 0;
}

size_t pmc_perf_read_words(uint64_t read_format, unsigned n)
{
	size_t head = bit(read_format, PERF_FORMAT_TOTAL_TIME_ENABLED) +
		      bit(read_format, PERF_FORMAT_TOTAL_TIME_RUNNING);
	size_t each = 1 + bit(read_format, PERF_FORMAT_ID) + bit(read_format, PERF_FORMAT_LOST);

	return bit(read_format, PERF_FORMAT_GROUP) ? 1 + head + n * each : head + each;
}

/* A child that ends leaves an inherited group event by event. Until it is done, each read of the
 * group gives ECHILD: perf_event_exit_event() and __perf_read_group_add() in kernel/events/core.c.
 * That takes a microsecond unless the child is preempted. ECHILD stays if the group grew after it
 * was inherited. */
__attribute__((noinline, cold)) static long read_after_exit(int fd, uint64_t *words, size_t bytes)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	const uint32_t nothing = 0;
	long got = -ECHILD;

	for (unsigned tries = 0; tries < 300 && got == -ECHILD; tries++) {
		if (tries < 100)
			pmc_sys1(SYS_sched_yield, 0);
		else
			/* Seccomp filters that know glibc allow futex, but not always nanosleep. */
			pmc_sys4(SYS_futex, &nothing, FUTEX_WAIT_PRIVATE, 0, &pause);
		got = pmc_sys3(SYS_read, fd, words, bytes);
	}
	return got;
}

static inline long read_bytes(int fd, uint64_t *words, size_t bytes)
{
	long got = pmc_sys3(SYS_read, fd, words, bytes);

	if (got == -ECHILD)
		got = read_after_exit(fd, words, bytes);
	return got ? got : -ENODATA;
}

int pmc_perf_read_some(int fd, uint64_t *words, size_t n_words)
{
	long got = read_bytes(fd, words, n_words * sizeof(*words));

	if (got < 0)
		return (int)got;
	return got % (long)sizeof(*words) ? -EIO : (int)(got / (long)sizeof(*words));
}

int pmc_perf_read(int fd, uint64_t read_format, unsigned n, uint64_t *words)
{
	long want = (long)(pmc_perf_read_words(read_format, n) * sizeof(*words));
	long got = read_bytes(fd, words, (size_t)want);

	if (got == want)
		return 0;
	return got < 0 ? (int)got : -EIO;
}

void pmc_perf_decode_value(const uint64_t *words, uint64_t read_format,
			   struct pmc_perf_value *value)
{
	*value = (struct pmc_perf_value){ .value = *words++ };
	if (read_format & PERF_FORMAT_ID)
		value->id = *words++;
	if (read_format & PERF_FORMAT_LOST)
		value->lost = *words;
}

int pmc_perf_decode(const uint64_t *words, size_t n_words, uint64_t read_format,
		    struct pmc_perf_head *head, struct pmc_perf_value *values, unsigned max)
{
	bool group = read_format & PERF_FORMAT_GROUP;
	size_t each = 1 + bit(read_format, PERF_FORMAT_ID) + bit(read_format, PERF_FORMAT_LOST);
	size_t at = 0;

	*head = (struct pmc_perf_head){ .n = 1 };
	if (n_words < pmc_perf_read_words(read_format, group ? 0 : 1))
		return -EINVAL;
	/* The value comes before the times, but in a group after them. */
	if (group)
		head->n = words[at++];
	else
		at++;
	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		head->enabled_ns = words[at++];
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		head->running_ns = words[at++];
	if (!group) {
		if (max) {
			/* With what follows the times. */
			pmc_perf_decode_value(words + at - 1, read_format, &values[0]);
			values[0].value = words[0];
		}
		return (int)(at + each - 1);
	}
	if (head->n > (n_words - at) / each)
		return -EINVAL;
	for (uint64_t i = 0; i < head->n && i < max; i++)
		pmc_perf_decode_value(words + at + i * each, read_format, &values[i]);
	return (int)(at + head->n * each);
}
