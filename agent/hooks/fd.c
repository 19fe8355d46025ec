/* SPDX-License-Identifier: MIT */
/*
 * fd.c - hides the agent's descriptors from the host. Overrides: close close_range closefrom
 * dup2 dup3 fclose.
 *
 * Programs close all descriptors when they become daemons. The agent's stay open: close() succeeds,
 * for programs that take the numbers from /proc/self/fd, and the range calls skip them. If the host
 * wants one of their numbers for itself, the agent's descriptor moves to another number. fstat and
 * fcntl see them.
 */
#include "agent/hooks/hooks.h"

AGENT_API int close_range(unsigned first, unsigned last, int flags);
AGENT_API void closefrom(int first);

static bool is_hidden(int fd)
{
	int saved = errno;
	bool hidden = agent_fds_ours(fd) && agent_active();

	errno = saved;
	return hidden;
}

AGENT_API int close(int fd)
{
	return is_hidden(fd) ? 0 : REAL(close)(fd);
}

AGENT_API int close_range(unsigned first, unsigned last, int flags)
{
	int highest = agent_fds_highest();
	unsigned from = first;

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
	/* As in glibc: never fails, and a negative number means from 0. */
	int saved = errno;

	if (close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0) != 0)
		for (int fd = first < 0 ? 0 : first; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
			if (!is_hidden(fd))
				REAL(close)(fd);
	errno = saved;
}

/* The host is about to take number fd. */
static void make_room(int from, int fd)
{
	int saved = errno;

	/* If `from` is not open the call fails and takes no number. */
	if (agent_fds_ours(fd) && syscall(SYS_fcntl, from, F_GETFD) >= 0 && agent_active() &&
	    !agent_file_move(fd) && !agent_sample_move_fd(fd))
		agent_thread_move_fd(fd);
	errno = saved;
}

AGENT_API int dup2(int from, int to)
{
	if (is_hidden(from)) {
		errno = EBADF;
		return -1;
	}
	make_room(from, to);
	return REAL(dup2)(from, to);
}

AGENT_API int dup3(int from, int to, int flags)
{
	if (is_hidden(from)) {
		errno = EBADF;
		return -1;
	}
	make_room(from, to);
	return REAL(dup3)(from, to, flags);
}

/* xz, sort and all of coreutils close stderr before they exit, to check that their output was
 * written. The job's first process then keeps a copy for its report. Only there, only for
 * fclose(stderr), and not across a fork: a daemon detaches by fork, close or dup2, and a copy in it
 * would keep `$(cmd 2>&1)` waiting. */
AGENT_API int fclose(FILE *stream)
{
	if (stream == stderr && agent_active()) {
		int saved = errno;

		agent_report_keep_stderr();
		errno = saved;
	}
	return REAL(fclose)(stream);
}
