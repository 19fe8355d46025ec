/* SPDX-License-Identifier: MIT */
/* layout.c - which columns fit, and lines of text: title, head, rows, sparklines. */
#include "lib/base/utf8.h"
#include "tools/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const ascii_blocks[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
#define N_BLOCKS 9

void top_put_sparkline(const uint32_t *us, unsigned from, unsigned n, uint64_t most, bool ascii,
		       struct pmc_out *out)
{
	for (unsigned i = 0; i < n; i++) {
		const uint64_t value = us[(from + i) % TOP_HISTORY];
		uint64_t level = most ? (value * (N_BLOCKS - 1) + most / 2) / most : 0;

		/* What is not 0 is seen. */
		if (!level && value)
			level = 1;
		if (level >= N_BLOCKS)
			level = N_BLOCKS - 1;
		pmc_out_str(out, (ascii ? ascii_blocks : blocks)[level]);
	}
}

/* ---- columns -------------------------------------------------------------------------------- */

static void set_row(void *arg, uint64_t i)
{
	struct top_source *source = arg;

	source->row = &source->rows->rows[source->first + i];
}

struct table top_table(struct top_source *source, struct pmc_arena *arena)
{
	return (struct table){
		.n_rows = source->rows->n - source->first,
		.arg = source,
		.row = set_row,
		.cell = top_cell,
		.arena = arena,
		.tight = true,
	};
}

static int room_left(const struct table *table, int width)
{
	int left = width + table->gap;

	for (unsigned i = 0; i < table->n; i++)
		if (!table->places[i].hidden)
			left -= table->places[i].width + table->gap;
	return left;
}

/* Where a wide column has no room, a narrow one of less importance may have. The history takes what
 * is left. */
static void use_room(struct top_layout *layout, int width)
{
	struct table *table = &layout->table;
	struct table_place *history = NULL;
	struct pmc_out head;
	int left;

	for (struct table_place *next = table->places; next;) {
		next = NULL;
		for (unsigned i = 0; i < table->n; i++) {
			struct table_place *place = &table->places[i];

			if (place->hidden && place->width + table->gap <= room_left(table, width) &&
			    (!next || place->column->place < next->column->place))
				next = place;
		}
		if (next)
			next->hidden = false;
	}
	for (unsigned i = 0; i < table->n; i++) {
		if (table->places[i].hidden)
			layout->left_out++;
		else if (table->places[i].column->index == TOP_HISTORY_)
			history = &table->places[i];
	}
	if (!history)
		return;
	left = room_left(table, width);
	history->width += left > 0 ? left : 0;
	if (history->width > TOP_HISTORY - 1)
		history->width = TOP_HISTORY - 1;
	layout->source.history = history->width;
	pmc_out_to_mem(&head, history->head, sizeof(history->head));
	pmc_outf(&head, "last %llu s",
		 (unsigned long long)history->width * layout->source.watch->slot_ns / 1000000000u);
}

int top_layout_make(struct top_layout *layout, const struct top_job *job, unsigned first,
		    unsigned n_rows, int width)
{
	struct table *table = &layout->table;
	const char *problem = NULL;
	unsigned n;
	int error;

	pmc_arena_free(&layout->arena);
	layout->left_out = 0;
	layout->source = (struct top_source){
		.watch = &job->watch, .rows = &job->rows, .first = first, .ascii = job->screen.ascii
	};
	*table = top_table(&layout->source, &layout->arena);
	table->screen = job->screen;
	table->screen.width = width;
	table->columns = layout->columns =
		top_columns(&job->watch, &job->look, width, &layout->arena, &table->n_columns);
	if (!layout->columns)
		return -ENOMEM;
	if (job->flags.columns) {
		error = table_choose(layout->columns, table->n_columns, job->flags.columns,
				     &layout->arena, &layout->columns, &n, &problem);
		/* Other rows have other columns. */
		if (error == -ENOMEM)
			return error;
		if (!error) {
			table->columns = layout->columns;
			table->n_columns = n;
		}
	}
	if (n_rows < table->n_rows)
		table->n_rows = n_rows;
	if (width == TOP_DATA)
		return 0;
	error = table_layout(table);
	if (!error)
		use_room(layout, width);
	return error;
}

