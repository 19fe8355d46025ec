/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - rates over time as one line per thread or group, with a sparkline for CPU time and
 * each event.
 *
 * What a thread did in an interval is spread evenly over it.
 */
#include "lib/base/sort.h"
#include "lib/base/utf8.h"
#include "tools/view/table.h"

#include <errno.h>
#include <linux/perf_event.h>

enum { LABEL_MOST = 24, SPARK_LEAST = 8, SPARK_MOST = 60, PEAK = 8, LEVELS = 8, HOSTS_MOST = 16 };

struct host {
	const char *name;
	uint64_t from, to; /* clocks of hosts have nothing in common */
};

struct track { /* a line */
	const struct pmc_fold_row *row;
	uint64_t threads;
	double cpu_ns;
	double *bins;	   /* of all columns, one after the other */
	UT_hash_handle hh; /* by row */
};

struct timeline {
	struct pmc_view *view;
	struct host hosts[HOSTS_MOST];
	unsigned n_hosts;
	uint64_t span_ns;
	unsigned n_columns, n_shown, n_bins; /* columns: CPU time, then events */
	bool *filled;
	double *peaks;	      /* of each column */
	struct track *tracks; /* by row */
	int label;
};

/* ---- steps ------------------------------------------------------------------------------- */

static struct host *host_of(struct timeline *line, const char *name)
{
	unsigned i = 0;

	while (i < line->n_hosts && strcmp(line->hosts[i].name, name) != 0)
		i++;
	if (i < line->n_hosts)
		return &line->hosts[i];
	if (i == HOSTS_MOST)
		return NULL;
	line->hosts[line->n_hosts++] = (struct host){ .name = name, .from = UINT64_MAX };
	return &line->hosts[i];
}

static int each_step(struct timeline *line,
		     int (*visit)(struct timeline *line, const struct pmc_row *row, bool first))
{
	struct pmc_view *view = line->view;
	const void *at;
	const struct pmc_lines lines = { .list = &at, .n = 1, .all = 1 };
	struct pmc_row_buf *buf = pmc_arena_alloc(view->arena, sizeof(*buf));
	struct pmc_row row;
	int err = buf ? 0 : -ENOMEM;

	for (uint64_t i = 0; !err && i < view->n_rows; i++) {
		at = &view->rows[i];
		pmc_view_row(view, &lines, 0, buf, &row);
		err = visit(line, &row, !i || !pmc_same_thread(view->rows[i - 1], view->rows[i]));
	}
	return err;
}

static int take_time(struct timeline *line, const struct pmc_row *row, bool first)
{
	struct host *host = host_of(line, row->thread->process->host);

	(void)first;
	if (!host || !row->dt_ns)
		return 0;
	if (row->t_ns - row->dt_ns < host->from)
		host->from = row->t_ns - row->dt_ns;
	if (row->t_ns > host->to)
		host->to = row->t_ns;
	return 0;
}

static int make_groups(struct timeline *line, const struct pmc_row *row, bool first)
{
	struct pmc_fold_row *group = pmc_fold_find(&line->view->groups, row->thread);

	(void)first;
	/* Of a pool with one name that is the label: not the first step any more. */
	group->threads++;
	return 0;
}

/* Task-clock is CPU time once more. */
static bool is_clock(const struct timeline *line, unsigned column)
{
	return column &&
	       pmc_view_software(line->view, PERF_COUNT_SW_TASK_CLOCK, true) == (int)column - 1;
}

static double value_of(const struct timeline *line, const struct pmc_row *row, unsigned column,
		       bool *known)
{
	const struct pmc_count *count = column ? &row->counts[column - 1] : NULL;
	const struct pmc_p_event *events = line->view->events.set.events;

	*known = column ? pmc_count_has_value(count) :
			  !(row->thread->fixed.flags & PMC_THREAD_NO_CPU);
	if (!*known)
		return 0;
	return column ? (double)pmc_count_value(count) * pmc_event_scale(&events[column - 1]) :
			(double)row->thread->fixed.cpu_ns;
}

