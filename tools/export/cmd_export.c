/* SPDX-License-Identifier: MIT */
/* cmd_export.c - pmctl export: converts dumps for other tools. */
#include "tools/cli/flags.h"
#include "tools/cli/new_file.h"
#include "tools/export/export.h"
#include "tools/report/report.h"
#include "tools/view/report.h"
#include "tools/cli/pmctl.h"

#include <string.h>
#include <unistd.h>

enum {
	EXPORT_NONE,
#define X(id, name, samples, output) EXPORT_##id,
#include "tools/export/exporters.def"
#undef X
};

static const struct exporter {
	void (*write)(struct export *export);
	enum export_samples samples;
	enum export_output output;
} exporters[] = {
#define X(id, name, samples, output) [EXPORT_##id] = { export_##id, samples, output },
#include "tools/export/exporters.def"
#undef X
};

static const char *const formats[] = {
#define X(id, name, samples, output) [EXPORT_##id] = name,
#include "tools/export/exporters.def"
#undef X
};

struct request {
	int format;
	const char *event, *root, *output, *per;
	const char **files, **before;
	unsigned n_files, n_before;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_export_flags[] = {
	FLAG_WORD(0, "--to", "FORMAT", format, formats, "format"),
	FLAG_OUTPUT(output, "output file instead of standard output"),
	FLAG_EVENT(event, "event whose samples are exported (default: all)"),
	FLAG_SYMFS(root),
	FLAG_LIST(0, "--before", "FILE", before, n_before,
		  "html: differences from this dump; repeatable, sums"),
	FLAG_TEXT(0, "--per", "EVENT", per, "with --before: compares by that event's counts"),
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
	if (!request->n_files && request->output)
		return tool_fail(EXIT_USAGE,
				 "no dump given but the output '%s'; name one or more files, too",
				 request->output);
	if (!request->n_files)
		return tool_fail(EXIT_USAGE,
				 "no dump given; name one or more files, or - for standard input");
	if ((request->event || request->root) && exporters[request->format].samples == NO)
		return tool_fail(EXIT_USAGE, "%s is for samples, of which %s has none",
				 request->event ? "--event" : "--symfs", name);
	if (request->n_before && request->format != EXPORT_html)
		return tool_fail(EXIT_USAGE, "--before is for a page; add --to html");
	if (request->per && !request->n_before)
		return tool_fail(EXIT_USAGE, "--per compares two sides; add --before FILE");
	if (exporters[request->format].output == DIRECTORY &&
	    (!request->output || !strcmp(request->output, "-")))
		return tool_fail(EXIT_USAGE, "%s is files in a directory; add -o DIR", name);
	if (exporters[request->format].output == BINARY && !request->output &&
	    isatty(STDOUT_FILENO))
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
	for (unsigned i = 0; i < export->n_events; i++)
		if (!export->events[i].samples && !pmc_is_off_cpu(export->events[i].event))
			tool_warn("no samples by %.60s: samples are taken in user mode, of threads "
				  "that run for a period; pmctl report --by function says how "
				  "much of the event they explain",
				  export->events[i].event->name);
}

/* A line of folded has one number. */
static void warn_of_others(const struct export *export)
{
	struct pmc_out names = PMC_OUT_MEM(512);
	unsigned n = 0;

	for (unsigned i = 0; i < export->n_events; i++) {
		const char *name = export->events[i].event->name;
		bool again = false;

		for (unsigned k = 0; k < i; k++)
			again |= !strcmp(export->events[k].event->name, name);
		if (!again)
			pmc_outf(&names, "%s%.60s", n++ ? ", " : "", name);
	}
	if (n > 1)
		tool_warn("folded has the samples of one event, and the dump those of %u (%s); "
			  "--event selects one",
			  n, names.buf);
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
	const bool directory = exporters[request->format].output == DIRECTORY;
	struct pmc_out out;
	int fd = STDOUT_FILENO, error;

	if (request->output && !directory)
		fd = tool_replace_begin(request->output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_out_to_fd(&out, fd, room, sizeof(room));
	export->out = directory ? NULL : &out;
	export->directory = request->output;
	exporters[request->format].write(export);
	error = tool_replace_end(fd, pmc_out_flush(&out));
	if (!error && !export->code && export->names)
		report_names_warn(export->names, names_fix(request));
	return error ? tool_fail_write(where, -error) : export->code;
}

/* The counts of --per, in all threads; of recordings those of the sampled event. */
static int count_per(const struct request *request, struct export *export)
{
	const struct pmc_profile *profile = export->profile;
	struct pmc_thread_buf buf;

	for (uint64_t i = 0; request->per && i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &buf);

		for (unsigned k = 0; thread->set && k < thread->set->count; k++)
			if (!strcmp(thread->set->events[k].name, request->per) &&
			    pmc_count_has_value(&thread->counts[k]))
				export->per_count += (double)pmc_count_value(&thread->counts[k]) *
						     pmc_event_scale(&thread->set->events[k]);
	}
	for (uint64_t i = 0, n = export->per_count > 0 ? 0 : profile->n_samples; i < n; i++) {
		const struct pmc_p_samples *of = profile->samples[i];

		if (request->per && of->event && !strcmp(of->event->name, request->per) &&
		    of->count && pmc_count_has_value(of->count))
			export->per_count +=
				(double)pmc_count_value(of->count) * pmc_event_scale(of->event);
	}
	export->per = request->per;
	return !request->per || export->per_count > 0 ?
		       0 :
		       tool_fail(
			       EXIT_FAIL,
			       "%s has no counts of %s; count it in both runs, with pmctl run -e, "
			       "or sample it with pmctl profile -e",
			       export->files[0], request->per);
}

static int read_dated(void *to, int fd, const char *name)
{
	struct pmc_profile *profile = to;
	struct stat st;

	if (fstat(fd, &st) == 0)
		profile->recorded_ms = (uint64_t)st.st_mtime * 1000;
	return report_read_one(profile, fd, name);
}

/* Side A of a page with differences. */
static int read_before(const struct request *request, struct pmc_profile *profile,
		       struct export *before)
{
	int code;

