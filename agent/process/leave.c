/* SPDX-License-Identifier: MIT */
/*
 * leave.c - the end of the process: final rows and report, by the first thread that leaves.
 *
 * Stderr is duplicated only when the program closes it (hooks/fd.c).
 */
#include "agent/process/process.h"
#include "lib/base/file.h"

#include "agent/base/poison.h"

/* A copy of stderr, -1: none. */
static int kept = -1;

void agent_report_keep_stderr(void)
{
	if (!agent.first || agent.config.report.kind == PMC_REPORT_OFF || kept >= 0 ||
	    !agent_report_is_stderr(2))
		return;
	kept = (int)syscall(SYS_fcntl, 2, F_DUPFD_CLOEXEC, agent_fds_window_open());
	agent_fds_window_close();
}

void agent_report_forked(void)
{
	if (kept >= 0)
		syscall(SYS_close, kept);
	kept = -1;
}

/* Files take output at once. A pipe or a terminal is opened again, to make it non-blocking without
 * a change to the program's descriptor; where that fails, poll alone decides. */
int agent_report_unblocked(int fd, struct pmc_out *out)
{
	char path[32];
	struct pmc_out name;
	struct stat st;
	int again = -1;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	out->patience_ms = AGENT_REPORT_PATIENCE_MS;
	pmc_out_to_mem(&name, path, sizeof(path));
	pmc_outf(&name, "/proc/self/fd/%d", fd);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		again = (int)syscall(SYS_openat, AT_FDCWD, path,
				     O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return again < 0 ? fd : again;
}

/* The process ends within report(): removes the private dump. */
static void abandon(void)
{
	if (agent.first && !agent.out && agent.private_dump)
		agent_private_remove(agent.private_dump);
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
	if (!agent.out && agent.private_dump && agent_private_remove(agent.private_dump))
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
	void *stack;

	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return;
	if (agent_throwaway_clone(report, NULL, stack, bytes) < 0)
		report(NULL);
	munmap(stack, bytes);
}

/* In the job's first process, as its last act: prints the report and removes the private dump. Uses
 * a stack of its own unless called on the main thread's: reading the dump back takes more than a
 * signal handler or a small thread has. in_clone: always in a throwaway clone, since after a wild
 * pointer the agent's own data may be damaged. */
static void report_last(bool in_clone)
{
	if (!agent.first)
		return;
	if (!in_clone && (agent.config.report.kind == PMC_REPORT_OFF || on_main_stack()))
		report(NULL);
	else
		report_in_clone();
}

#define BIT(signo) (UINT64_C(1) << ((signo)-1))

/* A handler of the host that ends the process would truncate the rows. Faults of this thread cannot
 * be blocked. */
static uint64_t block_signals(void)
{
	const uint64_t but =
		BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS);
	const uint64_t all = ~but;
	uint64_t mask = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof(all));
	return mask;
}

static void leave(enum pmc_ended how, int code, bool in_clone)
{
	bool active = agent_active(), prints;
	uint64_t mask;

	/* Under a seccomp filter, system calls may be forbidden from here on. */
	if (!active && !agent_ending_unfinished())
		return;
	mask = block_signals();
	if (active && agent_ending_step(AGENT_WRITES)) {
		agent_final(how, code);
		agent_ending_step(AGENT_WRITTEN);
	}
	agent_ending_wait(AGENT_WRITTEN);
	prints = agent_ending_step(AGENT_REPORTS);
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	if (prints) {
		report_last(in_clone);
		agent_ending_step(AGENT_REPORTED);
	} else if (agent_ending_interrupted()) {
		abandon();
	} else {
		agent_ending_wait(AGENT_REPORTED);
	}
}

void agent_leave(enum pmc_ended how, int code, bool in_clone)
{
	if (how == PMC_ENDED_SIGNAL)
		agent_ending_by_signal();
	leave(how, code, in_clone);
	if (how == PMC_ENDED_EXIT)
		agent_ending_await_signal();
}
