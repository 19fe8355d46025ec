/* SPDX-License-Identifier: MIT */
/* select.c - which rows a view shows, and in which order. */
#include "agent/core/report/view.h"

#include <errno.h>
#include <fnmatch.h>

bool pmc_view_in_scope(const struct pmc_view *view, const struct pmc_p_process *process)
{
	if (!view->options->only_first)
		return true;
	return process == view->first ||
	       (process->known && process->fixed.flags & PMC_PROCESS_FIRST);
}

/* ---- --where --------------------------------------------------------------------------- */

struct condition {
	const struct pmc_column *column;
	const char *glob;
};

static int conditions_make(struct pmc_view *view, struct condition *conditions)
{
	const struct pmc_report_options *options = view->options;

	for (unsigned i = 0; i < options->n_where; i++) {
		const char *text = options->where[i], *equals = strchr(text, '=');

		if (!equals || equals == text) {
			view->problem = pmc_arena_strdup(&view->profile->arena,
							 "invalid condition: expected COLUMN=GLOB, "
							 "such as name=worker-*");
			return -EINVAL;
		}
		conditions[i].column =
			pmc_columns_find(view, &view->of_threads, text, (size_t)(equals - text));
		if (!conditions[i].column)
			return -EINVAL;
		conditions[i].glob = equals + 1;
	}
	return 0;
}

static bool matches(const struct condition *condition, const struct pmc_cell *cell)
{
	char buf[512];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	if (cell->kind == PMC_CELL_NUMBER)
		pmc_out_u64(&out, cell->number);
	else if (cell->kind == PMC_CELL_REAL)
		pmc_out_fixed(&out, cell->real, 6);
	else if (cell->kind != PMC_CELL_NULL)
		pmc_out_bytes(&out, cell->text, cell->len);
	return !fnmatch(condition->glob, buf, 0);
}

static bool holds(struct pmc_view *view, const struct condition *condition,
		  const struct pmc_row *row)
{
	struct pmc_cell cell = pmc_cell(view, condition->column, row);

	if (matches(condition, &cell))
		return true;
	/* Tables call a main thread "(main)". */
	if (condition->column->kind != PMC_COL_FIELD || condition->column->index != PMC_FIELD_name)
		return false;
	cell.text = pmc_thread_label(row->thread, &cell.len);
	return matches(condition, &cell);
}

int pmc_view_select(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_profile *profile = view->profile;
	struct pmc_p_row **from = options->timeline ? profile->timeline : profile->threads;
	uint64_t n_from = options->timeline ? profile->n_timeline : profile->n_threads;
	struct condition *conditions;
	struct pmc_thread_buf buf;
	struct pmc_row row;
	int err;

	view->rows = from;
	view->n_rows = n_from;
	if (!options->n_where && !options->only_first)
		return 0;
	conditions = pmc_arena_alloc(view->arena, (options->n_where + 1) * sizeof(*conditions));
	view->rows = pmc_arena_alloc(view->arena, (n_from + 1) * sizeof(*view->rows));
	if (!conditions || !view->rows)
		return -ENOMEM;
	err = conditions_make(view, conditions);
	if (err)
		return err;
	view->n_rows = 0;
	for (uint64_t i = 0; i < n_from; i++) {
		bool in = pmc_view_in_scope(view, from[i]->process);

		if (in && options->n_where)
			pmc_row_of(view, pmc_profile_thread(profile, from[i], &buf), &row);
		for (unsigned c = 0; in && c < options->n_where; c++)
			in = holds(view, &conditions[c], &row);
		if (in)
			view->rows[view->n_rows++] = from[i];
	}
	return 0;
}

/* ---- order ----------------------------------------------------------------------------- */

struct item {
	const void *row;
	const char *text;
	size_t len;
	double number;
	uint64_t group, order; /* group before everything else */
	bool null;
};

/* Whether a belongs before b. */
static bool before(const struct item *a, const struct item *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	if (a->null != b->null)
		return b->null;
	if (a->text && b->text) {
		int diff = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

		if (diff)
			return diff < 0;
		if (a->len != b->len)
			return a->len < b->len;
	} else if (!a->null && a->number != b->number) {
		return a->number > b->number;
	}
	return a->order < b->order;
}

/* The first `limit` items; the root is the last of them. */
struct heap {
	struct item *items;
	uint64_t n, limit;
};

/* Moves items[at] down to its place: the root is the one that belongs last. */
static void sink(struct item *items, uint64_t n, uint64_t at)
{
	struct item moved = items[at];

	for (uint64_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && before(&items[child], &items[child + 1]))
			child++;
		if (!before(&moved, &items[child]))
			break;
		items[at] = items[child];
	}
	items[at] = moved;
}

static int heap_init(struct heap *heap, struct pmc_view *view, uint64_t n, uint64_t limit)
{
	heap->n = 0;
	heap->limit = limit && limit < n ? limit : n;
	heap->items = pmc_arena_alloc(view->arena, (heap->limit + 1) * sizeof(*heap->items));
	return heap->items ? 0 : -ENOMEM;
}

