/* SPDX-License-Identifier: MIT */
/* inputs.c - reads the dumps of a command line, and says which it could not read. */
#include "lib/base/out.h"
#include "lib/dump/frame.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside those of input_reader: of a directory. */
#define INPUT_NO_DUMPS (INPUT_FATAL + 1)

#define WAITING "nothing was recorded, or its process runs and has not written yet"

struct inputs {
	input_reader *read;
	void *to;
	unsigned good, bad;
	bool some_empty;
	char left_out[1024]; /* the bad ones and why, as far as they fit */
	struct pmc_out out;
};

static const char *why(int problem)
{
	return problem == INPUT_EMPTY	 ? "empty" :
	       problem == INPUT_FOREIGN	 ? "no valid frame" :
	       problem == INPUT_NO_DUMPS ? "no dump in it" :
					   strerror(-problem);
}

static void leave_out(struct inputs *inputs, const char *name, int problem)
{
	if (inputs->bad++ < 8)
		pmc_outf(&inputs->out, "%s%.256s (%s)", inputs->bad > 1 ? ", " : "", name,
			 why(problem));
	inputs->some_empty |= problem == INPUT_EMPTY;
}

static int read_file(struct inputs *inputs, int fd, const char *name)
{
	int problem;

	if (fd < 0)
		return fd;
	problem = inputs->read(inputs->to, fd, name);
	if (fd != STDIN_FILENO)
		close(fd);
	inputs->good += !problem;
	return problem;
}

static int no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && entry->d_type != DT_DIR;
}

/* Other files in the directory than dumps are nobody's mistake: -ENOMSG, without reading them. A
 * damaged dump is told by its name. */
static int open_entry(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint8_t head[PMC_MAGIC_BYTES];
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (pmc_is_dump(head, pread(fd, head, sizeof(head), 0)) || fnmatch("*.pmc", name, 0) == 0))
		return fd;
	close(fd);
	return -ENOMSG;
}

static int read_directory(struct inputs *inputs, int dir, const char *path)
{
	const unsigned before = inputs->good;
	struct dirent **entries;
	int n = scandir(path, &entries, no_dot, alphasort), problem = n < 0 ? -errno : 0;

	for (int i = 0; i < n; i++) {
		char name[PATH_MAX];
		int fd;

		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		fd = problem == INPUT_FATAL ? -1 : open_entry(dir, entries[i]->d_name);
		if (problem != INPUT_FATAL && fd != -ENOMSG)
			problem = read_file(inputs, fd, name);
		if (problem && problem != INPUT_FATAL) {
			leave_out(inputs, name, problem);
			problem = 0;
		}
		free(entries[i]);
	}
	if (n < 0 || problem == INPUT_FATAL)
		return problem;
	free(entries);
	return inputs->good > before ? 0 : INPUT_NO_DUMPS;
}

static int read_path(struct inputs *inputs, const char *path)
{
	int dir, fd, problem;

	if (!strcmp(path, "-"))
		return read_file(inputs, STDIN_FILENO, "standard input");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		return read_file(inputs, fd < 0 ? -errno : fd, path);
	}
	problem = read_directory(inputs, dir, path);
	close(dir);
	return problem;
}

/* A path, or where there is none a pattern that no shell has replaced. */
static int read_pattern(struct inputs *inputs, const char *path)
{
	int problem = read_path(inputs, path);
	glob_t found;

	if (problem != -ENOENT || !strpbrk(path, "*?[") || glob(path, 0, NULL, &found))
		return problem;
	for (size_t i = 0; i < found.gl_pathc && problem != INPUT_FATAL; i++) {
		problem = read_path(inputs, found.gl_pathv[i]);
		if (problem && problem != INPUT_FATAL) {
			leave_out(inputs, found.gl_pathv[i], problem);
			problem = 0;
		}
	}
	globfree(&found);
	return problem;
}

static int fail_only(const char *path, int problem)
{
	const char *name = strcmp(path, "-") ? path : "standard input";

	if (problem == INPUT_EMPTY)
		return tool_fail(EXIT_FAIL, "%s is empty: " WAITING "; pmctl dump PID writes now",
				 name);
	if (problem == INPUT_NO_DUMPS)
		return tool_fail(EXIT_FAIL,
				 "%s has no dump in it; PMC_OUT or pmctl run -o writes one", name);
	if (problem == INPUT_FOREIGN)
		return tool_fail(EXIT_FAIL,
				 "%s is not a dump: it has no valid frame; PMC_OUT or "
				 "pmctl run -o writes one",
				 name);
	return tool_fail(EXIT_FAIL, "cannot read %s: %s%s", name, strerror(-problem),
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
		if (problem && problem != INPUT_FATAL)
			leave_out(&inputs, paths[i], problem);
	}
	tool_progress_end();
	if (problem == INPUT_FATAL)
		return EXIT_FAIL;
	if (!inputs.good && n == 1 && problem)
		return fail_only(paths[0], problem);
	if (inputs.bad > 8)
		tool_warn("%u inputs could not be read; the first are named", inputs.bad);
	if (!inputs.good)
		return tool_fail(EXIT_FAIL, "no dump among %u inputs: %s%s", inputs.bad,
				 inputs.left_out, inputs.some_empty ? "; empty: " WAITING : "");
	if (inputs.bad)
		tool_warn("left out: %s%s", inputs.left_out,
			  inputs.some_empty ? "; empty: " WAITING : "");
	return EXIT_OK;
}
