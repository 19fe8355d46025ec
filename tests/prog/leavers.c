/* SPDX-License-Identifier: MIT */
/*
 * leavers HOW [N]: starts N children (100), each of which ends as HOW says:
 *
 *	both	among 20 idle threads, two threads call _exit at the same time
 *	exits	the same, but main returns and the other thread calls exit
 *	term	among 20 idle threads, it calls _exit while a SIGTERM arrives, ever later
 *	handler	the same, with a handler that calls _exit
 *	early	it waits, and a SIGTERM arrives while fork returns in it or just after that
 *	taken	an idle thread takes its SIGTERM, and main returns meanwhile
 *	unload	dlopens and dlcloses $AGENT 20 times
 *	nproc	unprivileged, with RLIMIT_NPROC 0, it installs a filter that kills on getrusage
 *
 * Prints how many ended with which status, and how many of them used more than 0.5 s of CPU time.
 */
#include "filter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t together;
static int by_exit;

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int idlers(void)
{
	pthread_t thread;

	for (int i = 0; i < 20; i++)
		if (pthread_create(&thread, NULL, idle, NULL) != 0)
			return 0;
	return 1;
}

static void *leave(void *arg)
{
	pthread_barrier_wait(&together);
	if (by_exit)
		exit(0);
	_exit(0);
	return arg;
}

static int both(void)
{
	pthread_t thread;

	pthread_barrier_init(&together, NULL, 2);
	if (!idlers())
		return 1;
	if (pthread_create(&thread, NULL, leave, NULL) != 0)
		return 1;
	pthread_barrier_wait(&together);
	if (by_exit)
		return 0;
	_exit(0);
}

static void on_term(int signo)
{
	(void)signo;
	_exit(0);
}

static int taken(void)
{
	sigset_t term, pending;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	if (!idlers())
		return 1;
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	kill(getpid(), SIGTERM);
	do
		sigpending(&pending);
	while (sigismember(&pending, SIGTERM));
	return 0;
}

static int unload(void)
{
	const char *path = getenv("AGENT");

	for (int i = 0; path && i < 20; i++) {
		void *agent = dlopen(path, RTLD_NOW);

		if (!agent || dlclose(agent) != 0)
			return 1;
	}
	return path ? 0 : 1;
}

static int nproc(void)
{
	struct sock_filter code[] = FILTER(SYS_getrusage, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog filter = { .len = FILTER_LEN, .filter = code };
	struct rlimit none = { 0, 0 };

	if ((geteuid() == 0 && setuid(65534)) || setrlimit(RLIMIT_NPROC, &none) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 1;
	return 0;
}

/* A signal that arrives some time after the child began to exit, or after the fork (ready -1). */
static void interrupt(pid_t child, int ready, long ns)
{
	struct timespec from, now;
	char byte;

	if (ready >= 0 && read(ready, &byte, 1) != 1)
		return;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < ns);
	kill(child, SIGTERM);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "both";
	int n = argc > 2 ? atoi(argv[2]) : 100, busy = 0, pipes[2], exits = 0, terms = 0,
	    others = 0;
	int handled = !strcmp(how, "handler"), early = !strcmp(how, "early"),
	    sends = handled || early || !strcmp(how, "term");

	by_exit = !strcmp(how, "exits");
	for (int i = 0; i < n; i++) {
		struct rusage usage;
		pid_t pid;
		int status;

		if (pipe(pipes) != 0 || (pid = fork()) < 0)
			return 1;
		while (pid == 0 && early)
			pause();
		if (pid == 0 && sends) {
			if (handled)
				signal(SIGTERM, on_term);
			_exit(!idlers() || write(pipes[1], "", 1) != 1);
		}
		if (pid == 0)
			return !strcmp(how, "taken")  ? taken() :
			       !strcmp(how, "unload") ? unload() :
			       !strcmp(how, "nproc")  ? nproc() :
							both();
		if (sends)
			interrupt(pid, early ? -1 : pipes[0], i % 100 * (early ? 1000L : 5000L));
		close(pipes[0]);
		close(pipes[1]);
		if (wait4(pid, &status, 0, &usage) != pid)
			return 1;
		busy += usage.ru_utime.tv_sec + usage.ru_stime.tv_sec > 0 ||
			usage.ru_utime.tv_usec + usage.ru_stime.tv_usec > 500000;
		if (status == 0 && strcmp(how, "taken") != 0)
			exits++;
		else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM &&
			 (sends || !strcmp(how, "taken")))
			terms++;
		else
			others++;
	}
	printf("%s: %d ended, %d not as expected, %d busy\n", how, exits + terms, others, busy);
	return 0;
}
