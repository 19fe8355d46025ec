/* SPDX-License-Identifier: MIT */
/* print.c - an interval or the summary: which rows, their sums, and their format. */
#include "lib/base/utf8.h"
#include "tools/stat/stat.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HEAD_EVERY 20 /* lines, on what has no height */

/* ---- rows and their sums -------------------------------------------------------------------- */

static struct stat_line *add_row(struct stat_lines *lines, const struct stat_row *row)
{
	struct stat_line *line = &lines->list[lines->n++];

	*line = (struct stat_line){
		.key = row->key,
		.name = row->name,
		.counts = row->counts,
		.task = row->task,
		.span = lines->cumulative ? row->waits.total : row->waits.interval,
	};
	memcpy(line->places, row->places, sizeof(line->places));
	return line;
}

static struct stat_line *begin_sum(struct stat_lines *lines)
{
	const struct live_events *live = &lines->stat->live;
	struct stat_line *sum = &lines->list[lines->n++];

	*sum = (struct stat_line){ .key = STAT_NO_KEY };
	sum->counts = pmc_arena_alloc(lines->arena, (live->view.count + 1) * sizeof(*sum->counts));
	live_counts_clear(live, sum->counts);
	return sum;
}

static void add_to(const struct stat_lines *lines, struct stat_line *sum,
		   const struct stat_line *line)
{
	live_counts_add(&lines->stat->live, sum->counts, line->counts);
	live_span_add(&sum->span, &line->span);
	sum->threads += line->threads;
}

/* Threads whose names differ in digits only. A pool has the name of its threads while all have the
 * same. */
static void fold_pools(struct stat_lines *lines)
{
	struct pmc_arena *arena = lines->arena;
	const struct stat_line *threads = lines->list;
	const unsigned n = lines->n;
	struct stat_line *pools = NULL, *pool;

	lines->list = pmc_arena_alloc(arena, (n + 4) * sizeof(*lines->list));
	lines->n = 0;
	for (unsigned i = 0; i < n; i++) {
		char name[LIVE_NAME];
		const uint64_t key = live_pool_key(threads[i].name, name);

		HASH_FIND(hh, pools, &key, sizeof(key), pool);
		if (!pool) {
			pool = begin_sum(lines);
			pool->name = threads[i].name;
			pool->pool = key;
			HASH_ADD(hh, pools, pool, sizeof(key), pool);
		} else if (strcmp(pool->name, threads[i].name) != 0) {
			pool->name = pmc_arena_strdup(arena, name);
		}
		add_to(lines, pool, &threads[i]);
		for (unsigned p = 0; p < LIVE_PLACES; p++)
			live_place_add(pool->places, threads[i].places[p].name,
				       threads[i].places[p].ns);
		pool->threads++;
	}
}

/* ---- which, and in which order -------------------------------------------------------------- */

static void set_line(void *arg, uint64_t i)
{
	struct stat_lines *lines = arg;

	lines->at = &lines->list[i];
}

static struct table table_of(struct stat_lines *lines, const struct table_column *columns,
			     unsigned n_columns)
{
	return (struct table){
		.columns = columns,
		.n_columns = n_columns,
		.n_rows = lines->n,
		.arg = lines,
		.row = set_line,
		.cell = stat_cell,
		.screen = lines->stat->output.screen,
		.arena = lines->arena,
	};
}

/* Those that were there in this interval; since the start, all. */
static void make_rows(struct stat_lines *lines)
{
	const struct stat_job *stat = lines->stat;

	lines->list = pmc_arena_alloc(lines->arena, (stat->n_rows + 1) * sizeof(*lines->list));
	for (unsigned r = stat->by != BY_TOTAL; r < stat->n_rows; r++) {
		const struct stat_row *row = &stat->rows[r];

		if (row->seen || row->shown || lines->cumulative)
			add_row(lines, row);
	}
	if (stat->by == BY_POOL)
		fold_pools(lines);
	if (stat_has_waits(stat) && stat_rest_shown(stat, lines->cumulative))
		add_row(lines, &stat->rest);
}

/* The rows that flags choose, in their order, then sums of those that --top leaves out, and of all.
 * Conditions are on values, not on what people read in their place. */
static void make_lines(struct stat_lines *lines)
{
	const struct stat_job *stat = lines->stat;
	struct table_choice choice = stat->output.choice;
	const bool labels = lines->labels;
	const struct stat_line *rows;
	struct stat_line *more, *total;
	const char *problem;
	struct table table;
	char text[32];

	make_rows(lines);
	if (stat->by == BY_TOTAL)
		return;
	table = table_of(lines, stat->columns, stat->n_columns);
	choice.columns = NULL;
	lines->labels = false;
	table_apply(&table, &choice, 0, &problem);
	lines->labels = labels;
	rows = lines->list;
	lines->list = pmc_arena_alloc(lines->arena, (table.n_rows + 2) * sizeof(*rows));
	lines->n = 0;
	for (uint64_t i = 0; i < table.n_rows; i++)
		lines->list[lines->n++] = rows[table.order[i]];
	more = begin_sum(lines);
	snprintf(text, sizeof(text), "(%llu more)", (unsigned long long)table.n_more);
	more->label = pmc_arena_strdup(lines->arena, text);
	for (uint64_t i = table.n_rows; i < table.n_rows + table.n_more; i++)
		add_to(lines, more, &rows[table.order[i]]);
	total = begin_sum(lines);
	total->label = "total";
	for (unsigned i = 0; i + 1 < lines->n; i++)
		add_to(lines, total, &lines->list[i]);
	if (!table.n_more || !lines->labels) {
		*more = *total;
		lines->n--;
	}
	/* A sum over the rows of CSV would count it twice. */
	lines->n -= stat->target == STAT_THREAD || stat->output.format == TABLE_CSV;
}

