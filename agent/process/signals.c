/* SPDX-License-Identifier: MIT */
/*
 * signals.c - the agent's handlers: final rows at a fatal signal, a snapshot at the dump signal,
 * ticks and samples at its own signal; and what the host sees of them.
 *
 * Contract: the handlers run in any thread at any point, perhaps on the host's signal stack:
 * async-signal-safe, errno restored, less than 1 KiB of stack. Frames are built in a mapping. The
 * process then dies of the signal as it would have without the agent: hardware faults return with
 * SIG_DFL and fault again, sent signals are queued again with their siginfo. The thread returns
 * with that signal alone unblocked: the mask of the interrupted code may block it (sigsuspend), or
 * let another one come first.
 *
 * Masks have all 64 bits, unlike those of libc's sigfillset: a cancellation (SIGCANCEL) would end
 * the thread inside the handler. So a handler must not wait for a thread that may be in setuid,
 * which waits for all threads (SIGSETXID).
 *
 * SIGSEGV and SIGBUS are handled on a thread's alternate stack, for stack overflows, unless a
 * thread has a very small one. The other handlers leave that stack alone: threads may share it, or
 * have unmapped it, or make coroutines on it. But all use it where code runs on small stacks
 * (agent/process/go_code.c).
 */
#include "agent/process/process.h"
#include "agent/base/real.h"

#include <sys/auxv.h>

#include "agent/base/poison.h"

/* All that end a process by default, but SIGKILL, SIGIO (on_unqueued) and those of real time. */
static const int fatal[] = { SIGHUP,  SIGINT,  SIGTERM, SIGQUIT,   SIGILL,  SIGBUS,  SIGFPE,
			     SIGSEGV, SIGABRT, SIGSYS,	SIGXCPU,   SIGXFSZ, SIGPIPE, SIGALRM,
			     SIGUSR1, SIGUSR2, SIGTRAP, SIGVTALRM, SIGPROF, SIGPWR,  SIGSTKFLT };

static bool ours[_NSIG]; /* the agent has a handler unless the host has one */
AGENT_ROOMY static struct {
	/* The action that the host sees: SIG_DFL, with flags and mask. */
	struct sigaction original;
	/* The host's handler that on_once stands for, and whether it has not run yet. */
	struct sigaction once;
	_Atomic bool armed;
} table[_NSIG];

/* Keeps an action that the host has set, with the flag that libc adds. */
static void keep(struct sigaction *kept, const struct sigaction *action)
{
	*kept = *action;
#ifdef __x86_64__
	kept->sa_flags |= 0x04000000; /* SA_RESTORER */
#endif
}

/* Whether the agent handles fatal signals: not in init, nor under a filter that kills for it. */
static bool fatal_wanted;

static bool is_wanted(int signo)
{
	for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (fatal[i] == signo)
			return fatal_wanted && signo != agent.config.dump;
	return false;
}

static uint64_t bit_of(unsigned signo)
{
	return signo ? 1ull << (signo - 1) : 0;
}

static bool take_pending(int signo, siginfo_t *info)
{
	const uint64_t set = bit_of((unsigned)signo);
	const struct timespec zero = { 0, 0 };

	return pmc_sys4(SYS_rt_sigtimedwait, &set, info, &zero, sizeof(set)) == signo;
}

/* Sends the signal again: to this thread, which gets it after the handler, or to the process if a
 * filter forbids that. */
static bool queue_again(int signo, siginfo_t *info)
{
	const long pid = syscall(SYS_getpid), tid = syscall(SYS_gettid);

	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, signo, info) == 0 ||
	       (pid > 0 && syscall(SYS_rt_sigqueueinfo, pid, signo, info) == 0);
}

/* The mask of the thread when the handler returns. The kernel's: libc's type is longer. */
static void leave_unblocked(int signo, ucontext_t *context)
{
	const uint64_t mask = ~bit_of((unsigned)signo);

	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
}

static void on_fatal(int signo, siginfo_t *info, void *context);

