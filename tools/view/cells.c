/* SPDX-License-Identifier: MIT */
/* cells.c - the value that a row has in a column. */
#include "lib/base/labels.h"
#include "tools/view/view.h"

#include <string.h>

static struct table_cell label(const struct pmc_p_thread *thread)
{
	size_t len;
	const char *name = pmc_thread_label(thread, &len);

	return cell_textn(name, len);
}

static struct table_cell pool(struct pmc_view *view, const struct pmc_thread_fixed *fixed)
{
	return cell_textn(view->text,
			  pmc_pool_pattern(fixed->name, strnlen(fixed->name, sizeof(fixed->name)),
					   view->text));
}

static struct table_cell start(struct pmc_view *view, const struct pmc_p_thread *thread)
{
	struct pmc_out out;

	if (thread->symbol[0])
		return cell_text(thread->symbol);
	pmc_out_to_mem(&out, view->text, sizeof(view->text));
	pmc_thread_start(thread, &out);
	return cell_textn(view->text, out.len);
}

static inline struct table_cell usage(const struct pmc_thread_fixed *fixed, uint64_t value)
{
	return cell_number(!(fixed->flags & PMC_THREAD_NO_RUSAGE), value);
}

static struct table_cell usages(const struct pmc_fold_row *sums, uint64_t value)
{
	struct table_cell cell = cell_number(sums->usage_rows, value);

	cell.partial = sums->usage_rows && (sums->usage_rows < sums->rows || sums->usage_lacks);
	return cell;
}

static struct table_cell sampled(const struct pmc_fold_row *sums, uint64_t value)
{
	struct table_cell cell = cell_number(sums->sampled_rows, value);

	cell.partial = sums->sampled_rows && sums->sampled_rows < sums->rows;
	return cell;
}

static struct table_cell outside_mpi(const struct pmc_fold_row *sums)
{
	struct table_cell cell = cell_number(sums->outside_mpi.rows, sums->outside_mpi.sum);

	cell.partial = sums->outside_mpi.rows &&
		       sums->outside_mpi.rows < sums->rows + sums->outside_mpi.extra;
	return cell;
}

static struct table_cell label_of(const struct pmc_p_process *process, const char *key)
{
	size_t len;
	const char *text = pmc_label(process->labels, key, &len);

	return text ? cell_textn(text, len) : cell_null();
}

/* As --by job has it. */
static struct table_cell job(struct pmc_view *view, const struct pmc_p_process *process)
{
	struct table_cell cell = label_of(process, "job");
	struct pmc_out out;

	if (cell.kind != CELL_NULL || !process->known)
		return cell;
	pmc_out_to_mem(&out, view->text, sizeof(view->text));
	pmc_out_hex_bytes(&out, process->fixed.job, 8);
	return cell_textn(view->text, out.len);
}

/* Of the CPU time of all rows, by the clock that stands for it. */
static struct table_cell share(struct pmc_view *view, const struct pmc_row *row)
{
	const bool clock = view->clock_event >= 0;
	const struct table_column cpu = {
		.kind = clock ? PMC_COL_EVENT : PMC_COL_FIELD,
		.index = clock ? (unsigned)view->clock_event : PMC_FIELD_cpu_ns,
	};
	const struct table_cell cell = pmc_cell(view, &cpu, row);

	return cell.kind == CELL_NUMBER && view->whole_cpu > 0 ?
		       cell_real(100 * ((double)cell.number / view->whole_cpu), TABLE_DECIMALS) :
		       cell_null();
}

static uint64_t since_start(const struct pmc_row *row)
{
	const uint64_t start_ns = row->thread->process->job_start_ns;

	return row->t_ns > start_ns ? row->t_ns - start_ns : 0;
}

static void lessen(double *least, bool known, uint64_t running_ns, uint64_t enabled_ns)
{
	double share = enabled_ns ? (double)running_ns / (double)enabled_ns : 1;

	if (known && share < *least)
		*least = share;
}