	pmc_profile_init(profile, NULL);
	code = tool_inputs_read(request->before, request->n_before, read_dated, profile);
	if (code)
		return code;
	pmc_profile_finish(profile);
	symbols_resolve(profile);
	*before = (struct export){ .profile = profile,
				   .event = request->event,
				   .files = request->before,
				   .n_files = request->n_before };
	export_find_samples(before);
	before->names = report_names_new(request->root);
	return before->n_events ? count_per(request, before) :
				  tool_fail(EXIT_FAIL, "%s has no samples%s", request->before[0],
					    pmc_why_no_samples(profile));
}

static int name_and_write(const struct request *request, struct pmc_profile *profile,
			  struct export *before)
{
	struct export export = { .profile = profile,
				 .event = request->event,
				 .files = request->files,
				 .n_files = request->n_files,
				 .before = before };
	enum export_samples samples = exporters[request->format].samples;
	int code;

	if (request->format == EXPORT_chrome && !profile->n_timed_lists)
		samples = NO;
	symbols_resolve(profile);
	export_find_samples(&export);
	if (!export.n_events && (samples == NEEDED || request->event || before))
		return no_samples(request, profile);
	if (request->format == EXPORT_folded && !export.has_rows)
		return tool_fail(EXIT_FAIL,
				 "no thread of the samples is known: their rows are damaged or "
				 "missing; folded needs them, other formats do not");
	if (samples != NO && (export.n_events || request->format == EXPORT_parquet))
		export.names = report_names_new(request->root);
	if (samples != NO)
		warn_of_none(&export);
	if (request->format == EXPORT_folded)
		warn_of_others(&export);
	code = count_per(request, &export);
	if (!code)
		code = write_output(request, &export);
	report_names_free(export.names);
	pmc_arena_free(&export.arena);
	return code;
}

int cmd_export(int argc, char **argv)
{
	struct request request = { .output = NULL };
	struct pmc_profile_options options = { .timeline = false };
	struct pmc_profile profile, old = { .n_threads = 0 };
	struct export before = { .names = NULL };
	int code = parse(&request, argc, argv);

	if (!code && request.n_before)
		code = read_before(&request, &old, &before);
	if (code)
		return code;
	options.timeline = request.format == EXPORT_chrome || request.format == EXPORT_parquet ||
			   request.format == EXPORT_html;
	options.times = request.format == EXPORT_chrome || request.format == EXPORT_perf_data ||
			request.format == EXPORT_html;
	pmc_profile_init(&profile, &options);
	code = tool_inputs_read(request.files, request.n_files, read_dated, &profile);
	if (!code) {
		pmc_profile_finish(&profile);
		code = name_and_write(&request, &profile, request.n_before ? &before : NULL);
	}
	report_names_free(before.names);
	pmc_arena_free(&before.arena);
	pmc_profile_free(&old);
	pmc_profile_free(&profile);
	return code;
}

/* ---- exports that are forms of the report --------------------------------------------------- */

static void write_report(struct export *export, struct pmc_report_options options)
{
	const char *problem = NULL;

	options.top = -1;
	pmc_report(export->profile, &options, export->out, &problem);
}

void export_folded(struct export *export)
{
	write_report(export, (struct pmc_report_options){ .format = PMC_FORMAT_FOLDED,
							  .by = PMC_BY_PATH,
							  .event = export->event,
							  .fold_samples = report_fold_counted,
							  .names_arg = export->names });
}

void export_csv(struct export *export)
{
	write_report(export, (struct pmc_report_options){ .format = PMC_FORMAT_CSV });
}

void export_jsonl(struct export *export)
{
	write_report(export, (struct pmc_report_options){ .format = PMC_FORMAT_JSON_LINES });
}

/* ---- samples -------------------------------------------------------------------------------- */

/* The index of the event, which may be new; -1: it is left out. */
static int event_of(struct export *export, const struct pmc_p_event *event)
{
	unsigned i;

	if (!event || (export->event && strcmp(event->name, export->event) != 0))
		return -1;
	for (i = 0; i < export->n_events; i++)
		if (!strcmp(export->events[i].event->name, event->name) &&
		    !strcmp(export->events[i].event->core_type, event->core_type))
			return (int)i;
	if (i == EXPORT_EVENTS_MOST)
		return -1;
	export->events[export->n_events++].event = event;
	return (int)i;
}

/* Of two lists in the same order: the same samples by time. */
static const struct pmc_p_samples *by_time(const struct pmc_profile *profile,
					   const struct pmc_p_samples *samples, uint64_t *at)
{
	const struct pmc_p_samples *timed =
		*at < profile->n_timed_lists ? profile->timed[*at] : NULL;

	if (!timed || timed->process != samples->process || timed->row != samples->row ||
	    timed->event != samples->event)
		return samples;
	++*at;
	return timed->samples == samples->samples && timed->weight == samples->weight ? timed :
											samples;
}

void export_find_samples(struct export *export)
{
	uint64_t at = 0;
	const struct pmc_profile *profile = export->profile;
	struct pmc_thread_buf buf;

	export->lists =
		pmc_arena_alloc(&export->arena, (profile->n_samples + 1) * sizeof(*export->lists));
	pmc_union_init(&export->united, &export->arena);
	pmc_fold_begin(&export->pools, &export->united, NULL, PMC_BY_POOL);
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *samples = profile->samples[i];
		const struct pmc_p_samples *timed = by_time(profile, samples, &at);
		const int event = event_of(export, samples->event);
		struct export_list *list = &export->lists[export->n_lists];

		if (event < 0)
			continue;
		export->n_lists++;
		list->of = timed;
		list->event = (unsigned)event;
		pmc_add_sat(&export->events[event].samples, samples->samples);
		pmc_add_sat(&export->events[event].weight, samples->weight);
		if (!samples->row)
			continue;
		export->has_rows = true;
		list->pool = pmc_fold_find(&export->pools,
					   pmc_profile_thread(profile, samples->row, &buf));
	}
	pmc_fold_end(&export->pools);
}

bool export_is_time(const struct pmc_p_event *event)
{
	return !strcmp(event->unit, "ns");
}

uint64_t export_sample_ns(const struct pmc_p_samples *samples, const struct pmc_p_sample *sample)
{
	const uint64_t hz = samples->fixed.frequency;

	if (samples->event && export_is_time(samples->event))
		return sample->weight;
	return hz ? sample->count * (1000000000 / hz) : 0;
}

const struct export_pair *export_pair_of(struct pmc_arena *arena, struct export_pair **table,
					 const char *a, const char *b)
{
	const struct export_pair_key key = { a, b };
	struct export_pair *pair;

	HASH_ENTRY(*table, key, &key, pair);
	pair->number = pair->number ? pair->number : HASH_COUNT(*table);
	return pair;
}
