/* SPDX-License-Identifier: MIT */
/* print.c - a table for people, aligned, as Markdown or HTML, and the sentences around it. */
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/table/private.h"

/* ---- cells -------------------------------------------------------------------------------- */

/* A value that is not 0 is never printed as 0. */
static bool put_small(struct pmc_out *out, double value, bool plus, int decimals)
{
	double least = 1;

	for (int i = 0; i < decimals; i++)
		least /= 10;
	if (value == 0 || value >= least / 2 || value <= -least / 2)
		return false;
	pmc_out_str(out, value < 0 ? "-<" : plus ? "+<" : "<");
	pmc_out_fixed(out, least, decimals);
	return true;
}

static void put_number(const struct table_place *place, const struct table_cell *cell,
		       struct pmc_out *out)
{
	const struct pmc_scale *scale = cell->scale ? cell->scale : &place->scale;
	const bool percent = place->column->unit == TABLE_PERCENT && !cell->scale;
	const double value = table_value(cell);

	if (place->column->unit == TABLE_ID)
		pmc_out_u64(out, cell->number);
	else if (place->column->unit == TABLE_WHOLE)
		pmc_show_integer(out, cell->number);
	else if (!put_small(out, value / scale->divisor, cell->plus,
			    percent ? 1 : scale->decimals)) {
		pmc_out_str(out, cell->plus && value > 0 ? "+" : "");
		if (percent)
			pmc_show_percent(out, value);
		else
			pmc_show_scaled(out, scale, value);
	}
}

/* In three digits. */
static void put_time(double ns, const char *micro, struct pmc_out *out)
{
	struct pmc_scale scale;

	pmc_scale_time(&scale, ns, micro);
	scale.decimals -= scale.decimals > 0;
	pmc_show_scaled(out, &scale, ns);
	pmc_outf(out, " %s", scale.unit);
}

void table_show(const struct table_place *place, const struct table_cell *cell, struct pmc_out *out)
{
	if (cell->kind == CELL_NULL) {
		pmc_out_str(out, place->column->blank ? "" : "-");
		return;
	}
	if (cell->kind == CELL_TEXT || cell->kind == CELL_JSON)
		return; /* it is empty */
	if (cell->estimate)
		pmc_out_char(out, '~');
	if (place->column->unit == TABLE_TIME)
		put_time(table_value(cell), place->micro, out);
	else
		put_number(place, cell, out);
}

/* In halves of a column, relative to the longest. */
static int put_bar(const struct table_place *place, const struct table_cell *cell,
		   struct pmc_out *out)
{
	const double share = cell->kind == CELL_REAL ? cell->real / place->most : 0;
	uint64_t halves = share < 1 ? pmc_nearest_integer(BAR_WIDTH * 2 * share) : BAR_WIDTH * 2;
	int width = 0;

	for (; halves >= 2; halves -= 2, width++)
		pmc_out_str(out, "█");
	if (halves) {
		pmc_out_str(out, "▌");
		width++;
	}
	return width;
}

/* ---- lines: they do not end in blanks ------------------------------------------------------ */

struct line {
	struct pmc_out *out;
	int blanks; /* due before the next text */
	bool first;
};

static void put_text(struct line *line, const char *text, size_t len, int width, int columns,
		     bool left)
{
	const int pad = columns - width > 0 ? columns - width : 0;

	line->blanks += left ? 0 : pad;
	if (len) {
		pmc_out_pad(line->out, ' ', line->blanks);
		line->blanks = 0;
		pmc_out_bytes(line->out, text, len);
	}
	line->blanks += left ? pad : 0;
}

static void begin_cell(const struct table *table, struct line *line)
{
	line->blanks += line->first ? table->indent : table->gap;
	line->first = false;
}

void table_put_head(const struct table *table, struct pmc_out *out)
{
	struct line line = { .out = out, .first = true };

	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];
		const size_t len = strlen(place->head);
		const int mark = place->left ? 0 : place->partial;

		if (place->hidden)
			continue;
		begin_cell(table, &line);
		if (place->column->unit == TABLE_BAR)
			line.blanks += place->width;
		else
			put_text(&line, place->head, len, pmc_utf8_columns(place->head, len),
				 place->width - mark, place->left);
		line.blanks += mark;
	}
	pmc_out_char(out, '\n');
}

