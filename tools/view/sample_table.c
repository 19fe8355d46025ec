/* SPDX-License-Identifier: MIT */
/* sample_table.c - functions, lines and call trees as a table, with what their samples explain. */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "lib/event/sample.h"
#include "tools/view/table.h"

#include <errno.h>

/* ---- what the samples explain ------------------------------------------------------------ */

static void put_amount(struct pmc_view *view, uint64_t value)
{
	const struct pmc_p_event *event = view->samples.event;

	if (!strcmp(event->unit, "ns"))
		pmc_show_time(view->out, (double)value, view->glyphs->micro);
	else
		pmc_show_number(view->out, (double)value);
}

static void put_rate(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;

	if (samples->period) {
		pmc_out_str(view->out, ", one every ");
		put_amount(view, samples->period);
	} else if (samples->frequency) {
		pmc_out_str(view->out, " at ");
		pmc_show_integer(view->out, samples->frequency);
		pmc_out_str(view->out, " Hz");
	}
}

static void put_losses(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	const struct {
		uint64_t n;
		const char *what;
	} losses[] = {
		{ samples->lost, " lost" },
		{ samples->throttled, " suppressed by the kernel's rate limit" },
		{ samples->incomplete, " with an incomplete stack" },
	};

	for (unsigned i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (!losses[i].n)
			continue;
		pmc_out_str(view->out, view->glyphs->dot);
		pmc_show_integer(view->out, losses[i].n);
		pmc_out_str(view->out, losses[i].what);
	}
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
static void put_uncounted(struct pmc_view *view)
{
	const struct pmc_sample_fold *fold = &view->samples.fold;
	uint64_t most_ns = 0;

	for (uint64_t i = 0; i < fold->n_lists; i++)
		if (fold->lists[i]->process->fixed.off_ns > most_ns)
			most_ns = fold->lists[i]->process->fixed.off_ns;
	if (!most_ns)
		return;
	pmc_outf(view->out, "%swaits during the ", view->glyphs->dot);
	pmc_show_time(view->out, (double)most_ns, view->glyphs->micro);
	pmc_out_str(view->out, " not counted (PMC_START, PMC_DELAY, pmctl ctl stop or reset) are "
			       "included");
}

/* Which samples there are, how much of the event they explain, and what is missing. */
static void explain(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	struct pmc_out *out = view->out;

	if (!samples->event) {
		pmc_outf(out, "no samples%s", pmc_why_no_samples(view->profile));
		return;
	}
	if (pmc_is_off_cpu(samples->event)) {
		pmc_show_count(out, samples->samples, "wait of ", "waits of ");
		put_amount(view, samples->weight);
		pmc_out_str(out, " together, by off-cpu");
		put_losses(view);
		put_uncounted(view);
		return;
	}
	pmc_show_count(out, samples->samples, "sample by ", "samples by ");
	pmc_view_text(view, samples->event->name, 60);
	put_rate(view);
	if (samples->has_value && samples->value) {
		pmc_out_str(out, ": ");
		pmc_show_percent(out, 100 * ((double)samples->weight / (double)samples->value));
		pmc_out_str(out, " % of ");
		put_amount(view, samples->value);
	}
	put_losses(view);
	if (lacks_some(samples))
		pmc_outf(out, "%snot sampled: %skernel mode, and threads shorter than a period",
			 view->glyphs->dot,
			 lost_overflows(samples) ? "lost overflows (the period is too short for "
						   "the machine), " :
						   "");
}

int pmc_view_explained_json(struct pmc_view *view)
{
	struct pmc_out *out = view->out, line;
	char buf[512];

	pmc_out_to_mem(&line, buf, sizeof(buf));
	view->out = &line;
	explain(view);
	view->out = out;
	pmc_json_quoted(out, buf, line.len);
	return 0;
}

static void put_explained(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	struct pmc_out *out = view->out, line;
	char buf[512];

	pmc_out_to_mem(&line, buf, sizeof(buf));
	view->out = &line;
	pmc_out_char(&line, ' ');
	explain(view);
	view->out = out;
	pmc_show_wrapped(out, buf, pmc_screen_width(&view->options->screen));
	if (!samples->others[0])
		return;
	pmc_out_to_mem(&line, buf, sizeof(buf));
	view->out = &line;
	pmc_out_str(&line, " samples by other events: ");
	pmc_view_text(view, samples->others, 0);
	pmc_out_str(&line, " (--event)");
	view->out = out;
	pmc_show_wrapped(out, buf, pmc_screen_width(&view->options->screen));
}

void pmc_footer_dump(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	const unsigned n = options->keep_hint || options->n_dumps > 4 ? 0 : options->n_dumps;

	if (!n)
		pmc_out_str(view->out, options->keep_hint ? "run.pmc" :
				       options->n_dumps	  ? "FILES" :
							    "FILE");
	for (unsigned i = 0; i < n; i++) {
		pmc_out_str(view->out, i ? " " : "");
		pmc_utf8_shell(view->out, options->dumps[i], options->screen.ascii);
	}
}

static void put_hint(struct pmc_view *view, const char *what, const char *by)
{
	const struct pmc_report_options *options = view->options;

	if (options->keep_hint)
		pmc_outf(view->out, " its %s were not kept: %s, then ", what, options->keep_hint);
	else
		pmc_outf(view->out, " it has %s: ", what);
	pmc_outf(view->out, "pmctl report --by %s ", by);
	pmc_footer_dump(view);
	pmc_footer_end_line(view);
}

bool pmc_footer_samples(struct pmc_view *view)
{
	bool samples = false, waits = false;

	/* Who draws the cells shows the samples, too. */
	if (view->options->cells)
		return false;
	for (uint64_t i = 0; i < view->profile->n_samples; i++) {
		const struct pmc_p_samples *of = view->profile->samples[i];

		if (!of->event || !of->samples)
			continue;
		waits |= pmc_is_off_cpu(of->event);
		samples |= !pmc_is_off_cpu(of->event);
	}
	if (samples)
		put_hint(view, "samples", "function");
	if (waits)
		put_hint(view, "waits", "path --event off-cpu");
	return (samples || waits) && view->options->keep_hint;
}

/* The total of the rows that --where selects, without their callers, which the table has, too. */
static void put_selected_total(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;

	pmc_out_str(view->out, ": total ");
	pmc_show_percent(view->out,
			 100 * ((double)samples->selected_total / (double)samples->weight));
	pmc_out_str(view->out, " %");
	if (samples->fold.n_rows > samples->n_matches)
		pmc_out_str(view->out, view->options->inverted ?
					       "; values of their callees include other callers" :
					       "; values of their callers include other calls");
}

void pmc_footer_sample_rows(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	const char *one = view->by == PMC_BY_FUNCTION ? "functions" :
			  view->by == PMC_BY_MODULE   ? "modules" :
							"lines";

	pmc_out_char(view->out, ' ');
	pmc_show_integer(view->out, samples->n_matches);
	pmc_out_str(view->out, " of ");
	pmc_show_integer(view->out, samples->n_all);
	pmc_outf(view->out, " %s selected by ", one);
	pmc_view_conditions(view, true);
	if (samples->weight && view->by == PMC_BY_PATH)
		put_selected_total(view);
	pmc_footer_end_line(view);
}

/* ---- trees ------------------------------------------------------------------------------- */

enum { LEVELS_MOST = 24, STEP_BYTES = 9 };

struct caller {
	uint64_t shown, seen; /* callees that are lines */
};

static size_t longest_name(const struct pmc_lines *lines, unsigned *depth)
{
	size_t most = 0;

	*depth = 0;
	for (uint64_t i = 0; i < lines->n; i++) {
		const struct pmc_sample_row *row = lines->list[i];
		const size_t len = strlen(row->function);

		*depth = row->depth > *depth ? row->depth : *depth;
		most = len > most ? len : most;
	}
	return most;
}

/* Lines are in the order of the tree: the callees of a line follow it. */
static int make_branches(struct pmc_table *table)
{
	const struct pmc_lines *lines = &table->lines;
	struct pmc_arena *arena = table->view->arena;
	unsigned depth;
	const size_t longest = longest_name(lines, &depth);
	struct caller *callers = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*callers));
	uint64_t *above = pmc_arena_alloc(arena, (depth + 1) * sizeof(*above));

	table->branches = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*table->branches));
	table->label = pmc_arena_alloc(arena, longest + LEVELS_MOST * STEP_BYTES + 1);
	if (!callers || !above || !table->branches || !table->label)
		return -ENOMEM;
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
	return 0;
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
	return (struct table_cell){ .kind = CELL_TEXT,
				    .text = table->label,
				    .len = (size_t)(at - table->label) };
}

