/* SPDX-License-Identifier: MIT */
/*
 * sample.c - the samples of a view: by which event, the cells of their rows, functions, lines and
 * call trees as a table with what the samples explain, and call paths with their counts, a line
 * each, as flame graph tools read them.
 */
#include "lib/base/sort.h"
#include "lib/base/utf8.h"
#include "lib/event/event.h"
#include "tools/view/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- choice ------------------------------------------------------------------------------ */

/* Few in practice; of a hostile dump's further ones no samples are shown. */
enum { EVENTS_MOST = 16 };

struct sampled {
	const struct pmc_p_event *event;
	uint64_t samples;
};

static bool same_event(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a == b || (!strcmp(a->name, b->name) && !strcmp(a->core_type, b->core_type));
}

static void tally(struct sampled *list, unsigned *n, const struct pmc_p_samples *samples)
{
	unsigned i = 0;

	if (!samples->event)
		return;
	while (i < *n && !same_event(list[i].event, samples->event))
		i++;
	if (i == EVENTS_MOST)
		return;
	if (i == *n)
		list[(*n)++] = (struct sampled){ .event = samples->event };
	pmc_add_sat(&list[i].samples, samples->samples);
}

/* Whether the first is shown rather than the second: an event with samples, then one of CPU time. A
 * program that hangs has waits only. */
static bool is_rather(const struct sampled *a, const struct sampled *b)
{
	if (!a->samples != !b->samples)
		return a->samples;
	if (pmc_is_off_cpu(a->event) != pmc_is_off_cpu(b->event))
		return pmc_is_off_cpu(b->event);
	return a->samples > b->samples;
}

static bool is_asked(const struct pmc_report_options *options, const struct pmc_p_event *event)
{
	return !strcmp(event->name, options->event) &&
	       (!options->core_type || !strcmp(event->core_type, options->core_type));
}

const char *pmc_why_no_samples(const struct pmc_profile *profile)
{
	return profile->n_threads ? " in these threads; pmctl run --sample takes some" :
				    ": no thread has a row";
}

static int choose_event(struct pmc_view *view, const struct sampled *list, unsigned n)
{
	struct pmc_view_samples *samples = &view->samples;
	const char *asked = view->options->event;
	const struct sampled *best = NULL;
	char buf[512];
	struct pmc_out out;

	for (unsigned i = 0; i < n; i++)
		if (asked ? is_asked(view->options, list[i].event) :
			    !best || is_rather(&list[i], best))
			best = &list[i];
	samples->event = best ? best->event : NULL;
	pmc_out_to_mem(&out, buf, sizeof(buf));
	for (unsigned i = 0; i < n; i++)
		if (&list[i] != best && list[i].samples)
			pmc_outf(&out, "%s%s", out.len ? ", " : "", list[i].event->name);
	samples->others = pmc_arena_strndup(&view->profile->arena, buf, out.len);
	if (!asked || best || (view->n_where && !view->n_rows))
		return 0;
	view->problem =
		pmc_arena_format(&view->profile->arena, "no samples by event '%.60s'%s%s%s", asked,
				 n ? "; there are some by " : "", samples->others,
				 !strcmp(asked, "off-cpu") ? "; pmctl run --off-cpu records waits" :
				 n			   ? "" :
							     pmc_why_no_samples(view->profile));
	return -EINVAL;
}

/* The last row of each thread has its samples. */
static struct pmc_p_samples **samples_of(const struct pmc_view *view, uint64_t i, uint64_t *n)
{
	*n = 0;
	if (i + 1 < view->n_rows && pmc_same_thread(view->rows[i], view->rows[i + 1]))
		return NULL;
	return view->options->wakers ? pmc_profile_woken_of(view->profile, view->rows[i], n) :
				       pmc_profile_samples_of(view->profile, view->rows[i], n);
}

