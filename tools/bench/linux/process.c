/* SPDX-License-Identifier: MIT */
/*
 * process.c - processes of a bench on Linux: pmc-spawn, which starts the commands, and the shell
 * lines.
 *
 * SIGINT, SIGTERM and SIGHUP are blocked and looked at between and during runs; at the end they
 * take effect. pmc-spawn and its command are process groups of their own, which the terminal's
 * signals do not reach.
 */
#include "tools/bench/spawner.h"
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
	int error = values ? bench_counters_open(bench, runner, pass) : 0, code;

	if (error)
		code = tool_fail(EXIT_FAIL, "cannot open the counters of %s: %s; see pmctl doctor",
				 command->argv[0], strerror(-error));
	else
		code = run(bench, command, runner, result);
	if (!code && values)
		bench_counters_read(bench, command, runner, pass, values);
	bench_counters_close(bench, runner);
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