/* The least share of time that any event of the row was on the PMU. */
static struct table_cell ran(const struct pmc_view *view, const struct pmc_row *row)
{
	double least = 2;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_count *count = row->thread ? &row->counts[i] : NULL;
		const struct pmc_fold_stat *stat = row->thread ? NULL : &row->sums->events[i];

		if (count)
			lessen(&least, pmc_count_has_value(count), count->running_ns,
			       count->enabled_ns);
		else
			lessen(&least, stat->rows, stat->running_ns, stat->enabled_ns);
	}
	return least > 1 ? cell_null() : cell_real(100 * least, TABLE_DECIMALS);
}

static inline struct table_cell field_of_thread(struct pmc_view *view, unsigned field,
						const struct pmc_row *row)
{
	const struct pmc_p_thread *t = row->thread;
	const struct pmc_thread_fixed *f = &t->fixed;
	const struct pmc_p_process *p = t->process;

	switch (field) {
#define X(name, head, unit, threads, groups, table, of_thread, of_group)                           \
	case PMC_FIELD_##name:                                                                     \
		return of_thread;
#include "tools/view/columns.def"
#undef X
	default:
		return cell_null();
	}
}

static struct table_cell field_of_group(struct pmc_view *view, unsigned field,
					const struct pmc_row *row)
{
	const struct pmc_fold_row *s = row->sums;

	switch (field) {
#define X(name, head, unit, threads, groups, table, of_thread, of_group)                           \
	case PMC_FIELD_##name:                                                                     \
		return of_group;
#include "tools/view/columns.def"
#undef X
	default:
		return cell_null();
	}
}

/* ---- events ------------------------------------------------------------------------------ */

static struct table_cell event_of_thread(const struct pmc_count *count, double scale,
					 enum pmc_part part)
{
	bool has_value = pmc_count_has_value(count);

	switch (part) {
	case PMC_PART_VALUE:
		if (has_value && scale != 1)
			return cell_real((double)pmc_count_value(count) * scale,
					 TABLE_SCALED_DECIMALS);
		return cell_number(has_value, count->state == PMC_COUNTED ? count->raw :
									    pmc_count_value(count));
	case PMC_PART_RAW:
		return cell_number(has_value, count->raw);
	case PMC_PART_ENABLED:
		return cell_number(has_value, count->enabled_ns);
	case PMC_PART_RUNNING:
		return cell_number(has_value, count->running_ns);
	case PMC_PART_STATE:
		return cell_text(pmc_state_name(count->state));
	default:
		return cell_null();
	}
}

/* Sums made by merging, and unattributed work, have no spread. */
static bool lacks_spread(const struct pmc_fold_stat *stat)
{
	return stat->sum && stat->mean == 0;
}

static struct table_cell whole(uint64_t value, double scale)
{
	return scale == 1 ? cell_number(true, value) :
			    cell_real((double)value * scale, TABLE_SCALED_DECIMALS);
}

static struct table_cell stat_cell(const struct pmc_fold_stat *stat, double scale,
				   enum pmc_part part, uint64_t rows)
{
	enum pmc_state state = pmc_fold_state(stat, rows);
	struct table_cell cell;

	if (part == PMC_PART_STATE)
		return cell_text(pmc_state_name(state));
	if (!stat->rows)
		return cell_null();
	if (part != PMC_PART_VALUE && lacks_spread(stat))
		return cell_null();
	switch (part) {
	case PMC_PART_MIN:
		return whole(stat->min, scale);
	case PMC_PART_MEAN:
		return cell_real(stat->mean * scale,
				 scale == 1 ? TABLE_DECIMALS : TABLE_SCALED_DECIMALS);
	case PMC_PART_MAX:
		return whole(stat->max, scale);
	case PMC_PART_STDDEV:
		return cell_real(pmc_fold_stddev(stat) * scale,
				 scale == 1 ? TABLE_DECIMALS : TABLE_SCALED_DECIMALS);
	case PMC_PART_IMBALANCE:
		return stat->mean > 0 ? cell_real((double)stat->max / stat->mean, TABLE_DECIMALS) :
					cell_null();
	case PMC_PART_LARGEST:
		return cell_text(stat->largest);
	default:
		cell = whole(stat->sum, scale);
		cell.partial = state == PMC_PARTIAL;
		return cell;
	}
}

