/* SPDX-License-Identifier: MIT */
/*
 * own_signal.c - the agent's own signal, which its timers send: one number, one handler, and rules
 * for what the host does with that number.
 *
 * It is the lowest real-time signal with the default action: Go replaces the handlers of higher
 * ones. The host sees the default action, and the masks that it has set. If it installs a handler
 * or blocks this very signal, the agent takes another number. A thread that blocks all signals has
 * this one unblocked all the same: it would have no ticks. Should somebody else send it there, it
 * is blocked and queued again.
 *
 * Contract: async-signal-safe.
 */
#include "agent/process/process.h"

#include "agent/base/poison.h"

/* Of a thread: two overflows, a tick. */
#define MOST_PENDING 3

static _Atomic int own; /* 0: none */

static uint64_t bit_of(unsigned signo)
{
	return signo ? 1ull << (signo - 1) : 0;
}

int agent_own_signal(void)
{
	return atomic_load_explicit(&own, memory_order_relaxed);
}

/* Whether the set has most real-time signals: then the host does not mean this particular one. */
static bool is_any(uint64_t mask)
{
	return __builtin_popcountll(mask >> (SIGRTMIN - 1)) > (SIGRTMAX - SIGRTMIN) / 2;
}

/* The agent's signal if the host has blocked it in a thread with this mask but the kernel has not;
 * else 0. The host may have changed the mask by its own system calls. */
static int hidden(unsigned blocked, const sigset_t *mask)
{
	uint64_t now;

	memcpy(&now, mask, sizeof(now));
	return is_any(now) ? (int)blocked : 0;
}

static void queue_again(int signo, siginfo_t *info)
{
	if (info->si_code == SI_TKILL) {
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signo, info);
		return;
	}
	/* Only the main thread may queue a signal that looks as if sent by kill(2). */
	if (syscall(SYS_rt_sigqueueinfo, getpid(), signo, info) != 0) {
		info->si_code = SI_QUEUE;
		syscall(SYS_rt_sigqueueinfo, getpid(), signo, info);
	}
}

/* Of a perf event: only the kernel sends signals with such a code. */
static bool is_overflow(const siginfo_t *info)
{
	return info->si_code == POLL_IN || info->si_code == POLL_HUP;
}

static bool is_tick(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_ptr == &agent;
}

static bool take_pending(int signo, siginfo_t *info)
{
	const uint64_t set = bit_of((unsigned)signo);
	const struct timespec zero = { 0, 0 };

	return pmc_sys4(SYS_rt_sigtimedwait, &set, info, &zero, sizeof(set)) == signo;
}

/* Signals of the agent's timers and events that are pending in the calling thread. */
static void drop(int signo)
{
	siginfo_t others[MOST_PENDING];
	unsigned n = 0;

	for (unsigned i = 0; i < MOST_PENDING && take_pending(signo, &others[n]); i++)
		if (is_overflow(&others[n]))
			agent_sample_dropped();
		else
			n += !is_tick(&others[n]);
	for (unsigned i = 0; i < n; i++)
		queue_again(signo, &others[i]);
}

/* The host uses this number: the agent takes the next free one. */
static void move(int from)
{
	if (!atomic_compare_exchange_strong(&own, &from, 0))
		return;
	agent_own_signal_moved(agent_own_signal_take(from + 1));
	drop(from);
}

static void come_from_others(int signo, siginfo_t *info, ucontext_t *context)
{
	struct sigaction original;

	if (agent_self && hidden(agent_self->blocked, &context->uc_sigmask) == signo) {
		move(signo);
		sigaddset(&context->uc_sigmask, signo);
		queue_again(signo, info);
		return;
	}
	agent_signal_original(signo, &original);
	if (original.sa_handler != SIG_IGN)
		agent_signal_fatal(signo, info, context);
}

void agent_own_signal_handler(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (is_tick(info))
		agent_tick_signal();
	else if (is_overflow(info))
		agent_sample_signal(info->si_code == POLL_HUP, context);
	else
		come_from_others(signo, info, context);
	errno = saved;
}

