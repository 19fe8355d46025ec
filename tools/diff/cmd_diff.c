/* SPDX-License-Identifier: MIT */
/* cmd_diff.c - pmctl diff: compares the threads of two runs, by name or another key. */
#include "tools/diff/diff.h"
#include "tools/report/report.h"

#include <stdio.h>
#include <string.h>

#define FLAG_OPTIONS struct diff

const char *const diff_keys[DIFF_KEYS] = {
#define X(name, alias, value, doc)                                                                 \
	[value] = value == PMC_BY_THREAD || value == PMC_BY_TIME || value == PMC_BY_WAKER ||       \
				  value == PMC_BY_PATH ?                                           \
			  NULL :                                                                   \
			  #name,
#include "tools/rows/by.def"
#undef X
};

/* Starts the other side. */
static int set_vs(void *to, const struct tool_args *args)
{
	struct diff *diff = to;

	if (diff->vs)
		return tool_fail(EXIT_USAGE, "%s stands once, between the two sides", args->flag);
	diff->vs = true;
	diff->n_first = diff->n_files[0];
	return 0;
}

const struct tool_flag cmd_diff_flags[] = {
	FLAG_CALL(0, "--vs", NULL, set_vs, "between the dumps of side A and those of B"),
	FLAG_LIST(0, "--a", "GLOB", patterns[0], n_patterns[0],
		  "dumps of side A, in place of operands; repeatable"),
	FLAG_LIST(0, "--b", "GLOB", patterns[1], n_patterns[1], "dumps of side B; repeatable"),
	FLAG_BY_KEYS(keys, diff_keys, .aliases = pmc_by_aliases),
	FLAG_EVENT(event, "event whose samples are compared (default: all, without waits)"),
	FLAG_SYMFS(root),
	FLAG_BOOL(0, "--all", all, "rows and measurements below the thresholds, too"),
	FLAG_SORT(0, out.choice.sort, "column to sort by (default: change of CPU time)"),
	FLAG_TOP(top, "number of rows; 0: all (default: 20 in tables)"),
	FLAG_ROWS_CHOICE(out, diff_table_columns),
	FLAG_TEXT(0, "--html", "FILE", page, "flame graph of the differences, as a page"),
	FLAG_TEXT(0, "--per", "EVENT", per, "with --html: compares by that event's counts"),
	FLAG_PERCENT(0, "--fail-above", fail_above,
		     "exit status 1 if CPU time or events grew more"),
	FLAG_FORMAT(out.format, TABLE_FORMATS),
	FLAG_ROWS_OUTPUT(out),
	OPERAND_LIST(files, n_files[0]),
	FLAG_END,
};

/* The patterns of --a and --b as operands with --vs. */
static int take_patterns(struct diff *diff)
{
	const unsigned n = diff->n_patterns[0] + diff->n_patterns[1];

	if (diff->n_files[0])
		return tool_fail(EXIT_USAGE,
				 "%s: the dumps are named by --a and --b, or without them",
				 diff->files[0]);
	diff->files = pmc_arena_alloc(&diff->arena, n * sizeof(*diff->files));
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < diff->n_patterns[side]; i++)
			diff->files[diff->n_files[0]++] = diff->patterns[side][i];
	diff->n_first = diff->n_patterns[0];
	diff->vs = diff->by_file = true;
	return 0;
}

/* 0, or the exit code with the error printed. */
static int choose_sides(struct diff *diff)
{
	int code = diff->n_patterns[0] || diff->n_patterns[1] ? take_patterns(diff) : 0;

	if (code)
		return code;
	if (!diff->vs && diff->n_files[0] > 2)
		return tool_fail(
			EXIT_USAGE,
			"%u dumps without --vs; put --vs between the two sides: pmctl diff "
			"A... --vs B...",
			diff->n_files[0]);
	/* Without --vs the second of two files is the other side. */
	if (!diff->vs)
		diff->n_first = diff->n_files[0] == 2 ? 1 : diff->n_files[0];
	diff->n_files[1] = diff->n_files[0] - diff->n_first;
	diff->n_files[0] = diff->n_first;
	if (!diff->n_files[0] || !diff->n_files[1])
		return tool_fail(
			EXIT_USAGE,
			"diff needs two dumps, or several on each side: pmctl diff A... --vs B...");
	return 0;
}

int diff_choose_keys(struct diff *diff)
{
	int code = diff->keys[0] ? report_set_keys(diff->keys, diff->outer, &diff->by) : 0;

	if (code)
		return code;
	if (diff->outer[0] && pmc_by_samples(diff->by))
		return tool_fail(EXIT_USAGE, "%s compares samples by one key, such as --by %s",
				 tool_command_name, pmc_by_names[diff->by]);
	if ((diff->event || diff->root) && !pmc_by_samples(diff->by) && !diff->page)
		return tool_fail(EXIT_USAGE, "%s is for samples; add --by function or line",
				 diff->event ? "--event" : "--symfs");
	return 0;
}

static int parse(struct diff *diff, int argc, char **argv)
{
	int code = tool_args_parse(argc, argv, diff);

	code = code ? code : diff_choose_keys(diff);
	if (code)
		return code;
	if (diff->out.format == TABLE_JSON &&
	    (diff->out.choice.sort || diff->out.choice.columns || diff->out.choice.n_where))
		return tool_fail(EXIT_USAGE, "--format json has whole rows; use --format jsonl "
					     "with --sort, --where and --columns");
	if (diff->page &&
	    (diff->keys[0] || diff->out.format || diff->out.output || diff->all ||
	     diff->out.choice.sort || diff->out.choice.columns || diff->out.choice.n_where ||
	     diff->top != UINT_MAX || diff->fail_above >= 0))
		return tool_fail(EXIT_USAGE,
				 "--html writes a page of all samples; of the other flags "
				 "it takes --event, --symfs and --per");
	if (diff->per && !diff->page)
		return tool_fail(EXIT_USAGE, "--per is for the page of --html; add --html FILE");
	return choose_sides(diff);
}

