/* SPDX-License-Identifier: MIT */
/* samples.c - folds samples by function, line, module or call path. */
#include "lib/base/map.h"
#include "lib/base/sort.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/report/names.h"

/* A function, line, or place in the tree. */
struct node {
	struct pmc_sample_row row;
	struct node *parent, *callees;
	struct node *next; /* in the order of creation, callers first; then of the same caller */
	bool is_group;
	uint64_t thread; /* counted last, from 1 */
	uint64_t place;	 /* of a path, in the order of creation, from 1; of others a mark */
};

struct node_key {
	const struct node *parent;
	const void *of; /* a spot, or a group of threads, below which all nodes are */
};

/* A stack as nodes: the one in which the sample was taken, and all others once; of a path its
 * callers, the nearest first, as a list: the processor reads several at a time, but not a chain. */
struct known_stack {
	struct node *self;
	struct node **others;
	unsigned n;
	struct spot *spot; /* in which the sample was taken */
};

struct stack_key {
	const struct pmc_p_stack *stack;
	const struct node *group;
};

struct folding {
	struct pmc_sample_fold *fold;
	struct report_names *names;
	struct pmc_arena *arena;
	struct pmc_map nodes;  /* struct node by struct node_key */
	struct pmc_map stacks; /* struct known_stack by struct stack_key */
	struct node *first, *last;
	uint64_t n, thread;
	struct node *group; /* of the thread; NULL: none */
	struct spot_list spots;
};

/* *known: it was there. */
static struct node *add_node(struct folding *f, struct node *parent, const void *of, bool *known)
{
	const struct node_key key = { parent, of };
	struct node *node = pmc_map_at(&f->nodes, f->arena, &key, sizeof(key), sizeof(*node));

	*known = node->row.function;
	if (*known)
		return node;
	node->parent = parent;
	*(f->last ? &f->last->next : &f->first) = node;
	f->last = node;
	f->n++;
	return node;
}

static struct node *find_node(struct folding *f, struct node *parent, const struct spot *spot)
{
	const bool called = parent && (!parent->is_group || f->fold->group_rows);
	bool known;
	struct node *node = add_node(f, parent, spot, &known);

	if (!known)
		node->row = (struct pmc_sample_row){
			.function = spot->function,
			.module = spot->module,
			.file = spot->file,
			.line = spot->line,
			.depth = called ? parent->row.depth + 1 : 0,
			.parent = called ? &parent->row : NULL,
			.group = parent ? parent->row.group : NULL,
		};
	return node;
}

static struct node *find_group(struct folding *f, const struct pmc_fold_row *group)
{
	bool known;
	struct node *node = add_node(f, NULL, group, &known);

	node->is_group = true;
	node->row.group = group;
	node->row.function = group->label;
	node->row.module = "";
	return node;
}

/* ---- stacks ------------------------------------------------------------------------------ */

static void flatten(struct folding *f, const struct pmc_p_stack *stack)
{
	const enum names_by by = f->fold->by == PMC_BY_LINE   ? NAMES_LINE :
				 f->fold->by == PMC_BY_MODULE ? NAMES_MODULE :
								NAMES_FUNCTION;

	names_of_stack(f->names, stack, by, f->fold->by == PMC_BY_PATH, &f->spots);
}

static void add_path(struct folding *f, struct known_stack *known)
{
	const struct spot_list *spots = &f->spots;
	struct node *node = f->group;

	known->n = (unsigned)spots->n;
	for (size_t i = 0; i < spots->n; i++) {
		node = find_node(f, node, spots->list[f->fold->inverted ? i : spots->n - 1 - i]);
		known->others[spots->n - 1 - i] = node;
	}
	known->self = node;
}

/* In a recursion a function is there more than once: marked by the number of the stack. */
static void add_functions(struct folding *f, struct known_stack *known)
{
	const uint64_t mark = UINT64_MAX - HASH_COUNT(f->stacks.entries);

	known->self = find_node(f, f->group, f->spots.list[0]);
	for (size_t i = 0; i < f->spots.n; i++) {
		struct node *node = find_node(f, f->group, f->spots.list[i]);

		if (node->place == mark)
			continue;
		node->place = mark;
		known->others[known->n++] = node;
	}
}

