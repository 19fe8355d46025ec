/* SPDX-License-Identifier: MIT */
/* refuse.c - why a process cannot be looked into, and what to do about it. */
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_file(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, cap - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_status(pid_t pid, char *text, size_t cap)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_file(path, text, cap);
}

bool attach_is_zombie(pid_t pid)
{
	char text[4096];
	const char *state;

	if (!read_status(pid, text, sizeof(text)))
		return false;
	state = strstr(text, "\nState:\t");
	return state && (state[8] == 'Z' || state[8] == 'X');
}

int attach_gone(pid_t pid)
{
	return tool_fail(EXIT_FAIL,
			 "process %d has ended; its rows are in its dump if PMC_OUT named one",
			 pid);
}

/* One of its user ids that is not ours; -1 if all are, or nobody knows. */
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
		dumping ? ", or pmctl dump --signal if it was started with PMC_DUMP" : "";
	char status[4096], scope[16];
	const struct passwd *user;
	long uid = -1;

	if (geteuid() != 0 && read_status(pid, status, sizeof(status)))
		uid = foreign_uid(status);
	if (uid >= 0) {
		user = getpwuid((uid_t)uid);
		return tool_fail(EXIT_FAIL,
				 "process %d belongs to user %s%s%ld: run pmctl as that user or "
				 "with sudo",
				 pid, user ? user->pw_name : "", user ? ", uid " : "", uid);
	}
	if (read_file("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) &&
	    atoi(scope) > 0)
		return tool_fail(EXIT_FAIL,
				 "kernel.yama.ptrace_scope=%d keeps us from looking into process "
				 "%d: use sudo%s%s",
				 atoi(scope), pid,
				 atoi(scope) < 3 ? " or sudo sysctl kernel.yama.ptrace_scope=0" :
						   "",
				 signal);
	return tool_fail(
		EXIT_FAIL,
		"the kernel does not let us look into process %d (no ptrace permission: it "
		"is not dumpable, or we are confined): use sudo%s",
		pid, signal);
}
