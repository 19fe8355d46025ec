/* SPDX-License-Identifier: MIT */
/*
 * trampoline.c - computes in a function that is called by code made at run time, which keeps no
 * frame pointer, as CPython's trampolines. Status 1: not on this CPU.
 *
 * prog-flags: -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include <string.h>
#include <sys/mman.h>

#define PLACE __attribute__((noinline, noclone))

PLACE void below_trampoline(void)
{
	for (volatile long i = 0; i < 300000000; i++)
		;
}

PLACE int above_trampoline(void *code)
{
	((void (*)(void (*)(void)))code)(below_trampoline);
	return 0;
}

int main(void)
{
#if defined(__x86_64__)
	/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
	static const unsigned char bytes[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd7,
					       0x48, 0x83, 0xc4, 8, 0xc3 };
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, bytes, sizeof(bytes));
	return above_trampoline(code);
#else
	return 1;
#endif
}
