/* SPDX-License-Identifier: MIT */
/*
 * fdspace.c - numbers of the agent's descriptors, and their share of the host's limit.
 *
 * If the hard limit is above the soft one, and that is at most 8,192, they lie at or above the
 * host's soft limit, so that the host keeps all of its numbers and its own EMFILE: while an event
 * moves there the limit is raised. Otherwise they start at min(soft/2, 1024) and take at most a
 * quarter of the limit (an eighth below 256), or all but 8,192 of a large one. Never higher: the
 * kernel copies the descriptor table at every fork. The place is chosen again when the host changes
 * its limit; descriptors that are open keep their numbers.
 *
 * Descriptors are opened in windows. Calls of the host that must not come in one (a fork, whose
 * child could not tell which descriptors are copies of the agent's; a dup2 to a number that an
 * event has for a moment; setrlimit) hold them shut. Such a call may block, in libc's locks, a FIFO
 * or a socket that lingers, or never return, by a cancellation or a jump: after HOLD_NS its hold
 * expires. No lock is taken in it.
 */
#include "agent/base/agent.h"

#include <linux/futex.h>
#include <sched.h>

#define HIGHEST_BASE 8192u
#define LEAVE_HOST   8192u
#define SMALL	     256u
/* More than system() needs to start its child. */
#define QUIET_NS    5000000u
#define PATIENCE_NS 20000000u
#define HOLD_NS	    20000000u
/* An exec ends the threads that wait for it. */
#define EXEC_NS	    2000000000u
#define ONE_CLOSING (1ull << 32)
#define YIELDS	    100u
#define OPEN_TRIES  8u
/* A host that has fewer numbers left gets them all: the limit is not raised beside its opens, which
 * would have numbers above it. */
#define HEADROOM 64u
/* Most windows at a time, but for threads that have waited long. Each has one of the host's numbers
 * for a moment, or longer where its thread waits for a CPU. */
#define MOST_WINDOWS 64u

static struct {
	struct rlimit host;
	bool windowed;
	unsigned base, share;
	_Atomic uint64_t used;	  /* plus ONE_CLOSING for each thread that closes now */
	_Atomic uint32_t lock;	  /* 0 free, 1 held, 2 held and waited for; for microseconds */
	_Atomic unsigned windows; /* open ones */
	unsigned raised;	  /* those that have raised the limit; under the lock */
	_Atomic uint64_t holds;	  /* number of holds; from HOLDS_EPOCH on, how often they expired */
	_Atomic uint64_t held_ns; /* time of the newest one */
	_Atomic bool execs;	  /* one of them is of an exec */
	_Atomic uint64_t quiet_until; /* no window may open before */
	_Atomic unsigned late;	      /* threads that have waited too long for that */
} fds;

/* The agent's numbers, one bit each. Only touched pages take memory: the dump of most processes has
 * a low number. */
#define MOST_FDS (1u << 21)
#define LOW_FDS	 2048u
static _Atomic uint64_t low[LOW_FDS / 64];
AGENT_ROOMY static _Atomic uint64_t all[MOST_FDS / 64];
_Atomic int agent_fds_highest = -1;

_Atomic unsigned agent_fds_users;

static bool try_lock(void)
{
	uint32_t expected = 0;

	return atomic_compare_exchange_strong(&fds.lock, &expected, 1);
}

