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
AGENT_API agent_handler *bsd_signal(int signo, agent_handler *handler);
AGENT_API agent_handler *__sysv_signal(int signo, agent_handler *handler);

static void changed(int signo, const struct sigaction *action)
{
	/* A vfork child has dispositions of its own, which stay as they are. */
	if (!agent_active())
		return;
	if (agent_signal_needs_stacks(signo, action))
		agent_signal_all_on_stack();
	if (action->sa_handler == SIG_DFL) /* with any flags */
		agent_signal_restore(signo, action);
	else
		agent_signal_taken(signo);
}

static int set_action(int signo, const struct sigaction *action, struct sigaction *was)
{
	struct sigaction once;
	int result;

	if (!action || !agent_signal_wants_once(signo, action)) {
		result = REAL(sigaction)(signo, action, was);
		if (result == 0)
			agent_signal_visible(signo, was);
		return result;
	}
	REAL(sigaction)(signo, NULL, was);
	agent_signal_visible(signo, was);
	agent_signal_once(signo, action, &once);
	return REAL(sigaction)(signo, &once, NULL);
}

AGENT_API int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction was;
	int result, saved;

	if (agent_own_signal_action(signo, action, &was)) {
		if (old)
			*old = was;
		return 0;
	}
	result = set_action(signo, action, &was);
	saved = errno;
	if (result != 0)
		return result;
	if (action)
		changed(signo, action);
	if (old)
		*old = was;
	errno = saved;
	return 0;
}

/* The result of one of the older calls, with SIG_DFL in place of an agent's handler. */
static agent_handler *hide(int signo, agent_handler *was, const struct sigaction *action)
{
	struct sigaction visible = { .sa_flags = SA_SIGINFO };
	int saved = errno;

	if (was == SIG_ERR)
		return was;
	visible.sa_handler = was;
	agent_signal_visible(signo, &visible);
	changed(signo, action);
	errno = saved;
	return visible.sa_handler;
}

AGENT_API agent_handler *signal(int signo, agent_handler *handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, was;

	if (handler != SIG_ERR && agent_own_signal_action(signo, &action, &was))
		return was.sa_handler;
	sigaddset(&action.sa_mask, signo);
	return hide(signo, REAL(signal)(signo, handler), &action);
}

AGENT_API agent_handler *bsd_signal(int signo, agent_handler *handler)
{
	return signal(signo, handler);
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

AGENT_API agent_handler *__sysv_signal(int signo, agent_handler *handler)
{
	return sysv_signal(signo, handler);
}

AGENT_API int sigaltstack(const stack_t *stack, stack_t *old)
{
	int saved = errno;

	if (stack && !(stack->ss_flags & SS_DISABLE) && agent_active())
		agent_signal_stack(stack->ss_size);
	errno = saved;
	return REAL(sigaltstack)(stack, old);
}

/* ---- signal masks, without the agent's own signal (process/own_signal.c) ------------------- */

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
