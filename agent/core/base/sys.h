/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls as one instruction, for the paths that every thread takes.
 *
 * pmc_sysN(number, ...) takes N numbers or pointers and returns the result, -errno on failure. It
 * does not touch errno, is no cancellation point and cannot be interposed. syscall(2) lists the
 * registers; other processors call it.
 */
#ifndef PMC_CORE_BASE_SYS_H
#define PMC_CORE_BASE_SYS_H

#include <sys/syscall.h>

#if defined(__x86_64__)

#define PMC_SYS_ASM(...)                                                                           \
	long r = n;                                                                                \
	__asm__ volatile("syscall" : "+a"(r) : __VA_ARGS__ : "rcx", "r11", "memory");              \
	return r

static inline long pmc_raw1(long n, long a)
{
	PMC_SYS_ASM("D"(a));
}

static inline long pmc_raw2(long n, long a, long b)
{
	PMC_SYS_ASM("D"(a), "S"(b));
}

static inline long pmc_raw3(long n, long a, long b, long c)
{
	PMC_SYS_ASM("D"(a), "S"(b), "d"(c));
}

static inline long pmc_raw4(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;

	PMC_SYS_ASM("D"(a), "S"(b), "d"(c), "r"(r10));
}

static inline long pmc_raw5(long n, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;

	PMC_SYS_ASM("D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8));
}

#elif defined(__aarch64__)

#define PMC_SYS_ASM(...)                                                                           \
	register long x8 __asm__("x8") = n;                                                        \
	register long x0 __asm__("x0") = a;                                                        \
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8)__VA_ARGS__ : "memory", "cc");                \
	return x0

static inline long pmc_raw1(long n, long a)
{
	PMC_SYS_ASM();
}

static inline long pmc_raw2(long n, long a, long b)
{
	register long x1 __asm__("x1") = b;

	PMC_SYS_ASM(, "r"(x1));
}

static inline long pmc_raw3(long n, long a, long b, long c)
{
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	PMC_SYS_ASM(, "r"(x1), "r"(x2));
}

static inline long pmc_raw4(long n, long a, long b, long c, long d)
{
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	PMC_SYS_ASM(, "r"(x1), "r"(x2), "r"(x3));
}

static inline long pmc_raw5(long n, long a, long b, long c, long d, long e)
{
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	PMC_SYS_ASM(, "r"(x1), "r"(x2), "r"(x3), "r"(x4));
}

#else

#include <errno.h>
#include <unistd.h>

#define PMC_SYS_CALL(...)                                                                          \
	long r = syscall(__VA_ARGS__);                                                             \
	return r < 0 ? -errno : r

static inline long pmc_raw1(long n, long a)
{
	PMC_SYS_CALL(n, a);
}

static inline long pmc_raw2(long n, long a, long b)
{
	PMC_SYS_CALL(n, a, b);
}

static inline long pmc_raw3(long n, long a, long b, long c)
{
	PMC_SYS_CALL(n, a, b, c);
}

static inline long pmc_raw4(long n, long a, long b, long c, long d)
{
	PMC_SYS_CALL(n, a, b, c, d);
}

static inline long pmc_raw5(long n, long a, long b, long c, long d, long e)
{
	PMC_SYS_CALL(n, a, b, c, d, e);
}

#endif

#define pmc_sys1(n, a)		pmc_raw1(n, (long)(a))
#define pmc_sys2(n, a, b)	pmc_raw2(n, (long)(a), (long)(b))
#define pmc_sys3(n, a, b, c)	pmc_raw3(n, (long)(a), (long)(b), (long)(c))
#define pmc_sys4(n, a, b, c, d) pmc_raw4(n, (long)(a), (long)(b), (long)(c), (long)(d))
#define pmc_sys5(n, a, b, c, d, e)                                                                 \
	pmc_raw5(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

#endif
