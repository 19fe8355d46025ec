/* SPDX-License-Identifier: MIT */
/* sample_table.c - functions, lines and call trees as a table, with what their samples explain. */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "lib/event/event.h"
#include "tools/view/table.h"

#include <errno.h>

/* ---- what the samples explain ------------------------------------------------------------ */

/* Puts an amount of the event after a text. */
static void put_amount(struct pmc_view *view, const char *text, uint64_t value)
{
	if (!strcmp(view->samples.event->unit, "ns"))
		pmc_say(view, "%s%t", text, value);
	else
		pmc_say(view, "%s%v", text, (double)value);
}

static void put_losses(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;

	if (samples->lost)
		pmc_say(view, "%.%n lost", samples->lost);
	if (samples->throttled)
		pmc_say(view, "%.%n suppressed by the kernel's rate limit", samples->throttled);
	if (samples->incomplete)
		pmc_say(view, "%.%n with a truncated stack", samples->incomplete);
}

/* Clocks count kernel mode, too, where no samples are taken; other events are counted without. */
static bool lacks_some(const struct pmc_view_samples *samples)
{
	return samples->event->def.scope == PMC_SCOPE_ALL && samples->has_value &&
	       samples->weight < samples->value - samples->value / 1000;
}

/* Whether overflows were lost because the machine does not take so many samples. */
static bool lost_overflows(const struct pmc_view_samples *samples)
{
	const uint64_t hz = samples->period ? 1000000000 / samples->period : samples->frequency;

	return hz > PMC_SAMPLE_HZ_CHEAP && !strcmp(samples->event->unit, "ns") &&
	       samples->weight < samples->value - samples->value / 10;
}

/* Waits are recorded from outside, where it is not known whether the agent counts. */
static void explain_waits(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	uint64_t most_ns = 0;

	pmc_say(view, "%n %(wait|waits) of %t together, by off-cpu", samples->samples,
		samples->weight);
	put_losses(view);
	for (uint64_t i = 0; i < samples->fold.n_lists; i++)
		if (samples->fold.lists[i]->process->fixed.off_ns > most_ns)
			most_ns = samples->fold.lists[i]->process->fixed.off_ns;
	if (most_ns)
		pmc_say(view,
			"%.waits during the %t not counted (PMC_START, PMC_DELAY, pmctl ctl stop "
			"or reset) are included",
			most_ns);
}

/* Which samples there are, how much of the event they explain, and what is missing. */
static void explain(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;

	if (!samples->event) {
		pmc_say(view, "no samples%s", pmc_why_no_samples(view->profile));
		return;
	}
	if (pmc_is_off_cpu(samples->event)) {
		explain_waits(view);
		return;
	}
	pmc_say(view, "%n %(sample|samples) by %60S", samples->samples, samples->event->name);
	if (samples->period)
		put_amount(view, ", one every ", samples->period);
	else if (samples->frequency)
		pmc_say(view, " at %n Hz", samples->frequency);
	if (samples->has_value && samples->value) {
		pmc_say(view, ": %p %% of ",
			100 * ((double)samples->weight / (double)samples->value));
		put_amount(view, "", samples->value);
	}
	put_losses(view);
	if (lacks_some(samples))
		pmc_say(view, "%.not sampled: %skernel mode, and threads shorter than a period",
			lost_overflows(samples) ? "lost overflows (the period is too short for "
						  "the machine), " :
						  "");
}

static void put_explained(struct pmc_view *view)
{
	const int width = pmc_screen_width(&view->options->screen);
	const char *others = view->samples.others;
	struct pmc_out *out = view->out, line;
	char buf[512];

	pmc_out_to_mem(&line, buf, sizeof(buf));
	view->out = &line;
	pmc_out_char(&line, ' ');
	explain(view);
	if (view->options->cells) { /* of the table, this line is all, as a JSON string */
		pmc_json_quoted(out, buf + 1, line.len - 1);
	} else {
		pmc_show_wrapped(out, buf, width);
		pmc_out_to_mem(&line, buf, sizeof(buf));
		pmc_say(view, " samples by other events: %S (--event)", others);
		if (others[0])
			pmc_show_wrapped(out, buf, width);
		pmc_out_char(out, '\n');
	}
	view->out = out;
}

/* ---- trees ------------------------------------------------------------------------------- */

enum { LEVELS_MOST = 24, STEP_BYTES = 9 };

struct caller {
	uint64_t shown, seen; /* callees that are lines */
};

