/* SPDX-License-Identifier: MIT */
/* cmd_diff.c - pmctl diff: compares the threads of two runs, by name or another key. */
#include "agent/core/report/report.h"
#include "tools/bench/units.h"
#include "tools/cli/pmctl.h"
#include "tools/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tool_word keys[] = {
#define X(name, alias, value, doc) { #name, value, alias },
#include "agent/core/profile/by.def"
#undef X
	{ NULL, 0, NULL },
};
static const struct tool_word formats[] = {
	{ "table", PMC_FORMAT_TABLE, NULL },
	{ "json", PMC_FORMAT_JSON, NULL },
	{ "csv", PMC_FORMAT_CSV, NULL },
	{ NULL, 0, NULL },
};

/* Rows of threads and regions are not the same in two runs, and there are no trees of paths. */
static int set_by(struct diff *diff, const struct tool_args *args)
{
	struct tool_word accepted[sizeof(keys) / sizeof(keys[0])];
	int word = 0, code;
	unsigned n = 0;

	for (const struct tool_word *key = keys; key->name; key++)
		if (key->value != PMC_BY_THREAD && key->value != PMC_BY_REGION &&
		    key->value != PMC_BY_PATH)
			accepted[n++] = *key;
	accepted[n] = (struct tool_word){ .name = NULL };
	code = tool_args_word(args, accepted, &word);
	diff->by = (enum pmc_fold_by)word;
	return code;
}

static int set_flag(struct diff *diff, const struct tool_args *args)
{
	uint64_t number = 0;
	int word = 0, code;

	if (tool_args_is(args, "--by"))
		return set_by(diff, args);
	if (tool_args_is(args, "--format")) {
		code = tool_args_word(args, formats, &word);
		diff->format = (enum pmc_report_format)word;
		return code;
	}
	if (tool_args_is(args, "--event")) {
		diff->event = args->value;
		return 0;
	}
	if (tool_args_is(args, "--symfs"))
		return tool_args_directory(args, &diff->root);
	if (tool_args_is(args, "--top")) {
		code = tool_args_number(args, 0, 1000000, &number);
		diff->top = (unsigned)number;
		return code;
	}
	if (tool_args_is(args, "--width")) {
		code = tool_args_number(args, 20, 1000000, &number);
		diff->screen.width = (int)number;
		return code;
	}
	return tool_args_percent(args, &diff->fail_above);
}

static int parse(struct diff *diff, int argc, char **argv)
{
	struct tool_args args;
	unsigned side = 0;
	bool vs = false;
	int code = 0;

	for (unsigned s = 0; s < 2; s++) {
		diff->files[s] = pmc_arena_alloc(&diff->arena, sizeof(char *) * (size_t)argc);
		if (!diff->files[s])
			return tool_fail(EXIT_FAIL, "out of memory");
	}
	tool_args_init(&args, argc, argv);
	while (!code && tool_args_next(&args)) {
		if (!args.flag)
			diff->files[side][diff->n_files[side]++] = args.value;
		else if (!tool_args_is(&args, "--vs"))
			code = set_flag(diff, &args);
		else if (vs)
			code = tool_fail(EXIT_USAGE, "--vs stands once, between the two sides");
		else {
			vs = true;
			side = 1;
		}
	}
	if (code || args.code)
		return code ? code : args.code;
	if ((diff->event || diff->root) && !pmc_by_samples(diff->by))
		return tool_fail(EXIT_USAGE, "%s is for samples; add --by function or line",
				 diff->event ? "--event" : "--symfs");
	/* Without --vs the last file is the other side. */
	if (!vs && diff->n_files[0] == 2)
		diff->files[1][diff->n_files[1]++] = diff->files[0][--diff->n_files[0]];
	if (!diff->n_files[0] || !diff->n_files[1])
		return tool_fail(
			EXIT_USAGE,
			"diff needs two dumps, or several on each side: pmctl diff A... --vs B...");
	return 0;
}

static int by_impact(const void *a, const void *b)
{
	const struct diff_row *x = *(struct diff_row *const *)a, *y = *(struct diff_row *const *)b;

	for (unsigned i = 0; i < 2; i++)
		if (x->impact[i] != y->impact[i])
			return x->impact[i] < y->impact[i] ? 1 : -1;
	return strcmp(x->key, y->key);
}

/* The change of the row in a column. */
static double change_of(const struct diff *diff, const struct diff_row *row, unsigned column)
{
	struct diff_side sides[2];

	diff_values(diff, row, column, sides);
	return (double)fabsl(sides[1].value - sides[0].value);
}

/* By the change of CPU time, then threads; of samples, then those in what it calls. Of few samples
 * the former is noise, which does not go before the latter. */
