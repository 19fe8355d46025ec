/* SPDX-License-Identifier: MIT */
/*
 * fd.c - hides the agent's descriptors and raised limits of them from the host. Overrides: close
 * close_range closefrom dup2 dup3 fclose getrlimit getrlimit64 setrlimit setrlimit64 prlimit
 * prlimit64 getdtablesize sysconf posix_spawn posix_spawnp popen system wordexp clone.
 *
 * Programs close all descriptors when they become daemons. The agent's stay open: close() succeeds,
 * for programs that take the numbers from /proc/self/fd, and the range calls skip them. If the host
 * wants one of their numbers for itself, the agent's descriptor moves to another number. fstat and
 * fcntl see them.
 *
 * While a thread opens its groups the soft limit is raised for a moment; the host must neither see
 * nor change it then, nor start a child that would inherit it. Calls for other limits are
 * forwarded.
 */
#include "agent/hooks/hooks.h"

#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

AGENT_API int close_range(unsigned first, unsigned last, int flags)
	__attribute__((alias("agent_host_close_range")));
AGENT_API int close(int fd) __attribute__((alias("agent_host_close")));
AGENT_API void closefrom(int first);

/* Whether the number is the agent's, unless it has been closed past the hooks (RTLD_DEEPBIND, a raw
 * system call); a filter that came past them may kill for asking. */
static bool is_own(int fd)
{
	if (!agent_fds_ours(fd))
		return false;
	if (agent_unseen_filter() || agent_fds_is_event(fd) || agent_file_is(fd))
		return true;
	agent_fds_unmark(&fd, 1);
	return false;
}

/* In a vfork child. */
static bool is_kept(int fd)
{
	return agent_is_on() && agent_file_is_taken(fd);
}

static bool is_hidden(int fd)
{
	return agent_fds_ours(fd) && (agent_active() ? is_own(fd) : is_kept(fd));
}

/* The call, with the result of the given type, while no window is open. */
#define WITHOUT_WINDOWS(type, call)                                                                \
	uint64_t held = agent_active() ? agent_fds_hold() : 0;                                     \
	type result = call;                                                                        \
	agent_fds_let(held);                                                                       \
	return result

/* In a window events have the lowest free numbers for a moment, which the host would close here and
 * in dup2(). */
int agent_host_close(int fd)
{
	if (is_hidden(fd))
		return 0;
	if (!agent_fds_opening())
		return REAL(close)(fd);
	/* A cancellation in the call would leave the hold behind. */
	pthread_testcancel();
	WITHOUT_WINDOWS(int, (int)syscall(SYS_close, fd));
}

static int close_others(unsigned first, unsigned last, int flags)
{
	const int highest = atomic_load(&agent_fds_highest);
	unsigned from = first;
	bool active;

	if (highest < 0 || first > last)
		return (int)syscall(SYS_close_range, first, last, flags);
	active = agent_active();
	for (unsigned fd = first; fd <= last && fd <= (unsigned)highest; fd++) {
		if (!agent_fds_ours((int)fd) || !(active ? is_own((int)fd) : is_kept((int)fd)))
			continue;
		if (from < fd && syscall(SYS_close_range, from, fd - 1, flags) != 0)
			return -1;
		from = fd + 1;
	}
	if (from > last)
		return 0;
	return (int)syscall(SYS_close_range, from, last, flags);
}

int agent_host_close_range(unsigned first, unsigned last, int flags)
{
	WITHOUT_WINDOWS(int, close_others(first, last, flags));
}

AGENT_API void closefrom(int first)
{
	/* As in glibc: never fails, and a negative number means from 0. */
	int saved = errno;

	if (agent_host_close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0) != 0)
		for (int fd = first < 0 ? 0 : first; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
			agent_host_close(fd);
	errno = saved;
}

/* The host is about to take number fd. */
static void make_room(int from, int fd)
{
	int saved = errno;

	/* If `from` is not open the call fails and takes no number. In a vfork child the agent's
	 * state is that of the parent, which has these numbers still. */
	if (agent_fds_ours(fd) && agent_active() && is_own(fd) &&
	    syscall(SYS_fcntl, from, F_GETFD) >= 0) {
		/* A handler may jump out of the call. */
		const uint64_t mask = agent_mask_set(~UINT64_C(0));

		if (!agent_file_move(fd) && !agent_sample_move_fd(fd))
			agent_thread_move_fd(fd);
		agent_fds_moved();
		agent_mask_set(mask);
	}
	errno = saved;
}

