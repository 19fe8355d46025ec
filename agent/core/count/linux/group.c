/* SPDX-License-Identifier: MIT */
/*
 * group.c - perf event groups on Linux; see group.h.
 *
 * The system calls themselves are in perf.c.
 */
#include "agent/core/count/group.h"
#include "agent/core/base/sys.h"
#include "agent/core/count/user_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void pmc_group_attr(const struct pmc_planned *planned, enum pmc_group_kind kind, bool leader,
		    struct pmc_attr *to)
{
	const struct pmc_event *event = &planned->event;
	struct perf_event_attr *attr = &to->base;

	memset(to, 0, sizeof(*to));
	to->config3 = event->config3;
	attr->type = event->type;
	attr->config = event->config;
	attr->config1 = event->config1;
	attr->config2 = event->config2;
	attr->read_format = PMC_GROUP_FORMAT;
	attr->disabled = leader;
	/* What unseen work shows must not take a row's counter. */
	attr->pinned = leader && event->pinned && kind == PMC_GROUP_OWN;
	attr->exclusive = leader && planned->flags & PMC_EVENT_ALONE && kind == PMC_GROUP_OWN;
	attr->exclude_user = event->exclude_user;
	attr->exclude_kernel = event->exclude_kernel || planned->scope == PMC_SCOPE_USER;
	attr->exclude_hv = attr->exclude_kernel;
	attr->inherit = kind != PMC_GROUP_OWN;
	attr->inherit_thread = kind == PMC_GROUP_THREADS;
	attr->enable_on_exec = kind == PMC_GROUP_EXEC && leader;
	pmc_perf_size(to);
}

int pmc_group_probe(struct pmc_attr *attr, int leader)
{
	if (!attr)
		return pmc_group_enable(leader);
	return pmc_perf_open(attr, 0, -1, leader, 0);
}

/* The perf call takes the lowest free number; the host's numbers are low, so ours move up. */
static int move(int fd, int move_to)
{
	int moved;

	if (move_to <= 0 || fd >= move_to)
		return fd;
	moved = (int)pmc_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, move_to);
	pmc_sys1(SYS_close, fd);
	/* EINVAL: above the limit, as the numbers below it being used up is EMFILE. */
	return moved == -EINVAL ? -EMFILE : moved;
}

/* Not for user space to read, then. */
__attribute__((noinline, cold)) static int open_plainly(struct pmc_attr attr, int pid, int cpu,
							int leader)
{
	pmc_user_unrequest(&attr);
	return pmc_perf_open_sized(&attr, pid, cpu, leader, 0);
}

static int open_own(const struct pmc_plan *plan, unsigned at, int pid, int cpu, int leader)
{
	const struct pmc_attr *attr = &plan->own[at];
	int fd = pmc_perf_open_sized(attr, pid, cpu, leader, 0);

	if (fd < 0 && attr->base.config1 != plan->events[at].event.config1)
		fd = open_plainly(*attr, pid, cpu, leader);
	return fd;
}

__attribute__((noinline)) static int open_other(const struct pmc_plan *plan, unsigned at,
						enum pmc_group_kind kind, int pid, int cpu,
						int leader)
{
	struct pmc_attr attr;

	pmc_group_attr(&plan->events[at], kind, leader < 0, &attr);
	return pmc_perf_open_sized(&attr, pid, cpu, leader, 0);
}

int pmc_group_open(const struct pmc_plan *plan, unsigned g, enum pmc_group_kind kind, int pid,
		   int cpu, int move_to, int *fds, uint64_t *id)
{
	const unsigned first = plan->first[g], n = plan->first[g + 1] - first;
	const bool own = kind == PMC_GROUP_OWN && plan->own;
	unsigned i = 0;
	int fd, leader = -1;

	do {
		fd = own ? open_own(plan, first + i, pid, cpu, leader) :
			   open_other(plan, first + i, kind, pid, cpu, leader);
		if (fd >= 0)
			fd = move(fd, move_to);
		if (fd < 0)
			goto fail;
		fds[i] = fd;
		leader = fds[0];
	} while (++i < n);
	fd = pmc_perf_ioctl(leader, PERF_EVENT_IOC_ID, id);
	if (fd >= 0)
		return 0;
fail:
	pmc_group_close(fds, i);
	for (; i < n; i++)
		fds[i] = -1;
	return fd;
}

int pmc_group_enable(int leader)
{
	return pmc_perf_ioctl(leader, PERF_EVENT_IOC_ENABLE,
			      (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

int pmc_group_disable(int leader)
{
	return pmc_perf_ioctl(leader, PERF_EVENT_IOC_DISABLE,
			      (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

void pmc_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
		    uint64_t *words)
{
	int error = pmc_perf_read(leader, PMC_GROUP_FORMAT, n, words);

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

void pmc_group_close(int *fds, unsigned n)
{
	/* Siblings first: closing a leader would turn each of them into a group of its own. */
	while (n-- > 0) {
		if (fds[n] >= 0)
			pmc_sys1(SYS_close, fds[n]);
		fds[n] = -1;
	}
}
