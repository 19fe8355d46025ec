/* SPDX-License-Identifier: MIT */
/* refuse.c - errors for a process that ended or must not be read, with the fix. */
#include "agent/core/base/file.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void attach_status(pid_t pid, const char *field, char value[256])
{
	char text[16384], name[32];
	const char *at;

	pmc_file_read(text, sizeof(text), "/proc/%d/status", pid);
	snprintf(name, sizeof(name), "\n%s:\t", field);
	at = strstr(text, name);
	at = at ? at + strlen(name) : "";
	snprintf(value, 256, "%.*s", (int)strcspn(at, "\n"), at);
}

bool attach_is_zombie(pid_t pid)
{
	char state[256];

	attach_status(pid, "State", state);
	return state[0] == 'Z' || state[0] == 'X';
}

int attach_gone(pid_t pid)
{
	return tool_fail(EXIT_FAIL,
			 "process %d has ended; if PMC_OUT was set, its rows are in that dump",
			 pid);
}

/* A user ID of the process that is not ours; -1: none, or unknown. */
static long foreign_uid(pid_t pid)
{
	char text[256];
	unsigned uids[4];

	attach_status(pid, "Uid", text);
	if (sscanf(text, "%u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
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
	long uid = geteuid() != 0 ? foreign_uid(pid) : -1;
	char scope[16];

	if (uid >= 0)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: it belongs to user ID %ld; run pmctl as "
				 "that user or with sudo",
				 pid, uid);
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
