/* SPDX-License-Identifier: MIT */
/*
 * main.c - where the agent enters a program on macOS.
 *
 * The constructor starts it. Threads are announced by libpthread's introspection hook, which sees
 * those of dispatch too. exit, _exit, the exec family and the setting of signal handlers are
 * interposed by the table that dyld reads; calls from this library itself reach the real functions.
 */
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/process/mac_signals.h"
#include "agent/process/process.h"
#include "agent/thread/mac_threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* pthread/introspection.h. */
enum { THREAD_START = 2, THREAD_TERMINATE = 3 };
typedef void introspect_fn(unsigned event, pthread_t thread, void *at, size_t bytes);
introspect_fn *pthread_introspection_hook_install(introspect_fn *hook);

static introspect_fn *earlier;

static bool is_on(void)
{
	return atomic_load(&pmc_agent_control.state) == PMC_CONTROL_ON;
}

static void introspect(unsigned event, pthread_t thread, void *at, size_t bytes)
{
	int saved = errno;

	if (event == THREAD_START && agent.measured && is_on())
		mac_thread_begin(pmc_mac_system.self_tid(), false);
	if (earlier)
		earlier(event, thread, at, bytes);
	/* After the hook before ours, whose work belongs to the thread. */
	if (event == THREAD_TERMINATE && agent.measured && is_on())
		mac_thread_end(pmc_mac_system.self_tid(), PMC_THREAD_EXITED);
	errno = saved;
}

static void at_exit(void)
{
	int saved = errno;

	agent_leave(PMC_ENDED_EXIT, agent.exit_status & 0xff, false);
	errno = saved;
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp)
{
	agent_start(argc, argv, envp);
	if (!is_on())
		return;
	agent_fork_init();
	atexit(at_exit);
	agent_signals_init();
	earlier = pthread_introspection_hook_install(introspect);
}

/* ---- interposed functions ----------------------------------------------------------------- */
static void hook_exit(int status)
{
	agent.exit_status = status;
	exit(status);
}

static void hook__exit(int status)
{
	agent_leave(PMC_ENDED_EXIT, status & 0xff, false);
	_exit(status);
}

/* Rows are written before an exec, since a successful one does not return. */
#define HOOK_EXEC(name, parameters, arguments)                                                     \
	static int hook_##name parameters                                                          \
	{                                                                                          \
		int result, saved;                                                                 \
                                                                                                   \
		if (!agent_active())                                                               \
			return name arguments;                                                     \
		agent_before_exec();                                                               \
		result = name arguments;                                                           \
		saved = errno;                                                                     \
		agent_exec_failed();                                                               \
		errno = saved;                                                                     \
		return result;                                                                     \
	}

HOOK_EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
HOOK_EXEC(execv, (const char *path, char *const argv[]), (path, argv))
HOOK_EXEC(execvp, (const char *file, char *const argv[]), (file, argv))

#define INTERPOSE(name)                                                                            \
	{                                                                                          \
		(const void *)hook_##name, (const void *)name                                      \
	}
__attribute__((used, section("__DATA,__interpose"))) static const struct {
	const void *with, *what;
} interposed[] = {
	INTERPOSE(exit),
	INTERPOSE(_exit),
	{ (const void *)hook__exit, (const void *)_Exit },
	INTERPOSE(execve),
	INTERPOSE(execv),
	INTERPOSE(execvp),
	{ (const void *)mac_sigaction, (const void *)sigaction },
	{ (const void *)mac_signal, (const void *)signal },
};
