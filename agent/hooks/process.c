/* SPDX-License-Identifier: MIT */
/*
 * process.c - writes the rows before exec, _exit and abort. Overrides: execve execv execvp execvpe
 * execl execle execlp fexecve execveat _exit _Exit quick_exit abort daemon.
 *
 * A failed exec leaves the rows live; one of a file that cannot be executed writes none, as a
 * search of PATH makes many. In a vfork child all of these only forward, but leave the dump open
 * for another user.
 */
#include "agent/hooks/hooks.h"
#include "agent/hooks/exec_args.h"
#include "lib/base/file.h"

#include <stdlib.h>
#include <sys/auxv.h>

/* musl does not declare it. */
AGENT_API int execveat(int dir, const char *path, char *const argv[], char *const envp[],
		       int flags);

struct exec_env {
	bool active;	      /* the rows are written */
	enum agent_note lost; /* noted: why the new image lacks the agent; N_NOTES: it does not */
	int passed;	      /* the dump, left open for it; -1: it is not */
	uint64_t held;	      /* no window is open, whose limit the new image would have */
	void *map;	      /* PMC_JOB, then the list */
	size_t bytes;
};

/* What a process that began as root has made of its IDs. */
struct exec_ids {
	bool other_user; /* than root */
	bool secure;	 /* real and effective ones differ: the loader ignores LD_PRELOAD */
};

static struct exec_ids exec_ids_read(void)
{
	unsigned user[3], group[3];

	/* Others cannot have changed them; a filter may kill for these calls. */
	if (getauxval(AT_EUID) != 0 || agent_file_is_filtered() ||
	    pmc_sys3(SYS_getresuid, &user[0], &user[1], &user[2]) != 0 ||
	    pmc_sys3(SYS_getresgid, &group[0], &group[1], &group[2]) != 0)
		return (struct exec_ids){ false, false };
	return (struct exec_ids){ user[1] != 0, user[0] != user[1] || group[0] != group[1] };
}

/* In a vfork child memory belongs to its parent, which does not see whether the exec succeeds: the
 * room stays, for the next such child of this thread. */
static void *vfork_room(size_t bytes)
{
	static __thread void *map;
	static __thread size_t room;

	if (room < bytes) {
		if (room)
			munmap(map, room);
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		room = map == MAP_FAILED ? 0 : bytes;
	}
	if (room)
		memset((char *)map + AGENT_JOB_TEXT, 0, room - AGENT_JOB_TEXT);
	return room ? map : NULL;
}

static void *exec_room(struct exec_env *env, size_t bytes)
{
	if (!env->active)
		return vfork_room(bytes);
	env->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (env->map == MAP_FAILED)
		return NULL;
	env->bytes = bytes;
	return env->map;
}

/* A copy of envp with a new PMC_JOB; envp itself if it has none or one of pmctl run, which begins a
 * job, without memory, and in a vfork child that has nothing new to say. */
static char *const *exec_env_make(struct exec_env *env, char *const *envp, bool other_user)
{
	struct agent_passed dump = { .number = 0 };
	bool has_job = false;
	size_t n = 0;
	char *room;

	for (; envp && envp[n]; n++)
		has_job |= agent_env_is_job(envp[n]) && envp[n][8] && envp[n][8] != '0';
	if (!has_job)
		return envp;
	if (env->lost == N_NOTES)
		env->passed = agent_file_pass(other_user, &dump);
	if (!env->active && env->passed < 0)
		return envp;
	room = exec_room(env, AGENT_JOB_TEXT + (n + 2) * sizeof(*envp));
	if (!room || !agent_job_text(room, env->active, &dump)) {
		agent_file_unpass(env->passed);
		env->passed = -1;
		return envp;
	}
	return agent_env_copy((char **)(void *)(room + AGENT_JOB_TEXT), envp, room);
}

/* Whether the file is missing, or nobody may execute it. By stat(2), which finds it by the same
 * rights and opens no descriptor; a filter may kill for it. Not inlined, for a small signal stack.
 */
