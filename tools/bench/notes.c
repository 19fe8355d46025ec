/* SPDX-License-Identifier: MIT */
/* notes.c - the lines under tables: which command is faster, and what was not counted. */
#include "lib/base/show.h"
#include "lib/base/utf8.h"
#include "tools/bench/bench.h"

#include <limits.h>
#include <string.h>

/* A line, whose end is where the screen ends. */
struct note {
	const struct bench *bench;
	struct pmc_out *out, line;
	char text[8192];
	unsigned n; /* lines before it */
};

static struct pmc_out *begin(struct note *note)
{
	pmc_out_to_mem(&note->line, note->text, sizeof(note->text));
	return &note->line;
}

static void end(struct note *note)
{
	if (!note->n++)
		pmc_out_char(note->out, '\n');
	pmc_show_wrapped(note->out, note->text,
			 note->bench->format == BENCH_MARKDOWN ?
				 INT_MAX :
				 pmc_screen_width(&note->bench->screen));
}

/* Names of events come from sysfs and tracefs too. */
static void put_name(struct note *note, const char *name, int columns)
{
	pmc_utf8_fit(&note->line, name, strlen(name), columns, PMC_CUT_END,
		     note->bench->screen.ascii);
}

/* In quotes if a sentence could not show where it ends. */
static void put_command(struct note *note, const struct bench_command *command)
{
	const char *quote = strpbrk(command->text, " ;") ? "'" : "";

	pmc_out_str(&note->line, quote);
	put_name(note, command->text, 60);
	pmc_out_str(&note->line, quote);
}

/* ---- what was not counted ------------------------------------------------------------------- */

/* One line for each reason. */
static void write_missing(struct note *note)
{
	const struct bench *bench = note->bench;
	const struct pmc_plan *plan = &bench->plan;
	bool noted[PMC_EVENTS_MAX] = { false };
	char why[320], other[320];

	for (unsigned i = 0; i < plan->count; i++) {
		if (noted[i] || plan->events[i].state == PMC_COUNTED)
			continue;
		bench_why(bench, &plan->events[i], why, sizeof(why));
		begin(note);
		for (unsigned k = i; k < plan->count; k++) {
			if (plan->events[k].state == PMC_COUNTED)
				continue;
			bench_why(bench, &plan->events[k], other, sizeof(other));
			if (strcmp(why, other))
				continue;
			noted[k] = true;
			pmc_out_str(&note->line, k == i ? "Not counted: " : ", ");
			put_name(note, plan->events[k].event.name, 0);
		}
		pmc_outf(&note->line, ": %s.", why);
		end(note);
	}
}

static void write_scopes(struct note *note)
{
	const struct bench *bench = note->bench;
	struct pmc_out *line = begin(note);
	bool scaled = false;

	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		const struct pmc_planned *event = bench->measures[m].event;

		for (unsigned c = 0; c < bench->n_commands; c++)
			scaled |= bench->commands[c].scaled[event - bench->plan.events];
		if (event->scope != PMC_SCOPE_USER)
			continue;
		pmc_out_str(line, line->len ? ", " : "Counted in user mode only: ");
		put_name(note, bench->measures[m].name, 0);
	}
	if (line->len) {
		pmc_out_char(line, '.');
		end(note);
	}
	if (bench_remark && bench->n_measures > BENCH_EVENTS) {
		pmc_out_str(begin(note), bench_remark);
		end(note);
	}
	if (scaled) {
		pmc_out_str(begin(note), "Marked ~: multiplexed, and scaled to the whole time.");
		end(note);
	}
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Why a delta is not that of the means beside it. */
static void write_delta(struct note *note)
{
	const struct bench *bench = note->bench;
	bool trimmed = false;

	for (unsigned c = 0; c < bench->n_commands; c++)
		for (unsigned m = 0; m < bench->n_measures; m++) {
			const struct bench_command *command = &bench->commands[c];
			struct bench_row row;

			bench_row_of(bench, command, bench_reference(bench, command), NULL, m,
				     &row);
			trimmed |= row.delta.known && row.delta.trimmed;
		}
	if (!trimmed)
		return;
	pmc_outf(begin(note),
		 "From %d runs on, delta is %s, in percent of the reference's trimmed mean; mean "
		 "is of all runs.",
		 BENCH_TRIMMED,
		 bench->sequential || bench->baseline ?
			 "the difference between trimmed means" :
			 "the trimmed mean of the differences of paired runs");
	end(note);
}

/* A time and its interval: the one that decides whether the difference is significant; a ratio has
 * another. */
static void put_difference(struct note *note, const struct bench_delta *delta)
{
	const bool ascii = note->bench->screen.ascii;
	const double ns = delta->pct * delta->base / 100;
	struct pmc_out *line = &note->line;
	struct pmc_scale scale;

	pmc_scale_time(&scale, ns, ascii ? "us" : "µs");
	pmc_out_str(line, " (by ");
	pmc_show_scaled(line, &scale, ns);
	if (delta->has_ci) {
		pmc_out_str(line, ascii ? " +- " : " ± ");
		pmc_show_scaled(line, &scale, delta->ci_pct * delta->base / 100);
	}
	pmc_outf(line, " %s%s)", scale.unit, delta->has_ci ? "" : ", too few runs for an interval");
}

/* "B ran 1.34 times faster than A (by 5.1 ± 0.2 ms)", for each command but the fastest. */
static void write_summary(struct note *note)
{
	const struct bench *bench = note->bench;
	const struct bench_command *fastest = bench->commands;
	struct bench_row best, row;

	bench_row_of(bench, fastest, NULL, NULL, BENCH_WALL, &best);
	for (unsigned c = 1; c < bench->n_commands; c++) {
		bench_row_of(bench, &bench->commands[c], fastest, NULL, BENCH_WALL, &row);
		if (row.summary.n && (!best.summary.n || row.delta.pct < 0)) {
			fastest = &bench->commands[c];
			best = row;
		}
	}
	for (unsigned c = 0; c < bench->n_commands && best.summary.n; c++) {
		const struct bench_command *command = &bench->commands[c];
		const struct bench_delta *delta = &row.delta;

		bench_row_of(bench, command, fastest, NULL, BENCH_WALL, &row);
		if (command == fastest || !delta->known)
			continue;
		begin(note);
		put_command(note, fastest);
		if (delta->has_ci && delta->pct <= delta->ci_pct) {
			pmc_out_str(&note->line, " and ");
			put_command(note, command);
			pmc_outf(&note->line, ": no statistically significant difference in %s",
				 bench->measures[BENCH_WALL].name);
		} else {
			pmc_out_str(&note->line, " ran ");
			pmc_out_fixed(&note->line, 1 + delta->pct / 100,
				      delta->has_ci && delta->ci_pct < 0.5 ? 3 : 2);
			pmc_out_str(&note->line, " times faster than ");
			put_command(note, command);
			put_difference(note, delta);
		}
		end(note);
	}
}

void bench_write_notes(const struct bench *bench, struct pmc_out *out)
{
	static void (*const parts[])(struct note *) = { write_delta, write_summary, write_missing,
							write_scopes };
	struct note note = { .bench = bench, .out = out };

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		/* An empty line before each, but the last. */
		if (i < 3)
			note.n = 0;
		parts[i](&note);
	}
}