static void add(struct pmc_view_samples *to, const struct pmc_p_samples *samples)
{
	const struct pmc_samples_fixed *fixed = &samples->fixed;
	const bool first = !to->fold.n_lists;

	to->fold.lists[to->fold.n_lists++] = samples;
	pmc_add_sat(&to->samples, samples->samples);
	pmc_add_sat(&to->weight, samples->weight);
	pmc_add_sat(&to->lost, fixed->lost);
	pmc_add_sat(&to->throttled, fixed->throttled);
	pmc_add_sat(&to->incomplete, fixed->truncated);
	to->estimated += fixed->estimated < samples->samples ? fixed->estimated : samples->samples;
	if (fixed->flags & PMC_SAMPLES_TIMED) {
		to->timed++;
		pmc_add_sat(&to->timed_samples, samples->samples);
		pmc_add_sat(&to->timed_ns, samples->weight);
	}
	if (first || to->period != fixed->period)
		to->period = first ? fixed->period : 0;
	if (first || to->frequency != fixed->frequency)
		to->frequency = first ? fixed->frequency : 0;
	to->shared |= (fixed->flags & PMC_SAMPLES_SHARED) != 0;
	to->has_value &= samples->count && pmc_count_has_value(samples->count);
	if (to->has_value)
		pmc_add_sat(&to->value, pmc_count_value(samples->count));
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Its name, as that of its row; in `buf`. */
static void take_waker(const struct pmc_view *view, const struct pmc_p_waker *waker,
		       struct pmc_thread_buf *buf, struct pmc_p_thread *thread)
{
	if (waker && waker->row) {
		pmc_profile_thread(view->profile, waker->row, buf);
		thread->waker = pmc_thread_label(&buf->thread, &thread->waker_len);
	} else if (waker) {
		thread->waker = waker->of.name;
		thread->waker_len = strnlen(waker->of.name, sizeof(waker->of.name));
		thread->no_waker = !waker->of.tid;
	}
}

static void add_groups(struct pmc_view *view)
{
	struct pmc_sample_fold *fold = &view->samples.fold;
	struct pmc_thread_buf buf, of_waker;

	fold->groups = pmc_arena_alloc(view->arena, (fold->n_lists + 1) * sizeof(*fold->groups));
	for (uint64_t i = 0; i < fold->n_lists; i++) {
		struct pmc_p_thread thread =
			*pmc_profile_thread(view->profile, fold->lists[i]->row, &buf);

		thread.time_ns = fold->lists[i]->time_ns;
		thread.every_ns = common_divisor(view->options->every_ns, view->options->from_ns);
		take_waker(view, fold->lists[i]->waker, &of_waker, &thread);
		fold->groups[i] = pmc_fold_find(&view->groups, &thread);
	}
	pmc_fold_end(&view->groups);
}

static bool has_all(const struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	uint64_t n = 0;

	for (uint64_t i = 0; i < profile->n_samples; i++)
		n += profile->samples[i]->event &&
		     same_event(profile->samples[i]->event, view->samples.event);
	return view->samples.fold.n_lists == n;
}

static int choose(struct pmc_view *view)
{
	struct pmc_view_samples *to = &view->samples;
	struct sampled list[EVENTS_MOST];
	uint64_t n_lists = 0, n;
	unsigned n_events = 0;
	int err;

	for (uint64_t i = 0; i < view->n_rows; i++) {
		struct pmc_p_samples **of = samples_of(view, i, &n);

		for (uint64_t k = 0; k < n; k++)
			tally(list, &n_events, of[k]);
		n_lists += n;
	}
	err = choose_event(view, list, n_events);
	if (err)
		return err;
	to->fold.lists = pmc_arena_alloc(view->arena, (n_lists + 1) * sizeof(*to->fold.lists));
	to->has_value = to->event != NULL;
	for (uint64_t i = 0; to->event && i < view->n_rows; i++) {
		struct pmc_p_samples **of = samples_of(view, i, &n);

		for (uint64_t k = 0; k < n; k++)
			if (of[k]->event && same_event(of[k]->event, to->event))
				add(to, of[k]);
	}
	if (to->shared)
		to->has_value &= has_all(view);
	return 0;
}

int pmc_view_sample_rows(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_sample_fold *fold = &view->samples.fold;

	if (choose(view))
		return -EINVAL;
	pmc_columns_of_event(view, &view->of_groups);
	fold->by = view->by;
	fold->inverted = options->inverted;
	fold->arena = view->arena;
	if (view->groups.n_keys)
		add_groups(view);
	if (options->fold_samples)
		options->fold_samples(fold, options->names_arg);
	pmc_view_select_rows(view);
	return 0;
}

/* ---- cells ------------------------------------------------------------------------------- */

static struct table_cell percent(const struct pmc_view_samples *samples, uint64_t weight)
{
	return samples->weight ?
		       cell_real(100 * ((double)weight / (double)samples->weight), TABLE_DECIMALS) :
		       cell_null();
}

/* Most bytes of a path as a key: the paths of all rows grow with the square of their depth. */
enum { KEY_MOST = 4096 };

/* From the outermost caller on, as flame graphs have it; bottom-up from where samples were taken.
 * A ';' in a name would look like two names. */
static struct table_cell path(struct pmc_view *view, const struct pmc_sample_row *row)
{
	struct pmc_view_samples *samples = &view->samples;
	const bool all = view->options->format == PMC_FORMAT_FOLDED;
	const struct pmc_sample_row *left = row;
	char number[32] = "", *from;
	size_t len = 0, at;

	do {
		len += strlen(left->function) + 1;
		left = left->parent;
	} while (left && (all || len + strlen(left->function) + 1 <= KEY_MOST));
	if (left) {
		snprintf(number, sizeof(number), "(%u functions);", left->depth + 1);
		view->problem =
			"keys of paths above 4,096 bytes begin with the number of functions "
			"that were left out; depth, function and the order of rows have "
			"the whole tree";
	}
	at = len += strlen(number);
	if (samples->path_room < len) {
		samples->path_room = 2 * len;
		samples->path = pmc_arena_alloc(view->arena, samples->path_room);
	}
	from = samples->path;
	for (const struct pmc_sample_row *r = row; r != left; r = r->parent) {
		const size_t bytes = strlen(r->function);

		from[--at] = ';';
		at -= bytes;
		memcpy(from + at, r->function, bytes);
		for (char *c = from + at; (c = memchr(c, ';', bytes - (size_t)(c - from - at)));)
			*c = ':';
	}
	memcpy(from, number, at);
	from[len - 1] = '\0';
	return cell_textn(from, len - 1);
}

/* Tables have the last part of a file's path. */
static bool is_short(const struct pmc_view *view)
{
	return pmc_format_is_table(view->options->format) && !view->samples.whole;
}

const char *pmc_sample_key(const struct pmc_sample_row *row, enum pmc_fold_by by, bool whole,
			   char *room, size_t cap)
{
	struct pmc_out out = pmc_out_mem(room, cap);

	if (by == PMC_BY_MODULE && !whole)
		return pmc_base_name(row->function);
	if (by != PMC_BY_LINE || !row->file[0])
		return row->function;
	pmc_outf(&out, "%s:%u", whole ? row->file : pmc_base_name(row->file), row->line);
	return room;
}

struct table_cell pmc_sample_key_cell(struct pmc_view *view, const struct pmc_sample_row *row)
{
	if (view->by == PMC_BY_PATH && !is_short(view))
		return path(view, row);
	return cell_text(
		pmc_sample_key(row, view->by, !is_short(view), view->text, sizeof(view->text)));
}

static struct table_cell length(const struct pmc_sample_row *row, unsigned percent)
{
	return row->waits ?
		       cell_number(true, pmc_histogram_percentile(&row->waits->lengths, percent)) :
		       cell_null();
}

static struct table_cell module(const struct pmc_view *view, const struct pmc_sample_row *row)
{
	return !row->module[0] ?
		       cell_null() :
		       cell_text(is_short(view) ? pmc_base_name(row->module) : row->module);
}

struct table_cell pmc_sample_cell(struct pmc_view *view, unsigned column,
				  const struct pmc_sample_row *r)
{
	const struct pmc_view_samples *s = &view->samples;

	switch (column) {
#define X(name, head, unit, of, table, value)                                                      \
	case PMC_SAMPLE_##name:                                                                    \
		return value;
#include "tools/view/sample_columns.def"
#undef X
	default:
		return cell_null();
	}
}

/* ---- the heaviest paths ------------------------------------------------------------------ */

enum { BRANCHES = 30, BRANCH_ROWS = 100 }; /* without --top */

struct ranked {
	uint64_t total, place, rows;
	bool selected; /* whether --where selects one of the rows */
};

static int by_total(const void *a, const void *b, const void *arg)
{
	const struct ranked *x = a, *y = b;

	(void)arg;
	return (x->total < y->total) - (x->total > y->total);
}

/* The branches with a row that --where selects. */
static uint64_t rank_branches(const struct pmc_view *view, const struct pmc_lines *lines,
			      struct ranked *ranks)
{
	const bool *selected = view->samples.selected;
	uint64_t n = 0;

	for (uint64_t i = 0; i < lines->all; i++) {
		const struct pmc_sample_row *row = lines->list[i];

		if (!row->parent || row->parent->callees > 1) {
			n += !n || ranks[n - 1].selected;
			ranks[n - 1] = (struct ranked){ .total = row->total, .place = i };
		}
		ranks[n - 1].rows++;
		ranks[n - 1].selected |= !selected || selected[i];
	}
	return n && !ranks[n - 1].selected ? n - 1 : n;
}

/* A screen or two, also of deep callers that have nothing else in common. */
static uint64_t default_top(const struct ranked *ranks, uint64_t n)
{
	uint64_t top = 0, rows = 0;

	while (top < n && top < BRANCHES && (!top || rows + ranks[top].rows <= BRANCH_ROWS))
		rows += ranks[top++].rows;
	/* One row instead of "(1 more)". */
	return top + (top + 1 == n && ranks[top].rows == 1);
}

void pmc_sample_top(struct pmc_view *view, struct pmc_lines *lines)
{
	const int asked = view->options->top;
	struct ranked *ranks = pmc_arena_alloc(view->arena, (lines->all + 1) * sizeof(*ranks));
	struct ranked *scratch = pmc_arena_alloc(view->arena, (lines->all + 1) * sizeof(*ranks));
	bool *keep = pmc_arena_alloc(view->arena, lines->all + 1);
	const struct pmc_sample_row *caller = NULL;
	uint64_t n, top;

	n = rank_branches(view, lines, ranks);
	pmc_sort(ranks, scratch, n, sizeof(*ranks), by_total, NULL);
	top = asked < 0 ? default_top(ranks, n) : (uint64_t)asked < n ? (uint64_t)asked : n;
	memset(keep, 0, lines->all);
	for (uint64_t i = 0; i < top; i++)
		memset(keep + ranks[i].place, true, ranks[i].rows);
	/* With their callers, as in pmc_view_select_rows(). */
	for (uint64_t i = lines->all; i-- > 0;) {
		const struct pmc_sample_row *row = lines->list[i];

		keep[i] |= row == caller;
		caller = keep[i] ? row->parent : caller;
	}
	lines->n = 0;
	for (uint64_t i = 0; i < lines->all; i++)
		if (keep[i])
			lines->list[lines->n++] = lines->list[i];
}

/* ---- what the samples explain ------------------------------------------------------------ */

static void put_amount(struct pmc_view *view, const char *text, uint64_t value)
{
	if (!strcmp(view->samples.event->unit, "ns"))
		pmc_say(view, "%s%t", text, value);
	else
		pmc_say(view, "%s%v", text, (double)value);
}

static bool has_module(const struct pmc_view *view, const char *name)
{
	const struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_modules; i++)
		if (!strcmp(pmc_base_name(profile->modules[i]->path), name))
			return true;
	return false;
}