__attribute__((noinline)) static bool is_hopeless(int dir, const char *path, int flags)
{
	struct stat st;
	long error;

	if (agent_is_filtered())
		return false;
	error = pmc_sys4(SYS_newfstatat, dir, path, &st,
			 flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
	return error ? error == -ENOENT || error == -ENOTDIR || error == -EACCES :
		       !S_ISREG(st.st_mode) || !(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
}

/* Writes the rows; returns the environment for the new image. path: NULL if the call searches PATH.
 */
static char *const *before(struct exec_env *env, int dir, const char *path, int flags,
			   char *const *envp)
{
	int saved = errno;
	struct exec_ids ids;

	*env = (struct exec_env){ .active = false, .lost = N_NOTES, .passed = -1 };
	/* No address of an environment: the call fails with EFAULT. */
	if (envp && (uintptr_t)envp + 4096 < 2 * 4096)
		return envp;
	env->active = agent_active();
	if (env->active && path && is_hopeless(dir, path, flags)) {
		env->active = false;
		return envp;
	}
	/* Also in a vfork child, which shares the counters of the notes. */
	ids = agent_is_on() ? exec_ids_read() : (struct exec_ids){ false, false };
	if (agent.preloaded && (ids.secure || !agent_env_preloads(envp)))
		env->lost = ids.secure ? NOTE_EXEC_SECURE : NOTE_PRELOAD_LOST;
	if (env->lost != N_NOTES)
		agent_note(env->lost);
	if (env->active) {
		agent_before_exec();
		envp = exec_env_make(env, envp, ids.other_user);
		env->held = agent_fds_hold_for_exec();
		if (!env->held)
			agent_fds_exec_child();
	} else if (agent_is_on()) {
		envp = exec_env_make(env, envp, ids.other_user);
		agent_fds_exec_child();
	} else {
		/* An exec ends the other threads, one of which may be writing. */
		agent_ending_wait(AGENT_REPORTED);
	}
	agent_own_signal_show();
	errno = saved;
	return envp;
}

static int failed(struct exec_env *env, long result)
{
	int saved = errno;

	if (env->lost != N_NOTES)
		agent_note_withdraw(env->lost);
	agent_file_unpass(env->passed);
	if (env->active) {
		agent_own_signal_hide();
		agent_fds_let(env->held);
		if (env->bytes)
			munmap(env->map, env->bytes);
		agent_exec_failed();
	}
	errno = saved;
	return (int)result;
}

/* Nothing is looked up in what may be a vfork child. */
AGENT_API int execve(const char *path, char *const argv[], char *const envp[])
{
	struct exec_env env;

	envp = before(&env, AT_FDCWD, path, 0, envp);
	return failed(&env, real_execve ? real_execve(path, argv, envp) :
					  syscall(SYS_execve, path, argv, envp));
}

AGENT_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

AGENT_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct exec_env env;

	envp = before(&env, AT_FDCWD, strchr(file, '/') ? file : NULL, 0, envp);
	return failed(&env, REAL(execvpe)(file, argv, envp));
}

AGENT_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

AGENT_API int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct exec_env env;

	envp = before(&env, dir, path, flags, envp);
	return failed(&env, syscall(SYS_execveat, dir, path, argv, envp, flags));
}

AGENT_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct exec_env env;

	envp = before(&env, fd, "", AT_EMPTY_PATH, envp);
	return failed(&env, REAL(fexecve)(fd, argv, envp));
}

EXEC_LIST(AGENT_API, execl, false, execve(file, argv, environ))
EXEC_LIST(AGENT_API, execlp, false, execvpe(file, argv, environ))
EXEC_LIST(AGENT_API, execle, true, execve(file, argv, envp))

/* next: NULL if it was not looked up at the start. This may be a handler or a vfork child. */
__attribute__((noreturn)) static void leave(int status, void (*next)(int))
{
	agent_leave(PMC_ENDED_EXIT, status & 0xff);
	/* ThreadSanitizer's gives the status of a program with races. */
	if (next)
		next(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

AGENT_API void _exit(int status)
{
	leave(status, real__exit);
}

AGENT_API void _Exit(int status)
{
	leave(status, real__Exit);
}

AGENT_API void quick_exit(int status)
{
	/* The handler that writes the rows (hooks/main.c) gets no status. */
	if (agent_active())
		agent.exit_status = status;
	REAL(quick_exit)(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

/* As libc's abort begins: a handler of the host's may not return. */
static void raise_abort(void)
{
	const uint64_t abrt = UINT64_C(1) << (SIGABRT - 1);

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &abrt, NULL, sizeof(abrt));
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGABRT);
}

AGENT_API void abort(void)
{
	struct sigaction now;

	if (agent_active()) {
		if (!agent_signal_forget(SIGABRT) && agent_sigaction(SIGABRT, NULL, &now) == 0 &&
		    now.sa_handler != SIG_DFL)
			raise_abort();
		agent_sigdefault(SIGABRT);
	}
	/* Written here, not in the SIGABRT handler: abort is often called on a small signal stack,
	 * which has no room for another signal frame. */
	agent_leave(PMC_ENDED_SIGNAL, SIGABRT);
	REAL(abort)();
	for (;;)
		syscall(SYS_exit_group, 127);
}

/* glibc's daemon() calls fork and _exit past the hooks: the same steps through them. */
AGENT_API int daemon(int nochdir, int noclose)
{
	struct stat st;
	int fd;

	if (!agent_active())
		return REAL(daemon)(nochdir, noclose);
	switch (fork()) {
	case -1:
		return -1;
	case 0:
		break;
	default:
		leave(0, NULL);
	}
	if (setsid() < 0)
		return -1;
	if (!nochdir)
		(void)syscall(SYS_chdir, "/");
	if (noclose)
		return 0;
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	if (fd < 0)
		return -1;
	if (pmc_fd_stat(fd, &st) != 0 || !S_ISCHR(st.st_mode)) {
		syscall(SYS_close, fd);
		errno = ENODEV;
		return -1;
	}
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		syscall(SYS_close, fd);
	return 0;
}
