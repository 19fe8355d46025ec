/* SPDX-License-Identifier: MIT */
/* lines.c - the cells and lines of a table. */
#include "agent/core/report/view.h"
#include "agent/core/base/utf8.h"

#include <string.h>

#define CELL_CAP 512

static void label_cell(struct pmc_table *table, const struct pmc_line *line, struct pmc_out *out)
{
	const char *label = line->label;
	size_t len = label ? strlen(label) : 0;
	int room = table->label_width, behind = 0;
	struct pmc_out times;
	char buf[48];

	if (!label && line->thread)
		label = pmc_thread_label(line->thread, &len);
	if (line->times > 1) {
		pmc_out_to_mem(&times, buf, sizeof(buf));
		pmc_out_str(&times, " ×");
		pmc_show_integer(&times, line->times);
		behind = pmc_utf8_columns(buf, times.len);
	}
	pmc_utf8_safe(out, label ? label : "", len,
		      room ? (room > behind + 4 ? room - behind : 4) : 0);
	if (behind)
		pmc_out_bytes(out, buf, times.len);
}

static void value_cell(struct pmc_table *table, const struct pmc_p_event *event,
		       const struct pmc_fold_stat *stat, enum pmc_part part, uint64_t rows,
		       struct pmc_out *out)
{
	enum pmc_state state = pmc_fold_state(stat, rows);
	struct pmc_cell cell = pmc_cell_stat(stat, 1, part, rows);
	double value = cell.kind == PMC_CELL_NUMBER ? (double)cell.number : cell.real;

	if (cell.kind == PMC_CELL_NULL) {
		pmc_out_char(out, '-');
		return;
	}
	if (event)
		value *= event->def.scale;
	if (!event || !strcmp(event->unit, "ns"))
		pmc_show_time(out, value);
	else
		pmc_show_number(out, value);
	table->scaled |= stat->scaled != 0;
	if (state == PMC_PARTIAL && part == PMC_PART_VALUE) {
		pmc_out_char(out, '+');
		table->partial = true;
	}
}

static void share_cell(const struct pmc_table *table, const struct pmc_fold_row *row,
		       struct pmc_out *out)
{
	if (!row->cpu.rows || !table->cpu_ns) {
		pmc_out_char(out, '-');
		return;
	}
	pmc_show_percent(out, 100.0 * (double)row->cpu.sum / (double)table->cpu_ns);
}

static void usage_cell(struct pmc_table *table, const struct pmc_fold_row *row, uint64_t value,
		       struct pmc_out *out)
{
	if (!row->usage_rows) {
		pmc_out_char(out, '-');
		return;
	}
	if (value < 100000)
		pmc_show_integer(out, value);
	else
		pmc_show_number(out, (double)value);
	if (row->usage_rows < row->rows) {
		pmc_out_char(out, '+');
		table->partial = true;
	}
}

/* The least of any event: a row is as good as its worst figure. Never rounded up to 100. */
static void ran_cell(const struct pmc_table *table, const struct pmc_fold_row *row,
		     struct pmc_out *out)
{
	double least = 2;

	for (unsigned i = 0; i < table->view->events.set.count; i++) {
		const struct pmc_fold_stat *stat = &row->events[i];
		double ran =
			stat->enabled_ns ? (double)stat->running_ns / (double)stat->enabled_ns : 1;

		if (stat->rows && ran < least)
			least = ran;
	}
	if (least > 1) {
		pmc_out_char(out, '-');
	} else if (least < 0.01) {
		pmc_out_str(out, "<1%");
	} else {
		pmc_out_u64(out, (uint64_t)(least * 100));
		pmc_out_char(out, '%');
	}
}

static void metric_cell(struct pmc_table *table, unsigned metric, const struct pmc_fold_row *row,
			struct pmc_out *out)
{
	double value;

	if (pmc_view_metric(table->view, metric, row, 0, &value))
		pmc_out_fixed(out, value, pmc_metrics[metric].decimals);
	else
		pmc_out_char(out, '-');
}

void pmc_table_cell(struct pmc_table *table, const struct pmc_table_column *column,
		    const struct pmc_line *line, const struct pmc_fold_row *row,
		    struct pmc_out *out)
{
	const struct pmc_p_process *process = line->thread ? line->thread->process : NULL;
	uint64_t start = process && process->known ? process->fixed.start_ns : 0;

