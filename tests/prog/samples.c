/* SPDX-License-Identifier: MIT */
/*
 * samples CASE [MS]: burns CPU time in a known call tree, compiled without frame pointers.
 *
 * Prints nothing. Functions named here are those that tests/e2e/samples.t expects in stacks.
 */
#include "filter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile unsigned long sink;
static long until_ms = 300;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

NOINLINE void leaf(void)
{
	for (unsigned i = 0; i < 200000; i++)
		sink += i;
}

NOINLINE void burn(void (*work)(void))
{
	for (long end = now_ms() + until_ms; now_ms() < end;)
		work();
}

NOINLINE void deep(unsigned n)
{
	if (n)
		deep(n - 1);
	else
		leaf();
	sink++;
}

NOINLINE void deep_60(void)
{
	deep(60);
	sink++;
}

/* As code without frame pointers may: their register holds the address of two words of data. */
NOINLINE void garbled(void)
{
	static volatile unsigned long turns = 100000;
	/* The last ones, as the first may be below the stack pointer. */
	unsigned long words[64] = { [63] = 0x2a2072657671 }, n = turns;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rbp, %%rax\n"
			 "	movq %[words], %%rbp\n"
			 "1:	decq %[n]\n"
			 "	jnz 1b\n"
			 "	movq %%rax, %%rbp"
			 : [n] "+c"(n)
			 : [words] "d"(words + 62)
			 : "rax", "memory", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x9, x29\n"
			 "	mov x29, %[words]\n"
			 "1:	subs %[n], %[n], #1\n"
			 "	b.ne 1b\n"
			 "	mov x29, x9"
			 : [n] "+r"(n)
			 : [words] "r"(words + 62)
			 : "x9", "memory", "cc");
#endif
	sink += n + words[0];
}

NOINLINE void deep_400(void)
{
	deep(400);
	sink++;
}

/* A tail call: its frame is gone while leaf() runs. */
NOINLINE void tail(void)
{
	sink++;
	leaf();
}

NOINLINE void tail_caller(void)
{
	tail();
	sink++;
}

static void on_signal(int signo)
{
	(void)signo;
	leaf();
	sink++;
}

NOINLINE void raiser(void)
{
	raise(SIGUSR1);
	sink++;
}

/* The time is spent in the C library: code without frame pointers, called through the PLT. */
static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	sink++;
	return (x > y) - (x < y);
}

NOINLINE void sorter(void)
{
	static int items[20000];

	for (unsigned i = 0; i < 20000; i++)
		items[i] = (int)(i * 7919u % 20011u);
	qsort(items, 20000, sizeof(items[0]), compare);
	sink++;
}

NOINLINE void clock_reader(void)
{
	struct timespec now;

	for (unsigned i = 0; i < 2000; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	sink++;
}

static char *alternate;

NOINLINE void on_alternate_stack(void)
{
	static const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	const stack_t stack = { .ss_sp = alternate, .ss_size = 64 << 10 };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sink++;
}

static void *one(void *arg)
{
	(void)arg;
	burn(deep_60);
	return NULL;
}

static void *two(void *arg)
{
	(void)arg;
	burn(tail_caller);
	return NULL;
}

/* The main thread ends first. */
static void without_main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, one, NULL))
		exit(3);
	pthread_exit(NULL);
}

static void threads(void)
{
	pthread_t a[4], b[4];

	for (unsigned i = 0; i < 4; i++) {
		pthread_create(&a[i], NULL, one, NULL);
		pthread_create(&b[i], NULL, two, NULL);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(a[i], NULL);
		pthread_join(b[i], NULL);
	}
}

/* A signal that is blocked stays pending, also over the exec of a program without the agent. */
static void with_blocked(int signo, char *self)
{
	char *arguments[] = { self, "unblock", NULL }, *environment[] = { NULL };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
	burn(leaf);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	burn(leaf);
	sigprocmask(SIG_BLOCK, &set, NULL);
	burn(leaf);
	execve("/proc/self/exe", arguments, environment);
}

/* A system call that no function of libc makes. */
static long raw_call(long number, long a, const void *b, const void *c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x3 __asm__("x3") = d;
	register const void *x1 __asm__("x1") = b, *x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#endif
}

