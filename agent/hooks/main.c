/* SPDX-License-Identifier: MIT */
/*
 * main.c - starts and ends the agent. Overrides: __libc_start_main, and exit with musl.
 *
 * -z initfirst puts the constructor before all others. The exit handler registered there is the
 * first one of the process, so it runs last, after every destructor. PMC_JOB enters the environment
 * just before main: a variable set in a constructor is lost when libc takes the environment from
 * the kernel's block. In that block only an existing entry can be replaced (process/start.c).
 */
#include "agent/hooks/hooks.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef int main_fn(int, char **, char **);
typedef int start_main_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void),
			  void *);

AGENT_API int __libc_start_main(main_fn *host, int argc, char **argv, void (*init)(void),
				void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static main_fn *host_main;

static void end(int status)
{
	int saved = errno;

	agent_leave(PMC_ENDED_EXIT, status & 0xff);
	errno = saved;
}

/* These handlers get no status: quick_exit (hooks/process.c) stores it. */
static void at_quick(void)
{
	end(agent.exit_status);
}

#ifdef __GLIBC__
static void at_exit(int status, void *unused)
{
	(void)unused;
	end(status);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp)
{
	int (*register_exit)(void (*)(int, void *), void *);

	/* libc is not initialised yet. If libpfm4 has to be loaded, libc is initialised on the way
	 * and would keep a NULL environ. */
	if (!environ)
		environ = envp;
	agent_syscall_init();
	agent_start(argc, argv, envp);
	if (!agent_is_on())
		return;
	/* Sanitizers intercept on_exit and may not be initialised yet. */
	*(void **)(void *)&register_exit = dlsym(RTLD_NEXT, "on_exit");
	/* Registered twice: if two threads call exit or quick_exit, each removes handlers from the
	 * list, and the second thread must find one, in which it waits. */
	register_exit(at_exit, NULL);
	register_exit(at_exit, NULL);
	at_quick_exit(at_quick);
	at_quick_exit(at_quick);
}
#else
/* musl has no on_exit and gives constructors no arguments. */
static void at_exit(void)
{
	end(agent.exit_status);
}

AGENT_API void exit(int status)
{
	void (*real)(int) __attribute__((noreturn));

	agent.exit_status = status;
	*(void **)(void *)&real = dlsym(RTLD_NEXT, "exit");
	real(status);
}

__attribute__((constructor)) static void begin(void)
{
	static char *none[] = { NULL };

	agent_syscall_init();
	agent_start(0, none, environ);
	if (!agent_is_on())
		return;
	atexit(at_exit);
	atexit(at_exit);
	at_quick_exit(at_quick);
	at_quick_exit(at_quick);
}
#endif

/* Once: a library in Go that is loaded at the start has threads before main. */
static void start_ticks(void)
{
	static _Atomic bool started;

	if (!atomic_exchange(&started, true))
		agent_tick_start();
}

void agent_without_main(void)
{
	if (!host_main)
		start_ticks();
}

static int main_with_job(int argc, char **argv, char **envp)
{
	int saved = errno;
	char **with = agent_env_with_job(environ);

	if (with)
		environ = envp = with;
	start_ticks();
	errno = saved;
	agent.exit_status = host_main(argc, argv, envp);
	return agent.exit_status;
}

AGENT_API int __libc_start_main(main_fn *host, int argc, char **argv, void (*init)(void),
				void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_main_fn *real;

	*(void **)(void *)&real = dlsym(RTLD_NEXT, "__libc_start_main");
	host_main = host;
	return real(main_with_job, argc, argv, init, fini, rtld_fini, stack_end);
}

/* pmctl doctor reads it from the file. */
__attribute__((used, section(".pmc.version"))) static const char version[] =
	"pmcagent-version:" PMC_VERSION;
