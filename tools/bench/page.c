/* SPDX-License-Identifier: MIT */
/*
 * page.c - the results as a page: a table, and a plot of each measurement over the values of the
 * first parameter, or over the commands where there is none.
 *
 * The plots are SVG, and the page needs no scripts. Command lines are in it: text is escaped.
 */
#include "tools/bench/bench.h"
#include "tools/cli/page.h"

#include <math.h>

enum { LEFT = 80, TOP = 30, WIDTH = 620, HEIGHT = 240, LINE = 18 };

struct plot {
	const struct bench *bench;
	struct pmc_out *out;
	unsigned n;	  /* places on the x axis */
	unsigned *places; /* of each command; n: it does not have the parameter */
	unsigned *series; /* of each command: one for those that differ in the place alone */
	unsigned n_series;
	/* of one measurement */
	struct bench_row *rows; /* of each command */
	double most;
	struct pmc_scale scale;
};

static void put_text(const struct plot *plot, const char *text)
{
	tool_page_text(plot->out, text ? text : "-", 90);
}

static void put_mean(const struct plot *plot, const struct bench_summary *summary)
{
	pmc_show_scaled(plot->out, &plot->scale, summary->n ? summary->mean : NAN);
	pmc_out_str(plot->out, summary->n > 1 ? " ± " : "");
	if (summary->n > 1)
		pmc_show_scaled(plot->out, &plot->scale, bench_mean_ci(summary));
}

/* Chooses the measurement: "wall_time ms". */
static void choose(struct plot *plot, unsigned m)
{
	const struct bench_measure *measure = &plot->bench->measures[m];

	plot->most = 0;
	for (unsigned c = 0; c < plot->bench->n_commands; c++) {
		const struct bench_summary *summary = &plot->rows[c].summary;

		bench_row_of(plot->bench, &plot->bench->commands[c], NULL, NULL, m, &plot->rows[c]);
		plot->most = fmax(plot->most, summary->mean + bench_mean_ci(summary));
	}
	if (!(plot->most > 0))
		plot->most = 1;
	if (measure->unit == BENCH_NS)
		pmc_scale_time(&plot->scale, plot->most, "µs");
	else
		pmc_scale_count(&plot->scale, plot->most, true);
	put_text(plot, measure->name);
	pmc_outf(plot->out, " %s%s", plot->scale.unit, measure->unit == BENCH_BYTES ? "B" : "");
}

static int x_of(const struct plot *plot, unsigned place)
{
	return LEFT + (int)(WIDTH * (2 * place + 1) / (2 * plot->n));
}

static int y_of(const struct plot *plot, double value)
{
	return TOP + HEIGHT - (int)lround(HEIGHT * fmax(value, 0) / plot->most);
}

static void begin_text(const struct plot *plot, const char *anchor, int x, int y)
{
	pmc_outf(plot->out, "<text text-anchor='%s' x='%d' y='%d'>", anchor, x, y);
}

/* The distance of lines: 1, 2 or 5 times a power of 10. */
static double step_of(double most, int *decimals)
{
	double power = 1, step;

	while (power * 10 <= most)
		power *= 10;
	while (power > most && power > 1e-12)
		power /= 10;
	step = power * (most < 2 * power ? 0.5 : most < 5 * power ? 1 : 2);
	*decimals = 0;
	for (double left = step; left < 0.999 && *decimals < 12; left *= 10)
		++*decimals;
	return step;
}

static void draw_axes(const struct plot *plot)
{
	const struct bench_parameter *over = plot->bench->parameters;
	const bool scan = plot->bench->n_parameters;
	const double most = plot->most / plot->scale.divisor;
	struct pmc_scale scale = plot->scale;
	const double step = step_of(most, &scale.decimals);

	for (double at = 0; at <= most; at += step) {
		const int y = y_of(plot, at * scale.divisor);

		begin_text(plot, "end", LEFT - 6, y + 4);
		pmc_show_scaled(plot->out, &scale, at * scale.divisor);
		pmc_outf(plot->out, "</text><path opacity='.2' d='M%d %dh%d'/>\n", LEFT, y, WIDTH);
	}
	/* At most twenty labels. */
	for (unsigned i = 0; i < plot->n; i += 1 + plot->n / 20) {
		begin_text(plot, "middle", x_of(plot, i), TOP + HEIGHT + LINE);
		put_text(plot, scan ? over->values[i] : plot->bench->commands[i].text);
		pmc_out_str(plot->out, "</text>\n");
	}
	begin_text(plot, "middle", LEFT + WIDTH / 2, TOP + HEIGHT + 2 * LINE);
	pmc_outf(plot->out, "%s</text>\n", scan ? over->name : "");
}

/* A point with its interval, and a line from the point before; of a command without the parameter a
 * line across. */
