/* SPDX-License-Identifier: MIT */
/* print.c - an interval or the summary: which rows, their sums, and their format. */
#include "lib/base/utf8.h"
#include "tools/rows/fold.h"
#include "tools/stat/print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HEAD_EVERY 20 /* lines, on what has no height */

/* ---- lines -------------------------------------------------------------------------------- */

static void set_line(void *arg, uint64_t i)
{
	struct stat_lines *lines = arg;

	lines->at = &lines->list[i];
}

static struct table table_of(struct stat_lines *lines, bool shown)
{
	struct stat_job *stat = lines->stat;

	return (struct table){
		.columns = shown ? stat->shown : stat->columns,
		.n_columns = shown ? stat->n_shown : stat->n_columns,
		.n_rows = lines->n,
		.arg = lines,
		.row = set_line,
		.cell = stat_cell,
		.screen = stat->screen,
		.arena = lines->arena,
	};
}

/* ---- rows and their sums -------------------------------------------------------------------- */

static void add_row(struct stat_lines *lines, const struct stat_row *row)
{
	struct stat_job *stat = lines->stat;
	struct stat_line *line = &lines->list[lines->n++];

	*line = (struct stat_line){ .key = row->key,
				    .name = row->name,
				    .counts = row->counts,
				    .task = row->task,
				    .shown = row->seen || row->shown || lines->summary };
	memcpy(line->places, row->places, sizeof(line->places));
	if (stat_has_waits(stat))
		line->known = stat_waits_of(stat, row, lines->cumulative, &line->span);
}

/* NULL: no memory. */
static struct stat_line *begin_sum(struct stat_lines *lines, struct stat_line *sum)
{
	const struct live_events *live = &lines->stat->live;

	*sum = (struct stat_line){ .key = { -1, -1, -1, -1, -1 } };
	sum->counts = pmc_arena_alloc(lines->arena, (live->view.count + 1) * sizeof(*sum->counts));
	if (!sum->counts)
		return NULL;
	live_counts_clear(live, sum->counts);
	return sum;
}

static void add_places(struct stat_place *sum, const struct stat_place *places)
{
	for (unsigned i = 0; i < STAT_PLACES && places[i].ns; i++) {
		unsigned k = 0;

		while (k < STAT_PLACES && sum[k].ns && strcmp(sum[k].name, places[i].name) != 0)
			k++;
		if (k == STAT_PLACES)
			continue;
		memcpy(sum[k].name, places[i].name, LIVE_WCHAN);
		sum[k].ns += places[i].ns;
	}
}

static void add_to(const struct stat_lines *lines, struct stat_line *sum,
		   const struct stat_line *line)
{
	live_counts_add(&lines->stat->live, sum->counts, line->counts);
	if (line->known)
		live_span_add(&sum->span, &line->span);
	sum->known = line->known > sum->known ? line->known : sum->known;
	sum->shown |= line->shown;
}

/* Adds a line below the others. False: no memory. */
static bool add_sum(struct stat_lines *lines, const char *label, unsigned from, unsigned to)
{
	struct stat_line *sum = begin_sum(lines, &lines->list[lines->n]);

	if (!sum)
		return false;
	sum->label = lines->labels ? label : NULL;
	for (unsigned i = from; i < to; i++) {
		add_to(lines, sum, &lines->list[i]);
		sum->threads += lines->list[i].threads;
	}
	lines->n++;
	return true;
}

/* Threads whose names differ in digits only. A pool has the name of its threads while all have the
 * same. */
static bool fold_pools(struct stat_lines *lines)
{
	const unsigned n = lines->n;
	struct stat_line *threads = lines->list;

	lines->list = pmc_arena_alloc(lines->arena, (n + 4) * sizeof(*lines->list));
	lines->n = 0;
	for (unsigned i = 0; lines->list && i < n; i++) {
		struct stat_line *thread = &threads[i], *pool = lines->list;
		char pattern[20] = "";
		const size_t len =
			pmc_pool_pattern(thread->name, strnlen(thread->name, 15), pattern);

		pattern[len < sizeof(pattern) ? len : sizeof(pattern) - 1] = '\0';
		while (pool < lines->list + lines->n && strcmp(pool->pattern, pattern) != 0)
			pool++;
		if (pool == lines->list + lines->n) {
			if (!begin_sum(lines, pool))
				return false;
			lines->n++;
			pool->name = thread->name;
			pool->pattern = pmc_arena_strdup(lines->arena, pattern);
			if (!pool->pattern)
				return false;
		} else if (strcmp(pool->name, thread->name) != 0) {
			pool->name = pool->pattern;
		}
		add_to(lines, pool, thread);
		add_places(pool->places, thread->places);
		pool->threads++;
	}
	return lines->list != NULL;
}

