/* SPDX-License-Identifier: MIT */
/*
 * signal.c - hides the agent's signal handlers and its own signal from the host. Overrides:
 * sigaction signal sysv_signal __sysv_signal bsd_signal sigaltstack pthread_sigmask sigprocmask.
 *
 * In place of an agent's handler the host sees SIG_DFL. A handler that the host installs replaces
 * the agent's, which returns when the host sets SIG_DFL again, or when a handler with SA_RESETHAND
 * has run.
 */
#include "agent/hooks/hooks.h"

AGENT_API agent_handler *sysv_signal(int signo, agent_handler *handler);
AGENT_API agent_handler *__sysv_signal(int signo, agent_handler *handler)
	__attribute__((alias("sysv_signal")));
AGENT_API agent_handler *bsd_signal(int signo, agent_handler *handler)
	__attribute__((alias("signal"), nothrow, leaf));

AGENT_API int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return agent_signal_action(signo, action, old);
}

AGENT_API agent_handler *signal(int signo, agent_handler *handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, was;

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

AGENT_API int sigaltstack(const stack_t *stack, stack_t *old)
{
	int result = REAL(sigaltstack)(stack, old), saved = errno;
	stack_t now;

	/* Not before the call, which may refuse the pointer. */
	if (result == 0 && stack && stack == old && REAL(sigaltstack)(NULL, &now) == 0)
		stack = &now;
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
