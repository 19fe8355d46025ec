/* SPDX-License-Identifier: MIT */
/* table.c - the table a person sees: title, rows by CPU time, the rest folded, totals. */
#include "agent/core/report/view.h"
#include "agent/core/base/utf8.h"

#include <errno.h>
#include <string.h>

/* Patterns shown for the rows that are folded; what is left of them is one line more. */
#define MAX_PATTERNS 12

static void title(struct pmc_view *view, const struct pmc_ledger *ledger, uint64_t cpu_ns)
{
	const struct pmc_p_process *first = view->first;
	struct pmc_out *out = view->out, figures;
	const char *command = first ? (first->cmdline[0] ? first->cmdline : first->exe) : "";
	char buf[160];
	int width, room;

	pmc_out_to_mem(&figures, buf, sizeof(buf));
	pmc_show_integer(&figures, ledger->threads_seen);
	pmc_out_str(&figures, ledger->threads_seen == 1 ? " thread in " : " threads in ");
	pmc_show_integer(&figures, ledger->processes);
	pmc_out_str(&figures, ledger->processes == 1 ? " process, " : " processes, ");
	if (ledger->hosts > 1)
		pmc_outf(&figures, "%llu hosts, ", (unsigned long long)ledger->hosts);
	pmc_show_time(&figures, (double)cpu_ns);
	pmc_out_str(&figures, " CPU");
	if (ledger->wall_ns) {
		pmc_out_str(&figures, " in ");
		pmc_show_time(&figures, (double)ledger->wall_ns);
	}
	room = PMC_TABLE_COLUMNS - 19 - pmc_utf8_columns(buf, figures.len);
	if (view->options->color)
		pmc_out_str(out, "\x1b[1m");
	pmc_out_str(out, " pmcagent: ");
	/* The program's path says little and takes the room of its arguments. */
	for (size_t i = strcspn(command, " "); i > 0; i--) {
		if (command[i - 1] == '/') {
			command += i;
			break;
		}
	}
	width = pmc_utf8_safe(out, command[0] ? command : "(unknown command)",
			      command[0] ? strlen(command) : 17, room > 20 ? room : 20);
	if (view->options->color)
		pmc_out_str(out, "\x1b[0m");
	pmc_out_pad(out, ' ', width < 21 ? 29 - width : 8);
	pmc_out_str(out, buf);
	pmc_out_str(out, "\n\n");
}

/* What rows outside the threads add to a sum. Where they do not know an event although they
 * used CPU time worth mentioning, the sum of that event is only a part. */
static void sum_beside(struct pmc_view *view, struct pmc_fold_row *total,
		       const struct pmc_fold_row *beside)
{
	bool matters = beside->cpu.sum > total->cpu.sum / 200 && beside->cpu.sum > 1000000;

	if (beside->cpu.rows) {
		total->cpu.extra++;
		pmc_fold_add_value(&total->cpu, beside->cpu.sum, false);
	}
	for (unsigned i = 0; i < view->events.set.count; i++) {
		struct pmc_fold_stat *stat = &total->events[i];
		const struct pmc_fold_stat *more = &beside->events[i];

		if (!stat->rows)
			continue;
		if (more->rows) {
			stat->extra++;
			pmc_fold_add_value(stat, more->sum, false);
			stat->raw += more->raw;
			stat->enabled_ns += more->enabled_ns;
			stat->running_ns += more->running_ns;
			stat->scaled += more->scaled;
		} else if (matters) {
			stat->extra++;
		}
	}
}

struct lines {
	struct pmc_line *list;
	uint64_t n;
};

struct shown { /* which threads have a line of their own */
	const struct pmc_p_row *thread;
	UT_hash_handle hh;
};

/* The threads without a line of their own, by name pattern. */
static int fold_rest(struct pmc_view *view, const struct lines *lines, struct pmc_fold *rest)
{
	struct pmc_arena *arena = view->arena;
	struct shown *all = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*all)), *found;
	struct shown *table = NULL;

	if (!all)
		return -ENOMEM;
	for (uint64_t i = 0; i < lines->n; i++) {
		all[i].thread = lines->list[i].packed;
		HASH_ADD_PTR(table, thread, &all[i]);
	}
	if (arena->failed)
		return -ENOMEM;
	pmc_fold_begin(rest, &view->events, PMC_BY_NONE);
	rest->pattern = true;
	for (uint64_t i = 0; i < view->n_threads; i++) {
		const struct pmc_p_row *thread = view->threads[i];

		HASH_FIND_PTR(table, &thread, found);
		if (!found && pmc_fold_thread(rest, pmc_view_thread(view, thread)))
			return -ENOMEM;
	}
	return 0;
}