/* ---- the title ------------------------------------------------------------------------------ */

static void put_target(const struct top_watch *watch, struct pmc_out *out)
{
	unsigned roots;
	const struct top_process *first = top_first_root(watch, &roots);

	if (watch->flags->all) {
		pmc_out_str(out, "the machine");
	} else if (first) {
		pmc_out_str(out, first->name);
		pmc_outf(out, " %d", first->pid);
		if (roots > 1)
			pmc_outf(out, " and %u more", roots - 1);
	} else {
		pmc_out_str(out, "ended");
	}
}

static void put_cpus(const struct top_rows *rows, uint64_t ns, const char *what,
		     struct pmc_out *out)
{
	pmc_out_fixed(out, rows->wall_ns ? (double)ns / (double)rows->wall_ns : 0, 2);
	pmc_out_str(out, what);
}

enum brevity { FULL, SHORT_WORDS, NO_PROCESSES, CPUS_ONLY };

static void put_title(const struct top_watch *watch, const struct top_look *look,
		      const struct top_rows *rows, const char *dot, enum brevity brevity,
		      struct pmc_out *out)
{
	const uint64_t known = rows->sum.cpu_ns;

	put_target(watch, out);
	/* What hides rows must not be cut off. */
	if (look->only) {
		pmc_out_str(out, dot);
		pmc_out_str(out, "only ");
		pmc_out_str(out, look->only_name);
	}
	if (look->filter[0]) {
		pmc_out_str(out, dot);
		pmc_outf(out, "filter %s (%u hidden)", look->filter, rows->hidden);
	}
	if (look->sort != TOP_CPU && brevity < CPUS_ONLY) {
		pmc_out_str(out, dot);
		pmc_out_str(out, "by ");
		pmc_out_str(out, top_column_name(watch, look->sort));
	}
	if (brevity < CPUS_ONLY) {
		pmc_out_str(out, dot);
		pmc_show_count(out, rows->threads, "thread", "threads");
	}
	if (brevity < NO_PROCESSES) {
		pmc_out_str(out, " in ");
		pmc_show_count(out, rows->processes, "process", "processes");
	}
	if (watch->before_ns) {
		pmc_out_str(out, dot);
		put_cpus(rows, rows->cpu_ns, " CPUs", out);
		/* CPU time that no row has. */
		if (look->by != TOP_PROCESS && rows->cpu_ns > known + rows->wall_ns / 100 &&
		    brevity < CPUS_ONLY) {
			pmc_out_str(out, " (");
			put_cpus(rows, rows->cpu_ns - known,
				 brevity ? " ended)" : " by threads that ended)", out);
		}
		pmc_out_str(out, dot);
		put_cpus(rows, rows->sum.delay_ns, brevity ? " waiting" : " waiting for one", out);
	}
	/* The first thread whose events could not be opened. */
	if (watch->error) {
		pmc_out_str(out, dot);
		pmc_outf(out, "no events of some threads: %s", strerror(-watch->error));
	}
}

/* The first form that fits, as lines are cut at their ends: the numbers of CPUs would be missing.
 */
void top_put_title(const struct top_watch *watch, const struct top_look *look,
		   const struct top_rows *rows, int width, bool ascii, struct pmc_out *out)
{
	const char *dot = ascii ? ", " : " · ";
	char text[1024];
	struct pmc_out title;

	for (enum brevity b = FULL; b <= CPUS_ONLY; b++) {
		pmc_out_to_mem(&title, text, sizeof(text));
		put_title(watch, look, rows, dot, b, &title);
		if (pmc_utf8_columns(text, title.len) <= width)
			break;
	}
	pmc_out_bytes(out, text, title.len);
}
