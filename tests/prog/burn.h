/* SPDX-License-Identifier: MIT */
/* burn.h - use up an exact amount of CPU time, with raw system calls only. */
#ifndef BURN_H
#define BURN_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Works in a raw clone too, which shares errno and TLS with another thread. */
static inline long long raw_clock_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };
#ifdef __x86_64__
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"((long)SYS_clock_gettime), "D"((long)clock), "S"(&now)
			 : "rcx", "r11", "memory");
#else
	clock_gettime(clock, &now);
#endif
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Until the calling thread's CPU clock shows `end`. */
static inline void burn_until_ns(long long end)
{
	while (raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

/* Until the calling thread has used ms milliseconds of CPU time from now. */
static inline void burn_thread_ms(long ms)
{
	burn_until_ns(raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL);
}

#endif
