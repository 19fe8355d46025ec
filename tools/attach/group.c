/* SPDX-License-Identifier: MIT */
/* group.c - reads groups of another process through duplicated descriptors. */
#include "lib/count/group.h"
#include "lib/dump/build.h"
#include "tools/attach/attach.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

void attach_groups_of(const struct attach *target, struct slot *slot, struct attach_groups *groups)
{
	uint64_t *set = slot->data;

	*groups = (struct attach_groups){
		.groups = target->registry.n_groups,
		.first = target->control.first,
		.fds = set_fds(&target->registry, set),
		.ids = set_ids(set),
		.base = set_base(&target->registry, set),
	};
}

void attach_groups_of_total(const struct pmc_control_totals *totals, struct attach_groups *groups)
{
	*groups = (struct attach_groups){
		.groups = totals->groups,
		.first = totals->first,
		.fds = totals->fds,
		.ids = totals->ids,
		.base = totals->base,
	};
}

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

static void subtract(const struct attach_groups *groups, unsigned g, struct pmc_reading *reading,
		     uint64_t *values)
{
	const uint64_t *times = groups->base + 2 * g;
	const uint64_t *base = groups->base + 2 * groups->groups + groups->first[g];

	if (!reading->n)
		return;
	reading->enabled_ns = set_less(reading->enabled_ns, times[0]);
	reading->running_ns = set_less(reading->running_ns, times[1]);
	for (unsigned i = 0; i < reading->n; i++)
		values[i] = set_less(values[i], base[i]);
}

bool attach_group_read(const struct attach *target, const struct attach_groups *groups, unsigned g,
		       struct pmc_reading *reading, uint64_t *words)
{
	unsigned n = groups->first[g + 1] - groups->first[g];
	int fd;

	*reading = (struct pmc_reading){ .n = 0 };
	fd = attach_group_dup(target, groups->fds[groups->first[g]], groups->ids[g],
			      &reading->error);
	if (fd < 0)
		return false;
	pmc_perf_group_read(fd, groups->ids[g], n, reading, words);
	close(fd);
	return true;
}

void attach_groups_frame(const struct attach *target, struct pmc_frame_buf *buf,
			 const struct attach_groups *groups, uint32_t *reason)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];

	for (unsigned g = 0; g < groups->groups; g++) {
		struct pmc_reading reading;

		/* The reason why the process has no group explains more than our error. */
		if (!attach_group_read(target, groups, g, &reading, words) && *reason)
			reading.error = *reason;
		subtract(groups, g, &reading, words);
		pmc_put_reading(buf, &reading, words);
		*reason = *reason ? *reason : reading.error;
	}
}