static struct known_stack *find_stack(struct folding *f, const struct pmc_p_stack *stack)
{
	const struct stack_key key = { stack, f->group };
	struct known_stack *known =
		pmc_map_at(&f->stacks, f->arena, &key, sizeof(key), sizeof(*known));

	if (known->self)
		return known;
	flatten(f, stack);
	known->others = pmc_arena_alloc(f->arena, f->spots.n * sizeof(*known->others));
	known->spot = f->spots.list[0];
	if (f->fold->by == PMC_BY_PATH)
		add_path(f, known);
	else
		add_functions(f, known);
	return known;
}

/* ---- sums -------------------------------------------------------------------------------- */

static void count_thread(struct folding *f, struct node *node)
{
	node->row.threads += node->thread != f->thread;
	node->thread = f->thread;
}

static void add_sample(struct folding *f, const struct pmc_p_sample *sample)
{
	struct known_stack *known = find_stack(f, sample->stack);
	const bool paths = f->fold->by == PMC_BY_PATH;

	if (!f->fold->silent)
		names_count(f->names, sample->count, known->spot);
	pmc_add_sat(&known->self->row.samples, sample->count);
	pmc_add_sat(&known->self->row.self, sample->weight);
	for (unsigned i = 0; !paths && i < known->n; i++) {
		pmc_add_sat(&known->others[i]->row.total_samples, sample->count);
		pmc_add_sat(&known->others[i]->row.total, sample->weight);
		count_thread(f, known->others[i]);
	}
	/* Callers of a counted node have been counted. */
	for (unsigned i = 0; paths && i < known->n && known->others[i]->thread != f->thread; i++)
		count_thread(f, known->others[i]);
}

/* By waker, groups are the rows. */
static void add_waits(struct folding *f, const struct pmc_p_samples *samples)
{
	struct pmc_sample_row *row = &f->group->row;

	if (!row->waits)
		row->waits = pmc_arena_alloc(f->arena, sizeof(*row->waits));
	count_thread(f, f->group);
	pmc_add_sat(&row->samples, samples->samples);
	pmc_add_sat(&row->self, samples->weight);
	row->total_samples = row->samples;
	row->total = row->self;
	pmc_fold_add_waits(row->waits, f->arena, samples);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* The begin of the interval of a group; one of unknown threads has no keys. */
static uint64_t time_of(const struct node *node)
{
	const struct pmc_fold_row *group = node->is_group ? node->row.group : NULL;

	return group && group->groups ? group->groups[0]->time_ns : 0;
}

/* By caller in the order of creation, then the heaviest first. */
static int by_caller(const void *a, const void *b, const void *arg)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
	const uint64_t of_x = x->parent ? x->parent->place : 0;
	const uint64_t of_y = y->parent ? y->parent->place : 0;
	const uint64_t time_x = time_of(x), time_y = time_of(y);
	int names;

	(void)arg;
	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	if (time_x != time_y)
		return time_x < time_y ? -1 : 1;
	if (x->row.total != y->row.total)
		return x->row.total < y->row.total ? 1 : -1;
	names = strcmp(x->row.function, y->row.function);
	return names ? names : strcmp(x->row.module, y->row.module);
}

