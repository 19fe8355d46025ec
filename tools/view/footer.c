/* SPDX-License-Identifier: MIT */
/* footer.c - the lines under a table: coverage, advice, what is missing and why, notes. */
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/event/event.h"
#include "tools/view/view.h"

#include <signal.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* Room for a line with the names of 1024 events. */
enum { LINE_CAP = 1 << 17 };

static void end(struct pmc_view *view)
{
	struct pmc_out *line = view->out;

	view->notes = pmc_arena_grow(view->arena, view->notes, view->n_notes, &view->notes_room,
				     sizeof(*view->notes));
	view->notes[view->n_notes++] = pmc_arena_strndup(view->arena, line->buf, line->len);
	pmc_out_to_mem(line, line->buf, line->cap);
}

#define say(view, ...)	pmc_say(view, __VA_ARGS__)
#define note(view, ...) (pmc_say(view, __VA_ARGS__), end(view))

/* ---- coverage ---------------------------------------------------------------------------- */

/* Processes whose end is not in the dump, or rows, have any number of threads. all NULL: of rows
 * that are there. */
static void counted(struct pmc_view *view, uint64_t n_counted, uint64_t n_uncounted,
		    const struct pmc_coverage *all)
{
	const bool more = all && all->lacks_rows;

	if (n_uncounted || !more)
		say(view, "%.%n of %s%n %(thread|threads) counted", n_counted,
		    more ? "at least " : "", n_counted + n_uncounted);
	else if (n_counted)
		say(view, "%.%n %(thread|threads) counted, perhaps not all", n_counted);
	else
		say(view, "%.no thread counted");
	say(view, all && all->unseen_ends ? "; later rows are unknown" : "");
}

static void selected(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	struct pmc_thread_buf buf;
	uint64_t not = 0;

	for (uint64_t i = 0; i < view->n_rows; i++)
		not += (!i || !pmc_same_thread(view->rows[i - 1], view->rows[i])) &&
		       pmc_profile_thread(view->profile, view->rows[i], &buf)->fixed.reason;
	say(view, " selected by ");
	pmc_view_conditions(view, false);
	if (coverage->cpu_ns)
		say(view, ": %p %% of CPU",
		    100 * ((double)coverage->shown_cpu_ns / (double)coverage->cpu_ns));
	counted(view, coverage->selected - not, not, NULL);
	end(view);
}

static void share(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	double percent;

	if (coverage->unseen_ends == 1)
		say(view, "unknown: the end of process %s is not in the dump",
		    pmc_arena_format(view->arena, "%u", coverage->unseen->fixed.pid));
	else if (coverage->unseen_ends)
		say(view, "unknown: the end of %n processes is not in the dump",
		    coverage->unseen_ends);
	else if (coverage->left)
		say(view,
		    "unknown: child processes of %n %(process|processes) were running when "
		    "%(it|these) "
		    "ended",
		    coverage->left);
	else if (!coverage->cpu_ns)
		say(view, "unknown");
	else {
		percent = 100 * ((double)coverage->attributed_cpu_ns / (double)coverage->cpu_ns);
		/* The clocks of a process and its threads are read one after the other. */
		say(view, "%p %% of CPU", percent > 100 && percent < 101 ? 100 : percent);
	}
}