static void lock(void)
{
	if (try_lock())
		return;
	/* Not syscall(): a thread starts here, and its errno must stay 0. */
	while (atomic_exchange(&fds.lock, 2) != 0)
		pmc_sys4(SYS_futex, &fds.lock, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static void unlock(void)
{
	if (atomic_exchange(&fds.lock, 0) == 2)
		pmc_sys3(SYS_futex, &fds.lock, FUTEX_WAKE_PRIVATE, 1);
}

void agent_fds_limited(rlim_t soft, rlim_t hard)
{
	fds.host = (struct rlimit){ soft, hard };
	if (soft > 1u << 30)
		soft = 1u << 30;
	if (hard > 1u << 30)
		hard = 1u << 30;
	fds.windowed = hard > soft && soft <= HIGHEST_BASE;
	if (fds.windowed) {
		/* Not among the numbers that the host has in use, however low its limit is. */
		if (fds.base < soft || fds.base >= hard || fds.base > HIGHEST_BASE)
			fds.base = (unsigned)(soft > 3 ? soft : 3);
		fds.share = hard > fds.base ? (unsigned)(hard - fds.base) : 0;
		return;
	}
	/* Higher numbers, of a host that raises its limit, would make the table grow. */
	if (!fds.base || fds.base > soft / 2)
		fds.base = (unsigned)(soft / 2 < 1024 ? soft / 2 : 1024);
	fds.share = (unsigned)(soft / (soft < SMALL ? 8 : 4));
	if (soft > LEAVE_HOST && soft - LEAVE_HOST > fds.share)
		fds.share = (unsigned)(soft - LEAVE_HOST);
}

void agent_fds_init(void)
{
	struct rlimit now = { 1024, 1024 };

	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now);
	agent_fds_limited(now.rlim_cur, now.rlim_max);
}

bool agent_fds_take(unsigned n)
{
	uint64_t used = atomic_load_explicit(&fds.used, memory_order_relaxed);

	do {
		if ((uint32_t)used + n > fds.share)
			return false;
	} while (!atomic_compare_exchange_weak(&fds.used, &used, used + n));
	return true;
}

static void set_soft(rlim_t soft)
{
	struct rlimit limit = { soft, fds.host.rlim_max };

	pmc_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

void agent_fds_forbid(bool forbid)
{
	set_soft(forbid ? 0 : fds.host.rlim_cur);
}

#define HOLDS_EPOCH (UINT64_C(1) << 32)

/* Whether windows are held shut, since that time or the newest hold. Holds that have expired are
 * let go: their calls block, or do not return. */
__attribute__((noinline, cold)) static bool is_held_since(uint64_t since_ns)
{
	const uint64_t most = atomic_load(&fds.execs) ? EXEC_NS : HOLD_NS;
	uint64_t holds = atomic_load(&fds.holds);

	if ((uint32_t)holds && pmc_now_ns() - since_ns <= most)
		return true;
	if ((uint32_t)holds)
		atomic_compare_exchange_strong(&fds.holds, &holds,
					       (holds / HOLDS_EPOCH + 1) * HOLDS_EPOCH);
	return false;
}

static bool are_held(void)
{
	return (uint32_t)atomic_load(&fds.holds) && is_held_since(atomic_load(&fds.held_ns));
}

/* Bounded, however many holds follow each other: this may be a handler that interrupted one. */
__attribute__((noinline, cold)) static void wait_for_holds(void)
{
	const uint64_t start = pmc_now_ns();

	for (unsigned i = 0; are_held() && is_held_since(start); i++)
		pmc_wait_between(i);
}

/* In a handler the interrupted code may be in one of them. */
__attribute__((noinline, cold)) static void wait_for_windows(void)
{
	for (unsigned i = 0; i < AGENT_PATIENCE && atomic_load(&fds.windows) >= MOST_WINDOWS; i++)
		pmc_wait_between(i);
}

/* Whether it has waited so long that other threads wait for it to open its window. */
__attribute__((noinline, cold)) static bool wait_to_open(void)
{
	const uint64_t latest = pmc_now_ns() + PATIENCE_NS;
	bool late = false;
	uint64_t now;

	while ((now = pmc_now_ns()) <
	       atomic_load_explicit(&fds.quiet_until, memory_order_relaxed)) {
		if (!late && now >= latest) {
			late = true;
			atomic_fetch_add(&fds.late, 1);
		}
		sched_yield();
	}
	return late;
}

__attribute__((noinline, cold)) static void wait_to_close(void)
{
	while (are_held()) {
		atomic_fetch_sub(&fds.used, ONE_CLOSING);
		wait_for_holds();
		atomic_fetch_add(&fds.used, ONE_CLOSING);
	}
}

/* What this thread does now, perhaps interrupted by a signal: its handler does not wait for it. */
static __thread unsigned doing;
static __thread bool raising; /* its window has raised the limit */

int agent_fds_window_open(void)
{
	bool late = false;

	doing++;
	/* 0 in most programs, which then read no clock. */
	if (atomic_load_explicit(&fds.quiet_until, memory_order_relaxed))
		late = wait_to_open();
	if (doing == 1 && atomic_load(&fds.windows) >= MOST_WINDOWS)
		wait_for_windows();
	/* Either this sees a hold, or that call sees the window. */
	atomic_fetch_add(&fds.windows, 1);
	for (unsigned i = 0; i < OPEN_TRIES && are_held(); i++) {
		atomic_fetch_sub(&fds.windows, 1);
		wait_for_holds();
		atomic_fetch_add(&fds.windows, 1);
	}
	if (late)
		atomic_fetch_sub(&fds.late, 1);
	return (int)fds.base;
}

bool agent_fds_raise(int fd)
{
	const rlim_t soft = fds.host.rlim_cur;

	if (!fds.windowed || raising)
		return true;
	if (fd >= 0 && (rlim_t)fd + (soft / 8 < HEADROOM ? soft / 8 : HEADROOM) >= soft)
		return false;
	lock();
	raising = true;
	if (fds.raised++ == 0) {
		/* The host may have changed its limit. */
		pmc_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &fds.host);
		set_soft(fds.host.rlim_max);
	}
	unlock();
	return true;
}

void agent_fds_window_close(void)
{
	/* First the limit: a child that is cloned in between finds the window open, and sets its
	 * own. */
	if (raising) {
		lock();
		if (fds.raised == 1)
			set_soft(fds.host.rlim_cur);
		fds.raised -= fds.raised > 0;
		unlock();
	}
	raising = false;
	/* The numbers are 0 in the child of a fork in a handler. */
	if (agent_fds_opening())
		atomic_fetch_sub(&fds.windows, 1);
	doing--;
}

bool agent_fds_opening(void)
{
	return atomic_load_explicit(&fds.windows, memory_order_relaxed) != 0;
}

uint64_t agent_fds_hold(void)
{
	uint64_t held;

	if (doing)
		return 0;
	atomic_store(&fds.held_ns, pmc_now_ns());
	held = atomic_fetch_add(&fds.holds, 1) + 1;
	/* A window lasts microseconds, or as long as its thread waits for a CPU. */
	for (unsigned i = 0; i < AGENT_PATIENCE; i++) {
		if (!atomic_load(&fds.windows) && atomic_load(&fds.used) < ONE_CLOSING)
			return held;
		pmc_wait_between(i);
	}
	agent_fds_let(held);
	return 0;
}

uint64_t agent_fds_hold_for_exec(void)
{
	const uint64_t held = agent_fds_hold();

	if (held)
		atomic_store(&fds.execs, true);
	return held;
}

bool agent_fds_busy(void)
{
	return atomic_load(&fds.lock) || are_held();
}

void agent_fds_let(uint64_t held)
{
	uint64_t now = atomic_load(&fds.holds);

	if (!held)
		return;
	atomic_store(&fds.execs, false);
	/* Unless it has expired. */
	while (now / HOLDS_EPOCH == held / HOLDS_EPOCH && (uint32_t)now &&
	       !atomic_compare_exchange_weak(&fds.holds, &now, now - 1))
		;
}

void agent_fds_moved(void)
{
	for (unsigned i = 0; atomic_load(&agent_fds_users) && i < AGENT_PATIENCE; i++)
		pmc_wait_between(i);
}

void agent_fds_quiet(void)
{
	if (!fds.windowed)
		return;
	/* Otherwise calls that follow one another would put it off for ever. */
	for (unsigned i = 0; atomic_load(&fds.late) && !doing && i < AGENT_PATIENCE; i++)
		pmc_wait_between(i);
	atomic_store(&fds.quiet_until, pmc_now_ns() + QUIET_NS);
}

__thread bool agent_fds_child_limited;

void agent_fds_exec_child(void)
{
	const bool own = agent_fds_child_limited;
	struct rlimit now;

	agent_fds_child_limited = false;
	if (own)
		return;
	/* A vfork child has a limit of its own, which it must not keep as a window of another
	 * thread raised it, at its exec or before. */
	if (fds.windowed && pmc_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now) == 0 &&
	    now.rlim_cur == fds.host.rlim_max)
		set_soft(fds.host.rlim_cur);
}

