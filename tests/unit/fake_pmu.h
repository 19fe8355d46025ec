/* SPDX-License-Identifier: MIT */
/* fake_pmu.h - a fake perf_event_open(2) with a number of counters, dead counters and refusals. */
#ifndef PMC_TESTS_FAKE_PMU_H
#define PMC_TESTS_FAKE_PMU_H

#include "lib/count/group.h"
#include "lib/plan/plan.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* PMU types of the cores of a hybrid machine. */
enum { CORE = 4, ATOM = 10 };

/* The descriptor of a pinned group is a file with its reading, which is empty if there are too few
 * counters for all pinned groups. */
static struct {
	unsigned group_size;
	unsigned counters;
	unsigned alive;		/* counters that count when all are in use; 0: all */
	uint64_t emulated;	/* what dead counters read */
	uint64_t blocked;	/* config that opens but never counts */
	bool user_only;		/* EACCES for events that include the kernel */
	uint64_t led, leads;	/* config that opens only after a leader with that config */
	uint64_t missing;	/* config that does not exist: ENOENT */
	int everything;		/* errno for every open, 0: none */
	unsigned atom_counters; /* of PMUs of type ATOM; 0: as others */
	struct {
		int leader; /* its own descriptor for a leader */
		uint32_t pmu;
		bool pinned;
		bool software; /* needs no counter; allowed in every group */
		bool blocked;
		uint64_t config;
		ino_t file; /* inode, to detect that the descriptor was reused */
	} events[1024];
	unsigned opens;
} kernel;

static inline bool still_open(int fd)
{
	struct stat st;

	return kernel.events[fd].file && fstat(fd, &st) == 0 && st.st_ino == kernel.events[fd].file;
}

static inline unsigned members(int leader)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += still_open(fd) && kernel.events[fd].leader == leader &&
		     !kernel.events[fd].software;
	return n;
}

/* Writes the reading: 100 for live counters. */
static inline void count(int leader)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)] = { 0 };
	unsigned n = 0, on = 0;

	for (int fd = 0; fd < 256; fd++) {
		if (!still_open(fd) || kernel.events[fd].leader != leader)
			continue;
		bool counter = !kernel.events[fd].software;
		bool dead = counter && kernel.alive && on >= kernel.alive;

		on += counter;
		words[3 + 2 * n++] = dead || kernel.events[fd].blocked ? kernel.emulated : 100;
	}
	words[0] = n;
	assert_int_equal(pwrite(leader, words, sizeof(words), 0), sizeof(words));
}

/* Gives counters to pinned groups in the order of their descriptors, whether enabled or not. */
static inline void schedule(uint32_t pmu)
{
	unsigned left =
		pmu == ATOM && kernel.atom_counters ? kernel.atom_counters : kernel.counters;

	for (int fd = 0; fd < 256; fd++) {
		if (!still_open(fd) || !kernel.events[fd].pinned ||
		    kernel.events[fd].leader != fd || kernel.events[fd].pmu != pmu)
			continue;
		bool fits = members(fd) <= left;

		left -= fits ? members(fd) : 0;
		assert_int_equal(ftruncate(fd, fits ? 1 << 20 : 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		if (fits)
			count(fd);
	}
}

/* On hybrid CPUs a generic event has the PMU in the upper bits of config. */
static inline uint32_t pmu_of(const struct pmc_attr *attr)
{
	if (attr->base.type == PERF_TYPE_HARDWARE || attr->base.type == PERF_TYPE_HW_CACHE)
		return (uint32_t)(attr->base.config >> 32);
	return attr->base.type;
}

static inline int fake_open(struct pmc_attr *attr, int leader)
{
	struct stat st;
	bool is_software;
	int fd;

	is_software = attr->base.type == PERF_TYPE_SOFTWARE;
	kernel.opens++;
	if (kernel.everything)
		return -kernel.everything;
	if (attr->base.config == kernel.missing)
		return -ENOENT;
	if (attr->base.config == kernel.led &&
	    (leader < 0 || kernel.events[leader].config != kernel.leads))
		return -EINVAL;
	if (attr->base.pinned)
		assert_int_equal(leader, -1);
	if (kernel.user_only && !attr->base.exclude_kernel)
		return -EACCES;
	if (leader >= 0 && !is_software && members(leader) >= kernel.group_size)
		return -EINVAL;
	fd = memfd_create("event", 0);
	assert_in_range(fd, 0, 255);
	assert_int_equal(fstat(fd, &st), 0);
	kernel.events[fd].file = st.st_ino;
	kernel.events[fd].leader = leader >= 0 ? leader : fd;
	kernel.events[fd].pinned = attr->base.pinned;
	kernel.events[fd].software = is_software;
	kernel.events[fd].config = attr->base.config;
	kernel.events[fd].blocked = attr->base.config == kernel.blocked;
	kernel.events[fd].pmu =
		is_software && leader >= 0 ? kernel.events[leader].pmu : pmu_of(attr);
	/* The kernel refuses groups across PMUs. */
	if (leader >= 0 && kernel.events[leader].software)
		kernel.events[leader].pmu = kernel.events[fd].pmu;
	else if (leader >= 0)
		assert_int_equal(kernel.events[fd].pmu, kernel.events[leader].pmu);
	schedule(kernel.events[fd].pmu);
	return fd;
}

/* Events a, b, c, ..., which need a counter each. */
static inline struct pmc_events hardware(struct pmc_arena *arena, unsigned n)
{
	struct pmc_event *list = pmc_arena_alloc(arena, n * sizeof(*list) + 1);
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	for (unsigned i = 0; i < n; i++)
		list[i] = (struct pmc_event){ .name = names[i],
					      .unit = "",
					      .pmu = "",
					      .config = 100 + i,
					      .scale = 1.0,
					      .brace = PMC_NO_BRACE,
					      .position = i };
	return (struct pmc_events){ .list = list, .count = n };
}

static inline int fake_reset(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.group_size = kernel.counters = 6;
	kernel.missing = kernel.blocked = kernel.led = UINT64_MAX;
	return 0;
}

#endif
