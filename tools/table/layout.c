/* SPDX-License-Identifier: MIT */
/* layout.c - units and widths of columns, and which of them fit the screen. */
#include "lib/base/utf8.h"
#include "tools/table/private.h"

/* Widths to which the first column shrinks: before others are hidden, and at last. */
enum { LABEL_MOST = 32, LABEL_SOME = 18, LABEL_LEAST = 12, FUNCTION_MOST = 44 };
/* Less than this of a column that is cut to the rest of the screen tells nothing. */
enum { REST_LEAST = 16 };

/* ---- what the cells need ------------------------------------------------------------------- */

static void measure_cell(const struct table *table, struct table_place *place,
			 const struct table_cell *cell)
{
	const double value = table_value(cell), size = value < 0 ? -value : value;
	const bool own_scale = cell->scale || place->column->unit == TABLE_TIME;

	if (cell->kind == CELL_NULL)
		return;
	place->filled |= place->column->unit != TABLE_BAR || value > 0;
	place->partial |= cell->partial;
	place->estimate |= cell->estimate != 0;
	if (cell->kind == CELL_TEXT || cell->kind == CELL_JSON || own_scale) {
		char buf[512];
		struct pmc_out out = pmc_out_mem(buf, sizeof(buf));
		int width;

		if (own_scale)
			table_show(place, cell, &out);
		/* Escaped text is wider than its bytes. */
		width = own_scale ? pmc_utf8_columns(buf, out.len) :
				    pmc_utf8_fit(&out, cell->text, cell->len, 0, PMC_CUT_END,
						 table->screen.ascii);
		place->width = width > place->width ? width : place->width;
		return;
	}
	place->real |= cell->kind == CELL_REAL;
	if (size > place->most)
		place->most = size;
	if (size > 0 && (size < place->least || place->least == 0))
		place->least = size;
}

static void measure(struct table *table)
{
	for (uint64_t r = 0; r < table->n_rows; r++) {
		table_row(table, r);
		for (unsigned i = 0; i < table->n; i++) {
			const struct table_cell cell =
				table->cell(table->arg, table->places[i].column);

			measure_cell(table, &table->places[i], &cell);
		}
	}
}

/* Tables of one interval after the other go on in the units of the first. The number of decimals
 * stays while the largest value has three digits with it. */
static void keep_decimals(struct table *table)
{
	const struct table *before = table->before;

	for (unsigned i = 0; before && i < table->n; i++) {
		struct table_place *place = &table->places[i];

		for (unsigned b = 0; b < before->n; b++) {
			const struct table_place *above = &before->places[b];

			if (above->column != place->column)
				continue;
			place->above = above;
			if (above->most <= place->most ||
			    (place->most > 0 && above->most > place->most * 10))
				continue;
			place->most = above->most;
			place->real |= above->real;
		}
	}
}

static void share_units(struct table *table)
{
	for (unsigned i = 0; i < table->n; i++) {
		struct table_place *place = &table->places[i];
		const unsigned together = place->column->together;

		place->unit_most = place->most;
		for (unsigned k = 0; together && k < table->n; k++)
			if (table->places[k].column->together == together &&
			    table->places[k].most > place->unit_most)
				place->unit_most = table->places[k].most;
	}
}

/* Columns without a value say nothing, unless they were asked for. */
static void drop_empty(struct table *table)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];

		if (place->filled || (place->column->kept && place->column->unit != TABLE_BAR))
			table->places[kept++] = *place;
	}
	table->n = kept;
}

/* ---- heads and units ----------------------------------------------------------------------- */

#define MOST_IN_UNIT 999999.5

static int decimals_in(const struct table_place *place, const struct pmc_scale *scale)
{
	const bool own = !place->column->together || place->column->own_decimals;
	const double most = own && place->most > 0 ? place->most : place->unit_most;

	return scale->divisor > 1 || (place->column->unit == TABLE_COUNT && place->real) ?
		       pmc_decimals_for(most / scale->divisor) :
		       0;
}

/* Whether the largest value can be printed in the unit of the table above: it is as wide there, and
 * not 0. */
static bool suits(const struct table_place *place, const struct pmc_scale *scale)
{
	const double most = place->unit_most / scale->divisor;
	char buf[64];
	struct pmc_out out = pmc_out_mem(buf, sizeof(buf));

	pmc_show_scaled(&out, scale, place->unit_most);
	return place->unit_most <= 0 ||
	       (most < MOST_IN_UNIT && (scale->divisor <= 1 || most >= 0.0005) &&
		(int)out.len + place->partial + place->estimate <= place->above->width);
}

