/* SPDX-License-Identifier: MIT */
/* notes.c - the lines under tables: which command is faster, and what was not counted. */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/bench/runner.h"

#include <limits.h>
#include <string.h>

/* Names of events come from sysfs and tracefs too. */
static void put_name(struct pmc_out *out, const char *name)
{
	pmc_utf8_safe(out, name, strlen(name), 0);
}

/* In quotes if a sentence could not show where it ends. */
static void put_command(struct pmc_out *out, const struct bench_command *command)
{
	const char *quote = strpbrk(command->text, " ;") ? "'" : "";

	pmc_out_str(out, quote);
	pmc_utf8_safe(out, command->text, strlen(command->text), 60);
	pmc_out_str(out, quote);
}

/* `columns`: 0 if the width is not known. */
static void end_line(struct pmc_out *out, struct pmc_out *line, int columns)
{
	pmc_show_wrapped(out, line->buf, columns > 0 ? columns : INT_MAX);
	pmc_out_to_mem(line, line->buf, line->cap);
}

/* Events that could not be counted, one line for each reason. */
static void note_missing(const struct bench *bench, struct pmc_out *out, int columns)
{
	bool noted[PMC_EVENTS_MAX] = { false };
	const struct pmc_plan *plan = &bench->plan;
	char why[320], other[320], text[8192];
	struct pmc_out line;

	for (unsigned i = 0; i < plan->count; i++) {
		if (noted[i] || plan->events[i].state == PMC_COUNTED)
			continue;
		bench_why(bench, &plan->events[i], why, sizeof(why));
		pmc_out_to_mem(&line, text, sizeof(text));
		pmc_out_str(&line, "Not counted: ");
		put_name(&line, plan->events[i].event.name);
		for (unsigned k = i + 1; k < plan->count; k++) {
			if (plan->events[k].state == PMC_COUNTED)
				continue;
			bench_why(bench, &plan->events[k], other, sizeof(other));
			if (strcmp(why, other))
				continue;
			noted[k] = true;
			pmc_out_str(&line, ", ");
			put_name(&line, plan->events[k].event.name);
		}
		pmc_outf(&line, ": %s.", why);
		end_line(out, &line, columns);
	}
}

static void note_scopes(const struct bench *bench, struct pmc_out *out, int columns)
{
	const char *before = "Counted in user mode only: ";
	struct pmc_out line;
	bool scaled = false;
	char text[8192];

	pmc_out_to_mem(&line, text, sizeof(text));

	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		const struct pmc_planned *event = bench->measures[m].event;

		for (unsigned c = 0; c < bench->n_commands; c++)
			scaled |= bench->commands[c].scaled[event - bench->plan.events];
		if (event->scope != PMC_SCOPE_USER)
			continue;
		pmc_out_str(&line, before);
		put_name(&line, bench->measures[m].name);
		before = ", ";
	}
	if (before[0] == ',') {
		pmc_out_char(&line, '.');
		end_line(out, &line, columns);
	}
	if (bench_remark && bench->n_measures > BENCH_EVENTS) {
		pmc_out_str(&line, bench_remark);
		end_line(out, &line, columns);
	}
	if (scaled) {
		pmc_out_str(&line, "Marked ~: multiplexed, and scaled to the whole time.");
		end_line(out, &line, columns);
	}
}

/* "B ran 1.34 times faster than A (by 5.1 ms ± 0.2 ms)", for each command but the fastest. The
 * interval is the one that decides whether the difference is certain; a ratio has another. */
