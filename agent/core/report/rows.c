/* SPDX-License-Identifier: MIT */
/* rows.c - which rows a view shows, and in which order. */
#include "agent/core/report/view.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

bool pmc_view_in_scope(const struct pmc_view *view, const struct pmc_p_process *process)
{
	if (!view->options->only_first)
		return true;
	return process == view->first ||
	       (process->known && process->fixed.flags & PMC_PROCESS_FIRST);
}

/* ---- --where --------------------------------------------------------------------------- */

struct condition {
	struct pmc_ref ref;
	const char *glob;
};

static int conditions_make(struct pmc_view *view, struct condition *conditions)
{
	const struct pmc_report_options *options = view->options;

	for (unsigned i = 0; i < options->n_where; i++) {
		const char *text = options->where[i], *equals = strchr(text, '=');
		int err;

		if (!equals || equals == text) {
			view->problem =
				pmc_arena_strdup(&view->profile->arena,
						 "a condition is COLUMN=GLOB, as in name=worker-*");
			return -EINVAL;
		}
		err = pmc_ref_find(view, false, text, (size_t)(equals - text), &conditions[i].ref);
		if (err)
			return err;
		conditions[i].glob = equals + 1;
	}
	return 0;
}

static bool condition_holds(struct pmc_view *view, const struct condition *condition,
			    const struct pmc_p_thread *thread)
{
	struct pmc_cell cell = pmc_cell_thread(view, &condition->ref, thread);
	char buf[512];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	switch (cell.kind) {
	case PMC_CELL_NULL:
		break;
	case PMC_CELL_NUMBER:
		pmc_out_u64(&out, cell.number);
		break;
	case PMC_CELL_REAL:
		pmc_out_fixed(&out, cell.real, 6);
		break;
	case PMC_CELL_TEXT:
		pmc_out_bytes(&out, cell.text, cell.len);
		break;
	}
	return !fnmatch(condition->glob, buf, 0);
}

int pmc_view_select(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_profile *profile = view->profile;
	bool timeline = options->timeline;
	struct pmc_p_row **from = timeline ? profile->timeline : profile->threads;
	uint64_t n_from = timeline ? profile->n_timeline : profile->n_threads;
	struct condition *conditions;
	int err;

	view->threads = from;
	view->n_threads = n_from;
	if (!options->n_where && !options->only_first)
		return 0;
	conditions = pmc_arena_alloc(view->arena, (options->n_where + 1) * sizeof(*conditions));
	view->threads = pmc_arena_alloc(view->arena, (n_from + 1) * sizeof(*view->threads));
	if (!conditions || !view->threads)
		return -ENOMEM;
	err = conditions_make(view, conditions);
	if (err)
		return err;
	view->n_threads = 0;
	for (uint64_t i = 0; i < n_from; i++) {
		bool in = pmc_view_in_scope(view, from[i]->process);

		for (unsigned c = 0; in && c < options->n_where; c++)
			in = condition_holds(view, &conditions[c],
					     pmc_view_thread(view, from[i]));
		if (in)
			view->threads[view->n_threads++] = from[i];
	}
	return 0;
}

/* ---- order ----------------------------------------------------------------------------- */

struct item {
	const void *row;
	const char *text;
	size_t len;
	double number;
	uint64_t order;
	bool null;
};

/* Whether a belongs before b. */
static bool before(const struct item *a, const struct item *b)
{
	if (a->null != b->null)
		return b->null;
	if (a->text && b->text) {
		int diff = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

		if (diff || a->len != b->len)
			return diff ? diff < 0 : a->len < b->len;
	} else if (a->number != b->number) {
		return a->number > b->number;
	}
	return a->order < b->order;
}

/* A heap with the last item on top: the best `limit` of any number of items stay in it. */
struct heap {
	struct item *items;
	uint64_t n, limit;
};

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

