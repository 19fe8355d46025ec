/* SPDX-License-Identifier: MIT */
/*
 * runner.c - processes of a bench on Linux: pmc-spawn, which starts the commands, its counters, and
 * the shell lines.
 *
 * SIGINT, SIGTERM and SIGHUP are blocked and looked at between and during runs; at the end they
 * take effect. pmc-spawn and its command are process groups of their own, which the terminal's
 * signals do not reach.
 */
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_runner {
	pid_t pid; /* of pmc-spawn */
	int socket;
	int fds[PMC_EVENTS_MAX];     /* by event of the plan; -1: not open */
	int anchors[PMC_EVENTS_MAX]; /* of each group; see open_counters() */
	uint64_t ids[PMC_EVENTS_MAX];
};

/* ---- signals ------------------------------------------------------------------------------ */

static sigset_t caught, mask_was;
static int signal_fd = -1;

void bench_catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction was;

	sigemptyset(&caught);
	/* A blocked signal becomes pending even if it is ignored. */
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaddset(&caught, ends[i]);
	sigprocmask(SIG_BLOCK, &caught, &mask_was);
	signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool bench_signalled(void)
{
	sigset_t pending;

	sigpending(&pending);
	sigandset(&pending, &pending, &caught);
	return !sigisemptyset(&pending);
}

void bench_raise_again(void)
{
	sigprocmask(SIG_SETMASK, &mask_was, NULL);
}

static void as_started(void)
{
	tool_restore_signals();
	sigprocmask(SIG_SETMASK, &mask_was, NULL);
}

const struct bench_preload bench_preload = { "LD_PRELOAD", "libpmcagent.so",
					     "static and setuid programs cannot load the agent" };

/* ---- pmc-spawn ---------------------------------------------------------------------------- */

static bool find_helper(char found[PATH_MAX])
{
	static const char *const places[] = { "", "/../lib/pmc" };
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	dir[n > 0 ? n : 0] = '\0';
	dirname(dir);
	for (unsigned i = 0; i < 2; i++)
		if (snprintf(found, PATH_MAX, "%s%s/pmc-spawn", dir, places[i]) < PATH_MAX &&
		    access(found, X_OK) == 0)
			return true;
	tool_fail(EXIT_FAIL, "cannot find pmc-spawn in %s or %s/../lib/pmc; install pmctl whole",
		  dir, dir);
	return false;
}

static bool redirect(const struct bench *bench)
{
	for (int i = 0; i < 3; i++)
		if (bench->io[i] >= 0 && dup2(bench->io[i], i) < 0)
			return false;
	return true;
}

/* In the child: becomes pmc-spawn, or writes the errno of a failure to the socket. */
static void become_helper(const struct bench *bench, char **argv, char *const *extra, int socket)
{
	int fd = fcntl(socket, F_DUPFD_CLOEXEC, 10), error;

	setpgid(0, 0);
	if (extra)
		unsetenv("PMC_JOB"); /* of an enclosing job: a run is a job of its own */
	for (; extra && *extra; extra++)
		putenv(*extra);
	if (redirect(bench) && dup2(fd, SPAWN_SOCKET) == SPAWN_SOCKET) {
		as_started();
		execv(argv[0], argv);
		fd = SPAWN_SOCKET;
	}
	error = errno;
	(void)!write(fd, &error, sizeof(error));
	_exit(EXIT_FAIL);
}

/* pmc-spawn's arguments: path and argv of each command. NULL: out of memory. */
static char **words_of(struct bench *bench, char *path)
{
	uint32_t n = 1;
	char **words;

	for (unsigned c = 0; c < bench->n_commands; c++) {
		struct bench_command *command = &bench->commands[c];

		command->first = n++;
		for (char **word = command->argv; *word; word++)
			n++;
		command->n_words = n - command->first;
	}
	words = calloc(n + 1, sizeof(*words));
	for (unsigned c = 0; c < bench->n_commands && words; c++) {
		struct bench_command *command = &bench->commands[c];

		words[command->first] = command->path;
		memcpy(words + command->first + 1, command->argv,
		       (command->n_words - 1) * sizeof(*words));
	}
	if (words)
		words[0] = path;
	return words;
}

int bench_runner_start(struct bench *bench, char *const *extra, struct bench_runner **started)
{
	static char path[PATH_MAX];
	int pair[2], error = EPIPE;
	struct bench_runner *runner;
	char **argv;

	*started = NULL;
	if (!path[0] && !find_helper(path))
		return EXIT_FAIL;
	runner = malloc(sizeof(*runner));
	argv = words_of(bench, path);
	if (!runner || !argv || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		error = errno;
		free(runner);
		free(argv);
		return tool_fail(EXIT_FAIL, "cannot start %s: %s", path, strerror(error));
	}
	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		runner->fds[i] = runner->anchors[i] = -1;
	runner->pid = fork();
	if (runner->pid == 0)
		become_helper(bench, argv, extra, pair[1]);
	free(argv);
	close(pair[1]);
	runner->socket = pair[0];
	if (runner->pid < 0)
		error = errno;
	/* Counters opened before its exec would count pmc-spawn too. */
	else if (recv(runner->socket, &error, sizeof(error), 0) == 1)
		*started = runner;
	if (*started)
		return 0;
	bench_runner_stop(runner);
	return tool_fail(EXIT_FAIL, "cannot start %s: %s", path, strerror(error));
}

/* ---- counters ----------------------------------------------------------------------------- */