static void set_scale(const struct table_place *place, struct pmc_scale *scale)
{
	struct pmc_scale above;

	scale->decimals = decimals_in(place, scale);
	if (!place->above)
		return;
	above = place->above->scale;
	above.decimals = decimals_in(place, &above);
	if (suits(place, &above))
		*scale = above;
}

/* One unit and one number of decimals for all cells, from the largest. */
static void choose_unit(const struct table *table, struct table_place *place, struct pmc_out *unit)
{
	const struct table_column *column = place->column;
	const int most = column->decimals ? column->decimals : 3;

	if (column->scale) {
		place->scale = *column->scale;
		pmc_out_str(unit, place->scale.unit);
		return;
	}
	switch (column->unit) {
	case TABLE_NS:
		/* Without any time, in the unit of most tables. */
		pmc_scale_time(&place->scale, place->unit_most > 0 ? place->unit_most : 1e6,
			       place->micro);
		set_scale(place, &place->scale);
		pmc_out_str(unit, place->scale.unit);
		break;
	case TABLE_COUNT:
		pmc_scale_count(&place->scale, place->unit_most, place->real);
		set_scale(place, &place->scale);
		pmc_out_str(unit, place->scale.unit);
		if (column->scale_unit)
			pmc_utf8_fit(unit, column->scale_unit, strlen(column->scale_unit), 12,
				     PMC_CUT_END, table->screen.ascii);
		break;
	case TABLE_RATIO:
		place->scale.decimals = pmc_decimals_for(place->most);
		if (place->scale.decimals > most)
			place->scale.decimals = most;
		break;
	default:
		break;
	}
}

static void make_head(const struct table *table, struct table_place *place)
{
	const struct table_column *column = place->column;
	const char *name = table_head(column);
	struct pmc_out out, unit;
	char text[32];

	pmc_out_to_mem(&unit, text, sizeof(text));
	choose_unit(table, place, &unit);
	pmc_out_to_mem(&out, place->head, sizeof(place->head));
	pmc_utf8_fit(&out, name, strlen(name), 48, PMC_CUT_MIDDLE, table->screen.ascii);
	if (text[0])
		pmc_outf(&out, " %s", text);
}

/* Numbers of a column are as wide as its largest one, or as what says that one is not 0. */
static int width_of_numbers(const struct table_place *place)
{
	const double values[] = { place->most, place->least };
	int most = 0;

	for (unsigned i = 0; i < 2; i++) {
		const bool whole =
			place->column->unit == TABLE_ID || place->column->unit == TABLE_WHOLE;
		struct table_cell cell = { .kind = whole ? CELL_NUMBER : CELL_REAL };
		char buf[64];
		struct pmc_out out = pmc_out_mem(buf, sizeof(buf));

		if (whole)
			cell.number = pmc_nearest_integer(values[i]);
		else
			cell.real = values[i];
		table_show(place, &cell, &out);
		most = (int)out.len > most ? (int)out.len : most;
	}
	/* "100" is narrower than the "99.9" that may be in other rows. */
	if (place->column->unit == TABLE_PERCENT && most < 4)
		most = 4;
	return most + place->estimate;
}

static void set_width(struct table_place *place)
{
	const struct table_column *column = place->column;
	int head = pmc_utf8_columns(place->head, strlen(place->head)), numbers = 0;

	if (column->unit == TABLE_BAR) {
		place->width = BAR_WIDTH;
		return;
	}
	if (column->unit != TABLE_TEXT)
		numbers = width_of_numbers(place);
	place->width = place->width > numbers ? place->width : numbers;
	place->width += place->partial;
	head += place->partial;
	place->width = place->width > head ? place->width : head;
	if (column->most && place->width > column->most && column->most > head)
		place->width = column->most;
	place->width = place->width > column->least ? place->width : column->least;
}

/* ---- what fits ------------------------------------------------------------------------------ */

static int table_width(const struct table *table)
{
	int width = table->indent - table->gap;

	for (unsigned i = 0; i < table->n; i++)
		if (!table->places[i].hidden)
			width += table->places[i].width + table->gap;
	return width;
}

static void shrink_label(struct table *table, int screen, int least)
{
	const int over = table_width(table) - screen;
	int *width = &table->places[0].width;

	if (over > 0)
		*width = *width - over > least ? *width - over : *width > least ? least : *width;
}

