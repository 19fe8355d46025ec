/* SPDX-License-Identifier: MIT */
/* cmd_merge.c - pmctl merge: any number of dumps into one, losslessly and in canonical order. */
#include "tools/merge/merge.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
	char **files; /* points into argv */
	int n_files;
	const char *out;
	bool compact;
};

static int unknown_flag(const char *flag)
{
	const char *near = tool_nearest_flag("merge", flag);

	if (near)
		return tool_fail(EXIT_USAGE, "there is no flag '%s'; did you mean '%s'?", flag,
				 near);
	return tool_fail(EXIT_USAGE, "there is no flag '%s'; see pmctl merge --help", flag);
}

/* Files are gathered at the front of argv. */
static int parse(int argc, char **argv, struct request *request)
{
	bool flags = true;

	request->files = argv;
	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];

		if (!flags || arg[0] != '-' || !arg[1]) {
			request->files[request->n_files++] = arg;
		} else if (strcmp(arg, "--") == 0) {
			flags = false;
		} else if (strcmp(arg, "--compact") == 0) {
			request->compact = true;
		} else if (strcmp(arg, "-o") == 0) {
			if (++i == argc)
				return tool_fail(EXIT_USAGE, "-o needs the dump to write");
			if (request->out)
				return tool_fail(EXIT_USAGE, "-o may be given once");
			request->out = argv[i];
		} else {
			return unknown_flag(arg);
		}
	}
	if (!request->n_files)
		return tool_fail(EXIT_USAGE, "which dumps? pmctl merge FILE... -o OUT");
	if (!request->out || !request->out[0])
		return tool_fail(EXIT_USAGE, "where to? add -o OUT (- is standard output)");
	return EXIT_OK;
}

static const char *shown(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int merge_trouble(const struct merge *merge, const char *what, const char *name, int error)
{
	const char *spill = merge_spill_trouble(merge);

	if (spill)
		return tool_fail(EXIT_FAIL,
				 "temporary files in %s: %s; set TMPDIR to a directory with room",
				 spill, strerror(-error));
	return tool_fail(EXIT_FAIL, "cannot %s %s: %s", what, name, strerror(-error));
}

/* One input. What it held is added to *all. False: it is nothing that can be merged, and that
 * has been said. *broken is set when there is no use in going on. */
static bool add_file(struct merge *merge, const char *path, struct merge_input *all, bool *broken)
{
	const char *name = shown(path);
	struct merge_input seen;
	int fd = STDIN_FILENO, error;

	if (strcmp(path, "-") != 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		tool_fail(EXIT_FAIL, "cannot open %s: %s", name, strerror(errno));
		return false;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	error = merge_add_fd(merge, fd, &seen);
	if (fd != STDIN_FILENO)
		close(fd);
	if (error) {
		*broken = merge_spill_trouble(merge) || error == -ENOMEM;
		merge_trouble(merge, "read", name, error);
		return false;
	}
	all->good += seen.good;
	all->damaged += seen.damaged;
	if (!seen.bytes) {
		tool_fail(EXIT_FAIL, "%s is empty: no dump", name);
		return false;
	}
	if (!seen.good && !seen.magic) {
		tool_fail(EXIT_FAIL, "%s is not a dump", name);
		return false;
	}
	if (!seen.good)
		tool_warn("%s: not one good frame left, %" PRIu64 " damaged", name, seen.damaged);
	else if (seen.damaged)
		tool_warn("%s: %" PRIu64 " damaged frame%s skipped", name, seen.damaged,
			  seen.damaged == 1 ? "" : "s");
	return true;
}

static int merge_all(struct merge *merge, const struct request *request,
		     struct merge_output *output)
{
	struct merge_input all = { .good = 0 };
	bool whole = true, broken = false;
	int error;

	for (int i = 0; i < request->n_files && !broken; i++)
		whole &= add_file(merge, request->files[i], &all, &broken);
	if (!whole)
		return EXIT_FAIL;
	if (!all.good)
		return tool_fail(EXIT_FAIL, "%s%s: no good frame, nothing to merge",
				 shown(request->files[0]), request->n_files > 1 ? ", ..." : "");
	if (all.damaged && request->n_files > 1)
		tool_warn("%" PRIu64 " damaged frames in all, %" PRIu64 " good ones", all.damaged,
			  all.good);
	error = merge_write(merge, output->fd);
	if (!error)
		error = merge_output_commit(output);
	if (error)
		return merge_trouble(
			merge, "write",
			strcmp(request->out, "-") == 0 ? "standard output" : request->out, error);
	return EXIT_OK;
}

int cmd_merge(int argc, char **argv)
{
	struct request request = { .n_files = 0 };
	struct merge_output output;
	struct merge_options options;
	struct merge *merge = NULL;
	const char *why;
	int code, error;

	if (tool_wants_help("merge", argc, argv))
		return EXIT_OK;
	code = parse(argc, argv, &request);
	if (code)
		return code;
	/* Beyond a file size limit a write shall fail, not kill. */
	signal(SIGXFSZ, SIG_IGN);
	error = merge_output_open(&output, request.out, &why);
	if (error) {
		code = tool_fail(EXIT_FAIL, "cannot write %s: %s", request.out,
				 why ? why : strerror(-error));
		goto done;
	}
	options = (struct merge_options){ .compact = request.compact };
	error = merge_new(&merge, &options);
	code = error ? tool_fail(EXIT_FAIL, "%s", strerror(-error)) :
		       merge_all(merge, &request, &output);
done:
	merge_free(merge);
	merge_output_close(&output);
	return code;
}
