/* SPDX-License-Identifier: MIT */
/* samples.c - rows of functions, lines or modules, whose columns are samples by an event. */
#include "tools/report/samples.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/diff/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Few in practice; of a hostile dump's further ones no samples are compared. */
enum { EVENTS_MOST = 16 };

/* A change of fewer samples is chance. */
enum { LEAST_SAMPLES = 10 };

/* Not of a column for which there is no room. */
static void add(const struct diff *diff, struct diff_sample *to, const struct diff_column *column,
		diff_number more)
{
	if (column)
		diff_add(to, (unsigned)(column - diff->columns), more);
}

static struct diff_row *find_row(struct diff *diff, const struct pmc_sample_row *from)
{
	char room[512];
	/* A module may be in another directory on the other side. */
	const bool whole = diff->by != PMC_BY_MODULE;
	const char *key = pmc_sample_key(from, diff->by, whole, room, sizeof(room)), *label;
	struct diff_row *row = diff_find_row(diff, key);

	if (!row || row->label != row->key)
		return row;
	label = pmc_sample_key(from, diff->by, false, room, sizeof(room));
	if (strcmp(row->key, label) != 0)
		row->label = pmc_arena_strdup(&diff->arena, label);
	return row->label ? row : NULL;
}

/* Adds the rows of one event. Functions of one name are one row: modules may differ in their
 * paths. */
static int take_event(struct diff *diff, unsigned side, unsigned sample,
		      const struct pmc_p_event *event, const struct pmc_sample_fold *fold)
{
	char name[512];
	struct diff_column *self, *total;
	diff_number unit = (diff_number)pmc_event_scale(event);
	uint64_t samples = 0, weight = 0;
	double least;

	snprintf(name, sizeof(name), "%.480s self", event->name);
	self = diff_event_column(diff, side, name, event);
	snprintf(name, sizeof(name), "%.480s total", event->name);
	total = diff_event_column(diff, side, name, event);
	for (uint64_t i = 0; i < fold->n_lists; i++) {
		pmc_add_sat(&samples, fold->lists[i]->samples);
		pmc_add_sat(&weight, fold->lists[i]->weight);
	}
	least = samples ? LEAST_SAMPLES * (double)weight / (double)samples * (double)unit : 0;
	if (self && total)
		self->least = total->least = least;
	for (uint64_t i = 0; i < fold->n_rows; i++) {
		const struct pmc_sample_row *from = fold->rows[i];
		struct diff_row *row = find_row(diff, from);

		if (!row)
			return -ENOMEM;
		row->there[side] = diff->total.there[side] = true;
		add(diff, &row->samples[side][sample], self, (diff_number)from->self * unit);
		add(diff, &row->samples[side][sample], total, (diff_number)from->total * unit);
		/* Each sample is once in the sum of self, which is the total of totals, too. */
		add(diff, &diff->total.samples[side][sample], self, (diff_number)from->self * unit);
		add(diff, &diff->total.samples[side][sample], total,
		    (diff_number)from->self * unit);
	}
	return 0;
}

/* Without --event waits are compared only if there is nothing else. */
static bool is_wanted(const struct diff *diff, const struct pmc_p_event *event, bool waits)
{
	if (diff->event)
		return !strcmp(event->name, diff->event);
	return waits || !pmc_is_off_cpu(event);
}

/* The samples of that event, which are taken out of the list. */
static uint64_t take_out(struct pmc_p_samples **list, uint64_t n, const struct pmc_p_event *event,
			 const struct pmc_p_samples **of_event)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct pmc_p_samples *samples = list[i];

		if (!samples || !samples->event || strcmp(samples->event->name, event->name) != 0)
			continue;
		of_event[taken++] = samples;
		list[i] = NULL;
	}
	return taken;
}

static void tell(struct diff *diff, unsigned side, const struct pmc_p_event *event,
		 const struct pmc_sample_fold *fold)
{
	struct diff_sampled *sampled = &diff->sampled[side];

	if (!sampled->event)
		sampled->event = pmc_arena_strdup(&diff->arena, event->name);
	if (!sampled->event || strcmp(sampled->event, event->name) != 0)
		return;
	for (uint64_t i = 0; i < fold->n_lists; i++) {
		const struct pmc_p_samples *of = fold->lists[i];

		pmc_add_sat(&sampled->samples, of->samples);
		pmc_add_sat(&sampled->weight, of->weight);
		if (of->count && pmc_count_has_value(of->count))
			pmc_add_sat(&sampled->value, pmc_count_value(of->count));
	}
}

int diff_take_samples(struct diff *diff, unsigned side, unsigned sample,
		      const struct pmc_profile *profile, struct report_names *names)
{
	struct pmc_arena arena = { 0 };
	const uint64_t n = profile->n_samples;
	struct pmc_sample_fold fold = { .by = diff->by, .arena = &arena };
	struct pmc_p_samples **left = pmc_arena_alloc(&arena, (n + 1) * sizeof(*left));
	bool waits = true;
	int error = 0;

	fold.lists = pmc_arena_alloc(&arena, (n + 1) * sizeof(*fold.lists));
	if (!left || !fold.lists)
		error = -ENOMEM;
	else
		memcpy(left, profile->samples, n * sizeof(*left));
	for (uint64_t i = 0; i < n && waits; i++)
		waits = !profile->samples[i]->event || pmc_is_off_cpu(profile->samples[i]->event);
	for (uint64_t i = 0, events = 0; i < n && !error && events < EVENTS_MOST; i++) {
		const struct pmc_p_event *event = left[i] ? left[i]->event : NULL;

		if (!event || !is_wanted(diff, event, waits))
			continue;
		events++;
		fold.n_lists = take_out(left, n, event, fold.lists);
		tell(diff, side, event, &fold);
		error = report_fold_samples(&fold, names);
		if (!error)
			error = take_event(diff, side, sample, event, &fold);
	}
	pmc_arena_free(&arena);
	return error;
}
