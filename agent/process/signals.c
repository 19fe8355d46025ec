/* SPDX-License-Identifier: MIT */
/*
 * signals.c - writes the final rows at a fatal signal, and a snapshot at the dump signal.
 *
 * Contract: the handlers run in any thread at any point, perhaps on the host's signal stack:
 * async-signal-safe, errno restored, less than 1 KiB of stack. Frames are built in a mapping. They
 * run on a thread's alternate stack, as Go requires, unless a thread has a very small one. The
 * process then dies of the signal as it would have without the agent: hardware faults return with
 * SIG_DFL and fault again, sent signals are queued again with their siginfo.
 */
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/base/note.h"
#include "agent/base/own_libc.h"
#include "agent/base/real.h"
#include "agent/process/process.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/poison.h"

/* All that end a process by default, but SIGKILL, SIGIO (agent/process/own_signal.c) and those of
 * real time. */
static const int fatal[] = { SIGHUP,  SIGINT,  SIGTERM, SIGQUIT,   SIGILL,  SIGBUS,  SIGFPE,
			     SIGSEGV, SIGABRT, SIGSYS,	SIGXCPU,   SIGXFSZ, SIGPIPE, SIGALRM,
			     SIGUSR1, SIGUSR2, SIGTRAP, SIGVTALRM, SIGPROF, SIGPWR,  SIGSTKFLT };

/* The disposition before: always SIG_DFL, with the flags and mask that the host must see. */
AGENT_ROOMY static struct {
	bool ours;
	struct sigaction original;
} table[_NSIG];

/* Sends the signal again: to this thread, which gets it after the handler, or to the process if a
 * filter forbids that. */
static bool queue_again(int signo, siginfo_t *info)
{
	const long pid = syscall(SYS_getpid), tid = syscall(SYS_gettid);

	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, signo, info) == 0 ||
	       (pid > 0 && syscall(SYS_rt_sigqueueinfo, pid, signo, info) == 0);
}

void agent_signal_fatal(int signo, siginfo_t *info, void *context)
{
	/* Hardware faults have si_code > 0 and are raised again on return. */
	const bool fault = info->si_code > 0 && (signo == SIGILL || signo == SIGBUS ||
						 signo == SIGFPE || signo == SIGSEGV);
	int saved = errno;

	(void)context;
	agent_leave(PMC_ENDED_SIGNAL, signo, true);
	/* The program must not survive a seccomp filter that forbids these calls. */
	if (!agent_sigdefault(signo) || (!fault && !queue_again(signo, info)))
		syscall(SYS_exit_group, 128 + signo);
	errno = saved;
}

static void on_dump(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo, (void)info, (void)context;
	if (agent_active())
		agent_snapshot();
	errno = saved;
}

/* Of <elf.h>; older ones lack it. */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* What a handler needs on top of the kernel's frame. */
#define HANDLER_BYTES 1024u

/* SA_ONSTACK; 0 once a thread has an alternate stack that is too small for the agent's handlers. */
static _Atomic int on_stack = SA_ONSTACK;

static void install(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO | atomic_load(&on_stack) | flags };

	sigfillset(&action.sa_mask);
	if (agent_sigaction(signo, &action, NULL) == 0)
		table[signo].ours = true;
}

bool agent_signal_take(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction now;

	if (agent_sigaction(signo, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) ||
	    now.sa_handler != SIG_DFL)
		return false;
	table[signo].original = now;
	install(signo, handler, flags);
	return table[signo].ours;
}

void agent_signal_stack(size_t bytes)
{
	const size_t frame = getauxval(AT_MINSIGSTKSZ);

	/* Kernels that do not say: AVX-512 takes 3.4 KiB. */
	if (bytes >= (frame ? frame : 4096) + HANDLER_BYTES || !atomic_exchange(&on_stack, 0))
		return;
	for (int signo = 1; signo < _NSIG; signo++) {
		struct sigaction action, was;

		if (!table[signo].ours || agent_sigaction(signo, NULL, &action) != 0 ||
		    !agent_signal_is_ours(&action))
			continue;
		action.sa_flags &= ~SA_ONSTACK;
		/* Another thread may have installed a handler in between. */
		if (agent_sigaction(signo, &action, &was) == 0 && !agent_signal_is_ours(&was))
			agent_sigaction(signo, &was, NULL);
	}
}

void agent_signals_init(void)
{
	int dump = agent.config.dump;

	/* The kernel drops fatal signals to init that have no handler; with one they would arrive.
	 */
	if (agent.pid != 1)
		for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
			if (fatal[i] != dump)
				agent_signal_take(fatal[i], agent_signal_fatal, 0);
	if (!dump)
		return;
	agent_signal_take(dump, on_dump, SA_RESTART);
	if (!table[dump].ours)
		agent_note(NOTE_DUMP_SIGNAL);
	pmc_agent_control.dump_signal = table[dump].ours ? dump : 0;
}

bool agent_signal_is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) &&
	       (action->sa_sigaction == agent_signal_fatal || action->sa_sigaction == on_dump ||
		action->sa_sigaction == agent_own_signal_handler ||
		action->sa_sigaction == agent_own_signal_unqueued);
}

void agent_signal_original(int signo, struct sigaction *action)
{
	*action = table[signo].original;
}

void agent_signal_set_original(int signo, const struct sigaction *action)
{
	table[signo].original = *action;
}

bool agent_signal_forget(int signo)
{
	struct sigaction now;

	if (agent_sigaction(signo, NULL, &now) != 0 || !agent_signal_is_ours(&now))
		return false;
	agent_sigdefault(signo);
	return true;
}

void agent_signals_forget(void)
{
	for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (table[fatal[i]].ours && fatal[i] != agent.config.dump &&
		    agent_signal_forget(fatal[i]))
			table[fatal[i]].ours = false;
}

void agent_signal_restore(int signo)
{
	if (signo <= 0 || signo >= _NSIG || !table[signo].ours)
		return;
	if (signo == agent.config.dump)
		install(signo, on_dump, SA_RESTART);
	else if (signo == SIGIO)
		install(signo, agent_own_signal_unqueued, SA_RESTART);
	else if (signo < SIGRTMIN)
		install(signo, agent_signal_fatal, 0);
}

void agent_signal_taken(int signo)
{
	if (signo == agent.config.dump && pmc_agent_control.dump_signal) {
		pmc_agent_control.dump_signal = 0;
		agent_note(NOTE_DUMP_SIGNAL);
	}
}
