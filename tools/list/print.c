/* SPDX-License-Identifier: MIT */
/* print.c - prints the rows of pmctl list: as a table by PMU, or in the formats of all rows. */
#include "tools/cli/rows.h"
#include "tools/list/list.h"
#include "lib/base/utf8.h"

#include <errno.h>

enum { PMU, NAME, TYPE, DESCRIPTION, AVAILABLE, REASON, YES_NO, TEXT };

static const struct table_column columns[] = {
	{ .name = "pmu", .index = PMU, .blank = true },
	{ .name = "name", .index = NAME },
	{ .name = "type", .index = TYPE },
	{ .name = "description", .index = DESCRIPTION },
	{ .name = "available", .index = AVAILABLE },
	{ .name = "reason", .index = REASON, .blank = true },
};
/* Below the heading of a PMU. */
static const struct table_column of_pmu[] = {
	{ .name = "available", .head = "", .index = YES_NO, .least = 3 },
	{ .name = "name", .index = NAME, .least = 42 },
	{ .name = "text", .index = TEXT },
};

struct printed {
	const struct list *list;
	const struct list_row *at;
	bool alike; /* all rows of the PMU have one reason, which is in its heading */
	char text[1024];
};

static void make_row(void *arg, uint64_t i)
{
	struct printed *printed = arg;

	printed->at = &printed->list->rows[i];
}

/* The description, and why the event is not available. */
static struct table_cell text_cell(struct printed *printed)
{
	const struct list_row *row = printed->at;
	const char *why = printed->alike ? NULL : row->answer.reason;
	struct pmc_out out;

	pmc_out_to_mem(&out, printed->text, sizeof(printed->text));
	pmc_out_str(&out, row->description);
	if (why)
		pmc_outf(&out, " (%s%s)", row->answer.available ? "" : "not available: ", why);
	return cell_textn(printed->text, out.len);
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct printed *printed = arg;
	const struct list_row *row = printed->at;

	switch (column->index) {
	case PMU:
		return cell_text(row->pmu);
	case NAME:
		return cell_text(row->name);
	case TYPE:
		return cell_text(row->type);
	case DESCRIPTION:
		return cell_text(row->description);
	case AVAILABLE:
		return cell_bool(row->answer.available);
	case REASON:
		return cell_text(row->answer.reason);
	case YES_NO:
		return cell_text(row->answer.available ? "yes" : "no");
	default:
		return text_cell(printed);
	}
}

static bool equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Rows that have a heading in common, and the reason in it if all have one. */
static void put_section(struct tool_rows *rows, struct table *table, struct printed *printed)
{
	const struct list_row *first = &printed->list->rows[table->order[0]];
	const struct list_answer *answer = &first->answer;
	struct pmc_out *out = &rows->out;

	pmc_outf(out, "%s events", first->type);
	if (first->pmu && strcmp(first->pmu, first->type) != 0) {
		pmc_out_str(out, " of PMU ");
		pmc_utf8_safe(out, first->pmu, strlen(first->pmu), 0);
	}
	if (printed->alike && answer->reason)
		pmc_outf(out, ": %s%s", answer->available ? "" : "not available, ", answer->reason);
	pmc_out_char(out, '\n');
	table_layout(table);
	table_put_rows(table, 0, table->n_rows, out);
}

static void put_sections(struct tool_rows *rows, struct table *table, struct printed *printed)
{
	for (uint64_t i = 0, n; i < table->n_rows; i += n) {
		const struct list_row *all = printed->list->rows, *first = &all[table->order[i]];
		struct table part = *table;

		printed->alike = true;
		for (n = 1; i + n < table->n_rows; n++) {
			const struct list_row *row = &all[table->order[i + n]];

			if (!equal(first->type, row->type) || !equal(first->pmu, row->pmu))
				break;
			printed->alike &= first->answer.available == row->answer.available &&
					  equal(first->answer.reason, row->answer.reason);
		}
		part.order += i;
		part.n_rows = n;
		if (i)
			pmc_out_char(&rows->out, '\n');
		put_section(rows, &part, printed);
	}
}

int list_print(struct list *list, struct tool_rows *rows)
{
	struct printed printed = { .list = list };
	struct table table = { .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(columns[0]),
			       .n_rows = list->n,
			       .arg = &printed,
			       .row = make_row,
			       .cell = cell_of,
			       .arena = &list->arena,
			       .wide = !rows->width };
	int code = tool_rows_choose(rows, &table, 0), closed;

	if (!code)
		code = tool_rows_open(rows);
	if (code)
		return code;
	if (rows->format == TABLE_PLAIN && !rows->choice.columns && !rows->choice.sort) {
		struct table_column narrow[3];

		memcpy(narrow, of_pmu, sizeof(narrow));
		if (rows->width) { /* cut the descriptions, but not the names */
			size_t names = 0;

			for (size_t i = 0; i < list->n; i++)
				if (strlen(list->rows[i].name) > names)
					names = strlen(list->rows[i].name);
			narrow[1].least = 0;
			narrow[2].most =
				rows->width > (int)names + 18 ? rows->width - (int)names - 8 : 10;
		}
		table.columns = narrow;
		table.n_columns = sizeof(of_pmu) / sizeof(of_pmu[0]);
		table.indent = 2;
		table.screen = rows->screen;
		put_sections(rows, &table, &printed);
	} else {
		code = tool_rows_print(rows, &table);
	}
	tool_rows_put_left_out(rows, &table);
	closed = tool_rows_close(rows);
	return code ? code : closed;
}
