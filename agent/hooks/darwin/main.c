/* SPDX-License-Identifier: MIT */
/*
 * main.c - where the agent enters a program on macOS.
 *
 * The constructor starts it. Threads are announced by libpthread's introspection hook, which sees
 * those of dispatch too. pthread_create, exit, _exit, __exit, the exec family, posix_spawn and the
 * setting of signal handlers are interposed by the table that dyld reads; calls from this library
 * itself reach the real functions.
 */
#include "agent/process/process.h"
#include "agent/hooks/exec_args.h"
#include "agent/thread/mac_threads.h"

#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>

/* pthread/introspection.h. */
enum { THREAD_START = 2, THREAD_TERMINATE = 3 };
typedef void introspect_fn(unsigned event, pthread_t thread, void *at, size_t bytes);
introspect_fn *pthread_introspection_hook_install(introspect_fn *hook);

static introspect_fn *earlier;

static void introspect(unsigned event, pthread_t thread, void *at, size_t bytes)
{
	int saved = errno;

	if (event == THREAD_START && agent.measured && agent_is_on())
		mac_thread_begin(pmc_mac_system.self_tid(), false);
	if (earlier)
		earlier(event, thread, at, bytes);
	/* After the hook before ours, whose work belongs to the thread. */
	if (event == THREAD_TERMINATE && agent.measured && agent_is_on())
		mac_thread_end(pmc_mac_system.self_tid(), PMC_THREAD_EXITED);
	errno = saved;
}

static void at_exit(void)
{
	int saved = errno;

	agent_leave(PMC_ENDED_EXIT, agent.exit_status);
	errno = saved;
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp)
{
	/* A return from main ends in an exit of libc's own, which does not pass hook_exit. */
	agent.exit_status = -1;
	agent_start(argc, argv, envp);
	if (!agent_is_on())
		return;
	agent_fork_init();
	atexit(at_exit);
	agent_signals_init();
	earlier = pthread_introspection_hook_install(introspect);
}

/* ---- interposed functions ----------------------------------------------------------------- */
static void hook_exit(int status)
{
	agent.exit_status = status & 0xff;
	exit(status);
}

/* In libsystem_kernel, for libc. */
void __exit(int status) __attribute__((noreturn));

/* The last of an exit. libc's own call of it may pass, unlike that of exit. */
static void hook___exit(int status)
{
	agent_left_with(status & 0xff);
	__exit(status);
}

static void hook__exit(int status)
{
	agent_leave(PMC_ENDED_EXIT, status & 0xff);
	_exit(status);
}

/* Rows are written before an exec, since a successful one does not return. */
#define AROUND_EXEC(condition, call)                                                               \
	const bool exec = condition;                                                               \
	int result, saved;                                                                         \
                                                                                                   \
	if (exec)                                                                                  \
		agent_before_exec();                                                               \
	result = call;                                                                             \
	saved = errno;                                                                             \
	if (exec)                                                                                  \
		agent_exec_failed();                                                               \
	errno = saved;                                                                             \
	return result

#define HOOK_EXEC(name, parameters, arguments)                                                     \
	static int hook_##name parameters                                                          \
	{                                                                                          \
		AROUND_EXEC(agent_active(), name arguments);                                       \
	}

HOOK_EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
HOOK_EXEC(execv, (const char *path, char *const argv[]), (path, argv))
HOOK_EXEC(execvp, (const char *file, char *const argv[]), (file, argv))
HOOK_EXEC(execvP, (const char *file, const char *path, char *const argv[]), (file, path, argv))

/* libc's own calls of execve are bound in the shared cache: they do not pass hook_execve. */
EXEC_LIST(static, hook_execl, false, hook_execv(file, argv))
EXEC_LIST(static, hook_execlp, false, hook_execvp(file, argv))
EXEC_LIST(static, hook_execle, true, hook_execve(file, argv, envp))

/* POSIX_SPAWN_SETEXEC: as an exec, without a new process. */
static bool replaces(const posix_spawnattr_t *attr)
{
	short flags = 0;

	return attr && agent_active() && posix_spawnattr_getflags(attr, &flags) == 0 &&
	       (flags & POSIX_SPAWN_SETEXEC);
}

#define HOOK_SPAWN(name)                                                                           \
	static int hook_##name(                                                                    \
		pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,           \
		const posix_spawnattr_t *attr, char *const argv[], char *const envp[])             \
	{                                                                                          \
		AROUND_EXEC(replaces(attr), name(pid, path, actions, attr, argv, envp));           \
	}

HOOK_SPAWN(posix_spawn)
HOOK_SPAWN(posix_spawnp)

static int hook_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			       void *(*routine)(void *), void *arg)
{
	struct mac_start *start =
		agent.measured && agent_active() ? mac_start_take(routine, arg) : NULL;
	int error;

	if (!start)
		return pthread_create(thread, attr, routine, arg);
	error = pthread_create(thread, attr, mac_start_run, start);
	if (error)
		mac_start_drop(start);
	return error;
}

#define INTERPOSE(name)                                                                            \
	{                                                                                          \
		(const void *)hook_##name, (const void *)name                                      \
	}
__attribute__((used, section("__DATA,__interpose"))) static const struct {
	const void *with, *what;
} interposed[] = {
	INTERPOSE(exit),
	INTERPOSE(_exit),
	INTERPOSE(__exit),
	{ (const void *)hook__exit, (const void *)_Exit },
	INTERPOSE(execve),
	INTERPOSE(execv),
	INTERPOSE(execvp),
	INTERPOSE(execvP),
	INTERPOSE(execl),
	INTERPOSE(execlp),
	INTERPOSE(execle),
	INTERPOSE(posix_spawn),
	INTERPOSE(posix_spawnp),
	INTERPOSE(pthread_create),
	{ (const void *)mac_sigaction, (const void *)sigaction },
	{ (const void *)mac_signal, (const void *)signal },
};
