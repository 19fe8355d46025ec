/* SPDX-License-Identifier: MIT */
/* child.c - starting a command whose events are opened before its exec. */
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for a byte from the socket, and sends the errno of a failed exec to it. */
static void become(const struct tool_child *child, char **command, int socket)
{
	const int output = child->output;
	char byte;
	int error;

	if (output && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0 ||
		       dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO) < 0))
		_exit(EXIT_OURS);
	if (read(socket, &byte, 1) != 1)
		_exit(EXIT_OURS);
	tool_restore_signals();
	if (child->before_exec)
		child->before_exec();
	execvp(command[0], command);
	error = errno;
	(void)!send(socket, &error, sizeof(error), MSG_NOSIGNAL);
	_exit(error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN);
}

int tool_child_start(struct tool_child *child, char **command)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return tool_fail(EXIT_OURS, "cannot start a process: %s", strerror(errno));
	child->pid = fork();
	if (child->pid == 0) {
		close(pair[0]);
		become(child, command, pair[1]);
	}
	/* With an inherited SIG_IGN the kernel would reap the child. */
	signal(SIGCHLD, SIG_DFL);
	close(pair[1]);
	child->socket = pair[0];
	if (child->pid > 0)
		return 0;
	child->pid = 0;
	close(pair[0]);
	return tool_fail(EXIT_OURS, "cannot start a process: %s", strerror(errno));
}

int tool_child_go(struct tool_child *child, const char *name)
{
	ssize_t got;
	int error = 0;

	(void)!send(child->socket, "", 1, MSG_NOSIGNAL);
	do
		got = read(child->socket, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	close(child->socket);
	child->socket = -1;
	if (got != sizeof(error))
		return 0;
	tool_child_ended(child, true);
	return tool_fail_exec(name, error);
}

bool tool_child_ended(struct tool_child *child, bool wait)
{
	pid_t got = child->pid;

	while (child->pid && (got = waitpid(child->pid, &child->status, wait ? 0 : WNOHANG)) < 0 &&
	       errno == EINTR)
		;
	if (child->pid && !got)
		return false;
	child->pid = 0;
	return true;
}

void tool_child_drop(struct tool_child *child)
{
	if (!child->pid)
		return;
	if (child->socket >= 0)
		close(child->socket);
	child->socket = -1;
	tool_child_ended(child, true);
}
