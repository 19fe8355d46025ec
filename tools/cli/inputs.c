/* SPDX-License-Identifier: MIT */
/* inputs.c - reads the dumps of a command line, and says which it could not read. */
#include "lib/base/out.h"
#include "lib/dump/frame.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/rows/packed.h"
#include "tools/rows/zstd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Beside those of input_reader: of a directory. */
#define INPUT_NO_DUMPS (INPUT_FATAL + 1)
#define INPUT_DAMAGED  (INPUT_FATAL + 2) /* INPUT_FOREIGN, but starts as a dump does */

enum { NAMED = 6 }; /* names of inputs in the warning */

#define NOT_SEARCHED "sub-directories are not searched: name them, such as DIR/*"
#define WAITING                                                                                    \
	"nothing was recorded, or its process runs and has not written yet; pmctl dump PID "       \
	"writes now"

struct inputs {
	input_reader *read;
	void *to;
	unsigned good, bad;
	bool some_empty, some_directory; /* in a directory, which is not searched */
	char left_out[2048];		 /* the bad ones and why, as far as they fit */
	struct pmc_out out;
};

static const char *why(int problem)
{
	return problem == INPUT_EMPTY	 ? "empty" :
	       problem == INPUT_FOREIGN	 ? "no valid frame" :
	       problem == INPUT_NO_DUMPS ? "no dump in it" :
	       problem == INPUT_DAMAGED	 ? "damaged or cut off" :
	       problem == -PMC_NO_ZSTD	 ? pmc_zstd_load() :
					   strerror(-problem);
}

/* INPUT_FATAL, or 0 with an input that cannot be read left out. */
static int leave_out(struct inputs *inputs, const char *name, int problem)
{
	if (!problem || problem == INPUT_FATAL)
		return problem;
	if (inputs->bad++ < NAMED)
		pmc_outf(&inputs->out, "%s%.256s (%s)", inputs->bad > 1 ? ", " : "", name,
			 why(problem));
	inputs->some_empty |= problem == INPUT_EMPTY;
	return 0;
}

static int read_file(struct inputs *inputs, int fd, const char *name)
{
	uint8_t head[PMC_MAGIC_BYTES];
	int problem;

	if (fd < 0)
		return fd;
	problem = inputs->read(inputs->to, fd, name);
	if (problem == INPUT_FOREIGN && pmc_is_dump(head, pread(fd, head, sizeof(head), 0)))
		problem = INPUT_DAMAGED;
	if (fd != STDIN_FILENO)
		close(fd);
	inputs->good += !problem;
	return problem;
}

static int no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Foreign files are not read, unless the name is that of a dump, which may be damaged. Not named is
 * what is no file. */
static int read_entry(struct inputs *inputs, const char *path)
{
	uint8_t head[PMC_MAGIC_BYTES];
	struct stat st;
	ssize_t n;
	int fd;

	/* Opening a device may act on it, and closing a pipe ends its writer. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		inputs->some_directory |= S_ISDIR(st.st_mode);
		return 0;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = pread(fd, head, sizeof(head), 0);
	if (pmc_is_dump(head, n) || (n && !fnmatch("*.pmc", path, 0)))
		return read_file(inputs, fd, path);
	close(fd);
	return n ? INPUT_FOREIGN : INPUT_EMPTY;
}

static int read_directory(struct inputs *inputs, const char *path)
{
	const unsigned before = inputs->good;
	struct dirent **entries;
	int n = scandir(path, &entries, no_dot, alphasort), problem = n < 0 ? -errno : 0;
	int len = (int)strlen(path);

	/* A shell completes DIR/. */
	while (len > 1 && path[len - 1] == '/')
		len--;

	for (int i = 0; i < n; i++) {
		char name[PATH_MAX];

		snprintf(name, sizeof(name), "%.*s/%s", len, path, entries[i]->d_name);
		if (!problem)
			problem = leave_out(inputs, name, read_entry(inputs, name));
		free(entries[i]);
	}
	if (problem)
		return problem;
	free(entries);
	return inputs->good > before ? 0 : INPUT_NO_DUMPS;
}

static int read_path(struct inputs *inputs, const char *path)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "-"))
		return read_file(inputs, STDIN_FILENO, "standard input");
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_directory(inputs, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return read_file(inputs, fd < 0 ? -errno : fd, path);
}

