/* SPDX-License-Identifier: MIT */
/*
 * start.c - what surrounds the runs on every OS: signals to pmctl, waiting for processes, shell
 * lines, the environment of commands. POSIX only.
 *
 * SIGINT, SIGTERM and SIGHUP are blocked but while pmctl waits, and take effect at the end.
 */
#include "lib/base/clock.h"
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals ------------------------------------------------------------------------------ */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { N_ENDS = sizeof(ends) / sizeof(ends[0]) };

struct bench_masks bench_masks;
static struct sigaction was[N_ENDS], child_was;
static volatile sig_atomic_t got;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		got = sig;
}

void bench_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&bench_masks.caught);
	for (unsigned i = 0; i < N_ENDS; i++) {
		if (sigaction(ends[i], NULL, &was[i]) != 0 || was[i].sa_handler == SIG_IGN)
			continue;
		sigaction(ends[i], &action, NULL);
		sigaddset(&bench_masks.caught, ends[i]);
	}
	/* With an inherited SIG_IGN the kernel would reap the commands. */
	sigaction(SIGCHLD, &action, &child_was);
	set = bench_masks.caught;
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &bench_masks.started);
	bench_masks.waiting = bench_masks.started;
	sigdelset(&bench_masks.waiting, SIGCHLD);
}

bool bench_signalled(void)
{
	bool any = got;
	sigset_t pending;

	sigpending(&pending);
	for (unsigned i = 0; i < N_ENDS; i++)
		any |= sigismember(&bench_masks.caught, ends[i]) == 1 &&
		       sigismember(&pending, ends[i]) == 1;
	return any;
}

void bench_raise_again(void)
{
	for (unsigned i = 0; i < N_ENDS; i++)
		if (sigismember(&bench_masks.caught, ends[i]) == 1)
			sigaction(ends[i], &was[i], NULL);
	sigaction(SIGCHLD, &child_was, NULL);
	sigprocmask(SIG_SETMASK, &bench_masks.started, NULL);
	if (got)
		raise(got);
}

/* ---- waiting ------------------------------------------------------------------------------ */

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		return errno != EINTR;
	return info.si_pid == pid;
}

static void wait_a_while(uint64_t ns)
{
	const struct timespec timeout = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	pselect(0, NULL, NULL, NULL, ns == UINT64_MAX ? NULL : &timeout, &bench_masks.waiting);
}

enum spawn_stop bench_wait(pid_t pid, uint64_t timeout_ns, int sig, bool group)
{
	const uint64_t begin = pmc_now_ns();
	enum spawn_stop stop = SPAWN_ENDED;

	while (!has_ended(pid)) {
		const uint64_t spent = pmc_now_ns() - begin;
		const bool late = timeout_ns && spent >= timeout_ns;

		if (!stop && (late || bench_signalled())) {
			stop = late ? SPAWN_TIMED_OUT : SPAWN_KILLED;
			if (group)
				kill(-pid, sig);
			kill(pid, sig); /* it may have left its group */
		} else {
			wait_a_while(stop || !timeout_ns ? UINT64_MAX : timeout_ns - spent);
		}
	}
	return stop;
}

int bench_shell(const char *flag, const char *line)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
	/* Output of these commands must not mix with the results. */
	const int io[3] = { -1, STDERR_FILENO, -1 };
	const struct tool_spawn spawn = {
		.argv = argv, .path = "/bin/sh", .io = io, .mask = &bench_masks.started
	};
	int status = 0, error;
	pid_t pid;

	if (!line)
		return 0;
	error = tool_spawn(&spawn, &pid);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot start %s '%s': %s", flag, line,
				 strerror(error));
	bench_wait(pid, 0, SIGTERM, false);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0 || bench_signalled())
		return 0;
	if (WIFSIGNALED(status))
		return tool_fail(EXIT_FAIL, "%s '%s' was killed by signal %d", flag, line,
				 WTERMSIG(status));
	return tool_fail(EXIT_FAIL, "%s '%s' failed with exit status %d", flag, line,
			 WEXITSTATUS(status));
}

/* ---- the environment ----------------------------------------------------------------------- */

/* Whether two NAME=VALUE strings have the same name. */
static bool same_name(const char *a, const char *b)
{
	const size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* PMC_JOB is of an enclosing job: a run is a job of its own. */
static bool is_replaced(const char *string, char *const *extra)
{
	bool yes = same_name("PMC_JOB=", string);

	for (; *extra; extra++)
		yes |= same_name(*extra, string);
	return yes;
}

char **bench_environment(char *const *extra)
{
	size_t n = 0;
	char **to;

	for (char **from = environ; *from; from++)
		n++;
	for (char *const *from = extra; *from; from++)
		n++;
	to = calloc(n + 1, sizeof(*to));
	n = 0;
	for (char **from = environ; to && *from; from++)
		if (!is_replaced(*from, extra))
			to[n++] = *from;
	for (; to && *extra; extra++)
		to[n++] = *extra;
	return to;
}
