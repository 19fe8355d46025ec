/* SPDX-License-Identifier: MIT */
/* error.c - the one line an error or a warning gets, as text or as a JSON object. */
#include "agent/core/base/json.h"
#include "tools/cli/pmctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool tool_json_errors;
const char *tool_command_name;

static void harmless(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* In one write, so that lines of several processes do not mix. Where stderr itself is closed
 * there is nobody left to tell. */
static void put(const char *kind, int code, const char *text)
{
	char line[3000];
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
		pmc_outf(&out, "pmctl%s%s: %s%s\n", tool_command_name ? " " : "",
			 tool_command_name ? tool_command_name : "", code ? "" : "warning: ", text);
	}
	(void)pmc_out_flush(&out);
}

int tool_fail(int code, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	harmless(text);
	put("error", code, text);
	return code;
}

void tool_warn(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	harmless(text);
	put("warning", 0, text);
}
