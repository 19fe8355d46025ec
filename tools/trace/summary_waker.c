/* SPDX-License-Identifier: MIT */
/*
 * summary_waker.c - waits by the thread that ended them, and --by pool,waker: a matrix of these
 * times, as a page, too, and for each cause what the waker did meanwhile.
 *
 * Who ends a wait is known when it ends, so the times of every thread are kept: the last changes of
 * its state exactly, older ones thinned out, between which times are interpolated.
 */
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/cli/page.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PAST 256

/* The pools that were blocked longest, and the wakers that ended most of it; the others of each are
 * together, as BY_OTHERS. */
enum { MATRIX_POOLS = 12, MATRIX = MATRIX_POOLS + 1 };
struct matrix {
	unsigned n_pools, n_wakers;
	const struct trace_thread *pools[MATRIX], *wakers[MATRIX];
	uint64_t blocked_ns[MATRIX]; /* of a pool: the sum of its cells */
	struct cell {
		uint64_t ns, of[N_CAUSES];
	} cells[MATRIX][MATRIX]; /* of a pool by a waker */
};

/* ---- waits ---------------------------------------------------------------------------------- */

static struct trace_wait *wait_of(struct trace_summary *summary, struct trace_thread *thread,
				  const struct trace_thread *waker, uint64_t cause)
{
	struct pmc_arena *arena = &summary->trace->arena;
	struct trace_wait *wait, key = { .key = { thread, waker, cause } };

	HASH_ENTRY(summary->waits, key, &key.key, wait);
	if (!wait->lengths.n) {
		wait->next = thread->waits;
		thread->waits = wait;
	}
	return wait;
}

void trace_past_add(struct trace_summary *summary, struct trace_thread *thread)
{
	if (thread->n_past == MOST_PAST) {
		thread->n_past /= 2;
		for (size_t i = 0; i < thread->n_past; i++)
			thread->past[i] = thread->past[2 * i + 1];
	}
	thread->past = pmc_arena_grow(&summary->trace->arena, thread->past, thread->n_past,
				      &thread->room_past, sizeof(*thread->past));
	thread->past[thread->n_past++] =
		(struct trace_past){ thread->since_ns,
				     { thread->oncpu_ns, thread->delay_ns, thread->blocked_ns } };
}

static struct trace_past past_at(const struct trace_summary *summary, const struct trace_thread *t,
				 uint64_t ns)
{
	struct trace_past at = { ns, { t->oncpu_ns, t->delay_ns, t->blocked_ns } };
	struct trace_past from = { .ns = summary->start_ns };
	size_t i = t->n_past;
	double part;

	while (i && t->past[i - 1].ns > ns)
		i--;
	if (i == t->n_past) {
		if (t->state >= THREAD_RUNNING && t->state <= THREAD_BLOCKED)
			at.of[t->state - THREAD_RUNNING] += pmc_sub_sat(ns, t->since_ns);
		return at;
	}
	if (i)
		from = t->past[i - 1];
	part = (double)pmc_sub_sat(ns, from.ns) / (double)(t->past[i].ns - from.ns);
	for (unsigned k = 0; k < 3; k++)
		at.of[k] = from.of[k] +
			   pmc_nearest_integer(part * (double)(t->past[i].of[k] - from.of[k]));
	return at;
}

void trace_wait_end(struct trace_summary *summary, struct trace_thread *thread, uint64_t now)
{
	const struct trace_thread *by =
		thread->waker ? thread->waker : &summary->no_thread[BY_UNKNOWN];
	struct trace_wait *wait = wait_of(summary, thread, by, thread->cause);
	const uint64_t ns = pmc_sub_sat(now, thread->since_ns);

	if (thread->waker && thread->waker_stack)
		unwind_wait_add(&summary->trace->unwind, &wait->places, thread->waker_stack, 0, 1,
				ns);
	thread->waker = NULL;
	wait->ns += ns;
	pmc_histogram_add(&summary->trace->arena, &wait->lengths, ns);
	if (summary->trace->by == TRACE_BY_WAKER && by->tid) {
		const struct trace_past begin = past_at(summary, by, thread->since_ns),
					end = past_at(summary, by, now);

		for (unsigned k = 0; k < 3; k++)
			wait->waker_ns[k] += pmc_sub_sat(end.of[k], begin.of[k]);
	}
}

