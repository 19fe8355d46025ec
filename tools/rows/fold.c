/* SPDX-License-Identifier: MIT */
/* fold.c - sums over rows, with their state and their spread. */
#include "tools/rows/fold.h"
#include "lib/base/number.h"

#include <string.h>

#define WHY_NONE 0xff

static void stat_clear(struct pmc_fold_stat *stat)
{
	*stat = (struct pmc_fold_stat){ .min = UINT64_MAX, .why = WHY_NONE };
}

static size_t ratios_bytes(const struct pmc_union *u)
{
	return (size_t)__builtin_popcountll(u->ratios) * sizeof(struct pmc_ratio);
}

void pmc_fold_init(struct pmc_fold_row *row, const struct pmc_union *u)
{
	unsigned n = u->set.count ? u->set.count : 1;

	*row = (struct pmc_fold_row){ .label = "" };
	row->events = pmc_arena_alloc(u->arena, n * sizeof(*row->events));
	row->ratios = pmc_arena_alloc(u->arena, ratios_bytes(u) + 1);
	pmc_fold_clear(row, u);
}

void pmc_fold_init_region(struct pmc_fold_row *row, const struct pmc_union *u)
{
	pmc_fold_init(row, u);
	row->self = pmc_arena_alloc(u->arena, sizeof(*row->self));
	pmc_fold_init(row->self, u);
}

void pmc_fold_clear(struct pmc_fold_row *row, const struct pmc_union *u)
{
	struct pmc_fold_stat *events = row->events;
	struct pmc_ratio *ratios = row->ratios;

	*row = (struct pmc_fold_row){ .label = "", .events = events, .ratios = ratios };
	memset(ratios, 0, ratios_bytes(u));
	stat_clear(&row->cpu);
	for (unsigned i = 0; i < u->set.count; i++)
		stat_clear(&events[i]);
}

void pmc_fold_add_value(struct pmc_fold_stat *stat, uint64_t value, bool spread)
{
	stat->rows++;
	pmc_add_sat(&stat->sum, value);
	if (value < stat->min)
		stat->min = value;
	if (value > stat->max)
		stat->max = value;
	if (spread) {
		double off = (double)value - stat->mean;

		stat->mean += off / (double)stat->rows;
		stat->m2 += off * ((double)value - stat->mean);
	}
}

static void stat_why(struct pmc_fold_stat *stat, enum pmc_state state, uint32_t error)
{
	if (stat->why == WHY_NONE) {
		stat->why = (uint8_t)state;
		stat->error = error;
	} else {
		if (stat->why != state)
			stat->why = PMC_NOT_COUNTED;
		if (stat->error != error)
			stat->error = 0;
	}
}

static void add_ratios(struct pmc_fold_row *row, struct pmc_union *u,
		       const struct pmc_p_thread *thread)
{
	for (uint64_t left = u->ratios; left; left &= left - 1) {
		unsigned metric = (unsigned)__builtin_ctzll(left);

		pmc_union_ratio(u, thread->set, thread->counts, metric,
				pmc_fold_ratio(row, u, metric));
	}
}

static void add_counts(struct pmc_fold_row *row, struct pmc_union *u,
		       const struct pmc_p_thread *thread, bool spread)
{
	const uint16_t *map = pmc_union_map(u, thread->set);

	if (!map || !thread->counts)
		return;
	for (unsigned i = 0; i < thread->set->count; i++) {
		const struct pmc_count *count = &thread->counts[i];
		struct pmc_fold_stat *stat;

		if (map[i] == PMC_NO_COLUMN)
			continue;
		stat = &row->events[map[i]];
		if (count->state > PMC_SCALED) {
			stat_why(stat, count->state, count->error);
			continue;
		}
		pmc_fold_add_value(
			stat, count->state == PMC_COUNTED ? count->raw : pmc_count_value(count),
			spread);
		stat->scaled += count->state == PMC_SCALED;
		pmc_add_sat(&stat->raw, count->raw);
		pmc_add_sat(&stat->enabled_ns, count->enabled_ns);
		pmc_add_sat(&stat->running_ns, count->running_ns);
	}
}

static void add_self(struct pmc_fold_row *row, struct pmc_union *u,
		     const struct pmc_p_thread *thread, bool spread)
{
	const struct pmc_p_region *region = thread->region;
	struct pmc_p_thread self = *thread;

	pmc_add_sat(&row->calls, region->fixed.calls);
	self.region = NULL;
	self.counts = region->self_counts;
	self.fixed.cpu_ns = region->self_cpu_ns;
	pmc_fold_add(row->self, u, &self, spread);
}

