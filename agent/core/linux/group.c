/* SPDX-License-Identifier: MIT */
/*
 * group.c - perf event groups on Linux; see group.h.
 *
 * perf_event_open(2); kernel/events/core.c for what is not in the page. errno is not kept here:
 * the agent's edges do that once.
 */
#include "agent/core/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_FORMAT                                                                                \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |        \
	 PERF_FORMAT_GROUP)

#ifdef PERF_ATTR_SIZE_VER8
static void attr_size(struct pmc_attr *attr, uint64_t config3)
{
	attr->base.size = sizeof(attr->base);
	attr->base.config3 = config3;
}
#else
static void attr_size(struct pmc_attr *attr, uint64_t config3)
{
	_Static_assert(offsetof(struct pmc_attr, config3) == 128, "config3 follows sig_data");
	attr->base.size = sizeof(*attr);
	attr->config3 = config3;
}
#endif

static int sys_open(struct pmc_attr *attr, int pid, int cpu, int leader)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int sys_ioctl(int fd, unsigned long request, void *arg)
{
	return syscall(SYS_ioctl, fd, request, arg) < 0 ? -errno : 0;
}

void pmc_group_attr(const struct pmc_planned *planned, enum pmc_group_kind kind, bool leader,
		    struct pmc_attr *to)
{
	const struct pmc_event *event = &planned->event;
	struct perf_event_attr *attr = &to->base;

	memset(to, 0, sizeof(*to));
	attr_size(to, event->config3);
	attr->type = event->type;
	attr->config = event->config;
	attr->config1 = event->config1;
	attr->config2 = event->config2;
	attr->read_format = READ_FORMAT;
	attr->disabled = leader;
	attr->exclude_user = event->exclude_user;
	attr->exclude_kernel = event->exclude_kernel || planned->scope == PMC_SCOPE_USER;
	attr->exclude_hv = attr->exclude_kernel;
	attr->inherit = kind != PMC_GROUP_OWN;
	attr->inherit_thread = kind == PMC_GROUP_THREADS;
	attr->enable_on_exec = kind == PMC_GROUP_EXEC && leader;
}

int pmc_group_probe(struct pmc_attr *attr, int leader)
{
	return sys_open(attr, 0, -1, leader);
}

/* The perf call takes the lowest free number; the host's numbers are low, so ours move up. */
static int move(int fd, int move_to)
{
	int moved;

	if (move_to <= 0 || fd >= move_to)
		return fd;
	moved = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, move_to);
	/* EINVAL: above the limit, as the numbers below it being used up is EMFILE. */
	if (moved < 0)
		moved = errno == EINVAL ? -EMFILE : -errno;
	syscall(SYS_close, fd);
	return moved;
}

int pmc_group_open(const struct pmc_plan *plan, unsigned g, enum pmc_group_kind kind, int pid,
		   int cpu, int move_to, int *fds, uint64_t *id)
{
	unsigned first = plan->first[g], n = plan->first[g + 1] - first;
	int error;

	for (unsigned i = 0; i < n; i++)
		fds[i] = -1;
	for (unsigned i = 0; i < n; i++) {
		struct pmc_attr attr;
		int fd;

		pmc_group_attr(&plan->events[first + i], kind, i == 0, &attr);
		fd = sys_open(&attr, pid, cpu, i ? fds[0] : -1);
		if (fd >= 0)
			fd = move(fd, move_to);
		if (fd < 0) {
			error = fd;
			goto fail;
		}
		fds[i] = fd;
	}
	error = sys_ioctl(fds[0], PERF_EVENT_IOC_ID, id);
	if (!error)
		return 0;
fail:
	pmc_group_close(fds, n);
	return error;
}

int pmc_group_enable(int leader)
{
	return sys_ioctl(leader, PERF_EVENT_IOC_ENABLE, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

int pmc_group_disable(int leader)
{
	return sys_ioctl(leader, PERF_EVENT_IOC_DISABLE, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

void pmc_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
		    uint64_t *words)
{
	/* nr, time enabled, time running, then { value, id } of each: PERF_FORMAT_GROUP | ID */
	long want = (long)(PMC_GROUP_WORDS(n) * sizeof(*words)), got;

	*reading = (struct pmc_reading){ .n = 0 };
	got = syscall(SYS_read, leader, words, (size_t)want);
	if (got < 0) {
		reading->error = (uint32_t)errno;
		return;
	}
	/* 0 bytes: a pinned group in error. A number that is somebody else's file now reads
	 * something else altogether, or a group with other ids. */
	if (got == 0) {
		reading->error = PMC_REASON_NEVER_RAN;
		return;
	}
	if (got != want || words[0] != n || words[4] != id) {
		reading->error = PMC_REASON_RECYCLED;
		return;
	}
	reading->enabled_ns = words[1];
	reading->running_ns = words[2];
	reading->n = n;
	for (unsigned i = 0; i < n; i++)
		words[i] = words[3 + 2 * i];
}

void pmc_group_close(int *fds, unsigned n)
{
	/* Siblings first: closing a leader would turn each of them into a group of its own. */
	while (n-- > 0) {
		if (fds[n] >= 0)
			syscall(SYS_close, fds[n]);
		fds[n] = -1;
	}
}
