/* SPDX-License-Identifier: MIT */
/*
 * capture.h - golden files of whole commands: each command line and what it prints.
 *
 * A command runs in a forked child, in an environment of its own. In the file a line "$ pmctl ..."
 * comes first, then standard output, then lines of standard error after "! ", then an exit status
 * other than 0.
 */
#ifndef PMC_TESTS_UNIT_CAPTURE_H
#define PMC_TESTS_UNIT_CAPTURE_H

#include "tests/unit/golden.h"
#include "tools/cli/pmctl.h"

#include <sys/wait.h>

static FILE *capture_file;
static char *capture_text;
static size_t capture_bytes;
static const char *capture_dir;	   /* where commands run; NULL: here */
static const char *capture_locale; /* NULL: UTF-8 */
static int capture_columns;	   /* COLUMNS; 0: none */

static inline void capture_begin(void)
{
	capture_file = open_memstream(&capture_text, &capture_bytes);
	assert_non_null(capture_file);
}

static inline void capture_end(const char *name)
{
	assert_int_equal(fclose(capture_file), 0);
	assert_golden(capture_text, name);
	free(capture_text);
}

static inline void capture_set_environment(void)
{
	char columns[16];

	clearenv();
	setenv("LC_ALL", capture_locale ? capture_locale : "C.UTF-8", 1);
	setenv("TZ", "UTC", 1);
	snprintf(columns, sizeof(columns), "%d", capture_columns);
	if (capture_columns)
		setenv("COLUMNS", columns, 1);
}

static inline void capture_copy(FILE *from, const char *before)
{
	char line[1 << 16];

	rewind(from);
	while (fgets(line, sizeof(line), from))
		fprintf(capture_file, "%s%s", before, line);
	fclose(from);
}

/* words: separated by one space, without quotes. */
static inline void capture_run(const char *words)
{
	FILE *out = tmpfile(), *err = tmpfile();
	char *copy = strdup(words), *argv[64], *at = copy;
	int status, argc = 0;
	pid_t pid;

	assert_true(out && err && copy);
	if (capture_columns)
		fprintf(capture_file, "$ COLUMNS=%d %s\n", capture_columns, words);
	else
		fprintf(capture_file, "$ %s\n", words);
	while ((argv[argc] = strsep(&at, " ")))
		assert_true(++argc < 63);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		capture_set_environment();
		if (capture_dir && chdir(capture_dir))
			_exit(99);
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		status = tool_main(argc, argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	free(copy);
	capture_copy(out, "");
	capture_copy(err, "! ");
	if (WIFSIGNALED(status))
		fprintf(capture_file, "killed by signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(capture_file, "exit status %d\n", WEXITSTATUS(status));
	fputc('\n', capture_file);
}

static inline void capture_list(const char *const *lines, unsigned n, const char *more)
{
	char words[1024];

	for (unsigned i = 0; i < n; i++) {
		snprintf(words, sizeof(words), "%s%s", lines[i], more);
		capture_run(words);
	}
}

/* NAME.60, NAME.100 and NAME.200: with `more` and that number, or with COLUMNS if it is NULL. */
static inline void capture_widths(const char *name, const char *const *lines, unsigned n,
				  const char *more)
{
	static const int widths[] = { 60, 100, 200 };
	char file[64], flag[32];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(file, sizeof(file), "%s.%d", name, widths[i]);
		snprintf(flag, sizeof(flag), "%s%d", more ? more : "", widths[i]);
		capture_columns = more ? 0 : widths[i];
		capture_begin();
		capture_list(lines, n, more ? flag : "");
		capture_end(file);
	}
	capture_columns = 0;
}

#endif