/* The signal of which the process dies. Of two that wait for a thread the kernel delivers the one
 * with the lower number first; without a handler the process dies of the one that was sent first.
 * Whoever sends both, as systemd does (SendSIGHUP), sends SIGTERM before SIGHUP. Not inlined, for a
 * small signal stack. */
__attribute__((noinline)) static int sent_first(int signo, siginfo_t *info,
						const ucontext_t *context)
{
	struct sigaction now;

	if (signo != SIGHUP || info->si_code != SI_USER || agent_is_filtered() ||
	    sigismember(&context->uc_sigmask, SIGTERM) ||
	    agent_sigaction(SIGTERM, NULL, &now) != 0 || now.sa_sigaction != on_fatal)
		return signo;
	return take_pending(SIGTERM, info) ? SIGTERM : signo;
}

#ifndef SEGV_MTEAERR /* Linux 5.10 */
#define SEGV_MTEAERR 8
#endif

/* Hardware faults are raised again on return, but for asynchronous ones. */
static bool recurs(int signo, int code)
{
	if (signo == SIGBUS)
		return code > 0 && code != BUS_MCEERR_AO;
	if (signo == SIGSEGV)
		return code > 0 && code != SEGV_MTEAERR;
	return code > 0 && (signo == SIGILL || signo == SIGFPE);
}

static void on_fatal(int signo, siginfo_t *info, void *context)
{
	const bool fault = recurs(signo, info->si_code);
	int saved = errno;

	signo = sent_first(signo, info, context);
	agent_leave(PMC_ENDED_SIGNAL, signo);
	/* The program must not survive a seccomp filter that forbids these calls. */
	if (!agent_sigdefault(signo) || (!fault && !queue_again(signo, info)))
		syscall(SYS_exit_group, 128 + signo);
	/* The kernel sends the init of a PID namespace no signal without a handler: it lives on. */
	if (pmc_sys1(SYS_getpid, 0) != 1)
		leave_unblocked(signo, context);
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

/* The stack of a handler on top of the kernel's frame. */
#define HANDLER_BYTES 1024u

static _Atomic bool small_stack;  /* a thread has an alternate stack without room for a handler */
static _Atomic bool all_on_stack; /* all handlers use alternate stacks */

static int stack_flag(int signo)
{
	if (atomic_load(&all_on_stack))
		return SA_ONSTACK;
	return (signo == SIGSEGV || signo == SIGBUS) && !atomic_load(&small_stack) ? SA_ONSTACK : 0;
}

static void install(int signo, void (*handler)(int, siginfo_t *, void *), int flags,
		    struct sigaction *old)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO | stack_flag(signo) | flags };

	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	if (agent_sigaction(signo, &action, old) == 0)
		ours[signo] = true;
}

/* In place of a handler with SA_RESETHAND, which the kernel would replace by SIG_DFL unseen. The
 * mask is that of the host's handler. */
static void on_once(int signo, siginfo_t *info, void *context)
{
	void (*handler)(int, siginfo_t *, void *) = table[signo].once.sa_sigaction;
	const bool active = agent_active();
	int saved = errno;

	/* The second time this is the default action. */
	if (active && !atomic_exchange(&table[signo].armed, false)) {
		agent_mask_set(UINT64_MAX); /* as in on_fatal's own mask */
		on_fatal(signo, info, context);
		return;
	}
	/* In a child of vfork the table is the parent's. */
	if (!active)
		agent_sigdefault(signo);
	errno = saved;
	handler(signo, info, context);
}

static bool is_once(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_once;
}

/* Whether the agent must see that a handler with SA_RESETHAND has run: the program may die of the
 * signal from then on. */
static bool wants_once(int signo, const struct sigaction *action)
{
	return (action->sa_flags & (int)SA_RESETHAND) && action->sa_handler != SIG_DFL &&
	       action->sa_handler != SIG_IGN && is_wanted(signo) && agent_active();
}

