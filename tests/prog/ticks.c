/* SPDX-License-Identifier: MIT */
/*
 * ticks CASE [ARGUMENT]: what a program does with its threads, signals and system calls that
 * periodic snapshots must not change. Prints the same with and without them.
 */
#include "burn.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Beside other programs few clock interrupts, which expire the timers, come while this one runs. */
#define BUSY_MS 300
/* Several intervals of 10 ms, also where the CPU comes in few long slices. */
#define TICKS_MS 60

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* CPU time in steps of at most 1 ms: where the host of a virtual machine stops it, the clocks of
 * its threads may go on, and there was neither work nor a tick. */
static void work_ms(long ms)
{
	long long last = raw_clock_ns(CLOCK_THREAD_CPUTIME_ID), left = ms * 1000000LL;

	while (left > 0) {
		long long now;

		burn_until_ns(last + 1);
		now = raw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		left -= now - last < 1000000 ? now - last : 1000000;
		last = now;
	}
}

static const char *self, *argument;
static atomic_uint disturbed, handled;
static int ends[2];

static pthread_t start(void *(*work)(void *), uintptr_t arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, (void *)arg))
		exit(3);
	return thread;
}

static void *burn(void *arg)
{
	work_ms((long)(uintptr_t)arg);
	return arg;
}

/* Until stdin ends, also in a second thread. */
static void *spin(void *arg)
{
	struct pollfd fd = { 0, POLLIN, 0 };

	while (poll(&fd, 1, 0) == 0)
		work_ms(1);
	return arg;
}

static int busy(void)
{
	pthread_t other = start(spin, 0);

	puts("ready");
	fflush(stdout);
	spin(NULL);
	pthread_join(other, NULL);
	return 0;
}