void pmc_fold_add(struct pmc_fold_row *row, struct pmc_union *u, const struct pmc_p_thread *thread,
		  bool spread)
{
	const struct pmc_thread_fixed *fixed = &thread->fixed;

	row->threads++;
	row->rows++;
	row->wall_ns = row->threads == 1 ? pmc_thread_on_ns(fixed, pmc_thread_until(thread)) : 0;
	if (!(fixed->flags & PMC_THREAD_NO_CPU))
		pmc_fold_add_value(&row->cpu, fixed->cpu_ns, spread);
	if (!(fixed->flags & PMC_THREAD_NO_RUSAGE)) {
		row->usage_rows++;
		pmc_add_sat(&row->minor_faults, fixed->minor_faults);
		pmc_add_sat(&row->major_faults, fixed->major_faults);
		pmc_add_sat(&row->voluntary_switches, fixed->voluntary_switches);
		pmc_add_sat(&row->involuntary_switches, fixed->involuntary_switches);
	}
	row->sampled_rows += thread->sampled;
	pmc_add_sat(&row->samples, thread->samples);
	pmc_add_sat(&row->lost_samples, thread->lost_samples);
	if (thread->set) {
		add_counts(row, u, thread, spread);
		add_ratios(row, u, thread);
	}
	if (thread->region && row->self)
		add_self(row, u, thread, spread);
}

static void stat_merge(struct pmc_fold_stat *into, const struct pmc_fold_stat *stat)
{
	if (stat->why != WHY_NONE)
		stat_why(into, (enum pmc_state)stat->why, stat->error);
	into->extra += stat->extra;
	if (!stat->rows)
		return;
	into->rows += stat->rows;
	into->scaled += stat->scaled;
	pmc_add_sat(&into->sum, stat->sum);
	into->min = stat->min < into->min ? stat->min : into->min;
	into->max = stat->max > into->max ? stat->max : into->max;
	pmc_add_sat(&into->raw, stat->raw);
	pmc_add_sat(&into->enabled_ns, stat->enabled_ns);
	pmc_add_sat(&into->running_ns, stat->running_ns);
}

void pmc_fold_merge(struct pmc_fold_row *into, const struct pmc_fold_row *row,
		    const struct pmc_union *u)
{
	into->threads += row->threads;
	into->rows += row->rows;
	into->wall_ns = 0;
	stat_merge(&into->cpu, &row->cpu);
	into->usage_rows += row->usage_rows;
	pmc_add_sat(&into->minor_faults, row->minor_faults);
	pmc_add_sat(&into->major_faults, row->major_faults);
	pmc_add_sat(&into->voluntary_switches, row->voluntary_switches);
	pmc_add_sat(&into->involuntary_switches, row->involuntary_switches);
	into->sampled_rows += row->sampled_rows;
	pmc_add_sat(&into->samples, row->samples);
	pmc_add_sat(&into->lost_samples, row->lost_samples);
	for (unsigned i = 0; i < u->set.count; i++)
		stat_merge(&into->events[i], &row->events[i]);
	for (int i = 0; i < __builtin_popcountll(u->ratios); i++)
		pmc_ratio_add(&into->ratios[i], &row->ratios[i]);
	pmc_add_sat(&into->calls, row->calls);
	if (into->self && row->self)
		pmc_fold_merge(into->self, row->self, u);
}

enum pmc_state pmc_fold_state(const struct pmc_fold_stat *stat, uint64_t rows)
{
	if (!stat->rows)
		return stat->why == WHY_NONE ? PMC_NOT_COUNTED : (enum pmc_state)stat->why;
	if (stat->rows < rows + stat->extra)
		return PMC_PARTIAL;
	return stat->scaled ? PMC_SCALED : PMC_COUNTED;
}

double pmc_fold_stddev(const struct pmc_fold_stat *stat)
{
	const double stddev = stat->rows ? pmc_square_root(stat->m2 / (double)stat->rows) : 0;

	/* Equal values differ by rounding. */
	return stddev > stat->mean * 1e-9 ? stddev : 0;
}

struct pmc_ratio *pmc_fold_ratio(const struct pmc_fold_row *row, const struct pmc_union *u,
				 unsigned metric)
{
	const uint64_t bit = UINT64_C(1) << metric;

	return u->ratios & bit ? &row->ratios[__builtin_popcountll(u->ratios & (bit - 1))] : NULL;
}
