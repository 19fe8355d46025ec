/* SPDX-License-Identifier: MIT */
/*
 * leave.c - the end of the process on macOS: final rows and report, by the first thread that
 * leaves.
 *
 * Others that leave meanwhile wait for it, two seconds at most. Threads are told apart by number:
 * thread-local variables may not be used in a signal handler.
 */
#include "agent/process/process.h"
#include "agent/thread/mac_threads.h"
#include "lib/base/file.h"

#include <mach/mach.h>
#include <mach/thread_switch.h>
#include <pthread.h>

#define PATIENCE_NS UINT64_C(2000000000)
/* The stack that the report needs, with some to spare. */
#define REPORT_STACK ((size_t)64 << 10)

static _Atomic uint64_t leaver; /* 0: nobody */
static bool left_by_exit;	/* with the status left_as in the last rows; -1: unknown */
static int left_as;
static _Atomic enum { WRITES, REPORTS, LEFT } reached;

/* A handler of the program that ends the process would truncate the rows. Faults of this thread
 * cannot be blocked. */
static void block_signals(sigset_t *mask)
{
	static const int but[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t all;

	sigfillset(&all);
	for (unsigned i = 0; i < sizeof(but) / sizeof(but[0]); i++)
		sigdelset(&all, but[i]);
	pthread_sigmask(SIG_BLOCK, &all, mask);
}

/* thread_switch() is no cancellation point. */
static void wait_for_leaver(void)
{
	const uint64_t start = pmc_now_ns();

	while (atomic_load(&reached) != LEFT && pmc_now_ns() - start < PATIENCE_NS)
		thread_switch(MACH_PORT_NULL, SWITCH_OPTION_WAIT, 1);
}

/* In a signal handler, perhaps on a small stack. */
static bool has_room(void)
{
	const char *here = __builtin_frame_address(0);
	const char *low = (const char *)pthread_get_stackaddr_np(pthread_self()) -
			  pthread_get_stacksize_np(pthread_self());
	stack_t now;

	if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK))
		low = now.ss_sp;
	return here > low && (size_t)(here - low) >= REPORT_STACK;
}

static bool is_fault(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE || signo == SIGILL ||
	       signo == SIGTRAP || signo == SIGSYS || signo == SIGABRT;
}

/* Of pipes poll alone decides: opening /dev/fd/2 gives the same open file. */
int agent_report_unblocked(int fd, mode_t mode)
{
	(void)mode;
	return fd;
}

static void abandon(void)
{
	if (agent.first && !agent.out && agent.private_dump)
		unlink(agent.private_dump);
}

static void print_last(void)
{
	int fd = agent_report_open();
	sigset_t stop, mask;

	/* SIGTTOU would stop a background process of a terminal. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stop, &mask);
	if (fd >= 0)
		agent_report_print(fd);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (fd > 2)
		pmc_fd_close(fd);
}

static void report(bool in_handler)
{
	if (!agent.first)
		return;
	if (!in_handler || agent.config.report.kind == PMC_REPORT_OFF || has_room())
		print_last();
	else if (agent_is_first_stderr(2))
		pmc_log(PMC_LOG_ERROR,
			"PMC_REPORT: the stack of the signal handler is too small (there is no "
			"report); PMC_OUT=FILE keeps the rows");
	abandon();
}

void agent_leave(enum pmc_ended how, int code)
{
	const uint64_t self = pmc_mac_system.self_tid();
	uint64_t nobody = 0;
	sigset_t mask;

	/* Off, or a vfork child. */
	if (atomic_load(&pmc_agent_control.state) == PMC_CONTROL_OFF || getpid() != agent.pid)
		return;
	if (!atomic_compare_exchange_strong(&leaver, &nobody, self)) {
		if (nobody != self)
			wait_for_leaver();
		else if (atomic_load(&reached) == REPORTS)
			abandon();
		return;
	}
	block_signals(&mask);
	left_by_exit = how == PMC_ENDED_EXIT;
	left_as = code;
	agent_final(how, code);
	atomic_store(&reached, REPORTS);
	if (how == PMC_ENDED_SIGNAL && is_fault(code))
		agent_report_patience_ms = AGENT_FAULT_PATIENCE_MS;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	report(how == PMC_ENDED_SIGNAL);
	atomic_store(&reached, LEFT);
}

void agent_left_with(int status)
{
	if (atomic_load(&reached) != LEFT || getpid() != agent.pid || !left_by_exit ||
	    left_as == status)
		return;
	left_as = status;
	agent_process_state(atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1, PMC_ENDED_EXIT,
			    status);
}

void agent_leave_forked(void)
{
	atomic_store(&reached, WRITES);
	atomic_store(&leaver, 0);
}
