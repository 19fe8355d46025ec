/* SPDX-License-Identifier: MIT */
/*
 * stale.c - serves a line, whose handler leaves return addresses in the stack, then waits for the
 * next one in a function whose buffer they are in. Prints "ready" after the first line.
 *
 * prog-flags: -fno-omit-frame-pointer
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

typedef int handler(const char *line);

NOINLINE static int deep(const char *line, int depth)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %d", line, depth);
	return depth ? deep(text, depth - 1) + 1 : (int)strlen(text);
}

NOINLINE static int handle(const char *line)
{
	return deep(line, 8);
}

NOINLINE static int next_request(handler *call)
{
	char line[1024];
	const ssize_t n = read(0, line, sizeof(line) - 1);

	if (n <= 0)
		return 0;
	line[n] = '\0';
	return call(line);
}

int main(void)
{
	handler *volatile call = handle;

	while (next_request(call)) {
		puts("ready");
		fflush(stdout);
	}
	return 0;
}
