/* SPDX-License-Identifier: MIT */
/* out.c - output to a descriptor on macOS, which has no stable system call numbers; see out.h. */
#include "lib/base/out.h"
#include "lib/base/file.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

bool pmc_out_writable(int fd, int patience_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	return poll(&poll_fd, 1, patience_ms) == 1 && poll_fd.revents == POLLOUT;
}

bool pmc_out_fits(int fd, size_t len)
{
	struct rlimit limit;
	struct stat st;
	off_t at;

	if (pmc_fd_stat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return true;
	at = lseek(fd, 0, SEEK_CUR);
	return (uint64_t)(st.st_size > at ? st.st_size : at) + len <= limit.rlim_cur;
}

long pmc_out_write(int fd, const void *bytes, size_t len)
{
	long n = write(fd, bytes, len);

	return n < 0 ? -errno : n;
}

int pmc_out_columns(int fd)
{
	struct winsize size = { .ws_col = 0 };

	return ioctl(fd, TIOCGWINSZ, &size) != 0 ? -1 : size.ws_col;
}
