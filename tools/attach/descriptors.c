/* SPDX-License-Identifier: MIT */
/*
 * descriptors.c - descriptors for access to a process, and of its groups.
 *
 * Between two system calls a process ID may be reused. Descriptors of /proc/PID, of /proc/PID/mem
 * and the pidfd stay with the process and fail after its end.
 */
#include "lib/base/file.h"
#include "lib/base/proc.h"
#include "lib/count/group.h"
#include "tools/attach/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

void attach_status(int dir, const char *field, char value[256])
{
	char text[16384];
	const char *at;

	pmc_file_read_at(dir, "status", text, sizeof(text));
	at = pmc_proc_field(text, field);
	at = at ? at : "";
	snprintf(value, 256, "%.*s", (int)strcspn(at, "\n"), at);
}

bool attach_pidfd_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) > 0;
}

bool attach_has_ended(const struct attach *target)
{
	return attach_pidfd_ended(target->pidfd);
}

static bool is_zombie(int dir)
{
	char state[256];

	attach_status(dir, "State", state);
	return state[0] == 'Z' || state[0] == 'X';
}

/* /proc/PID can be read as long as its process has the ID, so a pidfd that was opened between
 * opening and reading it is of the same process. */
static bool is_there(int dir)
{
	return faccessat(dir, "stat", F_OK, 0) == 0;
}

static int open_dir(int at, const char *path)
{
	return openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The main thread has ended by pthread_exit: use memory and descriptors of any other thread. */
static void enter_by_thread(struct attach *target)
{
	int list = openat(target->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = list >= 0 ? fdopendir(list) : NULL;
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int dir = tid > 0 ? open_dir(list, entry->d_name) : -1, pidfd = -1;

		if (dir >= 0 && !is_zombie(dir))
			pidfd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
		if (pidfd >= 0 && is_there(dir)) {
			close(target->image);
			close(target->files);
			target->image = dir;
			target->files = pidfd;
			break;
		}
		if (pidfd >= 0)
			close(pidfd);
		if (dir >= 0)
			close(dir);
	}
	if (tasks)
		closedir(tasks);
}

int attach_enter(struct attach *target, pid_t pid, bool writing)
{
	char path[64];

	memset(target, 0, sizeof(*target));
	target->pid = pid;
	target->dir = target->pidfd = target->image = target->files = target->mem = -1;
	target->tasks.fd = -1;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	target->dir = open_dir(AT_FDCWD, path);
	if (target->dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target->pidfd < 0)
		return -errno;
	if (!is_there(target->dir))
		return -ESRCH;
	target->image = open_dir(target->dir, ".");
	target->files = fcntl(target->pidfd, F_DUPFD_CLOEXEC, 0);
	if (target->image < 0 || target->files < 0)
		return -errno;
	if (is_zombie(target->dir) && !attach_has_ended(target))
		enter_by_thread(target);
	target->mem = openat(target->image, "mem", (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	return target->mem < 0 ? -errno : 0;
}

void attach_leave(struct attach *target)
{
	int *const all[] = { &target->dir, &target->pidfd, &target->image, &target->files,
			     &target->mem };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i] >= 0)
			close(*all[i]);
		*all[i] = -1;
	}
}

/* ---- groups -------------------------------------------------------------------------------*/
/* The program may have reused the number: a foreign file must not be read, a pipe would lose data.
 */
int attach_group_dup(const struct attach *target, int fd, uint64_t id, uint32_t *error)
{
	uint64_t now = 0;
	int ours;

	if (fd < 0) {
		*error = EBADF;
		return -1;
	}
	ours = (int)syscall(SYS_pidfd_getfd, target->files, fd, 0);
	if (ours < 0) {
		*error = errno == EBADF ? PMC_REASON_RECYCLED : (uint32_t)errno;
		return -1;
	}
	if (pmc_perf_ioctl(ours, PERF_EVENT_IOC_ID, &now) != 0 || now != id) {
		close(ours);
		*error = PMC_REASON_RECYCLED;
		return -1;
	}
	return ours;
}

void attach_group_read(void *from, int fd, uint64_t id, unsigned n, struct pmc_reading *reading,
		       uint64_t *words)
{
	const struct attach *target = from;

	*reading = (struct pmc_reading){ .n = 0 };
	fd = attach_group_dup(target, fd, id, &reading->error);
	if (fd < 0)
		return;
	pmc_perf_group_read(fd, id, n, reading, words);
	close(fd);
}