static void coverage(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	const uint64_t beside = coverage->descendants.cpu.sum, some = coverage->cpu_ns / 100;
	const uint64_t unattributed = coverage->unattributed.cpu.sum;
	const double overhead = 100.0 * (double)coverage->overhead_ns / (double)coverage->cpu_ns;

	say(view, " coverage ");
	share(view, coverage);
	counted(view, coverage->threads_counted, coverage->threads_uncounted, coverage);
	if (coverage->cpu_ns && coverage->overhead_ns && !coverage->unseen_ends && !coverage->left)
		say(view, "%.agent overhead %s%p %%", overhead < 0.05 ? "measured: " : "at least ",
		    overhead);
	end(view);
	if (coverage->recorded && unattributed + beside > some && unattributed + beside > 10000000)
		note(view,
		     " %t CPU is in no thread's row: records lack it, such as the time in which "
		     "the kernel frees the memory of a process that has ended",
		     unattributed + beside);
	else if (unattributed > some && unattributed > 10000000)
		note(view, " %t CPU is in no thread's row: %s", unattributed,
		     unattributed <= pmc_coverage_ends_ns(coverage) ?
			     "the kernel's work at the start and end of threads and processes" :
		     coverage->rowless_ns > unattributed / 2 ?
			     "programs without the agent, or whose end it did not see" :
		     coverage->cut_ns > unattributed / 2 ?
			     "threads that ran when their process was killed, since its last "
			     "snapshot" :
			     "threads made by a raw clone, or whose row could not be written");
	if (!coverage->recorded && coverage->has_descendants && beside > some && beside > 10000000)
		note(view,
		     " %t CPU of child processes is in no thread's row: programs without an agent, "
		     "children killed before their first row, start and exit of the others",
		     beside);
	/* Time in which counting was off. */
	if (!coverage->off_ns)
		return;
	note(view,
	     " %s%t not counted%s (PMC_START, PMC_DELAY, pmctl ctl stop or reset): all values, CPU "
	     "time and switches too, are of the rest%s%s",
	     coverage->processes > 1 ? "up to " : "", coverage->off_ns,
	     coverage->processes > 1 ? " in a process" : "",
	     coverage->has_waits ? "; waits are of the whole run" : "",
	     coverage->has_earlier ? "; threads that ended before a reset keep theirs" : "");
}

/* CPU time that is not in the task-clock in its place: what the title has more than the total. */
static void outside_clock(struct pmc_view *view, const struct pmc_footer *footer)
{
	const uint64_t cpu_ns = footer->coverage->shown_cpu_ns;
	const struct pmc_fold_stat *clock;
	uint64_t outside_ns;

	if (view->clock_event < 0 || view->options->timeline || view->by == PMC_BY_REGION)
		return;
	clock = &footer->all->events[view->clock_event];
	outside_ns = pmc_sub_sat(cpu_ns, clock->sum);
	if (clock->rows >= footer->all->rows + clock->extra && outside_ns >= cpu_ns / 100 &&
	    outside_ns)
		note(view,
		     " %t CPU is not in task-clock, which leaves out the start and end of programs "
		     "and threads, and a part of each context switch",
		     outside_ns);
}

/* The marks of cells, and columns that lack values of some rows. */
static void marks(struct pmc_view *view, const struct pmc_footer *footer)
{
	const struct pmc_report_options *options = view->options;
	const struct pmc_fold_row *rows = footer->all;

	if (footer->scaled)
		note(view, " ran below 100 %%: multiplexed; values are estimates scaled to the "
			   "whole time");
	if (footer->estimate)
		note(view, " ~: of scaled values, or of events in different groups");
	if (footer->partial)
		note(view, " +: at least this much; %s",
		     rows->waits.lacks || rows->delays.lacks ?
			     "records were lost" :
		     footer->coverage->recorded && footer->coverage->least_cpu ?
			     "a part of the work of some threads was not recorded" :
		     view->n_where || footer->coverage->threads_uncounted ||
				     rows->usage_rows < rows->rows ||
				     (rows->outside_mpi.rows &&
				      rows->outside_mpi.rows < rows->rows) ?
			     "some rows could not be counted" :
			     "the counts of unattributed work are incomplete");
	if (options->timeline && footer->usage && rows->usage_rows && rows->usage_rows < rows->rows)
		note(view,
		     " -: a snapshot has the faults and switches of the thread that takes it; "
		     "-e page-faults,context-switches counts those of all");
	if (options->columns && strstr(options->columns, "delay") &&
	    rows->run_delay.rows < rows->rows)
		note(view, " delay: of threads that were there when their process or the recording "
			   "ended; pmctl run -e run-delay has that of all");
}

