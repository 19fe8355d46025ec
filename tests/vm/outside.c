/* SPDX-License-Identifier: MIT */
/*
 * outside OUT u|a CMD...: CMD under an inherited instruction counter of our own (user mode, or
 * all), opened before it and counting from its exec; the number goes to OUT.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int counter(int user_only)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.disabled = attr.inherit = attr.enable_on_exec = 1;
	/* It counts all the time or says that it could not. */
	attr.pinned = 1;
	attr.exclude_kernel = attr.exclude_hv = user_only != 0;
	/* On ourselves before the fork: the child's inherited copy starts at its exec. */
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	uint64_t value = 0;
	int status, fd;
	FILE *out;
	pid_t pid;

	if (argc < 4)
		return 2;
	fd = counter(argv[2][0] == 'u');
	if (fd < 0) {
		perror("outside: perf_event_open");
		return 125;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 ||
	    read(fd, &value, sizeof(value)) != sizeof(value))
		return 125;
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%llu\n", (unsigned long long)value) < 0 || fclose(out))
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
