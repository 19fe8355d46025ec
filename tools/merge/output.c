/* SPDX-License-Identifier: MIT */
/*
 * output.c - the output of a merge, which gets its name when it is complete.
 *
 * Readers never see a partial merge, and an input may be the output.
 */
#include "lib/dump/output.h"
#include "tools/cli/new_file.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void on_truncated(int signal)
{
	static const char truncated[] =
		"pmctl merge: cannot read an input: it was truncated during the merge, or its disk "
		"failed; run the merge again\n";

	(void)signal;
	tool_new_files_remove();
	tool_progress_hide();
	(void)!write(STDERR_FILENO, truncated, sizeof(truncated) - 1);
	_exit(EXIT_FAIL);
}

void merge_output_signals(void)
{
	signal(SIGBUS, on_truncated);
	tool_new_files_handle();
}

/* Whether a process has the file open for writing: the kernel gives no lease of it then. What a
 * program would write to a file that has been replaced is lost. */
static bool is_written(int fd)
{
	const bool is_busy = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;

	if (!is_busy)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return is_busy;
}

/* Looks at an existing file. 1: output->fd is open to be written, 0: it is to be replaced, or
 * -errno. */
static int look_at(struct merge_output *output, const char **why)
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
		if (!error && is_written(fd)) {
			*why = "a program is writing to it, and would lose what it writes later; "
			       "name another file";
			error = -EBUSY;
		}
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
	merge_output_signals();
	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
		if (isatty(STDOUT_FILENO)) {
			*why = "a dump is binary; redirect it or name a file";
			return -EINVAL;
		}
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return output->fd < 0 ? -errno : 0;
	}
	found = look_at(output, why);
	if (found)
		return found < 0 ? found : 0;
	output->fd = tool_new_dump_open(path, &output->file);
	return output->fd < 0 ? output->fd : 0;
}

int merge_output_commit(struct merge_output *output)
{
	const int fd = output->fd;

	output->fd = -1;
	/* Some file systems report a full disk only when a descriptor is closed. */
	if (close(fd) < 0)
		return -errno;
	return output->file ? tool_new_file_name(output->file) : 0;
}

void merge_output_close(struct merge_output *output)
{
	tool_new_files_remove();
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
}
