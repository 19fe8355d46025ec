/* SPDX-License-Identifier: MIT */
/* footer.c - the lines under a table: coverage, advice, what is missing and why, notes. */
#include "lib/event/event.h"
#include "lib/base/number.h"
#include "tools/view/view.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>

/* Room for a line with the names of 1024 events. */
enum { LINE_CAP = 1 << 17 };

void pmc_footer_end_line(struct pmc_view *view)
{
	const bool markdown = view->options->format == PMC_FORMAT_MARKDOWN;
	struct pmc_out *line = view->out;

	pmc_show_wrapped(view->footer, line->buf,
			 markdown ? INT_MAX : pmc_screen_width(&view->options->screen));
	pmc_out_to_mem(line, line->buf, line->cap);
}

void pmc_footer_line(struct pmc_view *view, const char *text)
{
	pmc_out_str(view->out, text);
	pmc_footer_end_line(view);
}

/* ---- coverage ---------------------------------------------------------------------------- */

/* Processes whose end is not in the dump, or rows, have any number of threads. all NULL: of rows
 * that are there. */
static void counted(struct pmc_view *view, uint64_t counted, uint64_t not,
		    const struct pmc_coverage *all)
{
	const bool unseen = all && all->unseen_ends, more = unseen || (all && all->lacks_rows);

	pmc_out_str(view->out, view->glyphs->dot);
	pmc_show_integer(view->out, counted);
	pmc_out_str(view->out, more ? " of at least " : " of ");
	pmc_show_count(view->out, counted + not, "thread", "threads");
	pmc_out_str(view->out, unseen ? " counted; later rows are unknown" : " counted");
}

/* Of the rows that --where selects. */
static void selected(struct pmc_view *view, const struct pmc_footer *footer)
{
	struct pmc_thread_buf buf;
	uint64_t not = 0;

	for (uint64_t i = 0; i < view->n_rows; i++)
		not += (!i || !pmc_same_thread(view->rows[i - 1], view->rows[i])) &&
		       pmc_profile_thread(view->profile, view->rows[i], &buf)->fixed.reason;
	pmc_out_str(view->out, " selected by ");
	pmc_view_conditions(view, false);
	if (footer->coverage->cpu_ns) {
		pmc_out_str(view->out, ": ");
		pmc_show_percent(view->out, 100 * ((double)footer->coverage->shown_cpu_ns /
						   (double)footer->coverage->cpu_ns));
		pmc_out_str(view->out, " % of CPU");
	}
	counted(view, footer->coverage->selected - not, not, NULL);
	pmc_footer_end_line(view);
}

/* The share of the CPU time that rows have. */
static void share(struct pmc_out *out, const struct pmc_coverage *coverage)
{
	double percent;

	if (coverage->unseen_ends && coverage->running == coverage->unseen_ends) {
		pmc_out_str(out, "unknown: ");
		pmc_show_count(out, coverage->running, "process", "processes");
		pmc_out_str(out, " still running at the last snapshot");
	} else if (coverage->unseen_ends) {
		pmc_out_str(out, "unknown: the end of ");
		pmc_show_count(out, coverage->unseen_ends, "process", "processes");
		pmc_out_str(out, " was not seen");
	} else if (coverage->left) {
		pmc_out_str(out, "unknown: child processes of ");
		pmc_show_count(out, coverage->left, "process", "processes");
		pmc_out_str(out, coverage->left == 1 ? " were running when it ended" :
						       " were running when these ended");
	} else if (coverage->cpu_ns) {
		percent = 100 * ((double)coverage->attributed_cpu_ns / (double)coverage->cpu_ns);
		/* The clocks of a process and its threads are read one after the other. */
		if (percent > 100 && percent < 101)
			percent = 100;
		pmc_show_percent(out, percent);
		pmc_out_str(out, " % of CPU");
	} else {
		pmc_out_str(out, "unknown");
	}
}

/* Time in which counting was off. */
static void off_time(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	struct pmc_out *out = view->out;

	if (!coverage->off_ns)
		return;
	pmc_out_char(out, ' ');
	pmc_show_time(out, (double)coverage->off_ns, view->glyphs->micro);
	pmc_out_str(out, " not counted");
	if (coverage->processes > 1) {
		pmc_out_str(out, " in ");
		pmc_show_integer(out, coverage->off_processes);
		pmc_out_str(out, " of ");
		pmc_show_integer(out, coverage->processes);
		pmc_out_str(out, " processes");
	}
	pmc_out_str(out, " (PMC_START, PMC_DELAY, pmctl ctl stop or reset): values, CPU time and "
			 "switches too, are of the rest");
	pmc_footer_line(view, coverage->has_earlier ? ", but of threads that ended before" : "");
}