/* ---- which, and in which order -------------------------------------------------------------- */

/* Keeps those that --where selects; shown: those of this interval. */
static void select_rows(struct stat_lines *lines, bool shown)
{
	const struct stat_job *stat = lines->stat;
	const struct table table = table_of(lines, false);
	const bool labels = lines->labels;
	unsigned kept = 0;

	/* Conditions are on values, not on what people read in their place. */
	lines->labels = false;
	for (unsigned i = 0; i < lines->n; i++)
		if (shown ? lines->list[i].shown :
			    table_selects(&table, i, stat->conditions, stat->n_where))
			lines->list[kept++] = lines->list[i];
	lines->labels = labels;
	lines->n = kept;
}

static bool sort_rows(struct stat_lines *lines)
{
	const struct table table = table_of(lines, false);
	const bool labels = lines->labels;
	uint64_t *order = pmc_arena_alloc(lines->arena, (lines->n + 1) * sizeof(*order));
	struct stat_line *list = pmc_arena_alloc(lines->arena, (lines->n + 3) * sizeof(*list));
	int error;

	if (!order || !list)
		return false;
	lines->labels = false;
	error = table_sort(&table, lines->stat->sort_by, false, order, lines->n);
	lines->labels = labels;
	if (error)
		return false;
	for (unsigned i = 0; i < lines->n; i++)
		list[i] = lines->list[order[i]];
	lines->list = list;
	return true;
}

/* Of all rows one line each, then the sum of those that are selected. */
static bool make_rows(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;

	lines->list = pmc_arena_alloc(lines->arena, (stat->n_rows + 4) * sizeof(*lines->list));
	if (!lines->list)
		return false;
	if (stat->by == BY_TOTAL) {
		add_row(lines, stat->rows);
		return true;
	}
	for (unsigned r = 1; r < stat->n_rows; r++)
		add_row(lines, &stat->rows[r]);
	if (stat->by == BY_POOL && !fold_pools(lines))
		return false;
	if (stat_rest_shown(stat, lines->cumulative)) {
		add_row(lines, &stat->rest);
		lines->list[lines->n - 1].shown = true;
	}
	return true;
}

static bool make_lines(struct stat_lines *lines)
{
	const struct stat_job *stat = lines->stat;
	struct stat_line total = { 0 };
	char more[32];
	unsigned top;

	if (!make_rows(lines))
		return false;
	if (stat->by == BY_TOTAL)
		return true;
	select_rows(lines, false);
	if (!add_sum(lines, "total", 0, lines->n))
		return false;
	total = lines->list[--lines->n];
	select_rows(lines, true);
	if (stat->sort_by && !sort_rows(lines))
		return false;
	top = stat->top && stat->top < lines->n ? stat->top : lines->n;
	snprintf(more, sizeof(more), "(%u more)", lines->n - top);
	if (top < lines->n && lines->labels) {
		if (!add_sum(lines, pmc_arena_strdup(lines->arena, more), top, lines->n))
			return false;
		lines->list[top++] = lines->list[lines->n - 1];
	}
	lines->n = top;
	if (stat->target != STAT_THREAD)
		lines->list[lines->n++] = total;
	return true;
}

/* ---- tables ------------------------------------------------------------------------------- */