/* Among equals the last one, but for those that have places. empty: of those without a value. */
static void hide(struct table *table, enum table_drop drop, bool empty, int screen)
{
	while (table_width(table) > screen) {
		struct table_place *last = NULL;

		for (unsigned i = 0; i < table->n; i++) {
			struct table_place *place = &table->places[i];

			if (place->column->drop == drop && !place->hidden &&
			    !(empty && place->filled) &&
			    (!last || place->column->place >= last->column->place))
				last = place;
		}
		if (!last)
			return;
		last->hidden = true;
	}
}

/* Shows columns again that were hidden for others, which did not fit after all. */
static void show_again(struct table *table, enum table_drop drop, int screen)
{
	for (unsigned i = 0; i < table->n; i++) {
		struct table_place *place = &table->places[i];

		if (place->column->drop == drop && place->hidden &&
		    table_width(table) + place->width + table->gap <= screen)
			place->hidden = false;
	}
}

static void fill_rest(struct table *table, int screen)
{
	for (unsigned i = 0; i < table->n; i++) {
		struct table_place *place = &table->places[i];
		const int room = place->width + screen - table_width(table);

		if (place->column->rest && !place->hidden && room > place->width)
			place->width = room < place->whole ? room : place->whole;
	}
}

static void fit(struct table *table)
{
	const int screen = pmc_screen_width(&table->screen);
	const bool label = table->n && table->places[0].left,
		   functions = label && table->places[0].column->functions;

	table->gap = table->tight ? 1 : 2;
	if (table->wide)
		return;
	for (unsigned i = 0; i < table->n; i++) {
		struct table_place *place = &table->places[i];

		place->whole = place->width;
		if (place->column->rest && place->width > REST_LEAST)
			place->width = REST_LEAST;
	}
	if (functions)
		shrink_label(table, screen, FUNCTION_MOST);
	for (enum table_drop drop = TABLE_DROP_BAR; drop <= TABLE_DROP_LAST; drop++) {
		if (drop == TABLE_DROP_SPREAD && label && !functions)
			shrink_label(table, screen, LABEL_MOST);
		if (drop == TABLE_DROP_METRIC && label && !functions)
			shrink_label(table, screen, LABEL_SOME);
		/* Columns move closer before one is hidden whose values no other column shows. */
		if (drop == TABLE_DROP_METRIC && table_width(table) > screen)
			table->gap = 1;
		if (drop == TABLE_DROP_ROW)
			hide(table, TABLE_DROP_EVENT, true, screen);
		hide(table, drop, false, screen);
	}
	show_again(table, TABLE_DROP_ROW, screen);
	if (label)
		shrink_label(table, screen, LABEL_LEAST);
	fill_rest(table, screen);
}

static void name_hidden(struct table *table)
{
	const size_t cap = 128 * (size_t)table->n + 1;
	char *buf = pmc_arena_alloc(table->arena, cap);
	struct pmc_out out;

	table->hidden = buf;
	pmc_out_to_mem(&out, buf, cap);
	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];
		const char *name = table_head(place->column);

		table->has_partial |= place->partial && !place->hidden;
		table->has_estimate |= place->estimate && !place->hidden;
		if (!place->hidden || !name[0])
			continue;
		pmc_out_str(&out, out.len ? ", " : "");
		pmc_utf8_fit(&out, name, strlen(name), 32, PMC_CUT_MIDDLE, table->screen.ascii);
	}
}

void table_layout(struct table *table)
{
	table->places =
		pmc_arena_alloc(table->arena, (table->n_columns + 1) * sizeof(*table->places));
	table->n = 0;
	table->has_partial = table->has_estimate = false;
	for (unsigned i = 0; i < table->n_columns; i++) {
		const struct table_column *column = &table->columns[i];

		if (column->data || (column->unit == TABLE_BAR && table->screen.ascii))
			continue;
		table->places[table->n++] = (struct table_place){
			.column = column,
			.left = column->unit == TABLE_TEXT && !column->right,
			.scale = { .divisor = 1, .unit = "" },
			.micro = table->screen.ascii ? "us" : "µs",
		};
	}
	measure(table);
	keep_decimals(table);
	share_units(table);
	drop_empty(table);
	for (unsigned i = 0; i < table->n; i++) {
		make_head(table, &table->places[i]);
		set_width(&table->places[i]);
	}
	fit(table);
	name_hidden(table);
}

bool table_same_heads(const struct table *a, const struct table *b)
{
	if (a->n != b->n || a->gap != b->gap)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->places[i].hidden != b->places[i].hidden ||
		    (!a->places[i].hidden && (strcmp(a->places[i].head, b->places[i].head) ||
					      a->places[i].width != b->places[i].width)))
			return false;
	return true;
}
