/* SPDX-License-Identifier: MIT */
/*
 * page.c - the results as a page: a table, and a plot of each measurement over the values of the
 * first parameter, or over the commands where there is none. A legend names the commands.
 *
 * The plots are SVG, and the page needs no scripts. Command lines are in it: text is escaped.
 */
#include "tools/bench/bench.h"
#include "tools/cli/page.h"

#include <math.h>

enum { LEFT = 80, TOP = 30, WIDTH = 620, HEIGHT = 240, LINE = 18, LINES = 4, LABELS = 20 };

struct plot {
	struct bench *bench;
	struct pmc_out *out;
	const struct bench_parameter *over; /* NULL: the commands */
	unsigned n;			    /* places on the x axis */
	unsigned n_series;		    /* of commands that differ in the place alone */
	struct point {
		unsigned place; /* n: the command does not have the parameter */
		unsigned series;
		double mean, ci; /* mean NAN: not measured */
	} * points;		 /* of each command */
	double most;
};

static void put_text(const struct plot *plot, const char *anchor, int x, int y, const char *text)
{
	pmc_outf(plot->out, "<text text-anchor='%s' x='%d' y='%d'>", anchor, x, y);
	tool_page_text(plot->out, text, 90);
	pmc_out_str(plot->out, "</text>\n");
}

static int x_of(const struct plot *plot, unsigned place)
{
	return LEFT + (int)(WIDTH * (2 * place + 1) / (2 * plot->n));
}

static int y_of(const struct plot *plot, double value)
{
	return TOP + HEIGHT - (int)lround(HEIGHT * fmax(value, 0) / plot->most);
}

static void draw_axes(const struct plot *plot, const struct pmc_scale *scale)
{
	for (unsigned i = 0; i <= LINES; i++) {
		const double value = plot->most * i / LINES;
		struct pmc_out text = PMC_OUT_MEM(64);

		pmc_show_scaled(&text, scale, value);
		put_text(plot, "end", LEFT - 6, y_of(plot, value) + 4, text.buf);
		pmc_outf(plot->out, "<path opacity='.2' d='M%d %dh%d'/>\n", LEFT, y_of(plot, value),
			 WIDTH);
	}
	if (!plot->over)
		return;
	for (unsigned i = 0; i < plot->n; i += 1 + plot->n / LABELS)
		put_text(plot, "middle", x_of(plot, i), TOP + HEIGHT + LINE, plot->over->values[i]);
	put_text(plot, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 2 * LINE, plot->over->name);
}

/* Points with their intervals, and lines between them; of a command without the parameter a line
 * across. */
static void draw_series(const struct plot *plot, unsigned s)
{
	static const char *const colors[] = { "#0a6", "#37f", "#e60", "#c3c", "#999", "#b22" };
	struct pmc_out *out = plot->out;
	int from_x = 0, from_y = 0; /* of the point before */

	pmc_outf(out, "<g color='%s' stroke='currentColor'>\n", colors[s % 6]);
	for (unsigned c = 0; c < plot->bench->n_commands; c++) {
		const struct point *point = &plot->points[c];
		const int x = x_of(plot, point->place), y = y_of(plot, point->mean);

		if (point->series != s || isnan(point->mean))
			continue;
		if (point->place == plot->n)
			pmc_outf(out, "<path stroke-dasharray='6' d='M%d %dh%d'/>\n", LEFT, y,
				 WIDTH);
		else
			pmc_outf(out, "<circle r='3' cx='%d' cy='%d'/><path d='M%d %dV%d'/>\n", x,
				 y, x, y_of(plot, point->mean - point->ci),
				 y_of(plot, point->mean + point->ci));
		if (from_x)
			pmc_outf(out, "<path d='M%d %dL%d %d'/>\n", from_x, from_y, x, y);
		else
			put_text(plot, "start", LEFT, TOP + HEIGHT + LINE * (4 + (int)s),
				 plot->bench->commands[c].form);
		from_x = x;
		from_y = y;
	}
	pmc_out_str(out, "</g>\n");
}

/* 1, 2, 2.5 or 5 times a power of ten: lines of an axis at numbers that are easy to read. */
static double round_up(double value)
{
	static const double steps[] = { 1, 2, 2.5, 5 };
	double ten = 1;

	while (ten * 10 <= value)
		ten *= 10;
	while (ten > value)
		ten /= 10;
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (value <= steps[i] * ten)
			return steps[i] * ten;
	return 10 * ten;
}

static void draw(struct plot *plot, unsigned m)
{
	const struct bench_measure *measure = &plot->bench->measures[m];
	struct pmc_scale scale;

	plot->most = 0;
	for (unsigned c = 0; c < plot->bench->n_commands; c++) {
		struct point *point = &plot->points[c];
		struct bench_row row;

		bench_row_of(plot->bench, &plot->bench->commands[c], NULL, NULL, m, &row);
		point->mean = row.summary.n ? row.summary.mean : NAN;
		point->ci = bench_mean_ci(&row.summary);
		plot->most = fmax(plot->most, point->mean + point->ci);
	}
	plot->most = plot->most > 0 ? LINES * round_up(plot->most / LINES) : 1;
	bench_scale_of(plot->bench, m, plot->most, &scale);
	pmc_out_str(plot->out, "<h2>");
	tool_page_text(plot->out, measure->name, 90);
	pmc_outf(plot->out,
		 " %s%s</h2>\n<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' "
		 "fill='none' stroke='currentColor'>\n",
		 scale.unit, measure->unit == BENCH_BYTES ? "B" : "", LEFT + WIDTH + 20,
		 TOP + HEIGHT + LINE * (4 + (int)plot->n_series));
	draw_axes(plot, &scale);
	for (unsigned s = 0; s < plot->n_series; s++)
		draw_series(plot, s);
	pmc_out_str(plot->out, "</svg>\n");
}

static void place(struct plot *plot)
{
	const struct bench_command *commands = plot->bench->commands;

	plot->n = plot->over ? plot->over->n : plot->bench->n_commands;
	for (unsigned c = 0; c < plot->bench->n_commands; c++) {
		struct point *point = &plot->points[c];
		unsigned same = 0;

		while (strcmp(commands[same].form, commands[c].form))
			same++;
		point->series = same == c ? plot->n_series++ : plot->points[same].series;
		point->place = plot->over ? 0 : c;
		while (plot->over && point->place < plot->n &&
		       plot->over->values[point->place] != commands[c].values[0])
			point->place++;
	}
}

void bench_write_page(struct bench *bench, struct pmc_out *out)
{
	struct plot plot = { .bench = bench, .out = out };

	plot.over = bench->n_parameters ? bench->parameters : NULL;
	plot.points = pmc_arena_alloc(&bench->arena, bench->n_commands * sizeof(*plot.points));
	place(&plot);
	tool_page_begin(
		out, "pmctl bench",
		"svg { max-width: 45rem; }\n"
		"circle { fill: currentColor; }\n"
		"th { max-width: 12rem; white-space: normal; overflow-wrap: break-word; }\n");
	bench_put_table(bench, out);
	pmc_out_str(out, "<p>Plots: means and their 95 % intervals</p>\n");
	for (unsigned m = 0; m < bench->n_measures; m++)
		draw(&plot, m);
	tool_page_end(out);
}
