/* SPDX-License-Identifier: MIT */
/* cmd_report.c - pmctl report: dumps in, a table, JSON or CSV out. */
#include "tools/cli/new_file.h"
#include "tools/cli/rows.h"
#include "tools/report/report.h"

#include <errno.h>
#include <string.h>

struct request {
	struct pmc_report_options options;
	struct tool_rows rows;
	unsigned char keys[PMC_KEYS_MOST + 1];
	const char **files;
	unsigned n_files;
	const char *root; /* --symfs */
	const char *page; /* --html */
	bool diff;
};

#define FLAG_OPTIONS struct request

static const struct table_column columns[] = {
	{ .name = "key" },
#define X(field, title, ...) { .name = #field, .head = title },
#include "tools/view/columns.def"
#include "tools/view/sample_columns.def"
#undef X
};
const struct tool_flag cmd_report_flags[] = {
	FLAG_BY_KEYS(keys, pmc_by_names, .aliases = pmc_by_aliases),
	FLAG_ROW(0, "--across", "KEY",
		 "statistics over ranks, hosts or processes instead of threads", FLAG_TYPE_WORD,
		 options.across, .words = pmc_by_names, .n_words = PMC_BY_TIME,
		 .aliases = pmc_by_aliases),
	FLAG_BOOL(0, "--bottom-up", options.inverted,
		  "with --by tree: from functions to their callers"),
	FLAG_EVENT(options.event, "event whose samples are shown (default: that with most)"),
	FLAG_SYMFS(root),
	FLAG_SORT(0, options.sort, "column to sort by (default: CPU time)"),
	FLAG_TOP(options.top, "number of rows (of trees: branches); 0: all"),
	FLAG_ROWS_CHOICE(rows, columns, .counts = true),
	FLAG_FORMAT(options.format, TABLE_FORMATS, "folded"),
	FLAG_TIME(0, "--from", options.from_ns, FLAG_S, 0,
		  "samples from then on, since the job's start"),
	FLAG_TIME(0, "--to", options.to_ns, FLAG_S, 1, "samples until then"),
	FLAG_TIME(0, "--every", options.every_ns, FLAG_S, 1,
		  "samples by interval: the top functions of each"),
	FLAG_BOOL(0, "--timeline", options.timeline,
		  "one line per snapshot instead of one per thread"),
	FLAG_BOOL(0, "--histogram", options.histogram, "lengths of waits, below the table"),
	FLAG_NUMBER(0, "--jobs", "N", options.jobs, 1, 1024,
		    "processes that print CSV and JSON (default: CPUs)"),
	FLAG_BOOL(0, "--wide", options.wide, "all columns, however wide the table"),
	FLAG_ROWS_OUTPUT(rows),
	FLAG_TEXT(0, "--html", "FILE", page, "tables and flame graphs as a page, as pmctl export"),
	FLAG_BOOL(0, "--diff", diff, "differences of two dumps, as pmctl diff"),
	OPERAND_LIST(files, n_files),
	FLAG_END,
};

/* --timeline --by KEY */
static int check_sparklines(const struct pmc_report_options *options)
{
	if (options->every_ns)
		return tool_fail(EXIT_USAGE, "--every divides samples, and --timeline shows "
					     "snapshots; leave out one of them");
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
		return tool_fail(EXIT_USAGE, "--format folded has call paths; add --by tree");
	if (options->inverted || options->columns || options->top >= 0)
		return tool_fail(EXIT_USAGE,
				 "--format folded has all paths from the first caller on; "
				 "--bottom-up, --columns and --top cannot be used with it");
	return 0;
}