/* Whether most of the truncated stacks end so: in code that has no unwind tables (BROKEN), or as
 * they are too large. */
static bool most_are(const struct pmc_view_samples *samples, unsigned how)
{
	const unsigned flags = PMC_STACK_TRUNCATED | PMC_STACK_BROKEN | PMC_STACK_FP;
	uint64_t n = 0;

	for (uint64_t i = 0; i < samples->fold.n_lists; i++) {
		const struct pmc_p_samples *list = samples->fold.lists[i];

		for (uint64_t k = 0; k < list->n; k++)
			if (list->list[k].stack && (list->list[k].stack->flags & flags) == how)
				pmc_add_sat(&n, list->list[k].count);
	}
	return n > samples->incomplete / 2;
}

static void put_losses(struct pmc_view *view, bool recorded)
{
	const struct pmc_view_samples *samples = &view->samples;

	if (samples->lost)
		pmc_say(view, "%.%n lost", samples->lost);
	if (samples->throttled)
		pmc_say(view, "%.%n suppressed by the kernel's rate limit", samples->throttled);
	if (samples->incomplete)
		pmc_say(view, "%.%n with a truncated stack%s", samples->incomplete,
			has_module(view, "libjvm.so") ?
				"" :
			most_are(samples, PMC_STACK_BROKEN) ?
				" (code without unwind tables; --unwind fp if it is built with "
				"frame pointers)" :
			recorded && most_are(samples, PMC_STACK_TRUNCATED) ?
				" (larger than the copied part; pmctl profile --stack-size, up to "
				"65528)" :
				"");
	if (samples->estimated)
		pmc_say(view,
			"%.%n in estimated places, as threads switched too often to record each "
			"stack",
			samples->estimated);
	if (samples->timed)
		pmc_say(view,
			"%.%n %(thread that switches|threads that switch) often: one sample per %t "
			"of CPU time",
			samples->timed,
			samples->timed_samples ? samples->timed_ns / samples->timed_samples : 0);
}

