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

enum { LABEL_MOST = 24, SPARK_LEAST = 8, SPARK_MOST = 60, PEAK = 6, LEVELS = 8 };

struct timeline {
	struct pmc_view *view;
	uint64_t from_ns;	    /* the first start of a thread, since that of its job */
	uint64_t span_ns;	    /* from there to the last step */
	unsigned n_columns, n_bins; /* columns: CPU time, then events */
	int task_clock;		    /* its event, which is CPU time once more; -1: none */
	double *bins;		    /* of all groups, of each all columns */
	double *peaks;		    /* of each column; 0: it has no values */
	const struct pmc_fold_row **list, *at; /* lines, and the current one; NULL: the rest */
	const char *more;
	char text[3 * SPARK_MOST + 1];
};

/* ---- steps ------------------------------------------------------------------------------- */

static double *bins_of(const struct timeline *line, const struct pmc_fold_row *group,
		       unsigned column)
{
	return line->bins + (group->index * line->n_columns + column) * line->n_bins;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The group of each step, and the time of all. The newest step of a thread comes first: its name
 * labels the thread. */
static const struct pmc_fold_row **find_groups(struct timeline *line)
{
	struct pmc_view *view = line->view;
	struct pmc_fold *fold = &view->groups;
	const struct pmc_fold_row **groups =
		pmc_arena_alloc(view->arena, (view->n_rows + 1) * sizeof(*groups));
	struct pmc_thread_buf buf;
	uint64_t from = UINT64_MAX, to = 0, at_ns;

	pmc_fold_begin(fold, &view->events, view->options->outer, view->options->by);
	for (uint64_t i = view->n_rows; i--;) {
		const struct pmc_p_row *row = view->rows[i];
		const uint64_t job_ns = row->process->job_start_ns;

		groups[i] = pmc_fold_find(fold, pmc_profile_thread(view->profile, row, &buf));
		if (groups[i] != groups[i + 1] || !pmc_same_thread(row, view->rows[i + 1]))
			pmc_fold_thread(fold, &buf.thread);
		if (buf.thread.fixed.start_ns)
			from = at_most(from, pmc_sub_sat(buf.thread.fixed.start_ns, job_ns));
		at_ns = pmc_sub_sat(row->time_ns, job_ns);
		to = at_ns > to ? at_ns : to;
	}
	line->from_ns = at_most(from, to);
	line->span_ns = to - line->from_ns;
	pmc_fold_end(fold);
	return groups;
}

/* Adds a value to the bins that its interval covers, as a rate. */
static void spread(const struct timeline *line, const struct pmc_row *row, double value,
		   double *bins)
{
	const double bin_ns = (double)line->span_ns / line->n_bins;
	const double start_ns = (double)row->thread->process->job_start_ns + (double)line->from_ns;
	const double to = (double)row->t_ns - start_ns;
	const double from = to - (double)row->dt_ns, rate = value / (double)row->dt_ns;
	const double first = from / bin_ns;

	/* Times of a damaged dump. */
	if (!(first < line->n_bins))
		return;
	for (unsigned i = first > 0 ? (unsigned)first : 0; i < line->n_bins; i++) {
		const double start = i * bin_ns, end = start + bin_ns;
		const double covered = (to < end ? to : end) - (from > start ? from : start);

		if (covered <= 0)
			break;
		bins[i] += rate * covered / bin_ns * 1e9;
	}
}

static const struct pmc_p_event *event_of(const struct timeline *line, unsigned column)
{
	return column ? &line->view->events.set.events[column - 1] : NULL;
}

static void add_step(struct timeline *line, const struct pmc_row *row,
		     const struct pmc_fold_row *group)
{
	for (unsigned c = 0; c < line->n_columns && row->dt_ns; c++) {
		const struct pmc_p_event *event = event_of(line, c);
		const struct pmc_fold_stat *stat = c ? &row->sums->events[c - 1] : &row->sums->cpu;

		if (stat->rows && (!c || (int)c - 1 != line->task_clock))
			spread(line, row, (double)stat->sum * (event ? pmc_event_scale(event) : 1),
			       bins_of(line, group, c));
	}
}

static void add_steps(struct timeline *line, const struct pmc_fold_row **groups)
{
	struct pmc_view *view = line->view;
	struct pmc_row_buf *buf = pmc_arena_alloc(view->arena, sizeof(*buf));
	struct pmc_row row;

	for (uint64_t i = 0; i < view->n_rows; i++) {
		pmc_view_step(view, &view->rows[i], buf, &row);
		add_step(line, &row, groups[i]);
	}
}

/* ---- lines ------------------------------------------------------------------------------- */

enum { KEY, THREADS, SPARK, RATE };

static double peak_of(const struct timeline *line, const struct pmc_fold_row *group,
		      unsigned column)
{
	const double *bins = bins_of(line, group, column);
	double peak = 0;

	for (unsigned i = 0; i < line->n_bins; i++)
		peak = bins[i] > peak ? bins[i] : peak;
	return peak;
}

static bool is_time(const struct timeline *line, unsigned column)
{
	return !column || !strcmp(event_of(line, column)->unit, "ns");
}

static void put_spark(struct timeline *line, unsigned column, struct pmc_out *out)
{
	static const char *const utf8[LEVELS] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char *const ascii[LEVELS] = { ".", ":", "-", "=", "+", "*", "#", "@" };
	const char *const *levels = line->view->options->screen.ascii ? ascii : utf8;
	const double *bins = bins_of(line, line->at, column);

	for (unsigned i = 0; i < line->n_bins; i++) {
		/* The peak of all lines is 1; sums of parts are not exact. */
		const double part = bins[i] > 0 ? bins[i] / line->peaks[column] : 0;
		const unsigned level = part < 1 ? (unsigned)(part * LEVELS + 1e-6) : LEVELS - 1;

		pmc_out_str(out,
			    !(bins[i] > 0) ? " " : levels[level < LEVELS ? level : LEVELS - 1]);
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
	struct pmc_out out;
	double peak;

	if (column->kind == KEY)
		return line->at	      ? cell_text(line->at->groups[column->index]->label) :
		       !column->index ? cell_text(line->more) :
					cell_null();
	if (!line->at)
		return cell_null();
	if (column->kind == THREADS)
		return cell_number(true, line->at->threads);
	pmc_out_to_mem(&out, line->text, sizeof(line->text));
	peak = peak_of(line, line->at, column->index);
	if (column->kind == SPARK)
		put_spark(line, column->index, &out);
	/* Time in a second is shown as the number of CPUs that it takes. */
	else if (is_time(line, column->index))
		pmc_out_fixed(&out, peak / 1e9, 2);
	else /* sums of parts are not exact */
		pmc_show_number(&out, peak < 100 ? peak : (double)pmc_nearest_integer(peak));
	return cell_textn(line->text, out.len);
}

static unsigned fit(struct timeline *line)
{
	const struct pmc_fold *fold = &line->view->groups;
	const int screen = pmc_screen_width(&line->view->options->screen);
	const unsigned gap = 2, threads = 6;
	int label = -(int)gap;
	unsigned room, n;

	for (unsigned k = 0; k < fold->n_keys; k++) {
		int most = 6;

		for (const struct pmc_fold_row *row = fold->rows; row; row = row->next) {
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

/* A line and its peak for each column that has values, as far as they fit. */
static void make_columns(struct timeline *line, unsigned n_fit, struct table *table)
{
	struct pmc_view *view = line->view;
	struct table_column *to =
		pmc_arena_alloc(view->arena, (PMC_KEYS_MOST + 1 + 2 * (size_t)n_fit) * sizeof(*to));

	table->columns = to;
	for (unsigned k = 0; k < view->groups.n_keys; k++)
		*to++ = (struct table_column){ .name = pmc_by_names[view->groups.keys[k].by],
					       .kind = KEY,
					       .index = k,
					       .most = LABEL_MOST,
					       .cut = PMC_CUT_MIDDLE,
					       .blank = true };
	*to++ = (struct table_column){
		.name = "n", .kind = THREADS, .unit = TABLE_WHOLE, .blank = true
	};
	for (unsigned c = 0; c < line->n_columns && n_fit; c++) {
		const char *name = c ? view->events.columns[c - 1].label : "CPUs";
		struct pmc_out out = PMC_OUT_MEM(4 * SPARK_MOST);

		if (!(line->peaks[c] > 0))
			continue;
		n_fit--;
		pmc_utf8_fit(&out, name, strlen(name), (int)line->n_bins - 2, PMC_CUT_END,
			     view->options->screen.ascii);
		pmc_out_str(&out, is_time(line, c) ? "" : "/s");
		*to++ = (struct table_column){ .name = pmc_arena_strdup(view->arena, out.buf),
					       .kind = SPARK,
					       .index = c,
					       .blank = true };
		*to++ = (struct table_column){
			.name = "peak", .kind = RATE, .index = c, .right = true, .blank = true
		};
	}
	table->n_columns = (unsigned)(to - table->columns);
}

static int by_cpu(const void *a, const void *b, const void *arg)
{
	const struct pmc_fold_row *x = *(const struct pmc_fold_row *const *)a;
	const struct pmc_fold_row *y = *(const struct pmc_fold_row *const *)b;

	(void)arg;
	return (x->cpu.sum < y->cpu.sum) - (x->cpu.sum > y->cpu.sum);
}

static void put_lines(struct timeline *line, unsigned n_fit)
{
	struct pmc_view *view = line->view;
	const uint64_t all = view->groups.n_rows;
	const uint64_t top = view->options->top < 0 ? 20 : (uint64_t)view->options->top;
	const uint64_t n = top && top < all ? top : all;
	struct table table = { .n_rows = n + (n < all),
			       .arg = line,
			       .row = make_row,
			       .cell = cell_of,
			       .screen = view->options->screen,
			       .arena = view->arena,
			       .wide = true,
			       .indent = 2 };

	line->list = pmc_arena_alloc(view->arena, 2 * (all + 1) * sizeof(*line->list));
	for (const struct pmc_fold_row *row = view->groups.rows; row; row = row->next) {
		line->list[row->index] = row;
		for (unsigned c = 0; c < line->n_columns; c++) {
			const double peak = peak_of(line, row, c);

			line->peaks[c] = peak > line->peaks[c] ? peak : line->peaks[c];
		}
	}
	pmc_sort(line->list, line->list + all + 1, all, sizeof(*line->list), by_cpu, NULL);
	line->list[n] = NULL;
	line->more = pmc_more(&(struct pmc_lines){ .view = view, .n = n, .all = all });
	make_columns(line, n_fit, &table);
	table_layout(&table);
	table_print(&table, TABLE_PLAIN, view->out);
}

static void put_scale(const struct timeline *line, const struct pmc_coverage *coverage)
{
	const struct pmc_screen *screen = &line->view->options->screen;
	const uint64_t off_ns = coverage->off_ns;
	struct pmc_out out = PMC_OUT_MEM(512);

	table_say(&out, screen,
		  " %t from left to right, %t a character; the highest character is the peak of "
		  "the column",
		  line->span_ns, line->span_ns / line->n_bins);
	if (off_ns)
		table_say(&out, screen,
			  "; wall and CPU time above are without %t not counted (PMC_START, "
			  "PMC_DELAY, pmctl ctl stop or reset)",
			  off_ns);
	pmc_show_wrapped(line->view->out, out.buf, pmc_screen_width(screen));
	pmc_out_to_mem(&out, out.buf, out.cap);
	pmc_view_open_ends(line->view, coverage, &out);
	if (out.len)
		pmc_show_wrapped(line->view->out, out.buf, pmc_screen_width(screen));
}

int pmc_view_timeline(struct pmc_view *view)
{
	struct timeline *line = pmc_arena_alloc(view->arena, sizeof(*line));
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	const struct pmc_fold_row **groups;
	struct pmc_coverage coverage;
	unsigned n_fit;

	pmc_view_coverage(view, &coverage);
	line->view = table->view = view;
	table->coverage = &coverage;
	line->n_columns = 1 + view->events.set.count;
	line->task_clock = pmc_view_software(view, PERF_COUNT_SW_TASK_CLOCK, true);
	groups = find_groups(line);
	/* Steps before a reset are in the lines, but not in the wall time. */
	pmc_table_sum(table, &coverage);
	pmc_table_title(view, &coverage);
	if (!line->span_ns) {
		pmc_out_str(view->out, " no intervals; pmctl run -I records them\n");
		return 0;
	}
	n_fit = fit(line);
	line->peaks = pmc_arena_alloc(view->arena, line->n_columns * sizeof(*line->peaks));
	line->bins = pmc_arena_alloc(view->arena, view->groups.n_rows * line->n_columns *
							  line->n_bins * sizeof(*line->bins));
	add_steps(line, groups);
	put_lines(line, n_fit);
	pmc_out_char(view->out, '\n');
	put_scale(line, &coverage);
	return 0;
}
