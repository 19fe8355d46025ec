/* SPDX-License-Identifier: MIT */
/*
 * valgrind.h - tells valgrind's race detectors to leave a range of memory alone.
 *
 * They do not see the atomic operations that order the agent's accesses. The instructions, from
 * valgrind's client request mechanism (valgrind/valgrind.h), do nothing outside valgrind.
 */
#ifndef PMC_AGENT_BASE_VALGRIND_H
#define PMC_AGENT_BASE_VALGRIND_H

#include <stddef.h>
#include <stdint.h>

static inline void valgrind_request(uint64_t code, const volatile void *at, size_t bytes)
{
	const volatile uint64_t args[6] = { code, (uintptr_t)at, bytes };

#if defined(__x86_64__)
	register uint64_t result __asm__("rdx") = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n"
			 "	xchgq %%rbx, %%rbx"
			 : "+r"(result)
			 : "a"(args)
			 : "cc", "memory");
#elif defined(__aarch64__)
	register uint64_t result __asm__("x3") = 0;
	register const volatile uint64_t *in __asm__("x4") = args;

	__asm__ volatile(
		"ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n"
		"	orr x10, x10, x10"
		: "+r"(result)
		: "r"(in)
		: "cc", "memory");
#else
	(void)args;
#endif
}

static inline void valgrind_untrack(const volatile void *at, size_t bytes)
{
	enum {
		HELGRIND_MAKE_UNTRACKED = 0x48470127, /* 'HG' + 256 + 39 */
		DRD_START_SUPPRESSION = 0x44520002,   /* 'DR' + 2 */
	};

	valgrind_request(HELGRIND_MAKE_UNTRACKED, at, bytes);
	valgrind_request(DRD_START_SUPPRESSION, at, bytes);
}

#endif