static void sort_rows(struct diff *diff)
{
	struct diff_row **rows = calloc(diff->n_rows + 1, sizeof(struct diff_row *));
	double most = 0;
	unsigned n = 0;

	for (struct diff_row *row = diff->rows; rows && row; row = row->next) {
		for (unsigned i = 0; i < 2; i++) {
			row->impact[i] = change_of(diff, row, diff_first(diff) + i);
			most = row->impact[i] > most ? row->impact[i] : most;
		}
		rows[n++] = row;
	}
	if (!rows)
		return;
	for (unsigned i = 0; i < n && pmc_by_samples(diff->by); i++)
		if (rows[i]->impact[0] < most / 20)
			rows[i]->impact[0] = 0;
	qsort(rows, n, sizeof(struct diff_row *), by_impact);
	for (unsigned i = 0; i < n; i++)
		rows[i]->next = rows[i + 1];
	diff->rows = rows[0];
	free(rows);
}

static bool is_judged(unsigned column)
{
	return column == DIFF_CPU || column >= DIFF_EVENTS;
}

/* Why nothing could be compared, and the fix. */
static void explain(const struct diff *diff, char *text, size_t size)
{
	const bool samples = pmc_by_samples(diff->by);
	bool has[2] = { false, false };
	struct diff_compared value;
	unsigned side = 0;

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++)
		for (side = 0;
		     is_judged(c) && diff_compare(diff, &diff->total, c, &value) && side < 2;
		     side++)
			has[side] |= value.sides[side].summary.n &&
				     (!samples || value.sides[side].value > 0);
	if (has[0] && has[1] && !samples) {
		snprintf(text, size, "the sides have no event in common; count the same events");
		return;
	}
	if (has[0] && has[1]) {
		snprintf(text, size,
			 "the samples are of different events, by %.60s in %.200s, by %.60s in "
			 "%.200s; sample the same one on both sides",
			 diff->sampled[0].event, diff->files[0][0], diff->sampled[1].event,
			 diff->files[1][0]);
		return;
	}
	side = has[0];
	snprintf(text, size, "%s no %s (%.200s); %s%s",
		 !has[0] && !has[1] ? "both sides have" :
		 side		    ? "side B has" :
				      "side A has",
		 samples ? "samples" : "counts", diff->files[side][0],
		 samples ? "record them with pmctl run " : "pmctl report says why",
		 !samples					? "" :
		 diff->event && !strcmp(diff->event, "off-cpu") ? "--off-cpu" :
								  "--sample");
}

/* --fail-above must not pass if events or samples are missing. */
static int nothing_compared(const struct diff *diff)
{
	char text[700];

	explain(diff, text, sizeof(text));
	if (diff->fail_above >= 0)
		return tool_fail(EXIT_FAIL, "--fail-above: nothing could be compared: %s", text);
	tool_warn("nothing could be compared: %s", text);
	return 0;
}

/* 0, or the exit code with what is larger by more than --fail-above printed: the total's CPU time
 * or an event of it. For certain, where there are several dumps a side. */
static int judge(const struct diff *diff)
{
	bool compared = false;

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		struct diff_side sides[2];
		struct bench_delta delta;

		if (!is_judged(c))
			continue;
		if (!diff_values(diff, &diff->total, c, sides) ||
		    (pmc_by_samples(diff->by) && !(sides[0].value > 0 && sides[1].value > 0)))
			continue;
		compared = true;
		if (diff->fail_above < 0)
			break;
		bench_compare(&sides[0].summary, &sides[1].summary, &delta);
		if (delta.known && delta.pct > diff->fail_above &&
		    (!delta.has_ci || delta.pct > delta.ci_pct))
			return tool_fail(EXIT_FAIL,
					 "%s of the total is %.1f %% larger in B; --fail-above "
					 "permits %.1f %%",
					 diff->columns[c].name, delta.pct, diff->fail_above);
	}
	return compared ? 0 : nothing_compared(diff);
}

static int run_diff(struct diff *diff)
{
	int code = diff_read(diff), error;

	if (code)
		return code;
	sort_rows(diff);
	error = bench_to_stdout(diff->format == PMC_FORMAT_TABLE, diff_print, diff);
	if (error)
		return tool_fail_write("to standard output", -error);
	return judge(diff);
}

int cmd_diff(int argc, char **argv)
{
	struct diff *diff = calloc(1, sizeof(*diff));
	int code;

	if (!diff)
		return tool_fail(EXIT_FAIL, "out of memory");
	diff->by = PMC_BY_POOL;
	diff->top = UINT_MAX;
	pmc_screen_from_env(&diff->screen, environ);
	pmc_screen_of_fd(&diff->screen, STDOUT_FILENO);
	diff->fail_above = -1;
	code = parse(diff, argc, argv);
	if (diff->top == UINT_MAX)
		diff->top = diff->format == PMC_FORMAT_TABLE ? 20 : 0;
	if (!code)
		code = run_diff(diff);
	diff_free_rows(diff);
	pmc_arena_free(&diff->arena);
	free(diff);
	return code;
}
