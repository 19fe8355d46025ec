/* SPDX-License-Identifier: MIT */
/* summary_print.c - prints a summary: title, rows by CPU time, total, coverage; see summary.h. */
#include "agent/process/summary.h"
#include "lib/base/number.h"
#include "lib/base/show.h"
#include "lib/base/utf8.h"

#include <linux/perf_event.h>
#include <string.h>

#include "agent/base/poison.h"

enum {
	LINES = SUMMARY_THREADS + 3,  /* others, unattributed, total */
	COLUMNS = 7 + PMC_EVENTS_MAX, /* thread or pool is not one of them */
	NAME_MOST = 40,		      /* columns of a command or an event's name */
};

struct column {
	enum { NUMBER, SHARE, IPC, CELL } kind;
	unsigned cell; /* of IPC: that of instructions */
	unsigned by;   /* of IPC: that of cycles */
	double factor;
	struct pmc_scale scale;
	char head[64];
	int width;
	bool plus;	/* a cell has one: the others get a space there */
	bool user_only; /* not what was asked for */
};

/* Bytes of a hint that repeats the command. */
#define COMMAND_MOST 60

struct page {
	struct summary *s;
	const struct summary_form *form;
	struct pmc_out *out;
	const char *dot, *micro;
	char source[1024]; /* the command that shows all */
	unsigned n_lines, n_columns, hidden;
	const char *labels[LINES];
	const struct summary_row *lines[LINES];
	int label_width;
	struct summary_row unattributed, total;
	struct column columns[COLUMNS];
	bool scaled, lacks, user_only; /* marks that the table has */
	struct pmc_out line;	       /* of the footer, in text */
	char text[8192];
};

/* ---- lines -------------------------------------------------------------------------------- */

static void add_line(struct page *page, const char *label, const struct summary_row *row)
{
	const int width = pmc_utf8_columns(label, strlen(label));

	if (page->label_width < width)
		page->label_width = width;
	page->labels[page->n_lines] = label;
	page->lines[page->n_lines++] = row;
}

/* The rows with most CPU time, then what the others have, and what no row has. Of that only the CPU
 * time is known; where it is worth mentioning, the other sums lack something. */
