/* SPDX-License-Identifier: MIT */
/* file.c - files on macOS; see file.h. */
#include "agent/core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

int pmc_fd_open(int dir, const char *path, int flags, unsigned mode)
{
	int fd = openat(dir, path, flags, mode);

	return fd < 0 ? -errno : fd;
}

void pmc_fd_close(int fd)
{
	close(fd);
}

int pmc_path_access(const char *path)
{
	return access(path, F_OK) == 0 ? 0 : -errno;
}

long pmc_fd_read_at(int fd, void *bytes, size_t len, long offset)
{
	long n = pread(fd, bytes, len, offset);

	return n < 0 ? -errno : n;
}

int pmc_fd_stat(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 ? 0 : -errno;
}

long pmc_fd_read(int fd, void *bytes, size_t len)
{
	long n = read(fd, bytes, len);

	return n < 0 ? -errno : n;
}

static bool is_file(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISREG(st->st_mode);
}

int pmc_file_open_report(const char *path)
{
	const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = open(path, flags | O_CREAT | O_NOFOLLOW, 0666);
	bool followed = fd < 0 && errno == ELOOP;
	struct stat st;

	if (followed)
		fd = open(path, flags);
	if (fd < 0)
		return followed && errno == ENOENT ? -ELOOP : -errno;
	/* Through a link only to a pipe or device; a second name may be another user's. */
	if (!is_file(fd, &st) || (!followed && st.st_nlink == 1))
		return fd;
	close(fd);
	return followed ? -ELOOP : -EMLINK;
}

int pmc_file_empty(int fd)
{
	struct stat st;

	return is_file(fd, &st) && st.st_size && ftruncate(fd, 0) != 0 ? -errno : 0;
}

/* Visited directories are those of sysfs and tracefs, which macOS does not have. */
int pmc_dir_visit(void (*visit)(const char *name, void *arg), void *arg, const char *format, ...)
{
	(void)visit, (void)arg, (void)format;
	return -ENOENT;
}
