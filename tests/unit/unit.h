/* SPDX-License-Identifier: MIT */
/* unit.h - cmocka, behind the headers that it needs, and what several tests check. */
#ifndef PMC_TESTS_UNIT_UNIT_H
#define PMC_TESTS_UNIT_UNIT_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no\n%s\nin\n%s", part, text);
}

static inline void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("unexpected\n%s\nin\n%s", part, text);
}

/* The number of open descriptors of this process. */
static inline unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
