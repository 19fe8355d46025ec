/* SPDX-License-Identifier: MIT */
/*
 * leave.c - the end of the process: final rows and report, by the first thread that leaves.
 *
 * Other threads that leave meanwhile wait for it, since the first exit_group(2) ends them all. A
 * futex, not sched_yield: the thread that is waited for may have lost its CPU to others. Stderr is
 * duplicated only when the program closes it (hooks/fd.c). Async-signal-safe.
 */
#include "agent/process/process.h"

#include <linux/futex.h>

#include "agent/base/poison.h"

/* ---- how far the end has come ---------------------------------------------------------------- */

#define PATIENCE_NS UINT64_C(2000000000)

static _Atomic uint32_t reached, waiting;
/* Its address identifies the thread, without a system call. */
static __thread char me;
static char *_Atomic taken_by;
static char *_Atomic killed; /* the process is about to die of a signal that this one handles */

/* A child of fork inherits the state of an ending process, but not the thread that writes. */
static bool is_child(void)
{
	return !agent_alive || atomic_load(agent_alive) == 0 ||
	       (pid_t)pmc_sys1(SYS_getpid, 0) != agent.pid;
}

/* Advances by one step, in the process itself. False: another thread has taken that step. The
 * caller that takes the first or third step must take the next one, too. */
static bool take_step(enum agent_ending step)
{
	uint32_t before = (uint32_t)step - 1;

	if (!atomic_compare_exchange_strong(&reached, &before, (uint32_t)step))
		return false;
	atomic_store(&taken_by, &me);
	if (atomic_load(&waiting))
		pmc_sys3(SYS_futex, &reached, FUTEX_WAKE_PRIVATE, INT32_MAX);
	return true;
}

static void await(uint32_t step)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const uint64_t start = pmc_now_ns();
	uint32_t now;

	while ((now = atomic_load(&reached)) < step && pmc_now_ns() - start < PATIENCE_NS)
		pmc_sys4(SYS_futex, &reached, FUTEX_WAIT_PRIVATE, now, &pause);
}

