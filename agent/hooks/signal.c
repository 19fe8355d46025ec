/* SPDX-License-Identifier: MIT */
/*
 * signal.c - hides the agent's signal handlers and its own signal from the host. Overrides:
 * sigaction signal ssignal sysv_signal __sysv_signal bsd_signal sigset sigignore sighold sigrelse
 * siginterrupt sigaltstack pthread_sigmask sigprocmask.
 *
 * In place of an agent's handler the host sees SIG_DFL. A handler that the host installs replaces
 * the agent's, which returns when the host sets SIG_DFL again, or when a handler with SA_RESETHAND
 * has run.
 */
#include "agent/hooks/hooks.h"

#include <dlfcn.h>

AGENT_API agent_handler *sysv_signal(int signo, agent_handler *handler);
AGENT_API agent_handler *__sysv_signal(int signo, agent_handler *handler)
	__attribute__((alias("sysv_signal")));
AGENT_API agent_handler *bsd_signal(int signo, agent_handler *handler)
	__attribute__((alias("signal"), nothrow, leaf));

AGENT_API agent_handler *ssignal(int signo, agent_handler *handler)
	__attribute__((alias("signal"), nothrow, leaf));

AGENT_API int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return agent_signal_action(signo, action, old);
}

/* Signals whose actions siginterrupt() lets interrupt system calls, those of signal() too. */
static _Atomic uint64_t interrupting;

AGENT_API agent_handler *signal(int signo, agent_handler *handler)
{
	struct sigaction action = { .sa_handler = handler }, was;

	if (signo > 0 && signo < _NSIG && !(atomic_load(&interrupting) >> (signo - 1) & 1))
		action.sa_flags = SA_RESTART;
	if (handler != SIG_ERR && agent_own_signal_action(signo, &action, &was))
		return was.sa_handler;
	sigaddset(&action.sa_mask, signo);
	was.sa_handler = REAL(signal)(signo, handler);
	was.sa_flags = SA_SIGINFO;
	if (was.sa_handler != SIG_ERR)
		agent_signal_changed(signo, &action, &was);
	return was.sa_handler;
}

AGENT_API agent_handler *sysv_signal(int signo, agent_handler *handler)
{
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = (int)SA_RESETHAND | SA_NODEFER };
	struct sigaction old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	return sigaction(signo, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* libc's has to know, too, for its signal(). Rarely called, so looked up here. */
AGENT_API int siginterrupt(int signo, int interrupts)
{
	int (*real)(int, int), result, saved;

	*(void **)(void *)&real = dlsym(RTLD_NEXT, "siginterrupt");
	result = real(signo, interrupts);
	saved = errno;
	if (result == 0 && interrupts)
		atomic_fetch_or(&interrupting, UINT64_C(1) << (signo - 1));
	else if (result == 0)
		atomic_fetch_and(&interrupting, ~(UINT64_C(1) << (signo - 1)));
	if (result == 0 && agent_active())
		agent_signal_restarts(signo, !interrupts);
	errno = saved;
	return result;
}

AGENT_API int sigaltstack(const stack_t *stack, stack_t *old)
{
	int result = REAL(sigaltstack)(stack, old), saved = errno;

	/* Not before the call, which may refuse the pointer. */
	if (result == 0 && stack && agent_active())
		agent_signal_stack(stack);
	errno = saved;
	return result;
}

/* ---- signal masks, without the agent's own signal (process/signals.c) ------------------- */

AGENT_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int saved = errno, error = agent_own_signal_mask(how, set, old);

	errno = saved;
	return error;
}

AGENT_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int error = pthread_sigmask(how, set, old);

	if (error)
		errno = error;
	return error ? -1 : 0;
}

/* ---- of System V, which libc does not build on its public functions ----------------------- */

static bool mask_one(int how, int signo, sigset_t *old)
{
	sigset_t set = { { 0 } };
	int error, saved = errno;

	if (sigaddset(&set, signo) != 0)
		return false;
	error = agent_own_signal_mask(how, &set, old);
	errno = error ? error : saved;
	return error == 0;
}

AGENT_API agent_handler *sigset(int signo, agent_handler *handler)
{
	const struct sigaction action = { .sa_handler = handler };
	const bool hold = handler == SIG_HOLD;
	sigset_t mask = { { 0 } };
	struct sigaction was;

	if (sigaddset(&mask, signo) != 0 || sigaction(signo, hold ? NULL : &action, &was) != 0 ||
	    !mask_one(hold ? SIG_BLOCK : SIG_UNBLOCK, signo, &mask))
		return SIG_ERR;
	return sigismember(&mask, signo) ? SIG_HOLD : was.sa_handler;
}

AGENT_API int sighold(int signo)
{
	return mask_one(SIG_BLOCK, signo, NULL) ? 0 : -1;
}

AGENT_API int sigrelse(int signo)
{
	return mask_one(SIG_UNBLOCK, signo, NULL) ? 0 : -1;
}

AGENT_API int sigignore(int signo)
{
	const struct sigaction action = { .sa_handler = SIG_IGN };

	return sigaction(signo, &action, NULL);
}
