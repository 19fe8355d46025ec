/* SPDX-License-Identifier: MIT */
/*
 * signal.c - pmctl dump --signal: the process takes the snapshot itself.
 *
 * The agent says its signal. Where its memory must not be read, no ptrace permission is needed: the
 * signal comes from the environment that the program was started with. The dump is among its open
 * files.
 */
#include "lib/base/clock.h"
#include "lib/base/config.h"
#include "lib/base/file.h"
#include "lib/base/utf8.h"
#include "tools/attach/attach.h"
#include "tools/cli/list.h"
#include "tools/cli/pmctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_NS   5000000000u
#define LOOK_EVERY_US 1000

struct asking {
	struct attach target;
	bool known; /* the agent was read: `signo` is its signal */
	int signo;
	uint64_t pid; /* in its own PID namespace */
	int fd;	      /* its dump, open for reading; -1: none yet */
	off_t at;     /* position up to which the answer was searched */
	uint8_t *data;
};

/* Whether the process has a handler for the signal; without one it could be killed. */
static bool is_caught(const struct attach *target, int signo)
{
	char caught[256];

	attach_status(target->dir, "SigCgt", caught);
	return strtoull(caught, NULL, 16) >> (signo - 1) & 1;
}

/* PMC_DUMP in the environment at the start of the program: 0 or -errno. */
static int find_signal(struct asking *asking)
{
	int result = -ENOENT, fd = openat(asking->target.image, "environ", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *item = NULL;
	size_t room = 0;

	if (!file) {
		result = -errno;
		if (fd >= 0)
			close(fd);
		return result;
	}
	while (result && getdelim(&item, &room, '\0', file) > 0)
		if (strncmp(item, "PMC_DUMP=", 9) == 0) {
			asking->signo = pmc_signal_number(item + 9);
			result = asking->signo > 0 ? 0 : -EINVAL;
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

static void find_dump(struct asking *asking)
{
	const struct attach *target = &asking->target;
	int list = openat(target->image, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list >= 0 ? fdopendir(list) : NULL;
	struct dirent *entry;

	while (dir && asking->fd < 0 && (entry = readdir(dir))) {
		char *name = asking->target.control.out;
		int fd = openat(list, entry->d_name, O_PATH | O_CLOEXEC);
		ssize_t n;

		if (fd < 0)
			continue;
		asking->fd = read_dump(fd);
		close(fd);
		n = readlinkat(list, entry->d_name, name, sizeof(target->control.out) - 1);
		name[n > 0 ? n : 0] = '\0';
	}
	if (dir)
		closedir(dir);
}

#define WINDOW (2 * (size_t)PMC_FRAME_MAX_BYTES)

/* Whether the final frame of a snapshot of this process was appended. */
static bool answered(struct asking *asking)
{
	struct pmc_scan scan = { .data = asking->data, .partial = true };
	struct pmc_process_fixed fixed;
	struct pmc_frame frame;
	ssize_t n = pread(asking->fd, asking->data, WINDOW, asking->at);

	if (n <= 0)
		return false;
	scan.len = (size_t)n;
	while (pmc_scan_next(&scan, &frame)) {
		if (frame.head.type != PMC_FRAME_PROCESS || frame.head.snapshot <= 1)
			continue;
		pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
		if (asking->known ? memcmp(frame.head.identity, asking->target.control.identity,
					   sizeof(frame.head.identity)) == 0 :
				    fixed.pid == asking->pid)
			return true;
	}
	asking->at += (off_t)scan.at;
	return false;
}

static int print_name(const struct asking *asking)
{
	char path[PATH_MAX];

	if (attach_out_name(&asking->target, asking->fd, path) != 0 || !pmc_utf8_is_safe(path))
		return tool_fail(EXIT_FAIL,
				 "the snapshot was written, but the dump %s cannot be named here",
				 path);
	printf("%s\n", path);
	return 0;
}

static int wait_for_answer(struct asking *asking)
{
	const pid_t pid = asking->target.pid;
	uint64_t start = pmc_now_ns();

	while (pmc_now_ns() - start < PATIENCE_NS) {
		off_t at = asking->at;

		if (asking->fd < 0)
			find_dump(asking);
		if (asking->fd >= 0 && answered(asking))
			return print_name(asking);
		if (attach_has_ended(&asking->target))
			return attach_gone(pid);
		if (asking->at == at)
			usleep(LOOK_EVERY_US);
	}
	return tool_fail(
		EXIT_FAIL,
		"no snapshot from process %d within 5 s of signal %d: it is stopped, blocks the "
		"signal or has its own handler; use pmctl dump without --signal",
		pid, asking->signo);
}

static int ask(struct asking *asking)
{
	const struct attach *target = &asking->target;
	char pids[256];
	int error = asking->known ? 0 : find_signal(asking);

	if (error == -ENOENT || error == -EINVAL || (!error && !asking->signo))
		return tool_fail(EXIT_FAIL,
				 "process %d has no dump signal: start the program with "
				 "PMC_DUMP=USR2, or use pmctl dump without --signal",
				 target->pid);
	if (error)
		return attach_no_memory(target, error);
	attach_status(target->dir, "NSpid", pids);
	asking->pid = strtoull(strrchr(pids, '\t') ? strrchr(pids, '\t') : pids, NULL, 10);
	find_dump(asking);
	/* Frames from before the signal are no answer. */
	if (asking->fd >= 0)
		asking->at = lseek(asking->fd, 0, SEEK_END);
	if (!is_caught(target, asking->signo))
		return tool_fail(EXIT_FAIL,
				 "cannot signal process %d: it has no handler of its dump signal "
				 "%d: there is no agent that counts, or the program replaced the "
				 "handler; use pmctl dump without --signal",
				 target->pid, asking->signo);
	if (asking->known && !attach_same_image(target))
		return attach_no_memory(target, -ESRCH);
	if (syscall(SYS_pidfd_send_signal, target->pidfd, asking->signo, NULL, 0) != 0)
		return errno == ESRCH ?
			       attach_gone(target->pid) :
			       tool_fail(EXIT_FAIL, "cannot send signal %d to process %d: %s",
					 asking->signo, target->pid, strerror(errno));
	return wait_for_answer(asking);
}

/* The target is closed by attach_act(). */
static int ask_agent(struct attach *target, void *arg)
{
	struct asking *asking = arg;

	asking->target = *target;
	asking->known = true;
	asking->signo = target->control.dump_signal;
	return ask(asking);
}

int attach_signal(pid_t pid)
{
	struct asking asking = { .fd = -1, .data = tool_realloc(NULL, WINDOW) };
	int error = attach_enter(&asking.target, pid, false), code;

	if (error == -EACCES || error == -EPERM) {
		code = ask(&asking);
		if (code == ATTACH_AGAIN)
			code = attach_gone(pid);
		attach_close(&asking.target);
	} else {
		attach_close(&asking.target);
		code = attach_act(pid, 0, ask_agent, &asking);
	}
	free(asking.data);
	if (asking.fd >= 0)
		close(asking.fd);
	return code;
}