static int tasks(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = -2;

	work_ms(BUSY_MS);
	while (readdir(dir))
		n++;
	printf("%d task, child: %d\n", n, waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	closedir(dir);
	return 0;
}

/* ---- system calls that a signal handler may interrupt
 * ------------------------------------------*/
/* None of these calls is restarted after a handler, so that an interruption shows. */
static void *blocked(void *arg)
{
	struct pollfd fd = { ends[0], POLLIN, 0 };
	struct epoll_event event = { .events = EPOLLIN };
	const struct timespec nap = { 0, 100000 };
	int epoll = epoll_create1(0), result = 0;
	fd_set set;

	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	switch ((uintptr_t)arg) {
	case 0:
		result = poll(&fd, 1, -1);
		break;
	case 1:
		result = epoll_wait(epoll, &event, 1, -1);
		break;
	case 2:
		result = select(ends[0] + 1, &set, NULL, NULL, NULL);
		break;
	default: /* busy and asleep in turn */
		while (poll(&fd, 1, 0) == 0) {
			work_ms(1);
			disturbed += nanosleep(&nap, NULL) != 0;
		}
	}
	disturbed += result < 0;
	close(epoll);
	return arg;
}

static int calls(void)
{
	pthread_t threads[5];

	if (pipe(ends))
		return 1;
	for (uintptr_t i = 0; i < 5; i++)
		threads[i] = start(blocked, i);
	work_ms(BUSY_MS);
	close(ends[1]);
	for (unsigned i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	printf("%u interrupted\n", disturbed);
	return 0;
}

/* ---- signals
 * -----------------------------------------------------------------------------------*/
static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	handled++;
	disturbed += signo != SIGRTMIN || info->si_code == SI_TIMER;
}

/* Queries, sets and uses every real-time signal. */
static int handlers(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, old;
	unsigned not_default = 0;

	work_ms(TICKS_MS);
	for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
		not_default += sigaction(s, NULL, &old) != 0 || old.sa_handler != SIG_DFL;
	for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
		not_default += signal(s, SIG_DFL) != SIG_DFL;
	work_ms(TICKS_MS);
	sigaction(SIGRTMIN, &action, &old);
	not_default += old.sa_handler != SIG_DFL;
	for (unsigned i = 0; i < 10; i++) {
		work_ms(10);
		raise(SIGRTMIN);
	}
	sigaction(SIGRTMIN, NULL, &old);
	printf("%u not default, %u handled, %u wrong, mine: %d\n", not_default, handled, disturbed,
	       old.sa_sigaction == on_signal);
	return 0;
}

static int lethal(void)
{
	work_ms(TICKS_MS);
	raise(SIGRTMIN);
	return 0;
}

static int ignored(void)
{
	for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
		signal(s, SIG_IGN);
	work_ms(TICKS_MS);
	raise(SIGRTMIN);
	puts("alive");
	return 0;
}

/* Blocks all signals and waits for any: only signals that the program sent may arrive. */
static void *collector(void *arg)
{
	sigset_t all, now;
	unsigned others = 0;
	int signo;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	printf("inherited: %d %d\n", sigismember(&now, SIGRTMIN), sigismember(&now, SIGUSR1));
	do {
		work_ms(5);
		signo = sigwaitinfo(&all, NULL);
		handled += signo == SIGUSR1 || signo == SIGRTMIN;
		others += signo != SIGUSR1 && signo != SIGRTMIN && signo != SIGTERM;
	} while (signo != SIGTERM);
	printf("%u others\n", others);
	return arg;
}

static int waits(void)
{
	pthread_t thread, worker;
	sigset_t all, old, now, pending;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	thread = start(collector, 0);
	worker = start(burn, BUSY_MS);
	for (unsigned i = 1; i <= 20; i++) {
		kill(getpid(), i % 2 ? SIGUSR1 : SIGRTMIN);
		work_ms(5);
		while (handled < i)
			usleep(1000);
	}
	kill(getpid(), SIGTERM);
	pthread_join(thread, NULL);
	pthread_join(worker, NULL);
	sigprocmask(SIG_SETMASK, NULL, &now);
	sigpending(&pending);
	printf("%u taken, %d blocked, %d pending\n", handled, sigismember(&now, SIGRTMIN),
	       sigisemptyset(&pending));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	sigprocmask(SIG_BLOCK, NULL, &now);
	printf("%d\n", sigismember(&now, SIGRTMIN));
	return 0;
}

/* A timer of the program itself, whose signal it receives by sigwaitinfo without a handler. */
static int timer(void)
{
	const struct itimerspec every = { { 0, 5000000 }, { 0, 5000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	sigset_t set;
	timer_t id;
	unsigned right = 0;

	work_ms(TICKS_MS);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	event.sigev_value.sival_ptr = &id;
	if (timer_create(CLOCK_MONOTONIC, &event, &id) || timer_settime(id, 0, &every, NULL))
		return 1;
	for (unsigned i = 0; i < 10; i++) {
		siginfo_t info;

		work_ms(10);
		right += sigwaitinfo(&set, &info) == SIGRTMIN && info.si_ptr == &id;
	}
	printf("%u right\n", right);
	return timer_delete(id);
}

/* Alternate stacks that have no room for the frame of a signal (2048 bytes), or for nothing but
 * it. ARGUMENT: a signal that the process sends itself then. */
static void *on_small_stack(void *arg)
{
	const size_t below = 64 << 10, bytes = (uintptr_t)arg;
	unsigned char *memory = mmap(NULL, below + bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory + below, .ss_size = bytes };

	if (memory == MAP_FAILED)
		exit(3);
	sigaltstack(&stack, NULL); /* 2048 may be refused */
	work_ms(BUSY_MS);
	for (size_t i = 0; i < below; i++)
		disturbed += memory[i] != 0;
	return arg;
}

static int small_stack(void)
{
	pthread_t other = start(on_small_stack, getauxval(AT_MINSIGSTKSZ));

	on_small_stack((void *)2048);
	pthread_join(other, NULL);
	printf("%u bytes written below\n", disturbed);
	fflush(stdout);
	return argument ? raise(atoi(argument)) : 0;
}

/* ---- processes
 * ---------------------------------------------------------------------------------*/
/* ARGUMENT times: uses CPU, with or without all signals blocked, and calls exec. */
static int execs(void)
{
	int left = argument ? atoi(argument) : 100;
	char text[16];
	sigset_t all;

	if (left == 0) {
		puts("the last");
		return 4;
	}
	sigfillset(&all);
	if (left % 2)
		sigprocmask(SIG_BLOCK, &all, NULL);
	work_ms(left % 7);
	sigemptyset(&all);
	snprintf(text, sizeof(text), "%d", left - 1);
	if (left % 3 == 0)
		execl("/nonexistent", "no", (char *)NULL);
	sigprocmask(SIG_SETMASK, &all, NULL);
	execl(self, self, "execs", text, (char *)NULL);
	return 1;
}

static void *forks(void *arg)
{
	pid_t child = fork();
	int status;

	work_ms(TICKS_MS);
	if (child == 0) /* the child's only thread ends here, and so does the child */
		return arg;
	waitpid(child, &status, 0);
	printf("child: %x\n", (unsigned)status);
	return arg;
}

static int thread_forks(void)
{
	pthread_join(start(forks, 0), NULL);
	return 0;
}

static int main_leaves(void)
{
	start(burn, BUSY_MS);
	pthread_exit(NULL);
}

static int strict(void)
{
	work_ms(TICKS_MS);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	for (volatile unsigned long i = 0; i < 100000000; i++)
		;
	syscall(SYS_write, 1, "strict\n", 7);
	syscall(SYS_exit, 5);
	return 0;
}

/* Calls that install no filter: what libseccomp and browsers make at their start. */
static int probes(void)
{
	struct sock_fprog empty = { 0 };
	long fails = 0;

	fails += prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0;
	fails += prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &empty) < 0;
	for (unsigned flag = 1; flag < 64; flag *= 2)
		fails += syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flag, NULL) < 0;
	work_ms(BUSY_MS);
	printf("%ld calls failed\n", fails);
	return 0;
}

/* All handlers are reset past sigaction(), as browsers do in the child of a fork. */
static int resets(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} none = { NULL, 0, NULL, 0 }, was;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 1; i <= 64; i++)
			syscall(SYS_rt_sigaction, i, &none, NULL, sizeof(none.mask));
		for (int i = 1; i <= 64; i++)
			if (syscall(SYS_rt_sigaction, i, NULL, &was, sizeof(was.mask)) == 0 &&
			    was.handler)
				_exit(2);
		work_ms(BUSY_MS);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("child: %d\n", status);
	work_ms(TICKS_MS);
	return 0;
}

