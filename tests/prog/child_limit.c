/* SPDX-License-Identifier: MIT */
/* child_limit.c - a vfork child sets its soft limit of descriptors to the hard one and execs a
 * shell, which prints it. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct rlimit limit;
	int status;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (vfork() == 0) {
		setrlimit(RLIMIT_NOFILE, &limit);
		execl("/bin/sh", "sh", "-c", "ulimit -n", (char *)NULL);
		_exit(1);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