static void coverage(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	struct pmc_out *out = view->out;
	uint64_t beside;

	pmc_out_str(out, " coverage ");
	share(out, coverage);
	counted(view, coverage->threads_counted, coverage->threads_uncounted, coverage);
	if (coverage->cpu_ns && coverage->overhead_ns && !coverage->unseen_ends &&
	    !coverage->left) {
		pmc_outf(out, "%sagent overhead%s ", view->glyphs->dot,
			 coverage->is_sampled ? " at least" : "");
		pmc_show_percent(out,
				 100.0 * (double)coverage->overhead_ns / (double)coverage->cpu_ns);
		pmc_out_str(out, " %");
	}
	pmc_footer_end_line(view);
	beside = coverage->descendants.cpu.sum;
	if (coverage->has_descendants && beside > coverage->cpu_ns / 100 && beside > 10000000) {
		pmc_out_char(out, ' ');
		pmc_show_time(out, (double)beside, view->glyphs->micro);
		pmc_footer_line(
			view, " CPU of child processes is in no thread's row: programs without an "
			      "agent, children "
			      "killed before their first row, start and exit of the others");
	}
	off_time(view, coverage);
}

/* ---- events without a value ---------------------------------------------------------------- */

static bool is_hardware(const struct pmc_p_event *event)
{
	return event->def.type == PERF_TYPE_HARDWARE || event->def.type == PERF_TYPE_HW_CACHE ||
	       event->def.type == PERF_TYPE_RAW;
}

/* No hardware event was supported, not even cycles or instructions. */
static bool no_pmu(const struct pmc_view *view)
{
	bool asked = false;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_p_event *event = &view->events.set.events[i];

		if (!is_hardware(event))
			continue;
		if (event->def.state != PMC_NOT_SUPPORTED)
			return false;
		asked |= event->def.type == PERF_TYPE_HARDWARE &&
			 event->def.config <= PERF_COUNT_HW_INSTRUCTIONS;
	}
	return asked;
}

/* What the errno means on this machine; NULL if the report may be of another, or without memory. */
static const char *why_here(struct pmc_view *view, const struct pmc_event_def *def, uint32_t error)
{
	const struct pmc_event event = { .type = def->type, .config = def->config };
	const struct perf_event_attr attr = {
		.type = def->type,
		.exclude_kernel = def->scope == PMC_SCOPE_USER,
	};
	const struct pmc_tried tried = {
		.attr = &attr,
		.kernel_only = pmc_event_filter(&event) == PMC_KERNEL_ONLY,
	};
	struct pmc_advice *advice;

	if (!view->options->here || !error || error >= PMC_REASON_ADOPTED)
		return NULL;
	advice = pmc_arena_alloc(view->arena, sizeof(*advice));
	if (!advice)
		return NULL;
	pmc_advise((int)error, &tried, view->options->here, advice);
	return advice->means;
}

/* NULL: the event has a line of its own. */
static const char *why_not(struct pmc_view *view, const struct pmc_fold_row *all, unsigned index)
{
	const struct pmc_p_event *event = &view->events.set.events[index];
	const struct pmc_fold_stat *stat = &all->events[index];
	enum pmc_state state = (enum pmc_state)event->def.state;
	uint32_t error = event->def.error;
	const char *here;

	if (error == PMC_REASON_UNCORE || stat->error == PMC_REASON_UNCORE)
		return NULL;
	if (state == PMC_COUNTED || state == PMC_SCALED) {
		state = pmc_fold_state(stat, all->rows);
		error = stat->error;
	}
	/* A refusal in single threads may be the program's own filter, not the machine's. */
	here = error == event->def.error ? why_here(view, &event->def, error) : NULL;
	if (here)
		return here;
	if (state == PMC_NOT_PERMITTED)
		return error == ENOSYS ? "perf_event_open is not available" : "not permitted";
	if (state == PMC_NOT_SUPPORTED && !error)
		return "not supported";
	return error ? pmc_reason_text(error) : "never ran";
}

