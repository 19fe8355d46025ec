/* SPDX-License-Identifier: MIT */
/*
 * group.c - perf events where there are none: each call fails with ENOSYS; see group.h.
 *
 * Plans and their frames are the same on all systems; thread_counts.h counts on macOS.
 */
#include "lib/count/group.h"
#include "lib/count/user_read.h"

#include <errno.h>

int pmc_perf_open(const struct pmc_attr *attr, int pid, int cpu, int leader, unsigned long flags)
{
	(void)attr, (void)pid, (void)cpu, (void)leader, (void)flags;
	return -ENOSYS;
}

int pmc_perf_read_some(int fd, uint64_t *words, size_t n_words)
{
	(void)fd, (void)words, (void)n_words;
	return -ENOSYS;
}

int pmc_perf_group_open(const struct pmc_attr *attrs, unsigned n,
			const struct pmc_perf_target *target, int *fds, uint64_t *id)
{
	(void)attrs, (void)target;
	for (unsigned i = 0; i < n; i++)
		fds[i] = -1;
	*id = 0;
	return -ENOSYS;
}

int pmc_perf_ioctl(int fd, unsigned long request, void *arg)
{
	(void)fd, (void)request, (void)arg;
	return -ENOSYS;
}

void pmc_perf_group_close(int *fds, unsigned n)
{
	while (n-- > 0)
		fds[n] = -1;
}

bool pmc_user_request(struct pmc_attr *attr)
{
	(void)attr;
	return false;
}