/* ---- events of the whole machine --------------------------------------------------------- */

static void uncore_value(struct pmc_view *view, const struct pmc_p_event *event,
			 const struct pmc_count *count)
{
	const double value = (double)pmc_count_value(count) * pmc_event_scale(event);
	const char *why = count->state == PMC_NOT_PERMITTED ?
				  "needs kernel.perf_event_paranoid=0 or CAP_PERFMON" :
			  count->error ? pmc_reason_text(count->error) :
					 NULL;

	if (!pmc_count_has_value(count))
		say(view, why ? "%s: %s" : "%s", pmc_state_name(count->state), why);
	else if (!strcmp(event->unit, "ns"))
		say(view, "%t", pmc_nearest_integer(value));
	else
		say(view, event->unit[0] ? "%v %24S" : "%v", value, event->unit);
}

/* They are in no sum either: all processes are in them, while the first one ran. */
static void uncore(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const struct pmc_p_set_view *set = process->machine.set;

		for (unsigned e = 0; set && e < set->count; e++) {
			const struct pmc_count *count = &process->machine.counts[e];

			say(view, " whole machine: %60S ", set->events[e].name);
			uncore_value(view, &set->events[e], count);
			if (count->state == PMC_SCALED)
				say(view, ", scaled");
			/* Counts of several first processes may overlap in time. */
			if (profile->n_jobs > 1 && process->known)
				pmc_outf(view->out, ", while process %u ran", process->fixed.pid);
			end(view);
		}
	}
}

/* ---- marked regions ---------------------------------------------------------------------- */

static void regions(struct pmc_view *view)
{
	const struct pmc_p_region *dearest = NULL;

	if (view->by != PMC_BY_REGION) {
		if (view->n_regions)
			note(view, " it marks regions: pmctl report --by region shows them");
		return;
	}
	if (!view->n_regions) {
		note(view, " no regions were recorded: pmctl run records those that programs mark "
			   "(pmc_region(3)), pmctl profile none");
		return;
	}
	/* The cost is the same in all threads read in the same way: the highest stands for it. */
	for (uint64_t i = 0; i < view->n_regions; i++) {
		const struct pmc_p_region *region = view->regions[i].region;

		if ((region->fixed.flags & PMC_REGION_COST) &&
		    (!dearest || region->fixed.around_cpu_ns > dearest->fixed.around_cpu_ns))
			dearest = region;
	}
	say(view, " regions include inner regions; self excludes them");
	if (dearest)
		say(view, "%.begin and end cost %t%s, subtracted", dearest->fixed.around_cpu_ns,
		    dearest->fixed.flags & PMC_REGION_USER_READS ? " (read in user space)" : "");
	end(view);
	note(view,
	     " all times but elapsed-time (pmctl run -e elapsed-time) are CPU time; min, mean "
	     "and max are of threads, not of calls");
}

/* ---- samples ----------------------------------------------------------------------------- */

static void dumps(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	const unsigned n = options->keep_hint || options->n_dumps > 4 ? 0 : options->n_dumps;

	if (!n)
		say(view, options->keep_hint ? "run.pmc" : options->n_dumps ? "FILES" : "FILE");
	for (unsigned i = 0; i < n; i++) {
		say(view, i ? " " : "");
		pmc_utf8_shell(view->out, options->dumps[i], options->screen.ascii);
	}
}

static void sample_hint(struct pmc_view *view, const char *what, const char *by)
{
	const char *keep = view->options->keep_hint;

	if (keep)
		say(view, " its %s were not kept: %s, then ", what, keep);
	else
		say(view, " it has %s: ", what);
	say(view, "pmctl report --by %s ", by);
	dumps(view);
	end(view);
}

