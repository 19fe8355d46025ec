/* SPDX-License-Identifier: MIT */
/*
 * exit_report.c - the report that the job's first process prints at its end: descriptors and stack.
 *
 * Stderr is duplicated only when the program closes it (hooks/fd.c).
 */
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/throwaway_clone.h"
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "lib/base/sys.h"
#include "agent/output/file.h"
#include "agent/output/private_dump.h"
#include "agent/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void agent_report_abandon(void)
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
		agent_private_sweep(agent.private_dump);
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

void agent_report(bool in_clone)
{
	if (!agent.first)
		return;
	if (!in_clone && (agent.config.report.kind == PMC_REPORT_OFF || on_main_stack()))
		report(NULL);
	else
		report_in_clone();
}