/* One line for all events without a value: those of one reason together. */
static void missing(struct pmc_view *view, const struct pmc_fold_row *all, bool without_hardware)
{
	unsigned n = view->events.set.count;
	bool *told = pmc_arena_alloc(view->arena, n + 1), any = false, doctor = false;
	struct pmc_out *out = view->out;

	for (unsigned i = 0; told && all->rows && i < n; i++) {
		const char *why = why_not(view, all, i), *also;

		if (told[i] || all->events[i].rows || !why ||
		    (without_hardware && is_hardware(&view->events.set.events[i])))
			continue;
		pmc_out_str(out, any ? "; " : " not counted: ");
		for (unsigned j = i; j < n; j++) {
			also = all->events[j].rows ? NULL : why_not(view, all, j);
			if (told[j] || !also || strcmp(why, also) != 0)
				continue;
			told[j] = true;
			pmc_out_str(out, j == i ? "" : ", ");
			pmc_view_text(view, view->events.columns[j]->label, 60);
		}
		pmc_outf(out, " (%s)", why);
		any = true;
		doctor |= strcmp(why, pmc_reason_text(PMC_REASON_NOT_STARTED)) != 0;
	}
	if (any)
		pmc_footer_line(view, doctor ? "; see pmctl doctor" : "");
	if (view->events.overflow)
		pmc_footer_line(view, " more events than columns; --format json has them all");
}

static bool has_values(const struct pmc_view *view, const struct pmc_fold_row *all, uint64_t config)
{
	int event = pmc_view_software(view, config, true);

	return event >= 0 && all->events[event].rows;
}

/* Columns that are left out because they are known of no thread. */
static void usage(struct pmc_view *view, const struct pmc_fold_row *all)
{
	bool switches = has_values(view, all, PERF_COUNT_SW_CONTEXT_SWITCHES);
	bool faults = has_values(view, all, PERF_COUNT_SW_PAGE_FAULTS);

	if (!all->rows || all->usage_rows || view->by == PMC_BY_REGION || (switches && faults))
		return;
	pmc_outf(view->out, " not shown: %s%s%s", switches ? "" : "vol, invol",
		 switches || faults ? "" : ", ", faults ? "" : "page-faults");
	pmc_footer_line(view, " (a snapshot from outside has them of ended threads only)");
}

static void user_only(struct pmc_view *view, const struct pmc_fold_row *all)
{
	bool any = false;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_event_def *def = &view->events.set.events[i].def;

		if (!all->events[i].rows ||
		    !(view->events.columns[i]->mixed_scope ||
		      (def->flags & PMC_EVENT_FELL_BACK && def->scope == PMC_SCOPE_USER)))
			continue;
		pmc_out_str(view->out, any ? ", " : " user mode only: ");
		pmc_view_text(view, view->events.columns[i]->label, 60);
		any = true;
	}
	if (any)
		pmc_footer_line(view, "; see pmctl doctor");
}

/* No hardware counters, and how to keep the run, in one line. */
static bool advice(struct pmc_view *view, bool keep)
{
	const struct pmc_report_options *options = view->options;
	bool none = no_pmu(view), here = options->here || options->keep_hint;

	if (none)
		pmc_outf(view->out, " no hardware counters%s (pmctl doctor)", here ? " here" : "");
	if (keep)
		pmc_outf(view->out, "%skeep this run: %s", none ? view->glyphs->dot : " ",
			 options->keep_hint);
	if (none || keep)
		pmc_footer_end_line(view);
	return none;
}

/* ---- threads that were not counted, notes ---------------------------------------------- */

struct tally {
	uint64_t count;
	uint32_t reason;
	const char *text;
};

struct tallies {
	struct tally *list;
	unsigned n, room;
};

/* Few kinds in practice; a hostile dump's further ones are left out. */
static void tally_add(struct tallies *tallies, uint32_t reason, const char *text, uint64_t count)
{
	for (unsigned i = 0; i < tallies->n; i++) {
		struct tally *tally = &tallies->list[i];

		if (tally->reason == reason && !strcmp(tally->text, text)) {
			pmc_add_sat(&tally->count, count);
			return;
		}
	}
	if (tallies->n < tallies->room)
		tallies->list[tallies->n++] = (struct tally){ count, reason, text };
}

#define TALLIES 16

static void times(struct pmc_out *out, uint64_t n)
{
	if (n < 2)
		return;
	pmc_out_str(out, " (");
	pmc_show_integer(out, n);
	pmc_out_str(out, " times)");
}

static void uncounted(struct pmc_view *view)
{
	struct tally list[TALLIES];
	struct tallies tallies = { list, 0, TALLIES };
	struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		for (unsigned r = 0; r < process->n_uncounted; r++)
			tally_add(&tallies, 0, pmc_reason_text(process->uncounted[r].reason),
				  process->uncounted[r].count);
	}
	for (unsigned i = 0; i < tallies.n; i++) {
		pmc_out_char(view->out, ' ');
		pmc_show_count(view->out, list[i].count, "thread", "threads");
		pmc_outf(view->out, " not counted: %s", list[i].text);
		pmc_footer_end_line(view);
	}
}

