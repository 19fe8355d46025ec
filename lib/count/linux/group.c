/* SPDX-License-Identifier: MIT */
/* group.c - perf event groups on Linux; see group.h. */
#include "lib/count/group.h"
#include "lib/base/sys.h"
#include "lib/count/user_read.h"

#include <errno.h>
#include <fcntl.h>

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
static int move(int fd, int move_to)
{
	int moved;

	if (move_to <= 0 || fd >= move_to)
		return fd;
	moved = (int)pmc_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, move_to);
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
	return pmc_perf_open_sized(&attr, target->pid, target->cpu, leader,
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
	return pmc_perf_open_sized(&attr, target->pid, target->cpu, leader, 0);
}

int pmc_perf_group_open(const struct pmc_attr *attrs, unsigned n,
			const struct pmc_perf_target *target, int *fds, uint64_t *id)
{
	const bool own = target->kind == PMC_PERF_GROUP_OWN;
	unsigned i = 0;
	int fd, leader = -1;

	do {
		if (own)
			fd = pmc_perf_open_sized(&attrs[i], target->pid, target->cpu, leader, 0);
		else
			fd = open_other(attrs[i], target, leader);
		if (fd < 0 && own)
			fd = open_without_user_read(attrs[i], target, leader, fd);
		if (fd >= 0)
			fd = move(fd, target->move_to);
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

/* By the leader alone. With PERF_IOC_FLAG_GROUP siblings stay stopped after a second round of
 * disable and enable, until the thread's next context switch (Linux 6.18). */
int pmc_perf_group_enable(int leader)
{
	return pmc_perf_ioctl(leader, PERF_EVENT_IOC_ENABLE, NULL);
}

int pmc_perf_group_disable(int leader)
{
	return pmc_perf_ioctl(leader, PERF_EVENT_IOC_DISABLE, NULL);
}

void pmc_perf_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
			 uint64_t *words)
{
	int error = pmc_perf_read(leader, PMC_PERF_GROUP_FORMAT, n, words);

	/* A number that is somebody else's file now reads something else altogether, or a group
	 * with other ids. */
	if (error == -EIO || (!error && (words[0] != n || words[4] != id)))
		error = PMC_REASON_RECYCLED;
	else if (error)
		error = error == -ENODATA ? PMC_REASON_PINNED : -error;
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