bool pmc_is_user_clock(const struct pmc_p_event *event)
{
	return event->def.flags & PMC_EVENT_UNFILTERED && !strcmp(event->unit, "ns");
}

/* What the samples should add up to: the event's own count in the threads that have it open; of a
 * clock all CPU time, that of other threads too. */
static uint64_t whole_of(const struct pmc_view *view, const struct pmc_coverage *coverage)
{
	const struct pmc_view_samples *samples = &view->samples;

	return pmc_is_user_clock(samples->event) && coverage->shown_cpu_ns > samples->value ?
		       coverage->shown_cpu_ns :
		       samples->value;
}

/* Clocks count kernel mode, too, where no samples are taken; other events are counted without. */
static bool lacks_kernel(const struct pmc_view_samples *samples, uint64_t whole)
{
	return pmc_is_user_clock(samples->event) && samples->has_value &&
	       samples->weight < whole - whole / 1000;
}

/* Whether overflows were lost because the machine does not take so many samples. */
static bool lost_overflows(const struct pmc_view_samples *samples)
{
	const uint64_t hz = samples->period ? 1000000000 / samples->period : samples->frequency;

	return hz > PMC_SAMPLE_HZ_CHEAP && !strcmp(samples->event->unit, "ns") &&
	       samples->weight < samples->value - samples->value / 10;
}