/* A path, or where there is none a pattern that no shell has replaced. */
static int read_pattern(struct inputs *inputs, const char *path)
{
	int problem = read_path(inputs, path);
	glob_t found;

	if (problem != -ENOENT || !strpbrk(path, "*?[") || glob(path, 0, NULL, &found))
		return problem;
	problem = 0;
	for (size_t i = 0; i < found.gl_pathc && !problem; i++)
		problem =
			leave_out(inputs, found.gl_pathv[i], read_path(inputs, found.gl_pathv[i]));
	globfree(&found);
	return problem;
}

/* Of a program in the place of a dump. */
#define RUNS "pmctl %s %s runs the program"

static const char *how_to_run(void)
{
	return strcmp(tool_command_name, "explain") ? "run -o FILE" : "explain --";
}

/* A command and its arguments in the place of dumps. */
static int fail_all(const struct inputs *inputs, const char *const *paths)
{
	char program[PATH_MAX], hint[200] = "";

	if (access(paths[0], F_OK) != 0 && tool_find_command_file(paths[0], program))
		snprintf(hint, sizeof(hint), "; " RUNS, how_to_run(), paths[0]);
	return tool_fail(EXIT_FAIL, "no dump among %u inputs: %s%s%s%s", inputs->bad,
			 inputs->left_out, inputs->some_empty ? "; empty: " WAITING : "",
			 inputs->some_directory ? "; " NOT_SEARCHED : "", hint);
}

static int fail_only(const struct inputs *inputs, const char *path, int problem)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	const char *how = how_to_run();
	char program[PATH_MAX];

	if (problem == INPUT_EMPTY)
		return tool_fail(EXIT_FAIL, "%s is empty: " WAITING, name);
	if (problem == INPUT_NO_DUMPS)
		return tool_fail(EXIT_FAIL, "%s has no dump in it%s%s; %s", name,
				 inputs->bad ? ": " : "", inputs->left_out,
				 inputs->some_directory ? NOT_SEARCHED :
							  "PMC_OUT or pmctl run -o writes one");
	if (problem == INPUT_DAMAGED)
		return tool_fail(EXIT_FAIL,
				 "cannot read %s: it is damaged or cut off: no frame is whole; "
				 "record it or copy it again",
				 name);
	if (problem == INPUT_FOREIGN && access(path, X_OK) == 0)
		return tool_fail(EXIT_FAIL, "%s is a program, not a dump; " RUNS, name, how, name);
	if (problem == -ENOENT && tool_find_command_file(path, program))
		return tool_fail(EXIT_FAIL, "cannot read %s: no file has this name; " RUNS, name,
				 how, name);
	if (problem == INPUT_FOREIGN)
		return tool_fail(EXIT_FAIL,
				 "%s is not a dump: it has no valid frame; PMC_OUT or "
				 "pmctl run -o writes one",
				 name);
	return tool_fail(EXIT_FAIL, "cannot read %s: %s%s", name, why(problem),
			 problem == -ENOENT ? "; PMC_OUT or pmctl run -o names the dump" : "");
}

/* Of files; 0: not known. */
static uint64_t bytes_of(const char *const *paths, unsigned n)
{
	uint64_t bytes = 0;
	struct stat st;

	for (unsigned i = 0; i < n; i++) {
		if (stat(paths[i], &st) != 0 || !S_ISREG(st.st_mode))
			return 0;
		bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

int tool_inputs_read(const char *const *paths, unsigned n, input_reader *read, void *to)
{
	struct inputs inputs = { .read = read, .to = to };
	int problem = 0;

	pmc_out_to_mem(&inputs.out, inputs.left_out, sizeof(inputs.left_out));
	tool_progress_begin("reading dumps", bytes_of(paths, n));
	for (unsigned i = 0; i < n && problem != INPUT_FATAL; i++) {
		problem = read_pattern(&inputs, paths[i]);
		if (n > 1)
			problem = leave_out(&inputs, paths[i], problem);
	}
	if (inputs.bad > NAMED)
		pmc_outf(&inputs.out, " and %u more", inputs.bad - NAMED);
	tool_progress_end();
	if (problem == INPUT_FATAL)
		return EXIT_FAIL;
	if (!inputs.good && n == 1 && problem)
		return fail_only(&inputs, paths[0], problem);
	if (!inputs.good)
		return fail_all(&inputs, paths);
	if (inputs.bad)
		tool_warn("left out: %s%s", inputs.left_out,
			  inputs.some_empty ? "; empty: " WAITING : "");
	return EXIT_OK;
}