__attribute__((cold)) static void install_once(int signo, const struct sigaction *action,
					       struct sigaction *instead)
{
	*instead = *action;
	instead->sa_flags = (action->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	instead->sa_sigaction = on_once;
	keep(&table[signo].once, action);
	table[signo].original = table[signo].once;
	table[signo].original.sa_handler = SIG_DFL;
	atomic_store(&table[signo].armed, true);
}

/* Handles a fatal signal where its action is SIG_DFL, with one system call. All signals are
 * blocked: one that the host ignores is not handled before its action is put back, and then the
 * kernel drops it. */
static void take_fatal(int signo)
{
	static const struct sigaction plain;
	struct sigaction was;

	install(signo, on_fatal, 0, &was);
	if (!ours[signo])
		return;
	if (was.sa_handler != SIG_DFL) {
		ours[signo] = false;
		agent_sigaction(signo, &was, NULL);
	} else if (memcmp(&was, &plain, sizeof(was)) != 0) {
		/* Else the page of the table stays untouched. */
		table[signo].original = was;
	}
}

/* Installs a handler where the action is SIG_DFL; false: it is not. */
static bool take_default(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction now;

	if (agent_sigaction(signo, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
		return false;
	table[signo].original = now;
	install(signo, handler, flags, NULL);
	return ours[signo];
}

/* ---- the agent's own signal -------------------------------------------------------------------
 *
 * Its timers and sampling events send it. It is the lowest real-time signal with the default
 * action: Go replaces the handlers of higher ones. The host sees the default action, and the masks
 * that it has set. If it installs a handler or blocks this very signal, the agent takes another
 * number. A thread that blocks all signals has this one unblocked all the same: it would have no
 * ticks. Should somebody else send it there, it is blocked and queued again, and the agent takes
 * another number, too. Other threads that block all signals go on with the former number, whose
 * handler stays, until they get it from somebody else or change their mask.
 */

/* Of a thread: two overflows, a tick. */
#define MOST_PENDING 3

static _Atomic int own;		/* 0: none */
static _Atomic uint64_t former; /* numbers before it whose handler is still the agent's */
static _Atomic uint64_t left;	/* numbers from which a thread has begun to move */
static _Atomic uint64_t in_use; /* blocked in particular by a thread of the host, once */

int agent_own_signal(void)
{
	return atomic_load_explicit(&own, memory_order_relaxed);
}

int agent_own_signal_of(const struct slot *slot)
{
	const int signo = agent_own_signal();

	if (!slot->blocked || slot->blocked == signo)
		return signo;
	return atomic_load(&former) & bit_of(slot->blocked) ? slot->blocked : 0;
}

static bool is_of_agent(int signo)
{
	return signo > 0 && signo <= SIGRTMAX &&
	       (signo == agent_own_signal() || atomic_load(&former) & bit_of((unsigned)signo));
}

/* Whether the set has most real-time signals: then the host does not mean this particular one. */
static bool is_any(uint64_t mask)
{
	return __builtin_popcountll(mask >> (SIGRTMIN - 1)) > (SIGRTMAX - SIGRTMIN) / 2;
}

/* The host's mask of a thread that has this one in the kernel and hides this number. The host may
 * have changed the mask by its own system calls. */
static uint64_t host_mask(unsigned blocked, uint64_t mask)
{
	const uint64_t with = mask | bit_of(blocked);

	return is_any(with) ? with : mask;
}

__attribute__((cold)) static void send_again(int signo, siginfo_t *info)
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

/* Signals of the agent's timers and events that are pending in the calling thread. True: of the
 * sampling event. */
static bool drop(int signo)
{
	siginfo_t others[MOST_PENDING];
	unsigned n = 0;
	bool dropped = false;

	for (unsigned i = 0; i < MOST_PENDING && take_pending(signo, &others[n]); i++)
		if (is_overflow(&others[n])) {
			agent_sample_dropped();
			dropped = true;
		} else {
			n += !is_tick(&others[n]);
		}
	for (unsigned i = 0; i < n; i++)
		send_again(signo, &others[i]);
	return dropped;
}

/* The host uses this number: the agent takes the next free one. stays: its handler does. */
__attribute__((cold)) static void move(int from, bool stays)
{
	const uint64_t bit = bit_of((unsigned)from);
	int signo = agent_own_signal();

	if (signo == from && !(atomic_fetch_or(&left, bit) & bit)) {
		if (stays)
			atomic_fetch_or(&former, bit);
		signo = agent_own_signal_take(from + 1);
	} else if (!stays && atomic_fetch_and(&former, ~bit) & bit) {
		signo = agent_own_signal();
	} else {
		return;
	}
	agent_tick_moved(signo);
	agent_sample_moved(signo);
}

/* The kernel's mask of the calling thread for this one of the host. */
static uint64_t follow(uint64_t mask)
{
	const int signo = agent_own_signal();
	const uint64_t bit = is_any(mask) ? mask & bit_of((unsigned)signo) : 0;

	agent_self->blocked = (uint8_t)(bit ? signo : 0);
	return mask & ~bit;
}

/* The calling thread's timer and event, after that. from: its number before. */
static void switch_number(int from)
{
	agent_timer_switch(agent_self);
	agent_sample_route(agent_self);
	if (drop(from))
		agent_sample_enable(agent_self);
}

/* The host has this mask. */
static void note_in_use(uint64_t mask)
{
	mask &= ~(bit_of((unsigned)SIGRTMIN) - 1);
	if (mask & ~atomic_load_explicit(&in_use, memory_order_relaxed) && !is_any(mask))
		atomic_fetch_or(&in_use, mask);
}

/* The host blocks the agent's number in particular. The next one may be in its mask, too. */
__attribute__((cold)) static void give_way(uint64_t mask)
{
	int signo, last = 0;

	note_in_use(mask);
	/* Not if another thread is about to move from it. */
	while ((signo = agent_own_signal()) != last && mask & bit_of((unsigned)signo)) {
		const bool stays = table[signo].original.sa_handler != SIG_IGN;

		move(signo, stays);
		if (!stays)
			agent_sigaction(signo, &table[signo].original, NULL);
		last = signo;
	}
}

/* Changes the host's mask of the calling thread as sigprocmask does, or not (NULL), and makes the
 * thread use the agent's present number. from: the one before, unless it hides one. Returns the
 * host's mask before. Signals are blocked: a handler may change the mask and the number. */
static uint64_t change_mask(int from, int how, const uint64_t *set)
{
	const uint64_t kernel = agent_mask_set(UINT64_MAX);
	const uint64_t before = host_mask(agent_self->blocked, kernel);
	uint64_t host = before, mask;
	int signo;

	if (agent_self->blocked)
		from = agent_self->blocked;
	if (set)
		host = how == SIG_BLOCK	  ? before | *set :
		       how == SIG_UNBLOCK ? before & ~*set :
					    *set;
	if (!is_any(host))
		give_way(host);
	/* Other threads may change the number meanwhile. */
	while (mask = follow(host), (signo = agent_own_signal()) != from) {
		switch_number(from);
		from = signo;
	}
	agent_mask_set(mask);
	return before;
}

__attribute__((cold)) static void come_from_others(int signo, siginfo_t *info, ucontext_t *context)
{
	uint64_t mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	/* A thread that starts or ends may hide it, too. */
	mask = host_mask(agent_self ? agent_self->blocked : (unsigned)signo, mask);
	if (mask & bit_of((unsigned)signo)) {
		move(signo, true);
		if (agent_self) {
			mask = follow(mask);
			switch_number(signo);
		}
		memcpy(&context->uc_sigmask, &mask, sizeof(mask));
		send_again(signo, info);
		return;
	}
	if (table[signo].original.sa_handler != SIG_IGN)
		on_fatal(signo, info, context);
}

static void on_own(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (is_tick(info))
		agent_tick_signal(context);
	else if (is_overflow(info))
		agent_sample_signal(info->si_code == POLL_HUP, context);
	else
		come_from_others(signo, info, context);
	errno = saved;
}

/* The kernel's SIGIO says nothing of its event; that of a descriptor of the host looks the same. */
static void on_unqueued(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code == SI_KERNEL)
		agent_sample_signal(true, context);
	else
		on_fatal(signo, info, context);
	errno = saved;
}

__attribute__((cold)) void agent_own_signal_take_unqueued(void)
{
	/* Init does not die of it. */
	if (agent.pid != 1 && agent.config.dump != SIGIO)
		take_default(SIGIO, on_unqueued, SA_RESTART);
}

void agent_own_signal_drop(void)
{
	const int signo = agent_self ? agent_own_signal_of(agent_self) : agent_own_signal();
	siginfo_t info;

	if (signo)
		drop(signo);
	if (!agent.config.sample.on || !take_pending(SIGIO, &info))
		return;
	if (info.si_code == SI_KERNEL)
		agent_sample_dropped();
	else
		send_again(SIGIO, &info);
}

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	return mask;
}

int agent_own_signal_take(int from)
{
	/* The main thread may have blocked some before the exec. */
	if (!from)
		note_in_use(mask_now());
	for (int signo = from ? from : SIGRTMIN; signo <= SIGRTMAX; signo++) {
		if (signo == agent.config.dump || atomic_load(&in_use) & bit_of((unsigned)signo) ||
		    !take_default(signo, on_own, SA_RESTART))
			continue;
		atomic_store(&own, signo);
		if (!from && agent_self)
			change_mask(signo, SIG_BLOCK, NULL);
		return signo;
	}
	atomic_store(&own, 0);
	return 0;
}

/* The agent's signal if the host has it blocked in the calling thread, but the kernel has not. */
static bool hidden_now(uint64_t *bit)
{
	*bit = bit_of(agent_self ? agent_self->blocked : 0);
	return *bit && is_any(mask_now() | *bit);
}

/* Whether the host ignores it, and the agent has or had a handler for it. */
static bool is_ignored(int signo)
{
	return is_of_agent(signo) && table[signo].original.sa_handler == SIG_IGN;
}

__attribute__((noinline)) void agent_own_signal_show(void)
{
	struct sigaction now;
	uint64_t bit;

	/* A vfork child may have set its own action. */
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		if (is_ignored(signo) && agent_sigaction(signo, NULL, &now) == 0 &&
		    now.sa_sigaction == on_own)
			agent_sigaction(signo, &table[signo].original, NULL);
	if (hidden_now(&bit))
		pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, sizeof(bit));
}