void trace_waits_fold(struct trace_summary *summary, struct trace_thread *pool,
		      const struct trace_thread *thread)
{
	for (const struct trace_wait *p = thread->waits; p; p = p->next) {
		struct trace_wait *wait = wait_of(summary, pool, p->key.waker->pool, p->key.cause);

		wait->ns += p->ns;
		for (unsigned k = 0; k < 3; k++)
			wait->waker_ns[k] += p->waker_ns[k];
		pmc_histogram_merge(&summary->trace->arena, &wait->lengths, &p->lengths);
		for (const struct unwind_wait *at = p->places; at; at = at->next)
			unwind_wait_add(&summary->trace->unwind, &wait->places,
					trace_stack_text(summary->trace, p->key.waker, at->key.of),
					0, at->n, at->ns);
	}
}

/* ---- the matrix ----------------------------------------------------------------------------- */

static int most_time(const void *a, const void *b, const void *arg)
{
	const struct trace_thread *const *x = a, *const *y = b;

	(void)arg;
	return ((*x)->sum.ns < (*y)->sum.ns) - ((*x)->sum.ns > (*y)->sum.ns);
}

/* The place of number i of a list: those behind the first ones share one. */
static unsigned place_of(size_t i)
{
	return i < MATRIX_POOLS ? (unsigned)i : MATRIX_POOLS;
}

/* By sum.ns. */
static void sort(struct pmc_arena *arena, struct trace_thread **list, size_t n)
{
	void *scratch = pmc_arena_alloc(arena, n * sizeof(struct trace_thread *));

	pmc_sort(list, scratch, n, sizeof(struct trace_thread *), most_time, NULL);
}

/* Wakers of the pools, most time first, with their places in sum.n. */
static struct trace_thread **rank_wakers(struct pmc_arena *arena, struct trace_thread *const *pools,
					 size_t n_pools, size_t *n)
{
	struct trace_thread **list = NULL;
	size_t room = 0;

	*n = 0;
	for (size_t i = 0; i < n_pools; i++)
		for (const struct trace_wait *p = pools[i]->waits; p; p = p->next)
			memset(&p->key.waker->pool->sum, 0, sizeof(p->key.waker->sum));
	for (size_t i = 0; i < n_pools; i++)
		for (const struct trace_wait *p = pools[i]->waits; p; p = p->next) {
			struct trace_thread *waker = p->key.waker->pool;

			waker->sum.ns += p->ns;
			if (waker->sum.n++)
				continue;
			list = pmc_arena_grow(arena, list, *n, &room,
					      sizeof(struct trace_thread *));
			list[(*n)++] = waker;
		}
	sort(arena, list, *n);
	for (size_t i = 0; i < *n; i++)
		list[i]->sum.n = place_of(i);
	return list;
}

static struct matrix *make_matrix(struct trace *trace, struct trace_thread *const *list,
				  size_t n_pools)
{
	const struct trace_thread *others = &trace->summary->no_thread[BY_OTHERS];
	struct pmc_arena *arena = &trace->arena;
	struct matrix *matrix = pmc_arena_alloc(arena, sizeof(*matrix));
	struct trace_thread **pools, **wakers;
	size_t n;

	pools = pmc_arena_alloc(arena, n_pools * sizeof(struct trace_thread *));
	for (size_t i = 0; i < n_pools; i++) {
		pools[i] = list[i];
		pools[i]->sum.ns = pools[i]->blocked_ns;
	}
	sort(arena, pools, n_pools);
	wakers = rank_wakers(arena, list, n_pools, &n);
	for (size_t i = 0; i < n && i <= MATRIX_POOLS; i++, matrix->n_wakers++)
		matrix->wakers[i] = i < MATRIX_POOLS ? wakers[i] : others;
	for (size_t i = 0; i < n_pools; i++) {
		const unsigned place = place_of(i);

		matrix->n_pools = place + 1;
		matrix->pools[place] = i < MATRIX_POOLS ? pools[i] : others;
		matrix->blocked_ns[place] += pools[i]->blocked_ns;
		for (const struct trace_wait *p = pools[i]->waits; p; p = p->next) {
			struct cell *cell = &matrix->cells[place][p->key.waker->pool->sum.n];

			cell->ns += p->ns;
			cell->of[p->key.cause] += p->ns;
		}
	}
	return matrix;
}

