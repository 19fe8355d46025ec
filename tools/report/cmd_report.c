/* SPDX-License-Identifier: MIT */
/* cmd_report.c - pmctl report: dumps in, a table, JSON or CSV out. */
#include "agent/core/report/report.h"
#include "tools/cli/pmctl.h"
#include "tools/report/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
	struct pmc_report_options options;
	const char **where;
	const char **files;
	unsigned n_files;
	const char *output;
};

static const char *const by_words[] = {
#define X(name, value, doc) #name,
#include "agent/core/report/by.def"
#undef X
};
static const enum pmc_report_by by_values[] = {
#define X(name, value, doc) value,
#include "agent/core/report/by.def"
#undef X
};
static const char *const format_words[] = { "table", "json", "csv" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The place of a word in a list; -1 after saying what was meant or accepted. */
static int word_of(const char *flag, const char *word, const char *const *words, unsigned n)
{
	const char *near;
	char accepted[160] = "";

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return (int)i;
	near = tool_nearest(word, words, n);
	for (unsigned i = 0; i < n; i++) {
		strcat(accepted, i ? i + 1 == n ? " or " : ", " : "");
		strcat(accepted, words[i]);
	}
	if (near)
		tool_fail(EXIT_USAGE, "%s takes %s, not '%.60s'; did you mean '%s'?", flag,
			  accepted, word, near);
	else
		tool_fail(EXIT_USAGE, "%s takes %s, not '%.60s'", flag, accepted, word);
	return -1;
}

static int set_top(struct request *request, const char *text)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n > INT_MAX)
		return tool_fail(EXIT_USAGE, "--top takes a number of rows, 0 for all, not '%.60s'",
				 text);
	request->options.top = (int)n;
	return 0;
}

static int set_value(struct request *request, const char *flag, const char *value)
{
	struct pmc_report_options *options = &request->options;
	int word;

	if (!strcmp(flag, "--by")) {
		word = word_of(flag, value, by_words, COUNT(by_words));
		if (word < 0)
			return EXIT_USAGE;
		options->by = by_values[word];
	} else if (!strcmp(flag, "--format")) {
		word = word_of(flag, value, format_words, COUNT(format_words));
		if (word < 0)
			return EXIT_USAGE;
		options->format = (enum pmc_report_format)word;
	} else if (!strcmp(flag, "--sort")) {
		options->sort = value;
	} else if (!strcmp(flag, "--top")) {
		return set_top(request, value);
	} else if (!strcmp(flag, "--where")) {
		request->where[options->n_where++] = value;
	} else {
		request->output = value;
	}
	return 0;
}

/* Whether an argument is this flag; *value is what is glued to it, else NULL. */
static bool is_flag(const char *argument, const char *flag, const char **value)
{
	size_t len = strlen(flag);

	*value = NULL;
	if (strncmp(argument, flag, len))
		return false;
	if (!argument[len])
		return true;
	if (flag[1] == '-' && argument[len] != '=')
		return false;
	*value = argument + len + (argument[len] == '=' && flag[1] == '-');
	return true;
}

static int parse_flag(struct request *request, int argc, char **argv, int *at)
{
	static const char *const valued[] = {
		"--by", "--sort", "--top", "--where", "--format", "-o"
	};
	const char *argument = argv[*at], *value, *near;

	for (unsigned i = 0; i < COUNT(valued); i++) {
		if (!is_flag(argument, valued[i], &value))
			continue;
		if (!value && *at + 1 >= argc)
			return tool_fail(EXIT_USAGE, "%s needs a value", valued[i]);
		return set_value(request, valued[i], value ? value : argv[++*at]);
	}
	if (!strcmp(argument, "--timeline")) {
		request->options.timeline = true;
	} else if (!strcmp(argument, "--wide")) {
		request->options.wide = true;
	} else {
		near = tool_nearest_flag("report", argument);
		if (near)
			return tool_fail(EXIT_USAGE, "there is no flag '%.60s'; did you mean '%s'?",
					 argument, near);
		return tool_fail(EXIT_USAGE,
				 "there is no flag '%.60s'; pmctl report --help lists them",
				 argument);
	}
	return 0;
}

static int parse(struct request *request, int argc, char **argv)
{
	struct pmc_report_options *options = &request->options;
	bool flags = true;
	int code;

	/* Errors in the other arguments already are in the format that was asked for. */
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--format=json") ||
		    (!strcmp(argv[i], "--format") && i + 1 < argc && !strcmp(argv[i + 1], "json")))
			tool_json_errors = true;
	for (int i = 1; i < argc; i++) {
		if (flags && !strcmp(argv[i], "--")) {
			flags = false;
		} else if (flags && argv[i][0] == '-' && argv[i][1]) {
			code = parse_flag(request, argc, argv, &i);
			if (code)
				return code;
		} else {
			request->files[request->n_files++] = argv[i];
		}
	}
	options->where = request->where;
	if (!request->n_files)
		return tool_fail(EXIT_USAGE,
				 "which dump? Name one or more files, or - for standard "
				 "input");
	if (options->timeline && (options->by != PMC_BY_NONE || options->sort || options->top >= 0))
		return tool_fail(EXIT_USAGE,
				 "--timeline is in the order of time: it does not go with --by, "
				 "--sort or --top");
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------- */