void bench_write_summary(const struct bench *bench, struct pmc_out *out, int columns)
{
	const struct bench_command *fastest = bench->commands;
	struct bench_row best, row;
	struct pmc_out line;
	bool begun = false;
	char text[2048];

	bench_row_of(bench, fastest, NULL, BENCH_WALL, &best);
	for (unsigned c = 1; c < bench->n_commands; c++) {
		bench_row_of(bench, &bench->commands[c], fastest, BENCH_WALL, &row);
		if (row.summary.n && (!best.summary.n || row.delta.pct < 0)) {
			fastest = &bench->commands[c];
			best = row;
		}
	}
	if (bench->n_commands < 2 || !best.summary.n)
		return;
	pmc_out_to_mem(&line, text, sizeof(text));
	for (unsigned c = 0; c < bench->n_commands; c++) {
		const struct bench_command *command = &bench->commands[c];
		const struct bench_delta *delta = &row.delta;
		double one_pct;

		bench_row_of(bench, command, fastest, BENCH_WALL, &row);
		if (command == fastest || !delta->known)
			continue;
		one_pct = delta->base / 100;
		pmc_out_str(out, begun ? "" : "\n");
		begun = true;
		put_command(&line, fastest);
		if (delta->has_ci && delta->pct <= delta->ci_pct) {
			pmc_out_str(&line, " and ");
			put_command(&line, command);
			pmc_outf(&line, ": no certain difference in %s",
				 bench->measures[BENCH_WALL].name);
			end_line(out, &line, columns);
			continue;
		}
		pmc_out_str(&line, " ran ");
		pmc_out_fixed(&line, 1 + delta->pct / 100,
			      delta->has_ci && delta->ci_pct < 0.5 ? 3 : 2);
		pmc_out_str(&line, " times faster than ");
		put_command(&line, command);
		pmc_out_str(&line, " (by ");
		bench_show(&line, delta->pct * one_pct, BENCH_NS);
		if (delta->has_ci) {
			pmc_out_str(&line, " ± ");
			bench_show(&line, delta->ci_pct * one_pct, BENCH_NS);
		}
		pmc_out_str(&line, delta->has_ci ? ")" : ", too few runs for an interval)");
		end_line(out, &line, columns);
	}
}

static const struct bench_delta *delta_of(const struct bench *bench, unsigned command, unsigned m,
					  struct bench_row *row)
{
	const struct bench_command *of = &bench->commands[command];

	bench_row_of(bench, of, bench_reference(bench, of), m, row);
	return &row->delta;
}

/* The measurements with a delta of trimmed means, of pairs or not; all: those with any. */
static uint64_t with_delta(const struct bench *bench, bool paired, uint64_t *all)
{
	uint64_t some = 0;

	for (unsigned c = 0; c < bench->n_commands; c++)
		for (unsigned m = 0; m < bench->n_measures && m < 64; m++) {
			struct bench_row row;
			const struct bench_delta *delta = delta_of(bench, c, m, &row);

			*all |= (uint64_t)delta->known << m;
			if (delta->known && delta->trimmed && delta->paired == paired)
				some |= 1ull << m;
		}
	return some;
}

/* Why a delta is not that of the means beside it. */
void bench_write_delta(const struct bench *bench, struct pmc_out *out, int columns)
{
	static const char *const kinds[] = {
		"the difference between the means of the middle half of the runs, in percent of "
		"the reference's mean",
		"the mean of the middle half of the differences of paired runs, in percent of the "
		"mean of the middle half of the reference's runs",
	};
	char text[8192];
	struct pmc_out line;
	bool begun = false;

	for (unsigned paired = 0; paired < 2; paired++) {
		uint64_t all = 0, some = with_delta(bench, paired, &all);
		const char *before = " (of ";

		if (!some)
			continue;
		pmc_out_str(out, begun ? "" : "\n");
		begun = true;
		pmc_out_to_mem(&line, text, sizeof(text));
		pmc_out_str(&line, "delta");
		for (unsigned m = 0; m < bench->n_measures && m < 64 && some != all; m++) {
			if (!(some >> m & 1))
				continue;
			pmc_out_str(&line, before);
			put_name(&line, bench->measures[m].name);
			before = ", ";
		}
		pmc_outf(&line, "%s is %s; mean is of all runs.", some != all ? ")" : "",
			 kinds[paired]);
		end_line(out, &line, columns);
	}
}

void bench_write_notes(const struct bench *bench, struct pmc_out *out, int columns)
{
	note_missing(bench, out, columns);
	note_scopes(bench, out, columns);
}