/* ---- the table --------------------------------------------------------------------------- */

/* Sums the rows beyond --top in one line, without callers that --where does not select. */
static int make_rest(struct pmc_table *table)
{
	const struct pmc_lines *lines = &table->lines;
	struct pmc_view *view = table->view;
	const bool *selected = view->samples.selected, tree = view->by == PMC_BY_PATH;
	struct pmc_sample_row *rest;
	uint64_t at = 0;
	char buf[64];
	struct pmc_out out;

	if (lines->n == lines->all)
		return 0;
	rest = pmc_arena_alloc(view->arena, sizeof(*rest));
	if (!rest)
		return -ENOMEM;
	for (uint64_t i = 0; i < lines->all; i++) {
		const struct pmc_sample_row *row = view->samples.fold.rows[i];
		/* Lines of a tree are in the order of its rows. */
		const bool shown = tree && at < lines->n && lines->list[at] == row;

		at += shown;
		if (shown || (selected && !selected[i]))
			continue;
		pmc_add_sat(&rest->samples, row->samples);
		pmc_add_sat(&rest->self, row->self);
	}
	for (uint64_t i = 0; i < lines->n && !tree; i++) {
		const struct pmc_sample_row *row = lines->list[i];

		rest->samples = pmc_sub_sat(rest->samples, row->samples);
		rest->self = pmc_sub_sat(rest->self, row->self);
	}
	pmc_out_to_mem(&out, buf, sizeof(buf));
	pmc_out_char(&out, '(');
	pmc_show_integer(&out, lines->all - lines->n);
	pmc_out_str(&out, " more)");
	rest->function = pmc_arena_strndup(view->arena, buf, out.len);
	rest->module = rest->file = "";
	table->rest = rest;
	table->n_below = 1;
	return rest->function ? 0 : -ENOMEM;
}