/* Returns the row that is out: this one, one that was in, or NULL. */
static const void *heap_add(struct heap *heap, const struct item *item)
{
	uint64_t at = heap->n;
	const void *out;

	if (at == heap->limit) {
		if (!at || !before(item, &heap->items[0]))
			return item->row;
		out = heap->items[0].row;
		heap->items[0] = *item;
		sink(heap->items, heap->n, 0);
		return out;
	}
	for (heap->n++; at && before(&heap->items[(at - 1) / 2], item); at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = *item;
	return NULL;
}

/* The heap's rows in order, in place: a pointer is smaller than an item. */
static const void **heap_list(struct heap *heap)
{
	const void **list = (const void **)heap->items;

	for (uint64_t n = heap->n; n > 1;) {
		struct item last = heap->items[0];

		heap->items[0] = heap->items[--n];
		heap->items[n] = last;
		sink(heap->items, n, 0);
	}
	for (uint64_t i = 0; i < heap->n; i++)
		list[i] = heap->items[i].row;
	return list;
}

static void item_value(struct pmc_view *view, struct item *item, const struct pmc_cell *cell)
{
	item->null = cell->kind == PMC_CELL_NULL;
	item->number = cell->kind == PMC_CELL_REAL ? cell->real : (double)cell->number;
	item->text = NULL;
	item->len = cell->len;
	if (cell->kind >= PMC_CELL_TEXT) {
		/* A cell's text does not outlive its row. */
		item->text = pmc_arena_strndup(view->arena, cell->text, cell->len);
		item->null = !item->text;
	}
}

static const struct pmc_column *sort_column(struct pmc_view *view,
					    const struct pmc_columns *columns)
{
	const char *sort = view->options->sort;

	if (!sort)
		sort = view->clock_event < 0 ? "cpu_ns" :
					       view->events.columns[view->clock_event]->label;
	return pmc_columns_find(view, columns, sort, strlen(sort));
}

int pmc_view_threads(struct pmc_view *view, uint64_t limit, struct pmc_p_row ***list, uint64_t *n,
		     struct pmc_fold_row *rest)
{
	const struct pmc_column *column = sort_column(view, &view->of_threads);
	struct item item = { 0 };
	struct pmc_thread_buf buf;
	struct heap heap;
	int err;

	err = column ? heap_init(&heap, view, view->n_rows, limit) : -EINVAL;
	if (err)
		return err;
	for (uint64_t i = 0; i < view->n_rows; i++) {
		struct pmc_cell cell;
		struct pmc_row row;
		const void *out;

		pmc_row_of(view, pmc_profile_thread(view->profile, view->rows[i], &buf), &row);
		cell = pmc_cell(view, column, &row);
		item_value(view, &item, &cell);
		item.row = view->rows[i];
		item.order = i;
		out = heap_add(&heap, &item);
		if (out && rest)
			pmc_fold_add(rest, &view->events,
				     pmc_profile_thread(view->profile, out, &buf), false);
	}
	*n = heap.n;
	*list = (struct pmc_p_row **)heap_list(&heap);
	return view->arena->failed ? -ENOMEM : 0;
}

int pmc_view_groups(struct pmc_view *view, uint64_t limit, const struct pmc_fold_row ***list,
		    uint64_t *n, struct pmc_fold_row *rest)
{
	const struct pmc_column *column = sort_column(view, &view->of_groups);
	struct item item = { 0 };
	struct heap heap;
	int err;

	err = column ? heap_init(&heap, view, view->groups.n_rows, limit) : -EINVAL;
	if (err)
		return err;
	for (struct pmc_fold_row *group = view->groups.rows; group; group = group->next) {
		const struct pmc_row row = { .sums = group };
		struct pmc_cell cell = pmc_cell(view, column, &row);
		const void *out;

		item_value(view, &item, &cell);
		item.row = group;
		item.order = group->order;
		out = heap_add(&heap, &item);
		if (out && rest)
			pmc_fold_merge(rest, out, &view->events);
	}
	*n = heap.n;
	*list = (const struct pmc_fold_row **)heap_list(&heap);
	return view->arena->failed ? -ENOMEM : 0;
}

uint64_t pmc_view_top(const struct pmc_view *view)
{
	int top = view->options->top;

	if (top >= 0)
		return (uint64_t)top;
	return view->options->format == PMC_FORMAT_TABLE && !view->options->timeline ? 20 : 0;
}

/* ---- the order of time ------------------------------------------------------------------- */

static bool same_thread(const struct pmc_p_row *a, const struct pmc_p_row *b)
{
	return a->process == b->process && a->seq == b->seq;
}

/* Clocks of different hosts have nothing in common: host by host, then by time. */
int pmc_view_steps(struct pmc_view *view, struct pmc_step **steps)
{
	struct pmc_step *list;
	struct heap heap;
	const char *host = "";
	uint64_t hosts = 0;
	int err = heap_init(&heap, view, view->n_rows, 0);

	list = pmc_arena_alloc(view->arena, (view->n_rows + 1) * sizeof(*list));
	*steps = pmc_arena_alloc(view->arena, (view->n_rows + 1) * sizeof(*list));
	if (err || !list || !*steps)
		return -ENOMEM;
	for (uint64_t i = 0; i < view->n_rows; i++) {
		const struct pmc_p_row *row = view->rows[i];
		struct item item = { .row = &list[i], .order = i };

		hosts += !i || strcmp(host, row->process->host) != 0;
		host = row->process->host;
		list[i].now = row;
		if (i && same_thread(view->rows[i - 1], row))
			list[i].before = view->rows[i - 1];
		item.group = hosts;
		item.number = -(double)row->time_ns; /* numbers go downwards */
		heap_add(&heap, &item);
	}
	heap_list(&heap);
	for (uint64_t i = 0; i < heap.n; i++)
		(*steps)[i] = *(const struct pmc_step *)((const void **)heap.items)[i];
	return 0;
}