/* The kernel's SIGIO says nothing of its event; that of a descriptor of the host looks the same. */
void agent_own_signal_unqueued(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code == SI_KERNEL)
		agent_sample_signal(true, context);
	else
		agent_signal_fatal(signo, info, context);
	errno = saved;
}

void agent_own_signal_take_unqueued(void)
{
	/* Init does not die of it. */
	if (agent.pid != 1 && agent.config.dump != SIGIO)
		agent_signal_take(SIGIO, agent_own_signal_unqueued, SA_RESTART);
}

void agent_own_signal_drop(void)
{
	siginfo_t info;

	if (agent_own_signal())
		drop(agent_own_signal());
	if (!agent.config.sample.on || !take_pending(SIGIO, &info))
		return;
	if (info.si_code == SI_KERNEL)
		agent_sample_dropped();
	else
		queue_again(SIGIO, &info);
}

void agent_own_signal_moved(int signo)
{
	agent_tick_moved(signo);
	agent_sample_moved(signo);
}

int agent_own_signal_take(int from)
{
	for (int signo = from ? from : SIGRTMIN; signo <= SIGRTMAX; signo++) {
		const uint64_t bit = bit_of((unsigned)signo);

		if (signo == agent.config.dump ||
		    !agent_signal_take(signo, agent_own_signal_handler, SA_RESTART))
			continue;
		/* The signal mask at the start of this program. */
		pmc_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, sizeof(bit));
		atomic_store(&own, signo);
		return signo;
	}
	return 0;
}

bool agent_own_signal_action(int signo, const struct sigaction *action, struct sigaction *old)
{
	if (signo <= 0 || signo != agent_own_signal() || !agent_active())
		return false;
	if (action && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
		move(signo);
		return false;
	}
	agent_signal_original(signo, old);
	if (action)
		agent_signal_set_original(signo, action);
	return true;
}

/* The mask as given to the kernel. */
static uint64_t keep_own(struct slot *slot, int signo, int how, uint64_t mask)
{
	uint64_t bit = bit_of((unsigned)signo);

	if (how == SIG_UNBLOCK) {
		if (mask & bit_of(slot->blocked))
			slot->blocked = 0;
	} else if ((mask & bit) && is_any(mask)) {
		slot->blocked = (uint8_t)signo;
		mask &= ~bit;
	} else {
		if (how == SIG_SETMASK)
			slot->blocked = 0;
		if (mask & bit) {
			struct sigaction original;

			move(signo);
			agent_signal_original(signo, &original);
			agent_sigaction(signo, &original, NULL);
		}
	}
	return mask;
}

int agent_own_signal_mask(int how, const sigset_t *set, sigset_t *old)
{
	/* libc's own signals, from 32 on, keep their state. */
	const uint64_t internal = bit_of((unsigned)SIGRTMIN) - bit_of(32);
	int signo = agent_own_signal();
	struct slot *slot;
	unsigned was;
	uint64_t mask = 0;
	long error;

	/* libunwind blocks all signals, as they are, and restores the mask: twice for each frame of
	 * a sample, so before any system call. */
	if (agent_unwinding) {
		if (old)
			memset(old, 0xff, sizeof(mask));
		return 0;
	}
	slot = signo && agent_active() ? agent_self : NULL;
	was = slot ? slot->blocked : 0;
	if (set) {
		memcpy(&mask, set, sizeof(mask));
		mask &= ~internal;
	}
	if (set && slot)
		mask = keep_own(slot, signo, how, mask);
	error = pmc_sys4(SYS_rt_sigprocmask, how, set ? &mask : NULL, old, sizeof(mask));
	if (!error && old && hidden(was, old))
		sigaddset(old, (int)was);
	if (slot && slot->blocked != was && !atomic_load(&slot->timer))
		agent_timer_start(slot);
	return (int)-error;
}
