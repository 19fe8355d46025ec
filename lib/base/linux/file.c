/* SPDX-License-Identifier: MIT */
/* file.c - files, directories and output by raw system calls; see file.h and out.h. */
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "lib/base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

int pmc_fd_open(int dir, const char *path, int flags, unsigned mode)
{
	return (int)pmc_sys4(SYS_openat, dir, path, flags, mode);
}

void pmc_fd_close(int fd)
{
	pmc_sys1(SYS_close, fd);
}

void pmc_dir_make(const char *path)
{
	pmc_sys3(SYS_mkdirat, AT_FDCWD, path, 0777);
}

int pmc_path_access(const char *path)
{
	return (int)pmc_sys3(SYS_faccessat, AT_FDCWD, path, F_OK);
}

long pmc_fd_read_at(int fd, void *bytes, size_t len, long offset)
{
	return pmc_sys4(SYS_pread64, fd, bytes, len, offset);
}

int pmc_fd_stat(int fd, struct stat *st)
{
	return (int)pmc_sys2(SYS_fstat, fd, st);
}

int pmc_fd_columns(int fd)
{
	struct winsize size = { .ws_col = 0 };

	return pmc_sys3(SYS_ioctl, fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : -1;
}

uint64_t pmc_file_limit(void)
{
	struct rlimit limit;

	return pmc_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 ? limit.rlim_cur :
									     UINT64_MAX;
}

int pmc_fd_truncate(int fd)
{
	return (int)pmc_sys2(SYS_ftruncate, fd, 0);
}

long pmc_fd_read(int fd, void *bytes, size_t len)
{
	return pmc_sys3(SYS_read, fd, bytes, len);
}

int pmc_fd_reopen(int fd)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	char path[32];
	struct pmc_out out = pmc_out_mem(path, sizeof(path));

	if (pmc_fd_stat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	pmc_outf(&out, "/proc/self/fd/%d", fd);
	return pmc_fd_open(AT_FDCWD, path, flags, 0);
}

int pmc_file_open_regular(const char *path, int flags)
{
	int fd = pmc_fd_open(AT_FDCWD, path, O_PATH | O_CLOEXEC | flags, 0), again = fd;

	if (fd >= 0) {
		again = pmc_fd_reopen(fd);
		pmc_fd_close(fd);
	}
	return again;
}

int pmc_dir_visit_in(const char *path, char *room, size_t bytes,
		     void (*visit)(const char *name, void *arg), void *arg)
{
	const int fd = pmc_fd_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n = fd;

	while (fd >= 0 && (n = pmc_sys3(SYS_getdents64, fd, room, bytes)) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(room + at);

			if (entry->d_name[0] != '.')
				visit(entry->d_name, arg);
			at += entry->d_reclen;
		}
	}
	if (fd >= 0)
		pmc_fd_close(fd);
	return (int)n;
}

int pmc_dir_visit(void (*visit)(const char *name, void *arg), void *arg, const char *format, ...)
{
	char room[4096] __attribute__((aligned(8))), path[PMC_PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = pmc_path_make(path, format, args);
	va_end(args);
	return rc ? rc : pmc_dir_visit_in(path, room, sizeof(room), visit, arg);
}

bool pmc_out_writable(int fd, int patience_ms)
{
	const struct timespec most = { patience_ms / 1000, patience_ms % 1000 * 1000000L };
	struct pollfd poll = { .fd = fd, .events = POLLOUT };

	return pmc_sys5(SYS_ppoll, &poll, 1, &most, 0, 0) == 1 && poll.revents == POLLOUT;
}

long pmc_out_write(int fd, const void *bytes, size_t len)
{
	return pmc_sys3(SYS_write, fd, bytes, len);
}

long pmc_out_send(int fd, const void *bytes, size_t len)
{
	return pmc_sys6(SYS_sendto, fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

long pmc_out_write_unstopped(int fd, const void *bytes, size_t len)
{
	const uint64_t stop = UINT64_C(1) << (SIGTTOU - 1);
	uint64_t mask = 0;
	long n;

	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &stop, &mask, sizeof(mask));
	n = pmc_out_write(fd, bytes, len);
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return n;
}