static int lines_of_rest(struct pmc_view *view, struct pmc_fold_row *total, struct lines *lines)
{
	const struct pmc_fold_row **groups;
	struct pmc_fold_row *others;
	struct pmc_fold rest;
	uint64_t n;
	int err = fold_rest(view, lines, &rest);

	if (!err)
		err = pmc_view_groups(view, &rest, 0, &groups, &n);
	others = pmc_arena_alloc(view->arena, sizeof(*others));
	if (err || !others || pmc_fold_init(others, &view->events))
		return err ? err : -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		bool single = groups[i]->threads == 1;

		pmc_fold_merge(total, groups[i], &view->events);
		if (i >= MAX_PATTERNS) {
			pmc_fold_merge(others, groups[i], &view->events);
			continue;
		}
		lines->list[lines->n++] = (struct pmc_line){
			.label = single ? NULL : groups[i]->label,
			.times = groups[i]->threads,
			.packed = single ? groups[i]->sample : NULL,
			.row = groups[i],
		};
	}
	if (others->threads)
		lines->list[lines->n++] = (struct pmc_line){ .label = "(other names)",
							     .times = others->threads,
							     .row = others };
	return 0;
}

/* Each row is read once: the total is that of the lines. */
static int lines_of_threads(struct pmc_view *view, struct pmc_fold_row *total, struct lines *lines)
{
	struct pmc_p_row **threads;
	uint64_t n, top = pmc_view_top(view);
	int err = pmc_view_threads(view, top, &threads, &n);

	if (err)
		return err;
	lines->list = pmc_arena_alloc(view->arena, (n + MAX_PATTERNS + 4) * sizeof(*lines->list));
	if (!lines->list)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		lines->list[lines->n++] = (struct pmc_line){ .packed = threads[i] };
		pmc_fold_add(total, &view->events, pmc_view_thread(view, threads[i]), false);
	}
	return n < view->n_threads ? lines_of_rest(view, total, lines) : 0;
}

static int lines_of_groups(struct pmc_view *view, struct pmc_fold_row *total, struct lines *lines)
{
	const struct pmc_fold_row **groups;
	struct pmc_fold_row *others;
	uint64_t n, shown = pmc_view_top(view);
	int err = pmc_view_groups(view, &view->groups, 0, &groups, &n);

	if (err)
		return err;
	shown = shown && shown < n ? shown : n;
	lines->list = pmc_arena_alloc(view->arena, (shown + 4) * sizeof(*lines->list));
	others = pmc_arena_alloc(view->arena, sizeof(*others));
	if (!lines->list || !others || pmc_fold_init_region(others, &view->events))
		return -ENOMEM;
	if (view->options->by != PMC_BY_REGION)
		others->self = NULL;
	for (uint64_t i = 0; i < n; i++) {
		if (view->options->by != PMC_BY_REGION)
			pmc_fold_merge(total, groups[i], &view->events);
		if (i < shown)
			lines->list[lines->n++] =
				(struct pmc_line){ .label = groups[i]->label, .row = groups[i] };
		else
			pmc_fold_merge(others, groups[i], &view->events);
	}
	if (shown < n)
		lines->list[lines->n++] =
			(struct pmc_line){ .label = "(other)", .times = n - shown, .row = others };
	return 0;
}

/* A row that only tells "nothing" is left out; one that could not be counted is not nothing. */
static bool says_something(const struct pmc_view *view, const struct pmc_fold_row *row)
{
	bool known = row->cpu.rows;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		if (row->events[i].sum)
			return true;
		known |= row->events[i].rows != 0;
	}
	return row->cpu.sum || !known;
}