/* The kernel estimates the periods of an event that comes in bursts, to many times its count. */
static bool is_share(const struct pmc_view_samples *samples, uint64_t whole)
{
	return !samples->shared || samples->weight <= whole + whole / 20;
}

static void put_window(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;

	if (options->from_ns)
		pmc_say(view, ", from %t", options->from_ns);
	if (options->to_ns && options->to_ns != UINT64_MAX)
		pmc_say(view, ", until %t", options->to_ns);
	if (options->every_ns)
		pmc_say(view, ", in intervals of %t", options->every_ns);
}

/* Whether Python's functions are all that of the interpreter; with perf support they have names. */
static bool lacks_python(const struct pmc_sample_fold *fold)
{
	static const char interpreter[] = "_PyEval_EvalFrameDefault";
	bool found = false;

	for (uint64_t i = 0; i < fold->n_rows; i++) {
		if (!strncmp(fold->rows[i]->function, "py::", 4))
			return false;
		found |= !strncmp(fold->rows[i]->function, interpreter, strlen(interpreter));
	}
	return found;
}

/* Waits are recorded while counting is off, too. */
static void put_phases(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	uint64_t i = 0;

	while (i < profile->n_processes && !profile->processes[i]->fixed.off_ns)
		i++;
	if (i < profile->n_processes)
		pmc_say(view, "%.of the whole run, also while counting was off");
}

static void put_share(struct pmc_view *view, uint64_t whole)
{
	const struct pmc_view_samples *samples = &view->samples;

	if (is_share(samples, whole))
		pmc_say(view, ": %p %%", 100 * ((double)samples->weight / (double)whole));
	put_amount(view, is_share(samples, whole) ? " of " : ", of ", whole);
	if (pmc_is_user_clock(samples->event))
		pmc_say(view, " CPU");
}

static void put_lacks(struct pmc_view *view, uint64_t whole)
{
	const struct pmc_view_samples *samples = &view->samples;

	pmc_say(view,
		"%.not sampled: %skernel mode%s, %sand up to a period at the end of each "
		"thread",
		lost_overflows(samples) ? "lost overflows (the period is too short for the "
					  "machine), " :
					  "",
		samples->weight < whole / 5 * 4 ? " (pmctl profile samples it, as root)" : "",
		samples->value < whole - whole / 1000 ?
			"the start and end of programs, what has no row, " :
			"");
}