static void put_cell(const struct table *table, const struct table_place *place, struct line *line,
		     const struct table_cell *cell)
{
	char buf[1024];
	struct pmc_out text;
	int width;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	if (place->column->unit == TABLE_BAR) {
		width = put_bar(place, cell, &text);
		put_text(line, buf, text.len, width, place->width, true);
		return;
	}
	if ((cell->kind == CELL_TEXT || cell->kind == CELL_JSON) && cell->len) {
		width = place->left ?
				0 :
				pmc_utf8_fit(&text, cell->text, cell->len, place->width,
					     (enum pmc_cut)place->column->cut, table->screen.ascii);
		pmc_out_pad(line->out, ' ',
			    line->blanks + (place->left ? 0 : place->width - width));
		width = pmc_utf8_fit(line->out, cell->text, cell->len, place->width,
				     (enum pmc_cut)place->column->cut, table->screen.ascii);
		line->blanks = place->left ? place->width - width : 0;
		return;
	}
	table_show(place, cell, &text);
	put_text(line, buf, text.len, pmc_utf8_columns(buf, text.len),
		 place->width - place->partial, place->left);
	if (place->partial)
		put_text(line, "+", cell->partial, cell->partial, 1, true);
}

static void put_row(const struct table *table, uint64_t row, struct pmc_out *out)
{
	struct line line = { .out = out, .first = true };
	struct table_line how = { 0 };
	unsigned last = table->n;

	table_row(table, row);
	if (table->line)
		how = table->line(table->arg);
	if (how.gap)
		pmc_out_char(out, '\n');
	if (how.dim && table->screen.color)
		pmc_out_str(out, "\x1b[2m");
	while (last && table->places[last - 1].hidden)
		last--;
	for (unsigned i = 0; i < last; i++) {
		const struct table_place *place = &table->places[i];
		const bool colored = how.color && i + 1 == last && table->screen.color;
		struct table_cell cell;

		if (place->hidden)
			continue;
		begin_cell(table, &line);
		cell = table->cell(table->arg, place->column);
		if (colored)
			pmc_out_str(out, how.color < 0 ? "\x1b[32m" : "\x1b[31m");
		put_cell(table, place, &line, &cell);
		if (colored)
			pmc_out_str(out, "\x1b[0m");
	}
	pmc_out_str(out, how.dim && table->screen.color ? "\x1b[0m\n" : "\n");
}

void table_put_rows(const struct table *table, uint64_t from, uint64_t to, struct pmc_out *out)
{
	for (uint64_t r = from; r < to; r++)
		put_row(table, r, out);
}

/* ---- Markdown and HTML ---------------------------------------------------------------------- */

void table_put_markdown(struct pmc_out *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char *at = &text[i];

		/* Renderers make links of bare addresses: http://, a@b, www. */
		if ((strchr("|\\`*_<[]&~@", *at) && *at) ||
		    (*at == ':' && i + 1 < len && at[1] == '/') ||
		    (*at == '.' && i >= 3 && !strncasecmp(at - 3, "www", 3)))
			pmc_out_char(out, '\\');
		pmc_out_char(out, *at);
	}
}

void table_put_html(struct pmc_out *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		pmc_outf(out, strchr("<>&'\"", text[i]) && text[i] ? "&#%d;" : "%c", text[i]);
}

typedef void put_escaped(struct pmc_out *out, const char *text, size_t len);

/* Harmless and escaped, however long it is. */
static void put_safe(const struct table *table, const char *text, size_t len, put_escaped *put,
		     struct pmc_out *out)
{
	const size_t cap = 4 * len + 1; /* a byte may become \xNN */
	char *buf = pmc_arena_alloc(table->arena, cap);
	struct pmc_out safe;

	pmc_out_to_mem(&safe, buf, cap);
	pmc_utf8_fit(&safe, text, len, 0, PMC_CUT_END, table->screen.ascii);
	put(out, buf, safe.len);
}

static void put_any_cell(const struct table *table, const struct table_place *place,
			 const struct table_cell *cell, put_escaped *put, struct pmc_out *out)
{
	char buf[128];
	struct pmc_out text;

	if (cell->kind == CELL_TEXT || cell->kind == CELL_JSON) {
		put_safe(table, cell->text, cell->len, put, out);
	} else {
		pmc_out_to_mem(&text, buf, sizeof(buf));
		table_show(place, cell, &text);
		put(out, buf, text.len);
	}
	pmc_out_str(out, cell->partial ? "+" : "");
}

static void put_markdown_row(const struct table *table, uint64_t row, struct pmc_out *out)
{
	table_row(table, row);
	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];
		const struct table_cell cell = table->cell(table->arg, place->column);

		if (place->column->unit == TABLE_BAR)
			continue;
		pmc_out_str(out, "| ");
		put_any_cell(table, place, &cell, table_put_markdown, out);
		pmc_out_char(out, ' ');
	}
	pmc_out_str(out, "|\n");
}

static void print_markdown(const struct table *table, struct pmc_out *out)
{
	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];

		if (place->column->unit == TABLE_BAR)
			continue;
		pmc_out_str(out, "| ");
		table_put_markdown(out, place->head, strlen(place->head));
		pmc_out_char(out, ' ');
	}
	pmc_out_str(out, "|\n");
	for (unsigned i = 0; i < table->n; i++)
		if (table->places[i].column->unit != TABLE_BAR)
			pmc_out_str(out, table->places[i].left ? "|:--" : "|--:");
	pmc_out_str(out, "|\n");
	for (uint64_t r = 0; r < table->n_rows; r++)
		put_markdown_row(table, r, out);
}

