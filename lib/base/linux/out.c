/* SPDX-License-Identifier: MIT */
/* out.c - output to a descriptor by raw system calls; see out.h. */
#include "lib/base/out.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool pmc_out_writable(int fd, int patience_ms)
{
	const struct timespec most = { patience_ms / 1000, patience_ms % 1000 * 1000000L };
	struct pollfd poll = { .fd = fd, .events = POLLOUT };

	return pmc_sys5(SYS_ppoll, &poll, 1, &most, 0, 0) == 1 && poll.revents == POLLOUT;
}

bool pmc_out_fits(int fd, size_t len)
{
	struct rlimit limit;
	struct stat st;
	long at;

	if (pmc_fd_stat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    pmc_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return true;
	at = pmc_sys3(SYS_lseek, fd, 0, SEEK_CUR);
	return (uint64_t)(st.st_size > at ? st.st_size : at) + len <= limit.rlim_cur;
}

long pmc_out_write(int fd, const void *bytes, size_t len)
{
	return pmc_sys3(SYS_write, fd, bytes, len);
}

int pmc_out_columns(int fd)
{
	struct winsize size = { .ws_col = 0 };

	return pmc_sys3(SYS_ioctl, fd, TIOCGWINSZ, &size) != 0 ? -1 : size.ws_col;
}