int diff_by_impact(const struct diff_row *x, const struct diff_row *y)
{
	for (unsigned i = 0; i < 2; i++)
		if (x->impact[i] != y->impact[i])
			return x->impact[i] < y->impact[i] ? 1 : -1;
	return strcmp(x->key, y->key);
}

/* By the change of CPU time, then threads; of samples, then those in what it calls. Of few samples
 * the former is noise, which does not go before the latter. */
static void sort_rows(struct diff *diff)
{
	struct diff_compared value;
	double most = 0;

	for (struct diff_row *row = diff->rows; row; row = row->hh.next)
		for (unsigned i = 0; i < 2; i++) {
			diff_compare(diff, row, diff_first(diff) + i, &value);
			row->impact[i] = fabs((double)diff_change(&value));
			most = fmax(most, row->impact[i]);
		}
	for (struct diff_row *row = diff->rows; row && pmc_by_samples(diff->by); row = row->hh.next)
		if (row->impact[0] < most / 20)
			row->impact[0] = 0;
	HASH_SORT(diff->rows, diff_by_impact);
}

/* Says why, and the fix. --fail-above must not pass if events or samples are missing. */
static int nothing_compared(const struct diff *diff)
{
	const bool samples = pmc_by_samples(diff->by);
	bool has[2] = { false, false };
	struct diff_compared value;
	char text[400];

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++)
		for (unsigned side = 0; side < 2 && diff_is_cost(c); side++)
			has[side] |= diff_compare(diff, &diff->total, c, &value) &&
				     value.sides[side].summary.n &&
				     (!samples || value.sides[side].value > 0);
	if (has[0] && has[1])
		snprintf(text, sizeof(text),
			 "the sides have no event in common; %s the same events",
			 samples ? "sample" : "count");
	else
		snprintf(text, sizeof(text), "%s no %s (%.200s); %s",
			 has[0] ? "side B has" :
			 has[1] ? "side A has" :
				  "both sides have",
			 samples ? "samples" : "counts", diff_files(diff, has[0])[0],
			 samples ? "pmctl run --sample or --off-cpu records them" :
				   "pmctl report says why");
	if (diff->fail_above >= 0)
		return tool_fail(EXIT_FAIL, "--fail-above: nothing could be compared: %s", text);
	tool_warn("nothing could be compared: %s", text);
	return 0;
}

/* 0, or the exit code with what is larger by more than --fail-above printed: the total's CPU time
 * or an event of it. For certain, where there are several dumps a side. */
static int judge(const struct diff *diff)
{
	struct diff_compared value;
	bool compared = false;

	for (unsigned c = diff_first(diff); c < diff->n_columns; c++) {
		const struct bench_delta *delta = &value.delta;

		if (!diff_is_cost(c) || !diff_compare(diff, &diff->total, c, &value) ||
		    !value.comparable ||
		    (pmc_by_samples(diff->by) &&
		     !(value.sides[0].value > 0 && value.sides[1].value > 0)))
			continue;
		compared = true;
		if (diff->fail_above < 0)
			break;
		if (delta->known && delta->pct > diff->fail_above &&
		    (!delta->has_ci || delta->pct > delta->difference_ci_pct))
			return tool_fail(EXIT_FAIL,
					 "%s of the total is %.1f %% larger in B; --fail-above "
					 "permits %.1f %%",
					 diff->columns[c].name, delta->pct, diff->fail_above);
	}
	return compared ? 0 : nothing_compared(diff);
}

/* --html is an export, which shows samples only. */
static int write_page(const struct diff *diff)
{
	const unsigned n = diff->n_files[0] + diff->n_files[1];
	const char **to = tool_realloc(NULL, (2 * n + 16) * sizeof(*to));
	const struct {
		const char *flag, *value;
	} flags[] = { { "--to", "html" },
		      { "-o", diff->page },
		      { "--event", diff->event },
		      { "--symfs", diff->root },
		      { "--per", diff->per } };
	int argc = 1;

	to[0] = "export";
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].value) {
			to[argc++] = flags[i].flag;
			to[argc++] = flags[i].value;
		}
	for (unsigned i = 0; i < diff->n_files[0]; i++) {
		to[argc++] = "--before";
		to[argc++] = diff->files[i];
	}
	to[argc++] = "--";
	for (unsigned i = diff->n_files[0]; i < n; i++)
		to[argc++] = diff->files[i];
	to[argc] = NULL;
	return cmd_export(argc, (char **)(void *)to);
}

static int run_diff(struct diff *diff)
{
	int code = report_check_output(diff->out.output, diff->files,
				       diff->n_files[0] + diff->n_files[1]);

	if (!code)
		code = diff_read(diff);
	if (code)
		return code;
	sort_rows(diff);
	code = diff_write_rows(diff);
	if (code)
		return code;
	return judge(diff);
}

int cmd_diff(int argc, char **argv)
{
	static struct diff diff = { .by = PMC_BY_POOL, .top = UINT_MAX, .fail_above = -1 };
	int code = parse(&diff, argc, argv);

	if (diff.top == UINT_MAX)
		diff.top = tool_rows_is_table(&diff.out) ? 20 : 0;
	if (!code)
		code = diff.page ? write_page(&diff) : run_diff(&diff);
	pmc_arena_free(&diff.arena);
	return code;
}
