/* SPDX-License-Identifier: MIT */
/*
 * regions_step step|jump|timer|exit N - marks regions while a signal handler, run at any
 * instruction, marks its own.
 *
 * step: N rounds with one handler call each: a tracer single-steps the round and sends the signal
 * later in each round. (A single step switches to the tracer and back, so a read of counters in
 * user space never succeeds.) jump: like step, but the handler leaves the round by siglongjmp; a
 * region "after" follows in the same function. timer: rounds until a timer has called the handler
 * N times. Prints the number of rounds and of handler calls. exit: a region with 100 page faults,
 * then the same region without; N single steps into the second a handler ends the program.
 * prog-flags: -Iinclude */
#include <pmc/region.h>

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals, wanted;
static char *pages[2];

static void every_us(long us)
{
	struct itimerval timer = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* A page fault, and no work that depends on a count. */
static void fault(int page)
{
	madvise(pages[page], (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED);
	*(volatile char *)pages[page] = 1;
}

static void handler(int signal)
{
	(void)signal;
	pmc_region_begin("handler");
	fault(1);
	pmc_region_begin("in the handler");
	fault(1);
	pmc_region_end();
	pmc_region_end();
	/* If the handler took longer than the timer's period, nothing else would run. */
	if (++signals == wanted)
		every_us(0);
}

static void mark(int round)
{
	char name[32];

	/* New names, those of the last call, and longer ones. */
	snprintf(name, sizeof(name), round % 2 ? "name %d" : "a longer name: %d", round / 4 % 20);
	pmc_region_begin("outer");
	fault(0);
	pmc_region_begin(name);
	fault(0);
	pmc_region_end();
	pmc_region_begin("inner");
	pmc_region_end();
	pmc_region_end();
}

static sigjmp_buf left;
static volatile sig_atomic_t inside;

static void jump(int signal)
{
	(void)signal;
	if (inside)
		siglongjmp(left, 1);
}

static void mark_and_jump(int n)
{
	signal(SIGALRM, jump);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (volatile int round = 0; round < n; round++) {
		raise(SIGSTOP);
		if (sigsetjmp(left, 1) == 0) {
			inside = 1;
			pmc_region_begin("round");
			pmc_region_end();
		}
		inside = 0;
		pmc_region_begin("after");
		pmc_region_end();
	}
}

static void mark_all(int n, bool stepped)
{
	int rounds = 0;

	for (int i = 0; i < 2; i++)
		pages[i] = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGALRM, handler);
	pmc_region_begin("all");
	fault(0);
	wanted = stepped ? 0 : n;
	if (stepped)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	else
		every_us(83);
	for (; stepped ? rounds < n : signals < n; rounds++) {
		if (stepped)
			raise(SIGSTOP);
		mark(rounds);
	}
	/* One more call may be in progress. */
	signal(SIGALRM, SIG_IGN);
	pmc_region_end();
	printf("%d %d\n", rounds, (int)signals);
}

static void leave(int signal)
{
	(void)signal;
	exit(0);
}

static void mark_until_told(void)
{
	pages[0] = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGALRM, leave);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (int round = 0; round < 2; round++) {
		pmc_region_begin("twice");
		for (int i = 0; round == 0 && i < 100; i++)
			fault(0);
		pmc_region_end();
		if (round == 0)
			raise(SIGSTOP);
	}
	raise(SIGALRM);
}

static int trace_once(pid_t child, int n)
{
	int status = 0;

	waitpid(child, &status, 0);
	for (int i = 0; i < n && WIFSTOPPED(status); i++) {
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		waitpid(child, &status, 0);
	}
	ptrace(PTRACE_CONT, child, NULL, (void *)(long)SIGALRM);
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, child, NULL, NULL);
	return status != 0;
}

static int trace(pid_t child, int n)
{
	int round = 0, status = 0;
	long steps, length = 0;

	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		/* The first round shows the number of steps of a round. */
		for (steps = 0; round == 0 || steps < length * round / n; steps++) {
			ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
			if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
			    WSTOPSIG(status) != SIGTRAP)
				break;
		}
		length = round++ == 0 ? steps : length;
		ptrace(PTRACE_CONT, child, NULL, (void *)(long)SIGALRM);
	}
	return status != 0;
}

int main(int argc, char **argv)
{
	bool jumped = argc > 1 && !strcmp(argv[1], "jump");
	bool stepped = jumped || (argc > 1 && !strcmp(argv[1], "step"));
	bool told = argc > 1 && !strcmp(argv[1], "exit");
	int n = argc > 2 ? atoi(argv[2]) : 100;
	pid_t child;

	if (!stepped && !told) {
		mark_all(n, stepped);
		return 0;
	}
	child = fork();
	if (child == 0) {
		if (told)
			mark_until_told();
		else if (jumped)
			mark_and_jump(n);
		else
			mark_all(n, stepped);
		exit(0);
	}
	return told ? trace_once(child, n) : trace(child, n);
}