static _Atomic uint64_t *word_of(int fd)
{
	const unsigned number = (unsigned)fd;

	return number < LOW_FDS ? &low[number / 64] : number < MOST_FDS ? &all[number / 64] : NULL;
}

static uint64_t bit_of(int fd)
{
	return 1ull << ((unsigned)fd % 64);
}

void agent_fds_mark(const int *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		_Atomic uint64_t *word = word_of(list[i]);
		int top = atomic_load_explicit(&agent_fds_highest, memory_order_relaxed);

		if (!word)
			continue;
		atomic_fetch_or(word, bit_of(list[i]));
		while (top < list[i] &&
		       !atomic_compare_exchange_weak(&agent_fds_highest, &top, list[i]))
			;
	}
}

void agent_fds_unmark(const int *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		_Atomic uint64_t *word = word_of(list[i]);

		if (word)
			atomic_fetch_and(word, ~bit_of(list[i]));
	}
}

int agent_groups_open(const struct pmc_plan *plan, unsigned from, unsigned to,
		      struct pmc_perf_target target, int *list, uint64_t *ids)
{
	int error = 0;

	target.move_to = agent_fds_window_open();
	target.before_move = fds.windowed ? agent_fds_raise : NULL;
	/* In the window: no seccomp filter for all threads is installed meanwhile. */
	if (!agent_permitted(AGENT_PERF)) {
		agent_fds_window_close();
		return AGENT_NOT_ALLOWED;
	}
	for (unsigned g = from; g < to; g++) {
		int failed = pmc_plan_open_group(plan, g, &target, list + plan->first[g], &ids[g]);

		error = error ? error : failed;
		if (!failed)
			target.before_move = NULL; /* raised */
	}
	/* In the window: no fork meanwhile, whose child must close the marked copies. */
	agent_fds_mark(list + plan->first[from], plan->first[to] - plan->first[from]);
	agent_fds_window_close();
	return error;
}

