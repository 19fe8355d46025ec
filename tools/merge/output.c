/* SPDX-License-Identifier: MIT */
/*
 * output.c - the output of a merge: a temporary file beside it, renamed over it when complete.
 *
 * Readers never see a partial merge, and an input may be the output.
 */
#include "lib/dump/output.h"
#include "tools/cli/pmctl.h"
#include "tools/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The temporary file's path, for the signal handler; "": none. */
static char temporary[PATH_MAX];

static void on_signal(int signal)
{
	static const char truncated[] =
		"pmctl merge: cannot read an input: it was truncated during the merge, or its disk "
		"failed; run the merge again\n";

	if (temporary[0])
		unlink(temporary);
	if (signal == SIGBUS) {
		(void)!write(STDERR_FILENO, truncated, sizeof(truncated) - 1);
		_exit(EXIT_FAIL);
	}
	/* SA_RESETHAND: the default action follows. */
	raise(signal);
}

static void handle_signals(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGBUS };
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	struct sigaction old;

	for (unsigned i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		sigaction(ending[i], NULL, &old);
		if (old.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	}
}

/* Opens the temporary file: a new one, or that of a killed merge, which is not locked. In a shared
 * directory it may be another user's, or a link. The descriptor, or -errno. */
static int open_temporary(void)
{
	struct stat st, named;
	int fd = pmc_dump_open(temporary, true, &st);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    /* Another merge may have renamed it since it was opened. */
	    lstat(temporary, &named) == 0 && named.st_dev == st.st_dev &&
	    named.st_ino == st.st_ino && ftruncate(fd, 0) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	else if (fd == -ENAMETOOLONG)
		return fd;
	strcat(temporary, ".XXXXXX");
	fd = mkostemp(temporary, O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Looks at an existing file. 1: output->fd is open to be written, 0: it is to be replaced, or
 * -errno. */
static int look_at(struct merge_output *output)
{
	struct stat st;
	int fd, error;

	if (lstat(output->path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		fd = open(output->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return -errno;
		error = pmc_dump_check(fd, &st);
		close(fd);
		return error;
	}
	/* A pipe or device is written to directly. */
	output->fd = tool_open_text(output->path);
	if (output->fd < 0)
		return output->fd;
	/* Another file may have taken its name. */
	return fstat(output->fd, &st) == 0 && !S_ISREG(st.st_mode) ? 1 : -EINVAL;
}

int merge_output_open(struct merge_output *output, const char *path, const char **why)
{
	int found;

	*output = (struct merge_output){ .fd = -1, .path = path };
	*why = NULL;
	handle_signals();
	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
		if (isatty(STDOUT_FILENO)) {
			*why = "a dump is binary; redirect it or name a file";
			return -EINVAL;
		}
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return output->fd < 0 ? -errno : 0;
	}
	found = look_at(output);
	if (found)
		return found < 0 ? found : 0;
	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.pmctl-tmp", path) >=
	    sizeof(temporary) - sizeof(".XXXXXX")) {
		temporary[0] = '\0';
		return -ENAMETOOLONG;
	}
	output->fd = open_temporary();
	if (output->fd >= 0)
		return 0;
	temporary[0] = '\0';
	return output->fd;
}

int merge_output_commit(struct merge_output *output)
{
	int copy = dup(output->fd);

	/* Some file systems report a full disk only when a descriptor is closed. The lock stays
	 * until the temporary name is gone. */
	if (copy >= 0 && close(copy) < 0)
		return -errno;
	if (temporary[0] && rename(temporary, output->path) < 0)
		return -errno;
	temporary[0] = '\0';
	return 0;
}

void merge_output_close(struct merge_output *output)
{
	if (temporary[0])
		unlink(temporary);
	temporary[0] = '\0';
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
}
