/* SPDX-License-Identifier: MIT */
/* cmd_report.c - pmctl report: dumps in, a table, JSON or CSV out. */
#include "agent/core/dump/frame.h"
#include "agent/core/report/report.h"
#include "tools/cli/pmctl.h"
#include "tools/report/read.h"
#include "tools/report/samples.h"
#include "tools/report/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
	const char *root;    /* --symfs */
	const char *page;    /* --html */
	const char *no_page; /* a flag that does not go with it */
};

static const struct tool_word keys[] = {
#define X(name, alias, value, doc) { #name, value, alias },
#include "agent/core/profile/by.def"
#undef X
	{ NULL, 0, NULL },
};
static const struct tool_word formats[] = {
	{ "table", PMC_FORMAT_TABLE, NULL },
	{ "json", PMC_FORMAT_JSON, NULL },
	{ "csv", PMC_FORMAT_CSV, NULL },
	{ "folded", PMC_FORMAT_FOLDED, NULL },
	{ NULL, 0, NULL },
};

static int set_flag(struct request *request, const struct tool_args *args)
{
	struct pmc_report_options *options = &request->options;
	uint64_t number = 0;
	int word = 0, code;

	if (tool_args_is(args, "--html")) {
		request->page = args->value;
		return 0;
	}
	if (!tool_args_is(args, "--event") && !tool_args_is(args, "--symfs"))
		request->no_page = args->flag;
	if (tool_args_is(args, "--by")) {
		code = tool_args_word(args, keys, &word);
		options->by = (enum pmc_fold_by)word;
		return code;
	}
	if (tool_args_is(args, "--format")) {
		code = tool_args_word(args, formats, &word);
		options->format = (enum pmc_report_format)word;
		return code;
	}
	if (tool_args_is(args, "--top")) {
		code = tool_args_number(args, 0, INT_MAX, &number);
		options->top = (int)number;
		return code;
	}
	if (tool_args_is(args, "--width")) {
		code = tool_args_number(args, 20, INT_MAX, &number);
		options->screen.width = (int)number;
		return code;
	}
	if (tool_args_is(args, "--symfs"))
		return tool_args_directory(args, &request->root);
	if (tool_args_is(args, "--sort"))
		options->sort = args->value;
	else if (tool_args_is(args, "--columns"))
		options->columns = args->value;
	else if (tool_args_is(args, "--where"))
		request->where[options->n_where++] = args->value;
	else if (tool_args_is(args, "--timeline"))
		options->timeline = true;
	else if (tool_args_is(args, "--bottom-up"))
		options->inverted = true;
	else if (tool_args_is(args, "--event"))
		options->event = args->value;
	else if (tool_args_is(args, "--wide"))
		options->wide = true;
	else
		request->output = args->value;
	return 0;
}

/* --timeline --by KEY */
static int check_sparklines(const struct pmc_report_options *options)
{
	if (options->by == PMC_BY_REGION || pmc_by_samples(options->by))
		return tool_fail(EXIT_USAGE, "--timeline has no times of regions and samples; "
					     "--by thread or pool can be used with it");
	if (options->format != PMC_FORMAT_TABLE || options->columns || options->sort)
		return tool_fail(EXIT_USAGE,
				 "--timeline --by is a table by CPU time; leave out --by for "
				 "JSON, CSV, --columns");
	return 0;
}

/* --format folded */
static int check_folded(const struct pmc_report_options *options)
{
	if (options->by != PMC_BY_PATH)
		return tool_fail(EXIT_USAGE, "--format folded has call paths; add --by path");
	if (options->inverted || options->columns || options->top >= 0)
		return tool_fail(EXIT_USAGE,
				 "--format folded has all paths from the first caller on; "
				 "--bottom-up, --columns and --top cannot be used with it");
	return 0;
}

/* --html: pmctl export checks the rest. */
static int check_page(const struct request *request)
{
	if (request->no_page)
		return tool_fail(EXIT_USAGE,
				 "--html has all rows, sorted and filtered in the browser; "
				 "%s cannot be used with it",
				 request->no_page);
	if (!request->n_files)
		return tool_fail(EXIT_USAGE,
				 "no dump given: '%.60s' is the page that --html writes; name the "
				 "dumps after it",
				 request->page);
	return 0;
}

static int parse(struct request *request, int argc, char **argv)
{
	struct pmc_report_options *options = &request->options;
	struct tool_args args;
	int code = 0;

	tool_args_init(&args, argc, argv);
	while (!code && tool_args_next(&args)) {
		if (args.flag)
			code = set_flag(request, &args);
		else
			request->files[request->n_files++] = args.value;
	}
	if (code || args.code)
		return code ? code : args.code;
	options->where = request->where;
	if (request->page)
		return check_page(request);
	options->dumps = request->files;
	options->n_dumps = request->n_files;
	for (unsigned i = 0; i < request->n_files; i++)
		if (!strcmp(request->files[i], "-"))
			options->n_dumps = 0;
	if (!request->n_files)
		return tool_fail(EXIT_USAGE,
				 "no dump given; name one or more files, or - for standard input");
	if (options->timeline && options->by != PMC_BY_NONE)
		return check_sparklines(options);
	if (options->timeline && (options->sort || options->top >= 0))
		return tool_fail(EXIT_USAGE, "--timeline is in the order of time; "
					     "--sort and --top cannot be used with it");
	if (options->inverted && options->by != PMC_BY_PATH)
		return tool_fail(EXIT_USAGE, "--bottom-up is for --by path");
	if (options->by == PMC_BY_PATH && options->sort)
		return tool_fail(EXIT_USAGE, "--by path is in the order of a tree; "
					     "--sort cannot be used with it");
	if ((options->event || (request->root && options->by != PMC_BY_START)) &&
	    !pmc_by_samples(options->by))
		return tool_fail(EXIT_USAGE, "%s is for samples; add --by path, function or line",
				 options->event ? "--event" : "--symfs");
	if (options->columns && options->format == PMC_FORMAT_JSON)
		return tool_fail(EXIT_USAGE,
				 "--columns is for tables and CSV; JSON has every field");
	return options->format == PMC_FORMAT_FOLDED ? check_folded(options) : 0;
}

