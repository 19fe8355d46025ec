/* SPDX-License-Identifier: MIT */
/* cmd_export.c - pmctl export: converts dumps for other tools. */
#include "tools/cli/flags.h"
#include "tools/export/export.h"
#include "tools/report/read.h"
#include "tools/report/symbols.h"
#include "tools/view/report.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	EXPORT_NONE,
#define X(id, name, samples, binary) EXPORT_##id,
#include "tools/export/exporters.def"
#undef X
};

static const struct exporter {
	int (*write)(struct export *export);
	enum export_samples samples;
	bool binary;
} exporters[] = {
#define X(id, name, samples, binary) [EXPORT_##id] = { export_##id, samples, binary },
#include "tools/export/exporters.def"
#undef X
};

static const char *const formats[] = {
#define X(id, name, samples, binary) [EXPORT_##id] = name,
#include "tools/export/exporters.def"
#undef X
};

struct request {
	int format;
	const char *event, *root, *output;
	const char **files;
	unsigned n_files;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_export_flags[] = {
	FLAG_WORD(0, "--to", "FORMAT", format, formats, "format"),
	FLAG_OUTPUT(output, "output file instead of standard output"),
	FLAG_EVENT(event, "event whose samples are exported (default: all)"),
	FLAG_SYMFS(root),
	OPERAND_LIST(files, n_files),
	FLAG_END,
};

static int parse(struct request *request, int argc, char **argv)
{
	int code = tool_args_parse(argc, argv, request);
	const char *name = formats[request->format];

	if (code)
		return code;
	if (!request->format)
		return tool_fail(EXIT_USAGE,
				 "no format; add --to FORMAT (pmctl export --help lists them)");
	if (!request->n_files)
		return tool_fail(EXIT_USAGE,
				 "no dump given; name one or more files, or - for standard input");
	if ((request->event || request->root) && exporters[request->format].samples == NO)
		return tool_fail(EXIT_USAGE, "%s is for samples, of which %s has none",
				 request->event ? "--event" : "--symfs", name);
	if (exporters[request->format].binary && !request->output && isatty(STDOUT_FILENO))
		return tool_fail(EXIT_USAGE, "%s is binary; add -o FILE", name);
	return report_check_output(request->output, request->files, request->n_files);
}

static int no_samples(const struct request *request, const struct pmc_profile *profile)
{
	if (request->event && profile->n_samples)
		return tool_fail(EXIT_FAIL, "no samples by event '%.60s'; leave out --event",
				 request->event);
	return tool_fail(EXIT_FAIL, "no samples%s", pmc_why_no_samples(profile));
}

/* Events of which no sample was taken. */
static void warn_of_none(const struct export *export)
{
	const struct pmc_profile *profile = export->profile;

	for (unsigned event = 0; event < export->n_events; event++) {
		uint64_t samples = 0;

		for (uint64_t i = 0; i < profile->n_samples; i++)
			if (export_event_of(export, profile->samples[i]) == (int)event)
				pmc_add_sat(&samples, profile->samples[i]->samples);
		if (!samples)
			tool_warn("no samples by %.60s: samples are taken in user mode, of threads "
				  "that run for a period; pmctl report --by function says how "
				  "much of the event they explain",
				  export->events[event]->name);
	}
}

static bool is_first_of_name(const struct export *export, unsigned event)
{
	for (unsigned i = 0; i < event; i++)
		if (!strcmp(export->events[i]->name, export->events[event]->name))
			return false;
	return true;
}

/* A line of folded has one number. */
static void warn_of_others(const struct export *export)
{
	char buf[512];
	struct pmc_out names;
	unsigned n = 0;

	pmc_out_to_mem(&names, buf, sizeof(buf));
	for (unsigned i = 0; i < export->n_events; i++)
		if (is_first_of_name(export, i))
			pmc_outf(&names, "%s%.60s", n++ ? ", " : "", export->events[i]->name);
	if (n > 1)
		tool_warn("folded has the samples of one event, and the dump those of %u (%s); "
			  "--event selects one",
			  n, buf);
}

static int check_rows(const struct export *export)
{
	if (export_has_rows(export))
		return 0;
	return tool_fail(EXIT_FAIL, "no thread of the samples is known: their rows are damaged or "
				    "missing; folded needs them, other formats do not");
}

static const char *names_fix(const struct request *request)
{
	return request->format != EXPORT_perf_data ?
		       REPORT_NAMES_FIX :
		       "perf cannot use names of a dump; --symfs names a directory with the "
		       "measured files";
}

static int write_output(const struct request *request, struct export *export)
{
	static char room[256 << 10];
	const char *where = request->output ? request->output : "to standard output";
	struct pmc_out out;
	int fd = STDOUT_FILENO, error;

	if (request->output)
		fd = tool_open_output(request->output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_out_to_fd(&out, fd, room, sizeof(room));
	export->out = &out;
	error = exporters[request->format].write(export);
	if (!error)
		error = pmc_out_flush(&out);
	if (fd != STDOUT_FILENO && close(fd) && !error)
		error = -errno;
	if (!error && export->names)
		report_names_warn(export->names, names_fix(request));
	return error ? tool_fail_write(where, -error) : EXIT_OK;
}

static int name_and_write(const struct request *request, struct pmc_profile *profile)
{
	struct export export = { .profile = profile,
				 .event = request->event,
				 .files = request->files,
				 .n_files = request->n_files };
	const enum export_samples samples = exporters[request->format].samples;
	int code;

	symbols_resolve(profile, NULL);
	export_find_events(&export);
	if (!export.n_events && (samples == NEEDED || request->event))
		return no_samples(request, profile);
	if (request->format == EXPORT_folded && check_rows(&export))
		return EXIT_FAIL;
	if (export.n_events && samples != NO && report_names_new(&export.names, request->root))
		return tool_fail(EXIT_FAIL, "%s", strerror(ENOMEM));
	if (samples != NO)
		warn_of_none(&export);
	if (request->format == EXPORT_folded)
		warn_of_others(&export);
	code = write_output(request, &export);
	report_names_free(export.names);
	pmc_arena_free(&export.arena);
	return code;
}

int cmd_export(int argc, char **argv)
{
	struct request request = { .output = NULL };
	struct pmc_profile_options options = { .timeline = false };
	struct pmc_profile profile;
	int code = parse(&request, argc, argv);

	if (code)
		return code;
	options.timeline = request.format == EXPORT_chrome;
	pmc_profile_init(&profile, &options);
	/* Every unreadable file is named. */
	for (unsigned i = 0; i < request.n_files; i++)
		if (report_read_file(&profile, request.files[i]))
			code = EXIT_FAIL;
	if (!code) {
		pmc_profile_finish(&profile);
		code = name_and_write(&request, &profile);
	}
	pmc_profile_free(&profile);
	return code;
}

/* ---- exports that are forms of the report --------------------------------------------------- */

static int write_report(struct export *export, struct pmc_report_options *options)
{
	const char *problem = NULL;
	int error;

	options->top = -1;
	error = pmc_report(export->profile, options, export->out, &problem);
	return error == export->out->error ? 0 : error;
}

int export_folded(struct export *export)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_FOLDED,
					      .by = PMC_BY_PATH,
					      .event = export->event,
					      .fold_samples = report_fold_counted,
					      .names_arg = export->names };

