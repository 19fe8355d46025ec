/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - rates over time as one line per thread or group, with a sparkline for CPU time and
 * each event.
 *
 * What a thread did in an interval is spread evenly over it.
 */
#include "lib/base/sort.h"
#include "lib/base/utf8.h"
#include "tools/view/view.h"

#include <linux/perf_event.h>

enum { LABEL_MOST = 24, SPARK_LEAST = 8, SPARK_MOST = 60, PEAK = 6, LEVELS = 8, HOSTS_MOST = 16 };

struct host {
	const char *name;
	uint64_t from, to; /* clocks of hosts have nothing in common */
};

struct track { /* a line */
	const struct pmc_fold_row *row;
	uint64_t threads, last; /* the last one: its number */
	double cpu_ns;
	double *bins;	   /* of all columns, one after the other */
	UT_hash_handle hh; /* by row, in the order of the lines */
};

struct timeline {
	struct pmc_view *view;
	struct host hosts[HOSTS_MOST];
	unsigned n_hosts;
	uint64_t span_ns;
	unsigned n_columns, n_bins; /* columns: CPU time, then events */
	uint64_t threads;	    /* so far; steps of a thread follow each other */
	bool *filled;
	double *peaks;			/* of each column */
	struct track *tracks;		/* by row */
	const struct track **list, *at; /* lines, and the current one; NULL: those beyond --top */
	char more[48], text[3 * SPARK_MOST + 1];
};

/* ---- steps ------------------------------------------------------------------------------- */

static struct host *host_of(struct timeline *line, const char *name)
{
	unsigned i = 0;

	while (i < line->n_hosts && strcmp(line->hosts[i].name, name) != 0)
		i++;
	if (i == HOSTS_MOST)
		return NULL;
	if (i == line->n_hosts)
		line->hosts[line->n_hosts++] = (struct host){ .name = name, .from = UINT64_MAX };
	return &line->hosts[i];
}

/* The newest step of each thread first: its name labels the thread. */
static void each_step(struct timeline *line,
		      void (*visit)(struct timeline *line, const struct pmc_row *row))
{
	struct pmc_view *view = line->view;
	struct pmc_row_buf *buf = pmc_arena_alloc(view->arena, sizeof(*buf));
	struct pmc_row row;

	for (uint64_t i = view->n_rows; i--;) {
		pmc_view_step(view, &view->rows[i], buf, &row);
		line->threads +=
			i + 1 == view->n_rows || !pmc_same_thread(view->rows[i], view->rows[i + 1]);
		visit(line, &row);
	}
}

