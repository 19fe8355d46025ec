/* SPDX-License-Identifier: MIT */
/* refuse.c - errors for a process that ended or must not be read, with the fix. */
#include "agent/core/base/file.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool attach_is_zombie(pid_t pid)
{
	char text[4096];
	const char *state;

	pmc_file_read(text, sizeof(text), "/proc/%d/status", pid);
	state = strstr(text, "\nState:\t");
	return state && (state[8] == 'Z' || state[8] == 'X');
}

int attach_gone(pid_t pid)
{
	return tool_fail(EXIT_FAIL,
			 "process %d has ended; if PMC_OUT was set, its rows are in that dump",
			 pid);
}

/* A user ID of the process that is not ours; -1: none, or unknown. */
static long foreign_uid(const char *status)
{
	const char *line = strstr(status, "\nUid:");
	unsigned uids[4];

	if (!line ||
	    sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
		return -1;
	for (unsigned i = 0; i < 4; i++)
		if (uids[i] != geteuid())
			return uids[i];
	return -1;
}

int attach_not_permitted(pid_t pid)
{
	bool dumping = tool_command_name && strcmp(tool_command_name, "dump") == 0;
	const char *signal =
		dumping ? ", or pmctl dump --signal if PMC_DUMP was set at its start" : "";
	char status[4096], scope[16];
	const struct passwd *user;
	long uid = -1;

	pmc_file_read(status, sizeof(status), "/proc/%d/status", pid);
	if (geteuid() != 0)
		uid = foreign_uid(status);
	if (uid >= 0) {
		user = getpwuid((uid_t)uid);
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: it belongs to user %s%s%ld; run pmctl "
				 "as that user or with sudo",
				 pid, user ? user->pw_name : "", user ? ", uid " : "", uid);
	}
	pmc_file_read(scope, sizeof(scope), "/proc/sys/kernel/yama/ptrace_scope");
	if (atoi(scope) > 0)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: kernel.yama.ptrace_scope=%d forbids it; "
				 "use sudo%s%s",
				 pid, atoi(scope),
				 atoi(scope) < 3 ? " or sudo sysctl kernel.yama.ptrace_scope=0" :
						   "",
				 signal);
	return tool_fail(
		EXIT_FAIL,
		"cannot read process %d: no ptrace permission (it is not dumpable, or pmctl is "
		"confined); use sudo%s",
		pid, signal);
}
