/* SPDX-License-Identifier: MIT */
/* output.c - files that commands write, and lines of standard output with untrusted text. */
#include "lib/dump/output.h"
#include "tools/cli/pmctl.h"
#include "lib/base/utf8.h"
#include "tools/view/report.h"
#include "lib/dump/words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *tool_output_why(int error)
{
	const char *why = pmc_output_why(error);

	return why ? why : strerror(-error);
}

int tool_open_dump(const char *path, bool create, struct stat *st)
{
	int fd = pmc_dump_open(path, create, st);

	if (fd < 0 || !pmc_is_standard_file(fd))
		return fd;
	close(fd);
	return -EBUSY;
}

int tool_open_text(const char *path)
{
	const int stream = !strcmp(path, "/dev/stdout") ? STDOUT_FILENO :
			   !strcmp(path, "/dev/stderr") ? STDERR_FILENO :
							  -1;
	int fd;

	if (stream >= 0) {
		fd = fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		return fd < 0 ? -errno : fd;
	}
	fd = pmc_text_open(path);
	/* The pipe had a reader when it was opened; writes may block from here on. */
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

int tool_open_output(const char *path, int code)
{
	int fd, error;

	if (strcmp(path, "-") == 0)
		return STDOUT_FILENO;
	fd = tool_open_text(path);
	error = fd < 0 ? fd : pmc_text_empty(fd);
	if (!error)
		return fd;
	if (fd >= 0)
		close(fd);
	return -tool_fail(code, "cannot write %s: %s", path, tool_output_why(error));
}

/* Where the path's last component is. */
static int stat_directory(const char *path, const char **name, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	*name = slash ? slash + 1 : path;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
	return stat(dir, st);
}

bool tool_same_file(const char *a, const char *b)
{
	const char *a_name, *b_name;
	struct stat x, y;
	bool there, b_there;

	if (!strcmp(a, "-") || !strcmp(b, "-"))
		return false;
	there = stat(a, &x) == 0;
	b_there = stat(b, &y) == 0;
	if (there != b_there || (there && !S_ISREG(x.st_mode)))
		return false;
	if (!there && (stat_directory(a, &a_name, &x) != 0 || stat_directory(b, &b_name, &y) != 0 ||
		       strcmp(a_name, b_name) != 0))
		return false;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int tool_refuse_overwrite(const char *flag, const char *path, const char *other, const char *what)
{
	if (!other || !tool_same_file(path, other))
		return 0;
	return tool_fail(EXIT_USAGE, "%s %s would overwrite %s; name another file", flag, path,
			 what);
}

/* ---- lines of standard output --------------------------------------------------------------- */

void tool_wrapped_line(int columns, const char *format, ...)
{
	/* An escape takes up to four times the bytes, a wrapped word two more. */
	char text[2048], line[4 * sizeof(text)], wrapped[2 * sizeof(line)];
	struct pmc_out out;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pmc_out_to_mem(&out, line, sizeof(line));
	pmc_utf8_safe(&out, text, strlen(text), 0);
	pmc_out_to_mem(&out, wrapped, sizeof(wrapped));
	pmc_show_wrapped(&out, line, columns ? columns : INT_MAX);
	fputs(wrapped, stdout);
}

int tool_columns(int fd)
{
	struct pmc_screen screen;

	pmc_screen_from_env(&screen, environ);
	pmc_screen_of_fd(&screen, fd);
	return screen.width;
}
