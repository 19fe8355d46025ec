/* SPDX-License-Identifier: MIT */
/* user_read.c - the pages that a thread's own events share with it; see user_read.h. */
#include "lib/count/user_read.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* ---- what the pages may take ---------------------------------------------------------------*/

/* A number in /proc/sys, else `none`. */
static long sysctl(const char *path, long none)
{
	uint64_t value;
	char text[24];

	/* Not pmc_file_read(): its path buffer is too much for a small signal stack. */
	if (pmc_file_read_at(AT_FDCWD, path, text, sizeof(text)) < 0 ||
	    !pmc_number(text, INT_MAX, &value))
		return none;
	return (long)value;
}

static size_t page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

/* Pages that may still be mapped, plus one; 0: not known yet. */
static _Atomic long allowance;

/* perf_mmap() in kernel/events/core.c: the limit is per user, for each processor online. */
static long allowance_init(void)
{
	const long kib = sysctl("/proc/sys/kernel/perf_event_mlock_kb", 516), cpus = pmc_cpus();
	long expected = 0;

	atomic_compare_exchange_strong(&allowance, &expected,
				       1 + kib * 1024 / (long)page_bytes() * (cpus ? cpus : 1) / 2);
	return atomic_load(&allowance);
}

static bool take_page(void)
{
	long left = atomic_load_explicit(&allowance, memory_order_relaxed);

	if (left == 0)
		left = allowance_init();
	do {
		if (left <= 1)
			return false;
	} while (!atomic_compare_exchange_weak(&allowance, &left, left - 1));
	return true;
}

int pmc_user_map(int fd, pmc_user_page **page)
{
	void *map;
	int error;

	*page = NULL;
	if (!take_page())
		return -EPERM;
	map = mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		*page = map;
		return 0;
	}
	error = -errno;
	atomic_fetch_add(&allowance, 1);
	return error;
}

void pmc_user_unmap(pmc_user_page *page)
{
	if (!page)
		return;
	munmap((void *)(uintptr_t)page, page_bytes());
	atomic_fetch_add(&allowance, 1);
}

void pmc_user_forked(void)
{
	atomic_store(&allowance, 0);
}

/* ---- asking for it -------------------------------------------------------------------------*/

/* config1 "rdpmc", /sys/bus/event_source/devices/armv8_.../format; on x86 a mapped page is all it
 * takes. */
#if defined(__aarch64__)
#define USER_ACCESS UINT64_C(2)
#else
#define USER_ACCESS UINT64_C(0)
#endif

bool pmc_user_request(struct pmc_attr *attr)
{
	static _Atomic int allowed; /* 1 + what the kernel said */
	int known = atomic_load_explicit(&allowed, memory_order_relaxed);

	/* config1 of other types is an address, or has another meaning. */
	if (!USER_ACCESS ||
	    (attr->base.type != PERF_TYPE_HARDWARE && attr->base.type != PERF_TYPE_RAW &&
	     attr->base.type != PERF_TYPE_HW_CACHE))
		return false;
	if (!known) {
		known = 1 + (sysctl("/proc/sys/kernel/perf_user_access", 0) > 0);
		atomic_store_explicit(&allowed, known, memory_order_relaxed);
	}
	if (known < 2 || attr->base.config1 & USER_ACCESS)
		return false;
	attr->base.config1 |= USER_ACCESS;
	return true;
}

void pmc_user_unrequest(struct pmc_attr *attr)
{
	attr->base.config1 &= ~USER_ACCESS;
}
