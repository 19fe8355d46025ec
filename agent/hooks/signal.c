/* SPDX-License-Identifier: MIT */
/*
 * signal.c - hides the agent's signal handlers from the host. Overrides: sigaction signal
 * sysv_signal __sysv_signal bsd_signal sigaltstack.
 *
 * In place of an agent's handler the host sees SIG_DFL. A handler that the host installs replaces
 * the agent's, which returns when the host sets SIG_DFL again.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/process/process.h"

AGENT_API agent_handler *sysv_signal(int signo, agent_handler *handler);
AGENT_API agent_handler *bsd_signal(int signo, agent_handler *handler);
AGENT_API agent_handler *__sysv_signal(int signo, agent_handler *handler);

static void changed(int signo, bool to_default)
{
	/* A vfork child has dispositions of its own, which stay as they are. */
	if (!agent_active())
		return;
	if (to_default)
		agent_signal_restore(signo);
	else
		agent_signal_taken(signo);
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
	result = REAL(sigaction)(signo, action, &was);
	saved = errno;
	if (result != 0)
		return result;
	if (agent_signal_is_ours(&was))
		agent_signal_original(signo, &was);
	if (action)
		changed(signo, !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL);
	if (old)
		*old = was;
	errno = saved;
	return 0;
}

/* The result of one of the older calls, with SIG_DFL in place of an agent's handler. */
static agent_handler *hide(int signo, agent_handler *was, agent_handler *now)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	int saved = errno;

	if (was == SIG_ERR)
		return was;
	action.sa_sigaction = (void (*)(int, siginfo_t *, void *))(void (*)(void))was;
	if (agent_signal_is_ours(&action))
		was = SIG_DFL;
	changed(signo, now == SIG_DFL);
	errno = saved;
	return was;
}

AGENT_API agent_handler *signal(int signo, agent_handler *handler)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigaction was;

	if (handler != SIG_ERR && agent_own_signal_action(signo, &action, &was))
		return was.sa_handler;
	return hide(signo, REAL(signal)(signo, handler), handler);
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