static int read_file(struct pmc_profile *profile, const char *path)
{
	bool input = !strcmp(path, "-");
	const char *name = input ? "standard input" : path;
	uint64_t frames = profile->frames, damaged = profile->damaged_frames;
	struct stat st;
	int fd, err;

	fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return tool_fail(
			EXIT_FAIL, "cannot open %s: %s%s", name, strerror(errno),
			errno == ENOENT ? "; PMC_OUT or pmctl run -o names where a dump goes" : "");
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		err = -EISDIR;
	} else {
		err = pmc_profile_add_fd(profile, fd);
	}
	if (!input)
		close(fd);
	if (err == -EISDIR)
		return tool_fail(EXIT_FAIL, "%s is a directory; name the dumps in it: %s/*.pmc",
				 name, name);
	if (err)
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", name, strerror(-err));
	if (profile->frames == frames && profile->damaged_frames == damaged)
		return tool_fail(EXIT_FAIL,
				 "%s is empty: nothing was recorded into it; a dump is "
				 "written with PMC_OUT or pmctl run -o",
				 name);
	if (profile->frames == frames)
		return tool_fail(EXIT_FAIL,
				 "%s is not a dump, or not one frame of it is good; a dump "
				 "is written with PMC_OUT or pmctl run -o",
				 name);
	if (profile->damaged_frames > damaged)
		tool_warn("%s: %llu damaged frame%s skipped; what they said is missing from the "
			  "report",
			  name, (unsigned long long)(profile->damaged_frames - damaged),
			  profile->damaged_frames - damaged == 1 ? "" : "s");
	return EXIT_OK;
}

/* Opening it for writing would destroy what is to be read. */
static bool is_input(const struct request *request)
{
	struct stat out, in;

	if (stat(request->output, &out) || !S_ISREG(out.st_mode))
		return false;
	for (unsigned i = 0; i < request->n_files; i++)
		if (stat(request->files[i], &in) == 0 && in.st_dev == out.st_dev &&
		    in.st_ino == out.st_ino)
			return true;
	return false;
}

static int print(struct request *request, struct pmc_profile *profile)
{
	static char room[256 << 10];
	const char *problem = NULL, *where = request->output ? request->output : "standard output";
	struct pmc_out out;
	int fd = STDOUT_FILENO, err;

	if (request->output && strcmp(request->output, "-")) {
		fd = open(request->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY,
			  0666);
		if (fd < 0)
			return tool_fail(EXIT_FAIL, "cannot write %s: %s", where, strerror(errno));
	}
	request->options.color =
		request->options.format == PMC_FORMAT_TABLE && isatty(fd) && !getenv("NO_COLOR");
	pmc_out_to_fd(&out, fd, room, sizeof(room));
	err = pmc_report(profile, &request->options, &out, &problem);
	if (fd != STDOUT_FILENO && close(fd) && !err)
		err = -errno;
	if (err == -EINVAL && problem)
		return tool_fail(EXIT_USAGE, "%s", problem);
	if (err)
		return tool_fail(EXIT_FAIL, "cannot write to %s: %s", where, strerror(-err));
	return EXIT_OK;
}

static int report(struct request *request)
{
	const struct pmc_profile_options options = { .timeline = request->options.timeline };
	struct pmc_profile profile;
	int code = EXIT_OK, err;

	if (request->output && is_input(request))
		return tool_fail(EXIT_USAGE, "-o %s would overwrite a dump that is to be read",
				 request->output);
	err = pmc_profile_init(&profile, &options);
	if (err)
		return tool_fail(EXIT_FAIL, "%s", strerror(-err));
	/* Every file that cannot be read is named; part of a report would look like all of it. */
	for (unsigned i = 0; i < request->n_files; i++)
		if (read_file(&profile, request->files[i]))
			code = EXIT_FAIL;
	if (!code) {
		err = pmc_profile_finish(&profile);
		if (err)
			code = tool_fail(EXIT_FAIL, "cannot hold the dump in memory: %s",
					 strerror(-err));
	}
	if (!code) {
		symbols_resolve(&profile, NULL);
		code = print(request, &profile);
	}
	pmc_profile_free(&profile);
	return code;
}

int cmd_report(int argc, char **argv)
{
	struct request request = { .options.top = -1 };
	int code;

	if (tool_wants_help("report", argc, argv))
		return EXIT_OK;
	request.where = calloc((size_t)argc + 1, sizeof(*request.where));
	request.files = calloc((size_t)argc + 1, sizeof(*request.files));
	if (!request.where || !request.files)
		code = tool_fail(EXIT_FAIL, "%s", strerror(ENOMEM));
	else
		code = parse(&request, argc, argv);
	if (!code)
		code = report(&request);
	free(request.where);
	free(request.files);
	return code;
}
