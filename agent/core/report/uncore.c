/* SPDX-License-Identifier: MIT */
/*
 * uncore.c - what counts for the whole machine: lines under the table, rows in CSV.
 *
 * No thread's row has it, and no sum: it is what everybody did while the job's first process ran.
 */
#include "agent/core/report/view.h"
#include "agent/core/base/utf8.h"

#include <errno.h>
#include <string.h>

/* Two processes that were first have a line each: what they say may be of the same time. */
static bool is_ambiguous(const struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	unsigned n = 0;

	for (uint64_t i = 0; i < profile->n_processes && n < 2; i++)
		n += profile->processes[i]->machine.set != NULL;
	return n > 1;
}

static void value_of(struct pmc_out *out, const struct pmc_p_event *event,
		     const struct pmc_count *count)
{
	double value = (double)pmc_count_value(count) * pmc_event_scale(event);

	if (!strcmp(event->unit, "ns")) {
		pmc_show_time(out, value);
		return;
	}
	pmc_show_number(out, value);
	if (event->unit[0]) {
		pmc_out_char(out, ' ');
		pmc_utf8_safe(out, event->unit, strlen(event->unit), 24);
	}
}

static void why_not(struct pmc_out *out, const struct pmc_count *count)
{
	pmc_out_str(out, pmc_state_name(count->state));
	if (count->state == PMC_NOT_PERMITTED)
		pmc_out_str(out, ": this user may not count the machine; "
				 "sysctl kernel.perf_event_paranoid=0 or CAP_PERFMON permits it");
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
			pmc_utf8_safe(out, event->name, strlen(event->name), 60);
			pmc_out_char(out, ' ');
			if (pmc_count_has_value(count))
				value_of(out, event, count);
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

/* The fields that a row without a thread has. */
static bool has_field(const char *name)
{
	static const char *const fields[] = { "host", "exe", "pid", "rank", "start_ns", "end_ns" };

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(name, fields[i]))
			return true;
	return false;
}

static void csv_fields(struct pmc_view *view, const struct pmc_p_thread *stand_in)
{
	bool first = true;

	for (unsigned i = 0; i < pmc_n_thread_fields; i++) {
		struct pmc_cell cell = { .kind = PMC_CELL_NULL };
		const char *name = pmc_thread_fields[i];

		if (!pmc_field_in_csv(i))
			continue;
		if (!first)
			pmc_out_char(view->out, ',');
		first = false;
		if (!strcmp(name, "name") || !strcmp(name, "state"))
			pmc_out_str(view->out, name[0] == 'n' ? "(machine)" : "machine");
		if (has_field(name))
			cell = pmc_cell_field(view, i, stand_in);
		pmc_view_csv_cell(view->out, &cell);
	}
}

static void csv_row(struct pmc_view *view, const struct pmc_p_process *process)
{
	struct pmc_p_thread stand_in = {
		.process = (struct pmc_p_process *)process,
		.set = process->machine.set,
		.counts = process->machine.counts,
		.module = "",
		.symbol = "",
		.fixed = { .flags = PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE,
			   .start_ns = process->fixed.start_ns,
			   .end_ns = process->fixed.end_ns },
	};
	const struct pmc_fold_row *row = pmc_view_row(view, &stand_in);

	csv_fields(view, &stand_in);
	pmc_view_csv_events(view, row);
}

void pmc_view_machine_csv(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes && !view->options->n_where; i++)
		if (profile->processes[i]->machine.set)
			csv_row(view, profile->processes[i]);
	/* It is no longer there to be looked at. */
	view->counts_of = NULL;
}
