/* SPDX-License-Identifier: MIT */
/* dump.c - a snapshot of the process by pmctl dump, in a process of its own. */
#include "tools/cli/pmctl.h"
#include "tools/top/screen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_dump(const char *pid, const char *file, int output)
{
	const char *const argv[] = { "pmctl", "dump", pid, "-o", file, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", (char *const *)argv);
	_exit(EXIT_FAIL);
}

/* The first line that the process prints: the path of the dump, or why there is none. */
void top_dump(struct top_screen *screen, pid_t pid, const char *file)
{
	size_t len = 0, cap = sizeof(screen->message) - 1;
	char number[16];
	int ends[2], status = 0;
	ssize_t n = 1;
	pid_t child;

	snprintf(number, sizeof(number), "%d", pid);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	child = fork();
	if (child == 0)
		become_dump(number, file, ends[1]);
	close(ends[1]);
	while (child > 0 && len < cap && n > 0) {
		n = read(ends[0], screen->message + len, cap - len);
		len += n > 0 ? (size_t)n : 0;
	}
	close(ends[0]);
	screen->message[len] = '\0';
	if (child < 0 || waitpid(child, &status, 0) != child)
		snprintf(screen->message, cap, "cannot start pmctl dump");
	screen->message[strcspn(screen->message, "\n")] = '\0';
	if (child > 0 && status == 0)
		snprintf(screen->message, cap, "snapshot of process %d appended to %.150s", pid,
			 file);
}
