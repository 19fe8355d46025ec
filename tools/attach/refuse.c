/* SPDX-License-Identifier: MIT */
/* refuse.c - errors for a process that ended or must not be read, with the fix. */
#include "lib/base/file.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int attach_gone(pid_t pid)
{
	return tool_fail(EXIT_FAIL,
			 "process %d has ended; if PMC_OUT was set, its rows are in that dump",
			 pid);
}

int attach_no_entry(const struct attach *target, int error)
{
	pid_t pid = target->pid;

	if (target->dir < 0 && error == -ESRCH)
		return tool_fail(EXIT_FAIL, "no such process: %d", pid);
	if (target->pidfd < 0 && (error == -EINVAL || error == -ENOENT))
		return tool_fail(EXIT_FAIL,
				 "%d is a thread ID: use the ID of its process (Tgid in "
				 "/proc/%d/status)",
				 pid, pid);
	if (target->pidfd >= 0)
		return attach_no_memory(target, error);
	return error == -ESRCH ?
		       attach_gone(pid) :
		       tool_fail(EXIT_FAIL, "cannot open process %d: %s", pid, strerror(-error));
}

/* PF_KTHREAD of include/linux/sched.h, in field 9 of /proc/PID/stat. */
static bool is_kernel_thread(const struct attach *target)
{
	const char *at;
	char text[1024];
	unsigned flags;

	if (pmc_file_read_at(target->dir, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')');
	return at && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & 0x00200000);
}

int attach_no_memory(const struct attach *target, int error)
{
	if (attach_has_ended(target))
		return attach_gone(target->pid);
	if (error == -EPERM || error == -EACCES)
		return attach_not_permitted(target);
	if (error == -ESRCH)
		return is_kernel_thread(target) ? attach_no_agent(target) : ATTACH_AGAIN;
	return tool_fail(EXIT_FAIL, "cannot read the memory of process %d: %s", target->pid,
			 strerror(-error));
}

int attach_no_agent(const struct attach *target)
{
	char exe[PATH_MAX];
	ssize_t n = readlinkat(target->image, "exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (attach_has_ended(target))
		return attach_gone(target->pid);
	if (is_kernel_thread(target))
		return tool_fail(EXIT_FAIL,
				 "process %d is a kernel thread: only programs have an agent",
				 target->pid);
	return tool_fail(
		EXIT_FAIL,
		"no agent in process %d (%s): start the program with pmctl run -- CMD or with "
		"LD_PRELOAD=libpmcagent.so",
		target->pid, exe);
}

/* A user ID of the process that is not ours; -1: none, or unknown. */
static long foreign_uid(const struct attach *target)
{
	char text[256];
	unsigned uids[4];

	attach_status(target->dir, "Uid", text);
	if (sscanf(text, "%u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
		return -1;
	for (unsigned i = 0; i < 4; i++)
		if (uids[i] != geteuid())
			return uids[i];
	return -1;
}

int attach_not_permitted(const struct attach *target)
{
	pid_t pid = target->pid;
	bool dumping = tool_command_name && strcmp(tool_command_name, "dump") == 0;
	const char *signal =
		dumping ? ", or pmctl dump --signal if PMC_DUMP was set at its start" : "";
	long uid = geteuid() != 0 ? foreign_uid(target) : -1;
	const bool root = geteuid() == 0;
	char scope[16];

	if (uid >= 0)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: it belongs to user ID %ld; run pmctl as "
				 "that user or with sudo",
				 pid, uid);
	pmc_file_read(scope, sizeof(scope), "/proc/sys/kernel/yama/ptrace_scope");
	if (atoi(scope) >= 3)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: kernel.yama.ptrace_scope=%d forbids it; "
				 "boot with another value%s",
				 pid, atoi(scope), signal);
	if (root)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: no ptrace permission (pmctl lacks "
				 "CAP_SYS_PTRACE, or is confined by a container or a security "
				 "module); run it with that capability, outside the container%s",
				 pid, signal);
	if (atoi(scope) > 0)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: kernel.yama.ptrace_scope=%d forbids it; "
				 "use sudo or sudo sysctl kernel.yama.ptrace_scope=0%s",
				 pid, atoi(scope), signal);
	return tool_fail(
		EXIT_FAIL,
		"cannot read process %d: no ptrace permission (it is not dumpable, or pmctl is "
		"confined); use sudo%s",
		pid, signal);
}