bool agent_fds_is_event(int fd)
{
	uint64_t id;
	const int error = pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &id);

	return !error || error == -EPERM || error == -EACCES || error == -ENOSYS;
}

void agent_fds_close(int *list, unsigned n)
{
	doing++;
	atomic_fetch_add(&fds.used, ONE_CLOSING);
	if (are_held())
		wait_to_close();
	agent_fds_unmark(list, n);
	for (unsigned i = 0; i < n; i++)
		if (list[i] >= 0 && !agent_fds_is_event(list[i]))
			list[i] = -1;
	pmc_perf_group_close(list, n);
	atomic_fetch_sub(&fds.used, ONE_CLOSING + n);
	doing--;
}

int agent_fds_move(int fd)
{
	int moved;

	const bool outer = raising;

	/* A signal handler does not wait for what the interrupted code may hold. */
	for (unsigned i = 0; are_held() || !try_lock(); i++) {
		if (i == YIELDS)
			return -1;
		sched_yield();
	}
	unlock();
	doing++;
	atomic_fetch_add(&fds.windows, 1);
	raising = false;
	moved = agent_fds_raise(fd) ? (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, (int)fds.base) :
				      -1;
	agent_fds_window_close();
	raising = outer;
	if (moved < 0)
		return -1;
	agent_fds_mark(&moved, 1);
	return moved;
}

bool agent_fds_ours(int fd)
{
	_Atomic uint64_t *word = word_of(fd);

	return word && fd <= atomic_load(&agent_fds_highest) && (atomic_load(word) & bit_of(fd));
}

void agent_fds_reserve(void)
{
	static _Atomic bool done;
	int fd;

	if (agent.plan.opened == 0 || atomic_exchange(&done, true))
		return;
	/* The table grows in powers of two. */
	agent_fds_window_open();
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
	if (fd >= 0 && agent_fds_raise(fd)) {
		int high =
			(int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC,
				     (int)(fds.base + (fds.share < 4096 ? fds.share / 2 : 2048)));

		if (high >= 0)
			syscall(SYS_close, high);
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	agent_fds_window_close();
}

void agent_fds_forked(int keep)
{
	agent_fds_unmark(&keep, 1);
	for (int i = 0; i <= atomic_load(&agent_fds_highest) / 64; i++)
		for (uint64_t set = atomic_exchange(word_of(i * 64), 0); set; set &= set - 1) {
			const int fd = i * 64 + __builtin_ctzll(set);

			if (agent_fds_is_event(fd))
				syscall(SYS_close, fd);
		}
	atomic_store(&fds.used, 0);
	atomic_store(&fds.lock, 0);
	atomic_store(&fds.holds, 0);
	atomic_store(&fds.execs, false);
	atomic_store(&agent_fds_users, 0);
	atomic_store(&fds.late, 0);
	atomic_store(&agent_fds_highest, -1);
	/* A window of another thread may have been open at the fork. */
	if (fds.raised)
		set_soft(fds.host.rlim_cur);
	fds.windows = fds.raised = 0;
	raising = false;
}
