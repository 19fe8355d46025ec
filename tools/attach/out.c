/* SPDX-License-Identifier: MIT */
/*
 * out.c - where a snapshot from outside goes: the process's dump, a new one, or -o FILE.
 *
 * The path of the process's dump is untrusted: it is resolved in the root of the process and
 * opened as its user, so that a privileged pmctl writes nothing that the process could not write.
 */
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define OUT_FLAGS (O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

static int refuse(const char *path, const char *why)
{
	return tool_fail(EXIT_FAIL, "cannot write the snapshot to %s: %s", path, why);
}

static int check(const struct attach_out *out)
{
	struct stat st;
	const char *why = tool_dump_refusal(out->fd, &st);

	return why ? refuse(out->path, why) : 0;
}

static int open_ours(const char *path, struct attach_out *out)
{
	if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path))
		return refuse(path, strerror(ENAMETOOLONG));
	out->fd = open(path, OUT_FLAGS, 0600);
	if (out->fd < 0)
		return refuse(path, tool_dump_open_error(errno));
	return check(out);
}

/* ---- the process's own dump ---------------------------------------------------------------*/
/* The effective user and group ID. */
static bool ids_of(pid_t pid, uid_t *uid, gid_t *gid)
{
	char uids[256], gids[256];

	attach_status(pid, "Uid", uids);
	attach_status(pid, "Gid", gids);
	return sscanf(uids, "%*u %u", uid) == 1 && sscanf(gids, "%*u %u", gid) == 1;
}

static int open_in_root(int root, const char *path)
{
	const struct open_how how = { .flags = OUT_FLAGS,
				      .mode = 0600,
				      .resolve = RESOLVE_IN_ROOT };
	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Takes the user ID of the process for one open; pmctl has no other thread. */
static int open_as_owner(const struct attach *target, const char *path)
{
	uid_t uid, was = geteuid();
	gid_t gid, group_was = getegid();
	char root_path[64];
	int root, fd = -1, error = 0;

	snprintf(root_path, sizeof(root_path), "/proc/%d/root", target->pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	if (was == 0 && ids_of(target->pid, &uid, &gid) && uid != was) {
		if (setgroups(0, NULL) != 0 || setegid(gid) != 0 || seteuid(uid) != 0)
			error = -errno;
	}
	if (!error) {
		fd = open_in_root(root, path);
		error = fd < 0 ? -errno : 0;
	}
	if (geteuid() != was && (seteuid(was) != 0 || setegid(group_was) != 0))
		error = -EPERM;
	close(root);
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

/* The path of a process in a container may be another file here: replaces it by /proc/PID/root. */
static void name_for_us(const struct attach *target, struct attach_out *out)
{
	struct stat ours, theirs;

	if (fstat(out->fd, &theirs) != 0 ||
	    (stat(out->path, &ours) == 0 && ours.st_dev == theirs.st_dev &&
	     ours.st_ino == theirs.st_ino))
		return;
	snprintf(out->path, sizeof(out->path), "/proc/%d/root%.4000s", target->pid,
		 target->control.out);
}

static int open_own(struct attach *target, struct attach_out *out)
{
	strcpy(out->path, target->control.out);
	out->fd = open_as_owner(target, out->path);
	if (out->fd < 0)
		return refuse(out->path, tool_dump_open_error(-out->fd));
	name_for_us(target, out);
	return check(out);
}

int attach_out_open(struct attach *target, const char *path, struct attach_out *out)
{
	struct utsname host;
	char name[sizeof(host.nodename) + 32];

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
	if (target->control.out[0])
		return open_own(target, out);
	if (uname(&host) != 0)
		strcpy(host.nodename, "host");
	snprintf(name, sizeof(name), "pmc-%s-%d.pmc", host.nodename, target->pid);
	return open_ours(name, out);
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