bool agent_host_dup(int from, int to)
{
	if (is_hidden(from)) {
		errno = EBADF;
		return false;
	}
	make_room(from, to);
	return true;
}

AGENT_API int dup2(int from, int to)
{
	if (!agent_host_dup(from, to))
		return -1;
	WITHOUT_WINDOWS(int, REAL(dup2)(from, to));
}

AGENT_API int dup3(int from, int to, int flags)
{
	if (!agent_host_dup(from, to))
		return -1;
	WITHOUT_WINDOWS(int, REAL(dup3)(from, to, flags));
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

/* ---- limits --------------------------------------------------------------------------------- */

/* On 64-bit systems struct rlimit is struct rlimit64, and the calls are the same. */
_Static_assert(sizeof(rlim_t) == 8, "rlim_t has 64 bits");

static int limit(int pid, unsigned resource, const struct rlimit *new, struct rlimit *old)
{
	bool ours = resource == RLIMIT_NOFILE && (pid == 0 || pid == agent.pid) && agent_active();
	uint64_t held = ours ? agent_fds_hold() : 0;
	long result = syscall(SYS_prlimit64, pid, resource, new, old);
	int saved = errno;

	if (held && new &&result == 0)
		agent_fds_limited(new->rlim_cur, new->rlim_max);
	else if (resource == RLIMIT_NOFILE && !pid && new &&result == 0 && !agent_active())
		agent_fds_child_limited = true;
	agent_fds_let(held);
	errno = saved;
	return (int)result;
}

#ifdef __GLIBC__
#define RESOURCE __rlimit_resource_t
#else
#define RESOURCE int
#endif

AGENT_API int getrlimit(RESOURCE resource, struct rlimit *rlimit)
{
	return limit(0, (unsigned)resource, NULL, rlimit);
}

/* libc's getdtablesize and sysconf do not call the public getrlimit. */
AGENT_API int getdtablesize(void)
{
	struct rlimit now = { 256, 256 };

	limit(0, RLIMIT_NOFILE, NULL, &now);
	return now.rlim_cur < INT_MAX ? (int)now.rlim_cur : INT_MAX;
}

AGENT_API long sysconf(int name)
{
	return name == _SC_OPEN_MAX ? getdtablesize() : REAL(sysconf)(name);
}

AGENT_API int setrlimit(RESOURCE resource, const struct rlimit *rlimit)
{
	return limit(0, (unsigned)resource, rlimit, NULL);
}

AGENT_API int prlimit(pid_t pid, RESOURCE resource, const struct rlimit *new, struct rlimit *old)
{
	return limit(pid, (unsigned)resource, new, old);
}

#ifdef __GLIBC__
#define SAME64(name)                                                                               \
	AGENT_API __typeof__(name) agent_##name##64 __asm__(#name "64")                            \
		__attribute__((alias(#name), nothrow, leaf))
SAME64(getrlimit);
SAME64(setrlimit);
SAME64(prlimit);
#endif

AGENT_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	WITHOUT_WINDOWS(int, REAL(posix_spawn)(pid, path, actions, attr, argv, envp));
}

AGENT_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	WITHOUT_WINDOWS(int, REAL(posix_spawnp)(pid, file, actions, attr, argv, envp));
}

AGENT_API FILE *popen(const char *command, const char *mode)
{
	WITHOUT_WINDOWS(FILE *, REAL(popen)(command, mode));
}

/* Before calls that may wait for a child: windows stay shut only while it starts. */
static void shut_windows(void)
{
	if (agent_active()) {
		agent_fds_quiet();
		agent_fds_let(agent_fds_hold());
	}
}

AGENT_API int system(const char *command)
{
	shut_windows();
	return REAL(system)(command);
}

AGENT_API int wordexp(const char *words, wordexp_t *to, int flags)
{
	shut_windows();
	return REAL(wordexp)(words, to, flags);
}

AGENT_API int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	void *more[3];
	va_list args;

	va_start(args, arg);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(args, void *);
	va_end(args);
	if (flags & CLONE_VFORK)
		shut_windows();
	if (flags & (CLONE_THREAD | CLONE_VFORK))
		return REAL(clone)(run, stack, flags, arg, more[0], more[1], more[2]);
	WITHOUT_WINDOWS(int, REAL(clone)(run, stack, flags, arg, more[0], more[1], more[2]));
}
