/* SPDX-License-Identifier: MIT */
/* end_as.c - why a command did not start, and ending as it ended. */
#include "tools/cli/child.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int tool_fail_exec(const char *command, int error)
{
	const char *why = strerror(error);

	if (error == ENOENT)
		why = strchr(command, '/') && access(command, F_OK) == 0 ?
			      "its interpreter is missing" :
			      "not found";
	return tool_fail(error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN,
			 "cannot run command '%s': %s", command, why);
}

void tool_no_core(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
	/* A core_pattern that is a program ignores the limit. */
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

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