/* What was sampled in them adds up; totals lie in each other. */
struct table_cell pmc_sample_rest(struct pmc_table *table, const struct table_column *column)
{
	if (column == table->labels)
		return (struct table_cell){ .kind = CELL_TEXT,
					    .text = table->rest->function,
					    .len = strlen(table->rest->function) };
	if (column->index != PMC_SAMPLE_samples && column->index != PMC_SAMPLE_self &&
	    column->index != PMC_SAMPLE_self_pct)
		return (struct table_cell){ .kind = CELL_NULL };
	return pmc_cell(table->view, column, &(struct pmc_row){ .sample = table->rest });
}

int pmc_view_sample_table(struct pmc_view *view)
{
	struct pmc_table *table = pmc_arena_alloc(view->arena, sizeof(*table));
	struct pmc_footer footer = { 0 };
	struct pmc_coverage coverage;
	int err = pmc_view_coverage(view, &coverage);

	if (err || !table)
		return err ? err : -ENOMEM;
	table->view = view;
	table->coverage = footer.coverage = &coverage;
	err = pmc_table_sum(table, &coverage);
	if (!err)
		err = pmc_view_lines(view, true, &table->lines);
	if (!err && view->by == PMC_BY_PATH)
		err = make_branches(table);
	if (!err)
		err = make_rest(table);
	if (!err)
		err = pmc_table_make(table);
	if (err)
		return err;
	if (view->options->format == PMC_FORMAT_TABLE)
		pmc_table_title(view, &coverage);
	put_explained(view);
	pmc_out_char(view->out, '\n');
	if (view->samples.event && view->samples.fold.n_rows)
		return pmc_table_put(table, &footer);
	pmc_view_footer(view, &footer);
	return view->arena->failed ? -ENOMEM : 0;
}
