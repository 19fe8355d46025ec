/* SPDX-License-Identifier: MIT */
/* new_file.c - see new_file.h. */
#include "tools/cli/new_file.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tool_new_file {
	struct tool_new_file *next;
	int fd;	     /* of tool_replace_begin(); -1: none */
	pid_t owner; /* a child of pmctl leaves it alone */
	const char *path;
	char temporary[];
};

static struct tool_new_file *files; /* changes while signals are held */
static const int ending[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGXCPU, SIGBUS };
enum { N_ENDING = sizeof(ending) / sizeof(ending[0]) };

void tool_new_files_remove(void)
{
	for (const struct tool_new_file *file = files; file; file = file->next)
		if (file->owner == getpid())
			unlink(file->temporary);
}

static void on_signal(int signal)
{
	tool_new_files_remove();
	tool_progress_hide();
	/* SA_RESETHAND: the default action follows. */
	raise(signal);
}

static void take_set(sigset_t *set)
{
	sigemptyset(set);
	for (unsigned i = 0; i < N_ENDING; i++)
		sigaddset(set, ending[i]);
}

void tool_new_files_hold(sigset_t *was)
{
	sigset_t set;

	take_set(&set);
	sigprocmask(SIG_BLOCK, &set, was);
}

void tool_new_files_handle(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND }, old;
	static bool done;

	if (done)
		return;
	done = true;
	take_set(&action.sa_mask);
	for (unsigned i = 0; i < N_ENDING; i++) {
		sigaction(ending[i], NULL, &old);
		if (!(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	}
	atexit(tool_new_files_remove);
}

/* As a file has it that open(2) makes, or the one that is replaced. */
static void set_mode(int fd, const char *path)
{
	const mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	if (stat(path, &st) != 0)
		st.st_mode = 0666 & ~mask;
	else if (fchown(fd, (uid_t)-1, st.st_gid) != 0)
		st.st_mode &= ~(mode_t)070; /* the group would be another one */
	fchmod(fd, st.st_mode & 0777);
}

int tool_new_dump_open(const char *path, struct tool_new_file **file)
{
	static const char template[] = ".pmctl-tmp.XXXXXX";
	const char *slash = strrchr(path, '/');
	const size_t dir = slash ? (size_t)(slash + 1 - path) : 0;
	struct tool_new_file *new = tool_realloc(NULL, sizeof(*new) + dir + sizeof(template));
	sigset_t was;
	int fd;

	*new = (struct tool_new_file){ .next = files, .fd = -1, .owner = getpid(), .path = path };
	memcpy(new->temporary, path, dir);
	memcpy(new->temporary + dir, template, sizeof(template));
	tool_new_files_handle();
	tool_new_files_hold(&was);
	fd = mkostemp(new->temporary, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		free(new);
	} else {
		files = *file = new;
	}
	sigprocmask(SIG_SETMASK, &was, NULL);
	return fd;
}

int tool_new_file_open(const char *path, struct tool_new_file **file)
{
	const int fd = tool_new_dump_open(path, file);

	if (fd >= 0)
		set_mode(fd, path);
	return fd;
}

int tool_new_file_name(struct tool_new_file *file)
{
	struct tool_new_file **at = &files;
	sigset_t was;
	int error;

	tool_new_files_hold(&was);
	error = rename(file->temporary, file->path) < 0 ? -errno : 0;
	if (!error) {
		while (*at != file)
			at = &(*at)->next;
		*at = file->next;
		free(file);
	}
	sigprocmask(SIG_SETMASK, &was, NULL);
	return error;
}

int tool_replace_begin(const char *path, int code)
{
	struct tool_new_file *file;
	struct stat st;
	const bool exists = lstat(path, &st) == 0;
	int fd = 0, error;

	if (!strcmp(path, "-") || (exists && !S_ISREG(st.st_mode)))
		return tool_open_output(path, code);
	/* No dump, no file of another user: see lib/dump/output.h. */
	if (exists)
		fd = tool_open_text(path);
	error = fd < 0 ? fd : 0;
	if (fd > 0)
		close(fd);
	fd = error ? error : tool_new_file_open(path, &file);
	/* The file may be written, but its directory may not. */
	if (!error && exists && (fd == -EACCES || fd == -EPERM || fd == -EROFS))
		return tool_open_output(path, code);
	if (fd < 0)
		return -tool_fail(code, "cannot write %s: %s", path, tool_output_why(fd));
	file->fd = fd;
	return fd;
}

int tool_replace_end(int fd, int error)
{
	if (fd == STDOUT_FILENO)
		return error;
	/* Some file systems report a full disk only now. */
	if (close(fd) < 0 && !error)
		error = -errno;
	for (struct tool_new_file *file = files; file; file = file->next)
		if (file->fd == fd) {
			file->fd = -1;
			return error ? error : tool_new_file_name(file);
		}
	return error;
}