/* Of a group null if its rows may have counted in different scopes. */
static struct table_cell scope(struct pmc_view *view, unsigned event, const struct pmc_row *row)
{
	const struct pmc_p_set_view *set =
		row->thread ? pmc_union_set_of(&view->events, row->thread) : NULL;
	const uint16_t *map = set ? pmc_union_map(&view->events, set) : NULL;

	if (!view->events.columns[event].mixed_scope)
		return cell_text(pmc_scope_name(view->events.set.events[event].def.scope));
	for (unsigned i = 0; map && i < set->count; i++)
		if (map[i] == event)
			return cell_text(pmc_scope_name(set->events[i].def.scope));
	return cell_null();
}

static struct table_cell event_cell(struct pmc_view *view, const struct table_column *column,
				    const struct pmc_row *row)
{
	double scale = view->events.set.events[column->index].def.scale;
	const struct pmc_fold_row *sums = row->sums;

	if (column->part == PMC_PART_SCOPE)
		return scope(view, column->index, row);
	if (row->thread)
		return event_of_thread(&row->counts[column->index], scale, column->part);
	if (column->part != PMC_PART_SELF)
		return stat_cell(&sums->events[column->index], scale, column->part, sums->rows);
	return sums->self ? stat_cell(&sums->self->events[column->index], scale, PMC_PART_VALUE,
				      sums->self->rows) :
			    cell_null();
}

/* ---- metrics ----------------------------------------------------------------------------- */

static void usage_of_thread(const struct pmc_row *row, struct pmc_metric_usage *usage)
{
	const struct pmc_thread_fixed *fixed = &row->thread->fixed;

	usage->has_cpu = !(fixed->flags & PMC_THREAD_NO_CPU);
	usage->has_switches = !(fixed->flags & PMC_THREAD_NO_RUSAGE);
	usage->switches = fixed->voluntary_switches + fixed->involuntary_switches;
	usage->wall_ns =
		row->step ? row->on_ns : pmc_thread_on_ns(fixed, pmc_thread_until(row->thread));
	usage->cpu_ns = fixed->cpu_ns;
}

static void usage_of_sums(const struct pmc_fold_row *sums, struct pmc_metric_usage *usage)
{
	usage->has_cpu = sums->cpu.rows && sums->cpu.rows == sums->rows + sums->cpu.extra;
	usage->has_switches =
		sums->usage_rows && sums->usage_rows == sums->rows && !sums->usage_lacks;
	usage->cpu_ns = sums->cpu.sum;
	usage->wall_ns = sums->wall_ns;
	usage->switches = sums->voluntary_switches + sums->involuntary_switches;
}

static struct table_cell metric_cell(struct pmc_view *view, const struct table_column *column,
				     const struct pmc_row *row)
{
	const unsigned metric = column->index;
	struct table_cell cell;
	struct pmc_metric_usage usage = { 0 };
	struct pmc_ratio ratio = { 0 };
	const struct pmc_ratio *sum;
	double value;
	bool known;

	if (pmc_metric_is_accounting(metric)) {
		if (row->thread)
			usage_of_thread(row, &usage);
		else
			usage_of_sums(row->sums, &usage);
		known = pmc_metric_of_usage(metric, &usage, &value);
	} else {
		sum = row->thread ? NULL : pmc_fold_ratio(row->sums, &view->events, metric);
		if (sum)
			ratio = *sum;
		if (row->thread)
			pmc_union_ratio(&view->events, row->thread->set, row->thread->counts,
					metric, &ratio);
		known = pmc_ratio_value(metric, &ratio, &value);
	}
	if (!known)
		return cell_null();
	if (column->part == PMC_PART_STATE)
		return cell_text(pmc_ratio_state_name(ratio.state));
	cell = cell_real(value, TABLE_DECIMALS);
	cell.estimate = ratio.state;
	return cell;
}