static void draw_point(const struct plot *plot, unsigned c, const unsigned *before)
{
	const struct bench_summary *summary = &plot->rows[c].summary;
	const double ci = bench_mean_ci(summary);
	const int x = x_of(plot, plot->places[c]), y = y_of(plot, summary->mean);

	pmc_out_str(plot->out, "<g><title>");
	put_text(plot, plot->bench->commands[c].text);
	pmc_out_str(plot->out, ": ");
	put_mean(plot, summary);
	pmc_outf(plot->out, " %s</title>", plot->scale.unit);
	if (plot->places[c] == plot->n)
		pmc_outf(plot->out, "<path stroke-dasharray='6' d='M%d %dh%d'/>", LEFT, y, WIDTH);
	else
		pmc_outf(plot->out, "<circle r='3' cx='%d' cy='%d'/><path d='M%d %dV%d'/>", x, y, x,
			 y_of(plot, summary->mean - ci), y_of(plot, summary->mean + ci));
	if (before)
		pmc_outf(plot->out, "<path d='M%d %dL%d %d'/>", x_of(plot, plot->places[*before]),
			 y_of(plot, plot->rows[*before].summary.mean), x, y);
	pmc_out_str(plot->out, "</g>\n");
}

static void draw_series(const struct plot *plot, unsigned s)
{
	static const char *const colors[] = { "#0a6", "#37f", "#e60", "#c3c", "#999", "#b22" };
	const struct bench *bench = plot->bench;
	const struct bench_command *any = NULL;
	unsigned last = 0;

	pmc_outf(plot->out, "<g color='%s' stroke='currentColor'>\n", colors[s % 6]);
	for (unsigned c = 0; c < bench->n_commands; c++) {
		if (plot->series[c] != s || !plot->rows[c].summary.n)
			continue;
		draw_point(plot, c, any && bench->n_parameters ? &last : NULL);
		any = &bench->commands[c];
		last = c;
	}
	begin_text(plot, "start", LEFT, TOP + HEIGHT + LINE * (4 + (int)s));
	if (any && bench->n_parameters)
		put_text(plot, any->form);
	for (unsigned p = 1; p < bench->n_parameters && any; p++) {
		pmc_outf(plot->out, " %s=", bench->parameters[p].name);
		put_text(plot, any->values[p]);
	}
	pmc_out_str(plot->out, "</text></g>\n");
}

static bool same_series(const struct bench *bench, const struct bench_command *a,
			const struct bench_command *b)
{
	bool same = a->form == b->form || !bench->n_parameters;

	for (unsigned p = 1; p < bench->n_parameters; p++)
		same &= a->values[p] == b->values[p];
	return same;
}

static void place(struct plot *plot)
{
	const struct bench *bench = plot->bench;

	plot->n = bench->n_parameters ? bench->parameters->n : bench->n_commands;
	for (unsigned c = 0; c < bench->n_commands; c++) {
		const struct bench_command *command = &bench->commands[c];
		unsigned first = 0, at = 0;

		while (!same_series(bench, &bench->commands[first], command))
			first++;
		plot->series[c] = first == c ? plot->n_series++ : plot->series[first];
		while (bench->n_parameters && at < plot->n &&
		       bench->parameters->values[at] != command->values[0])
			at++;
		plot->places[c] = bench->n_parameters ? at : c;
	}
}

void bench_write_page(struct bench *bench, struct pmc_out *out)
{
	const size_t n = bench->n_commands;
	struct plot plot = { .bench = bench, .out = out };

	plot.places = pmc_arena_alloc(&bench->arena, n * sizeof(*plot.places));
	plot.series = pmc_arena_alloc(&bench->arena, n * sizeof(*plot.series));
	plot.rows = pmc_arena_alloc(&bench->arena, n * sizeof(*plot.rows));
	place(&plot);
	tool_page_begin(out, "pmctl bench",
			"svg { max-width: 45rem; }\n"
			"circle { fill: currentColor; }\n"
			"th { max-width: 12rem; white-space: normal; overflow-wrap: anywhere; }\n");
	bench_put_table(bench, out);
	pmc_out_str(out, "<p>Plots: means and their 95 % intervals</p>\n");
	for (unsigned m = 0; m < bench->n_measures; m++) {
		pmc_outf(out, "<h2>");
		choose(&plot, m);
		pmc_outf(out,
			 "</h2>\n<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' "
			 "fill='none' stroke='currentColor'>\n",
			 LEFT + WIDTH + 20, TOP + HEIGHT + LINE * (4 + (int)plot.n_series));
		draw_axes(&plot);
		for (unsigned s = 0; s < plot.n_series; s++)
			draw_series(&plot, s);
		pmc_out_str(out, "</svg>\n");
	}
	tool_page_end(out);
}