static void make_lines(struct page *page)
{
	struct summary *s = page->s;
	const struct summary_row *sorted[SUMMARY_POOLS];
	struct summary_cell *cpu = &page->total.cells[SUMMARY_CPU];
	uint64_t rest_ns;

	for (unsigned n = 0; n < s->n_rows; n++) {
		const struct summary_row *row = &s->rows[n];
		unsigned at = n;

		for (; at && sorted[at - 1]->cells[SUMMARY_CPU].sum < row->cells[SUMMARY_CPU].sum;
		     at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = row;
	}
	for (unsigned i = SUMMARY_THREADS; i < s->n_rows; i++)
		summary_add_row(&s->rest, sorted[i]);
	summary_add_row(&page->total, &s->rest);
	for (unsigned i = 0; i < s->n_rows && i < SUMMARY_THREADS; i++) {
		summary_add_row(&page->total, sorted[i]);
		if (page->form->rows)
			add_line(page, sorted[i]->many_names ? sorted[i]->pool : sorted[i]->name,
				 sorted[i]);
	}
	if (page->form->rows && s->rest.threads)
		add_line(page, "(others)", &s->rest);
	rest_ns = pmc_sub_sat(s->cpu_ns, cpu->sum);
	page->unattributed.cells[SUMMARY_CPU] = (struct summary_cell){ rest_ns, .known = true };
	*cpu = (struct summary_cell){ cpu->sum + rest_ns, .known = true };
	for (unsigned i = SUMMARY_CPU + 1; i < SUMMARY_EVENTS + s->n_events; i++)
		page->total.cells[i].lacks |= rest_ns > 1000000 && rest_ns > cpu->sum / 200;
	add_line(page, page->form->screen.ascii ? "- unattributed" : "─ unattributed",
		 &page->unattributed);
	add_line(page, "total", &page->total);
}

/* ---- columns ------------------------------------------------------------------------------ */

/* Without marks. A value that is not 0 is not printed as 0.00. */
static void put_value(const struct pmc_scale *scale, double value, struct pmc_out *out)
{
	static const double least[] = { 1, 0.1, 0.01, 0.001 };

	if (value > 0 && value / scale->divisor < least[scale->decimals & 3] / 2) {
		pmc_out_char(out, '<');
		value = least[scale->decimals & 3] * scale->divisor;
	}
	pmc_show_scaled(out, scale, value);
}

/* Of threads; else their IDs stand there. */
static bool has_numbers(const struct page *page)
{
	return page->s->pools || !page->form->rows;
}

/* A cell of a row, or nothing. */
static void put_cell(struct page *page, const struct column *column, const struct summary_row *row,
		     struct pmc_out *out)
{
	const struct summary_cell *cell = &row->cells[column->cell], *by = &row->cells[column->by];
	const uint64_t all_ns = page->total.cells[SUMMARY_CPU].sum;

	if (column->kind == NUMBER && has_numbers(page)) {
		if (row->threads)
			pmc_show_integer(out, row->threads);
	} else if (column->kind == NUMBER) {
		if (row->tid)
			pmc_out_u64(out, row->tid);
	} else if (!cell->known || (column->kind == IPC && !by->sum)) {
		pmc_out_char(out, '-');
	} else if (column->kind == SHARE) {
		pmc_show_percent(out, all_ns ? 100 * (double)cell->sum / (double)all_ns : 0);
	} else {
		pmc_out_str(out, cell->scaled ? "~" : "");
		if (column->kind == IPC)
			pmc_out_fixed(out, (double)cell->sum / (double)by->sum, 2);
		else
			put_value(&column->scale, (double)cell->sum * column->factor, out);
		pmc_out_str(out, cell->lacks && column->kind == CELL ? "+" : "");
		page->scaled |= cell->scaled;
		page->lacks |= cell->lacks;
	}
}

/* Adds a column that is complete but for its width. */
static struct column *add_column(struct page *page, const struct column *as)
{
	struct column *column = &page->columns[page->n_columns++];
	struct pmc_out out;
	char text[64];

	*column = *as;
	column->width = pmc_utf8_columns(column->head, strlen(column->head));
	for (unsigned i = 0; i < page->n_lines; i++) {
		pmc_out_to_mem(&out, text, sizeof(text));
		put_cell(page, column, page->lines[i], &out);
		column->plus |= out.len && text[out.len - 1] == '+';
		if ((int)out.len > column->width)
			column->width = (int)out.len;
	}
	column->width += column->plus;
	return column;
}

/* unit: "ns" makes it a time; else it follows the head. */
static struct column *add_cells(struct page *page, const char *head, const char *unit,
				double factor, unsigned cell)
{
	const double most = (double)page->total.cells[cell].sum * factor;
	struct column column = { .kind = CELL, .cell = cell, .factor = factor };
	struct pmc_out out;

	column.scale = (struct pmc_scale){ 1, 0, "" };
	if (strcmp(unit, "ns") == 0)
		pmc_scale_time(&column.scale, most, page->micro);
	else if (most > 999999 || factor != 1)
		pmc_scale_count(&column.scale, most, factor != 1);
	pmc_out_to_mem(&out, column.head, sizeof(column.head));
	pmc_outf(&out, *column.scale.unit ? "%s %s" : "%s", head, column.scale.unit);
	return add_column(page, &column);
}

static void add_event(struct page *page, unsigned index)
{
	const struct summary_event *event = &page->s->events[index];
	const bool user =
		event->def.flags & PMC_EVENT_FELL_BACK && event->def.scope == PMC_SCOPE_USER;
	char head[64], unit[8];
	struct pmc_out out;

	pmc_out_to_mem(&out, unit, sizeof(unit));
	pmc_out_bytes(&out, event->unit, event->unit_len);
	pmc_out_to_mem(&out, head, sizeof(head));
	pmc_utf8_fit(&out, event->name, event->name_len, NAME_MOST, PMC_CUT_MIDDLE,
		     page->form->screen.ascii);
	pmc_out_str(&out, user ? ":u" : "");
	if (unit[0] && strcmp(unit, "ns") != 0)
		pmc_outf(&out, " %s", unit);
	add_cells(page, head, unit, event->def.scale, SUMMARY_EVENTS + index)->user_only = user;
}

static bool is_event(const struct summary_event *event, uint32_t type, uint32_t config)
{
	/* The upper half is the PMU of one type of core. */
	return event->state == SUMMARY_COUNTED && event->def.type == type &&
	       (uint32_t)event->def.config == config;
}

/* Whether each part of one event has a part of the other in its group. */
static bool run_together(const struct summary *s, unsigned a, unsigned b)
{
	unsigned lone = 0;

	for (unsigned i = 0; i < s->n_parts; i++) {
		bool found = s->parts[i].event != a;

		for (unsigned j = 0; j < s->n_parts; j++)
			found |= s->parts[j].event == b && s->parts[j].group == s->parts[i].group;
		lone += !found;
	}
	return !lone;
}

static void add_ipc(struct page *page)
{
	const struct summary *s = page->s;

	for (unsigned i = 0; i < s->n_events; i++)
		for (unsigned j = 0; j < s->n_events; j++)
			if (is_event(&s->events[i], PERF_TYPE_HARDWARE,
				     PERF_COUNT_HW_INSTRUCTIONS) &&
			    is_event(&s->events[j], PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) &&
			    run_together(s, i, j)) {
				add_column(page, &(struct column){ .kind = IPC,
								   .cell = SUMMARY_EVENTS + i,
								   .by = SUMMARY_EVENTS + j,
								   .head = "IPC" });
				return;
			}
}

static int table_width(const struct page *page)
{
	int width = 2 + page->label_width;

	for (unsigned i = 0; i < page->n_columns; i++)
		width += 2 + page->columns[i].width;
	return width;
}

/* Events beyond the width have no column; one that counts the whole machine has none here. */
static void make_columns(struct page *page)
{
	const struct summary *s = page->s;
	bool faults = false;
	unsigned first, end;

	add_column(page, &(struct column){ .kind = NUMBER, .head = "tid" });
	if (has_numbers(page))
		memcpy(page->columns[0].head, "n", sizeof("n"));
	add_cells(page, "cpu", "ns", 1, SUMMARY_CPU);
	add_column(page, &(struct column){ .kind = SHARE, .cell = SUMMARY_CPU, .head = "%" });
	first = page->n_columns;
	for (unsigned i = 0; i < s->n_events; i++) {
		const enum summary_state state = s->events[i].state;

		page->hidden += state == SUMMARY_OF_MACHINE;
		faults |= is_event(&s->events[i], PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
		if (state == SUMMARY_COUNTED ||
		    (state == SUMMARY_NOT_COUNTED && !page->form->default_events))
			add_event(page, i);
	}
	end = page->n_columns;
	add_ipc(page);
	add_cells(page, "vol", "", 1, SUMMARY_VOLUNTARY);
	add_cells(page, "invol", "", 1, SUMMARY_INVOLUNTARY);
	if (!faults)
		add_cells(page, "page-faults", "", 1, SUMMARY_FAULTS);
	for (; end > first && table_width(page) > pmc_screen_width(&page->form->screen); end--) {
		memmove(&page->columns[end - 1], &page->columns[end],
			(page->n_columns-- - end) * sizeof(*page->columns));
		page->hidden++;
	}
}

/* ---- printing ----------------------------------------------------------------------------- */

static void put_table(struct page *page)
{
	const bool ascii = page->form->screen.ascii;

	for (unsigned row = 0; row <= page->n_lines; row++) {
		const char *label = row ? page->labels[row - 1] : "thread";
		int width;

		pmc_out_str(page->out, "  ");
		width = pmc_utf8_fit(page->out, label, strlen(label), 0, PMC_CUT_END, ascii);
		pmc_out_pad(page->out, ' ', page->label_width - width);
		for (unsigned i = 0; i < page->n_columns; i++) {
			const struct column *column = &page->columns[i];
			struct pmc_out out;
			char text[64];
			bool plus;

			pmc_out_to_mem(&out, text, sizeof(text));
			if (row)
				put_cell(page, column, page->lines[row - 1], &out);
			else
				pmc_out_str(&out, column->head);
			plus = out.len && text[out.len - 1] == '+';
			pmc_out_pad(page->out, ' ',
				    2 + column->width - pmc_utf8_columns(text, out.len) -
					    (column->plus && !plus));
			pmc_out_str(page->out, text);
			if (column->plus && !plus && i + 1 < page->n_columns)
				pmc_out_char(page->out, ' ');
			page->user_only |= column->user_only;
		}
		pmc_out_char(page->out, '\n');
	}
	pmc_out_char(page->out, '\n');
}

/* Ends a line with what is printed. */
__attribute__((format(__printf__, 2, 3))) static void end_line(struct page *page,
							       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pmc_voutf(&page->line, format, args);
	va_end(args);
	pmc_show_wrapped(page->out, page->text, pmc_screen_width(&page->form->screen));
	pmc_out_to_mem(&page->line, page->text, sizeof(page->text));
}

/* The command line without the directories of the program. */
static void put_command(const struct page *page, int columns, struct pmc_out *out)
{
	const char *command = page->form->command;
	size_t at = strcspn(command, " ");

	while (at && command[at - 1] != '/')
		at--;
	pmc_utf8_fit(out, command + at, strlen(command + at), columns, PMC_CUT_END,
		     page->form->screen.ascii);
}

static void put_title(struct page *page)
{
	const struct summary *s = page->s;
	const uint64_t wall_ns = pmc_sub_sat(pmc_sub_sat(s->end_ns, s->start_ns), s->off_ns);
	const double cpu_ns = (double)page->total.cells[SUMMARY_CPU].sum;
	struct pmc_out *line = &page->line;

	pmc_out_str(line, " pmcagent: ");
	put_command(page, NAME_MOST, line);
	pmc_out_str(line, "  ");
	pmc_show_time(line, (double)wall_ns, page->micro);
	pmc_outf(line, " wall%s", page->dot);
	pmc_show_time(line, cpu_ns, page->micro);
	pmc_out_str(line, " CPU (");
	pmc_out_fixed(line, wall_ns ? cpu_ns / (double)wall_ns : 0, 2);
	pmc_outf(line, " CPUs)%s", page->dot);
	pmc_show_count(line, page->total.threads, "thread", "threads");
	end_line(page, "\n");
}

static void put_coverage(struct page *page)
{
	const struct summary *s = page->s;
	const uint64_t all_ns = page->total.cells[SUMMARY_CPU].sum,
		       rest_ns = page->unattributed.cells[SUMMARY_CPU].sum;
	struct pmc_out *line = &page->line;

	pmc_out_str(line, " coverage ");
	pmc_show_percent(line, all_ns ? 100 * (double)(all_ns - rest_ns) / (double)all_ns : 100);
	pmc_outf(line, " %% of CPU%s", page->dot);
	pmc_show_integer(line, s->counted);
	pmc_out_str(line, " of ");
	pmc_show_count(line, s->seen > page->total.threads ? s->seen : page->total.threads,
		       "thread counted", "threads counted");
	pmc_outf(line, "%sagent overhead ", page->dot);
	pmc_show_percent(line, all_ns ? 100 * (double)s->overhead_ns / (double)all_ns : 0);
	end_line(page, " %%");
	if (s->off_ns) {
		pmc_out_str(line, " not counted for ");
		pmc_show_time(line, (double)s->off_ns, page->micro);
		end_line(page, ": counting was off (PMC_START, PMC_DELAY, pmctl ctl)");
	}
}

static void put_children(struct page *page)
{
	const struct summary *s = page->s;
	/* Those that were waited for include programs without the agent. */
	const uint64_t cpu_ns =
		s->waited_cpu_ns > s->children_cpu_ns ? s->waited_cpu_ns : s->children_cpu_ns;

	if (!s->children && (cpu_ns < 10000000 || cpu_ns < s->cpu_ns / 100))
		return;
	pmc_out_char(&page->line, ' ');
	if (s->children)
		pmc_show_count(&page->line, s->children, "child process, ", "child processes, ");
	else
		pmc_out_str(&page->line, "child processes, ");
	pmc_show_time(&page->line, (double)cpu_ns, page->micro);
	end_line(page, " CPU; %s shows %s", page->source, s->children == 1 ? "it" : "them");
}

/* Leaves a line open if there are no hardware counters at all. */
static void put_uncounted(struct page *page)
{
	const struct summary *s = page->s;
	unsigned n = 0, counted = 0;

	for (unsigned i = 0; i < s->n_events; i++)
		counted += s->events[i].state == SUMMARY_COUNTED;
	if (s->n_events && !counted && page->form->default_events) {
		pmc_out_str(&page->line, " no hardware counters here (pmctl doctor)");
		return;
	}
	for (unsigned i = 0; i < s->n_events; i++) {
		const struct summary_event *event = &s->events[i];

		if (event->state != SUMMARY_NOT_COUNTED)
			continue;
		pmc_out_str(&page->line, n++ ? ", " : " not counted: ");
		pmc_utf8_fit(&page->line, event->name, event->name_len, NAME_MOST, PMC_CUT_MIDDLE,
			     page->form->screen.ascii);
	}
	if (n)
		end_line(page, "; pmctl doctor says why");
}

static void put_footer(struct page *page)
{
	const char *wanted = page->form->wanted;

	put_coverage(page);
	put_children(page);
	put_uncounted(page);
	pmc_out_str(&page->line, page->line.len ? page->dot : " ");
	end_line(page, "%s%s", page->form->dump ? "full report: " : "keep this run: ",
		 page->form->dump ? page->source : "PMC_OUT=run.pmc");
	if (wanted)
		end_line(
			page,
			" PMC_REPORT=%s: pmctl run --report %s prints that, or pmctl report from a "
			"dump",
			wanted, wanted);
	if (page->hidden)
		end_line(page, " %u more event%s; %s shows %s", page->hidden,
			 page->hidden > 1 ? "s" : "", page->source,
			 page->hidden > 1 ? "them" : "it");
	if (page->user_only)
		end_line(page, " :u: counted in user mode only; pmctl doctor says why");
	if (page->scaled)
		end_line(page, " ~: multiplexed; an estimate from a part of the time");
	if (page->lacks)
		end_line(page, " +: at least this much; not all of the CPU time was counted");
}

void summary_print(struct summary *s, const struct summary_form *form, struct pmc_out *out)
{
	struct page *page = pmc_arena_alloc(&s->arena, sizeof(*page));
	struct pmc_out source;

	if (!page)
		return;
	page->s = s;
	page->form = form;
	page->out = out;
	page->dot = form->screen.ascii ? ", " : " · ";
	page->micro = form->screen.ascii ? "us" : "µs";
	pmc_out_to_mem(&page->line, page->text, sizeof(page->text));
	pmc_out_to_mem(&source, page->source, sizeof(page->source));
	pmc_out_str(&source, form->dump ? "pmctl report " : "pmctl run -- ");
	if (form->dump)
		pmc_utf8_shell(&source, form->dump, form->screen.ascii);
	else
		put_command(page, 0, &source);
	/* Nobody types a long command again. */
	if (!form->dump && source.len > COMMAND_MOST) {
		pmc_out_to_mem(&source, page->source, sizeof(page->source));
		pmc_out_str(&source, "pmctl run -- CMD");
	}
	make_lines(page);
	make_columns(page);
	put_title(page);
	put_table(page);
	put_footer(page);
}