/* Lines are in the order of the tree: the callees of a line follow it. */
static void make_branches(struct pmc_table *table)
{
	const struct pmc_lines *lines = &table->lines;
	struct pmc_arena *arena = table->view->arena;
	struct caller *callers = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*callers));
	size_t longest = 0, depth = 0;
	uint64_t *above;

	for (uint64_t i = 0; i < lines->n; i++) {
		const struct pmc_sample_row *row = lines->list[i];
		const size_t len = strlen(row->function);

		depth = row->depth > depth ? row->depth : depth;
		longest = len > longest ? len : longest;
	}
	above = pmc_arena_alloc(arena, (depth + 1) * sizeof(*above));
	table->branches = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*table->branches));
	table->label = pmc_arena_alloc(arena, longest + LEVELS_MOST * STEP_BYTES + 1);
	for (uint64_t i = 0; i < lines->n; i++) {
		const struct pmc_sample_row *row = lines->list[i];

		above[row->depth] = i;
		if (row->depth)
			callers[above[row->depth - 1]].shown++;
	}
	for (uint64_t i = 0; i < lines->n; i++) {
		const struct pmc_sample_row *row = lines->list[i];
		struct pmc_branch *branch = &table->branches[i];
		struct caller *caller;

		above[row->depth] = i;
		if (!row->depth)
			continue;
		caller = &callers[above[row->depth - 1]];
		*branch = table->branches[above[row->depth - 1]];
		branch->connected = row->parent->callees > 1 && branch->level < LEVELS_MOST;
		if (!branch->connected)
			continue;
		branch->last |= (uint64_t)(++caller->seen == caller->shown) << branch->level;
		branch->level++;
	}
}

struct table_cell pmc_table_branch(struct pmc_table *table)
{
	static const char *const utf8[] = { "│  ", "   ", "├─ ", "└─ " };
	static const char *const ascii[] = { "|  ", "   ", "|- ", "`- " };
	const char *const *parts = table->view->options->screen.ascii ? ascii : utf8;
	const struct pmc_sample_row *row = table->lines.list[table->at];
	const struct pmc_branch *branch = &table->branches[table->at];
	char *at = table->label;

	for (unsigned level = 0; level < branch->level; level++) {
		const bool own = branch->connected && level + 1 == branch->level;

		at = stpcpy(at, parts[2 * own + (branch->last >> level & 1)]);
	}
	at = stpcpy(at, row->function);
	return cell_textn(table->label, (size_t)(at - table->label));
}

/* ---- the table --------------------------------------------------------------------------- */

/* Sums the rows beyond --top in one line, without callers that --where does not select. */
static void make_rest(struct pmc_table *table)
{
	const struct pmc_lines *lines = &table->lines;
	struct pmc_view *view = table->view;
	const bool *selected = view->samples.selected, tree = view->by == PMC_BY_PATH;
	struct pmc_sample_row *rest = pmc_arena_alloc(view->arena, sizeof(*rest));
	uint64_t at = 0;

	if (lines->n == lines->all)
		return;
	for (uint64_t i = 0; i < lines->all; i++) {
		const struct pmc_sample_row *row =
			tree ? view->samples.fold.rows[i] : lines->list[i];
		/* Lines of a tree are in the order of its rows. */
		const bool shown = tree ? at < lines->n && lines->list[at] == row : i < lines->n;

		at += shown;
		if (shown || (tree && selected && !selected[i]))
			continue;
		pmc_add_sat(&rest->samples, row->samples);
		pmc_add_sat(&rest->self, row->self);
	}
	rest->function = pmc_more(lines);
	rest->module = rest->file = "";
	table->rest = rest;
	table->n_below = 1;
}

/* Their own samples add up; totals lie in each other. */
struct table_cell pmc_sample_rest(struct pmc_table *table, const struct table_column *column)
{
	if (column == table->labels)
		return cell_text(table->rest->function);
	if (column->kind != PMC_COL_SAMPLE)
		return cell_null();
	if (column->index != PMC_SAMPLE_samples && column->index != PMC_SAMPLE_self &&
	    column->index != PMC_SAMPLE_self_pct)
		return cell_null();
	return pmc_sample_cell(table->view, column->index, table->rest);
}

int pmc_view_sample_table(struct pmc_view *view)
{
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	struct pmc_footer footer = { .sums = NULL };
	struct pmc_coverage coverage;

	if (view->options->cells) {
		put_explained(view);
		return 0;
	}
	pmc_view_coverage(view, &coverage);
	table->view = view;
	table->coverage = footer.coverage = &coverage;
	pmc_table_sum(table, &coverage);
	if (pmc_view_lines(view, true, &table->lines))
		return -EINVAL;
	if (view->by == PMC_BY_PATH)
		make_branches(table);
	make_rest(table);
	if (pmc_table_make(table))
		return -EINVAL;
	if (view->options->format == PMC_FORMAT_TABLE)
		pmc_table_title(view, &coverage);
	put_explained(view);
	if (view->samples.event && view->samples.fold.n_rows)
		pmc_table_put(table, &footer);
	else
		pmc_view_footer(view, &footer, pmc_view_put_line, view);
	return 0;
}