/* The text of one key: of the row's group, or of its function; with PMC_ALL_KEYS those of all,
 * joined by commas. */
static struct table_cell key_cell(struct pmc_view *view, unsigned index, const struct pmc_row *row)
{
	const struct pmc_fold_row *group = row->sample ? row->sample->group : row->sums;
	struct table_cell last;
	size_t room;

	if (index < view->groups.n_keys)
		return group->groups ? cell_text(group->groups[index]->label) : cell_null();
	if (!row->sample)
		return cell_text(group->label);
	last = pmc_sample_key_cell(view, row->sample);
	if (index != PMC_ALL_KEYS)
		return last;
	room = strlen(group->label) + last.len + 2;
	if (view->keys_room < room) {
		view->keys_room = 2 * room;
		view->keys = pmc_arena_alloc(view->arena, view->keys_room);
	}
	memcpy(stpcpy(stpcpy(view->keys, group->label), ","), last.text, last.len);
	return cell_textn(view->keys, room - 1);
}

struct table_cell pmc_cell(struct pmc_view *view, const struct table_column *column,
			   const struct pmc_row *row)
{
	switch (column->kind) {
	case PMC_COL_FIELD:
		return row->thread ? field_of_thread(view, column->index, row) :
				     field_of_group(view, column->index, row);
	case PMC_COL_CPU: /* the spread of the clock that the row shows */
		return !row->sums ? cell_null() :
		       column->index == PMC_FIELD_outside_mpi_ns ?
				    stat_cell(&row->sums->outside_mpi, 1, column->part,
					      row->sums->rows) :
		       view->clock_event < 0 ?
				    stat_cell(&row->sums->cpu, 1, column->part, row->sums->rows) :
				    stat_cell(&row->sums->events[view->clock_event],
					      view->events.set.events[view->clock_event].def.scale,
					      column->part, row->sums->rows);
	case PMC_COL_EVENT:
		return event_cell(view, column, row);
	case PMC_COL_KEY:
		return key_cell(view, column->index, row);
	case PMC_COL_SAMPLE:
		return pmc_sample_cell(view, column->index, row->sample);
	default:
		return metric_cell(view, column, row);
	}
}

/* ---- rows of threads --------------------------------------------------------------------- */

static bool is_in_order(const uint16_t *map, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (map[i] != i)
			return false;
	return true;
}

/* The counts of a thread without readings: why each event was not counted. */
static void not_counted(struct pmc_view *view, const struct pmc_p_thread *thread)
{
	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_event_def *def = &view->events.set.events[i].def;

		view->counts[i] = (struct pmc_count){ .state = PMC_NOT_COUNTED,
						      .error = thread->fixed.reason };
		if (def->state != PMC_COUNTED) {
			view->counts[i].state = def->state;
			view->counts[i].error = def->error;
		}
	}
}

void pmc_row_of(struct pmc_view *view, const struct pmc_p_thread *thread, struct pmc_row *row)
{
	const struct pmc_p_set_view *set = thread->set;
	const uint16_t *map = set && thread->counts ? pmc_union_map(&view->events, set) : NULL;
	unsigned n = view->events.set.count;

	*row = (struct pmc_row){ .thread = thread, .counts = view->counts };
	if (map && set->count == n && is_in_order(map, n)) {
		row->counts = thread->counts;
		return;
	}
	not_counted(view, thread);
	for (unsigned i = 0; map && i < set->count; i++)
		if (map[i] != PMC_NO_COLUMN)
			view->counts[map[i]] = thread->counts[i];
}
