/* SPDX-License-Identifier: MIT */
/* tool_run.h - runs pmctl in a forked child and keeps its output. */
#ifndef PMC_TESTS_TOOL_RUN_H
#define PMC_TESTS_TOOL_RUN_H

#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct tool_run {
	int code; /* exit code, or 128 + signal */
	char out[32768], err[8192];
};

static inline void tool_run_read(FILE *file, char *text, size_t cap)
{
	size_t n;

	rewind(file);
	n = fread(text, 1, cap - 1, file);
	text[n] = '\0';
	fclose(file);
}

/* words: the arguments after "pmctl", terminated by NULL. */
static inline void tool_run(struct tool_run *run, const char *const *words)
{
	char *argv[32] = { (char *)"pmctl" };
	FILE *out = tmpfile(), *err = tmpfile();
	int status, argc = 1;
	pid_t pid;

	for (; words[argc - 1] && argc < 31; argc++)
		argv[argc] = (char *)words[argc - 1];
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		_exit(tool_main(argc, argv));
	}
	waitpid(pid, &status, 0);
	run->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	tool_run_read(out, run->out, sizeof(run->out));
	tool_run_read(err, run->err, sizeof(run->err));
}

#define PMCTL(run, ...) tool_run(run, (const char *const[]){ __VA_ARGS__, NULL })

#endif