/* A row for each pool, a column for each of their wakers, and the sum. */
static void put_matrix(struct trace *trace, const struct matrix *matrix)
{
	struct table_column columns[MATRIX + 2] = { { .name = "pool" } };
	struct table_cell cells[MATRIX][MATRIX + 2] = { 0 };
	struct table_cells rows = { &cells[0][0], MATRIX + 2, NULL };
	struct table table = { .columns = columns,
			       .n_columns = matrix->n_wakers + 2,
			       .n_rows = matrix->n_pools,
			       .arena = &trace->arena };

	for (unsigned c = 1; c < table.n_columns; c++) {
		const bool sum = c > matrix->n_wakers;

		columns[c] = (struct table_column){
			.name = sum ? "sum" : matrix->wakers[c - 1]->name,
			.unit = TABLE_NS,
			.together = true,
			.blank = true,
			.drop = sum ? TABLE_STAYS : TABLE_DROP_LAST,
			.index = c,
			.place = c,
		};
	}
	for (unsigned p = 0; p < matrix->n_pools; p++) {
		cells[p][0] = cell_text(matrix->pools[p]->name);
		for (unsigned w = 0; w < matrix->n_wakers; w++)
			cells[p][w + 1] =
				cell_number(matrix->cells[p][w].ns, matrix->cells[p][w].ns);
		cells[p][matrix->n_wakers + 1] = cell_number(true, matrix->blocked_ns[p]);
	}
	table_set_cells(&table, &rows);
	tool_rows_print(&trace->rows, &table);
	tool_rows_put_left_out(&trace->rows, &table);
}

/* ---- the page -------------------------------------------------------------------------------
 *
 * A box for each pool, with a line for each waker, and an arrow from the waker's box to that line.
 * The boxes are in one column, wakers above the pools that they wake where there is such an order.
 * Arrows downwards are on the right of them, others on the left: none crosses a text. */

/* In pixels. THICK: the widest arrow. */
enum {
	LANE = 75,
	BOX = 250,
	WIDTH = LANE + BOX + LANE,
	HEAD = 24,
	LINE = 19,
	GAP = 16,
	THICK = 12
};
enum { NONE = MATRIX, MOST_BOXES = 2 * MATRIX };

struct box {
	const struct trace_thread *thread;
	unsigned pool, waker; /* places in the matrix, or NONE */
	int y, height;	      /* height 0: it has no arrow, and is not drawn */
};

struct picture {
	const struct matrix *matrix;
	struct pmc_out *out;
	struct box boxes[MOST_BOXES], *end; /* from the top */
	uint64_t most_ns;		    /* of an arrow */
	int height;
};

/* Empty: `from` wakes none of them for more than a hundredth of the time. */
static const struct cell *arrow(const struct picture *picture, const struct box *from,
				const struct box *to)
{
	static const struct cell none;
	const struct matrix *matrix = picture->matrix;
	const struct cell *cell;

	if (from->waker == NONE || to->pool == NONE)
		return &none;
	cell = &matrix->cells[to->pool][from->waker];
	return cell->ns > matrix->blocked_ns[to->pool] / 100 ? cell : &none;
}

static void find_boxes(struct picture *picture)
{
	const struct matrix *matrix = picture->matrix;

	picture->end = picture->boxes;
	for (unsigned p = 0; p < matrix->n_pools; p++)
		*picture->end++ = (struct box){ matrix->pools[p], p, NONE, 0, 0 };
	for (unsigned w = 0; w < matrix->n_wakers; w++) {
		struct box *box = picture->boxes;

		while (box < picture->end && box->thread != matrix->wakers[w])
			box++;
		if (box == picture->end)
			*picture->end++ = (struct box){ matrix->wakers[w], NONE, NONE, 0, 0 };
		box->waker = w;
	}
}

/* What the box wakes, less what it waits for, among those from `first` on; most of all if it
 * waits for none of them. */
