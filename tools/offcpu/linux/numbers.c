/* SPDX-License-Identifier: MIT */
/*
 * numbers.c - numbers of threads in other PID namespaces (containers, unshare -p).
 *
 * Records have the numbers of pmctl's namespace, rows those of their own, which /proc knows while
 * the thread lives.
 */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/offcpu/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t off_namespace(const char *pid)
{
	char path[64], text[40]; /* pid:[4026531836] */
	const char *at = text + 5;
	uint64_t inode = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	n = readlink(path, text, sizeof(text) - 1);
	if (n > 5)
		pmc_number_take(&at, text + n, 10, &inode);
	return inode;
}

/* "NSpid:\t4711\t1": the numbers from the outermost namespace to the thread's own. False: there is
 * one only, so that is pmctl's. */
static bool innermost(const char *text, const char *name, uint32_t *number)
{
	const char *line = strstr(text, name), *end, *last = NULL;
	unsigned n = 0;

	if (!line)
		return false;
	end = line + strcspn(line + 1, "\n") + 1;
	for (const char *at = line; at < end; at++)
		if (*at == '\t') {
			last = at + 1;
			n++;
		}
	if (n < 2)
		return false;
	*number = (uint32_t)strtoul(last, NULL, 10);
	return true;
}

bool off_numbers_read(uint32_t tid, struct off_numbers *numbers)
{
	char text[16384], name[16];
	struct off_numbers inner;

	if (pmc_file_read(text, sizeof(text), "/proc/%u/status", tid) <= 0)
		return false;
	if (!innermost(text, "\nNStgid:", &inner.pid) || !innermost(text, "\nNSpid:", &inner.tid))
		return true;
	snprintf(name, sizeof(name), "%u", tid);
	inner.pid_namespace = off_namespace(name);
	if (!inner.pid_namespace)
		return false;
	*numbers = inner;
	return true;
}