static void count(int signo)
{
	(void)signo;
	handled++;
}

/* A handler that is installed while all signals are blocked. */
static int keeps(void)
{
	sigset_t all, now;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	work_ms(TICKS_MS);
	signal(SIGRTMIN, count);
	raise(SIGRTMIN);
	sigprocmask(SIG_BLOCK, NULL, &now);
	printf("%u handled, %d %d blocked\n", handled, sigismember(&now, SIGRTMIN),
	       sigismember(&now, SIGRTMIN + 1));
	work_ms(TICKS_MS);
	sigprocmask(SIG_UNBLOCK, &all, &now);
	printf("%u handled\n", handled);
	return 0;
}

/* What a new image finds. */
static int inherits(void)
{
	struct sigaction now;
	sigset_t mask;

	sigaction(SIGRTMIN, NULL, &now);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("%signored, %sblocked\n", now.sa_handler == SIG_IGN ? "" : "not ",
	       sigismember(&mask, SIGRTMIN) ? "" : "not ");
	return 0;
}

static char *plain[] = { NULL };

/* One exec, after one that fails if `large`: with the agent, or without if `env` is empty. */
static void hand_over(pid_t child, char **env, char *large)
{
	int status;

	if (child == 0 && large)
		execl(self, self, "inherits", large, (char *)NULL);
	if (child == 0)
		execle(self, self, "inherits", (char *)NULL, env);
	if (child == 0 || waitpid(child, &status, 0) != child || status)
		_exit(1);
}

static void hand_over_by_all(void)
{
	const size_t bytes = 256 << 10; /* E2BIG */
	char *large = malloc(bytes);
	pid_t child;

	memset(large, 'x', bytes);
	large[bytes - 1] = 0;
	hand_over(fork(), environ, NULL);
	hand_over(fork(), plain, NULL);
	hand_over(fork(), plain, large);
	child = vfork();
	hand_over(child, environ, NULL);
	child = vfork();
	hand_over(child, plain, large);
	execl(self, self, "inherits", large, (char *)NULL);
	free(large);
}

/* ARGUMENT: ignored, blocked, or all, which blocks all signals. */
static int hands_over(void)
{
	sigset_t set;

	if (!argument)
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	if (!strcmp(argument, "all"))
		sigfillset(&set);
	if (!strcmp(argument, "ignored"))
		signal(SIGRTMIN, SIG_IGN);
	else
		sigprocmask(SIG_BLOCK, &set, NULL);
	work_ms(TICKS_MS);
	hand_over_by_all();
	work_ms(TICKS_MS);
	raise(SIGRTMIN);
	return inherits();
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "busy", busy },
	{ "tasks", tasks },
	{ "calls", calls },
	{ "handlers", handlers },
	{ "lethal", lethal },
	{ "ignored", ignored },
	{ "waits", waits },
	{ "timer", timer },
	{ "small-stack", small_stack },
	{ "execs", execs },
	{ "thread-forks", thread_forks },
	{ "main-leaves", main_leaves },
	{ "strict", strict },
	{ "probes", probes },
	{ "resets", resets },
	{ "keeps", keeps },
	{ "inherits", inherits },
	{ "hands-over", hands_over },
};

int main(int argc, char **argv)
{
	self = argv[0];
	argument = argc > 2 ? argv[2] : NULL;
	for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1]))
			return cases[i].run();
	fprintf(stderr, "ticks: no case %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
