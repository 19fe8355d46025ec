/* SPDX-License-Identifier: MIT */
/*
 * rt_signals CASE: a program that sends itself real-time signals, or blocks single ones, while its
 * threads block all: prints the signals that it gets, the same with ticks and samples as without.
 */
#include "burn.h"
#include "filter.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS 40

static sigset_t all;
static pthread_barrier_t met;

/* Sends one of each of the first N real-time signals. */
static void send(int n)
{
	for (int i = 0; i < n; i++)
		kill(getpid(), SIGRTMIN + i);
	burn_thread_ms(STEP_MS);
}

static void take(void)
{
	const struct timespec zero = { 0, 0 };
	siginfo_t info;
	sigset_t pending;
	int signo;

	sigpending(&pending);
	for (int i = 1; i <= SIGRTMAX; i++)
		if (sigismember(&pending, i))
			printf("pending RTMIN+%d\n", i - SIGRTMIN);
	while ((signo = sigtimedwait(&all, &info, &zero)) > 0)
		printf("RTMIN+%d\n", signo - SIGRTMIN);
}

/* One thread. */
static void alone(void)
{
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int n = 0; n < 4; n++) {
		burn_thread_ms(STEP_MS);
		send(n);
		take();
	}
}

/* By signalfd. */
static void descriptor(void)
{
	struct signalfd_siginfo info;
	int fd;

	sigprocmask(SIG_BLOCK, &all, NULL);
	fd = signalfd(-1, &all, SFD_NONBLOCK);
	burn_thread_ms(STEP_MS);
	send(1);
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		printf("RTMIN+%d\n", (int)info.ssi_signo - SIGRTMIN);
}

static void *worker(void *arg)
{
	/* Twice: before the main thread sends or blocks signals, and after that. */
	for (int i = 0; i < 2; i++) {
		burn_thread_ms(STEP_MS);
		pthread_barrier_wait(&met);
		pthread_barrier_wait(&met);
	}
	burn_thread_ms(2 * STEP_MS);
	sigprocmask(SIG_BLOCK, &all, NULL);
	burn_thread_ms(STEP_MS);
	take();
	return arg;
}

/* A second thread that blocks all; the main thread blocks all, too, or SIGRTMIN and n signals more
 * alone. */
static void with_worker(int n, const char *handler)
{
	sigset_t some, old;
	pthread_t thread;

	pthread_barrier_init(&met, NULL, 2);
	sigprocmask(SIG_BLOCK, &all, &old);
	pthread_create(&thread, NULL, worker, NULL);
	if (n) {
		sigemptyset(&some);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
	burn_thread_ms(STEP_MS);
	pthread_barrier_wait(&met);
	for (int i = 0; i < n; i++)
		sigaddset(&some, SIGRTMIN + i);
	if (n)
		sigprocmask(SIG_BLOCK, &some, NULL);
	send(n ? n : 1);
	take();
	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	/* The host takes the number for itself. */
	if (handler)
		signal(SIGRTMIN, !strcmp(handler, "default") ? SIG_DFL : SIG_IGN);
	burn_thread_ms(STEP_MS);
	take();
	pthread_barrier_wait(&met);
	pthread_join(thread, NULL);
	take();
}

static void handled(int signo)
{
	(void)signo;
	(void)!write(1, "handled\n", 8);
}

static void *waiter(void *arg)
{
	sigset_t one;
	int signo;

	sigemptyset(&one);
	sigaddset(&one, SIGRTMIN);
	sigwait(&one, &signo);
	return arg;
}

/* A signal to each thread while it starts. */
static void starts(void)
{
	pthread_t thread;

	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 20; i++) {
		pthread_create(&thread, NULL, waiter, NULL);
		pthread_kill(thread, SIGRTMIN);
		pthread_join(thread, NULL);
	}
}

/* Real-time signals that a mask lacks. */
static void lacks(const sigset_t *mask)
{
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		if (!sigismember(mask, i))
			printf("lacks RTMIN+%d\n", i - SIGRTMIN);
}