/* --every: the interval is the first key, unless it has another place. */
static int set_every(struct pmc_report_options *options)
{
	unsigned char *outer = options->outer;
	const bool has_time = memchr(outer, PMC_BY_TIME, PMC_KEYS_MOST);

	if (!options->every_ns)
		return has_time || options->by == PMC_BY_TIME ?
			       tool_fail(EXIT_USAGE, "--by time needs --every TIME, such as "
						     "--every 1, and samples; --timeline has "
						     "snapshots") :
			       0;
	if (options->by == PMC_BY_NONE || options->by == PMC_BY_TIME)
		options->by = PMC_BY_FUNCTION;
	if (!pmc_by_samples(options->by))
		return tool_fail(
			EXIT_USAGE,
			"--every is for samples: --by function, thread,function, line, module or "
			"path; --timeline has snapshots of threads");
	if (has_time && outer[0] != PMC_BY_TIME)
		return tool_fail(EXIT_USAGE, "--every: time is the first key; give --by time,...");
	if (!has_time && outer[PMC_KEYS_MOST - 2])
		return tool_fail(EXIT_USAGE, "--every: too many keys with the time");
	if (!has_time) {
		memmove(outer + 1, outer, PMC_KEYS_MOST - 1);
		outer[0] = PMC_BY_TIME;
	}
	if (!options->to_ns)
		options->to_ns = UINT64_MAX;
	return 0;
}

/* --from, --to */
static int set_window(struct pmc_report_options *options)
{
	const int code = set_every(options);

	if (code)
		return code;
	if (options->wakers && options->to_ns | options->from_ns)
		return tool_fail(EXIT_USAGE, "--by waker is of the whole recording; leave out "
					     "--from, --to and --every");
	if (!options->from_ns && !options->to_ns)
		return 0;
	if (!pmc_by_samples(options->by))
		return tool_fail(
			EXIT_USAGE,
			"--from and --to are for samples; add --by function, thread,function, "
			"line, module or path");
	if (!options->to_ns)
		options->to_ns = UINT64_MAX;
	return options->from_ns < options->to_ns ?
		       0 :
		       tool_fail(EXIT_USAGE, "--from is not before --to; give an earlier one");
}

static int check_window(const struct pmc_profile *profile)
{
	if (profile->n_untimed && !profile->n_timed)
		return tool_fail(EXIT_FAIL,
				 "the samples have no times, so --from, --to and --every "
				 "cannot choose them; pmctl profile records times");
	if (profile->too_many_intervals)
		return tool_fail(EXIT_FAIL,
				 "--every: more than 10,000 intervals; give a longer one, "
				 "or --from and --to");
	if (profile->n_untimed > profile->n_timed)
		tool_warn("samples of %llu threads have no times and are left out",
			  (unsigned long long)(profile->n_untimed - profile->n_timed));
	return 0;
}

static int parse(struct request *request, int argc, char **argv)
{
	struct pmc_report_options *options = &request->options;
	int code = tool_args_parse(argc, argv, request);

	options->columns = request->rows.choice.columns;
	options->where = request->rows.choice.where;
	options->n_where = request->rows.choice.n_where;
	code = code ? code : report_set_keys(request->keys, options->outer, &options->by);
	options->wakers = memchr(request->keys, PMC_BY_WAKER, PMC_KEYS_MOST);
	code = code ? code : set_window(options);
	if (code)
		return code;
	if (options->across &&
	    (options->timeline || pmc_by_samples(options->by) || options->by == PMC_BY_THREAD))
		return tool_fail(EXIT_USAGE,
				 "invalid --across: it compares sums of threads; give --across "
				 "rank, host or process with --by pool, name or region");
	if (options->across && options->by == PMC_BY_NONE)
		options->by = PMC_BY_POOL;
	if (!options->jobs)
		options->jobs = pmc_cpus() ? pmc_cpus() : 1;
	options->dumps = request->files;
	options->n_dumps = request->n_files;
	for (unsigned i = 0; i < request->n_files; i++)
		if (!strcmp(request->files[i], "-"))
			options->n_dumps = 0;
	if (!request->n_files)
		return tool_fail(EXIT_USAGE,
				 "no dump given; name one or more files, or - for standard input");
	if (options->histogram && (options->timeline || options->by >= PMC_BY_REGION))
		return tool_fail(EXIT_USAGE,
				 "--histogram has waits of threads and groups of threads, not of "
				 "%s; give --by thread or pool",
				 options->timeline ? "--timeline" : pmc_by_names[options->by]);
	if (options->timeline && options->by != PMC_BY_NONE)
		return check_sparklines(options);
	if (options->timeline && (options->sort || options->top >= 0))
		return tool_fail(EXIT_USAGE, "--timeline is in the order of time; "
					     "--sort and --top cannot be used with it");
	if (options->inverted && options->by != PMC_BY_PATH)
		return tool_fail(EXIT_USAGE, "--bottom-up is for --by tree");
	if (options->by == PMC_BY_PATH && options->sort)
		return tool_fail(EXIT_USAGE, "--by tree has its own order, callees below callers; "
					     "--sort cannot be used with it");
	if ((options->event ||
	     (request->root && !memchr(request->keys, PMC_BY_START, PMC_KEYS_MOST))) &&
	    !pmc_by_samples(options->by))
		return tool_fail(EXIT_USAGE, "%s is for samples; add --by tree, function or line",
				 options->event ? "--event" : "--symfs");
	return options->format != PMC_FORMAT_FOLDED ? 0 : check_folded(options);
}

