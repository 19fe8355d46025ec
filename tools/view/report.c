/* SPDX-License-Identifier: MIT */
/* report.c - one view of a profile: its events, columns and rows, then its format. */
#include "lib/base/utf8.h"
#include "lib/event/event.h"
#include "tools/view/view.h"

#include <errno.h>
#include <linux/perf_event.h>

/* More threads than this are shown as pools. */
#define MANY_THREADS 20

static bool is_default(const struct pmc_p_set_view *set)
{
	const char *at = pmc_events_default;
	unsigned known = 0;

	for (unsigned position = 0; *at; position++) {
		const size_t len = strcspn(at, ",");
		const unsigned before = known;

		for (unsigned i = 0; i < set->count; i++)
			known += set->events[i].def.position == position &&
				 strlen(set->events[i].name) == len &&
				 !memcmp(set->events[i].name, at, len);
		if (known == before)
			return false;
		at += len + (at[len] == ',');
	}
	return known == set->count;
}

static void note_requested(struct pmc_view *view, const struct pmc_p_set_view *set, bool *requested)
{
	const uint16_t *map = set && !is_default(set) ? pmc_union_map(&view->events, set) : NULL;

	for (unsigned i = 0; map && i < set->count; i++)
		if (map[i] != PMC_NO_COLUMN)
			requested[map[i]] = true;
}

static void view_events(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	bool *requested;

	pmc_union_init(&view->events, view->arena);
	for (unsigned i = 0; i < profile->n_sets; i++)
		pmc_union_add(&view->events, profile->sets[i], true);
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		pmc_union_add(&view->events, process->unattributed.set, !profile->n_sets);
		pmc_union_add(&view->events, process->descendants.set, false);
		pmc_union_add(&view->events, process->machine.set, false);
	}
	for (uint64_t i = 0; i < profile->n_regions; i++)
		pmc_union_add(&view->events, profile->regions[i]->set, true);
	pmc_fold_init(&view->one, &view->events, false);
	view->requested = requested = pmc_arena_alloc(view->arena, view->events.set.count + 1);
	for (unsigned i = 0; i < profile->n_sets; i++)
		note_requested(view, profile->sets[i], requested);
}

/* The job's first process, in the image it ended as; the first in order if none is marked. */
static const struct pmc_p_process *first_process(const struct pmc_profile *profile)
{
	const struct pmc_p_process *first = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || !(process->fixed.flags & PMC_PROCESS_FIRST))
			continue;
		if (!first || (first->fixed.how_ended == PMC_ENDED_EXEC &&
			       process->fixed.pid == first->fixed.pid &&
			       !memcmp(process->fixed.job, first->fixed.job, 16) &&
			       process->fixed.start_ns > first->fixed.start_ns))
			first = process;
	}
	return first || !profile->n_processes ? first : profile->processes[0];
}

static bool groups_can_show(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_columns chosen;
	bool can = true;

	if (options->sort)
		can = pmc_columns_find(view, &view->of_groups, options->sort,
				       strlen(options->sort)) != NULL;
	if (can && options->columns)
		can = pmc_columns_choose(view, &view->of_groups, &chosen) == 0;
	view->problem = NULL;
	return can;
}

/* A table shows many threads as pools, and --by thread as threads. */
static void choose_rows(struct pmc_view *view)
{
	if (view->options->timeline || !pmc_format_is_table(view->options->format))
		return;
	if (view->by == PMC_BY_THREAD && !view->n_outer)
		view->by = PMC_BY_NONE;
	else if (view->by == PMC_BY_NONE && view->n_rows > MANY_THREADS && groups_can_show(view))
		view->by = PMC_BY_POOL;
}

int pmc_view_software(const struct pmc_view *view, uint64_t config, bool last)
{
	int found = -1;

	for (unsigned i = 0; i < view->events.set.count && (last || found < 0); i++) {
		const struct pmc_event_def *def = &view->events.set.events[i].def;

		if (def->type == PERF_TYPE_SOFTWARE && def->config == config &&
		    def->state == PMC_COUNTED && def->scope == PMC_SCOPE_ALL &&
		    !view->events.columns[i].mixed_scope)
			found = (int)i;
	}
	return found;
}

/* In a table task-clock stands for the CPU time if every thread has it. */
static void choose_clock(struct pmc_view *view)
{
	int event = pmc_view_software(view, PERF_COUNT_SW_TASK_CLOCK, false);
	struct pmc_thread_buf buf;
	struct pmc_row row;

	view->clock_event = -1;
	if (event < 0 || !view->n_rows || !pmc_format_is_table(view->options->format))
		return;
	for (uint64_t i = 0; i < view->n_rows; i++) {
		pmc_row_of(view, pmc_profile_thread(view->profile, view->rows[i], &buf), &row);
		if (!row.sums->events[event].rows)
			return;
	}
	view->clock_event = event;
}

/* --across: sums threads by the keys of --by and that of --across, then adds each sum as one value
 * to its row of --by. */