/* The number that the agent has, and then the next one, blocked alone for a while. */
static void restores(void)
{
	sigset_t one, old, now;

	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 2; i++) {
		sigemptyset(&one);
		sigaddset(&one, SIGRTMIN + i);
		sigprocmask(SIG_SETMASK, &one, &old);
		lacks(&old);
		sigprocmask(SIG_SETMASK, &old, NULL);
		sigprocmask(SIG_BLOCK, NULL, &now);
		lacks(&now);
	}
	send(3);
	take();
}

/* All but one again. */
static void unblocks(void)
{
	sigset_t rest = all;

	sigprocmask(SIG_BLOCK, &all, NULL);
	sigdelset(&rest, SIGRTMIN);
	sigprocmask(SIG_UNBLOCK, &rest, NULL);
	send(1);
	take();
}

static void *forker(void *arg)
{
	burn_thread_ms(STEP_MS);
	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	if (fork() == 0) {
		burn_thread_ms(2 * STEP_MS);
		take();
		exit(0);
	}
	wait(NULL);
	return arg;
}

/* A thread with the agent's former number forks. */
static void forks(void)
{
	pthread_t thread;

	pthread_barrier_init(&met, NULL, 2);
	sigprocmask(SIG_BLOCK, &all, NULL);
	pthread_create(&thread, NULL, forker, NULL);
	pthread_barrier_wait(&met);
	pthread_kill(pthread_self(), SIGRTMIN);
	burn_thread_ms(STEP_MS);
	pthread_barrier_wait(&met);
	pthread_join(thread, NULL);
	take();
}

static void *late_asker(void *arg)
{
	sigset_t now;

	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	sigprocmask(SIG_BLOCK, NULL, &now);
	lacks(&now);
	return arg;
}

/* The host takes the last number that was left, while another thread blocks all. */
static void takes_last(void)
{
	pthread_t thread;
	sigset_t one, old;

	for (int i = SIGRTMIN + 1; i <= SIGRTMAX; i++)
		signal(i, handled);
	pthread_barrier_init(&met, NULL, 2);
	sigprocmask(SIG_BLOCK, &all, &old);
	pthread_create(&thread, NULL, late_asker, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	pthread_barrier_wait(&met);
	sigemptyset(&one);
	sigaddset(&one, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &one, NULL);
	pthread_barrier_wait(&met);
	pthread_join(thread, NULL);
}

/* SIG_IGN is kept over exec, also after somebody else sent the signal. */
static void ignores(char *self)
{
	sigset_t old;

	signal(SIGRTMIN, SIG_IGN);
	sigprocmask(SIG_BLOCK, &all, &old);
	raise(SIGRTMIN);
	sigprocmask(SIG_SETMASK, &old, NULL);
	burn_thread_ms(STEP_MS);
	execl("/proc/self/exe", self, "ignored", (char *)NULL);
	exit(3);
}

/* A handler of the host's after a filter that kills for timers. */
static void filtered(void)
{
	struct sock_filter code[] = FILTER(SYS_timer_create, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog filter = { FILTER_LEN, code };

	burn_thread_ms(STEP_MS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		exit(3);
	signal(SIGRTMIN, handled);
	raise(SIGRTMIN);
	burn_thread_ms(STEP_MS);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	sigfillset(&all);
	if (!strcmp(how, "alone"))
		alone();
	else if (!strcmp(how, "signalfd"))
		descriptor();
	else if (!strcmp(how, "worker"))
		with_worker(0, NULL);
	else if (!strcmp(how, "worker-one"))
		with_worker(1, NULL);
	else if (!strcmp(how, "worker-two"))
		with_worker(2, NULL);
	else if (!strcmp(how, "worker-default"))
		with_worker(1, "default");
	else if (!strcmp(how, "worker-ignored"))
		with_worker(0, "ignored");
	else if (!strcmp(how, "starts"))
		starts();
	else if (!strcmp(how, "restores"))
		restores();
	else if (!strcmp(how, "unblocks"))
		unblocks();
	else if (!strcmp(how, "forks"))
		forks();
	else if (!strcmp(how, "takes-last"))
		takes_last();
	else if (!strcmp(how, "ignores"))
		ignores(argv[0]);
	else if (!strcmp(how, "ignored"))
		puts(signal(SIGRTMIN, SIG_DFL) == SIG_IGN ? "ignored" : "not ignored");
	else if (!strcmp(how, "filtered"))
		filtered();
	else
		return 2;
	puts("alive");
	return 0;
}