static void explain(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	const struct pmc_view_samples *samples = &view->samples;
	uint64_t whole;

	if (!samples->event) {
		pmc_say(view, "no samples%s", pmc_why_no_samples(view->profile));
		return;
	}
	if (pmc_is_off_cpu(samples->event)) {
		pmc_say(view, "%n %(wait|waits) of %t together, by off-cpu", samples->samples,
			samples->weight);
		put_phases(view);
		put_window(view);
		put_losses(view, coverage->recorded);
		return;
	}
	pmc_say(view, "%n %(sample|samples) by %60S", samples->samples, samples->event->name);
	if (samples->period)
		put_amount(view, ", one every ", samples->period);
	else if (samples->frequency)
		pmc_say(view, " at %n Hz", samples->frequency);
	whole = whole_of(view, coverage);
	if (samples->has_value && whole)
		put_share(view, whole);
	put_window(view);
	put_losses(view, coverage->recorded);
	if (lacks_kernel(samples, whole))
		put_lacks(view, whole);
	if (samples->incomplete > samples->samples / 3 && has_module(view, "libjvm.so"))
		pmc_say(view,
			"%.Java: -XX:+PreserveFramePointer and --unwind fp have whole stacks");
	if (lacks_python(&samples->fold))
		pmc_say(view, "%.Python 3.12 and later: -X perf names Python functions");
}

static void put_explained(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	const int width = pmc_screen_width(&view->options->screen);
	const char *others = view->samples.others;
	struct pmc_out *out = view->out, line;
	char buf[1024];

	pmc_out_to_mem(&line, buf, sizeof(buf));
	view->out = &line;
	pmc_out_char(&line, ' ');
	explain(view, coverage);
	if (view->options->cells) { /* of the table, this line is all, as a JSON string */
		pmc_json_quoted(out, buf + 1, line.len - 1);
	} else {
		pmc_show_wrapped(out, buf, width);
		pmc_out_to_mem(&line, buf, sizeof(buf));
		pmc_say(view, " samples by other events: %S (%s)", others,
			!view->options->keep_hint				   ? "--event" :
			view->samples.event && pmc_is_off_cpu(view->samples.event) ? "--on-cpu" :
										     "--off-cpu");
		if (others[0])
			pmc_show_wrapped(out, buf, width);
		pmc_out_char(out, '\n');
	}
	view->out = out;
}

/* ---- trees ------------------------------------------------------------------------------- */

enum { LEVELS_MOST = 24, STEP_BYTES = 9 };

/* Lines are in the order of the tree: the callees of a line follow it. */
static void make_branches(struct pmc_table *table)
{
	const struct pmc_lines *lines = &table->lines;
	struct pmc_arena *arena = table->view->arena;
	size_t longest = 0, depth = 0;
	uint64_t follows = 0; /* bits: a line below hangs from the caller at that level */
	unsigned *levels;     /* of the callers of the current line, by depth */

	for (uint64_t i = 0; i < lines->n; i++) {
		const struct pmc_sample_row *row = lines->list[i];
		const size_t len = strlen(row->function);

		depth = row->depth > depth ? row->depth : depth;
		longest = len > longest ? len : longest;
	}
	levels = pmc_arena_alloc(arena, (depth + 1) * sizeof(*levels));
	table->branches = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*table->branches));
	table->label = pmc_arena_alloc(arena, longest + LEVELS_MOST * STEP_BYTES + 1);
	for (uint64_t i = 0; i < lines->n; i++) {
		const struct pmc_sample_row *row = lines->list[i];
		struct pmc_branch *branch = &table->branches[i];

		branch->level = row->depth ? levels[row->depth - 1] : 0;
		branch->connected =
			row->depth && row->parent->callees > 1 && branch->level < LEVELS_MOST;
		branch->level += branch->connected;
		levels[row->depth] = branch->level;
	}
	for (uint64_t i = lines->n; i-- > 0;) {
		struct pmc_branch *branch = &table->branches[i];

		follows &= (UINT64_C(1) << branch->level) - 1;
		branch->last = ~follows;
		if (branch->connected)
			follows |= UINT64_C(1) << (branch->level - 1);
	}
}

struct table_cell pmc_table_branch(struct pmc_table *table)
{
	static const char *const utf8[] = { "│  ", "   ", "├─ ", "└─ " };
	static const char *const ascii[] = { "|  ", "   ", "|- ", "`- " };
	const char *const *parts = table->view->options->screen.ascii ? ascii : utf8;
	const struct pmc_sample_row *row = table->lines.list[table->at];
	const struct pmc_branch *branch = &table->branches[table->at];
	char *at = table->label;