/* ---- reading ---------------------------------------------------------------------------- */

static int print(struct request *request, struct pmc_profile *profile)
{
	static char room[256 << 10];
	const char *where = request->output ? request->output : "to standard output";
	const char *problem = NULL;
	struct pmc_screen screen;
	struct pmc_out out;
	int fd = STDOUT_FILENO, err;

	if (request->output)
		fd = tool_open_output(request->output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_screen_from_env(&screen, environ);
	pmc_screen_of_fd(&screen, fd);
	if (request->options.screen.width)
		screen.width = request->options.screen.width;
	request->options.screen = screen;
	pmc_out_to_fd(&out, fd, room, sizeof(room));
	err = pmc_report(profile, &request->options, &out, &problem);
	if (fd != STDOUT_FILENO && close(fd) && !err)
		err = -errno;
	if (err == -EINVAL && problem)
		return tool_fail(EXIT_USAGE, "%s", problem);
	if (err)
		return tool_fail_write(where, -err);
	return EXIT_OK;
}

static int name_and_print(struct request *request, struct pmc_profile *profile)
{
	struct report_names *names = NULL;
	int code;

	symbols_resolve(profile, NULL);
	if (pmc_by_samples(request->options.by) || request->options.by == PMC_BY_START) {
		if (report_names_new(&names, request->root))
			return tool_fail(EXIT_FAIL, "%s", strerror(ENOMEM));
		request->options.fold_samples = request->options.format == PMC_FORMAT_FOLDED ?
							report_fold_counted :
							report_fold_samples;
		request->options.path_of = report_path_of;
		request->options.names_arg = names;
	}
	code = print(request, profile);
	if (names && code == EXIT_OK)
		report_names_warn(names, REPORT_NAMES_FIX);
	report_names_free(names);
	return code;
}

static int report(struct request *request)
{
	const struct pmc_profile_options options = { .timeline = request->options.timeline };
	struct pmc_profile profile;
	int code, err;

	code = report_check_output(request->output, request->files, request->n_files);
	if (code)
		return code;
	err = pmc_profile_init(&profile, &options);
	if (err)
		return tool_fail(EXIT_FAIL, "%s", strerror(-err));
	/* Every unreadable file is named; a partial report would look complete. */
	for (unsigned i = 0; i < request->n_files; i++)
		if (report_read_file(&profile, request->files[i]))
			code = EXIT_FAIL;
	if (!code) {
		err = pmc_profile_finish(&profile);
		if (err)
			code = tool_fail(EXIT_FAIL, "cannot hold the dump in memory: %s",
					 strerror(-err));
	}
	if (!code)
		code = name_and_print(request, &profile);
	pmc_profile_free(&profile);
	return code;
}

/* report --diff is diff with the same files and flags. */
static int as_diff(int argc, char **argv)
{
	int n = 1;

	argv[0] = (char *)"diff";
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--diff"))
			argv[n++] = argv[i];
	argv[n] = NULL;
	return cmd_diff(n, argv);
}

/* report --html FILE is an export. */
static int as_export(const struct request *request)
{
	const char **argv = calloc(request->n_files + 12, sizeof(*argv));
	int n = 0, code;

	if (!argv)
		return tool_fail(EXIT_FAIL, "%s", strerror(ENOMEM));
	argv[n++] = "export";
	argv[n++] = "--to";
	argv[n++] = "html";
	argv[n++] = "-o";
	argv[n++] = request->page;
	if (request->options.event) {
		argv[n++] = "--event";
		argv[n++] = request->options.event;
	}
	if (request->root) {
		argv[n++] = "--symfs";
		argv[n++] = request->root;
	}
	argv[n++] = "--";
	for (unsigned i = 0; i < request->n_files; i++)
		argv[n++] = request->files[i];
	code = cmd_export(n, (char **)(void *)argv);
	free(argv);
	return code;
}

int cmd_report(int argc, char **argv)
{
	struct request request = { .options.top = -1 };
	int code;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--diff"))
			return as_diff(argc, argv);

	request.where = calloc((size_t)argc + 1, sizeof(*request.where));
	request.files = calloc((size_t)argc + 1, sizeof(*request.files));
	if (!request.where || !request.files)
		code = tool_fail(EXIT_FAIL, "%s", strerror(ENOMEM));
	else
		code = parse(&request, argc, argv);
	if (!code)
		code = request.page ? as_export(&request) : report(&request);
	free(request.where);
	free(request.files);
	return code;
}
