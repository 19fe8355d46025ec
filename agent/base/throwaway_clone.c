/* SPDX-License-Identifier: MIT */
/* throwaway_clone.c - clone(2) with CLONE_VM | CLONE_VFORK and no exit signal. */
#include "agent/base/throwaway_clone.h"
#include "agent/base/own_libc.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	void (*work)(void *);
	void *arg;
};

/* Never returns: what lies above on the stack is no frame, and the memory is the host's. */
static int run(void *arg)
{
	const struct job *job = arg;
	const struct rlimit no_core = { 0, 0 };
	/* The host's handlers were inherited; a fault must end this clone and nothing else. */
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		agent_sigdefault(faults[i]);
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL);
	job->work(job->arg);
	syscall(SYS_exit, 0);
	/* A filter may refuse one of them by an error. */
	syscall(SYS_exit_group, 0);
	for (;;)
		__builtin_trap();
}

/* clone(2) with a new stack. Sanitizers intercept libc's clone to follow the child. */
static pid_t start(void *top, struct job *job)
{
#if defined(__x86_64__)
	register int (*fn)(void *) __asm__("r12") = run;
	register void *arg __asm__("r13") = job;
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long result = SYS_clone;

	__asm__ volatile("syscall\n"
			 "	test %%rax, %%rax\n"
			 "	jnz 1f\n"
			 "	xor %%ebp, %%ebp\n"
			 "	mov %%r13, %%rdi\n"
			 "	call *%%r12\n"
			 "1:"
			 : "+a"(result)
			 : "D"(CLONE_VM | CLONE_VFORK), "S"(top), "d"(0L), "r"(r10), "r"(r8),
			   "r"(fn), "r"(arg)
			 : "rcx", "r11", "memory", "cc");
	return (pid_t)result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = CLONE_VM | CLONE_VFORK;
	register void *x1 __asm__("x1") = top;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register int (*fn)(void *) __asm__("x9") = run;
	register void *arg __asm__("x10") = job;

	__asm__ volatile("svc 0\n"
			 "	cbnz x0, 1f\n"
			 "	mov x29, 0\n"
			 "	mov x0, x10\n"
			 "	blr x9\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(fn), "r"(arg)
			 : "memory", "cc");
	return (pid_t)x0;
#else
	return clone(run, top, CLONE_VM | CLONE_VFORK, job);
#endif
}

int agent_throwaway_clone(void (*work)(void *), void *arg, void *stack, size_t stack_bytes)
{
	struct job job = { work, arg };
	uint64_t all = ~0ull, old;
	int status = -1;
	pid_t child;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof(all));
	child = start((char *)stack + stack_bytes, &job);
	if (child > 0)
		while (syscall(SYS_wait4, child, &status, __WCLONE, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	return child > 0 ? status == 0 : -1;
}