/* Adds what was called to its callers, and puts the nodes in the order of the tree. */
static void order_tree(struct folding *f, struct node **nodes)
{
	struct node **scratch = pmc_arena_alloc(f->arena, (f->n + 1) * sizeof(*scratch));
	struct node *roots = NULL, *node;

	for (uint64_t i = f->n; i-- > 0;) {
		struct pmc_sample_row *row = &nodes[i]->row;

		pmc_add_sat(&row->total_samples, row->samples);
		pmc_add_sat(&row->total, row->self);
		if (nodes[i]->parent) {
			pmc_add_sat(&nodes[i]->parent->row.total_samples, row->total_samples);
			pmc_add_sat(&nodes[i]->parent->row.total, row->total);
			nodes[i]->parent->row.callees++;
		}
		nodes[i]->place = i + 1;
	}
	pmc_sort(nodes, scratch, f->n, sizeof(*nodes), by_caller, NULL);
	for (uint64_t i = f->n; i-- > 0;) {
		struct node **list = nodes[i]->parent ? &nodes[i]->parent->callees : &roots;

		nodes[i]->next = *list;
		*list = nodes[i];
	}
	node = roots;
	for (uint64_t i = 0; node; i++) {
		nodes[i] = node;
		if (node->callees) {
			node = node->callees;
			continue;
		}
		while (node && !node->next)
			node = node->parent;
		node = node ? node->next : NULL;
	}
}

static void make_rows(struct folding *f)
{
	struct pmc_sample_fold *fold = f->fold;
	struct node **nodes = pmc_arena_alloc(f->arena, (f->n + 1) * sizeof(*nodes));
	struct node *node = f->first;

	fold->rows = pmc_arena_alloc(f->arena, (f->n + 1) * sizeof(*fold->rows));
	for (uint64_t i = 0; i < f->n; i++, node = node->next)
		nodes[i] = node;
	if (fold->by == PMC_BY_PATH)
		order_tree(f, nodes);
	fold->n_rows = 0;
	for (uint64_t i = 0; i < f->n; i++)
		if (!nodes[i]->is_group || fold->group_rows || fold->by == PMC_BY_WAKER)
			fold->rows[fold->n_rows++] = &nodes[i]->row;
}

void report_fold_samples(struct pmc_sample_fold *fold, void *names)
{
	struct folding f = { .fold = fold, .names = names, .arena = fold->arena };
	uint64_t total = 0;

	for (uint64_t i = 0; i < fold->n_lists; i++)
		total += fold->lists[i]->n;
	tool_progress_begin("naming functions", total);
	for (uint64_t i = 0; i < fold->n_lists; i++) {
		const struct pmc_p_samples *samples = fold->lists[i];

		/* Lists of a thread are side by side. */
		f.thread += !i || samples->process != fold->lists[i - 1]->process ||
			    samples->fixed.seq != fold->lists[i - 1]->fixed.seq;
		if (fold->groups && samples->n)
			f.group = find_group(&f, fold->groups[i]);
		if (fold->by == PMC_BY_WAKER && samples->n) {
			add_waits(&f, samples);
			continue;
		}
		for (uint64_t k = 0; k < samples->n; k++) {
			add_sample(&f, &samples->list[k]);
			tool_progress_add(1);
		}
	}
	tool_progress_end();
	make_rows(&f);
}

/* ---- paths by the number of samples ------------------------------------------------------ */

/* The most, in percent, by which the share of a path differs from that of its samples. */
static double share_error(const struct pmc_sample_fold *fold)
{
	double samples = 0, weight = 0, most = 0;

	for (uint64_t i = 0; i < fold->n_rows; i++) {
		samples += (double)fold->rows[i]->samples;
		weight += (double)fold->rows[i]->self;
	}
	for (uint64_t i = 0; samples > 0 && weight > 0 && i < fold->n_rows; i++) {
		const struct pmc_sample_row *row = fold->rows[i];
		const double error =
			100 * ((double)row->total_samples / samples - (double)row->total / weight);

		most = error > most ? error : -error > most ? -error : most;
	}
	return most;
}

void report_fold_counted(struct pmc_sample_fold *fold, void *names)
{
	const struct pmc_p_event *event = fold->n_lists ? fold->lists[0]->event : NULL;
	double percent;

	report_fold_samples(fold, names);
	percent = !event || pmc_is_off_cpu(event) ? 0 : share_error(fold);
	if (percent >= 1)
		tool_warn("folded counts samples, but one sample stands for more of %.60s than "
			  "another: shares are wrong by up to %.0f percentage points; pmctl "
			  "export --to speedscope, pprof, perf-data or html has the right ones",
			  event->name, percent);
}
