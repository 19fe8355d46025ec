/* SPDX-License-Identifier: MIT */
/* footer.c - the lines under a table: coverage, what is missing and why, notes. */
#include "agent/core/base/advice.h"
#include "agent/core/report/view.h"
#include "agent/core/base/utf8.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static void integer_of(struct pmc_out *out, uint64_t n, const char *what)
{
	pmc_show_integer(out, n);
	pmc_out_char(out, ' ');
	pmc_out_str(out, what);
	if (n != 1)
		pmc_out_char(out, 's');
}

static void integer_of_processes(struct pmc_out *out, uint64_t n)
{
	pmc_show_integer(out, n);
	pmc_out_str(out, n == 1 ? " process" : " processes");
}

static void coverage(struct pmc_view *view, const struct pmc_ledger *ledger)
{
	struct pmc_out *out = view->out;
	double percent;

	pmc_out_str(out, " coverage ");
	if (ledger->unseen_ends) {
		pmc_out_str(out, "unknown, the end of ");
		integer_of_processes(out, ledger->unseen_ends);
		pmc_out_str(out, " was not seen");
	} else if (ledger->cpu_ns) {
		percent = 100.0 * (double)ledger->attributed_cpu_ns / (double)ledger->cpu_ns;
		/* The clocks of a process and its threads are read one after the other. */
		if (percent > 100 && percent < 101)
			percent = 100;
		pmc_show_percent(out, percent);
		pmc_out_str(out, " % of CPU");
	} else {
		pmc_out_str(out, "unknown");
	}
	pmc_out_str(out, " · ");
	integer_of(out, ledger->threads_counted, "thread");
	pmc_out_str(out, " counted, ");
	pmc_show_integer(out, ledger->threads_uncounted);
	pmc_out_str(out, " not");
	if (ledger->cpu_ns && ledger->overhead_ns && !ledger->unseen_ends) {
		pmc_out_str(out, " · self cost ");
		pmc_show_percent(out, 100.0 * (double)ledger->overhead_ns / (double)ledger->cpu_ns);
		pmc_out_str(out, " %");
	}
	if (view->options->keep_hint) {
		pmc_out_str(out, " · keep it: ");
		pmc_utf8_safe(out, view->options->keep_hint, strlen(view->options->keep_hint), 0);
	}
	pmc_out_char(out, '\n');
}

/* ---- events that nobody could count ---------------------------------------------------- */

static bool is_hardware(const struct pmc_p_event *event)
{
	return event->def.type == PERF_TYPE_HARDWARE || event->def.type == PERF_TYPE_HW_CACHE ||
	       event->def.type == PERF_TYPE_RAW;
}

/* No hardware event at all was to be had, not even cycles or instructions. */
static bool no_pmu(const struct pmc_view *view)
{
	bool asked = false;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_p_event *event = &view->events.set.events[i];

		if (!is_hardware(event))
			continue;
		if (event->def.state != PMC_NOT_SUPPORTED)
			return false;
		asked |= event->def.type == PERF_TYPE_HARDWARE &&
			 event->def.config <= PERF_COUNT_HW_INSTRUCTIONS;
	}
	return asked;
}

/* What this machine makes of the errno; NULL if the report may be of another, or without memory. */
static const char *why_here(struct pmc_view *view, const struct pmc_event_def *def, uint32_t error)
{
	const struct perf_event_attr attr = {
		.type = def->type,
		.exclude_kernel = def->scope == PMC_SCOPE_USER,
	};
	const struct pmc_tried tried = { .attr = &attr };
	struct pmc_advice *advice;

	if (!view->options->here || !error || error >= PMC_REASON_ADOPTED)
		return NULL;
	advice = pmc_arena_alloc(view->arena, sizeof(*advice));
	if (!advice)
		return NULL;
	pmc_advise((int)error, &tried, view->options->here, advice);
	return advice->means;
}

/* NULL: it has a line of its own. */
static const char *why_not(struct pmc_view *view, const struct pmc_table *table, unsigned index,
			   enum pmc_state *state)
{
	const struct pmc_p_event *event = &view->events.set.events[index];
	const struct pmc_fold_stat *stat = &table->all->events[index];
	uint32_t error = event->def.error;
	const char *here;

