/* SPDX-License-Identifier: MIT */
/* group.c - the system calls of perf events, and groups of events, on Linux; see group.h. */
#include "lib/count/group.h"
#include "lib/base/clock.h"
#include "lib/base/sys.h"
#include "lib/count/user_read.h"

#include <errno.h>
#include <fcntl.h>

int pmc_perf_open(const struct pmc_attr *attr, int pid, int cpu, int leader, unsigned long flags)
{
	return (int)pmc_sys5(SYS_perf_event_open, attr, pid, cpu, leader,
			     flags | PERF_FLAG_FD_CLOEXEC);
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
	long got = -ECHILD;

	for (unsigned tries = 0; tries < 300 && got == -ECHILD; tries++) {
		pmc_wait_between(tries);
		got = pmc_sys3(SYS_read, fd, words, bytes);
	}
	return got;
}

int pmc_perf_read_some(int fd, uint64_t *words, size_t n_words)
{
	long got = pmc_sys3(SYS_read, fd, words, n_words * sizeof(*words));

	if (got == -ECHILD)
		got = read_after_exit(fd, words, n_words * sizeof(*words));
	if (got <= 0)
		return got ? (int)got : -ENODATA;
	return got % (long)sizeof(*words) ? -EIO : (int)(got / (long)sizeof(*words));
}

void pmc_perf_decode_value(const uint64_t *words, uint64_t read_format,
			   struct pmc_record_value *value)
{
	*value = (struct pmc_record_value){ .value = *words++ };
	if (read_format & PERF_FORMAT_ID)
		value->id = *words++;
	if (read_format & PERF_FORMAT_LOST)
		value->lost = *words;
}

int pmc_perf_decode(const uint64_t *words, size_t n_words, uint64_t read_format,
		    struct pmc_perf_head *head, struct pmc_record_value *values, unsigned max)
{
	bool group = read_format & PERF_FORMAT_GROUP;
	size_t each = 1 + bit(read_format, PERF_FORMAT_ID) + bit(read_format, PERF_FORMAT_LOST);
	size_t at = 1;

	*head = (struct pmc_perf_head){ .n = 1 };
	if (n_words < pmc_perf_read_words(read_format, group ? 0 : 1))
		return -EINVAL;
	/* Before the times there is the value, or the number of values. */
	if (group)
		head->n = words[0];
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

/* ---- groups ------------------------------------------------------------------------------ */

/* Inherit groups must not keep a thread's own group off the PMU: never pinned, never exclusive. */
static void make_inherited(struct pmc_attr *attr, enum pmc_perf_group_kind kind, bool leader)
{
	attr->base.pinned = 0;
	attr->base.exclusive = 0;
	attr->base.inherit = 1;
	attr->base.inherit_thread = kind == PMC_PERF_GROUP_THREADS;
	attr->base.enable_on_exec = kind == PMC_PERF_GROUP_EXEC && leader;
	pmc_user_unrequest(attr);
}

/* perf_event_open(2) takes the lowest free number; low numbers are the host's. */
static int move(int fd, const struct pmc_perf_target *target, bool leads)
{
	int moved = -EMFILE;

	if (target->move_to <= 0 || fd >= target->move_to)
		return fd;
	if (!leads || !target->before_move || target->before_move(fd))
		moved = (int)pmc_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, target->move_to);
	pmc_sys1(SYS_close, fd);
	/* fcntl(2): EINVAL where move_to is above the limit, EMFILE where no number is free. */
	return moved == -EINVAL ? -EMFILE : moved;
}

/* noinline: threads of the common case do not pay for the attr on the stack. */
__attribute__((noinline)) static int open_other(struct pmc_attr attr,
						const struct pmc_perf_target *target, int leader)
{
	const bool cgroup = target->kind == PMC_PERF_GROUP_CGROUP;

	if (cgroup)
		pmc_user_unrequest(&attr);
	else
		make_inherited(&attr, target->kind, leader < 0);
	return pmc_perf_open(&attr, target->pid, target->cpu, leader,
			     cgroup ? PERF_FLAG_PID_CGROUP : 0);
}

/* Some kernels refuse an event that is to be read from user space but would count it otherwise. */
__attribute__((noinline, cold)) static int
open_without_user_read(struct pmc_attr attr, const struct pmc_perf_target *target, int leader,
		       int error)
{
	uint64_t config1 = attr.base.config1;

	pmc_user_unrequest(&attr);
	if (attr.base.config1 == config1)
		return error;
	return pmc_perf_open(&attr, target->pid, target->cpu, leader, 0);
}

int pmc_perf_group_open(const struct pmc_attr *attrs, unsigned n,
			const struct pmc_perf_target *target, int *fds, uint64_t *id)
{
	const bool own = target->kind == PMC_PERF_GROUP_OWN;
	unsigned i = 0;
	int fd, leader = -1;

	do {
		if (own)
			fd = pmc_perf_open(&attrs[i], target->pid, target->cpu, leader, 0);
		else
			fd = open_other(attrs[i], target, leader);
		if (fd < 0 && own)
			fd = open_without_user_read(attrs[i], target, leader, fd);
		if (fd >= 0)
			fd = move(fd, target, leader < 0);
		if (fd < 0)
			goto fail;
		fds[i] = fd;
		leader = fds[0];
	} while (++i < n);
	fd = pmc_perf_ioctl(leader, PERF_EVENT_IOC_ID, id);
	if (fd >= 0)
		return 0;
fail:
	pmc_perf_group_close(fds, i);
	for (; i < n; i++)
		fds[i] = -1;
	return fd;
}

bool pmc_perf_is_event(int fd, uint64_t id)
{
	uint64_t now = 0;

	return pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &now) == 0 && (!id || now == id);
}

void pmc_perf_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
			 uint64_t *words)
{
	const int want = PMC_PERF_GROUP_WORDS((int)n);
	const int got = pmc_perf_read_some(leader, words, (size_t)want);
	int error = 0;

	if (got == -ENODATA)
		error = PMC_REASON_PINNED;
	else if (got < 0 && got != -EIO)
		error = -got;
	/* A number that is somebody else's file now reads something else altogether, or a group
	 * with other ids. */
	else if (got != want || words[0] != n || words[4] != id)
		error = PMC_REASON_RECYCLED;
	if (error) {
		*reading = (struct pmc_reading){ .error = (uint32_t)error };
		return;
	}
	*reading = (struct pmc_reading){
		.enabled_ns = words[1],
		.running_ns = words[2],
		.n = n,
	};
	for (unsigned i = 0; i < n; i++)
		words[i] = words[3 + 2 * i];
}

void pmc_perf_group_close(int *fds, unsigned n)
{
	/* Siblings first: closing a leader would turn each of them into a group of its own. */
	while (n-- > 0) {
		if (fds[n] >= 0)
			pmc_sys1(SYS_close, fds[n]);
		fds[n] = -1;
	}
}
