/* SPDX-License-Identifier: MIT */
/* file.c - files and output on macOS, which has no stable system call numbers; see file.h, out.h.
 */
#include "lib/base/file.h"
#include "lib/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static long result(long n)
{
	return n < 0 ? -errno : n;
}

int pmc_fd_open(int dir, const char *path, int flags, unsigned mode)
{
	return (int)result(openat(dir, path, flags, mode));
}

void pmc_fd_close(int fd)
{
	close(fd);
}

void pmc_dir_make(const char *path)
{
	const int kept = errno;

	mkdir(path, 0777);
	errno = kept;
}

int pmc_path_access(const char *path)
{
	return (int)result(access(path, F_OK));
}

long pmc_fd_read_at(int fd, void *bytes, size_t len, long offset)
{
	return result(pread(fd, bytes, len, offset));
}

int pmc_fd_stat(int fd, struct stat *st)
{
	return (int)result(fstat(fd, st));
}

int pmc_fd_columns(int fd)
{
	struct winsize size = { .ws_col = 0 };

	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : -1;
}

uint64_t pmc_file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ?
		       limit.rlim_cur :
		       UINT64_MAX;
}

int pmc_fd_truncate(int fd)
{
	return (int)result(ftruncate(fd, 0));
}

long pmc_fd_read(int fd, void *bytes, size_t len)
{
	return result(read(fd, bytes, len));
}

/* Visited directories are those of sysfs and tracefs, which macOS does not have. */
int pmc_dir_visit(void (*visit)(const char *name, void *arg), void *arg, const char *format, ...)
{
	(void)visit, (void)arg, (void)format;
	return -ENOENT;
}

bool pmc_out_writable(int fd, int patience_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	return poll(&poll_fd, 1, patience_ms) == 1 && poll_fd.revents == POLLOUT;
}

long pmc_out_write(int fd, const void *bytes, size_t len)
{
	return result(write(fd, bytes, len));
}

long pmc_out_send(int fd, const void *bytes, size_t len)
{
	return result(send(fd, bytes, len, MSG_DONTWAIT));
}

long pmc_out_write_unstopped(int fd, const void *bytes, size_t len)
{
	sigset_t stop, mask;
	long n;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stop, &mask);
	n = pmc_out_write(fd, bytes, len);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return n;
}
