/* SPDX-License-Identifier: MIT */
/* child.c - ending as a command ended, on macOS. */
#include "tools/cli/child.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

int tool_end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	int sig;
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	fflush(stdout);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig;
}
