/* SPDX-License-Identifier: MIT */
/* choose.c - columns by their names, conditions on cells, and the order of rows. */
#include "lib/base/sort.h"
#include "lib/base/suggest.h"
#include "tools/table/private.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>

/* ---- by name -------------------------------------------------------------------------------- */

/* The names of a column, in the order in which they are tried: the bare name of an event is its
 * value, of a group the sum, the first of its columns. NULL: there is no such name. */
static const char *name_of(const struct table_column *column, unsigned kind, char buf[512])
{
	struct pmc_out out = pmc_out_mem(buf, 512);

	if (column->unit == TABLE_BAR || kind == 2)
		return column->head;
	pmc_outf(&out, "%s%s", column->name, !kind && column->suffix ? column->suffix : "");
	return buf;
}

/* Some commands have wait-p50, others "wait p50" or wait_p50_ns; heads may end with a %. */
static bool is_spelt(const char *name, const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((name[i] == '-' || name[i] == '_' ? ' ' : name[i]) !=
		    (word[i] == '-' || word[i] == '_' ? ' ' : word[i]))
			return false;
	return !name[len] || !strcmp(name + len, " %") || !strcmp(name + len, "_ns");
}

/* Whether the word is a name of the column spelt in another way, or with a unit. */
static bool is_like(const struct table_column *column, const char *word, size_t len)
{
	const bool has_unit = column->unit == TABLE_NS || column->unit == TABLE_COUNT;
	size_t bare = has_unit ? len : 0;

	while (bare && word[bare] != ' ')
		bare--;
	return column->unit != TABLE_BAR &&
	       (is_spelt(column->name, word, len) || is_spelt(table_head(column), word, len) ||
		(bare &&
		 (is_spelt(column->name, word, bare) || is_spelt(table_head(column), word, bare))));
}

/* A longer list would be no help. */
enum { NAMED_MOST = 40 };

static const char *unknown(const struct pmc_nearest *nearest, const struct table_column *columns,
			   unsigned n, struct pmc_arena *arena)
{
	struct pmc_out out = PMC_OUT_MEM(4096);
	char buf[512];

	pmc_outf(&out, "unknown column '%.*s'; ", nearest->len > 96 ? 96 : (int)nearest->len,
		 nearest->word);
	if (nearest->name)
		pmc_outf(&out, "did you mean '%s'?", nearest->name);
	else if (n > NAMED_MOST)
		pmc_out_str(&out, "the first line of --format csv names all columns");
	for (unsigned i = 0; i < n && n <= NAMED_MOST && !nearest->name; i++)
		if (columns[i].unit != TABLE_BAR)
			pmc_outf(&out, "%s%s",
				 i ? ", " : "columns: ", name_of(&columns[i], 0, buf));
	return pmc_arena_strndup(arena, out.buf, out.len);
}

const struct table_column *table_find(const struct table_column *columns, unsigned n,
				      const char *name, size_t len, struct pmc_arena *arena,
				      const char **problem)
{
	struct pmc_nearest nearest;
	char buf[512];

	pmc_nearest_init(&nearest, name, len);
	for (unsigned kind = 0; kind < 3; kind++)
		for (unsigned i = 0; i < n; i++) {
			const char *known = name_of(&columns[i], kind, buf);

			if (known && strlen(known) == len && !memcmp(known, name, len))
				return &columns[i];
			if (known && *known && pmc_nearest_try(&nearest, known))
				nearest.name = pmc_arena_strdup(arena, known);
		}
	for (unsigned i = 0; i < n; i++)
		if (is_like(&columns[i], name, len))
			return &columns[i];
	*problem = unknown(&nearest, columns, n, arena);
	return NULL;
}

int table_choose(const struct table_column *columns, unsigned n, const char *names,
		 struct pmc_arena *arena, struct table_column **chosen, unsigned *n_chosen,
		 const char **problem)
{
	unsigned most = 1;

	for (const char *c = names; *c; c++)
		most += *c == ',';
	*chosen = pmc_arena_alloc(arena, most * sizeof(**chosen));
	for (*n_chosen = 0; *n_chosen < most; ++*n_chosen) {
		const size_t len = strcspn(names, ",");
		const struct table_column *column =
			table_find(columns, n, names, len, arena, problem);

		if (!column)
			return -EINVAL;
		(*chosen)[*n_chosen] = *column;
		(*chosen)[*n_chosen].kept = true;
		(*chosen)[*n_chosen].hidden = (*chosen)[*n_chosen].data = false;
		(*chosen)[*n_chosen].drop = TABLE_STAYS;
		names += len + 1;
	}
	return 0;
}

