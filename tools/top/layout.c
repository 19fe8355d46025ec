/* SPDX-License-Identifier: MIT */
/* layout.c - which columns fit, and lines of text: title, head, rows, sparklines. */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/top/top.h"

#include <stdlib.h>
#include <string.h>

#define WIDEST_TEXT 32

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

static int priority_of(const struct top_watch *watch, const struct top_look *look, unsigned column)
{
	return column == look->sort && column != TOP_NAME ?
		       99 :
		       top_column_priority(watch, column, look->by);
}

static int width_of_text(const struct top_watch *watch, const struct top_look *look,
			 const struct top_rows *rows, unsigned column)
{
	const int most = column == TOP_COMMAND_ ? TOP_COMMAND : WIDEST_TEXT;
	int widest = top_column_width(watch, column, look->by);

	for (unsigned r = 0; r < rows->n && widest < most; r++) {
		char text[256];
		struct pmc_out out;
		int width;

		pmc_out_to_mem(&out, text, sizeof(text));
		top_cell(watch, &rows->rows[r], column, &out);
		width = pmc_utf8_columns(text, out.len);
		widest = width > widest ? width : widest;
	}
	return widest < most ? widest : most;
}

/* Command lines are asked for, so they come before columns that are not. */
static int least_width(const struct top_watch *watch, const struct top_look *look,
		       const struct top_rows *rows, unsigned column, int width)
{
	const int least = top_column_width(watch, column, look->by);
	const int all = column == TOP_COMMAND_ ? width_of_text(watch, look, rows, column) : least;

	return all < width / 2 ? all : least > width / 2 ? least : width / 2;
}

static void take(struct top_layout *layout, unsigned column, int width)
{
	unsigned at = layout->n++;

	/* In the order of columns.def; the history stands last. */
	while (at &&
	       (layout->columns[at - 1] > column || layout->columns[at - 1] == TOP_HISTORY_) &&
	       column != TOP_HISTORY_) {
		layout->columns[at] = layout->columns[at - 1];
		layout->widths[at] = layout->widths[at - 1];
		at--;
	}
	layout->columns[at] = column;
	layout->widths[at] = width;
}

static void widen(struct top_layout *layout, unsigned column, int most, int *left)
{
	for (unsigned i = 0; i < layout->n; i++) {
		int more = most - layout->widths[i];

		if (layout->columns[i] != column || more <= 0)
			continue;
		more = more < *left ? more : *left;
		layout->widths[i] += more;
		*left -= more;
	}
}

void top_layout_make(struct top_layout *layout, const struct top_watch *watch,
		     const struct top_look *look, const struct top_rows *rows, int width)
{
	int left = width;

	layout->n = layout->left_out = 0;
	for (int priority = 100; priority > 0; priority--)
		for (unsigned c = 0; c < top_n_columns(watch); c++) {
			int needs = least_width(watch, look, rows, c, width) + (layout->n ? 1 : 0);

			if (priority_of(watch, look, c) != priority ||
			    !top_column_applies(watch, c, look->by))
				continue;
			if (needs > left || layout->n == TOP_MOST_COLUMNS) {
				layout->left_out++;
				continue;
			}
			take(layout, c, needs - (layout->n ? 1 : 0));
			left -= needs;
		}
	widen(layout, TOP_NAME, width_of_text(watch, look, rows, TOP_NAME), &left);
	widen(layout, TOP_WHERE, width_of_text(watch, look, rows, TOP_WHERE), &left);
	widen(layout, TOP_START, width_of_text(watch, look, rows, TOP_START), &left);
	widen(layout, TOP_STATE, width_of_text(watch, look, rows, TOP_STATE), &left);
	widen(layout, TOP_COMMAND_, width_of_text(watch, look, rows, TOP_COMMAND_), &left);
	widen(layout, TOP_HISTORY_, TOP_HISTORY - 1, &left);
}

void top_put_left_out(const struct top_layout *layout, const struct top_watch *watch,
		      const struct top_look *look, struct pmc_out *out)
{
	const char *comma = "";

	for (unsigned c = 0; c < top_n_columns(watch); c++) {
		unsigned i = 0;

		while (i < layout->n && layout->columns[i] != c)
			i++;
		if (i < layout->n || !top_column_applies(watch, c, look->by))
			continue;
		pmc_outf(out, "%s%s", comma, top_column_head(watch, c, look->by));
		comma = ", ";
	}
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool is_left(unsigned column)
{
	return top_column_is_text(column) || column == TOP_HISTORY_;
}

static void put_cell(struct pmc_out *out, const char *text, size_t len, int width, bool left,
		     bool ascii)
{
	char fitted[1024];
	struct pmc_out cell;
	int columns;

	pmc_out_to_mem(&cell, fitted, sizeof(fitted));
	columns = pmc_utf8_fit(&cell, text, len, width, PMC_CUT_END, ascii);
	if (!left)
		pmc_out_pad(out, ' ', width - columns);
	pmc_out_bytes(out, fitted, cell.len);
	if (left)
		pmc_out_pad(out, ' ', width - columns);
}

void top_put_head(const struct top_layout *layout, const struct top_watch *watch,
		  const struct top_look *look, bool ascii, struct pmc_out *out)
{
	for (unsigned i = 0; i < layout->n; i++) {
		const unsigned column = layout->columns[i];
		const char *head = top_column_head(watch, column, look->by);
		char text[32];
		struct pmc_out last;

		if (column == TOP_HISTORY_) {
			pmc_out_to_mem(&last, text, sizeof(text));
			pmc_outf(&last, "last %llu s",
				 (unsigned long long)layout->widths[i] * watch->slot_ns /
					 1000000000u);
			head = text;
		}
		if (i)
			pmc_out_char(out, ' ');
		put_cell(out, head, strlen(head), layout->widths[i], is_left(column), ascii);
	}
}

static void put_history(const struct top_watch *watch, const struct top_row *row, int width,
			bool ascii, struct pmc_out *out)
{
	const unsigned room = (unsigned)width, n = watch->slots < room ? watch->slots : room;
	uint64_t most = watch->slot_ns / 1000;

	for (unsigned i = 0; i < watch->slots; i++)
		if (row->cpu_us[top_slot(watch, i)] > most)
			most = row->cpu_us[top_slot(watch, i)];
	pmc_out_pad(out, ' ', width - (int)n);
	if (n)
		top_put_sparkline(row->cpu_us, top_slot(watch, n - 1), n, most, ascii, out);
}

void top_put_row(const struct top_layout *layout, const struct top_watch *watch,
		 const struct top_row *row, bool ascii, struct pmc_out *out)
{
	for (unsigned i = 0; i < layout->n; i++) {
		char text[512];
		struct pmc_out cell;

		if (i)
			pmc_out_char(out, ' ');
		if (layout->columns[i] == TOP_HISTORY_) {
			put_history(watch, row, layout->widths[i], ascii, out);
			continue;
		}
		pmc_out_to_mem(&cell, text, sizeof(text));
		top_cell(watch, row, layout->columns[i], &cell);
		put_cell(out, text, cell.len, layout->widths[i], is_left(layout->columns[i]),
			 ascii);
	}
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
