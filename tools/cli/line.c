/* SPDX-License-Identifier: MIT */
/* line.c - lines of standard output that may contain untrusted text, and their width. */
#include "lib/base/utf8.h"
#include "tools/view/report.h"
#include "lib/dump/words.h"
#include "tools/cli/pmctl.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(int columns, const char *format, va_list args)
{
	/* An escape takes up to four times the bytes, a wrapped word two more. */
	char text[2048], line[4 * sizeof(text)], wrapped[2 * sizeof(line)];
	struct pmc_out out;

	vsnprintf(text, sizeof(text), format, args);
	pmc_out_to_mem(&out, line, sizeof(line));
	pmc_utf8_safe(&out, text, strlen(text), 0);
	pmc_out_to_mem(&out, wrapped, sizeof(wrapped));
	pmc_show_wrapped(&out, line, columns ? columns : INT_MAX);
	fputs(wrapped, stdout);
}

void tool_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(0, format, args);
	va_end(args);
}

void tool_wrapped_line(int columns, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(columns, format, args);
	va_end(args);
}

int tool_columns(int fd)
{
	struct pmc_screen screen;

	pmc_screen_from_env(&screen, environ);
	pmc_screen_of_fd(&screen, fd);
	return screen.width;
}