/* ---- conditions ------------------------------------------------------------------------------ */

bool table_matches(const struct table_cell *cell, const char *glob)
{
	char buf[512];
	const char *last;
	struct pmc_out out;

	/* Names of functions, which end with a NUL. */
	if (cell->kind == CELL_TEXT && cell->len >= sizeof(buf))
		return !fnmatch(glob, cell->text, 0);
	pmc_out_to_mem(&out, buf, sizeof(buf));
	if (!table_put_number(&out, cell) && cell->kind != CELL_NULL)
		pmc_out_bytes(&out, cell->text, cell->len);
	last = cell->kind == CELL_TEXT ? strrchr(buf, '/') : NULL;
	return !fnmatch(glob, buf, 0) || (last && !fnmatch(glob, last + 1, 0));
}

int table_conditions(const struct table_column *columns, unsigned n, const char *const *texts,
		     unsigned n_texts, struct pmc_arena *arena, struct table_condition **conditions,
		     const char **problem)
{
	struct table_condition *list = pmc_arena_alloc(arena, (n_texts + 1) * sizeof(*list));

	*conditions = list;
	for (unsigned i = 0; i < n_texts; i++) {
		const size_t len = strcspn(texts[i], "=");

		if (!len || !texts[i][len]) {
			*problem = "invalid condition: expected COLUMN=GLOB, such as name=worker-*";
			return -EINVAL;
		}
		list[i].column = table_find(columns, n, texts[i], len, arena, problem);
		list[i].text = texts[i];
		list[i].glob = texts[i] + len + 1;
		if (!list[i].column)
			return -EINVAL;
	}
	return 0;
}

bool table_selects(const struct table *table, uint64_t row,
		   const struct table_condition *conditions, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct table_cell cell;

		table_row(table, row);
		cell = table->cell(table->arg, conditions[i].column);
		if (!table_matches(&cell, conditions[i].glob))
			return false;
	}
	return true;
}

/* ---- order ---------------------------------------------------------------------------------- */

#define DIGITS "0123456789"

struct item {
	uint64_t row;
	bool reverse;
	double number;	  /* -inf: null */
	const char *text; /* NULL: null */
};

static int by_number(const void *a, const void *b, const void *arg)
{
	const struct item *x = a, *y = b;
	const int order = (x->number < y->number) - (x->number > y->number);

	(void)arg;
	/* Null is last in both directions. */
	return x->reverse && !isinf(x->number) && !isinf(y->number) ? -order : order;
}

int table_natural_order(const char *a, const char *b)
{
	const char *x = a, *y = b;
	size_t digits, other;
	int order;

	for (; *x && *y; x++, y++) {
		if (!memchr(DIGITS, *x, 10) || !memchr(DIGITS, *y, 10)) {
			if (*x != *y)
				break;
			continue;
		}
		x += strspn(x, "0");
		y += strspn(y, "0");
		digits = strspn(x, DIGITS);
		other = strspn(y, DIGITS);
		if (digits != other)
			return digits < other ? -1 : 1;
		order = memcmp(x, y, digits);
		if (order)
			return order;
		/* The loop steps over the last digit, or the last 0. */
		x += digits - 1;
		y += digits - 1;
	}
	order = strcmp(x, y);
	return order ? order : strcmp(a, b);
}

static int by_text(const void *a, const void *b, const void *arg)
{
	const struct item *x = a, *y = b;

	(void)arg;
	if (!x->text || !y->text)
		return !x->text - !y->text;
	return x->reverse ? table_natural_order(y->text, x->text) :
			    table_natural_order(x->text, y->text);
}