/* ---- reading ---------------------------------------------------------------------------- */

static int print(struct request *request, struct pmc_profile *profile)
{
	struct tool_rows *rows = &request->rows;
	const char *problem = NULL;
	int err, code = tool_rows_open(rows);

	if (code)
		return code;
	request->options.screen = rows->screen;
	err = pmc_report(profile, &request->options, &rows->out, &problem);
	if ((err == -EINVAL || err == -ENOENT) && problem) {
		tool_replace_end(rows->out.fd, err);
		return tool_fail(err == -EINVAL ? EXIT_USAGE : EXIT_FAIL, "%s", problem);
	}
	code = tool_rows_close(rows);
	if (!code && problem)
		tool_warn("%s", problem);
	return code;
}

static int name_and_print(struct request *request, struct pmc_profile *profile)
{
	struct report_names *names = NULL;
	int code;

	symbols_resolve(profile);
	if (pmc_by_samples(request->options.by) ||
	    memchr(request->keys, PMC_BY_START, PMC_KEYS_MOST)) {
		names = report_names_new(request->root);
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
	const struct pmc_profile_options options = { .timeline = request->options.timeline,
						     .wakers = request->options.wakers,
						     .from_ns = request->options.from_ns,
						     .to_ns = request->options.to_ns,
						     .every_ns = request->options.every_ns };
	struct pmc_profile profile;
	int code = report_check_output(request->rows.output, request->files, request->n_files);

	if (code)
		return code;
	pmc_profile_init(&profile, &options);
	code = report_read(&profile, request->files, request->n_files);
	if (!code) {
		pmc_profile_finish(&profile);
		code = check_window(&profile);
	}
	if (!code && request->options.wakers && !profile.has_wakers)
		code = tool_fail(EXIT_FAIL,
				 "who ended waits is not recorded there, so --by waker has no "
				 "rows; pmctl profile --wakers records it");
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

/* report --html FILE is an export of the same files, which refuses other flags than its own. */
static int as_export(int argc, char **argv)
{
	const char **to = tool_realloc(NULL, ((size_t)argc + 4) * sizeof(*to));
	int n = 0;

	to[n++] = "export";
	to[n++] = "--to";
	to[n++] = "html";
	for (int i = 1; i < argc; i++) {
		const bool joined = !strncmp(argv[i], "--html=", strlen("--html="));

		if (joined || !strcmp(argv[i], "--html"))
			to[n++] = "-o";
		if (strcmp(argv[i], "--html"))
			to[n++] = argv[i] + (joined ? strlen("--html=") : 0);
	}
	to[n] = NULL;
	return cmd_export(n, (char **)(void *)to);
}

int cmd_report(int argc, char **argv)
{
	struct request request = { .options.top = -1 };
	int code;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--diff"))
			return as_diff(argc, argv);
		else if (!strncmp(argv[i], "--html", strlen("--html")))
			return as_export(argc, argv);
	code = parse(&request, argc, argv);
	return code ? code : report(&request);
}

int report_recording(int argc, char **argv, const char *keep_hint)
{
	struct request request = { .options = { .top = -1, .keep_hint = keep_hint } };
	const int code = parse(&request, argc, argv);

	return code ? code : report(&request);
}
