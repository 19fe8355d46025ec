/* SPDX-License-Identifier: MIT */
/*
 * dispatched.c - a handler of SIGSYS emulates the system calls of some code, by Syscall User
 * Dispatch, as in Wine. Prints how many other calls came to the handler and how many were wrong.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#ifdef __x86_64__
static volatile char selector;
static volatile int others;

static void emulate(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	selector = 0;
	others += info->si_syscall != SYS_getppid;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 42;
}

int main(void)
{
	const struct sigaction action = { .sa_sigaction = emulate, .sa_flags = SA_SIGINFO };
	volatile double x = 1;
	int wrong = 0;

	sigaction(SIGSYS, &action, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) != 0) {
		puts("not supported");
		return 0;
	}
	for (int i = 0; i < 200; i++) {
		long result;

		selector = 1;
		for (int k = 0; k < 300000; k++)
			x *= 1.0000001;
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "a"(SYS_getppid)
				 : "rcx", "r11", "memory");
		selector = 0;
		wrong += result != 42;
	}
	printf("%d others, %d wrong\n", others, wrong);
	return 0;
}
#else
int main(void)
{
	puts("not supported");
	return 0;
}
#endif