static void heap_add(struct heap *heap, const struct item *item)
{
	uint64_t at = heap->n;

	if (at == heap->limit) {
		if (at && before(item, &heap->items[0])) {
			heap->items[0] = *item;
			sink(heap->items, heap->n, 0);
		}
		return;
	}
	for (heap->n++; at && before(&heap->items[(at - 1) / 2], item); at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = *item;
}

static void heap_sort(struct heap *heap)
{
	for (uint64_t n = heap->n; n > 1;) {
		struct item last = heap->items[0];

		heap->items[0] = heap->items[--n];
		heap->items[n] = last;
		sink(heap->items, n, 0);
	}
}

static void item_cell(struct pmc_view *view, struct item *item, const struct pmc_cell *cell)
{
	item->null = cell->kind == PMC_CELL_NULL;
	item->number = cell->kind == PMC_CELL_NUMBER ? (double)cell->number : cell->real;
	item->text = NULL;
	item->len = cell->len;
	if (cell->kind == PMC_CELL_TEXT)
		item->text = pmc_arena_strndup(view->arena, cell->text, cell->len);
	item->null |= cell->kind == PMC_CELL_TEXT && !item->text;
}

static int heap_init(struct heap *heap, struct pmc_view *view, uint64_t n, uint64_t limit)
{
	heap->n = 0;
	heap->limit = limit && limit < n ? limit : n;
	heap->items = pmc_arena_alloc(view->arena, (heap->limit + 1) * sizeof(*heap->items));
	return heap->items ? 0 : -ENOMEM;
}

/* The heap's rows as a list, in place: a pointer is smaller than an item. */
static const void **heap_list(struct heap *heap)
{
	const void **list = (const void **)heap->items;

	heap_sort(heap);
	for (uint64_t i = 0; i < heap->n; i++)
		list[i] = heap->items[i].row;
	return list;
}

static int sort_ref(struct pmc_view *view, bool groups, struct pmc_ref *ref)
{
	const char *sort = view->options->sort ? view->options->sort : "cpu";

	/* In a grouped view the key's own name is a name of its column. */
	if (groups && !strcmp(sort, pmc_by_name(view->options->by)))
		sort = "key";
	/* And the table's "self" is this. */
	if (groups && view->options->by == PMC_BY_REGION && !strcmp(sort, "self"))
		sort = "self_cpu_ns";
	return pmc_ref_find(view, groups, sort, strlen(sort), ref);
}

int pmc_view_threads(struct pmc_view *view, uint64_t limit, struct pmc_p_row ***list,
		     uint64_t *n)
{
	bool by_cpu = !view->options->sort;
	struct item item = { 0 };
	struct pmc_ref ref;
	struct heap heap;
	int err;

	err = sort_ref(view, false, &ref);
	if (!err)
		err = heap_init(&heap, view, view->n_threads, limit);
	if (err)
		return err;
	for (uint64_t i = 0; i < view->n_threads; i++) {
		const struct pmc_p_thread *thread = pmc_view_thread(view, view->threads[i]);

		if (by_cpu) {
			item.null = thread->fixed.flags & PMC_THREAD_NO_CPU;
			item.number = (double)thread->fixed.cpu_ns;
		} else {
			struct pmc_cell cell = pmc_cell_thread(view, &ref, thread);

			item_cell(view, &item, &cell);
		}
		item.row = thread->row;
		item.order = i;
		heap_add(&heap, &item);
	}
	*n = heap.n;
	*list = (struct pmc_p_row **)heap_list(&heap);
	return view->arena->failed ? -ENOMEM : 0;
}

int pmc_view_groups(struct pmc_view *view, const struct pmc_fold *groups, uint64_t limit,
		    const struct pmc_fold_row ***list, uint64_t *n)
{
	struct item item = { 0 };
	struct pmc_ref ref;
	struct heap heap;
	int err;

	/* Rows of a folded rest go by CPU time whatever the threads were sorted by. */
	if (groups->by == PMC_BY_NONE)
		err = pmc_ref_find(view, true, "cpu", 3, &ref);
	else
		err = sort_ref(view, true, &ref);
	if (!err)
		err = heap_init(&heap, view, groups->n_rows, limit);
	if (err)
		return err;
	for (const struct pmc_fold_row *row = groups->rows; row; row = row->hh.next) {
		struct pmc_cell cell = pmc_cell_row(view, &ref, row);

		item_cell(view, &item, &cell);
		item.row = row;
		item.order = row->order;
		heap_add(&heap, &item);
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
