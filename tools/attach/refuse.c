/* SPDX-License-Identifier: MIT */
/* refuse.c - errors for a process that ended or must not be read, with the fix. */
#include "lib/base/file.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
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

/* PF_KTHREAD of include/linux/sched.h, in field 9 of /proc/PID/stat. A process that is ending has
 * no program either. */
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
	const bool dumping = tool_command_name && strcmp(tool_command_name, "dump") == 0;
	const bool root = geteuid() == 0;
	const long uid = root ? -1 : foreign_uid(target);
	const char *why, *fix;
	char scope[16], text[64];
	int level;

	if (uid >= 0)
		return tool_fail(EXIT_FAIL,
				 "cannot read process %d: it belongs to user ID %ld; run pmctl as "
				 "that user or with sudo",
				 target->pid, uid);
	pmc_file_read(scope, sizeof(scope), "/proc/sys/kernel/yama/ptrace_scope");
	level = atoi(scope);
	snprintf(text, sizeof(text), "kernel.yama.ptrace_scope=%d forbids it", level);
	if (level >= 3 || (level > 0 && !root))
		why = text;
	else
		why = root ? "no ptrace permission (pmctl lacks CAP_SYS_PTRACE, or is confined by "
			     "a container or a security module)" :
			     "no ptrace permission (it is not dumpable, or pmctl is confined)";
	fix = level >= 3 ? "boot with another value" :
	      root	 ? "run it with that capability, outside the container" :
	      level > 0	 ? "use sudo or sudo sysctl kernel.yama.ptrace_scope=0" :
			   "use sudo";
	return tool_fail(EXIT_FAIL, "cannot read process %d: %s; %s%s", target->pid, why, fix,
			 dumping ? ", or pmctl dump --signal if PMC_DUMP was set at its start" :
				   "");
}
