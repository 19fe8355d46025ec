/* SPDX-License-Identifier: MIT */
/*
 * children.c - whether child processes run, from /proc, which takes no system calls but those that
 * rows need: a seccomp filter may kill for waitid(2). That would also report a child that has ended
 * instead of one that runs.
 *
 * proc(5): task/TID/children (CONFIG_PROC_CHILDREN) and fields 3 and 9 of stat.
 */
#include "agent/base/agent.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "agent/output/process_frames.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads whose children are read, which takes 1 ms. The kernel gives the children of an ended
 * thread to another thread of the process. */
enum { TASKS_MOST = 256 };

/* PF_EXITING of the kernel's include/linux/sched.h. */
#define EXITING 4

/* Reads dir/name/file. pmc_outf() would take too much of a small signal stack. */
static bool read_file(const char *dir, const char *name, size_t len, const char *file, char *room,
		      size_t bytes)
{
	struct pmc_out path;

	pmc_out_to_mem(&path, room, bytes);
	pmc_out_str(&path, dir);
	pmc_out_bytes(&path, name, len);
	pmc_out_str(&path, file);
	return pmc_file_read_at(AT_FDCWD, room, room, bytes) > 0;
}

static bool runs(const char *pid, size_t len, char *room, size_t bytes)
{
	const char *at;
	unsigned field = 2;
	uint64_t flags;

	if (!read_file("/proc/", pid, len, "/stat", room, bytes))
		return false;
	/* Field 2, the name, may contain parentheses and spaces. */
	at = strrchr(room, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return false;
	while (*at && field < 9)
		field += *at++ == ' ';
	return pmc_number_take(&at, NULL, 10, &flags) && !(flags & EXITING);
}

static bool has_running(const char *task, char *room, size_t bytes)
{
	const char *list = room;
	size_t len;

	if (!read_file("/proc/self/task/", task, strlen(task), "/children", room, bytes / 2))
		return false;
	for (; (len = strcspn(list, " ")); list += len + (list[len] == ' '))
		if (runs(list, len, room + bytes / 2, bytes / 2))
			return true;
	return false;
}

/* noinline: frames are built later, and the host's signal stack may be small. */
__attribute__((noinline)) bool agent_children_run(char *room, size_t bytes)
{
	const size_t half = bytes / 2 & ~(size_t)7;
	unsigned tasks = 0;
	bool found = false;
	long n;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (!found && tasks < TASKS_MOST && (n = syscall(SYS_getdents64, fd, room, half)) > 0) {
		for (long at = 0; at < n && !found && tasks < TASKS_MOST;) {
			const struct dirent64 *entry = (const void *)(room + at);

			at += entry->d_reclen;
			if (entry->d_name[0] == '.')
				continue;
			found = has_running(entry->d_name, room + half, half);
			tasks++;
		}
	}
	syscall(SYS_close, fd);
	return found;
}
