/* SPDX-License-Identifier: MIT */
/* end_as.c - ending as a command ended. */
#include "tools/cli/child.h"

#include <stdio.h>
#include <sys/wait.h>

int tool_end_as(int status)
{
	int sig;
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	fflush(stdout);
	tool_no_core();
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig;
}