__attribute__((noinline)) void agent_own_signal_hide(void)
{
	uint64_t bit;

	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		if (is_ignored(signo))
			install(signo, on_own, SA_RESTART, NULL);
	if (hidden_now(&bit))
		pmc_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, sizeof(bit));
}

bool agent_own_signal_action(int signo, const struct sigaction *action, struct sigaction *old)
{
	if (!is_of_agent(signo) || !agent_active())
		return false;
	if (action && action->sa_handler != SIG_DFL &&
	    (action->sa_handler != SIG_IGN || signo != agent_own_signal())) {
		move(signo, false);
		if (agent_self)
			change_mask(signo, SIG_BLOCK, NULL);
		return false;
	}
	*old = table[signo].original;
	if (action)
		keep(&table[signo].original, action);
	return true;
}

long agent_own_signal_call(int signo, const void *action, void *old, size_t bytes)
{
	const struct agent_kernel_action *given = action;
	struct sigaction was, host = { .sa_flags = 0 };
	long error;

	/* The kernel refuses what cannot be read, which it tries before it refuses SIGKILL, and
	 * another size. */
	if (!is_of_agent(signo) || bytes != sizeof(uint64_t) ||
	    (action && pmc_sys4(SYS_rt_sigaction, SIGKILL, action, NULL, bytes) == -EFAULT))
		return AGENT_NOT_OWN;
	if (given) {
		host.sa_handler = given->handler;
		host.sa_flags = (int)given->flags;
		memcpy(&host.sa_mask, &given->mask, sizeof(given->mask));
	}
	if (!agent_own_signal_action(signo, action ? &host : NULL, &was))
		return AGENT_NOT_OWN;
	if (action) /* without the flag that libc adds */
		table[signo].original = host;
	/* The kernel fills it with its own action if it can be written. */
	error = old ? pmc_sys4(SYS_rt_sigaction, signo, NULL, old, bytes) : 0;
	if (old && !error) {
		struct agent_kernel_action *shown = old;

		shown->handler = was.sa_handler;
		shown->flags = (unsigned)was.sa_flags;
		memcpy(&shown->mask, &was.sa_mask, sizeof(shown->mask));
	}
	return error;
}

