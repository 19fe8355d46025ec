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

/* Opens a file of --input or --output. A pipe could keep pmctl waiting for its other end. */
static int open_plain(const char *flag, const char *path, int how, int *fd)
{
	struct stat st;

	*fd = open(path, how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	if (*fd < 0)
		return tool_fail(EXIT_FAIL, "cannot open %s %s: %s", flag, path, strerror(errno));
	if (fstat(*fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)))
		return tool_fail(EXIT_FAIL, "cannot use %s %s: it is neither a file nor a device",
				 flag, path);
	fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK);
	return 0;
}

int bench_open_files(struct bench *bench)
{
	const int how = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
	int code = open_plain("--input", bench->input ? bench->input : "/dev/null", O_RDONLY,
			      &bench->io[0]);

	if (code || (bench->output && !strcmp(bench->output, "inherit")))
		return code;
	if (bench->output && strcmp(bench->output, "null"))
		return open_plain("--output", bench->output, how, &bench->io[1]);
	code = open_plain("--output", "/dev/null", O_WRONLY, &bench->io[1]);
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
