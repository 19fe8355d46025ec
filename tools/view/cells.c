/* SPDX-License-Identifier: MIT */
/* cells.c - the value that a row has in a column. */
#include "lib/base/labels.h"
#include "tools/table/histogram.h"
#include "tools/view/view.h"

#include <string.h>

/* In one function with the others, every cell would save the registers of the largest one. */
#define OWN_FUNCTION __attribute__((noinline))

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
	struct pmc_out out = pmc_out_mem(view->text, sizeof(view->text));

	if (thread->symbol[0])
		return cell_text(thread->symbol);
	pmc_thread_start(thread, &out);
	return cell_textn(view->text, out.len);
}

/* A sum that n_known of n_rows have. */
static struct table_cell sum(uint64_t n_known, uint64_t n_rows, uint64_t value)
{
	struct table_cell cell = cell_number(n_known, value);

	cell.partial = n_known && n_known < n_rows;
	return cell;
}

static struct table_cell usage(const struct pmc_fold_row *sums, uint64_t n_known, bool lacks,
			       uint64_t value)
{
	struct table_cell cell = cell_number(n_known || sums->usage_least, value);

	cell.partial = cell.kind != CELL_NULL && n_known < sums->rows + lacks;
	return cell;
}

static struct table_cell faults(const struct pmc_fold_row *sums, uint64_t value)
{
	return usage(sums, sums->usage_rows, sums->usage_lacks, value);
}

static struct table_cell switches(const struct pmc_fold_row *sums, uint64_t value)
{
	return usage(sums, sums->switch_rows, sums->switches_lack, value);
}

static struct table_cell waits(const struct pmc_fold_row *sums, const struct pmc_fold_waits *of,
			       uint64_t value)
{
	return sum(of->rows, sums->rows + of->lacks, value);
}

/* Of no waits at all there is none. Waits that are not known may be longer than the longest one,
 * but change others either way. */
static struct table_cell percentile(const struct pmc_fold_row *sums,
				    const struct pmc_fold_waits *of, unsigned percent)
{
	struct table_cell cell = waits(sums, of, pmc_histogram_percentile(&of->lengths, percent));

	cell.partial &= percent == 100;
	return of->lengths.n ? cell : cell_null();
}

static struct table_cell histogram(const struct pmc_fold_waits *of)
{
	return of->rows ? table_histogram_cell(&of->lengths) : cell_null();
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
	struct pmc_out out = pmc_out_mem(view->text, sizeof(view->text));

	if (cell.kind != CELL_NULL || !process->known)
		return cell;
	pmc_out_hex_bytes(&out, process->fixed.job, 8);
	return cell_textn(view->text, out.len);
}

static struct table_cell process_key(struct pmc_view *view, const struct pmc_p_process *process)
{
	struct pmc_out out = pmc_out_mem(view->text, sizeof(view->text));

	pmc_process_key(process, &out);
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

const struct pmc_p_process *pmc_row_process(const struct pmc_view *view, const struct pmc_row *row)
{
	const struct pmc_fold_row *group = row->sample ? row->sample->group : row->sums;

	if (row->thread)
		return row->thread->process;
	for (unsigned i = 0; group && group->groups && i < view->groups.n_keys; i++)
		if (group->groups[i]->process)
			return group->groups[i]->process;
	return NULL;
}

/* From its start, or the exec that made this image, to its end, or as far as it is known. */
static struct table_cell elapsed(const struct pmc_p_process *process)
{
	uint64_t end_ns;

	if (!process || !process->known || !process->fixed.start_ns)
		return cell_null();
	pmc_process_end_unseen(process, &end_ns);
	return cell_number(true, pmc_sub_sat(end_ns, process->fixed.start_ns));
}

static struct table_cell command(const struct pmc_p_process *process)
{
	return cell_text(process && process->cmdline[0] ? process->cmdline : NULL);
}

/* Behind the program, whose path may have spaces: it is the end of that of its file, or else ends
 * at the first space. */
static struct table_cell arguments(const struct pmc_p_process *process)
{
	const char *path = process ? process->exe : NULL, *space;
	size_t len;

	for (; path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL) {
		len = strlen(path);
		if (len && !strncmp(process->cmdline, path, len) && process->cmdline[len] == ' ')
			return cell_text(process->cmdline + len + 1);
	}
	space = process ? strchr(process->cmdline, ' ') : NULL;
	return cell_text(space ? space + 1 : NULL);
}

/* The least share of time that any event of the row was on the PMU. */
static struct table_cell ran(const struct pmc_view *view, const struct pmc_fold_row *sums)
{
	double least = 2;