	if (error == PMC_REASON_UNCORE || stat->error == PMC_REASON_UNCORE)
		return NULL;
	*state = (enum pmc_state)event->def.state;
	if (*state == PMC_COUNTED || *state == PMC_SCALED) {
		*state = pmc_fold_state(stat, table->all->rows);
		error = stat->error;
	}
	/* What befell single threads may be the program's own doing, a filter for example. */
	here = error == event->def.error ? why_here(view, &event->def, error) : NULL;
	if (here)
		return here;
	if (*state == PMC_NOT_SUPPORTED && is_hardware(event) && no_pmu(view))
		return "this machine has no hardware PMU";
	if (*state == PMC_NOT_PERMITTED)
		return error == ENOSYS ? "perf_event_open is not available here" :
					 "the kernel refuses it to this user";
	if (*state == PMC_NOT_SUPPORTED && !error)
		return "the hardware or the kernel does not have it";
	return error ? pmc_reason_text(error) : "it never ran";
}

static const char *state_words(enum pmc_state state)
{
	return state == PMC_NOT_SUPPORTED ? "not supported" :
	       state == PMC_NOT_PERMITTED ? "not permitted" :
					    "not counted";
}

static void names_begin(struct pmc_view *view, bool *first, unsigned index)
{
	const char *label = view->events.columns[index]->label;

	pmc_out_str(view->out, *first ? " " : ", ");
	pmc_utf8_safe(view->out, label, strlen(label), 60);
	*first = false;
}

/* One line per reason, with all events it is true for. */
static void missing_columns(struct pmc_view *view, const struct pmc_table *table)
{
	unsigned n = view->events.set.count;
	bool *told = pmc_arena_alloc(view->arena, n + 1);

	for (unsigned i = 0; told && i < n && table->all->rows; i++) {
		enum pmc_state state, other;
		bool first = true;
		const char *why;

		if (told[i] || table->all->events[i].rows)
			continue;
		why = why_not(view, table, i, &state);
		for (unsigned j = i; j < n && why; j++) {
			const char *also = why_not(view, table, j, &other);

			if (told[j] || table->all->events[j].rows || !also || strcmp(why, also) ||
			    state != other)
				continue;
			names_begin(view, &first, j);
			told[j] = true;
		}
		if (why)
			pmc_outf(view->out, ": %s: %s; pmctl doctor tells what can be done\n",
				 state_words(state), why);
	}
	if (view->events.overflow)
		pmc_out_str(view->out, " there are more events than columns; JSON has them all\n");
}

static void user_only(struct pmc_view *view, const struct pmc_table *table)
{
	bool first = true;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_event_def *def = &view->events.set.events[i].def;

		if (!table->all->events[i].rows)
			continue;
		if (view->events.columns[i]->mixed_scope ||
		    (def->flags & PMC_EVENT_FELL_BACK && def->scope == PMC_SCOPE_USER))
			names_begin(view, &first, i);
	}
	if (!first)
		pmc_out_str(view->out, ": counted in user mode only, the kernel's part is not "
				       "permitted; pmctl doctor tells the remedy\n");
}

static void hidden_columns(struct pmc_view *view, const struct pmc_table *table)
{
	bool first = true;

	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];

		if (!column->hidden || column->part != PMC_PART_VALUE)
			continue;
		pmc_out_str(view->out, first ? " not shown: " : ", ");
		pmc_out_str(view->out, column->head);
		first = false;
	}
	for (unsigned i = 0; i < table->n; i++) {
		if (!table->columns[i].hidden || table->columns[i].part == PMC_PART_VALUE)
			continue;
		pmc_out_str(view->out, first ? " not shown: some of min, mean, max, σ" :
					       ", some of min, mean, max, σ");
		first = false;
		break;
	}
	if (!first)
		pmc_out_str(view->out, "; pmctl report --wide shows every column\n");
}

