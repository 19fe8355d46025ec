/* SPDX-License-Identifier: MIT */
/*
 * output.c - where a merge goes: a new file beside the name, renamed when it is whole.
 *
 * A reader never sees half a merge, an input may be the output, and what is no dump is not
 * overwritten. A signal that ends the merge takes the new file along.
 */
#include "agent/core/dump/frame.h"
#include "tools/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int ending[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
#define N_ENDING (sizeof(ending) / sizeof(ending[0]))

/* For the handler. */
static char removed_by_signal[PATH_MAX];

static void on_signal(int signal)
{
	if (removed_by_signal[0])
		unlink(removed_by_signal);
	/* SA_RESETHAND: the second time it ends us. */
	raise(signal);
}

static void watch_signals(const char *path)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND }, old;

	if (strlen(path) >= sizeof(removed_by_signal))
		return;
	strcpy(removed_by_signal, path);
	for (unsigned i = 0; i < N_ENDING; i++) {
		sigaction(ending[i], NULL, &old);
		if (old.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	}
}

static void forget_signals(void)
{
	struct sigaction old;

	for (unsigned i = 0; removed_by_signal[0] && i < N_ENDING; i++) {
		sigaction(ending[i], NULL, &old);
		if (old.sa_handler == on_signal)
			signal(ending[i], SIG_DFL);
	}
	removed_by_signal[0] = '\0';
}

/* Whether there is a good frame in the file, or nothing at all. 1, 0 or -errno. */
static int is_dump(int fd)
{
	const size_t room = 4 * (size_t)PMC_FRAME_MAX_BYTES;
	struct pmc_scan scan = { .partial = true };
	struct pmc_frame frame;
	uint8_t *buf = malloc(room);
	bool empty = true;
	int result = buf ? 0 : -ENOMEM;

	scan.data = buf;
	while (!result && scan.partial) {
		size_t left = scan.len - scan.at;
		ssize_t got;

		memmove(buf, buf + scan.at, left);
		got = read(fd, buf + left, room - left);
		scan.at = 0;
		scan.len = left;
		if (got < 0) {
			if (errno != EINTR)
				result = -errno;
			continue;
		}
		scan.len += (size_t)got;
		scan.partial = got > 0;
		empty = empty && got == 0;
		if (pmc_scan_next(&scan, &frame))
			result = 1;
	}
	free(buf);
	return result ? result : empty;
}

/* What stands under the name now: 1 write directly, 0 replace, or -errno and *why. */
static int look_at(const char *path, int *direct, const char **why)
{
	struct stat st;
	int fd, dump;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISLNK(st.st_mode)) {
		*why = "it is a symbolic link, which is not followed; name its target";
		return -ELOOP;
	}
	if (!S_ISREG(st.st_mode)) {
		*direct = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
		return *direct < 0 ? -errno : 1;
	}
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	dump = is_dump(fd);
	close(fd);
	if (dump < 0)
		return dump;
	if (!dump) {
		*why = "it exists and is not a dump; remove it or choose another name";
		return -EEXIST;
	}
	return 0;
}

int merge_output_open(struct merge_output *output, const char *path, const char **why)
{
	int found;

	*output = (struct merge_output){ .fd = -1, .path = path };
	*why = NULL;
	if (strcmp(path, "-") == 0) {
		if (isatty(STDOUT_FILENO)) {
			*why = "a dump is not for a terminal; redirect it or name a file";
			return -EINVAL;
		}
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return output->fd < 0 ? -errno : 0;
	}
	found = look_at(path, &output->fd, why);
	if (found)
		return found < 0 ? found : 0;
	if (asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
		output->temporary = NULL;
		return -ENOMEM;
	}
	output->fd = mkostemp(output->temporary, O_CLOEXEC); /* mode 0600 */
	if (output->fd < 0) {
		int error = -errno;

		free(output->temporary);
		output->temporary = NULL;
		return error;
	}
	watch_signals(output->temporary);
	return 0;
}

int merge_output_commit(struct merge_output *output)
{
	int fd = output->fd;

	output->fd = -1;
	/* Some file systems tell of a full disk only now. */
	if (close(fd) < 0)
		return -errno;
	if (!output->temporary)
		return 0;
	if (rename(output->temporary, output->path) < 0)
		return -errno;
	forget_signals();
	free(output->temporary);
	output->temporary = NULL;
	return 0;
}

void merge_output_close(struct merge_output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	if (output->temporary)
		unlink(output->temporary);
	forget_signals();
	free(output->temporary);
	*output = (struct merge_output){ .fd = -1 };
}