static double surplus(const struct picture *picture, const struct box *box, const struct box *first)
{
	double out = 0, in = 0;

	for (const struct box *p = first; p < picture->end; p++) {
		out += p != box ? (double)arrow(picture, box, p)->ns : 0;
		in += p != box ? (double)arrow(picture, p, box)->ns : 0;
	}
	return in > 0 ? out - in : 1e24 + out;
}

static void sort_boxes(struct picture *picture)
{
	for (struct box *at = picture->boxes; at < picture->end; at++) {
		struct box *best = at, swap;

		for (struct box *p = at; p < picture->end; p++)
			if (surplus(picture, p, at) > surplus(picture, best, at))
				best = p;
		swap = *best;
		memmove(at + 1, at, (size_t)((char *)best - (char *)at));
		*at = swap;
	}
}

static void place_boxes(struct picture *picture)
{
	picture->height = GAP / 2;
	for (struct box *to = picture->boxes; to < picture->end; to++) {
		bool alone = true;
		int lines = 0;

		for (const struct box *from = picture->boxes; from < picture->end; from++) {
			const struct cell *cell = arrow(picture, from, to);

			alone &= !cell->ns && !arrow(picture, to, from)->ns;
			lines += cell->ns != 0;
			if (cell->ns > picture->most_ns)
				picture->most_ns = cell->ns;
		}
		to->y = picture->height;
		to->height = alone ? 0 : HEAD + LINE * lines;
		picture->height += alone ? 0 : to->height + GAP;
	}
}

static enum live_cause main_cause(const struct cell *cell)
{
	unsigned most = 0;

	for (unsigned c = 1; c < N_CAUSES; c++)
		most = cell->of[c] > cell->of[most] ? c : most;
	return (enum live_cause)most;
}

/* A name on the left of a box, and on the right a time, with the main cause: "620 ms pipe 93 %". */
static void put_line(const struct picture *picture, const struct trace_thread *thread, int y,
		     uint64_t ns, const struct cell *cell)
{
	struct pmc_out *out = picture->out;

	pmc_outf(out, "<text x='%d' y='%d'>", LANE + 8, y);
	tool_page_text(out, thread->name, 16);
	pmc_outf(out, "</text><text text-anchor='end' x='%d' y='%d'>", LANE + BOX - 8, y);
	if (ns)
		pmc_show_time(out, (double)ns, "µs");
	if (cell)
		pmc_outf(out, " %s", live_cause_name(main_cause(cell)));
	if (cell && trace_percent(cell->of[main_cause(cell)], ns) < 100)
		pmc_outf(out, " %u %%", trace_percent(cell->of[main_cause(cell)], ns));
	pmc_out_str(out, "</text>\n");
}

/* Its color is that of the main cause; all causes are shown under the pointer. */
static void put_arrow(const struct picture *picture, const struct box *from, const struct box *to,
		      int y2)
{
	const struct cell *cell = arrow(picture, from, to);
	const bool down = from <= to;
	const int way = down ? 1 : -1, edge = down ? LANE + BOX : LANE, y1 = from->y + HEAD / 2;
	const int far = edge + way * (24 + 70 * abs(y2 - y1) / picture->height);
	const int width = 1 + (int)((THICK - 1) * (double)cell->ns / (double)picture->most_ns);
	const int half = width / 2 + 3;
	struct pmc_out *out = picture->out;

	pmc_outf(out, "<g color='hsl(%u 55%% 50%%)'><title>",
		 (210 + 360 / N_CAUSES * main_cause(cell)) % 360);
	tool_page_text(out, from->thread->name, 0);
	pmc_out_str(out, " → ");
	tool_page_text(out, to->thread->name, 0);
	for (unsigned c = 0; c < N_CAUSES; c++) {
		if (!cell->of[c])
			continue;
		pmc_outf(out, "\n%s ", live_cause_name((enum live_cause)c));
		pmc_show_time(out, (double)cell->of[c], "µs");
	}
	pmc_outf(out,
		 "</title><path stroke='currentColor' stroke-width='%d' d='M%d %dC%d %d %d %d %d "
		 "%d'/><path fill='currentColor' d='M%d %dl%d %dv%dz'/></g>\n",
		 width, edge, y1, far, y1, far, y2, edge + way * 8, y2, edge, y2, way * 9, -half,
		 2 * half);
}

