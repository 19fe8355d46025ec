/* SPDX-License-Identifier: MIT */
/*
 * runner.c - starts the commands of a bench on macOS and measures each run; signals to pmctl. POSIX
 * only, so that tests run it on Linux.
 *
 * pmctl starts the commands itself: a program that macOS starts by posix_spawn has nothing of
 * pmctl's memory in its own. Each is a process group of its own, which the terminal's signals do
 * not reach. If pmctl is killed, the command goes on: nothing on macOS ties the two.
 */
#include "lib/base/clock.h"
#include "lib/plan/mac_plan.h"
#include "tools/bench/bench.h"
#include "tools/cli/mac_usage.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

const struct bench_preload bench_preload = {
	"DYLD_INSERT_LIBRARIES", "libpmcagent.dylib",
	"programs of macOS (/bin, /usr/bin), setuid and hardened ones do not load it"
};

/* ---- signals ------------------------------------------------------------------------------ */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { N_ENDS = sizeof(ends) / sizeof(ends[0]) };

static struct {
	sigset_t caught, mask_was, waiting; /* waiting: the mask of a wait */
	struct sigaction was[N_ENDS], child_was;
	volatile sig_atomic_t got;
} signals;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		signals.got = sig;
}

void bench_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&signals.caught);
	for (unsigned i = 0; i < N_ENDS; i++) {
		if (sigaction(ends[i], NULL, &signals.was[i]) != 0 ||
		    signals.was[i].sa_handler == SIG_IGN)
			continue;
		sigaction(ends[i], &action, NULL);
		sigaddset(&signals.caught, ends[i]);
	}
	/* With an inherited SIG_IGN the kernel would reap the commands. */
	sigaction(SIGCHLD, &action, &signals.child_was);
	set = signals.caught;
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &signals.mask_was);
	signals.waiting = signals.mask_was;
	sigdelset(&signals.waiting, SIGCHLD);
}

bool bench_signalled(void)
{
	bool any = signals.got;
	sigset_t pending;

	sigpending(&pending);
	for (unsigned i = 0; i < N_ENDS; i++)
		any |= sigismember(&signals.caught, ends[i]) == 1 &&
		       sigismember(&pending, ends[i]) == 1;
	return any;
}

void bench_raise_again(void)
{
	for (unsigned i = 0; i < N_ENDS; i++)
		if (sigismember(&signals.caught, ends[i]) == 1)
			sigaction(ends[i], &signals.was[i], NULL);
	sigaction(SIGCHLD, &signals.child_was, NULL);
	sigprocmask(SIG_SETMASK, &signals.mask_was, NULL);
	if (signals.got)
		raise(signals.got);
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

	pselect(0, NULL, NULL, NULL, ns == UINT64_MAX ? NULL : &timeout, &signals.waiting);
}

/* Until the process has ended; it is not reaped. A signal to pmctl, or the end of its time, sends
 * it `sig`. group: to its process group too. */
static enum spawn_stop wait_for(pid_t pid, uint64_t timeout_ns, int sig, bool group)
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

/* ---- runs --------------------------------------------------------------------------------- */

struct bench_runner {
	char **environment; /* NULL: pmctl's own */
};

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

static size_t count(char *const *strings)
{
	size_t n = 0;

	while (strings[n])
		n++;
	return n;
}

static char **environment_with(char *const *extra)
{
	char **to = calloc(count(environ) + count(extra) + 1, sizeof(*to));
	size_t n = 0;

	for (char **from = environ; to && *from; from++)
		if (!is_replaced(*from, extra))
			to[n++] = *from;
	for (; to && *extra; extra++)
		to[n++] = *extra;
	return to;
}

int bench_runner_start(struct bench *bench, char *const *extra, struct bench_runner **started)
{
	struct bench_runner *runner = calloc(1, sizeof(*runner));

	(void)bench;
	*started = NULL;
	if (runner && extra)
		runner->environment = environment_with(extra);
	if (!runner || (extra && !runner->environment)) {
		free(runner);
		return tool_fail(EXIT_FAIL, "out of memory");
	}
	*started = runner;
	return 0;
}

void bench_runner_stop(struct bench_runner *runner)
{
	if (runner)
		free(runner->environment);
	free(runner);
}

/* Events that could not be read keep no value. */
static void put_events(const struct bench *bench, const struct mac_usage *usage, double *values)
{
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		switch (pmc_mac_kind(&bench->measures[m].event->event)) {
		case PMC_MAC_CYCLES:
			if (usage->counted)
				values[m] = (double)usage->cycles;
			break;
		case PMC_MAC_INSTRUCTIONS:
			if (usage->counted)
				values[m] = (double)usage->instructions;
			break;
		case PMC_MAC_CLOCK:
			if (usage->timed)
				values[m] = (double)(usage->user_ns + usage->system_ns);
			break;
		}
	}
}

/* Times and peak memory are those of wait4, which include the children that the command has waited
 * for. */
int bench_runner_run(const struct bench *bench, struct bench_command *command,
		     struct bench_runner *runner, unsigned pass, struct spawn_result *result,
		     double *values)
{
	const struct tool_spawn spawn = {
		.argv = command->argv,
		.path = command->path,
		.environment = runner->environment,
		.io = bench->io,
		.mask = &signals.mask_was,
		.group = true,
	};
	struct rusage rusage = { .ru_maxrss = 0 };
	struct mac_usage usage;
	uint64_t from;
	int status = 0;
	pid_t pid;

	(void)pass;
	*result = (struct spawn_result){ 0 };
	/* The standard input from its start, if it is a file. */
	lseek(bench->io[0] >= 0 ? bench->io[0] : STDIN_FILENO, 0, SEEK_SET);
	from = pmc_now_ns();
	result->error = tool_spawn(&spawn, &pid);
	if (result->error)
		return 0;
	result->stopped = (int32_t)wait_for(pid, bench->timeout_ns, SIGKILL, true);
	result->wall_ns = pmc_now_ns() - from;
	if (values && mac_usage_read(&pmc_mac_system, pid, &usage) == 0)
		put_events(bench, &usage, values);
	while (wait4(pid, &status, 0, &rusage) < 0 && errno == EINTR)
		;
	result->status = status;
	result->user_ns = pmc_timeval_ns(&rusage.ru_utime);
	result->sys_ns = pmc_timeval_ns(&rusage.ru_stime);
	result->peak_rss_bytes = (uint64_t)rusage.ru_maxrss; /* bytes on macOS */
	return 0;
}

int bench_line(const char *line, int *status)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
	/* Output of these commands must not mix with the results. */
	const int io[3] = { -1, STDERR_FILENO, -1 };
	const struct tool_spawn spawn = {
		.argv = argv, .path = "/bin/sh", .io = io, .mask = &signals.mask_was
	};
	pid_t pid;
	int error = tool_spawn(&spawn, &pid);

	if (error)
		return error;
	wait_for(pid, 0, SIGTERM, false);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return 0;
}