/* Adds a value to the bins that its interval covers, as a rate. */
static void spread(const struct timeline *line, double from, double to, double value, double *bins)
{
	const double bin_ns = (double)line->span_ns / line->n_bins, rate = value / (to - from);
	const double first = from / bin_ns;

	/* Times of a damaged dump. */
	if (!(to > from) || !(first < line->n_bins))
		return;
	for (unsigned i = first > 0 ? (unsigned)first : 0; i < line->n_bins; i++) {
		const double start = i * bin_ns, end = start + bin_ns;
		const double covered = (to < end ? to : end) - (from > start ? from : start);

		if (covered <= 0)
			break;
		bins[i] += rate * covered / bin_ns * 1e9;
	}
}

static int add_step(struct timeline *line, const struct pmc_row *row, bool first)
{
	const struct pmc_fold_row *group = pmc_fold_find(&line->view->groups, row->thread);
	const struct host *host = host_of(line, row->thread->process->host);
	struct track *track;
	bool known;

	HASH_FIND_PTR(line->tracks, &group, track);
	if (!track)
		return -ENOMEM;
	track->threads += first;
	if (!host || !row->dt_ns)
		return 0;
	for (unsigned c = 0; c < line->n_columns; c++) {
		const double value = value_of(line, row, c, &known);
		const double to = (double)(row->t_ns - host->from);

		if (!known || is_clock(line, c))
			continue;
		line->filled[c] = true;
		if (!c)
			track->cpu_ns += value;
		spread(line, to - (double)row->dt_ns, to, value, track->bins + c * line->n_bins);
	}
	return 0;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* How wide labels are, how many columns fit, and how long their lines are. */
static void fit(struct timeline *line)
{
	const int screen = pmc_screen_width(&line->view->options->screen);
	const unsigned gap = 2, threads = 6;
	unsigned n = 0, room;

	for (const struct pmc_fold_row *row = line->view->groups.rows; row; row = row->next) {
		const int width = pmc_utf8_columns(row->label, strlen(row->label));

		line->label = width > line->label ? width : line->label;
	}
	line->label = line->label > LABEL_MOST ? LABEL_MOST : line->label < 6 ? 6 : line->label;
	room = (unsigned)(screen > line->label + 40 ? screen - line->label : 40) - gap - threads;
	n = room / (gap + SPARK_LEAST + 1 + PEAK);
	line->n_shown = n && n < line->n_columns ? n : n ? line->n_columns : 1;
	line->n_bins = room / line->n_shown - gap - 1 - PEAK;
	line->n_bins = line->n_bins > SPARK_MOST ? SPARK_MOST : line->n_bins;
}

static int make_tracks(struct timeline *line)
{
	struct pmc_arena *arena = line->view->arena;
	const size_t bins = (size_t)line->n_columns * line->n_bins;

	line->filled = pmc_arena_alloc(arena, line->n_columns * sizeof(*line->filled));
	line->peaks = pmc_arena_alloc(arena, line->n_columns * sizeof(*line->peaks));
	if (!line->filled || !line->peaks)
		return -ENOMEM;
	for (const struct pmc_fold_row *row = line->view->groups.rows; row; row = row->next) {
		struct track *track = pmc_arena_alloc(arena, sizeof(*track));

		if (!track)
			return -ENOMEM;
		track->row = row;
		track->bins = pmc_arena_alloc(arena, bins * sizeof(*track->bins));
		if (!track->bins)
			return -ENOMEM;
		HASH_ADD_PTR(line->tracks, row, track);
	}
	return arena->failed ? -ENOMEM : 0;
}

static double peak_of(const struct timeline *line, const struct track *track, unsigned column)
{
	double peak = 0;

	for (unsigned i = 0; i < line->n_bins; i++) {
		const double rate = track->bins[column * line->n_bins + i];

		peak = rate > peak ? rate : peak;
	}
	return peak;
}

static bool is_time(const struct timeline *line, unsigned column)
{
	return !column || !strcmp(line->view->events.set.events[column - 1].unit, "ns");
}

/* Time in a second is shown as the number of CPUs that it takes. */
static void put_rate(const struct timeline *line, unsigned column, double rate, struct pmc_out *out)
{
	if (is_time(line, column))
		pmc_out_fixed(out, rate / 1e9, 2);
	else
		pmc_show_number(out, rate);
}

static void put_spark(const struct timeline *line, const struct track *track, unsigned column)
{
	static const char *const utf8[LEVELS] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char *const ascii[LEVELS] = { ".", ":", "-", "=", "+", "*", "#", "@" };
	const char *const *levels = line->view->options->screen.ascii ? ascii : utf8;
	struct pmc_out *out = line->view->out, text;
	char buf[32];

	for (unsigned i = 0; i < line->n_bins; i++) {
		const double rate = track->bins[column * line->n_bins + i];
		/* The peak of all lines is 1; sums of parts are not exact. A column of zeros has no
		 * peak. */
		const double part = rate > 0 ? rate / line->peaks[column] : 0;
		const unsigned level = part < 1 ? (unsigned)(part * LEVELS + 1e-6) : LEVELS - 1;

		pmc_out_str(out, !(rate > 0) ? " " : levels[level < LEVELS ? level : LEVELS - 1]);
	}
	pmc_out_to_mem(&text, buf, sizeof(buf));
	put_rate(line, column, peak_of(line, track, column), &text);
	pmc_out_pad(out, ' ', 1 + PEAK - (int)text.len);
	pmc_out_str(out, buf);
}

static bool is_shown(const struct timeline *line, unsigned column, unsigned *shown)
{
	return line->filled[column] && (*shown)++ < line->n_shown;
}

static void put_head(const struct timeline *line)
{
	struct pmc_view *view = line->view;
	struct pmc_out *out = view->out;
	unsigned shown = 0;

	pmc_out_pad(out, ' ', 2 + line->label + 5);
	pmc_out_char(out, 'n');
	for (unsigned c = 0; c < line->n_columns; c++) {
		const char *name = c ? view->events.columns[c - 1]->label : "CPUs";
		int width;

		if (!is_shown(line, c, &shown))
			continue;
		pmc_out_pad(out, ' ', 2);
		width = pmc_view_text(view, name, (int)line->n_bins - 2);
		if (!is_time(line, c)) {
			pmc_out_str(out, "/s");
			width += 2;
		}
		pmc_out_pad(out, ' ', (int)line->n_bins - width + 1 + PEAK - 4);
		pmc_out_str(out, "peak");
	}
	pmc_out_char(out, '\n');
}

static void put_track(const struct timeline *line, const struct track *track)
{
	struct pmc_view *view = line->view;
	struct pmc_out *out = view->out, text;
	unsigned shown = 0;
	char buf[32];
	int width;

	pmc_out_pad(out, ' ', 2);
	width = pmc_utf8_fit(out, track->row->label, strlen(track->row->label), line->label,
			     PMC_CUT_MIDDLE, view->options->screen.ascii);
	pmc_out_to_mem(&text, buf, sizeof(buf));
	pmc_show_integer(&text, track->threads);
	pmc_out_pad(out, ' ', line->label - width + 6 - (int)text.len);
	pmc_out_str(out, buf);
	for (unsigned c = 0; c < line->n_columns; c++) {
		if (!is_shown(line, c, &shown))
			continue;
		pmc_out_pad(out, ' ', 2);
		put_spark(line, track, c);
	}
	pmc_out_char(out, '\n');
}

static int by_cpu(const void *a, const void *b, const void *arg)
{
	const struct track *x = *(struct track *const *)a, *y = *(struct track *const *)b;

	(void)arg;
	return (x->cpu_ns < y->cpu_ns) - (x->cpu_ns > y->cpu_ns);
}

static int put_tracks(struct timeline *line)
{
	struct pmc_view *view = line->view;
	const uint64_t all = HASH_COUNT(line->tracks);
	const int top = view->options->top < 0 ? 20 : view->options->top;
	const uint64_t n = top && (uint64_t)top < all ? (uint64_t)top : all;
	struct track **list = pmc_arena_alloc(view->arena, 2 * (all + 1) * sizeof(*list));
	uint64_t i = 0;

	if (!list)
		return -ENOMEM;
	for (struct track *track = line->tracks; track; track = track->hh.next) {
		list[i++] = track;
		for (unsigned c = 0; c < line->n_columns; c++) {
			const double peak = peak_of(line, track, c);

			line->peaks[c] = peak > line->peaks[c] ? peak : line->peaks[c];
		}
	}
	pmc_sort(list, list + all + 1, all, sizeof(*list), by_cpu, NULL);
	put_head(line);
	for (i = 0; i < n; i++)
		put_track(line, list[i]);
	if (n < all) {
		pmc_out_str(view->out, "  (");
		pmc_show_integer(view->out, all - n);
		pmc_out_str(view->out, " more)\n");
	}
	return 0;
}

static void put_scale(const struct timeline *line, uint64_t off_ns)
{
	struct pmc_out *out = line->view->out, text;
	char buf[256];

	pmc_out_to_mem(&text, buf, sizeof(buf));
	pmc_out_char(&text, ' ');
	pmc_show_time(&text, (double)line->span_ns, line->view->glyphs->micro);
	pmc_out_str(&text, " from left to right, ");
	pmc_show_time(&text, (double)line->span_ns / line->n_bins, line->view->glyphs->micro);
	pmc_out_str(&text, " a character; the highest character is the peak of the column");
	if (off_ns) {
		pmc_out_str(&text, "; wall and CPU time above are without ");
		pmc_show_time(&text, (double)off_ns, line->view->glyphs->micro);
		pmc_out_str(&text, " not counted (PMC_START, PMC_DELAY, pmctl ctl stop or reset)");
	}
	pmc_show_wrapped(out, buf, pmc_screen_width(&line->view->options->screen));
}

int pmc_view_timeline(struct pmc_view *view)
{
	struct timeline *line = pmc_arena_alloc(view->arena, sizeof(*line));
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	struct pmc_coverage coverage;
	int err = pmc_view_coverage(view, &coverage);

	if (err || !line || !table)
		return err ? err : -ENOMEM;
	line->view = table->view = view;
	table->coverage = &coverage;
	line->n_columns = 1 + view->events.set.count;
	pmc_fold_begin(&view->groups, &view->events, view->options->by);
	err = each_step(line, take_time);
	for (unsigned i = 0; i < line->n_hosts; i++)
		if (line->hosts[i].to > line->hosts[i].from &&
		    line->hosts[i].to - line->hosts[i].from > line->span_ns)
			line->span_ns = line->hosts[i].to - line->hosts[i].from;
	if (!err && line->span_ns)
		err = each_step(line, make_groups);
	if (!err && line->span_ns)
		pmc_fold_end(&view->groups);
	fit(line);
	if (!err)
		err = make_tracks(line);
	if (!err && line->span_ns)
		err = each_step(line, add_step);
	if (err)
		return err;
	/* Steps before a reset are in the lines, but not in the wall time. */
	err = pmc_table_sum(table, &coverage);
	if (err)
		return err;
	pmc_table_title(view, &coverage);
	if (!line->span_ns) {
		pmc_out_str(view->out, " no intervals; pmctl run -I records them\n");
		return 0;
	}
	err = put_tracks(line);
	pmc_out_char(view->out, '\n');
	put_scale(line, coverage.off_ns);
	return err;
}