/* ---- tables ------------------------------------------------------------------------------- */

static unsigned head_every(const struct stat_job *stat)
{
	struct winsize size;

	if (ioctl(stat->output.out.fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4)
		return size.ws_row - 2u;
	return HEAD_EVERY;
}

/* Goes on below the last table where the heads are the same. */
static void put_table(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	struct tool_rows *output = &stat->output;
	struct pmc_out *out = &output->out;
	struct table *table = &stat->tables[stat->turn], *above = &stat->tables[!stat->turn];

	pmc_screen_of_fd(&output->screen, output->width ? -1 : out->fd);
	if (stat->clear && isatty(out->fd)) {
		pmc_out_str(out, "\033[H\033[2J");
		stat->headed = false;
	}
	*table = table_of(lines, stat->shown, stat->n_shown);
	table->before = stat->headed ? above : NULL;
	table_layout(table);
	if (output->format == TABLE_MARKDOWN) {
		table_print(table, TABLE_MARKDOWN, out);
		pmc_out_char(out, '\n');
	} else {
		if (!stat->headed || stat->lines >= head_every(stat) ||
		    !table_same_heads(above, table)) {
			table_put_head(table, out);
			stat->lines = 0;
		}
		table_put_rows(table, 0, lines->n, out);
	}
	stat->hidden = table->hidden;
	stat->lines += lines->n;
	stat->headed = true;
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
		asleep |= row->task->known && strchr("SD", row->task->stat.state);
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
	struct tool_rows *output = &stat->output;

	if (output->format == TABLE_MARKDOWN)
		pmc_outf(&output->out, "-%s\n", text);
	else
		pmc_show_wrapped(&output->out, text, pmc_screen_width(&output->screen));
}

/* Events without values, one after the other where the reason is the same. */
struct reasons {
	struct stat_job *stat;
	char text[8192], why[320];
	struct pmc_out out;
};

/* name NULL: the last one. */
static void put_reason(struct reasons *reasons, const char *name, const char *why)
{
	struct pmc_out *out = &reasons->out;

	if (out->len && (!name || strcmp(why, reasons->why) != 0)) {
		pmc_outf(out, ": %s", reasons->why);
		put_note(reasons->stat, reasons->text);
		pmc_out_to_mem(out, reasons->text, sizeof(reasons->text));
	}
	if (!name)
		return;
	pmc_out_str(out, out->len ? ", " : " not counted: ");
	pmc_utf8_fit(out, name, strlen(name), 0, PMC_CUT_END, reasons->stat->output.screen.ascii);
	snprintf(reasons->why, sizeof(reasons->why), "%s", why);
}

static void put_uncounted(struct stat_job *stat, const struct pmc_count *total)
{
	const struct live_events *live = &stat->live;
	struct reasons reasons = { .stat = stat };
	char why[320];

	pmc_out_to_mem(&reasons.out, reasons.text, sizeof(reasons.text));
	for (unsigned i = 0; i < live->n_absent; i++) {
		/* Of all the same. */
		live_event_why(live, live->absent[0], why, sizeof(why));
		put_reason(&reasons, live->plan.events[live->absent[i]].event.name, why);
	}
	for (unsigned e = 0; e < live->view.count; e++) {
		if (!live->view.events[e].def.state || pmc_count_has_value(&total[e]))
			continue;
		live_events_why(live, e, why, sizeof(why));
		put_reason(&reasons, live->view.events[e].name, why);
	}
	put_reason(&reasons, NULL, NULL);
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

static void put_data(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	struct pmc_out *out = &stat->output.out;
	const struct table table = table_of(lines, stat->data, stat->n_data);

	if (stat->output.format == TABLE_CSV && !stat->headed)
		table_csv_head(&table, out);
	stat->headed = true;
	for (unsigned i = 0; i < lines->n; i++) {
		set_line(lines, i);
		if (stat->output.format == TABLE_CSV)
			table_csv_row(&table, i, out);
		else
			stat_json(lines);
	}
}

void stat_print(struct stat_job *stat, bool summary)
{
	struct stat_lines lines = {
		.stat = stat,
		.summary = summary,
		.labels = tool_rows_is_table(&stat->output),
		.cumulative = summary || stat->cumulative,
		.arena = &stat->arenas[stat->turn ^= 1],
	};

	pmc_arena_free(lines.arena);
	lines.ns = stat->now_ns - (lines.cumulative ? stat->begin_ns : stat->before_ns);
	make_lines(&lines);
	if (!lines.labels) {
		put_data(&lines);
	} else if (summary && stat->by == BY_TOTAL && !stat->output.choice.columns) {
		/* Below the last interval, whose columns may be hidden. */
		stat_list(&lines);
	} else {
		if (summary && stat->interval_ns) {
			pmc_out_str(&stat->output.out, "\nsince the start:\n");
			stat->headed = false;
		}
		put_table(&lines);
	}
	if (summary && lines.labels && lines.n)
		put_notes(&lines);
	pmc_out_flush(&stat->output.out);
}
