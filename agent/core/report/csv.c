/* SPDX-License-Identifier: MIT */
/* csv.c - rows as CSV after RFC 4180 (lines end in LF), empty where nothing is known. */
#include "agent/core/report/view.h"
#include "agent/core/base/utf8.h"

#include <string.h>

void pmc_view_csv_text(struct pmc_out *out, const char *text, size_t len)
{
	bool quote = memchr(text, ',', len) || memchr(text, '"', len) ||
		     (len && (text[0] == ' ' || text[len - 1] == ' '));
	size_t from = 0;

	if (!quote) {
		pmc_utf8_safe(out, text, len, 0);
		return;
	}
	/* Line breaks come out escaped, so the quotes are all that is left to double. */
	pmc_out_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '"')
			continue;
		pmc_utf8_safe(out, text + from, i + 1 - from, 0);
		pmc_out_char(out, '"');
		from = i + 1;
	}
	pmc_utf8_safe(out, text + from, len - from, 0);
	pmc_out_char(out, '"');
}

void pmc_view_csv_cell(struct pmc_out *out, const struct pmc_cell *cell)
{
	struct pmc_json number;

	switch (cell->kind) {
	case PMC_CELL_NULL:
		break;
	case PMC_CELL_NUMBER:
		pmc_out_u64(out, cell->number);
		break;
	case PMC_CELL_REAL:
		if (cell->real - cell->real == 0) {
			pmc_json_init(&number, out, false);
			pmc_json_double(&number, NULL, cell->real);
		}
		break;
	case PMC_CELL_TEXT:
		pmc_view_csv_text(out, cell->text, cell->len);
		break;
	}
}

static void head_name(struct pmc_out *out, const char *label, const char *suffix)
{
	char buf[512];
	struct pmc_out name;

	pmc_out_to_mem(&name, buf, sizeof(buf));
	pmc_out_str(&name, label);
	pmc_out_str(&name, suffix);
	pmc_out_char(out, ',');
	pmc_view_csv_text(out, buf, name.len);
}

static void metric_heads(struct pmc_view *view)
{
	for (unsigned i = 0; i < pmc_n_metrics; i++)
		if (view->metric_applies[i])
			head_name(view->out, pmc_metrics[i].name, "");
	pmc_out_char(view->out, '\n');
}

static void event_cells(struct pmc_view *view, const struct pmc_fold_row *row,
			const struct pmc_part_name *parts, unsigned n)
{
	for (unsigned i = 0; i < view->events.set.count; i++) {
		for (unsigned p = 0; p < n; p++) {
			struct pmc_ref ref = { .kind = PMC_REF_EVENT,
					       .index = i,
					       .part = parts[p].part };
			struct pmc_cell cell = pmc_cell_row(view, &ref, row);

			pmc_out_char(view->out, ',');
			pmc_view_csv_cell(view->out, &cell);
		}
	}
}

static void metric_cells(struct pmc_view *view, const struct pmc_fold_row *row)
{
	struct pmc_cell cell;
	double value;

	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		if (!view->metric_applies[i])
			continue;
		pmc_out_char(view->out, ',');
		cell = (struct pmc_cell){ .kind = PMC_CELL_NULL };
		if (pmc_view_metric(view, i, row, 0, &value))
			cell = (struct pmc_cell){ .kind = PMC_CELL_REAL, .real = value };
		pmc_view_csv_cell(view->out, &cell);
	}
	pmc_out_char(view->out, '\n');
}

void pmc_view_csv_events(struct pmc_view *view, const struct pmc_fold_row *row)
{
	event_cells(view, row, pmc_thread_parts, pmc_n_thread_parts);
	metric_cells(view, row);
}

static void csv_head(struct pmc_view *view)
{
	bool first = true;

	for (unsigned i = 0; i < pmc_n_thread_fields; i++) {
		if (!pmc_field_in_csv(i))
			continue;
		if (!first)
			pmc_out_char(view->out, ',');
		first = false;
		pmc_out_str(view->out, pmc_thread_fields[i]);
	}
	if (view->options->timeline)
		pmc_out_str(view->out, ",t_ns,dt_ns");
	for (unsigned i = 0; i < view->events.set.count; i++)
		for (unsigned p = 0; p < pmc_n_thread_parts; p++)
			head_name(view->out, view->events.columns[i]->label,
				  pmc_thread_parts[p].suffix);
	metric_heads(view);
}