static void fold_rows(struct pmc_view *view)
{
	const bool regions = view->by == PMC_BY_REGION;
	const uint64_t n = regions ? view->n_regions : view->n_rows;
	unsigned char keys[PMC_KEYS_MOST] = { PMC_BY_NONE };
	struct pmc_fold_row **into = NULL;
	struct pmc_thread_buf buf;
	struct pmc_fold parts;
	size_t room = 0;

	memcpy(keys, view->outer, view->n_outer);
	keys[view->n_outer] = (unsigned char)view->by;
	pmc_fold_begin(&parts, &view->events, keys, view->options->across);
	for (uint64_t i = 0; i < n; i++) {
		const struct pmc_p_thread *thread =
			regions ? &view->regions[i] :
				  pmc_profile_thread(view->profile, view->rows[i], &buf);
		const struct pmc_fold_row *part;

		if (!view->options->across) {
			pmc_fold_thread(&view->groups, thread);
			continue;
		}
		part = pmc_fold_find(&parts, thread);
		into = pmc_arena_grow(view->arena, into, part->index, &room, sizeof(*into));
		into[part->index] = pmc_fold_find(&view->groups, thread);
		pmc_fold_thread(&parts, thread);
	}
	pmc_fold_end(&parts);
	for (unsigned nameless = 0; nameless < 2; nameless++)
		for (struct pmc_fold_row *part = parts.rows; part; part = part->next) {
			const struct pmc_fold_group *of = part->groups[parts.n_keys - 1];

			if (of->is_nameless == nameless)
				pmc_fold_part(into[part->index], part, &view->events, of);
		}
	pmc_fold_end(&view->groups);
}

static int view_make(struct pmc_view *view)
{
	static const unsigned char pools[] = { PMC_BY_POOL, PMC_BY_NONE };
	const struct pmc_report_options *options = view->options;
	int err;

	view->by = options->timeline ? PMC_BY_NONE : options->by;
	/* Flame graphs have the pools of threads below all functions. */
	view->outer =
		options->format == PMC_FORMAT_FOLDED && !options->outer[0] ? pools : options->outer;
	while (!options->timeline && view->outer[view->n_outer])
		view->n_outer++;
	view->clock_event = -1;
	view_events(view);
	view->first = first_process(view->profile);
	pmc_columns_make(view, false, &view->of_threads);
	pmc_columns_make(view, true, &view->of_groups);
	if (options->histogram && !pmc_columns_find(view, &view->of_groups, "wait_ns", 7)) {
		view->problem = "no lengths of waits are in the dump; pmctl run --off-cpu and "
				"pmctl profile record them";
		return -ENOENT;
	}
	err = pmc_view_select(view);
	if (err)
		return err;
	if (!options->timeline)
		pmc_view_regions(view);
	choose_rows(view);
	choose_clock(view);
	pmc_fold_begin(&view->groups, &view->events, view->outer, view->by);
	view->groups.spread = options->by != PMC_BY_NONE;
	view->groups.path_of = options->path_of;
	view->groups.path_arg = options->names_arg;
	if (pmc_by_samples(view->by))
		err = pmc_view_sample_rows(view);
	else if (view->by != PMC_BY_NONE && !view->threads_apart)
		fold_rows(view);
	return err ? err : pmc_view_check_selection(view);
}

static const struct pmc_fold_row *some(const struct pmc_fold_row *beside)
{
	return beside->rows || beside->cpu.sum || beside->usage_rows ? beside : NULL;
}

void pmc_groups_make(struct pmc_profile *profile, const unsigned char *outer, enum pmc_fold_by by,
		     struct pmc_arena *arena, struct pmc_groups *groups)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_CSV, .by = by };
	struct pmc_coverage *coverage = pmc_arena_alloc(arena, sizeof(*coverage));
	struct pmc_view *view = pmc_arena_alloc(arena, sizeof(*view));

	memcpy(options.outer, outer, sizeof(options.outer));
	*view = (struct pmc_view){ .profile = profile, .options = &options, .arena = arena };
	view_make(view);
	pmc_view_coverage(view, coverage);
	*groups = (struct pmc_groups){ .events = &view->events,
				       .rows = view->groups.rows,
				       .unattributed = some(&coverage->unattributed),
				       .descendants = some(&coverage->descendants) };
}

static int (*format_of(const struct pmc_view *view))(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;

	switch (options->format) {
	case PMC_FORMAT_JSON:
	case PMC_FORMAT_JSON_LINES:
		return pmc_view_json;
	case PMC_FORMAT_CSV:
		return pmc_view_csv;
	case PMC_FORMAT_FOLDED:
		return pmc_view_folded;
	default:
		return options->timeline && options->by != PMC_BY_NONE ? pmc_view_timeline :
		       pmc_by_samples(view->by)			       ? pmc_view_sample_table :
									 pmc_view_table;
	}
}

int pmc_report(struct pmc_profile *profile, const struct pmc_report_options *options,
	       struct pmc_out *out, const char **problem)
{
	struct pmc_arena arena = { 0 };
	struct pmc_view view = {
		.profile = profile,
		.options = options,
		.out = out,
		.arena = &arena,
		.threads_apart = options->by == PMC_BY_THREAD && !options->outer[0] &&
				 !options->across && !pmc_format_is_table(options->format),
	};
	int err = view_make(&view);

	if (!err)
		err = format_of(&view)(&view);
	if (!err)
		err = pmc_out_flush(out);
	pmc_arena_free(&arena);
	if (problem)
		*problem = view.problem;
	return err;
}

const char *pmc_view_command(const struct pmc_p_process *process)
{
	const char *command = !process ? "" : process->cmdline[0] ? process->cmdline : process->exe;

	for (size_t i = strcspn(command, " "); i > 0; i--)
		if (command[i - 1] == '/')
			return command + i;
	return command;
}
