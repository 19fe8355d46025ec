/* SPDX-License-Identifier: MIT */
/* features.c - which of the newer abilities this kernel has, each found out by trying it. */
#include "agent/core/count/perf.h"
#include "tools/doctor/doctor.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since 5.13, 6.0: older headers do not know them. */
#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1u << 4)
#endif

/* task-clock in user mode, which opens for everybody who may open anything. */
static struct pmc_attr clock_attr(void)
{
	return (struct pmc_attr){
		.base = {
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_TASK_CLOCK,
			.disabled = 1,
			.exclude_kernel = 1,
			.exclude_hv = 1,
		},
	};
}

static int closed(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int open_attr(struct pmc_attr attr)
{
	return closed(pmc_perf_open(&attr, 0, -1, -1, 0));
}

static int inherit_group(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.inherit = 1;
	attr.base.read_format = PERF_FORMAT_GROUP;
	return open_attr(attr);
}

static int wipe_on_fork(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (page == MAP_FAILED)
		return -errno;
	error = madvise(page, size, MADV_WIPEONFORK) ? -errno : 0;
	munmap(page, size);
	return error;
}

static int pidfd_open(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return closed(fd < 0 ? -errno : fd);
}

static int pidfd_getfd(void)
{
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0), fd;

	if (process < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, process, process, 0);
	if (fd < 0)
		fd = -errno;
	close(process);
	return closed(fd);
}

static int cgroup(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.cgroup = 1;
	return open_attr(attr);
}

static int build_id(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.mmap2 = 1;
	attr.base.build_id = 1;
	return open_attr(attr);
}

static int inherit_thread(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.inherit = 1;
	attr.base.inherit_thread = 1;
	return open_attr(attr);
}

static int remove_on_exec(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.remove_on_exec = 1;
	return open_attr(attr);
}

static int sigtrap(void)
{
	struct pmc_attr attr = clock_attr();

	/* The kernel wants the second with the first. It stays disabled: no signal comes. */
	attr.base.sigtrap = 1;
	attr.base.remove_on_exec = 1;
	attr.base.sample_period = 1000000000;
	return open_attr(attr);
}

static int format_lost(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.read_format = PERF_FORMAT_LOST;
	return open_attr(attr);
}

/* A kernel that does not know the word takes it only if it is 0 (E2BIG); software events do not
 * look at it. */
static int config3(void)
{
	struct pmc_attr attr = clock_attr();

	attr.config3 = 1;
	return open_attr(attr);
}

static int inherit_read(void)
{
	struct pmc_attr attr = clock_attr();

	attr.base.inherit = 1;
	attr.base.sample_period = 1000000000;
	attr.base.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID;
	return open_attr(attr);
}

const struct doctor_feature doctor_features[] = {
#define X(name, since, what_for, function) { name, since, what_for, function },
#include "tools/doctor/features.def"
#undef X
};

void doctor_try_features(struct doctor_facts *facts)
{
	for (unsigned i = 0; i < DOCTOR_N_FEATURES; i++)
		facts->features[i] =
			facts->software_user == 0 ? doctor_features[i].attempt() : DOCTOR_UNTRIED;
}