/* Dashed: no pool. */
static void put_box(const struct picture *picture, const struct box *to)
{
	const struct matrix *matrix = picture->matrix;
	int y = to->y + HEAD;

	pmc_outf(picture->out,
		 "<rect x='%d' y='%d' width='%d' height='%d' rx='4'%s/>\n<g font-weight='600'>",
		 LANE, to->y, BOX, to->height, !to->thread->threads ? " class='none'" : "");
	put_line(picture, to->thread, to->y + 17,
		 to->pool == NONE ? 0 : matrix->blocked_ns[to->pool], NULL);
	pmc_out_str(picture->out, "</g>");
	for (const struct box *from = picture->boxes; from < picture->end; from++) {
		const struct cell *cell = arrow(picture, from, to);

		if (!cell->ns)
			continue;
		put_line(picture, from->thread, y + 13, cell->ns, cell);
		put_arrow(picture, from, to, y + 9);
		y += LINE;
	}
}

static void begin_page(struct trace *trace, const struct matrix *matrix)
{
	struct picture picture = { .matrix = matrix, .out = &trace->rows.out };
	struct pmc_out *out = picture.out;
	const unsigned long long lost = trace_lost(trace);

	/* The page is UTF-8, whatever the locale is. */
	trace->rows.screen.ascii = false;
	find_boxes(&picture);
	sort_boxes(&picture);
	place_boxes(&picture);
	tool_page_begin(out, "Who waits for whom",
			"svg { width: 100%; max-width: 30rem; }\n"
			"rect { fill: var(--panel); stroke: var(--line); }\n"
			"rect.none { stroke-dasharray: 4; fill: none; }\n");
	pmc_out_str(out, "<p>");
	for (char **word = trace->rings.command; word && *word; word++) {
		tool_page_text(out, *word, 0);
		pmc_out_str(out, word[1] ? " " : ": ");
	}
	for (unsigned i = 0; i < trace->target.n; i++)
		pmc_outf(out, "%s%d%s", i ? ", " : "process ", trace->target.list[i],
			 i + 1 < trace->target.n ? "" : ": ");
	if (!trace->target.n && !trace->rings.command)
		pmc_out_str(out, "all CPUs: ");
	pmc_show_time(out, (double)(trace->rings.stopped_ns - trace->summary->start_ns), "µs");
	if (lost)
		pmc_outf(out, "; %llu records were lost, so times may be wrong", lost);
	pmc_outf(out, "</p>\n<p>%s</p>\n<svg viewBox='0 0 %d %d' fill='none'>\n",
		 picture.most_ns ?
			 "Each box is a pool of threads, with the time that it was blocked, and "
			 "has a line for each pool that ended its waits, with their main cause. "
			 "Arrows are as wide as these times; those below 1 % of the time of the "
			 "pool are in the tables only." :
			 "No thread was blocked.",
		 WIDTH, picture.height);
	for (const struct box *box = picture.boxes; box < picture.end; box++)
		if (box->height)
			put_box(&picture, box);
	pmc_out_str(out, "</svg>\n");
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Where the waker ended most of the time. */
static struct table_cell place_of_most(const struct trace_wait *wait)
{
	const struct unwind_wait *most = wait->places;

	for (const struct unwind_wait *at = most; at; at = at->next)
		most = at->ns > most->ns ? at : most;
	return most ? cell_text(most->key.of) : cell_null();
}

#define PERCENTILE(title, shown, at)                                                               \
	TABLE_COLUMN(title, at, .head = shown, .unit = TABLE_TIME, .drop = TABLE_DROP_SPREAD)
#define OF_WAKER(title, shown, at)                                                                 \
	TRACE_TIME(title, shown, at, .drop = TABLE_DROP_USAGE, .together = true)
static const struct table_column columns[] = {
	TABLE_COLUMN("pool", 0),
	TABLE_COLUMN("waker", 1),
	TABLE_COLUMN("cause", 2),
	TABLE_COLUMN("waits", 3, .unit = TABLE_WHOLE),
	TRACE_TIME("blocked_ns", "blocked", 4, .together = true),
	PERCENTILE("blocked_p50_ns", "p50", 5),
	PERCENTILE("blocked_p99_ns", "p99", 6),
	PERCENTILE("longest_blocked_ns", "longest", 7),
	OF_WAKER("waker_oncpu_ns", "waker on CPU", 8),
	OF_WAKER("waker_run_delay_ns", "delay", 9),
	OF_WAKER("waker_blocked_ns", "blocked", 10),
	TABLE_COLUMN("waker_in", 11, .head = "ended in", .drop = TABLE_DROP_LAST),
};
enum { N_ALL = sizeof(columns) / sizeof(columns[0]) };

static void fill_row(struct table_cell to[N_ALL], const struct trace_thread *pool,
		     const struct trace_wait *wait)
{
	const struct trace_thread *waker = wait->key.waker;
	/* Interrupts are no thread, of which there would be times. */
	const bool thread = waker->threads;
	const struct table_cell cells[N_ALL] = {
		cell_text(pool->name),
		cell_text(waker->name),
		cell_text(live_cause_name((enum live_cause)wait->key.cause)),
		cell_number(true, wait->lengths.n),
		trace_time(pool, wait->ns),
		trace_percentile(&wait->lengths, 50),
		trace_percentile(&wait->lengths, 99),
		trace_percentile(&wait->lengths, 100),
		cell_number(thread, wait->waker_ns[0]),
		cell_number(thread, wait->waker_ns[1]),
		cell_number(thread, wait->waker_ns[2]),
		place_of_most(wait),
	};

	memcpy(to, cells, sizeof(cells));
}

const struct table_column *trace_waker_columns(const struct trace *trace, unsigned *n)
{
	/* Without --stacks the last column is not there. */
	*n = N_ALL - !trace->stacks;
	return columns;
}

int trace_waker_rows(struct trace *trace, struct trace_thread *const *pools, size_t n)
{
	struct table_cells rows = { .n = N_ALL };
	struct table table = { .arena = &trace->arena };
	const bool html = trace->rows.format == TRACE_HTML;
	struct pmc_out *out = &trace->rows.out;
	struct matrix *matrix;
	uint64_t unseen = 0;
	size_t room = 0;
	int code;

	table.columns = trace_waker_columns(trace, &table.n_columns);
	for (size_t i = 0; i < n; i++)
		for (const struct trace_wait *p = pools[i]->waits; p; p = p->next) {
			rows.cells = pmc_arena_grow(&trace->arena, rows.cells, table.n_rows, &room,
						    N_ALL * sizeof(*rows.cells));
			fill_row(rows.cells + table.n_rows++ * N_ALL, pools[i], p);
		}
	table_set_cells(&table, &rows);
	if (!trace->rows.choice.sort)
		trace->rows.choice.sort = "blocked_ns";
	code = tool_rows_choose(&trace->rows, &table, 0);
	if (code)
		return code;
	if (!tool_rows_is_table(&trace->rows)) {
		table_print(&table, trace->rows.format == TRACE_JSON ? TABLE_JSONL : TABLE_CSV,
			    &trace->rows.out);
		return 0;
	}
	if (!table.n_rows && !html) {
		pmc_out_str(&trace->rows.out, "no thread was blocked\n");
		return 0;
	}
	matrix = make_matrix(trace, pools, n);
	if (html)
		begin_page(trace, matrix);
	pmc_out_str(out, html ? "<h2>Time blocked, by the pool that ended the waits</h2>\n" :
				"time blocked, by the pool that ended the waits:\n\n");
	put_matrix(trace, matrix);
	pmc_out_str(out, html ? "<h2>The same by cause, and times of the waker meanwhile</h2>\n" :
				"\nthe same by cause, and times of the waker meanwhile:\n\n");
	tool_rows_print(&trace->rows, &table);
	for (size_t i = 0; i < n; i++)
		unseen += pools[i]->unseen;
	pmc_out_str(out, html ? "<p id='notes'>" : "");
	trace_put_notes(trace, &table, unseen);
	if (html)
		tool_page_end(out);
	return 0;
}
