/* SPDX-License-Identifier: MIT */
/* golden.h - compares output with files of tests/golden; with UPDATE=1 writes them instead. */
#ifndef PMC_TESTS_UNIT_GOLDEN_H
#define PMC_TESTS_UNIT_GOLDEN_H

#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void golden_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		fail_msg("cannot write %s", path);
}

/* *text is "" if there is no file; the caller frees it. */
static inline char *golden_read(const char *path)
{
	const size_t cap = 4 << 20;
	char *text = calloc(1, cap);
	FILE *file = fopen(path, "r");

	assert_non_null(text);
	if (file) {
		assert_true(fread(text, 1, cap - 1, file) < cap - 1);
		fclose(file);
	}
	return text;
}

/* Shows the first differences. */
static inline void golden_differs(const char *path, const char *text)
{
	char got[] = "/tmp/pmc-golden-XXXXXX", command[512];
	int fd = mkstemp(got);

	assert_true(fd >= 0);
	close(fd);
	golden_write(got, text);
	snprintf(command, sizeof(command), "diff -u %s %s | head -n 60 | sed 's/^/# /' >&2", path,
		 got);
	fflush(NULL);
	if (system(command))
		fprintf(stderr, "# cannot run diff\n");
	unlink(got);
	fail_msg("%s differs; if that is intended: make check-golden UPDATE=1", path);
}

static inline void assert_golden(const char *text, const char *name)
{
	const char *update = getenv("UPDATE");
	char path[256], *want;
	bool same;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (update && !strcmp(update, "1")) {
		golden_write(path, text);
		return;
	}
	want = golden_read(path);
	same = !strcmp(want, text);
	free(want);
	if (!same)
		golden_differs(path, text);
}

#endif
