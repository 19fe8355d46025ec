/* SPDX-License-Identifier: MIT */
/*
 * denied ACTION END: children with a filter against one system call each, for every number: kill or
 * errno (EPERM); each child creates a thread, then ends by exit or by signal. Prints their status.
 */
#include "filter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 470 };

static int deny(unsigned number, unsigned action)
{
	struct sock_filter code[] = FILTER(number, action);
	struct sock_fprog filter = { .len = FILTER_LEN, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *nothing(void *arg)
{
	return arg;
}

static int child(unsigned number, unsigned action, int by_signal)
{
	/* A child that does not end is killed. */
	const struct rlimit second = { 1, 1 };
	const pid_t self = getpid();
	pthread_t thread;

	if (self <= 1 || setrlimit(RLIMIT_CPU, &second) || deny(number, action))
		return 1;
	/* By no system call: without futex pthread_join ends the program, if the thread still runs.
	 */
	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		while (pthread_tryjoin_np(thread, NULL) == EBUSY)
			;
	if (by_signal)
		kill(self, SIGTERM);
	return 0;
}

int main(int argc, char **argv)
{
	const int kills = argc > 1 && !strcmp(argv[1], "kill");
	const unsigned action = kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	const int by_signal = argc > 2 && !strcmp(argv[2], "signal");
	int status;

	for (unsigned number = 0; number < NUMBERS; number++) {
		pid_t pid;

		/* No handler could return. */
		if (number == SYS_rt_sigreturn)
			continue;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			exit(child(number, action, by_signal));
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		printf("%u %x\n", number, (unsigned)status);
	}
	return 0;
}