/* Prints how many signals of overflows are pending after many periods without a handler. */
static void queue(void)
{
	const uint64_t all = ~UINT64_C(0);
	const struct timespec zero = { 0, 0 };
	char *none[] = { NULL };
	siginfo_t info;
	unsigned n = 0;

	burn(leaf);
	for (unsigned i = 0; i < 100; i++)
		execve("/no/such/program", none, none);
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	burn(leaf);
	while (raw_call(SYS_rt_sigtimedwait, (long)(intptr_t)&all, &info, &zero, sizeof(all)) > 0)
		n += info.si_code == POLL_IN || info.si_code == POLL_HUP;
	printf("%u pending\n", n);
}

static unsigned handled;

static void on_taken(int signo)
{
	(void)signo;
	handled++;
}

/* In a handler that blocks all signals: signals of overflows are pending, and the program takes
 * their number for itself. */
static void on_usr2(int signo)
{
	(void)signo;
	burn(leaf);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		signal(i, on_taken);
}

/* Prints how many signals that nobody sent came to the program's handlers. */
static void taken(void)
{
	struct sigaction action = { .sa_handler = on_usr2 };

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR2, &action, NULL);
	burn(leaf);
	raise(SIGUSR2);
	printf("%u taken\n", handled);
}

static void unblock(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Works on under a filter that kills for a system call; raw: which no function of libc installs. */
static int with_filter(unsigned number, int raw)
{
	struct sock_filter code[] = FILTER(number, SECCOMP_RET_KILL_PROCESS);
	const struct sock_fprog filter = { .len = FILTER_LEN, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (raw ? raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NULL, &filter, 0) :
		   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)))
		return 3;
	burn(leaf);
	return 0;
}

static void module(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*work)(void (*)(void));

	*(void **)(void *)&work = handle ? dlsym(handle, "in_module") : NULL;
	if (!work)
		exit(3);
	for (long end = now_ms() + until_ms; now_ms() < end;)
		work(leaf);
	dlclose(handle);
}

static void *wait_for_end(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* With a second thread that the agent does not see start: the C library's own function is called.
 */
static void past_the_agent(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	pthread_t thread;

	*(void **)(void *)&create = libc ? dlsym(libc, "pthread_create") : NULL;
	if (!create || create(&thread, NULL, wait_for_end, NULL))
		exit(3);
	burn(leaf);
}

static int there[2], back[2];

NOINLINE void most(void)
{
	for (unsigned i = 0; i < 15000; i++)
		sink += i;
}

NOINLINE void few(void)
{
	for (unsigned i = 0; i < 5000; i++)
		sink += i;
}

static void *answer(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		few();
	return arg;
}

/* Two threads on one CPU that switch after each some 5 us. */
static int switch_often(void)
{
	pthread_t thread;
	cpu_set_t one;
	char byte = 0;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 3;
	for (long end = now_ms() + until_ms; now_ms() < end;) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 3;
		most();
		few();
	}
	close(there[1]);
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*work)(void);
	} cases[] = {
		{ "leaf", leaf },
		{ "deep", deep_60 },
		{ "deeper", deep_400 },
		{ "garbled", garbled },
		{ "tail", tail_caller },
		{ "signal", raiser },
		{ "sort", sorter },
		{ "vdso", clock_reader },
		{ "alternate", on_alternate_stack },
	};

	if (argc > 2 && strcmp(name, "module") != 0)
		until_ms = atol(argv[2]);
	alternate = malloc(64 << 10);
	signal(SIGUSR1, on_signal);
	if (!strcmp(name, "threads")) {
		threads();
		return 0;
	}
	if (!strcmp(name, "without_main"))
		without_main();
	if (!strcmp(name, "blocked")) {
		with_blocked(SIGIO, argv[0]);
		return 3;
	}
	if (!strcmp(name, "switching")) {
		if (switch_often())
			return 3;
		burn(leaf);
		return 0;
	}
	if (!strcmp(name, "past")) {
		past_the_agent();
		return 0;
	}
	if (!strcmp(name, "queue")) {
		queue();
		return 0;
	}
	if (!strcmp(name, "taken")) {
		taken();
		return 0;
	}
	if (!strcmp(name, "often_filter"))
		return switch_often() ? 3 : with_filter(SYS_process_vm_readv, 1);
	if (!strcmp(name, "filter") || !strcmp(name, "ioctl")) {
		burn(leaf);
		return !strcmp(name, "filter") ? with_filter(SYS_process_vm_readv, 1) :
						 with_filter(SYS_ioctl, 0);
	}
	if (!strcmp(name, "unblock")) {
		unblock();
		return 0;
	}
	if (!strcmp(name, "module") && argc > 2) {
		module(argv[2]);
		return 0;
	}
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(name, cases[i].name)) {
			burn(cases[i].work);
			return 0;
		}
	return 2;
}