/* Whether a change of the mask may concern the agent's number. */
static bool is_concerned(const struct slot *slot, int how, const uint64_t *set)
{
	const int signo = agent_own_signal();

	return slot->blocked || (signo && set && how != SIG_UNBLOCK &&
				 (is_any(*set) || *set & bit_of((unsigned)signo)));
}

void agent_own_signal_begin(void)
{
	const struct slot *slot = agent_self;

	/* A forked child gets its mask back after this: its thread keeps the former number. */
	if (slot->blocked && slot->blocked != agent_own_signal() &&
	    !(slot->flags & PMC_THREAD_MAIN))
		change_mask(slot->blocked, SIG_BLOCK, NULL);
}

int agent_own_signal_mask(int how, const sigset_t *set, sigset_t *old)
{
	/* libc's own signals, from 32 on, keep their state. */
	const uint64_t internal = bit_of((unsigned)SIGRTMIN) - bit_of(32);
	uint64_t mask = 0, *given = set ? &mask : NULL;

	/* libunwind blocks all signals, as they are, and restores the mask: twice for each frame of
	 * a sample, so before any system call. */
	if (agent_unwinding) {
		if (old)
			memset(old, 0xff, sizeof(mask));
		return 0;
	}
	if (set) {
		if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)
			return EINVAL;
		memcpy(&mask, set, sizeof(mask));
		mask &= ~internal;
		if (how != SIG_UNBLOCK)
			note_in_use(mask);
	}
	/* A forked child gets its slot by agent_active. */
	if (!agent_self || !is_concerned(agent_self, how, given) || !agent_active() || !agent_self)
		return (int)-pmc_sys4(SYS_rt_sigprocmask, how, given, old, sizeof(mask));
	mask = change_mask(agent_own_signal(), how, given);
	if (old)
		memcpy(old, &mask, sizeof(mask));
	return 0;
}

