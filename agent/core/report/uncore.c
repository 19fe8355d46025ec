/* SPDX-License-Identifier: MIT */
/*
 * uncore.c - events of the whole machine: lines under the table, rows in CSV.
 *
 * They are in no thread's row and in no sum: all processes are in them, while the first one ran.
 */
#include "agent/core/report/view.h"

#include <errno.h>

/* Counts of several first processes may overlap in time: each is shown with its pid. */
static bool is_ambiguous(const struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	unsigned n = 0;

	for (uint64_t i = 0; i < profile->n_processes && n < 2; i++)
		n += profile->processes[i]->machine.set != NULL;
	return n > 1;
}

static void value_of(struct pmc_view *view, const struct pmc_p_event *event,
		     const struct pmc_count *count)
{
	struct pmc_out *out = view->out;
	double value = (double)pmc_count_value(count) * pmc_event_scale(event);

	if (!strcmp(event->unit, "ns")) {
		pmc_show_time(out, value, view->glyphs->micro);
		return;
	}
	pmc_show_number(out, value);
	if (event->unit[0]) {
		pmc_out_char(out, ' ');
		pmc_view_text(view, event->unit, 24);
	}
}

static void why_not(struct pmc_out *out, const struct pmc_count *count)
{
	pmc_out_str(out, pmc_state_name(count->state));
	if (count->state == PMC_NOT_PERMITTED)
		pmc_out_str(out, ": needs kernel.perf_event_paranoid=0 or CAP_PERFMON");
	else if (count->error)
		pmc_outf(out, ": %s", pmc_reason_text(count->error));
}

void pmc_view_machine(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	bool ambiguous = is_ambiguous(view);
	struct pmc_out *out = view->out;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const struct pmc_p_set_view *set = process->machine.set;

		for (unsigned e = 0; set && e < set->count; e++) {
			const struct pmc_p_event *event = &set->events[e];
			const struct pmc_count *count = &process->machine.counts[e];

			pmc_out_str(out, " whole machine: ");
			pmc_view_text(view, event->name, 60);
			pmc_out_char(out, ' ');
			if (pmc_count_has_value(count))
				value_of(view, event, count);
			else
				why_not(out, count);
			if (count->state == PMC_SCALED)
				pmc_out_str(out, ", scaled");
			if (ambiguous && process->known)
				pmc_outf(out, ", while process %u ran", process->fixed.pid);
			pmc_out_char(out, '\n');
		}
	}
}

/* ---- CSV -------------------------------------------------------------------------------- */

/* A row of these columns speaks of no thread. */
static bool has_field(unsigned field)
{
	return field == PMC_FIELD_host || field == PMC_FIELD_exe || field == PMC_FIELD_pid ||
	       field == PMC_FIELD_rank || field == PMC_FIELD_start_ns || field == PMC_FIELD_end_ns;
}

static void csv_row(struct pmc_view *view, const struct pmc_columns *columns,
		    const struct pmc_p_process *process)
{
	const struct pmc_p_thread stand_in = {
		.process = (struct pmc_p_process *)process,
		.set = process->machine.set,
		.counts = process->machine.counts,
		.module = "",
		.symbol = "",
		.fixed = { .flags = PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE,
			   .start_ns = process->fixed.start_ns,
			   .end_ns = process->fixed.end_ns },
	};
	struct pmc_row row;

	pmc_row_of(view, &stand_in, &row);
	for (unsigned i = 0; i < columns->n; i++) {
		const struct pmc_column *column = &columns->list[i];
		struct pmc_cell cell = { .kind = PMC_CELL_NULL };

		if (i)
			pmc_out_char(view->out, ',');
		if (column->kind != PMC_COL_FIELD || has_field(column->index))
			cell = pmc_cell(view, column, &row);
		else if (column->index == PMC_FIELD_name)
			cell = (struct pmc_cell){ .kind = PMC_CELL_TEXT,
						  .text = "(machine)",
						  .len = 9 };
		else if (column->index == PMC_FIELD_state)
			cell = (struct pmc_cell){ .kind = PMC_CELL_TEXT,
						  .text = "machine",
						  .len = 7 };
		pmc_csv_cell(view->out, &cell);
	}
	pmc_out_char(view->out, '\n');
}

void pmc_view_machine_csv(struct pmc_view *view, const struct pmc_columns *columns)
{
	const struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (profile->processes[i]->machine.set)
			csv_row(view, columns, profile->processes[i]);
}
