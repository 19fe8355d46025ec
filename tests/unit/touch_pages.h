/* SPDX-License-Identifier: MIT */
/* touch_pages.h - an exact number of page faults, also under a sanitizer. */
#ifndef TOUCH_PAGES_H
#define TOUCH_PAGES_H

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Exactly n faults. Neither calls nor stores may touch a sanitizer's shadow memory. */
static inline void __attribute__((no_sanitize("address", "undefined", "thread")))
touch_pages(size_t n, size_t page)
{
	long pages = syscall(SYS_mmap, NULL, n * page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	if (pages == -1)
		abort();
	/* A huge page would be a single fault. */
	if (n > 16)
		syscall(SYS_madvise, pages, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		*(volatile char *)(pages + (long)(i * page)) = 1;
	syscall(SYS_munmap, pages, n * page);
}

#endif