static bool sampled(struct pmc_view *view, const struct pmc_coverage *all)
{
	bool samples = false, waits = false, clocks = false;
	uint64_t weight = 0, value = 0, whole; /* of clocks that are sampled in user mode only */

	/* Who draws the cells shows the samples, too. */
	for (uint64_t i = 0; i < view->profile->n_samples && !view->options->cells; i++) {
		const struct pmc_p_samples *of = view->profile->samples[i];

		if (!of->event)
			continue;
		waits |= of->samples && pmc_is_off_cpu(of->event);
		samples |= of->samples && !pmc_is_off_cpu(of->event);
		if (!pmc_is_user_clock(of->event))
			continue;
		clocks = true;
		pmc_add_sat(&weight, of->weight);
		if (of->count && pmc_count_has_value(of->count))
			pmc_add_sat(&value, pmc_count_value(of->count));
	}
	if (samples)
		sample_hint(view, "samples", "function");
	/* A clock may have a little more than the accounting. */
	whole = value > all->cpu_ns ? value : all->cpu_ns;
	if (clocks && weight < whole / 5 * 4)
		note(view,
		     " its samples explain %p %% of the CPU time; pmctl profile -- CMD samples "
		     "kernel mode and short threads, too, as root",
		     100 * ((double)weight / (double)whole));
	if (waits)
		sample_hint(view, "waits", "tree --event off-cpu");
	return (samples || waits) && view->options->keep_hint;
}

/* How many rows of samples --where selects; of a tree their total, without their callers. */
static void sample_rows(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;

	say(view, " %n of %n %s selected by ", samples->n_matches, samples->n_all,
	    view->by == PMC_BY_FUNCTION ? "functions" :
	    view->by == PMC_BY_MODULE	? "modules" :
	    view->by == PMC_BY_WAKER	? "rows" :
					  "lines");
	pmc_view_conditions(view, true);
	if (samples->weight && view->by == PMC_BY_PATH)
		say(view, ": total %p %%%s",
		    100 * ((double)samples->selected_total / (double)samples->weight),
		    samples->fold.n_rows == samples->n_matches ? "" :
		    view->options->inverted ? "; values of their callees include other callers" :
					      "; values of their callers include other calls");
	end(view);
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
	bool usual = view->options->here && view->options->here->core_pmu == PMC_NO;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_p_event *event = &view->events.set.events[i];

		if (!is_hardware(event))
			continue;
		if (event->def.state != PMC_NOT_SUPPORTED)
			return false;
		usual |= event->def.type == PERF_TYPE_HARDWARE &&
			 event->def.config <= PERF_COUNT_HW_INSTRUCTIONS;
	}
	return usual;
}

/* Whether this machine is the one that was measured. */
static bool is_here(const struct pmc_view *view)
{
	return view->options->here || view->options->keep_hint;
}

bool pmc_view_advise(const struct pmc_view *view, const struct pmc_event_def *def, uint32_t error,
		     struct pmc_advice *advice)
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

	/* A refusal in single threads may be the program's own filter, not the machine's. */
	if (!view->options->here || !error || error >= PMC_REASON_ADOPTED || error != def->error)
		return false;
	pmc_advise((int)error, &tried, view->options->here, advice);
	return true;
}

/* NULL: the event has a value, or another line says why not. */
static const char *why_not(struct pmc_view *view, const struct pmc_fold_row *all, unsigned index)
{
	const struct pmc_p_event *event = &view->events.set.events[index];
	const struct pmc_fold_stat *stat = &all->events[index];
	enum pmc_state state = (enum pmc_state)event->def.state;
	uint32_t error = event->def.error;
	struct pmc_advice advice;

	if (stat->rows || error == PMC_REASON_UNCORE || stat->error == PMC_REASON_UNCORE)
		return NULL;
	if (is_hardware(event) && no_pmu(view))
		return !view->requested[index] ? NULL :
		       is_here(view)	       ? "not supported here (no PMU)" :
						 "not supported (no PMU)";
	if (state == PMC_COUNTED || state == PMC_SCALED) {
		state = pmc_fold_state(stat, all->rows);
		error = stat->error;
	}
	if (pmc_view_advise(view, &event->def, error, &advice))
		return pmc_arena_strdup(view->arena, advice.means);
	if (state == PMC_NOT_PERMITTED)
		return error == ENOSYS ? "perf_event_open is not available" : "not permitted";
	if (state == PMC_NOT_SUPPORTED && !error)
		return "not supported";
	return error				      ? pmc_reason_text(error) :
	       event->def.flags & PMC_EVENT_ACCOUNTED ? "not read" :
							"never ran";
}

