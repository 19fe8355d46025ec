/* SPDX-License-Identifier: MIT */
/*
 * signals.c - signals on macOS: last rows at a fatal one, a snapshot at the one of PMC_DUMP.
 * Handlers are installed only where the program has none, and are invisible to it. Uses POSIX only,
 * so that tests run it on Linux.
 *
 * The handlers are async-signal-safe and restore errno. Afterwards the process dies of the signal
 * as it would have without the agent: a fault returns to SIG_DFL and faults again, a sent signal is
 * sent to this thread again, and arrives when the handler has returned.
 */
#include "agent/process/process.h"

#include <pthread.h>

/* SIGTRAP: Swift ends programs by it. */
static const int fatal[] = { SIGHUP,  SIGINT,  SIGTERM, SIGQUIT, SIGILL,   SIGBUS,  SIGFPE,
			     SIGSEGV, SIGABRT, SIGSYS,	SIGXCPU, SIGXFSZ,  SIGTRAP, SIGPIPE,
			     SIGALRM, SIGUSR1, SIGUSR2, SIGPROF, SIGVTALRM };

/* The smallest si_code of a signal that was sent; <sys/signal.h> of macOS. */
#define SENT 0x10001

/* The disposition before: always SIG_DFL, with the flags and mask that the program must see. */
static struct {
	bool ours;
	struct sigaction original;
} table[NSIG];

static bool is_fault(int signo, int code)
{
	return code > 0 && code < SENT &&
	       (signo == SIGILL || signo == SIGBUS || signo == SIGFPE || signo == SIGSEGV);
}

static void on_fatal(int signo, siginfo_t *info, void *context)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	int saved = errno;

	(void)context;
	agent_leave(PMC_ENDED_SIGNAL, signo);
	sigaction(signo, &dfl, NULL);
	if (!is_fault(signo, info->si_code))
		pthread_kill(pthread_self(), signo);
	errno = saved;
}

static void on_dump(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo, (void)info, (void)context;
	agent_snapshot();
	errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) &&
	       (action->sa_sigaction == on_fatal || action->sa_sigaction == on_dump);
}

static void install(int signo)
{
	const bool dump = signo == agent.config.dump;
	struct sigaction action = { .sa_sigaction = dump ? on_dump : on_fatal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | (dump ? SA_RESTART : 0) };

	sigfillset(&action.sa_mask);
	table[signo].ours = sigaction(signo, &action, NULL) == 0;
}

static void take(int signo)
{
	struct sigaction *was = &table[signo].original;

	if (sigaction(signo, NULL, was) == 0 && !(was->sa_flags & SA_SIGINFO) &&
	    was->sa_handler == SIG_DFL)
		install(signo);
}

void agent_signals_init(void)
{
	const int dump = agent.config.dump;

	for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (fatal[i] != dump)
			take(fatal[i]);
	if (!dump)
		return;
	take(dump);
	if (!table[dump].ours)
		agent_note(NOTE_DUMP_SIGNAL);
}

/* The program has changed the action of a signal. */
static void changed(int signo, bool to_default)
{
	if (signo <= 0 || signo >= NSIG || !table[signo].ours || !agent_active())
		return;
	if (to_default)
		install(signo);
	else if (signo == agent.config.dump)
		agent_note(NOTE_DUMP_SIGNAL);
}

int mac_sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction was;
	int saved;

	if (sigaction(signo, action, &was) != 0)
		return -1;
	saved = errno;
	if (is_ours(&was))
		was = table[signo].original;
	if (action)
		changed(signo, !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL);
	if (old)
		*old = was;
	errno = saved;
	return 0;
}

mac_handler *mac_signal(int signo, mac_handler *handler)
{
	mac_handler *was = signal(signo, handler);
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	int saved = errno;

	if (was == SIG_ERR)
		return was;
	memcpy(&action.sa_sigaction, &was, sizeof(was));
	if (is_ours(&action))
		was = SIG_DFL;
	changed(signo, handler == SIG_DFL);
	errno = saved;
	return was;
}