static void print_html(const struct table *table, struct pmc_out *out)
{
	pmc_out_str(out, "<div class='scroll'><table><thead><tr>");
	for (unsigned i = 0; i < table->n; i++) {
		pmc_out_str(out, table->places[i].left ? "<th class='text'>" : "<th>");
		table_put_html(out, table->places[i].head, strlen(table->places[i].head));
	}
	pmc_out_str(out, "</thead><tbody>\n");
	for (uint64_t r = 0; r < table->n_rows; r++) {
		table_row(table, r);
		pmc_out_str(out, "<tr>");
		for (unsigned i = 0; i < table->n; i++) {
			const struct table_place *place = &table->places[i];
			const struct table_cell cell = table->cell(table->arg, place->column);

			pmc_out_str(out, place->left ? "<td class='text'>" : "<td>");
			put_any_cell(table, place, &cell, table_put_html, out);
		}
		pmc_out_char(out, '\n');
	}
	pmc_out_str(out, "</tbody></table></div>\n");
}

/* ---- sentences ------------------------------------------------------------------------------ */

void table_vsay(struct pmc_out *out, const struct pmc_screen *screen, const char *format,
		va_list args)
{
	const int most = pmc_screen_width(screen) - 4;
	uint64_t last = 0;

	for (const char *at = format; *at;) {
		const size_t plain = strcspn(at, "%");
		const char *text;
		int columns = 0;

		pmc_out_bytes(out, at, plain);
		at += plain;
		if (!*at++)
			break;
		for (; *at >= '0' && *at <= '9'; at++)
			columns = columns * 10 + *at - '0';
		switch (*at++) {
		case 'n':
			last = va_arg(args, uint64_t);
			pmc_show_integer(out, last);
			break;
		case '(':
			text = last == 1 ? at : at + strcspn(at, "|") + 1;
			pmc_out_bytes(out, text, strcspn(text, "|)"));
			at += strcspn(at, ")") + 1;
			break;
		case 't':
			pmc_show_time(out, (double)va_arg(args, uint64_t),
				      screen->ascii ? "us" : "µs");
			break;
		case 'v':
			pmc_show_number(out, va_arg(args, double));
			break;
		case 'p':
			pmc_show_percent(out, va_arg(args, double));
			break;
		case 's':
			pmc_out_str(out, va_arg(args, const char *));
			break;
		case 'S':
			text = va_arg(args, const char *);
			columns = columns < most ? columns : most;
			pmc_utf8_fit(out, text, strlen(text), columns, PMC_CUT_END, screen->ascii);
			break;
		case '.':
			pmc_out_str(out, screen->ascii ? ", " : " · ");
			break;
		default:
			pmc_out_char(out, '%');
			break;
		}
	}
}

void table_say(struct pmc_out *out, const struct pmc_screen *screen, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	table_vsay(out, screen, format, args);
	va_end(args);
}

bool table_put_reason(struct pmc_out *out, const struct pmc_screen *screen, const char *head,
		      const struct table_reason *list, unsigned n, unsigned i)
{
	for (unsigned k = 0; k < i && list[i].why; k++)
		if (list[k].why && !strcmp(list[k].why, list[i].why))
			return false;
	if (!list[i].why)
		return false;
	pmc_out_str(out, head);
	for (unsigned k = i; k < n; k++)
		if (list[k].why && !strcmp(list[k].why, list[i].why))
			table_say(out, screen, k == i ? "%200S" : ", %200S", list[k].name);
	pmc_outf(out, ": %s", list[i].why);
	return true;
}

void table_tally(struct table_tallies *tallies, uint32_t kind, const char *text, uint64_t count)
{
	unsigned i = 0;

	while (i < tallies->n &&
	       (tallies->list[i].kind != kind || strcmp(tallies->list[i].text, text) != 0))
		i++;
	if (i == TABLE_TALLIES)
		return;
	tallies->n += i == tallies->n;
	tallies->list[i].kind = kind;
	tallies->list[i].text = text;
	pmc_add_sat(&tallies->list[i].count, count);
}

/* ---- formats -------------------------------------------------------------------------------- */

void table_print(const struct table *table, enum table_format format, struct pmc_out *out)
{
	switch (format) {
	case TABLE_CSV:
		table_csv_head(table, out);
		for (uint64_t r = 0; r < table->n_rows; r++)
			table_csv_row(table, r, out);
		break;
	case TABLE_JSON:
	case TABLE_JSONL:
		table_print_json(table, format == TABLE_JSON, out);
		break;
	case TABLE_MARKDOWN:
		print_markdown(table, out);
		break;
	case TABLE_HTML:
		print_html(table, out);
		break;
	default:
		table_put_head(table, out);
		table_put_rows(table, 0, table->n_rows, out);
		break;
	}
}