	for (unsigned level = 0; level < branch->level; level++) {
		const bool own = branch->connected && level + 1 == branch->level;

		at = stpcpy(at, parts[2 * own + (branch->last >> level & 1)]);
	}
	at = stpcpy(at, row->function);
	return cell_textn(table->label, (size_t)(at - table->label));
}

/* ---- the table --------------------------------------------------------------------------- */

/* Sums the rows beyond --top in one line, without callers that --where does not select. */
static void make_rest(struct pmc_table *table)
{
	const struct pmc_lines *lines = &table->lines;
	struct pmc_view *view = table->view;
	const bool *selected = view->samples.selected, tree = view->by == PMC_BY_PATH;
	struct pmc_sample_row *rest = pmc_arena_alloc(view->arena, sizeof(*rest));
	uint64_t at = 0;

	if (lines->n == lines->all)
		return;
	for (uint64_t i = 0; i < lines->all; i++) {
		const struct pmc_sample_row *row =
			tree ? view->samples.fold.rows[i] : lines->list[i];
		/* Lines of a tree are in the order of its rows. */
		const bool shown = tree ? at < lines->n && lines->list[at] == row : i < lines->n;

		at += shown;
		if (shown || (tree && selected && !selected[i]))
			continue;
		pmc_add_sat(&rest->samples, row->samples);
		pmc_add_sat(&rest->self, row->self);
	}
	rest->function = pmc_more(lines);
	rest->module = rest->file = "";
	table->rest = rest;
	table->n_below = 1;
}

/* Their own samples add up; totals lie in each other. */
struct table_cell pmc_sample_rest(struct pmc_table *table, const struct table_column *column)
{
	if (column == table->labels)
		return cell_text(table->rest->function);
	if (column->kind != PMC_COL_SAMPLE)
		return cell_null();
	if (column->index != PMC_SAMPLE_samples && column->index != PMC_SAMPLE_self &&
	    column->index != PMC_SAMPLE_self_pct)
		return cell_null();
	return pmc_sample_cell(table->view, column->index, table->rest);
}

int pmc_view_sample_table(struct pmc_view *view)
{
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	struct pmc_footer footer = { .sums = NULL };
	struct pmc_coverage coverage;

	pmc_view_coverage(view, &coverage);
	table->view = view;
	table->coverage = footer.coverage = &coverage;
	pmc_table_sum(table, &coverage);
	if (view->options->cells) {
		put_explained(view, &coverage);
		return 0;
	}
	if (pmc_view_lines(view, true, &table->lines))
		return -EINVAL;
	if (view->by == PMC_BY_PATH)
		make_branches(table);
	make_rest(table);
	if (pmc_table_make(table))
		return -EINVAL;
	if (view->options->format == PMC_FORMAT_TABLE)
		pmc_table_title(view, &coverage);
	put_explained(view, &coverage);
	if (view->samples.event && view->samples.fold.n_rows) {
		pmc_table_put(table, &footer);
		return 0;
	}
	pmc_view_footer(view, &footer);
	pmc_view_put_notes(view);
	return 0;
}

/* ---- paths as text ----------------------------------------------------------------------- */

/* A group of threads as a function below all others. */
static void put_frame(struct pmc_out *out, const char *text)
{
	for (size_t len;; text += len + 1) {
		len = strcspn(text, ";");
		pmc_utf8_safe(out, text, len, 0);
		pmc_out_char(out, text[len] ? ':' : ';');
		if (!text[len])
			return;
	}
}

int pmc_view_folded(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	const bool waits = samples->event && pmc_is_off_cpu(samples->event);

	if (!samples->event) {
		view->problem = pmc_arena_format(&view->profile->arena, "no samples%s",
						 pmc_why_no_samples(view->profile));
		return -EINVAL;
	}
	for (uint64_t i = 0; i < samples->fold.n_rows; i++) {
		const struct pmc_sample_row *row = samples->fold.rows[i];
		const uint64_t count = waits ? row->self / 1000 : row->samples;
		struct table_cell path;

		if (!count)
			continue;
		for (unsigned k = 0; k < view->n_outer; k++)
			put_frame(view->out, row->group->groups[k]->label);
		path = pmc_sample_key_cell(view, row);
		pmc_utf8_safe(view->out, path.text, path.len, 0);
		pmc_out_char(view->out, ' ');
		pmc_out_u64(view->out, count);
		pmc_out_char(view->out, '\n');
	}
	return 0;
}