/* ---- actions of the host ---------------------------------------------------------------- */

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) &&
	       (action->sa_sigaction == on_fatal || action->sa_sigaction == on_dump ||
		action->sa_sigaction == on_own || action->sa_sigaction == on_unqueued);
}

__attribute__((cold)) static void renew_stack_flags(void)
{
	for (int signo = 1; signo < _NSIG; signo++) {
		struct sigaction action, was;

		if (!ours[signo] || agent_sigaction(signo, NULL, &action) != 0 || !is_ours(&action))
			continue;
		action.sa_flags = (action.sa_flags & ~SA_ONSTACK) | stack_flag(signo);
		/* Another thread may have installed a handler in between. */
		if (agent_sigaction(signo, &action, &was) == 0 && !is_ours(&was))
			agent_sigaction(signo, &was, NULL);
	}
}

/* One of those above holds from here on. */
__attribute__((cold)) static void learn(_Atomic bool *fact)
{
	if (!atomic_exchange(fact, true))
		renew_stack_flags();
}

void agent_signal_stack(const stack_t *stack)
{
	const size_t frame = getauxval(AT_MINSIGSTKSZ);

	/* Kernels that do not say: AVX-512 takes 3.4 KiB. */
	if (!(stack->ss_flags & SS_DISABLE) &&
	    stack->ss_size < (frame ? frame : 4096) + HANDLER_BYTES)
		learn(&small_stack);
}

void agent_signal_go_code(void)
{
	learn(&all_on_stack);
}