static void lines_beside(struct pmc_view *view, struct pmc_ledger *ledger,
			 struct pmc_fold_row *total, struct lines *lines)
{
	if (view->options->n_where)
		return;
	if (ledger->has_unattributed) {
		sum_beside(view, total, &ledger->unattributed);
		lines->list[lines->n++] = (struct pmc_line){ .label = "─ unattributed",
							     .row = &ledger->unattributed,
							     .dim = true };
	}
	if (ledger->has_descendants && says_something(view, &ledger->descendants)) {
		sum_beside(view, total, &ledger->descendants);
		lines->list[lines->n++] = (struct pmc_line){
			.label = "─ descendants without agent",
			.row = &ledger->descendants,
			.dim = true,
		};
	}
}

/* Lines keep packed rows. */
static void with_thread(struct pmc_table *table, struct pmc_line *line,
			void (*use)(struct pmc_table *table, const struct pmc_line *line))
{
	if (line->packed)
		line->thread = pmc_view_thread(table->view, line->packed);
	use(table, line);
	if (line->packed)
		line->thread = NULL;
}

static int table_print(struct pmc_view *view, struct pmc_ledger *ledger, struct pmc_fold_row *total)
{
	const bool groups = view->options->by != PMC_BY_NONE;
	const bool regions = view->options->by == PMC_BY_REGION;
	struct pmc_table table = { .view = view };
	struct pmc_line sum = { .label = regions ? "all threads" : "total", .row = total };
	struct lines lines = { 0 };
	int err = 0;

	if (groups && !view->options->summary)
		err = lines_of_groups(view, total, &lines);
	else if (!view->options->summary)
		err = lines_of_threads(view, total, &lines);
	else
		lines.list = pmc_arena_alloc(view->arena, 4 * sizeof(*lines.list));
	/* Regions lie in each other and do not add up: they are shares of what the threads did. */
	for (uint64_t i = 0; (view->options->summary || regions) && i < view->n_threads; i++)
		pmc_fold_add(total, &view->events, pmc_view_thread(view, view->threads[i]), false);
	/* What a metric takes for the time that passed is the run's, not one thread's. */
	total->wall_ns = ledger->wall_ns;
	if (err || !lines.list)
		return err ? err : -ENOMEM;
	if (!regions)
		lines_beside(view, ledger, total, &lines);
	err = pmc_table_columns(&table, total, total->cpu.sum);
	if (err)
		return err;
	for (uint64_t i = 0; i < lines.n; i++)
		with_thread(&table, &lines.list[i], pmc_table_measure);
	pmc_table_measure(&table, &sum);
	pmc_table_fit(&table);
	title(view, ledger, total->cpu.sum);
	pmc_table_head(&table);
	for (uint64_t i = 0; i < lines.n; i++)
		with_thread(&table, &lines.list[i], pmc_table_line);
	pmc_table_line(&table, &sum);
	pmc_out_char(view->out, '\n');
	pmc_view_remarks(view, &table, ledger);
	return 0;
}

static int timeline_print(struct pmc_view *view, struct pmc_ledger *ledger,
			  struct pmc_fold_row *total)
{
	struct pmc_table table = { .view = view };
	int err = pmc_table_columns(&table, total, total->cpu.sum);

	if (err)
		return err;
	for (int pass = 0; pass < 2; pass++) {
		struct pmc_steps steps = { 0 };

		while (pmc_steps_next(view, &steps)) {
			struct pmc_line line = { .thread = &steps.thread,
						 .t_ns = steps.t_ns,
						 .dt_ns = steps.dt_ns };

			if (pass)
				pmc_table_line(&table, &line);
			else
				pmc_table_measure(&table, &line);
		}
		if (!pass) {
			pmc_table_fit(&table);
			title(view, ledger, ledger->cpu_ns);
			pmc_table_head(&table);
		}
	}
	pmc_out_char(view->out, '\n');
	pmc_view_remarks(view, &table, ledger);
	return 0;
}

int pmc_view_table(struct pmc_view *view)
{
	struct pmc_fold_row total;
	struct pmc_ledger ledger;
	int err = pmc_view_ledger(view, &ledger);

	if (err || pmc_fold_init(&total, &view->events))
		return err ? err : -ENOMEM;
	if (view->options->timeline) {
		struct pmc_steps steps = { 0 };

		while (pmc_steps_next(view, &steps))
			pmc_fold_add(&total, &view->events, &steps.thread, false);
		return timeline_print(view, &ledger, &total);
	}
	return table_print(view, &ledger, &total);
}
