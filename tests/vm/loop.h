/* SPDX-License-Identifier: MIT */
/* loop.h - a known number of instructions. */
#ifndef LOOP_H
#define LOOP_H

/* Exactly n instructions, n even and at least 2; around it a handful that is always the same. */
static inline void run_instructions(unsigned long n)
{
	unsigned long i = n / 2;

#if defined(__aarch64__)
	__asm__ volatile(".p2align 4\n1:\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(i) : : "cc");
#elif defined(__x86_64__)
	__asm__ volatile(".p2align 4\n1:\tdec %0\n\tjnz 1b" : "+r"(i) : : "cc");
#else
#error "no loop for this processor"
#endif
}

#endif