	return write_report(export, &options);
}

int export_csv(struct export *export)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_CSV };

	return write_report(export, &options);
}

int export_jsonl(struct export *export)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_JSON_LINES };

	return write_report(export, &options);
}

/* ---- events and pools of samples ------------------------------------------------------------ */

static int find(const struct export *export, const struct pmc_p_event *event)
{
	for (unsigned i = 0; i < export->n_events; i++)
		if (!strcmp(export->events[i]->name, event->name) &&
		    !strcmp(export->events[i]->core_type, event->core_type))
			return (int)i;
	return -1;
}

void export_find_events(struct export *export)
{
	const struct pmc_profile *profile = export->profile;

	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_event *event = profile->samples[i]->event;

		if (event && (!export->event || !strcmp(event->name, export->event)) &&
		    export->n_events < EXPORT_EVENTS_MOST && find(export, event) < 0)
			export->events[export->n_events++] = event;
	}
}

int export_event_of(const struct export *export, const struct pmc_p_samples *samples)
{
	return samples->event ? find(export, samples->event) : -1;
}

bool export_has_rows(const struct export *export)
{
	const struct pmc_profile *profile = export->profile;

	for (uint64_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i]->row && export_event_of(export, profile->samples[i]) >= 0)
			return true;
	return false;
}

bool export_is_time(const struct pmc_p_event *event)
{
	return !strcmp(event->unit, "ns");
}

int export_find_pools(struct export *export, struct export_pools *pools)
{
	const struct pmc_profile *profile = export->profile;
	struct pmc_thread_buf buf;

	pools->of = pmc_arena_alloc(&export->arena, (profile->n_samples + 1) * sizeof(*pools->of));
	pmc_union_init(&pools->events, &export->arena);
	pmc_fold_begin(&pools->fold, &pools->events, PMC_BY_POOL);
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *samples = profile->samples[i];
		const struct pmc_p_thread *thread;
		struct pmc_fold_row *pool;

		if (!samples->row || export_event_of(export, samples) < 0)
			continue;
		thread = pmc_profile_thread(profile, samples->row, &buf);
		pool = pmc_fold_find(&pools->fold, thread);
		pmc_fold_add(pool, &pools->events, thread, false);
		pools->of[i] = pool;
	}
	pmc_fold_end(&pools->fold);
	return 0;
}