	for (unsigned i = 0; i < view->events.set.count; i++) {
		const struct pmc_fold_stat *stat = &sums->events[i];
		const double share =
			stat->enabled_ns ? (double)stat->running_ns / (double)stat->enabled_ns : 1;

		if (stat->rows && share < least)
			least = share;
	}
	return least > 1 ? cell_null() : cell_real(100 * least, TABLE_DECIMALS);
}

static OWN_FUNCTION struct table_cell field_cell(struct pmc_view *view, unsigned field,
						 const struct pmc_row *row)
{
	const struct pmc_fold_row *s = row->sums;
	const struct pmc_p_thread *t = row->thread;
	const struct pmc_thread_fixed *f = t ? &t->fixed : NULL;
	const struct pmc_p_process *p = t ? t->process : NULL;

	if (!t && field < PMC_FIELD_threads)
		return cell_null();
	switch (field) {
#define X(name, head, unit, threads, groups, table, value)                                         \
	case PMC_FIELD_##name:                                                                     \
		return value;
#include "tools/view/columns.def"
#undef X
	default:
		return cell_null();
	}
}

/* ---- events ------------------------------------------------------------------------------ */

static struct table_cell whole(uint64_t value, double scale)
{
	return scale == 1 ? cell_number(true, value) :
			    cell_real((double)value * scale, TABLE_SCALED_DECIMALS);
}

static __attribute__((noinline)) struct table_cell
stat_cell(const struct pmc_fold_stat *stat, double scale, enum pmc_part part, uint64_t rows)
{
	enum pmc_state state = pmc_fold_state(stat, rows);
	struct table_cell cell;

	if (part == PMC_PART_STATE)
		return cell_text(pmc_state_name(state));
	if (!stat->rows)
		return cell_null();
	/* Sums made by merging, and unattributed work, have no spread. */
	if (part >= PMC_PART_MIN && part <= PMC_PART_LARGEST && stat->sum && stat->mean == 0)
		return cell_null();
	switch (part) {
	case PMC_PART_RAW:
		return cell_number(true, stat->raw);
	case PMC_PART_ENABLED:
		return cell_number(true, stat->enabled_ns);
	case PMC_PART_RUNNING:
		return cell_number(true, stat->running_ns);
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
	/* Of the parts that are unknown one may be the largest. */
	case PMC_PART_IMBALANCE:
		return stat->mean > 0 && state != PMC_PARTIAL ?
			       cell_real((double)stat->max / stat->mean, TABLE_DECIMALS) :
			       cell_null();
	case PMC_PART_LARGEST:
		return cell_text(state != PMC_PARTIAL ? stat->largest : NULL);
	default:
		cell = whole(stat->sum, scale);
		cell.partial = state == PMC_PARTIAL;
		return cell;
	}
}

/* Of a group null if its rows may have counted in different scopes. */
static OWN_FUNCTION struct table_cell scope(struct pmc_view *view, unsigned event,
					    const struct pmc_row *row)
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
	if (column->part != PMC_PART_SELF)
		return stat_cell(&sums->events[column->index], scale, column->part, sums->rows);
	return sums->self ? stat_cell(&sums->self->events[column->index], scale, PMC_PART_VALUE,
				      sums->self->rows) :
			    cell_null();
}

/* ---- metrics ----------------------------------------------------------------------------- */

static OWN_FUNCTION struct table_cell metric_cell(const struct pmc_view *view,
						  const struct table_column *column,
						  const struct pmc_fold_row *sums)
{
	const struct pmc_ratio ratio = pmc_fold_metric(sums, &view->events, column->index);
	struct table_cell cell;
	double value;

	if (!pmc_ratio_value(column->index, &ratio, &value))
		return cell_null();
	if (column->part == PMC_PART_STATE)
		return cell_text(pmc_ratio_state_name(ratio.state));
	cell = cell_real(value, TABLE_DECIMALS);
	cell.estimate = ratio.state;
	return cell;
}

/* The text of one key; with PMC_ALL_KEYS those of all, joined by commas. */
static OWN_FUNCTION struct table_cell key_cell(struct pmc_view *view, unsigned index,
					       const struct pmc_row *row)
{
	const struct pmc_fold_row *group = row->sample ? row->sample->group : row->sums;
	struct table_cell last;
	size_t room;

	if (index < view->groups.n_keys)
		return group->groups ? cell_text(group->groups[index]->label) : cell_null();
	if (!row->sample || view->by == PMC_BY_WAKER)
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

static inline __attribute__((always_inline)) struct table_cell
any_cell(struct pmc_view *view, const struct table_column *column, const struct pmc_row *row)
{
	switch (column->kind) {
	case PMC_COL_FIELD:
		return field_cell(view, column->index, row);
	case PMC_COL_CPU: /* the spread of the clock that the row shows */
		return column->index == PMC_FIELD_outside_mpi_ns ?
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
		return metric_cell(view, column, row->sums);
	}
}

struct table_cell pmc_cell(struct pmc_view *view, const struct table_column *column,
			   const struct pmc_row *row)
{
	return any_cell(view, column, row);
}

struct table_cell pmc_line_cell(void *arg, const struct table_column *column)
{
	struct pmc_lines *lines = arg;

	return any_cell(lines->view, column, &lines->row);
}

/* ---- rows of threads --------------------------------------------------------------------- */

void pmc_row_of(struct pmc_view *view, const struct pmc_p_thread *thread, struct pmc_row *row)
{
	pmc_fold_one(&view->one, &view->events, thread);
	*row = (struct pmc_row){ .thread = thread, .sums = &view->one };
}
