/* SPDX-License-Identifier: MIT */
/*
 * summary_page.c - --by pool,waker as a page: a box for each pool, with a line for each waker, and
 * an arrow from the waker's box to that line.
 *
 * The boxes are in one column, wakers above the pools that they wake where there is such an order.
 * Arrows downwards are on the right of them, others on the left: none crosses a text.
 */
#include "tools/cli/page.h"
#include "tools/trace/trace.h"

#include <stdlib.h>
#include <string.h>

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
enum { NONE = TRACE_MATRIX, MOST_BOXES = 2 * TRACE_MATRIX };

struct box {
	const struct trace_thread *thread;
	unsigned pool, waker; /* places in the matrix, or NONE */
	int y, height;	      /* height 0: it has no arrow, and is not drawn */
};

struct picture {
	const struct trace_matrix *matrix;
	struct pmc_out *out;
	struct box boxes[MOST_BOXES], *end; /* from the top */
	uint64_t most_ns;		    /* of an arrow */
	int height;
};

/* ---- boxes -------------------------------------------------------------------------------- */

/* NULL: `from` wakes none of them for more than a hundredth of the time. */
static const struct trace_cell *arrow(const struct picture *picture, const struct box *from,
				      const struct box *to)
{
	const struct trace_matrix *matrix = picture->matrix;
	const struct trace_cell *cell;

	if (from->waker == NONE || to->pool == NONE)
		return NULL;
	cell = &matrix->cells[to->pool][from->waker];
	return cell->ns > matrix->blocked_ns[to->pool] / 100 ? cell : NULL;
}

static void find_boxes(struct picture *picture)
{
	const struct trace_matrix *matrix = picture->matrix;

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
		if (p != box && arrow(picture, box, p))
			out += (double)arrow(picture, box, p)->ns;
		if (p != box && arrow(picture, p, box))
			in += (double)arrow(picture, p, box)->ns;
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
			const struct trace_cell *cell = arrow(picture, from, to);

			alone &= !cell && !arrow(picture, to, from);
			lines += cell != NULL;
			if (cell && cell->ns > picture->most_ns)
				picture->most_ns = cell->ns;
		}
		to->y = picture->height;
		to->height = alone ? 0 : HEAD + LINE * lines;
		picture->height += alone ? 0 : to->height + GAP;
	}
}

/* ---- SVG ---------------------------------------------------------------------------------- */

static enum live_cause main_cause(const struct trace_cell *cell)
{
	unsigned most = 0;

	for (unsigned c = 1; c < N_CAUSES; c++)
		most = cell->of[c] > cell->of[most] ? c : most;
	return (enum live_cause)most;
}

/* A name on the left of a box, and on the right a time, with the main cause: "620 ms pipe 93 %". */
static void put_line(const struct picture *picture, const struct trace_thread *thread, int y,
		     uint64_t ns, const struct trace_cell *cell)
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
	const struct trace_cell *cell = arrow(picture, from, to);
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
	const struct trace_matrix *matrix = picture->matrix;
	int y = to->y + HEAD;

	pmc_outf(picture->out,
		 "<rect x='%d' y='%d' width='%d' height='%d' rx='4'%s/>\n<g font-weight='600'>",
		 LANE, to->y, BOX, to->height, !to->thread->threads ? " class='none'" : "");
	put_line(picture, to->thread, to->y + 17,
		 to->pool == NONE ? 0 : matrix->blocked_ns[to->pool], NULL);
	pmc_out_str(picture->out, "</g>");
	for (const struct box *from = picture->boxes; from < picture->end; from++) {
		const struct trace_cell *cell = arrow(picture, from, to);

		if (!cell)
			continue;
		put_line(picture, from->thread, y + 13, cell->ns, cell);
		put_arrow(picture, from, to, y + 9);
		y += LINE;
	}
}

void trace_page_begin(struct trace *trace, const struct trace_matrix *matrix)
{
	struct picture picture = { .matrix = matrix, .out = &trace->rows.out };
	struct pmc_out *out = picture.out;
	unsigned long long lost = 0;

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
	if (trace->pid)
		pmc_outf(out, "process %d: ", (int)trace->pid);
	else if (!trace->rings.command)
		pmc_out_str(out, "all CPUs: ");
	pmc_show_time(out, (double)(trace->rings.stopped_ns - trace->summary->start_ns), "µs");
	for (unsigned i = 0; i < trace->rings.n; i++)
		lost += trace->rings.list[i].lost;
	if (lost)
		pmc_outf(out, "; %llu records were lost, so times may be wrong", lost);
	pmc_outf(out, "</p>\n<p>%s</p>\n<svg viewBox='0 0 %d %d' fill='none'>\n",
		 picture.most_ns ? "Each box is a pool of threads, with the time that it was "
				   "blocked, and has a "
				   "line for each pool that ended its waits, with their main "
				   "cause. Arrows are "
				   "as wide as these times; those below 1 % of the time of the "
				   "pool are in the "
				   "tables only." :
				   "No thread was blocked.",
		 WIDTH, picture.height);
	for (const struct box *box = picture.boxes; box < picture.end; box++)
		if (box->height)
			put_box(&picture, box);
	pmc_out_str(out, "</svg>\n");
}
