/* SPDX-License-Identifier: MIT */
/*
 * fd.c - our descriptors are not there for the host. Overrides: close close_range closefrom
 * dup2 dup3.
 *
 * Programs close "everything" when they become daemons. For numbers of ours they get what they
 * would have got without us: EBADF, or silence from the range calls. Where the host wants one of
 * our numbers for itself, ours moves away.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/fork_guard.h"
#include "agent/output/file.h"
#include "agent/thread/thread.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

AGENT_API int close_range(unsigned first, unsigned last, int flags);
AGENT_API void closefrom(int first);

AGENT_API int close(int fd)
{
	if (agent_fds_ours(fd) && agent_active()) {
		errno = EBADF;
		return -1;
	}
	return REAL(close)(fd);
}

AGENT_API int close_range(unsigned first, unsigned last, int flags)
{
	int highest = agent_fds_highest();
	unsigned from = first;

	/* CLOSE_RANGE_UNSHARE gives the caller a table of its own: ours in it are copies. */
	if (highest < 0 || first > last || !agent_active())
		return (int)syscall(SYS_close_range, first, last, flags);
	for (unsigned fd = first; fd <= last && fd <= (unsigned)highest; fd++) {
		if (!agent_fds_ours((int)fd))
			continue;
		if (from < fd && syscall(SYS_close_range, from, fd - 1, flags) != 0)
			return -1;
		from = fd + 1;
	}
	if (from > last)
		return 0;
	return (int)syscall(SYS_close_range, from, last, flags);
}

AGENT_API void closefrom(int first)
{
	/* As glibc's: never fails, negative means from 0. */
	int saved = errno;

	if (close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0) != 0)
		for (int fd = first < 0 ? 0 : first; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
	errno = saved;
}

/* The host wants this number: what of ours has it goes elsewhere. */
static void make_room(int from, int fd)
{
	int saved = errno;

	/* A call that will fail takes nothing. */
	if (agent_fds_ours(fd) && syscall(SYS_fcntl, from, F_GETFD) >= 0 && agent_active())
		if (!agent_file_move(fd))
			agent_thread_move_fd(fd);
	errno = saved;
}

AGENT_API int dup2(int from, int to)
{
	if (agent_fds_ours(from) && agent_active()) {
		errno = EBADF;
		return -1;
	}
	make_room(from, to);
	return REAL(dup2)(from, to);
}

AGENT_API int dup3(int from, int to, int flags)
{
	if (agent_fds_ours(from) && agent_active()) {
		errno = EBADF;
		return -1;
	}
	make_room(from, to);
	return REAL(dup3)(from, to, flags);
}
