/* SPDX-License-Identifier: MIT */
/*
 * probe.c - a clone for work that may die, and which calls a seccomp filter permits, tried in one:
 * it may kill the process for them.
 */
#include "agent/base/agent.h"

#include <linux/prctl.h>
#include <sched.h>
#include <sys/wait.h>

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
#endif
}

int agent_throwaway_clone(void (*work)(void *), void *arg, void *stack, size_t stack_bytes)
{
	struct job job = { work, arg };
	const uint64_t mask = agent_mask_set(UINT64_MAX);
	int status = -1;
	pid_t child;

	child = start((char *)stack + stack_bytes, &job);
	if (child > 0)
		while (syscall(SYS_wait4, child, &status, __WCLONE, NULL) < 0 && errno == EINTR)
			;
	agent_mask_set(mask);
	return child > 0 ? status == 0 : -1;
}

/* ---- calls under a filter -------------------------------------------------------------------- */

static void try_perf(void)
{
	struct pmc_attr attr = { .base = { .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_TASK_CLOCK,
					   .disabled = 1 } };
	int fd = pmc_perf_open_self(&attr, -1);

	/* Without an event, too: the filter decides by the number of the call. */
	pmc_perf_group_disable(fd);
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static void try_timer(void)
{
	const struct itimerspec off = { { 0, 0 }, { 0, 0 } };
	int id;

	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, NULL, &id) != 0)
		return;
	syscall(SYS_timer_settime, id, 0, &off, NULL);
	syscall(SYS_timer_delete, id);
}

void agent_try_calls(void *arg)
{
	struct agent_trial *trial = arg;
	siginfo_t info;

	for (unsigned call = AGENT_TIMER; call <= AGENT_WAIT; call <<= 1) {
		if (trial->skip & call)
			continue;
		if (call == AGENT_TIMER)
			try_timer();
		else if (call == AGENT_PERF)
			try_perf();
		else if (call == AGENT_WAIT)
			pmc_sys5(SYS_waitid, P_ALL, 0, &info, AGENT_WAIT_FLAGS, NULL);
		else
			pmc_sys6(SYS_process_vm_readv, pmc_sys1(SYS_getpid, 0), NULL, 0, NULL, 0,
				 0);
		trial->returned |= call;
	}
}

/* Asked once while the agent starts: no other code runs then. */
bool agent_is_filtered(void)
{
	static bool asked, at_start;

	if (atomic_load(&pmc_agent_control.state) != PMC_CONTROL_STARTING)
		return pmc_sys1(SYS_prctl, PR_GET_SECCOMP) > 0;
	if (!asked)
		at_start = pmc_sys1(SYS_prctl, PR_GET_SECCOMP) > 0;
	asked = true;
	return at_start;
}

bool agent_has_delay(uint64_t start_ns)
{
	return pmc_now_ns() - start_ns >= 20000000 && !agent_is_filtered();
}

/* Tells of a filter that a hook has not seen, too, until there was one: threads may have different
 * ones, and a call that one of them forbids stays forbidden. */
static _Atomic bool probed, started_filtered;
#define ALL_CALLS (unsigned)(AGENT_TIMER | AGENT_PERF | AGENT_READ | AGENT_WAIT)
static _Atomic unsigned permitted = ALL_CALLS;

/* Threads that get here at the same time each probe it. Not inlined: every thread would need that
 * stack. */
__attribute__((noinline, cold)) static void probe(void)
{
	_Alignas(16) char stack[4096];
	struct agent_trial trial = { .skip = 0 };
	unsigned missing = 1;
	int saved = errno;

	if (atomic_load(&pmc_agent_control.state) == PMC_CONTROL_STARTING)
		atomic_store(&started_filtered, true);
	/* A clone dies of the first call that does not return: those after it are tried without. */
	while (missing &&
	       agent_throwaway_clone(agent_try_calls, &trial, stack, sizeof(stack)) == 0) {
		missing = ALL_CALLS & ~trial.returned & ~trial.skip;
		trial.skip |= missing & -missing;
	}
	if (atomic_fetch_and(&permitted, trial.returned) & ~trial.returned & AGENT_PERF)
		agent_note(NOTE_SECCOMP_KILL);
	atomic_store(&probed, true);
	errno = saved;
}

bool agent_permitted(enum agent_call call)
{
	if (!atomic_load(&probed) && agent_is_filtered())
		probe();
	return atomic_load(&permitted) & call;
}

void agent_filters_at_start(void)
{
	if (!agent_is_filtered())
		return;
	/* Its calls were tried, or are now: one may have been installed since the constructor. */
	probe();
	atomic_store(&started_filtered, true);
}

void agent_forbid(unsigned calls)
{
	atomic_fetch_and(&permitted, ~calls);
}

bool agent_unseen_filter(void)
{
	return !atomic_load(&started_filtered) && agent_is_filtered();
}

/* Filters from before the start have been probed. */
bool agent_permitted_last(enum agent_call call)
{
	return !agent_unseen_filter() && atomic_load(&permitted) & call;
}

static int refuse(struct pmc_attr *attr, int leader)
{
	(void)attr, (void)leader;
	return -EPERM;
}

pmc_perf_opener agent_probe(void)
{
	return agent_permitted(AGENT_PERF) ? pmc_perf_open_self : refuse;
}