__attribute__((cold)) void agent_signals_init(void)
{
	int dump = agent.config.dump;
	uint64_t mask;

	/* The kernel drops fatal signals to init that have no handler; with one they would arrive.
	 */
	fatal_wanted = agent.pid != 1;
	all_on_stack = agent_has_small_stacks();
	mask = agent_mask_set(UINT64_MAX);
	for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]) && fatal_wanted; i++)
		if (fatal[i] != dump)
			take_fatal(fatal[i]);
	agent_mask_set(mask);
	if (!dump)
		return;
	take_default(dump, on_dump, SA_RESTART);
	if (!ours[dump])
		agent_note(NOTE_DUMP_SIGNAL);
	pmc_agent_control.dump_signal = ours[dump] ? dump : 0;
}

/* Replaces the kernel's action by what the host must see. */
static void show_visible(int signo, struct sigaction *action)
{
	if (is_once(action) && atomic_load(&table[signo].armed))
		*action = table[signo].once;
	else if (is_once(action) || is_ours(action))
		*action = table[signo].original;
}

bool agent_signal_forget(int signo)
{
	struct sigaction now;

	if (agent_sigaction(signo, NULL, &now) != 0 ||
	    !(is_ours(&now) || (is_once(&now) && !atomic_load(&table[signo].armed))))
		return false;
	agent_sigdefault(signo);
	return true;
}

__attribute__((cold)) void agent_signals_forget(void)
{
	struct sigaction now;

	fatal_wanted = false;
	for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		const int signo = fatal[i];

		if (signo == agent.config.dump || agent_sigaction(signo, NULL, &now) != 0)
			continue;
		ours[signo] = false;
		if (is_once(&now) && atomic_load(&table[signo].armed))
			agent_sigaction(signo, &table[signo].once, NULL);
		else
			agent_signal_forget(signo);
	}
}

/* The host has set SIG_DFL by this action: installs the agent's handler, if it has one for it. */
__attribute__((cold)) static void restore(int signo, const struct sigaction *action)
{
	if (signo <= 0 || signo >= _NSIG || !(ours[signo] || is_wanted(signo)))
		return;
	keep(&table[signo].original, action);
	if (signo == agent.config.dump)
		install(signo, on_dump, SA_RESTART, NULL);
	else if (signo == SIGIO)
		install(signo, on_unqueued, SA_RESTART, NULL);
	else if (signo < SIGRTMIN)
		install(signo, on_fatal, 0, NULL);
}

static void changed(int signo, const struct sigaction *action)
{
	/* A vfork child has dispositions of its own, which stay as they are. */
	if (!agent_active())
		return;
	if (action->sa_handler == SIG_DFL) { /* with any flags */
		restore(signo, action);
	} else if (signo == agent.config.dump && pmc_agent_control.dump_signal) {
		pmc_agent_control.dump_signal = 0;
		agent_note(NOTE_DUMP_SIGNAL);
	}
}

__attribute__((cold)) static int set_action(int signo, const struct sigaction *action,
					    struct sigaction *was)
{
	struct sigaction once;
	int result;

	if (!action || !wants_once(signo, action)) {
		result = REAL(sigaction)(signo, action, was);
		if (result == 0)
			show_visible(signo, was);
		return result;
	}
	REAL(sigaction)(signo, NULL, was);
	show_visible(signo, was);
	install_once(signo, action, &once);
	return REAL(sigaction)(signo, &once, NULL);
}

int agent_signal_action(int signo, const struct sigaction *action, struct sigaction *old)
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

void agent_signal_changed(int signo, const struct sigaction *action, struct sigaction *was)
{
	int saved = errno;

	show_visible(signo, was);
	changed(signo, action);
	errno = saved;
}

__attribute__((cold)) void agent_signal_restarts(int signo, bool restarts)
{
	struct sigaction now, *shown = &table[signo].original;

	if (agent_sigaction(signo, NULL, &now) != 0 || !(is_ours(&now) || is_once(&now)))
		return;
	if (is_once(&now) && atomic_load(&table[signo].armed))
		shown = &table[signo].once;
	shown->sa_flags = (shown->sa_flags & ~SA_RESTART) | (restarts ? SA_RESTART : 0);
	keep(shown, shown);
	/* No system call is interrupted by a handler of the agent. */
	now.sa_flags |= SA_RESTART;
	if (is_ours(&now))
		agent_sigaction(signo, &now, NULL);
}
