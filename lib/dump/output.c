/* SPDX-License-Identifier: MIT */
/* output.c - see output.h. Raw system calls. */
#include "lib/dump/output.h"
#include "lib/base/file.h"
#include "lib/dump/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Attempts, if a file is repeatedly created and removed meanwhile. */
#define TRIES 8

/* Non-blocking: opening a pipe must not wait for its other end. */
#define FLAGS (O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)

static bool is_regular(int fd)
{
	struct stat st;

	return pmc_fd_stat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

bool pmc_is_standard_file(int fd)
{
	struct stat st, standard;

	if (pmc_fd_stat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (i != fd && pmc_fd_stat(i, &standard) == 0 && standard.st_dev == st.st_dev &&
		    standard.st_ino == st.st_ino)
			return true;
	return false;
}

/* Whether the regular file is empty, or a dump, or not, as it should be. 0 or -errno. */
static int check_contents(int fd, const struct stat *st, bool dump)
{
	uint8_t head[PMC_MAGIC_BYTES];
	long n;

	if (!st->st_size)
		return 0;
	n = pmc_fd_read_at(fd, head, sizeof(head), 0);
	if (n < 0)
		return (int)n;
	if (dump)
		return pmc_is_dump(head, n) ? 0 : -ENOTSUP;
	return pmc_is_dump(head, n) ? -EEXIST : 0;
}

static int check(int fd, struct stat *st, bool dump)
{
	if (pmc_fd_stat(fd, st) != 0)
		return -EBADF;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!dump && (S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode)))
		return 0;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (st->st_uid != geteuid())
		return -EUSERS;
	/* Another user may have linked this name to a file of this user. */
	if (st->st_nlink > 1)
		return -EMLINK;
	return check_contents(fd, st, dump);
}

int pmc_dump_check(int fd, struct stat *st)
{
	return check(fd, st, true);
}

/* The system's names of descriptors are symbolic links. Where they lead to regular files, writing
 * would start at their beginning. */
static int follow_descriptor(const char *path)
{
	int fd;

	if (strncmp(path, "/dev/std", 8) != 0 && strncmp(path, "/dev/fd/", 8) != 0 &&
	    strncmp(path, "/proc/self/fd/", 14) != 0)
		return -ELOOP;
	fd = pmc_fd_open(AT_FDCWD, path, (FLAGS & ~O_NOFOLLOW) | O_WRONLY, 0);
	if (fd < 0 || !is_regular(fd))
		return fd;
	pmc_fd_close(fd);
	return -ELOOP;
}

/* A pipe or device is opened for writing only: a reader could not be missed, and devices may act on
 * it. A regular file is also read, by the checks. */
static int open_text(const char *path)
{
	int fd = pmc_fd_open(AT_FDCWD, path, FLAGS | O_WRONLY, 0), again;

	if (fd == -ELOOP)
		return follow_descriptor(path);
	if (fd < 0 || !is_regular(fd))
		return fd;
	pmc_fd_close(fd);
	again = pmc_fd_open(AT_FDCWD, path, FLAGS | O_RDWR, 0);
	if (again < 0 || is_regular(again))
		return again;
	pmc_fd_close(again);
	return -EINVAL;
}

static int open_checked(const char *path, bool dump, bool create, struct stat *st)
{
	const int flags = FLAGS | O_RDWR | (dump ? O_APPEND : 0);
	int fd = -ENOENT, error;

	for (unsigned i = 0; i < TRIES; i++) {
		fd = dump ? pmc_fd_open(AT_FDCWD, path, flags, 0) : open_text(path);
		if (fd != -ENOENT || !create)
			break;
		fd = pmc_fd_open(AT_FDCWD, path, flags | O_CREAT | O_EXCL, dump ? 0600 : 0666);
		/* On some file systems the owner of a new file is not its creator. */
		if (fd >= 0 && pmc_fd_stat(fd, st) == 0)
			return fd;
		if (fd != -EEXIST)
			break;
	}
	if (fd < 0)
		return fd;
	error = check(fd, st, dump);
	/* Not of dumps: a dump that two threads open at the same time may have such a number. */
	if (!error && !dump && pmc_is_standard_file(fd))
		error = -EBUSY;
	if (!error)
		return fd;
	pmc_fd_close(fd);
	return error;
}

int pmc_dump_open(const char *path, bool create, struct stat *st)
{
	return open_checked(path, true, create, st);
}

int pmc_text_open(const char *path)
{
	struct stat st;

	return open_checked(path, false, true, &st);
}

int pmc_text_empty(int fd)
{
	struct stat st;
	int error = pmc_fd_stat(fd, &st);

	if (error || !S_ISREG(st.st_mode) || !st.st_size || pmc_is_standard_file(fd))
		return error;
	error = check_contents(fd, &st, false);
	return error ? error : pmc_fd_truncate(fd);
}

int pmc_text_create(const char *path)
{
	int fd = pmc_text_open(path), error = fd < 0 ? fd : pmc_text_empty(fd);

	if (fd >= 0 && error)
		pmc_fd_close(fd);
	return error ? error : fd;
}

const char *pmc_output_why(int error)
{
	static const struct {
		int error;
		const char *why;
	} rows[] = {
		{ ENOTSUP, "it exists and is not a dump; name another file or remove it" },
		{ EEXIST, "it is a dump; name another file or remove it" },
		{ EINVAL, "it is neither a regular file nor a dump; name another file" },
		{ EUSERS, "it belongs to another user; name another file" },
		{ EMLINK, "it has several names (hard links); name another file" },
		{ ELOOP, "it is a symbolic link, which is not followed; name its target" },
		{ EBUSY, "it is the file of standard input, output or error; name another file" },
		{ EISDIR, "it is a directory; name a file in it" },
		{ ENXIO, "it is a pipe without a reader, or a device that is not there; start its "
			 "reader first, or name a file" },
		{ EPIPE, "it is a pipe without a reader; start its reader first, or name a file" },
		{ ETIMEDOUT, "its reader takes nothing; name a file" },
		{ ENOENT, "its directory does not exist; create it, or name another one" },
		{ EACCES, "no permission to write there; name another place" },
		{ EPERM, "no permission to write there; name another place" },
		{ EROFS, "the file system is read-only; name another place" },
		{ ENAMETOOLONG, "the name is too long; name a shorter path" },
		{ ENOSPC, "the disk is full; free space or name another place" },
		{ EDQUOT, "the disk is full; free space or name another place" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].error == -error)
			return rows[i].why;
	return NULL;
}
