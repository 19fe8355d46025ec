/* SPDX-License-Identifier: MIT */
/* throwaway_clone.c - clone(2) with CLONE_VM | CLONE_VFORK and no exit signal. */
#include "agent/base/throwaway_clone.h"

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

static int run(void *arg)
{
	const struct job *job = arg;
	const struct rlimit no_core = { 0, 0 };
	/* The host's handlers were inherited; a fault must end this clone and nothing else. */
	const uint64_t dfl[4] = { 0 };
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		syscall(SYS_rt_sigaction, faults[i], dfl, NULL, sizeof(uint64_t));
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL);
	job->work(job->arg);
	syscall(SYS_exit, 0);
	return 0;
}

int agent_throwaway_clone(void (*work)(void *), void *arg, void *stack, size_t stack_bytes)
{
	struct job job = { work, arg };
	uint64_t all = ~0ull, old;
	int status = -1;
	pid_t child;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof(all));
	child = clone(run, (char *)stack + stack_bytes, CLONE_VM | CLONE_VFORK, &job);
	if (child > 0)
		while (syscall(SYS_wait4, child, &status, __WCLONE, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	return child > 0 ? WIFEXITED(status) : -1;
}
