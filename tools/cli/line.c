/* SPDX-License-Identifier: MIT */
/* line.c - lines of standard output that may contain untrusted text. */
#include "agent/core/base/utf8.h"
#include "tools/cli/pmctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tool_line(const char *format, ...)
{
	char text[2048], line[4 * sizeof(text)]; /* an escape takes up to four times the bytes */
	struct pmc_out out;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pmc_out_to_mem(&out, line, sizeof(line));
	pmc_utf8_safe(&out, text, strlen(text), 0);
	puts(line);
}
