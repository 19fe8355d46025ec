/* SPDX-License-Identifier: MIT */
/*
 * sigmask.c - keeps the agent's own signal out of the host's signal masks (process/own_signal.c
 * says how). Overrides: pthread_sigmask sigprocmask.
 */
#include "agent/base/agent.h"
#include "agent/process/process.h"

#include <errno.h>
#include <signal.h>

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
