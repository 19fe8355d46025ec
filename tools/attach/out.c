/* SPDX-License-Identifier: MIT */
/*
 * out.c - destination of a snapshot from outside: the process's dump, a new one, or -o FILE.
 *
 * pmctl may have more privileges than the process, so it opens no path that the process names: it
 * appends to a duplicate of a descriptor that the process itself has open for appending.
 */
#include "tools/attach/attach.h"
#include "lib/base/file.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static int refuse(const char *path, const char *why)
{
	return tool_fail(EXIT_FAIL, "cannot write the snapshot to %s: %s", path, why);
}

static int open_ours(const char *path, struct attach_out *out)
{
	struct stat st;

	if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path))
		return refuse(path, strerror(ENAMETOOLONG));
	out->fd = tool_open_dump(path, true, &st);
	return out->fd < 0 ? refuse(path, tool_output_why(out->fd)) : 0;
}

/* In the current directory, where other users may have created a file of that name. */
static int open_new(const struct attach *target, struct attach_out *out)
{
	struct utsname host;
	char name[sizeof(host.nodename) + 32];

	if (uname(&host) != 0 || strchr(host.nodename, '/'))
		strcpy(host.nodename, "host");
	snprintf(name, sizeof(name), "pmc-%s-%d.pmc", host.nodename, target->pid);
	return open_ours(name, out);
}

/* ---- the process's own dump ---------------------------------------------------------------*/
/* Why the duplicate must not be written to; NULL: it may be. */
static const char *refusal(int fd)
{
	uint8_t head[PMC_MAGIC_BYTES];
	struct stat st;
	int flags = fcntl(fd, F_GETFL), again;
	ssize_t n;

	if (flags < 0 || fstat(fd, &st) != 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode) || !(flags & O_APPEND) || (flags & O_ACCMODE) == O_RDONLY)
		return "the process has another file in its place; use -o FILE";
	if (!st.st_nlink)
		return "it was deleted; use -o FILE";
	if (st.st_nlink > 1)
		return "it has more than one name; use -o FILE";
	/* The mark of the agent. A seccomp filter may prevent it. */
	if (!st.st_size)
		return fcntl(fd, F_GETSIG) == PMC_CONTROL_OUT_MARK ? NULL :
								     "it is empty; use -o FILE";
	/* The descriptor is not open for reading. */
	again = pmc_fd_reopen(fd);
	if (again < 0)
		return strerror(-again);
	n = pread(again, head, sizeof(head), 0);
	close(again);
	return pmc_is_dump(head, n) ? NULL : "it is not a dump; use -o FILE";
}

/* A duplicate of the descriptor through which the process appends to its dump. -1: it has no dump
 * open, or another file; *why says which. */
static int dup_own(const struct attach *target, const char **why)
{
	const int number = target->control.out_fd;
	int fd;

	*why = "the process does not have it open; use -o FILE";
	if (number <= 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, target->files, number - 1, 0);
	if (fd < 0) {
		*why = errno == EBADF ? *why : strerror(errno);
		return -1;
	}
	*why = refusal(fd);
	if (!*why)
		return fd;
	close(fd);
	return -1;
}

static bool names(const char *path, int fd)
{
	struct stat named, open;

	return fstat(fd, &open) == 0 && stat(path, &named) == 0 && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}

int attach_out_name(const struct attach *target, int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(path, PATH_MAX, "%s", target->control.out);
	if (names(path, fd))
		return 0;
	/* In a container the same path may be another file. */
	snprintf(path, PATH_MAX, "/proc/%d/root%.4000s", target->pid, target->control.out);
	if (names(path, fd))
		return 0;
	/* The dump was renamed. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
	return names(path, fd) ? 0 : -ENOENT;
}

static int open_own(struct attach *target, struct attach_out *out)
{
	const char *why;

	strcpy(out->path, target->control.out);
	out->fd = dup_own(target, &why);
	if (out->fd < 0)
		return attach_same_image(target) ? refuse(out->path, why) : ATTACH_AGAIN;
	if (attach_out_name(target, out->fd, out->path) != 0)
		return refuse(target->control.out, "it has no name here; use -o FILE");
	/* The path is printed unescaped, for scripts. */
	if (!pmc_utf8_is_safe(out->path))
		return refuse(out->path, "its name has control characters; use -o FILE");
	return 0;
}

int attach_out_open(struct attach *target, const char *path, struct attach_out *out)
{
	*out = (struct attach_out){ .fd = -1 };
	if (path && strcmp(path, "-") == 0) {
		strcpy(out->path, "standard output");
		out->fd = dup(STDOUT_FILENO);
		if (out->fd < 0)
			return refuse(out->path, strerror(errno));
		return isatty(out->fd) ? refuse(out->path, "it is a terminal") : 0;
	}
	if (path)
		return open_ours(path, out);
	return target->control.out[0] ? open_own(target, out) : open_new(target, out);
}

int attach_out_write(struct attach_out *out, const uint8_t *frames, size_t len)
{
	while (len > 0) {
		/* One write: frames of other writers must not come in between. */
		ssize_t n = write(out->fd, frames, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return tool_fail(EXIT_FAIL, "cannot write the snapshot to %s: %s",
					 out->path, n < 0 ? strerror(errno) : strerror(ENOSPC));
		frames += n;
		len -= (size_t)n;
	}
	return 0;
}
