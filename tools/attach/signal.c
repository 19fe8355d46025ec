/* SPDX-License-Identifier: MIT */
/*
 * signal.c - pmctl dump --signal: the process takes the snapshot itself.
 *
 * Without ptrace permission the signal comes from the environment that the program was started
 * with, and the dump from its open files.
 */
#include "lib/base/clock.h"
#include "lib/base/config.h"
#include "lib/base/file.h"
#include "lib/base/utf8.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_NS   5000000000u
#define LOOK_EVERY_US 1000

struct asking {
	const struct attach *target;
	int signo;
	bool blind; /* the memory of the process must not be read */
	int fd;	    /* its dump, open for reading; -1: none yet */
	off_t at;   /* position up to which the answer was searched */
	uint8_t *data;
};

/* Whether the process has a handler for the signal; without one it could be killed. */
static bool is_caught(const struct attach *target, int signo)
{
	char caught[256];

	attach_status(target->dir, "SigCgt", caught);
	return strtoull(caught, NULL, 16) >> (signo - 1) & 1;
}

/* A variable of the environment at the start of the program: 0 or -errno. */
static int started_with(const struct attach *target, const char *name, char *value, size_t cap)
{
	int result = -ENOENT, fd = openat(target->image, "environ", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	size_t room = 0, len = strlen(name);
	char *item = NULL;

	if (!file) {
		result = -errno;
		if (fd >= 0)
			close(fd);
		return result;
	}
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
/* Opens the file of this descriptor for reading if it is a dump; else -1. Unlike a path of the
 * process, the descriptor cannot become a device or a pipe. */
static int read_dump(int fd)
{
	uint8_t head[PMC_MAGIC_BYTES];
	int again = pmc_fd_reopen(fd);

	if (again >= 0 && !pmc_is_dump(head, pread(again, head, sizeof(head), 0))) {
		close(again);
		again = -1;
	}
	return again;
}

static int search_files(const struct attach *target)
{
	int list = openat(target->image, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1;
	DIR *dir = list >= 0 ? fdopendir(list) : NULL;
	struct dirent *entry;

	while (dir && found < 0 && (entry = readdir(dir))) {
		int fd = openat(list, entry->d_name, O_PATH | O_CLOEXEC);

		if (fd >= 0) {
			found = read_dump(fd);
			close(fd);
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static int open_dump(const struct asking *asking)
{
	struct attach now = *asking->target;
	const char *why;
	int fd, found;

	if (asking->blind)
		return asking->fd >= 0 ? -1 : search_files(asking->target);
	if (attach_read(&now, now.address + offsetof(struct pmc_control, out_fd),
			&now.control.out_fd, sizeof(now.control.out_fd)) != 0)
		return -1;
	fd = attach_out_dup(&now, &why);
	found = fd >= 0 ? read_dump(fd) : -1;
	if (fd >= 0)
		close(fd);
	return found;
}

/* The process may have opened another dump: uses the present one. */
static void follow(struct asking *asking)
{
	struct stat now, held;
	int fd = open_dump(asking);

	if (fd < 0)
		return;
	if (asking->fd >= 0 && fstat(fd, &now) == 0 && fstat(asking->fd, &held) == 0 &&
	    now.st_dev == held.st_dev && now.st_ino == held.st_ino) {
		close(fd);
		return;
	}
	if (asking->fd >= 0)
		close(asking->fd);
	asking->fd = fd;
	asking->at = 0;
}

#define WINDOW (2 * (size_t)PMC_FRAME_MAX_BYTES)

/* Whether the final frame of a snapshot of this process was appended. */
static bool answered(struct asking *asking)
{
	const uint8_t *identity = asking->target->control.identity;
	struct pmc_scan scan = { .data = asking->data, .partial = true };
	struct pmc_frame frame;
	ssize_t n = pread(asking->fd, asking->data, WINDOW, asking->at);

	if (n <= 0)
		return false;
	scan.len = (size_t)n;
	while (pmc_scan_next(&scan, &frame))
		if (frame.head.type == PMC_FRAME_PROCESS && frame.head.snapshot > 1 &&
		    (asking->blind || memcmp(frame.head.identity, identity, 16) == 0))
			return true;
	asking->at += (off_t)scan.at;
	return false;
}

static int print_name(const struct asking *asking)
{
	char path[PATH_MAX];

	if (attach_out_name(asking->target, asking->fd, path) != 0 || !pmc_utf8_is_safe(path))
		return tool_fail(EXIT_FAIL,
				 "the snapshot was written, but the dump %s cannot be named here",
				 path);
	printf("%s\n", path);
	return 0;
}

static int wait_for_answer(struct asking *asking)
{
	uint64_t start = pmc_now_ns();

	while (pmc_now_ns() - start < PATIENCE_NS) {
		off_t at;

		follow(asking);
		at = asking->at;
		if (asking->fd >= 0 && answered(asking))
			return print_name(asking);
		if (attach_has_ended(asking->target))
			return attach_gone(asking->target->pid);
		if (asking->at == at)
			usleep(LOOK_EVERY_US);
	}
	return tool_fail(
		EXIT_FAIL,
		"no snapshot from process %d within 5 s of signal %d: it is stopped, blocks the "
		"signal or has its own handler; use pmctl dump without --signal",
		asking->target->pid, asking->signo);
}

static int ask(struct asking *asking)
{
	const struct attach *target = asking->target;

	follow(asking);
	/* Frames from before the signal are no answer. */
	if (asking->fd >= 0)
		asking->at = lseek(asking->fd, 0, SEEK_END);
	if (!is_caught(target, asking->signo))
		return tool_fail(EXIT_FAIL,
				 "cannot signal process %d: the program replaced the handler of "
				 "its dump signal %d; use pmctl dump without --signal",
				 target->pid, asking->signo);
	if (!asking->blind && !attach_same_image(target))
		return attach_no_memory(target, -ESRCH);
	if (syscall(SYS_pidfd_send_signal, target->pidfd, asking->signo, NULL, 0) != 0)
		return errno == ESRCH ?
			       attach_gone(target->pid) :
			       tool_fail(EXIT_FAIL, "cannot send signal %d to process %d: %s",
					 asking->signo, target->pid, strerror(errno));
	return wait_for_answer(asking);
}

static int no_signal(pid_t pid)
{
	return tool_fail(
		EXIT_FAIL,
		"process %d has no dump signal: start the program with PMC_DUMP=USR2, or use pmctl "
		"dump without --signal",
		pid);
}

static int ask_and_close(struct asking *asking)
{
	int code;

	asking->fd = -1;
	asking->data = malloc(WINDOW);
	code = asking->data ? ask(asking) : tool_fail(EXIT_FAIL, "out of memory");
	free(asking->data);
	if (asking->fd >= 0)
		close(asking->fd);
	return code;
}

static int ask_blindly(const struct attach *target)
{
	struct asking asking = { .target = target, .blind = true };
	char value[64];
	int code = started_with(target, "PMC_DUMP", value, sizeof(value));

	if (code)
		return code == -ENOENT ? no_signal(target->pid) : attach_not_permitted(target);
	asking.signo = pmc_signal_number(value);
	return asking.signo > 0 ? ask_and_close(&asking) : no_signal(target->pid);
}

static int ask_agent(struct attach *target, void *arg)
{
	struct asking asking = { .target = target, .signo = target->control.dump_signal };

	(void)arg;
	return asking.signo ? ask_and_close(&asking) : no_signal(target->pid);
}

int attach_signal(pid_t pid)
{
	struct attach target;
	int error = attach_enter(&target, pid, false), code;

	if (error != -EACCES && error != -EPERM) {
		attach_close(&target);
		return attach_act(pid, 0, ask_agent, NULL);
	}
	code = ask_blindly(&target);
	attach_close(&target);
	return code;
}