	switch (column->kind) {
	case PMC_COL_LABEL:
		label_cell(table, line, out);
		break;
	case PMC_COL_HOST:
		if (process)
			pmc_utf8_safe(out, process->host, strlen(process->host), 20);
		break;
	case PMC_COL_PID:
		if (process && process->known)
			pmc_out_u64(out, process->fixed.pid);
		break;
	case PMC_COL_TID:
		if (line->thread)
			pmc_out_u64(out, line->thread->fixed.tid);
		break;
	case PMC_COL_AT:
		if (line->thread)
			pmc_show_time(out, line->t_ns > start ? (double)(line->t_ns - start) : 0);
		break;
	case PMC_COL_DT:
		if (line->thread)
			pmc_show_time(out, (double)line->dt_ns);
		break;
	case PMC_COL_THREADS:
		if (row->threads)
			pmc_show_integer(out, row->threads);
		break;
	case PMC_COL_CALLS:
		if (row->self)
			pmc_show_integer(out, row->calls);
		break;
	case PMC_COL_SELF:
		if (row->self)
			value_cell(table, NULL, &row->self->cpu, PMC_PART_VALUE, 0, out);
		break;
	case PMC_COL_CPU:
		value_cell(table, NULL, &row->cpu, column->part, 0, out);
		break;
	case PMC_COL_SHARE:
		share_cell(table, row, out);
		break;
	case PMC_COL_EVENT:
		if (column->part == PMC_PART_SELF) {
			if (row->self)
				value_cell(table, &table->view->events.set.events[column->index],
					   &row->self->events[column->index], PMC_PART_VALUE,
					   row->self->rows, out);
			break;
		}
		value_cell(table, &table->view->events.set.events[column->index],
			   &row->events[column->index], column->part, row->rows, out);
		break;
	case PMC_COL_METRIC:
		metric_cell(table, column->index, row, out);
		break;
	case PMC_COL_SWITCHES:
		usage_cell(table, row, row->voluntary_switches + row->involuntary_switches, out);
		break;
	case PMC_COL_FAULTS:
		usage_cell(table, row, row->minor_faults + row->major_faults, out);
		break;
	case PMC_COL_RAN:
		ran_cell(table, row, out);
		break;
	}
}

static const struct pmc_fold_row *row_of(struct pmc_table *table, const struct pmc_line *line)
{
	if (line->row)
		return line->row;
	pmc_view_row(table->view, line->thread);
	if (line->dt_ns)
		table->view->scratch.wall_ns = line->dt_ns;
	return &table->view->scratch;
}

void pmc_table_measure(struct pmc_table *table, const struct pmc_line *line)
{
	const struct pmc_fold_row *row = row_of(table, line);
	char buf[CELL_CAP];
	struct pmc_out cell;

	for (unsigned i = 0; i < table->n; i++) {
		int width;

		pmc_out_to_mem(&cell, buf, sizeof(buf));
		pmc_table_cell(table, &table->columns[i], line, row, &cell);
		width = pmc_utf8_columns(buf, cell.len);
		if (width > table->columns[i].width)
			table->columns[i].width = width;
	}
}

static void put(struct pmc_table *table, const struct pmc_table_column *column, const char *text,
		size_t len, bool last)
{
	struct pmc_out *out = table->view->out;
	int pad = column->width - pmc_utf8_columns(text, len);
	bool left = column->kind == PMC_COL_LABEL || column->kind == PMC_COL_HOST;

	pmc_out_pad(out, ' ', column->kind == PMC_COL_LABEL ? 2 : table->gap);
	pmc_out_pad(out, ' ', left ? 0 : pad);
	pmc_out_bytes(out, text, len);
	pmc_out_pad(out, ' ', left && !last ? pad : 0);
}

void pmc_table_head(struct pmc_table *table)
{
	struct pmc_out *out = table->view->out;

	/* Cells were made until now to be measured, of columns too that nobody will see. */
	table->partial = false;
	for (unsigned i = 0; i < table->n; i++)
		if (!table->columns[i].hidden)
			put(table, &table->columns[i], table->columns[i].head,
			    strlen(table->columns[i].head), false);
	pmc_out_char(out, '\n');
}

void pmc_table_line(struct pmc_table *table, const struct pmc_line *line)
{
	const struct pmc_fold_row *row = row_of(table, line);
	struct pmc_out *out = table->view->out, cell;
	bool dim = line->dim && table->view->options->color;
	char buf[CELL_CAP];

	if (dim)
		pmc_out_str(out, "\x1b[2m");
	for (unsigned i = 0; i < table->n; i++) {
		if (table->columns[i].hidden)
			continue;
		pmc_out_to_mem(&cell, buf, sizeof(buf));
		pmc_table_cell(table, &table->columns[i], line, row, &cell);
		put(table, &table->columns[i], buf, cell.len, i + 1 == table->n);
	}
	pmc_out_str(out, dim ? "\x1b[0m\n" : "\n");
}