static void missing(struct pmc_view *view, const struct pmc_fold_row *all)
{
	const unsigned n = all->rows ? view->events.set.count : 0;
	struct table_reason *list = pmc_arena_alloc(view->arena, (n + 1) * sizeof(*list));

	for (unsigned i = 0; i < n; i++)
		list[i] = (struct table_reason){ view->events.columns[i].label,
						 why_not(view, all, i) };
	for (unsigned i = 0; i < n; i++)
		if (table_put_reason(view->out, &view->options->screen, " not counted: ", list, n,
				     i))
			note(view, strcmp(list[i].why, pmc_reason_text(PMC_REASON_NOT_STARTED)) ?
					   "; see pmctl doctor" :
					   "");
	if (view->events.overflow)
		note(view, " more events than columns; --format json has them all");
}

static void user_only(struct pmc_view *view, const struct pmc_fold_row *all)
{
	bool any = false;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_event_def *def = &view->events.set.events[i].def;

		if (!all->events[i].rows ||
		    !(view->events.columns[i].mixed_scope ||
		      (def->flags & PMC_EVENT_FELL_BACK && def->scope == PMC_SCOPE_USER)))
			continue;
		say(view, "%s%60S",
		    any ? ", " : " user mode only: ", view->events.columns[i].label);
		any = true;
	}
	if (any)
		note(view, "; see pmctl doctor");
}

/* Without a PMU, default events have no columns: that, and how to keep the run. */
static void advice(struct pmc_view *view, bool keep)
{
	bool none = false;

	for (unsigned i = 0; i < view->events.set.count; i++)
		none |= !view->requested[i] && is_hardware(&view->events.set.events[i]);
	none &= no_pmu(view);
	if (none)
		say(view, " no hardware counters%s (pmctl doctor)", is_here(view) ? " here" : "");
	if (keep)
		say(view, none ? "%.keep this run: %s" : " keep this run: %s",
		    view->options->keep_hint);
	if (none || keep)
		end(view);
}

/* ---- threads that were not counted, notes, runs ------------------------------------------ */

static void times(struct pmc_view *view, const struct table_tally *tally, const char *format)
{
	say(view, format, tally->text);
	if (tally->count > 1)
		say(view, " (%n times)", tally->count);
}

static void uncounted(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	struct table_tallies tallies = { .n = 0 };

	for (uint64_t i = 0; i < profile->n_processes; i++)
		for (unsigned r = 0; r < profile->processes[i]->n_uncounted; r++)
			table_tally(&tallies, 0,
				    pmc_reason_text(profile->processes[i]->uncounted[r].reason),
				    profile->processes[i]->uncounted[r].count);
	for (unsigned i = 0; i < tallies.n; i++)
		note(view, " %n %(thread|threads) not counted: %s", tallies.list[i].count,
		     tallies.list[i].text);
}

/* Unless a note of pmctl run says so. */
static void killed(const struct pmc_p_process *process, struct pmc_view *view,
		   struct table_tallies *tallies)
{
	const int signo = process->fixed.how_code;
	/* Others have other numbers on macOS. */
	const bool has_name = is_here(view) || (signo < 16 && signo != SIGBUS && signo != SIGUSR1 &&
						signo != SIGUSR2);
	char text[PATH_MAX + 100];

