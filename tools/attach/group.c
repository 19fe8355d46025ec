/* SPDX-License-Identifier: MIT */
/* group.c - reads groups of another process through duplicated descriptors. */
#include "lib/count/group.h"
#include "tools/attach/attach.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program may have reused the number: a foreign file must not be read, a pipe would lose data.
 */
int attach_group_dup(const struct attach *target, int fd, uint64_t id, uint32_t *error)
{
	uint64_t now = 0;
	int ours;

	if (fd < 0) {
		*error = EBADF;
		return -1;
	}
	ours = (int)syscall(SYS_pidfd_getfd, target->files, fd, 0);
	if (ours < 0) {
		*error = errno == EBADF ? PMC_REASON_RECYCLED : (uint32_t)errno;
		return -1;
	}
	if (pmc_perf_ioctl(ours, PERF_EVENT_IOC_ID, &now) != 0 || now != id) {
		close(ours);
		*error = PMC_REASON_RECYCLED;
		return -1;
	}
	return ours;
}

void attach_group_read(void *from, int fd, uint64_t id, unsigned n, struct pmc_reading *reading,
		       uint64_t *words)
{
	const struct attach *target = from;

	*reading = (struct pmc_reading){ .n = 0 };
	fd = attach_group_dup(target, fd, id, &reading->error);
	if (fd < 0)
		return;
	pmc_perf_group_read(fd, id, n, reading, words);
	close(fd);
}