static unsigned head_every(const struct stat_job *stat)
{
	struct winsize size;

	if (ioctl(stat->out.fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4)
		return size.ws_row - 2u;
	return HEAD_EVERY;
}

/* Goes on below the last table where the heads are the same. */
static bool put_table(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	struct table *table = &stat->tables[stat->turn], *above = &stat->tables[!stat->turn];

	pmc_screen_of_fd(&stat->screen, stat->width ? -1 : stat->out.fd);
	if (stat->clear && isatty(stat->out.fd)) {
		pmc_out_str(&stat->out, "\033[H\033[2J");
		stat->headed = false;
	}
	*table = table_of(lines, true);
	table->before = stat->headed ? above : NULL;
	if (table_layout(table))
		return false;
	if (stat->format == TABLE_MARKDOWN) {
		table_print(table, TABLE_MARKDOWN, &stat->out);
		pmc_out_char(&stat->out, '\n');
	} else {
		if (!stat->headed || stat->lines >= head_every(stat) ||
		    !table_same_heads(above, table)) {
			table_put_head(table, &stat->out);
			stat->lines = 0;
		}
		table_put_rows(table, 0, lines->n, &stat->out);
	}
	stat->hidden = table->hidden;
	stat->lines += lines->n;
	stat->headed = true;
	return true;
}

/* ---- notes --------------------------------------------------------------------------------- */

/* Threads sleep, and the kernel does not say where. */
static bool hides_places(const struct stat_job *stat)
{
	bool asleep = false;

	for (unsigned r = 1; stat_has_waits(stat) && r < stat->n_rows; r++) {
		const struct stat_row *row = &stat->rows[r];

		if (row->places[0].ns)
			return false;
		asleep |= row->task && row->task->known && strchr("SD", row->task->stat.state);
	}
	return asleep;
}

static bool any_scaled(const struct stat_job *stat, const struct pmc_count *counts)
{
	for (unsigned e = 0; e < stat->live.view.count; e++)
		if (counts[e].state == PMC_SCALED)
			return true;
	return false;
}

static void put_note(struct stat_job *stat, const char *text)
{
	if (stat->format == TABLE_MARKDOWN)
		pmc_outf(&stat->out, "-%s\n", text);
	else
		pmc_show_wrapped(&stat->out, text, pmc_screen_width(&stat->screen));
}

/* The names of events without values, by their reasons. */
static void put_uncounted(struct stat_job *stat, const struct pmc_count *total)
{
	const struct live_events *live = &stat->live;
	char text[8192] = "", why[320], last[320] = "";
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	for (unsigned i = 0; i <= live->view.count + live->n_absent; i++) {
		const unsigned e = i - live->n_absent;
		const bool absent = i < live->n_absent;
		const char *name = absent ? live->absent[i] : live->view.events[e].name;

		why[0] = '\0';
		if (absent)
			live_events_why_absent(live, why, sizeof(why));
		else if (e < live->view.count && live->view.events[e].def.state &&
			 !pmc_count_has_value(&total[e]))
			live_events_why(live, e, why, sizeof(why));
		else if (e < live->view.count)
			continue;
		if (strcmp(why, last) != 0 && last[0]) {
			pmc_outf(&out, ": %s", last);
			put_note(stat, text);
			pmc_out_to_mem(&out, text, sizeof(text));
		}
		if (e == live->view.count)
			return;
		pmc_out_str(&out, out.len ? ", " : " not counted: ");
		pmc_utf8_fit(&out, name, strlen(name), 0, PMC_CUT_END, stat->screen.ascii);
		memcpy(last, why, sizeof(last));
	}
}

static void put_notes(const struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	const struct pmc_count *total = lines->list[lines->n - 1].counts;
	const char *hidden = stat->hidden ? stat->hidden : "";
	char text[1024];

	snprintf(text, sizeof(text), " not shown: %s; --columns chooses, --format csv has all",
		 hidden);
	if (hidden[0])
		put_note(stat, text);
	if (any_scaled(stat, total))
		put_note(stat, " ~ multiplexed: scaled to the whole time");
	if (hides_places(stat))
		put_note(stat, " at: needs permission to trace the process (ptrace)");
	put_uncounted(stat, total);
}

/* ---- all ----------------------------------------------------------------------------------- */

static bool put_lines(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	const bool list = lines->summary && stat->by == BY_TOTAL && !stat->chosen;
	struct table table = table_of(lines, false);

	if (stat->format == TABLE_CSV) {
		if (!stat->headed)
			table_csv_head(&table, &stat->out);
		stat->headed = true;
		for (unsigned i = 0; i < lines->n; i++)
			table_csv_row(&table, i, &stat->out);
		return true;
	}
	if (!lines->labels) {
		for (lines->at = lines->list; lines->at < lines->list + lines->n; lines->at++)
			stat_json(lines);
		return true;
	}
	/* Of the last interval, whose columns may be hidden. */
	if (list)
		return stat_list(lines) == 0;
	if (lines->summary && stat->interval_ns) {
		pmc_out_str(&stat->out, "\nsince the start:\n");
		stat->headed = false;
	}
	return put_table(lines);
}

void stat_print(struct stat_job *stat, bool summary)
{
	struct stat_lines lines = {
		.stat = stat,
		.summary = summary,
		.labels = stat->format == TABLE_PLAIN || stat->format == TABLE_MARKDOWN,
		.cumulative = summary || stat->cumulative,
		.arena = &stat->arenas[stat->turn ^= 1],
	};

	pmc_arena_free(lines.arena);
	lines.ns = stat->now_ns - (lines.cumulative ? stat->begin_ns : stat->before_ns);
	if ((!make_lines(&lines) || !put_lines(&lines)) && !stat->error)
		stat->error = -ENOMEM;
	if (summary && lines.labels && lines.n)
		put_notes(&lines);
	pmc_out_flush(&stat->out);
}