	if (!process->known || !(process->fixed.flags & PMC_PROCESS_FIRST) ||
	    process->fixed.how_ended != PMC_ENDED_SIGNAL)
		return;
	for (unsigned n = 0; n < process->n_notes; n++)
		if (strstr(process->notes[n].text, "was killed by signal"))
			return;
	snprintf(text, sizeof(text),
		 has_name ? "%s was killed by signal %d (%s)" : "%s was killed by signal %d",
		 process->exe[0] ? process->exe : "the program", signo, strsignal(signo));
	table_tally(tallies, 0, pmc_arena_strdup(view->arena, text), 1);
}

static void notes(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	struct table_tallies tallies = { .n = 0 };

	for (uint64_t i = 0; i < profile->n_processes; i++)
		killed(profile->processes[i], view, &tallies);
	for (uint64_t i = 0; i < profile->n_processes; i++)
		for (unsigned n = 0; n < profile->processes[i]->n_notes; n++) {
			const struct pmc_p_note *note = &profile->processes[i]->notes[n];

			table_tally(&tallies, note->fixed.code, note->text, note->fixed.count);
		}
	for (unsigned i = 0; i < tallies.n; i++) {
		say(view, " note: ");
		times(view, &tallies.list[i], "%S");
		end(view);
	}
	if (profile->damaged_frames)
		note(view,
		     " %n damaged %(frame|frames) skipped: the report lacks what was in "
		     "%(it|them)",
		     profile->damaged_frames);
}

static void runs(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	struct table_tallies tallies = { .n = 0 };

	if (coverage->runs < 2)
		return;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (process->known && process->fixed.flags & PMC_PROCESS_FIRST &&
		    process->fixed.how_ended != PMC_ENDED_EXEC)
			table_tally(&tallies, 0, pmc_view_command(process), 1);
	}
	say(view, " %n runs", coverage->runs);
	for (unsigned i = 0; i < tallies.n; i++) {
		say(view, i ? "; " : ": ");
		times(view, &tallies.list[i], "%60S");
	}
	note(view, tallies.n == TABLE_TALLIES ? "; and others" : "");
}

/* ---- all lines --------------------------------------------------------------------------- */

static void counts(struct pmc_view *view, const struct pmc_footer *footer)
{
	bool keep = view->options->keep_hint != NULL;

	outside_clock(view, footer);
	regions(view);
	keep &= !sampled(view, footer->coverage);
	uncounted(view);
	advice(view, keep);
	missing(view, footer->all);
	user_only(view, footer->all);
}

static void not_shown(struct pmc_view *view, const char *columns)
{
	const bool no_flags = view->options->no_flags;

	say(view, no_flags ? " not shown: %s (pmctl report --wide " : " not shown: %s (--wide",
	    columns);
	if (no_flags)
		dumps(view);
	note(view, ")");
}

/* ---- ranks ------------------------------------------------------------------------------- */

/* Whether the rank with the most CPU time outside the MPI library has more than the mean by three
 * standard errors, of its number of samples (Poisson). */
static bool stands_out(const struct pmc_fold_row *rank, const struct pmc_fold_stat *all)
{
	const double most = (double)all->max, n = (double)rank->outside_mpi_samples;

	return most - all->mean > 3 * most / pmc_square_root(n > 1 ? n : 1);
}

