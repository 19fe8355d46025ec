/* SPDX-License-Identifier: MIT */
/*
 * masked HOW: signals are blocked, but for a wait in which a fatal one arrives. sigsuspend, ppoll,
 * pselect, epoll_pwait: SIGTERM in that wait. once: in a second wait, after a handler with
 * SA_RESETHAND. several: SIGUSR2, SIGTERM and SIGINT are pending. handler: in a handler of SIGUSR1.
 * thread: a second thread waits. queue: sent by sigqueue(3). fork: in a child, whose status is
 * printed. Prints "handled" in a handler, and "survived" after the wait.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t none;

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

static void wait_in(const char *how)
{
	struct epoll_event event;

	if (!strcmp(how, "ppoll"))
		ppoll(NULL, 0, NULL, &none);
	else if (!strcmp(how, "pselect"))
		pselect(0, NULL, NULL, NULL, NULL, &none);
	else if (!strcmp(how, "epoll_pwait"))
		epoll_pwait(epoll_create1(0), &event, 1, -1, &none);
	else
		sigsuspend(&none);
	say("survived\n");
}

static void on_once(int signo)
{
	(void)signo;
	say("handled\n");
}

static void on_usr1(int signo)
{
	(void)signo;
	say("handled\n");
	kill(getpid(), SIGTERM);
	wait_in("sigsuspend");
}

static void *waiter(void *arg)
{
	wait_in("sigsuspend");
	return arg;
}

static void install(int signo, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaddset(&action.sa_mask, SIGTERM);
	sigaction(signo, &action, NULL);
}

static void wait_again(void)
{
	install(SIGTERM, on_once, (int)SA_RESETHAND);
	kill(getpid(), SIGTERM);
	sigsuspend(&none);
	kill(getpid(), SIGTERM);
}

static int child(void)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		kill(getpid(), SIGTERM);
		wait_in("sigsuspend");
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	printf("%x\n", (unsigned)status);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const union sigval value = { .sival_int = 7 };
	pthread_t thread;
	sigset_t all;

	sigemptyset(&none);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (!strcmp(how, "fork"))
		return child();
	if (!strcmp(how, "once")) {
		wait_again();
	} else if (!strcmp(how, "several")) {
		kill(getpid(), SIGUSR2);
		kill(getpid(), SIGINT);
	}
	if (!strcmp(how, "handler")) {
		install(SIGUSR1, on_usr1, 0);
		kill(getpid(), SIGUSR1);
	} else if (!strcmp(how, "queue")) {
		sigqueue(getpid(), SIGTERM, value);
	} else if (strcmp(how, "once") != 0) {
		kill(getpid(), SIGTERM);
	}
	if (!strcmp(how, "thread") && pthread_create(&thread, NULL, waiter, NULL) == 0)
		pthread_join(thread, NULL);
	wait_in(how);
	return 7;
}
