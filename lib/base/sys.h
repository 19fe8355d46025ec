/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls as one instruction, for the paths that every thread takes.
 *
 * pmc_sysN(number, ...) takes N numbers or pointers and returns the result, -errno on failure. It
 * does not touch errno, is no cancellation point and cannot be interposed. syscall(2) lists the
 * registers. Of Linux: empty elsewhere.
 */
#pragma once
#ifdef __linux__

#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long pmc_raw6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r = n;

	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

#elif defined(__aarch64__)

static inline long pmc_raw6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

#else
#error "x86-64 or arm64"
#endif

/* Unused arguments are 0: clearing a register costs less than a variant for each number. */
#define pmc_sys1(n, a)		   pmc_raw6(n, (long)(a), 0, 0, 0, 0, 0)
#define pmc_sys2(n, a, b)	   pmc_raw6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define pmc_sys3(n, a, b, c)	   pmc_raw6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define pmc_sys4(n, a, b, c, d)	   pmc_sys6(n, a, b, c, d, 0, 0)
#define pmc_sys5(n, a, b, c, d, e) pmc_sys6(n, a, b, c, d, e, 0)
#define pmc_sys6(n, a, b, c, d, e, f)                                                              \
	pmc_raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