/* The groups, and the time in which there are steps. */
static void take_step(struct timeline *line, const struct pmc_row *row)
{
	struct host *host = host_of(line, row->thread->process->host);
	const uint64_t from = row->t_ns - row->dt_ns;

	pmc_fold_find(&line->view->groups, row->thread);
	if (!host || !row->dt_ns)
		return;
	host->from = from < host->from ? from : host->from;
	host->to = row->t_ns > host->to ? row->t_ns : host->to;
	if (host->to > host->from && host->to - host->from > line->span_ns)
		line->span_ns = host->to - host->from;
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
	const struct pmc_fold_stat *stat =
		column ? &row->sums->events[column - 1] : &row->sums->cpu;
	const struct pmc_p_event *events = line->view->events.set.events;

	*known = stat->rows;
	return (double)stat->sum * (column ? pmc_event_scale(&events[column - 1]) : 1);
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

static void add_step(struct timeline *line, const struct pmc_row *row)
{
	const struct pmc_fold_row *group = pmc_fold_find(&line->view->groups, row->thread);
	const struct host *host = host_of(line, row->thread->process->host);
	struct track *track;
	bool known;

	HASH_FIND_PTR(line->tracks, &group, track);
	track->threads += track->last != line->threads;
	track->last = line->threads;
	if (!host || !row->dt_ns)
		return;
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
}

/* ---- lines ------------------------------------------------------------------------------- */

enum { KEY, THREADS, SPARK, RATE };

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

static void put_spark(struct timeline *line, unsigned column, struct pmc_out *out)
{
	static const char *const utf8[LEVELS] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char *const ascii[LEVELS] = { ".", ":", "-", "=", "+", "*", "#", "@" };
	const char *const *levels = line->view->options->screen.ascii ? ascii : utf8;

	for (unsigned i = 0; i < line->n_bins; i++) {
		const double rate = line->at->bins[column * line->n_bins + i];
		/* The peak of all lines is 1; sums of parts are not exact. A column of zeros has no
		 * peak. */
		const double part = rate > 0 ? rate / line->peaks[column] : 0;
		const unsigned level = part < 1 ? (unsigned)(part * LEVELS + 1e-6) : LEVELS - 1;

		pmc_out_str(out, !(rate > 0) ? " " : levels[level < LEVELS ? level : LEVELS - 1]);
	}
}

static void make_row(void *arg, uint64_t i)
{
	struct timeline *line = arg;

	line->at = line->list[i];
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct timeline *line = arg;
	const struct track *track = line->at;
	struct pmc_out out;
	double peak;

	if (column->kind == KEY)
		return track	      ? cell_text(track->row->groups[column->index]->label) :
		       !column->index ? cell_text(line->more) :
					cell_null();
	if (!track)
		return cell_null();
	if (column->kind == THREADS)
		return cell_number(true, track->threads);
	pmc_out_to_mem(&out, line->text, sizeof(line->text));
	peak = peak_of(line, track, column->index);
	if (column->kind == SPARK)
		put_spark(line, column->index, &out);
	/* Time in a second is shown as the number of CPUs that it takes. */
	else if (is_time(line, column->index))
		pmc_out_fixed(&out, peak / 1e9, 2);
	else /* sums of parts are not exact */
		pmc_show_number(&out, peak < 100 ? peak : (double)pmc_nearest_integer(peak));
	return cell_textn(line->text, out.len);
}

/* How many of the columns fit, and how long their lines are. */
static unsigned fit(struct timeline *line)
{
	const int screen = pmc_screen_width(&line->view->options->screen);
	const unsigned gap = 2, threads = 6;
	int label = -(int)gap;
	unsigned room, n;

	for (unsigned k = 0; k < line->view->groups.n_keys; k++) {
		int most = 6;

		for (const struct pmc_fold_row *row = line->view->groups.rows; row;
		     row = row->next) {
			const char *text = row->groups[k]->label;
			const int width = pmc_utf8_columns(text, strlen(text));

			most = width > most ? width : most;
		}
		label += (int)gap + (most > LABEL_MOST ? LABEL_MOST : most);
	}
	room = (unsigned)(screen > label + 40 ? screen - label : 40) - gap - threads;
	n = room / (gap + SPARK_LEAST + gap + PEAK);
	n = n && n < line->n_columns ? n : n ? line->n_columns : 1;
	line->n_bins = room / n - gap - gap - PEAK;
	line->n_bins = line->n_bins > SPARK_MOST ? SPARK_MOST : line->n_bins;
	return n;
}

static void make_tracks(struct timeline *line)
{
	struct pmc_arena *arena = line->view->arena;
	const size_t bins = (size_t)line->n_columns * line->n_bins;

	line->filled = pmc_arena_alloc(arena, line->n_columns * sizeof(*line->filled));
	line->peaks = pmc_arena_alloc(arena, line->n_columns * sizeof(*line->peaks));
	for (const struct pmc_fold_row *row = line->view->groups.rows; row; row = row->next) {
		struct track *track = pmc_arena_alloc(arena, sizeof(*track));

		track->row = row;
		track->bins = pmc_arena_alloc(arena, bins * sizeof(*track->bins));
		HASH_ADD_PTR(line->tracks, row, track);
	}
}

/* A line and its peak for each column that has values, as far as they fit. */
static void make_columns(struct timeline *line, unsigned n_fit, struct table_column *to,
			 struct table *table)
{
	struct pmc_view *view = line->view;

	for (unsigned k = 0; k < view->groups.n_keys; k++)
		to[table->n_columns++] =
			(struct table_column){ .name = pmc_by_names[view->groups.keys[k].by],
					       .kind = KEY,
					       .index = k,
					       .most = LABEL_MOST,
					       .cut = PMC_CUT_MIDDLE,
					       .blank = true };
	to[table->n_columns++] = (struct table_column){
		.name = "n", .kind = THREADS, .unit = TABLE_WHOLE, .blank = true
	};
	for (unsigned c = 0; c < line->n_columns && n_fit; c++) {
		const char *name = c ? view->events.columns[c - 1].label : "CPUs";
		char head[4 * SPARK_MOST];
		struct pmc_out out;

		if (!line->filled[c])
			continue;
		n_fit--;
		pmc_out_to_mem(&out, head, sizeof(head));
		pmc_utf8_fit(&out, name, strlen(name), (int)line->n_bins - 2, PMC_CUT_END,
			     view->options->screen.ascii);
		pmc_out_str(&out, is_time(line, c) ? "" : "/s");
		name = pmc_arena_strdup(view->arena, head);
		to[table->n_columns++] = (struct table_column){
			.name = name, .kind = SPARK, .index = c, .blank = true
		};
		to[table->n_columns++] = (struct table_column){
			.name = "peak", .kind = RATE, .index = c, .right = true, .blank = true
		};
	}
}

static int by_cpu(const struct track *x, const struct track *y)
{
	return (x->cpu_ns < y->cpu_ns) - (x->cpu_ns > y->cpu_ns);
}

static void put_tracks(struct timeline *line, unsigned n_fit)
{
	struct pmc_view *view = line->view;
	const uint64_t all = HASH_COUNT(line->tracks);
	const int top = view->options->top < 0 ? 20 : view->options->top;
	const uint64_t n = top && (uint64_t)top < all ? (uint64_t)top : all;
	struct table table = { .n_rows = n + (n < all),
			       .arg = line,
			       .row = make_row,
			       .cell = cell_of,
			       .screen = view->options->screen,
			       .arena = view->arena,
			       .wide = true,
			       .indent = 2 };
	struct table_column *columns = pmc_arena_alloc(
		view->arena, (PMC_KEYS_MOST + 1 + 2 * (size_t)n_fit) * sizeof(*columns));
	uint64_t i = 0;
	struct pmc_out out;

	line->list = pmc_arena_alloc(view->arena, (all + 1) * sizeof(*line->list));
	HASH_SORT(line->tracks, by_cpu);
	for (const struct track *track = line->tracks; track; track = track->hh.next) {
		if (i < n)
			line->list[i++] = track;
		for (unsigned c = 0; c < line->n_columns; c++) {
			const double peak = peak_of(line, track, c);

			line->peaks[c] = peak > line->peaks[c] ? peak : line->peaks[c];
		}
	}
	pmc_out_to_mem(&out, line->more, sizeof(line->more));
	table_say(&out, &table.screen, "(%n more)", all - n);
	make_columns(line, n_fit, columns, &table);
	table.columns = columns;
	table_layout(&table);
	table_print(&table, TABLE_PLAIN, view->out);
}

static void put_scale(const struct timeline *line, uint64_t off_ns)
{
	const struct pmc_screen *screen = &line->view->options->screen;
	char buf[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	table_say(&out, screen,
		  " %t from left to right, %t a character; the highest character is the peak of "
		  "the column",
		  line->span_ns, line->span_ns / line->n_bins);
	if (off_ns)
		table_say(&out, screen,
			  "; wall and CPU time above are without %t not counted (PMC_START, "
			  "PMC_DELAY, pmctl ctl stop or reset)",
			  off_ns);
	pmc_show_wrapped(line->view->out, buf, pmc_screen_width(screen));
}

int pmc_view_timeline(struct pmc_view *view)
{
	struct timeline *line = pmc_arena_alloc(view->arena, sizeof(*line));
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	struct pmc_coverage coverage;
	unsigned n_fit;

	pmc_view_coverage(view, &coverage);
	line->view = table->view = view;
	table->coverage = &coverage;
	line->n_columns = 1 + view->events.set.count;
	pmc_fold_begin(&view->groups, &view->events, view->options->outer, view->options->by);
	each_step(line, take_step);
	pmc_fold_end(&view->groups);
	n_fit = fit(line);
	make_tracks(line);
	if (line->span_ns)
		each_step(line, add_step);
	/* Steps before a reset are in the lines, but not in the wall time. */
	pmc_table_sum(table, &coverage);
	pmc_table_title(view, &coverage);
	if (!line->span_ns) {
		pmc_out_str(view->out, " no intervals; pmctl run -I records them\n");
		return 0;
	}
	put_tracks(line, n_fit);
	pmc_out_char(view->out, '\n');
	put_scale(line, coverage.off_ns);
	return 0;
}