static void notes(struct pmc_view *view)
{
	struct tally list[TALLIES];
	struct tallies tallies = { list, 0, TALLIES };
	struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		for (unsigned n = 0; n < process->n_notes; n++)
			tally_add(&tallies, process->notes[n].fixed.code, process->notes[n].text,
				  process->notes[n].fixed.count);
	}
	for (unsigned i = 0; i < tallies.n; i++) {
		pmc_out_str(view->out, " note: ");
		pmc_view_text(view, list[i].text, 4000);
		times(view->out, list[i].count);
		pmc_footer_end_line(view);
	}
	if (tallies.n == TALLIES)
		pmc_footer_line(view, " more notes may follow; JSON has them all");
	if (profile->damaged_frames) {
		pmc_out_char(view->out, ' ');
		pmc_show_count(view->out, profile->damaged_frames, "damaged frame",
			       "damaged frames");
		pmc_footer_line(view, profile->damaged_frames == 1 ?
					      " skipped: the report lacks what was in it" :
					      " skipped: the report lacks what was in them");
	}
}

/* The commands of the first processes, if the report is of several runs. */
static void runs(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	struct tally list[TALLIES];
	struct tallies tallies = { list, 0, TALLIES };
	struct pmc_profile *profile = view->profile;

	if (coverage->runs < 2)
		return;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (process->known && process->fixed.flags & PMC_PROCESS_FIRST &&
		    process->fixed.how_ended != PMC_ENDED_EXEC)
			tally_add(&tallies, 0, pmc_view_command(process), 1);
	}
	pmc_out_char(view->out, ' ');
	pmc_show_count(view->out, coverage->runs, "run", "runs");
	for (unsigned i = 0; i < tallies.n; i++) {
		pmc_out_str(view->out, i ? "; " : ": ");
		pmc_view_text(view, list[i].text, 60);
		times(view->out, list[i].count);
	}
	pmc_footer_line(view, tallies.n == TALLIES ? "; and others" : "");
}

/* What is missing in rows of counts, and why. */
static void counts(struct pmc_view *view, const struct pmc_footer *footer)
{
	bool keep = view->options->keep_hint != NULL;

	pmc_footer_outside_clock(view, footer);
	pmc_footer_regions(view);
	keep &= !pmc_footer_samples(view);
	uncounted(view);
	missing(view, footer->all, advice(view, keep));
	if (footer->coverage->has_cpu)
		usage(view, footer->all);
	user_only(view, footer->all);
}

static void not_shown(struct pmc_view *view, const char *columns)
{
	pmc_outf(view->out, " not shown: %s (", columns);
	if (view->options->no_flags && view->options->keep_hint)
		pmc_outf(view->out, "%s, then ", view->options->keep_hint);
	pmc_outf(view->out, "%s--wide", view->options->no_flags ? "pmctl report " : "");
	if (view->options->no_flags) {
		pmc_out_char(view->out, ' ');
		pmc_footer_dump(view);
	}
	pmc_out_char(view->out, ')');
	pmc_footer_end_line(view);
}

void pmc_view_footer(struct pmc_view *view, const struct pmc_footer *footer)
{
	char *buf = pmc_arena_alloc(view->arena, LINE_CAP);
	struct pmc_out text;

	if (!buf)
		return;
	pmc_out_to_mem(&text, buf, LINE_CAP);
	view->footer = view->out;
	view->out = &text;
	if (!pmc_by_samples(view->by))
		pmc_footer_uncore(view);
	if (view->n_row_where && view->samples.event)
		pmc_footer_sample_rows(view);
	if (view->n_where)
		selected(view, footer);
	else if (!pmc_by_samples(view->by))
		coverage(view, footer->coverage);
	runs(view, footer->coverage);
	pmc_footer_ended(view, footer->coverage);
	if (!pmc_by_samples(view->by))
		counts(view, footer);
	if (footer->scaled)
		pmc_footer_line(view,
				" ran below 100 %: multiplexed; values are estimates scaled to the "
				"whole time");
	if (footer->estimate)
		pmc_footer_line(view, " ~: of scaled values, or of events in different groups");
	if (footer->partial)
		pmc_footer_partial(view, footer);
	pmc_footer_sums(view, footer);
	if (footer->hidden && footer->hidden[0])
		not_shown(view, footer->hidden);
	notes(view);
	view->out = view->footer;
}