/* Of a pass, or of every one. */
static bool is_counted(const struct bench *bench, unsigned group, unsigned pass)
{
	const struct pmc_planned *first = &bench->plan.events[bench->plan.first[group]];
	const unsigned of = bench_pass_of(bench, first);

	return of == BENCH_EVERY_PASS || of == pass;
}

/*
 * Inherited by the command, they count from its exec.
 *
 * An anchor is a disabled event that children do not inherit. Without one the kernel takes the
 * contexts of pmc-spawn and of its child for equal, and may swap them when it switches from one to
 * the other (perf_event_context_sched_out). The child's exec then enables the events of pmc-spawn
 * itself, and what later children inherit is never enabled.
 */
static int open_counters(const struct bench *bench, struct bench_runner *runner, unsigned pass)
{
	const struct pmc_plan *plan = &bench->plan;
	const struct pmc_perf_target own = { .pid = runner->pid, .cpu = -1 };
	const struct pmc_perf_target exec = { .kind = PMC_PERF_GROUP_EXEC,
					      .pid = runner->pid,
					      .cpu = -1 };
	uint64_t anchor_id;
	int error = 0;

	for (unsigned g = 0; g < plan->groups && !error; g++) {
		const unsigned first = plan->first[g];

		if (!is_counted(bench, g, pass))
			continue;
		error = pmc_plan_open_group(plan, g, &exec, runner->fds + first, &runner->ids[g]);
		if (!error)
			error = pmc_perf_group_open(&plan->attrs[first], 1, &own,
						    &runner->anchors[g], &anchor_id);
	}
	return error;
}

/* What they counted, into the values of the run's events. */
static void read_counters(const struct bench *bench, struct bench_command *command,
			  const struct bench_runner *runner, unsigned pass, double *values)
{
	const struct pmc_plan *plan = &bench->plan;

	for (unsigned g = 0; g < plan->groups; g++) {
		uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
		const unsigned first = plan->first[g], end = plan->first[g + 1];
		struct pmc_reading now;

		if (!is_counted(bench, g, pass))
			continue;
		pmc_perf_group_read(runner->fds[first], runner->ids[g], end - first, &now, words);
		for (unsigned m = BENCH_EVENTS; now.n && now.running_ns && m < bench->n_measures;
		     m++) {
			unsigned i = (unsigned)(bench->measures[m].event - plan->events);

			if (i < first || i >= end)
				continue;
			values[m] = (double)words[i - first];
			if (now.running_ns < now.enabled_ns) {
				values[m] *= (double)now.enabled_ns / (double)now.running_ns;
				command->scaled[i] = true;
			}
		}
	}
}

/* ---- runs --------------------------------------------------------------------------------- */

static int run(const struct bench *bench, const struct bench_command *command,
	       struct bench_runner *runner, struct spawn_result *result)
{
	const struct spawn_request request = { bench->timeout_ns, command->first,
					       command->n_words };
	struct pollfd fds[2] = { { .fd = runner->socket, .events = POLLIN },
				 { .fd = signal_fd, .events = POLLIN } };
	ssize_t n;

	n = send(runner->socket, &request, sizeof(request), MSG_NOSIGNAL);
	while (n > 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			break;
		if (fds[1].revents) {
			(void)!send(runner->socket, "", 1, MSG_NOSIGNAL);
			kill(runner->pid, SIGCONT);
			fds[1].fd = -1;
		}
	}
	n = recv(runner->socket, result, sizeof(*result), 0);
	if (n == sizeof(*result))
		return 0;
	return tool_fail(EXIT_FAIL, "pmc-spawn ended early: it was killed");
}

/* Counters are new for each run: a process that an earlier run left behind is still in the old. */
int bench_runner_run(const struct bench *bench, struct bench_command *command,
		     struct bench_runner *runner, unsigned pass, struct spawn_result *result,
		     double *values)
{
	int error = values ? open_counters(bench, runner, pass) : 0, code;

	if (error)
		code = tool_fail(EXIT_FAIL, "cannot open the counters of %s: %s; see pmctl doctor",
				 command->argv[0], strerror(-error));
	else
		code = run(bench, command, runner, result);
	if (!code && values)
		read_counters(bench, command, runner, pass, values);
	pmc_perf_group_close(runner->fds, bench->plan.opened);
	pmc_perf_group_close(runner->anchors, bench->plan.groups);
	return code;
}

void bench_runner_stop(struct bench_runner *runner)
{
	if (!runner)
		return;
	close(runner->socket);
	/* It may have been stopped. */
	if (runner->pid > 0)
		kill(runner->pid, SIGCONT);
	while (runner->pid > 0 && waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(runner);
}

/* ---- shell lines -------------------------------------------------------------------------- */

/* Waits for the line; a signal to pmctl ends it. */
static int wait_for_line(pid_t pid)
{
	int status = 0, pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[2] = { { .fd = pidfd, .events = POLLIN },
				 { .fd = signal_fd, .events = POLLIN } };

	while (pidfd >= 0 && (poll(fds, 2, -1) >= 0 || errno == EINTR) && !fds[0].revents) {
		if (!fds[1].revents)
			continue;
		kill(pid, SIGTERM);
		fds[1].fd = -1;
	}
	close(pidfd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int bench_line(const char *line, int *status)
{
	pid_t pid = fork();

	if (pid == 0) {
		as_started();
		/* Output of these commands must not mix with the results. */
		dup2(2, 1);
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(EXIT_NO_CMD);
	}
	if (pid < 0)
		return errno;
	*status = wait_for_line(pid);
	return 0;
}