/* The rank that others wait for. */
static void ranks(struct pmc_view *view)
{
	const struct pmc_fold_row *most = NULL;
	struct pmc_fold_row all;
	struct pmc_thread_buf buf;
	struct pmc_fold fold;
	uint64_t unknown_ns = 0; /* CPU time of threads whose stacks or samples are missing */

	if (view->options->across != PMC_BY_RANK && view->by != PMC_BY_RANK &&
	    !memchr(view->outer, PMC_BY_RANK, view->n_outer))
		return;
	pmc_fold_init(&all, &view->events, false);
	pmc_fold_begin(&fold, &view->events, NULL, PMC_BY_RANK);
	for (uint64_t i = 0; i < view->n_rows; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(view->profile, view->rows[i], &buf);

		pmc_fold_thread(&fold, thread);
		if (thread->process->fixed.rank >= 0 && !thread->has_outside_mpi &&
		    !(thread->fixed.flags & PMC_THREAD_NO_CPU))
			pmc_add_sat(&unknown_ns, thread->fixed.cpu_ns);
	}
	pmc_fold_end(&fold);
	for (const struct pmc_fold_row *rank = fold.rows; rank; rank = rank->next) {
		if (rank->groups[0]->is_nameless)
			continue;
		pmc_fold_part(&all, rank, &view->events, rank->groups[0]);
		if (all.outside_mpi.largest == rank->groups[0]->label)
			most = rank;
	}
	if (all.parts < 2)
		return;
	if (!all.sampled_rows)
		note(view, " in MPI programs, waiting for other ranks takes CPU time, too; samples "
			   "show the slow rank: PMC_SAMPLE=on, or pmctl run --sample");
	else if (!all.outside_mpi.sum)
		note(view, " no sample is in a known MPI library: time outside it is unknown");
	else if (unknown_ns > all.cpu.sum / 100)
		note(view,
		     " stacks or samples of %t of CPU time are missing: which rank has the most "
		     "CPU time outside the MPI library is unknown",
		     unknown_ns);
	else if (stands_out(most, &all.outside_mpi))
		note(view,
		     " rank %s has the most CPU time in user mode outside the MPI library: %t, "
		     "%v × the mean of %n ranks",
		     most->label, all.outside_mpi.max,
		     (double)all.outside_mpi.max / all.outside_mpi.mean, all.outside_mpi.rows);
	else
		note(view,
		     " no rank has significantly more CPU time outside the MPI library than the "
		     "mean (%n samples of rank %s)",
		     most->outside_mpi_samples, most->label);
}

void pmc_view_open_ends(const struct pmc_view *view, const struct pmc_coverage *coverage,
			struct pmc_out *out)
{
	const struct pmc_screen *screen = &view->options->screen;
	const struct pmc_p_process *open = coverage->open;

	if (coverage->open_ends > 1)
		table_say(out, screen,
			  " the end of %n processes is not in the dump: values up to their last "
			  "snapshots",
			  coverage->open_ends);
	if (coverage->open_ends != 1)
		return;
	pmc_outf(out, " the end of process %u", open->fixed.pid);
	table_say(out, screen,
		  " is not in the dump: values up to its last snapshot, %t after its start",
		  pmc_sub_sat(open->fixed.time_ns, open->origin->fixed.start_ns));
}

void pmc_view_footer(struct pmc_view *view, const struct pmc_footer *footer)
{
	const struct pmc_coverage *all = footer->coverage;
	const bool samples = pmc_by_samples(view->by);
	struct pmc_out *const out = view->out;
	struct pmc_out line;

	pmc_out_to_mem(&line, pmc_arena_alloc(view->arena, LINE_CAP), LINE_CAP);
	view->out = &line;
	if (!samples)
		uncore(view);
	if (view->n_row_where && view->samples.event)
		sample_rows(view);
	if (view->n_where)
		selected(view, all);
	else if (!samples)
		coverage(view, all);
	runs(view, all);
	ranks(view);
	pmc_view_open_ends(view, all, view->out);
	if (all->open_ends)
		end(view);
	if (all->ended_elsewhere)
		note(view,
		     " %n %(thread|threads) had ended before the snapshot: rows and samples of "
		     "these are only in the dump that the process writes itself",
		     all->ended_elsewhere);
	if (!samples)
		counts(view, footer);
	marks(view, footer);
	if (footer->sums && footer->sums[0])
		note(view, " last rows: %s", footer->sums);
	if (footer->hidden && footer->hidden[0])
		not_shown(view, footer->hidden);
	notes(view);
	view->out = out;
}

void pmc_view_put_notes(const struct pmc_view *view)
{
	for (size_t i = 0; i < view->n_notes; i++)
		pmc_show_wrapped(view->out, view->notes[i],
				 pmc_screen_width(&view->options->screen));
}