void table_sort(const struct table *table, const struct table_column *column, bool reverse,
		uint64_t *order, uint64_t n)
{
	struct item *items = pmc_arena_alloc(table->arena, 2 * (n + 1) * sizeof(*items));
	const bool text = column->unit == TABLE_TEXT;

	for (uint64_t i = 0; i < n; i++) {
		struct table_cell cell;

		table_row(table, i);
		cell = table->cell(table->arg, column);
		items[i] = (struct item){ .row = table->order ? table->order[i] : i,
					  .reverse = reverse,
					  .number = -INFINITY };
		if (!text && cell.kind != CELL_NULL)
			items[i].number = table_value(&cell);
		if (text && (cell.kind == CELL_TEXT || cell.kind == CELL_JSON))
			items[i].text = pmc_arena_strndup(table->arena, cell.text, cell.len);
	}
	pmc_sort(items, items + n + 1, n, sizeof(*items), text ? by_text : by_number, NULL);
	for (uint64_t i = 0; i < n; i++)
		order[i] = items[i].row;
}

/* ---- rows of cells --------------------------------------------------------------------------- */

static void set_row(void *arg, uint64_t row)
{
	struct table_cells *cells = arg;

	cells->at = cells->cells + row * cells->n;
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	return ((const struct table_cells *)arg)->at[column->index];
}

void table_set_cells(struct table *table, struct table_cells *cells)
{
	table->arg = cells;
	table->row = set_row;
	table->cell = cell_of;
}

/* ---- what the user chooses ------------------------------------------------------------------ */

const char *table_near(const struct table *table, const struct table_condition *condition)
{
	const size_t len = strcspn(condition->glob, "*?[");
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, condition->glob, len);
	for (uint64_t i = 0; i < table->n_rows; i++) {
		struct table_cell cell;

		table->row(table->arg, i);
		cell = table->cell(table->arg, condition->column);
		if (cell.kind != CELL_TEXT || !len)
			continue;
		cell.text = pmc_arena_strndup(table->arena, cell.text, cell.len);
		if (memmem(cell.text, cell.len, nearest.word, len))
			return cell.text;
		pmc_nearest_try(&nearest, cell.text);
	}
	return nearest.name;
}

static int explain(const struct table *table, const struct table_choice *choice,
		   const struct table_condition *conditions, const char **problem)
{
	const char *near = NULL;
	char buf[512];
	struct pmc_out out = pmc_out_mem(buf, sizeof(buf));

	for (unsigned i = 0; i < choice->n_where; i++) {
		pmc_outf(&out, "%s%.80s", i ? " and " : "no row has ", choice->where[i]);
		near = near ? near : table_near(table, &conditions[i]);
		if (near && !fnmatch(conditions[i].glob, near, 0))
			near = NULL;
	}
	if (near)
		pmc_outf(&out, "; did you mean '%.80s'?", near);
	*problem = pmc_arena_strndup(table->arena, buf, out.len);
	return -ENOENT;
}

int table_apply(struct table *table, const struct table_choice *choice, unsigned sums,
		const char **problem)
{
	struct pmc_arena *arena = table->arena;
	const uint64_t all = table->n_rows - sums;
	uint64_t *order = pmc_arena_alloc(arena, (table->n_rows + 1) * sizeof(*order)), n = 0;
	struct table_condition *conditions;
	const struct table_column *sort = NULL;
	struct table_column *chosen;
	unsigned n_chosen;
	int err;

	err = table_conditions(table->columns, table->n_columns, choice->where, choice->n_where,
			       arena, &conditions, problem);
	if (!err && choice->sort) {
		sort = table_find(table->columns, table->n_columns, choice->sort,
				  strlen(choice->sort), arena, problem);
		err = sort ? 0 : -EINVAL;
	}
	for (uint64_t i = 0; i < all && !err; i++)
		if (table_selects(table, i, conditions, choice->n_where))
			order[n++] = i;
	if (!err && all && !n && choice->n_where)
		err = explain(table, choice, conditions, problem);
	table->order = order;
	if (!err && sort)
		table_sort(table, sort, choice->reverse, order, n);
	if (!err && choice->columns) {
		err = table_choose(table->columns, table->n_columns, choice->columns, arena,
				   &chosen, &n_chosen, problem);
		table->columns = err ? table->columns : chosen;
		table->n_columns = err ? table->n_columns : n_chosen;
	}
	table->n_more = choice->top && n > choice->top ? n - choice->top : 0;
	n -= table->n_more;
	for (uint64_t i = all; i < all + sums && !choice->n_where; i++)
		order[n++] = i;
	table->n_rows = n;
	return err;
}
