/* SPDX-License-Identifier: MIT */
/*
 * signal.c - pmctl dump --signal: the process takes the snapshot itself.
 *
 * Without ptrace permission the signal comes from the environment that the program was started
 * with, and the dump from its open files.
 */
#include "agent/core/base/clock.h"
#include "agent/core/base/config.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_NS   5000000000u
#define LOOK_EVERY_US 1000

struct asking {
	pid_t pid;
	int signo;
	char path[PATH_MAX];
	off_t before;
	const uint8_t *identity; /* NULL: unknown, any growth of the file is the answer */
};

/* Whether the process has a handler for the signal; without one it could be killed. */
static bool is_caught(pid_t pid, int signo)
{
	char caught[256];

	attach_status(pid, "SigCgt", caught);
	return strtoull(caught, NULL, 16) >> (signo - 1) & 1;
}

/* A variable of the environment at the start of the program: 0 or -errno. */
static int started_with(pid_t pid, const char *name, char *value, size_t cap)
{
	char path[64], *item = NULL;
	size_t room = 0, len = strlen(name);
	int result = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (result && getdelim(&item, &room, '\0', file) > 0)
		if (strncmp(item, name, len) == 0 && item[len] == '=') {
			snprintf(value, cap, "%s", item + len + 1);
			result = 0;
		}
	free(item);
	fclose(file);
	return result;
}

/* ---- the dump -----------------------------------------------------------------------------*/
static bool is_dump(const char *path, off_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = !tool_dump_refusal(fd, &st) && st.st_size;
	*bytes = st.st_size;
	close(fd);
	return is;
}

/* Looks for a dump among the open files of the process. */
static bool find_dump(struct asking *asking)
{
	char dir_name[64], path[sizeof(dir_name) + NAME_MAX + 2];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(dir_name, sizeof(dir_name), "/proc/%d/fd", asking->pid);
	dir = opendir(dir_name);
	while (dir && !found && (entry = readdir(dir))) {
		struct stat st;
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s", dir_name, entry->d_name);
		if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !is_dump(path, &asking->before))
			continue;
		n = readlink(path, asking->path, sizeof(asking->path) - 1);
		asking->path[n > 0 ? n : 0] = '\0';
		found = n > 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Whether the end of a snapshot of this process was appended. */
static bool answered(const struct asking *asking)
{
	struct pmc_scan scan = { .partial = true };
	struct pmc_frame frame;
	struct stat st;
	bool found = false;
	uint8_t *data;
	int fd;

	if (stat(asking->path, &st) != 0 || st.st_size <= asking->before)
		return false;
	if (!asking->identity)
		return true;
	scan.len = (size_t)(st.st_size - asking->before);
	data = malloc(scan.len);
	fd = open(asking->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (data && fd >= 0 && pread(fd, data, scan.len, asking->before) == (ssize_t)scan.len) {
		scan.data = data;
		while (!found && pmc_scan_next(&scan, &frame))
			found = frame.head.type == PMC_FRAME_PROCESS && frame.head.snapshot > 1 &&
				memcmp(frame.head.identity, asking->identity, 16) == 0;
	}
	if (fd >= 0)
		close(fd);
	free(data);
	return found;
}

static int ask(struct asking *asking, int pidfd)
{
	uint64_t start = pmc_now_ns();
	struct stat st;

	if (asking->path[0] && stat(asking->path, &st) == 0)
		asking->before = st.st_size;
	if (!is_caught(asking->pid, asking->signo))
		return tool_fail(EXIT_FAIL,
				 "cannot signal process %d: the program replaced the handler of "
				 "its dump signal %d; use pmctl dump without --signal",
				 asking->pid, asking->signo);
	if (syscall(SYS_pidfd_send_signal, pidfd, asking->signo, NULL, 0) != 0)
		return errno == ESRCH ?
			       attach_gone(asking->pid) :
			       tool_fail(EXIT_FAIL, "cannot send signal %d to process %d: %s",
					 asking->signo, asking->pid, strerror(errno));
	while (pmc_now_ns() - start < PATIENCE_NS) {
		if ((asking->path[0] || find_dump(asking)) && answered(asking)) {
			printf("%s\n", asking->path);
			return 0;
		}
		usleep(LOOK_EVERY_US);
	}
	return tool_fail(
		EXIT_FAIL,
		"no snapshot from process %d within 5 s of signal %d: it is stopped, blocks the "
		"signal or has its own handler; use pmctl dump without --signal",
		asking->pid, asking->signo);
}

static int no_signal(pid_t pid)
{
	return tool_fail(
		EXIT_FAIL,
		"process %d has no dump signal: start the program with PMC_DUMP=USR2, or use pmctl "
		"dump without --signal",
		pid);
}

static int ask_blindly(pid_t pid)
{
	struct asking asking = { .pid = pid };
	char value[64];
	int pidfd, code;

	code = started_with(pid, "PMC_DUMP", value, sizeof(value));
	if (code)
		return code == -ENOENT ? no_signal(pid) : attach_not_permitted(pid);
	asking.signo = pmc_signal_number(value);
	if (asking.signo <= 0)
		return no_signal(pid);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return attach_gone(pid);
	find_dump(&asking);
	code = ask(&asking, pidfd);
	close(pidfd);
	return code;
}

int attach_signal(pid_t pid)
{
	struct asking asking = { .pid = pid };
	struct attach target;
	char byte;
	int code;

	if (attach_read(pid, 0, &byte, 1) == -EPERM)
		return ask_blindly(pid);
	code = attach_open(&target, pid);
	if (!code && !target.control.dump_signal) {
		code = no_signal(pid);
	} else if (!code) {
		asking.signo = target.control.dump_signal;
		asking.identity = target.control.identity;
		snprintf(asking.path, sizeof(asking.path), "%s", target.control.out);
		code = ask(&asking, target.pidfd);
	}
	attach_close(&target);
	return code;
}
