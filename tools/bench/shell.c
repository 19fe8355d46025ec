/* SPDX-License-Identifier: MIT */
/* shell.c - what surrounds the runs: files of --input and --output, shell lines of --setup and the
 * like. */
#include "tools/bench/runner.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A pipe could keep pmctl waiting for its other end. */
static int open_input(const char *path, int *fd)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (*fd < 0)
		return tool_fail(EXIT_FAIL, "cannot open --input %s: %s", path, strerror(errno));
	if (fstat(*fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)))
		return tool_fail(EXIT_FAIL,
				 "cannot use --input %s: it is neither a file nor a device", path);
	fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK);
	return 0;
}

static int open_output(struct bench *bench, const char *path)
{
	bench->io[1] = tool_open_output(path, EXIT_FAIL);
	return bench->io[1] < 0 ? -bench->io[1] : 0;
}

int bench_open_files(struct bench *bench)
{
	const char *output = bench->output ? bench->output : "null";
	int code = open_input(bench->input ? bench->input : "/dev/null", &bench->io[0]);

	if (code || !strcmp(output, "inherit"))
		return code;
	if (strcmp(output, "null"))
		return open_output(bench, output);
	code = open_output(bench, "/dev/null");
	bench->io[2] = bench->io[1];
	return code;
}

int bench_shell(const char *flag, const char *line)
{
	int status, error = line ? bench_line(line, &status) : 0;

	if (error)
		return tool_fail(EXIT_FAIL, "cannot start %s '%s': %s", flag, line,
				 strerror(error));
	if (!line || status == 0 || bench_signalled())
		return 0;
	if (WIFSIGNALED(status))
		return tool_fail(EXIT_FAIL, "%s '%s' was killed by signal %d", flag, line,
				 WTERMSIG(status));
	return tool_fail(EXIT_FAIL, "%s '%s' failed with exit status %d", flag, line,
			 WEXITSTATUS(status));
}