/* ---- threads that were not counted, notes ---------------------------------------------- */

struct tally {
	uint64_t count;
	uint32_t reason;
	const char *text;
};

struct tallies {
	struct tally *list;
	unsigned n, room;
};

/* Few kinds in practice; what a hostile dump has beyond the room is left out. */
static void tally_add(struct tallies *tallies, uint32_t reason, const char *text, uint64_t count)
{
	for (unsigned i = 0; i < tallies->n; i++) {
		struct tally *tally = &tallies->list[i];

		if (tally->reason == reason && !strcmp(tally->text, text)) {
			tally->count += count;
			return;
		}
	}
	if (tallies->n < tallies->room)
		tallies->list[tallies->n++] = (struct tally){ count, reason, text };
}

#define TALLIES 16

static void uncounted(struct pmc_view *view)
{
	struct tally list[TALLIES];
	struct tallies tallies = { list, 0, TALLIES };
	struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		for (unsigned r = 0; pmc_view_in_scope(view, process) && r < process->n_uncounted;
		     r++)
			tally_add(&tallies, 0, pmc_reason_text(process->uncounted[r].reason),
				  process->uncounted[r].count);
	}
	for (unsigned i = 0; i < tallies.n; i++) {
		pmc_out_char(view->out, ' ');
		integer_of(view->out, list[i].count, "thread");
		pmc_outf(view->out, " not counted: %s\n", list[i].text);
	}
}

static void notes(struct pmc_view *view)
{
	struct tally list[TALLIES];
	struct tallies tallies = { list, 0, TALLIES };
	struct pmc_profile *profile = view->profile;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		for (unsigned n = 0; n < process->n_notes; n++)
			tally_add(&tallies, process->notes[n]->fixed.code, process->notes[n]->text,
				  process->notes[n]->fixed.count);
	}
	for (unsigned i = 0; i < tallies.n; i++) {
		pmc_out_str(view->out, " note: ");
		pmc_utf8_safe(view->out, list[i].text, strlen(list[i].text), 0);
		if (list[i].count > 1) {
			pmc_out_str(view->out, " (");
			pmc_show_integer(view->out, list[i].count);
			pmc_out_str(view->out, " times)");
		}
		pmc_out_char(view->out, '\n');
	}
	if (tallies.n == TALLIES)
		pmc_out_str(view->out, " more notes may follow; JSON has them all\n");
	if (profile->damaged_frames) {
		pmc_out_char(view->out, ' ');
		integer_of(view->out, profile->damaged_frames, "damaged frame");
		pmc_out_str(view->out, " skipped: what they said is missing here\n");
	}
}

static void children(struct pmc_view *view, const struct pmc_ledger *ledger)
{
	const struct pmc_p_process *first = view->first;
	const char *command = first && first->cmdline[0] ? first->cmdline : first ? first->exe : "";

	if (!ledger->others)
		return;
	pmc_out_char(view->out, ' ');
	pmc_show_integer(view->out, ledger->others);
	pmc_out_str(view->out, ledger->others == 1 ? " child process, " : " child processes, ");
	pmc_show_time(view->out, (double)ledger->others_cpu_ns);
	pmc_out_str(view->out, " CPU; pmctl run -- ");
	pmc_utf8_safe(view->out, command, strlen(command), 60);
	pmc_out_str(view->out, ledger->others == 1 ? " shows it\n" : " shows them\n");
}

void pmc_view_remarks(struct pmc_view *view, const struct pmc_table *table,
		      const struct pmc_ledger *ledger)
{
	pmc_view_machine(view);
	coverage(view, ledger);
	children(view, ledger);
	pmc_view_region_remarks(view);
	uncounted(view);
	missing_columns(view, table);
	user_only(view, table);
	if (table->scaled)
		pmc_out_str(view->out, " ran below 100 %: the counter was shared, values are "
				       "estimates scaled to the whole time\n");
	if (table->partial)
		pmc_out_str(view->out, " +: at least this much, some of the rows could not be "
				       "counted; ratios speak of those that were\n");
	hidden_columns(view, table);
	notes(view);
}
