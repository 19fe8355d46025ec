/* SPDX-License-Identifier: MIT */
/*
 * test_mac_signals.c - handlers of the agent on macOS, which run here too: the process ends as
 * without them, and sees nothing of them.
 */
#include "agent/process/process.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child has done. */
static struct seen {
	unsigned left, snapshots, handled;
	int how, code;
} * seen;

void agent_leave(enum pmc_ended how, int code)
{
	seen->left++;
	seen->how = (int)how;
	seen->code = code;
	errno = EIO;
}

void agent_snapshot(void)
{
	seen->snapshots++;
	errno = EIO;
}

bool agent_active(void)
{
	return true;
}

static void handler(int signo)
{
	seen->handled++;
}

/* Runs act in a child with the handlers of the agent. Returns its wait status. */
static int run(void (*act)(void), int dump)
{
	static const int reset[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP };
	const struct rlimit no_core = { 0, 0 };
	pid_t child;
	int status;

	*seen = (struct seen){ 0 };
	child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		/* Sanitizers have handlers of their own. */
		for (unsigned i = 0; i < sizeof(reset) / sizeof(reset[0]); i++)
			signal(reset[i], SIG_DFL);
		signal(SIGQUIT, SIG_IGN);
		agent.config.dump = dump;
		agent_signals_init();
		act();
		_exit(0);
	}
	assert_true(child > 0);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return status;
}

static void sent(void)
{
	raise(SIGTERM);
}

static void fault(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile char *)page = 1;
}

static void sent_like_a_fault(void)
{
	raise(SIGBUS);
}

static void trap(void)
{
	raise(SIGTRAP);
}

static void ends_by(void (*act)(void), int signo)
{
	int status = run(act, 0);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), signo);
	assert_int_equal(seen->left, 1);
	assert_int_equal(seen->how, PMC_ENDED_SIGNAL);
	assert_int_equal(seen->code, signo);
}

static void a_fatal_signal_ends_the_program_after_its_rows(void **state)
{
	ends_by(sent, SIGTERM);
	ends_by(fault, SIGSEGV);
	ends_by(sent_like_a_fault, SIGBUS);
	ends_by(trap, SIGTRAP);
	ends_by(abort, SIGABRT);
}

static void ask(void)
{
	struct sigaction action;

	if (mac_sigaction(SIGTERM, NULL, &action) != 0 || action.sa_handler != SIG_DFL ||
	    (action.sa_flags & SA_SIGINFO))
		_exit(1);
	if (mac_signal(SIGINT, SIG_IGN) != SIG_DFL || mac_signal(SIGINT, SIG_DFL) != SIG_IGN)
		_exit(2);
	if (mac_sigaction(SIGUSR2, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
		_exit(3);
	/* Ignored before the agent came: neither taken nor hidden. */
	if (mac_signal(SIGQUIT, SIG_IGN) != SIG_IGN)
		_exit(4);
	if (mac_sigaction(-1, NULL, &action) != -1 || errno != EINVAL)
		_exit(5);
	if (mac_signal(-1, SIG_DFL) != SIG_ERR)
		_exit(6);
}

static void handlers_are_invisible(void **state)
{
	int status;

	status = run(ask, SIGUSR2);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(seen->left, 0);
}

static void handle(void)
{
	const struct sigaction own = { .sa_handler = handler };
	struct sigaction was;

	mac_sigaction(SIGTERM, &own, NULL);
	mac_signal(SIGHUP, handler);
	raise(SIGTERM);
	raise(SIGHUP);
	mac_sigaction(SIGTERM, NULL, &was);
	_exit(was.sa_handler == handler ? 0 : 1);
}

static void handle_no_more(void)
{
	mac_signal(SIGTERM, handler);
	mac_signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

static void handlers_of_the_program_come_first(void **state)
{
	int status;

	status = run(handle, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(seen->handled, 2);
	assert_int_equal(seen->left, 0);
	ends_by(handle_no_more, SIGTERM);
}

static bool has_note(void)
{
	static uint64_t room[512];
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, sizeof(room));
	agent_notes_frames(&buf, 1, true);
	return buf.len > 0;
}

static void dump_twice(void)
{
	errno = 7;
	raise(SIGUSR2);
	raise(SIGUSR2);
	if (errno != 7 || has_note())
		_exit(1);
	/* Instead of the agent's. */
	mac_signal(SIGUSR2, handler);
	raise(SIGUSR2);
	_exit(has_note() ? 0 : 2);
}

static void dump_by_a_fatal_signal(void)
{
	raise(SIGHUP);
}

static void dump_by_an_ignored_signal(void)
{
	raise(SIGQUIT);
	_exit(has_note() ? 0 : 1);
}

static void the_dump_signal_takes_snapshots(void **state)
{
	assert_int_equal(run(dump_twice, SIGUSR2), 0);
	assert_int_equal(seen->snapshots, 2);
	assert_int_equal(seen->handled, 1);
	assert_int_equal(run(dump_by_a_fatal_signal, SIGHUP), 0);
	assert_int_equal(seen->snapshots, 1);
	assert_int_equal(seen->left, 0);
	assert_int_equal(run(dump_by_an_ignored_signal, SIGQUIT), 0);
	assert_int_equal(seen->snapshots, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fatal_signal_ends_the_program_after_its_rows),
		cmocka_unit_test(handlers_are_invisible),
		cmocka_unit_test(handlers_of_the_program_come_first),
		cmocka_unit_test(the_dump_signal_takes_snapshots),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