static void csv_thread(struct pmc_view *view, const struct pmc_p_thread *thread,
		       const struct pmc_steps *step)
{
	const struct pmc_fold_row *row = pmc_view_row(view, thread);
	bool first = true;
	struct pmc_cell cell;

	if (step)
		view->scratch.wall_ns = step->dt_ns;
	for (unsigned i = 0; i < pmc_n_thread_fields; i++) {
		if (!pmc_field_in_csv(i))
			continue;
		if (!first)
			pmc_out_char(view->out, ',');
		first = false;
		cell = pmc_cell_field(view, i, thread);
		pmc_view_csv_cell(view->out, &cell);
	}
	if (step)
		pmc_outf(view->out, ",%llu,%llu", (unsigned long long)step->t_ns,
			 (unsigned long long)step->dt_ns);
	pmc_view_csv_events(view, row);
}

static void csv_groups_head(struct pmc_view *view)
{
	pmc_out_str(view->out, "key,threads");
	if (view->options->by == PMC_BY_REGION)
		pmc_out_str(view->out, ",calls,self_cpu_ns");
	for (unsigned p = 0; pmc_group_parts[p].part != PMC_PART_STATE; p++)
		head_name(view->out, "cpu_ns", p ? pmc_group_parts[p].suffix : "");
	for (unsigned i = 0; i < view->events.set.count; i++)
		for (unsigned p = 0; p < pmc_view_group_parts(view); p++)
			head_name(view->out, view->events.columns[i]->label,
				  pmc_group_parts[p].suffix);
	metric_heads(view);
}

static void csv_group(struct pmc_view *view, const struct pmc_fold_row *row)
{
	struct pmc_cell cell;

	pmc_view_csv_text(view->out, row->label, strlen(row->label));
	pmc_outf(view->out, ",%llu", (unsigned long long)row->threads);
	if (row->self) {
		pmc_outf(view->out, ",%llu,", (unsigned long long)row->calls);
		if (row->self->cpu.rows)
			pmc_out_u64(view->out, row->self->cpu.sum);
	}
	for (unsigned p = 0; pmc_group_parts[p].part != PMC_PART_STATE; p++) {
		cell = pmc_cell_stat(&row->cpu, 1, pmc_group_parts[p].part, row->rows);
		pmc_out_char(view->out, ',');
		pmc_view_csv_cell(view->out, &cell);
	}
	event_cells(view, row, pmc_group_parts, pmc_view_group_parts(view));
	metric_cells(view, row);
}

static int csv_timeline(struct pmc_view *view)
{
	struct pmc_steps steps = { 0 };

	csv_head(view);
	while (pmc_steps_next(view, &steps))
		csv_thread(view, &steps.thread, &steps);
	return 0;
}

int pmc_view_csv(struct pmc_view *view)
{
	struct pmc_p_row **threads = view->threads;
	const struct pmc_fold_row **groups = NULL;
	uint64_t n = view->n_threads, top = pmc_view_top(view);
	int err = 0;

	if (view->options->timeline)
		return csv_timeline(view);
	if (view->options->by != PMC_BY_NONE) {
		err = pmc_view_groups(view, &view->groups, top, &groups, &n);
		if (err)
			return err;
		csv_groups_head(view);
		for (uint64_t i = 0; i < n; i++)
			csv_group(view, groups[i]);
		return 0;
	}
	if (view->options->sort || top)
		err = pmc_view_threads(view, top, &threads, &n);
	if (err)
		return err;
	csv_head(view);
	for (uint64_t i = 0; i < n && !view->options->summary; i++)
		csv_thread(view, pmc_view_thread(view, threads[i]), NULL);
	pmc_view_machine_csv(view);
	return 0;
}
