/* SPDX-License-Identifier: MIT */
/*
 * error.c - errors and warnings: one line on stderr, as text or as a JSON object.
 *
 * Messages may contain untrusted text, such as paths named by another process: control characters
 * are escaped here for all commands.
 */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool tool_json_errors;
const char *tool_command_name;

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

	pmc_out_to_fd(&out, STDERR_FILENO, line, sizeof(line));
	if (tool_json_errors) {
		pmc_json_init(&json, &out, false);
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
		pmc_outf(&out, "pmctl%s%s: %s", tool_command_name ? " " : "",
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
