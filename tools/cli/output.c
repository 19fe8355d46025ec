/* SPDX-License-Identifier: MIT */
/*
 * output.c - what commands write: errors and warnings, files, and lines with untrusted text.
 *
 * Messages may contain untrusted text, such as paths named by another process: control characters
 * are escaped here for all commands.
 */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "lib/dump/output.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/view/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- errors: one line on stderr, as text or as a JSON object -------------------------------- */

bool tool_json_errors;
const char *tool_program = "pmctl", *tool_command_name;

static char *kept;
static size_t kept_cap;

void tool_keep_errors(char *text, size_t cap)
{
	kept = text;
	kept_cap = cap;
	if (text)
		text[0] = '\0';
}

/* One write, so that the lines of several processes do not mix. */
static void put(const char *kind, int code, const char *text)
{
	char line[8192]; /* an escape takes up to ten bytes for one to four */
	struct pmc_out out;
	struct pmc_json json;

	tool_progress_hide();
	pmc_out_to_fd(&out, STDERR_FILENO, line, sizeof(line));
	if (tool_json_errors) {
		pmc_json_init(&json, &out);
		pmc_json_object(&json, NULL);
		pmc_json_object(&json, kind);
		pmc_json_str(&json, "command", tool_command_name);
		if (code)
			pmc_json_i64(&json, "code", code);
		pmc_json_str(&json, "message", text);
		pmc_json_object_end(&json);
		pmc_json_object_end(&json);
		pmc_out_char(&out, '\n');
	} else {
		pmc_outf(&out, "%s%s%s: %s", tool_program, tool_command_name ? " " : "",
			 tool_command_name ? tool_command_name : "", code ? "" : "warning: ");
		pmc_utf8_safe(&out, text, strlen(text), 0);
		pmc_out_char(&out, '\n');
	}
	(void)pmc_out_flush(&out);
}

static void say(const char *kind, int code, const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	if (kept)
		snprintf(kept, kept_cap, "%s", text);
	else
		put(kind, code, text);
}

int tool_fail(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("error", code, format, args);
	va_end(args);
	return code;
}

int tool_fail_write(const char *where, int error)
{
	if (error == EPIPE)
		return EXIT_FAIL;
	return tool_fail(EXIT_FAIL, "cannot write %s: %s", where, strerror(error));
}

void tool_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("warning", 0, format, args);
	va_end(args);
}

int tool_fail_unknown(const char *what, const char *word, const char *nearest,
		      const char *otherwise)
{
	if (nearest)
		return tool_fail(EXIT_USAGE, "%s '%s'; did you mean '%s'?", what, word, nearest);
	return tool_fail(EXIT_USAGE, "%s '%s'; %s", what, word, otherwise);
}

/* ---- files ---------------------------------------------------------------------------------- */

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

int tool_keep_old(const char *path, int code, const char *otherwise)
{
	bool replaces = false;
	char old[TOOL_OLD_MAX];
	struct stat st;
	int fd, error = 0;

	snprintf(old, sizeof(old), "%s.old", path);
	fd = open(old, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		error = pmc_dump_check(fd, &st);
		replaces = true;
		close(fd);
	} else if (errno != ENOENT) {
		error = -errno;
	}
	if (!error && rename(path, old) != 0)
		error = -errno;
	if (error)
		return tool_fail(code, "cannot keep the existing dump as %s: %s", old,
				 tool_output_why(error));
	tool_warn("%s exists: kept as %s%s%s", path, old,
		  replaces ? ", which replaces an older one" : "", otherwise);
	return 0;
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

int tool_make_dir(char dir[PATH_MAX], const char *command, const char *keeps)
{
	const char *tmp = getenv("TMPDIR");
	char *real;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	real = realpath(tmp, NULL);
	snprintf(dir, PATH_MAX, "%s/pmctl-%s-XXXXXX", real ? real : tmp, command);
	free(real);
	if (mkdtemp(dir))
		return 0;
	dir[0] = '\0';
	return tool_fail(EXIT_OURS,
			 "cannot make a private dump in %s: %s; set TMPDIR to another directory%s",
			 tmp, strerror(errno), keeps);
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

/* The file, with *name "", or where there is none its directory, with its name there. */
static bool locate(const char *path, const char **name, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	*name = "";
	if (stat(path, st) == 0)
		return S_ISREG(st->st_mode);
	*name = slash ? slash + 1 : path;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
	return stat(dir, st) == 0;
}

bool tool_same_file(const char *a, const char *b)
{
	const char *a_name, *b_name;
	struct stat x, y;

	return strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && locate(a, &a_name, &x) &&
	       locate(b, &b_name, &y) && !strcmp(a_name, b_name) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int tool_refuse_overwrite(const char *flag, const char *path, const char *other, const char *what)
{
	if (!other || !tool_same_file(path, other))
		return 0;
	return tool_fail(EXIT_USAGE, "%s %s would overwrite %s; name another file", flag, path,
			 what);
}

/* ---- lines of standard output --------------------------------------------------------------- */

void tool_indented_line(int columns, int indent, const char *format, ...)
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
	pmc_show_indented(&out, line, columns ? columns : INT_MAX, indent);
	fputs(wrapped, stdout);
}

int tool_columns(int fd)
{
	struct pmc_screen screen;

	pmc_screen_from_env(&screen, environ);
	pmc_screen_of_fd(&screen, fd);
	return screen.width;
}