void agent_ending_wait(enum agent_ending step)
{
	uint32_t now = atomic_load(&reached);

	if (now == AGENT_RUNS || now >= (uint32_t)step || atomic_load(&taken_by) == &me ||
	    is_child())
		return;
	atomic_fetch_add(&waiting, 1);
	await((uint32_t)step);
	atomic_fetch_sub(&waiting, 1);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* A copy of stderr, -1: none. */
static int kept = -1;

void agent_report_keep_stderr(void)
{
	int from;

	if (!agent.first || agent.config.report.kind == PMC_REPORT_OFF || kept >= 0 ||
	    !agent_report_is_stderr(2))
		return;
	from = agent_fds_window_open();
	if (agent_fds_raise(2))
		kept = (int)syscall(SYS_fcntl, 2, F_DUPFD_CLOEXEC, from);
	agent_fds_window_close();
}

void agent_leave_forked(void)
{
	atomic_store(&reached, AGENT_RUNS);
	atomic_store(&waiting, 0);
	atomic_store(&taken_by, NULL);
	atomic_store(&killed, NULL);
	if (kept >= 0)
		syscall(SYS_close, kept);
	kept = -1;
}

/* Files take output at once, and sockets what they have room for. A pipe or a terminal is opened
 * again, to make it non-blocking without a change to the program's descriptor; where that fails,
 * poll alone decides. */
int agent_report_unblocked(int fd, mode_t mode)
{
	char path[32];
	struct pmc_out name = pmc_out_mem(path, sizeof(path));
	int again = -1;

	pmc_outf(&name, "/proc/self/fd/%d", fd);
	if (S_ISFIFO(mode) || S_ISCHR(mode))
		again = (int)syscall(SYS_openat, AT_FDCWD, path,
				     O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return again < 0 ? fd : again;
}

static void report(void *unused)
{
	struct agent_write_guard guard;
	int fd = agent_report_open();

	(void)unused;
	if (fd < 0 && agent_report_is_stderr(kept))
		fd = kept;
	if (fd >= 0) {
		agent_write_guard_begin(&guard);
		agent_report_print(fd);
		agent_write_guard_end(&guard, true);
	}
	if (fd > 2)
		syscall(SYS_close, fd);
	/* Only a job with descendants has one, and looks for those of jobs that were killed. */
	if (agent_private_remove())
		agent_private_sweep();
}

/* Any stack but the main thread's may be small, above all a signal stack. */
static bool on_main_stack(void)
{
	stack_t now;

	return syscall(SYS_gettid) == agent.pid && syscall(SYS_sigaltstack, NULL, &now) == 0 &&
	       !(now.ss_flags & SS_ONSTACK);
}

static void report_in_clone(void)
{
	const size_t bytes = (size_t)256 << 10;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		return;
	if (agent_throwaway_clone(report, NULL, stack, bytes) < 0)
		report(NULL);
	munmap(stack, bytes);
}

/* In the job's first process, as its last act: prints the report and removes the private dump. Uses
 * a stack of its own unless called on the main thread's: reading the dump back takes more than a
 * signal handler or a small thread has. At a fatal signal always in a throwaway clone, since after
 * a wild pointer the agent's own data may be damaged. */
static void report_last(bool by_signal)
{
	if (!agent.first)
		return;
	if (!by_signal && (agent.config.report.kind == PMC_REPORT_OFF || on_main_stack()))
		report(NULL);
	else
		report_in_clone();
}

#define BIT(signo) (UINT64_C(1) << ((signo)-1))
static const uint64_t faults =
	BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS);

/* A handler of the host that ends the process would truncate the rows. Faults of this thread cannot
 * be blocked. */
uint64_t agent_block_signals(void)
{
	const uint64_t all = ~faults;
	uint64_t mask = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof(all));
	return mask;
}

static void leave(enum pmc_ended how, int code)
{
	bool active = agent_active(), prints;
	const uint32_t now = atomic_load(&reached);
	uint64_t mask;

	/* Under a seccomp filter, system calls may be forbidden from here on. A child that was
	 * forked or vforked during the end has no part in it. */
	if (!active && (now == AGENT_RUNS || now == AGENT_REPORTED || is_child()))
		return;
	mask = agent_block_signals();
	if (active && take_step(AGENT_WRITES)) {
		agent_final(how, code);
		take_step(AGENT_WRITTEN);
	}
	agent_ending_wait(AGENT_WRITTEN);
	/* A handler that came before they were blocked may have forked. */
	prints = (active || !is_child()) && take_step(AGENT_REPORTS);
	agent_mask_set(mask);
	if (prints) {
		if (how == PMC_ENDED_SIGNAL && ((faults | BIT(SIGABRT)) & BIT(code)))
			agent_report_patience_ms = AGENT_FAULT_PATIENCE_MS;
		report_last(how == PMC_ENDED_SIGNAL);
		take_step(AGENT_REPORTED);
	} else if (atomic_load(&reached) == AGENT_REPORTS && atomic_load(&taken_by) == &me &&
		   !is_child()) {
		/* In a signal handler that interrupted report(): the process ends within it. */
		if (agent.first)
			agent_private_remove();
	} else {
		agent_ending_wait(AGENT_REPORTED);
	}
}

void agent_leave(enum pmc_ended how, int code)
{
	char *nobody = NULL;

	if (how == PMC_ENDED_SIGNAL && !is_child())
		atomic_compare_exchange_strong(&killed, &nobody, &me);
	leave(how, code);
	/* If another thread handles such a signal, its end of the process ends this wait, of two
	 * seconds at most: a call of exit_group(2), or this thread's own signal, could come before
	 * that signal. */
	if (atomic_load(&killed) && atomic_load(&killed) != &me && !is_child())
		await(UINT32_MAX);
}
