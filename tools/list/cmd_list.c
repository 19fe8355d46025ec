/* SPDX-License-Identifier: MIT */
/* cmd_list.c - pmctl list: events, whether each is available here, and which fit at once. */
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "lib/base/utf8.h"
#include "lib/event/source.h"
#include "tools/cli/rows.h"
#include "tools/list/list.h"

#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ----------------------------------------------------------------------------------- */

static void try_core_pmu(const char *name, void *arg)
{
	struct list *list = arg;

	if (!list->core_pmu && pmc_is_core_pmu(list->roots.sysfs, name))
		list->core_pmu = pmc_arena_strdup(&list->arena, name);
}

void list_init(struct list *list)
{
	if (!list->roots.sysfs)
		list->roots.sysfs = "/sys/bus/event_source/devices";
	if (!list->roots.tracefs)
		list->roots.tracefs = event_tracefs(&list->roots);
	/* libpfm4's events come from list_pfm(). */
	list->roots.no_pfm = true;
	pmc_dir_visit(try_core_pmu, list, "%s", list->roots.sysfs);
}

void list_free(struct list *list)
{
	pmc_arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}

bool list_wants(const struct list *list, const char *name)
{
	/* libpfm4's names are valid without their PMU too. */
	const char *bare = strstr(name, "::");

	return !list->glob || fnmatch(list->glob, name, FNM_CASEFOLD) == 0 ||
	       (bare && fnmatch(list->glob, bare + 2, FNM_CASEFOLD) == 0);
}

void list_add(struct list *list, const struct list_row *row)
{
	struct list_row *to;

	list->rows =
		pmc_arena_grow(&list->arena, list->rows, list->n, &list->room, sizeof(*list->rows));
	to = &list->rows[list->n++];
	*to = *row;
	if (row->pmu)
		to->pmu = pmc_arena_strdup(&list->arena, row->pmu);
	to->name = pmc_arena_strdup(&list->arena, row->name);
	to->description = pmc_arena_strdup(&list->arena, row->description);
}

static int by_name(const void *a, const void *b)
{
	const struct list_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void list_sort(struct list *list, unsigned first)
{
	if (list->n > first)
		qsort(list->rows + first, list->n - first, sizeof(*list->rows), by_name);
}

static void add_builtin(const struct pmc_builtin *builtin, void *arg)
{
	const struct pmc_event event = { .type = builtin->type, .config = builtin->config };
	struct list *list = arg;
	struct list_row row = { .name = builtin->name, .description = builtin->doc };

	if (!list_wants(list, builtin->name))
		return;
	row.answer = list_try(list, &event, -1);
	if (builtin->alias_of)
		row.description = pmc_arena_format(&list->arena, "same as %s", builtin->alias_of);
	row.type = builtin->type == PERF_TYPE_SOFTWARE ? "software" :
		   builtin->type == PMC_TYPE_OS	       ? "os" :
		   builtin->type == PERF_TYPE_HW_CACHE ? "cache" :
							 "hardware";
	row.pmu = builtin->type == PERF_TYPE_SOFTWARE ? "software" :
		  builtin->type == PMC_TYPE_OS	      ? "os" :
							list->core_pmu;
	list_add(list, &row);
}

static void add_sets(struct list *list)
{
	for (unsigned i = 0; i < pmc_n_event_sets; i++) {
		const char *name = pmc_arena_format(&list->arena, "@%s", pmc_event_sets[i].name);
		struct list_row row = { .name = name, .type = "set" };
		const char *reason = NULL, *comma = "";
		struct pmc_parse_error error;
		struct pmc_events events;
		unsigned open = 0;
		struct pmc_out out = PMC_OUT_MEM(1000);

		if (!list_wants(list, name))
			continue;
		pmc_outf(&out, "%s: ", pmc_event_sets[i].doc);
		if (pmc_events_parse(name, &list->roots, &list->arena, &events, &error))
			continue;
		for (unsigned k = 0; k < events.count; k++) {
			struct list_answer answer = list_try(list, &events.list[k], -1);

			pmc_outf(&out, "%s%s", comma, events.list[k].name);
			comma = ",";
			open += answer.available;
			if (!answer.available && !reason)
				reason = answer.reason;
		}
		row.description = out.buf;
		if (reason && open)
			reason = pmc_arena_format(&list->arena, "only %u of %u events: %s", open,
						  events.count, reason);
		row.answer = (struct list_answer){ open == events.count, reason, NULL };
		list_add(list, &row);
	}
}

/* ---- output: as a table by PMU, or in the formats of all rows ------------------------------- */

enum { PMU, NAME, TYPE, DESCRIPTION, AVAILABLE, REASON, YES_NO, TEXT, N_CELLS };

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

/* Of all columns, but the text below a heading. */
static struct table_cell *cells_of(struct list *list)
{
	struct table_cell *cells =
		pmc_arena_alloc(&list->arena, (list->n + 1) * N_CELLS * sizeof(*cells));

	for (unsigned i = 0; i < list->n; i++) {
		const struct list_row *row = &list->rows[i];
		const struct table_cell of_row[N_CELLS] = {
			[PMU] = cell_text(row->pmu),
			[NAME] = cell_text(row->name),
			[TYPE] = cell_text(row->type),
			[DESCRIPTION] = cell_text(row->description),
			[AVAILABLE] = cell_bool(row->answer.available),
			[REASON] = cell_text(row->answer.reason),
			[YES_NO] = cell_text(row->answer.available ? "yes" : "no"),
		};

		memcpy(cells + i * N_CELLS, of_row, sizeof(of_row));
	}
	return cells;
}

static bool equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Rows that have a heading in common, and the reason in it if all have one. */
static void put_section(struct tool_rows *rows, struct table *table, struct list *list, bool alike)
{
	const struct list_row *first = &list->rows[table->order[0]];
	const struct list_answer *answer = &first->answer;
	struct table_cells *cells = table->arg;
	struct pmc_out *out = &rows->out;

	pmc_outf(out, "%s events", first->type);
	if (first->pmu && strcmp(first->pmu, first->type) != 0) {
		pmc_out_str(out, " of PMU ");
		pmc_utf8_safe(out, first->pmu, strlen(first->pmu), 0);
	}
	if (alike && answer->reason)
		pmc_outf(out, ": %s%s", answer->available ? "" : "not available, ", answer->reason);
	pmc_out_char(out, '\n');
	for (uint64_t i = 0; i < table->n_rows; i++) {
		const struct list_row *row = &list->rows[table->order[i]];
		const char *text = row->description;

		if (!alike && row->answer.reason)
			text = pmc_arena_format(
				&list->arena, "%s (%s%s)", row->description,
				row->answer.available ? "" : "not available: ", row->answer.reason);
		cells->cells[table->order[i] * N_CELLS + TEXT] = cell_text(text);
	}
	table_layout(table);
	table_put_rows(table, 0, table->n_rows, out);
}

static void put_sections(struct tool_rows *rows, struct table *table, struct list *list)
{
	for (uint64_t i = 0, n; i < table->n_rows; i += n) {
		const struct list_row *first = &list->rows[table->order[i]];
		struct table part = *table;
		bool alike = true;

		for (n = 1; i + n < table->n_rows; n++) {
			const struct list_row *row = &list->rows[table->order[i + n]];

			if (!equal(first->type, row->type) || !equal(first->pmu, row->pmu))
				break;
			alike &= first->answer.available == row->answer.available &&
				 equal(first->answer.reason, row->answer.reason);
		}
		part.order += i;
		part.n_rows = n;
		if (i)
			pmc_out_char(&rows->out, '\n');
		put_section(rows, &part, list, alike);
	}
}

static int print(struct list *list, struct tool_rows *rows)
{
	struct table_cells cells = { .cells = cells_of(list), .n = N_CELLS };
	struct table table = { .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(columns[0]),
			       .n_rows = list->n,
			       .arena = &list->arena,
			       .wide = !rows->width };
	int code;

	table_set_cells(&table, &cells);
	code = tool_rows_choose(rows, &table, 0);
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
		put_sections(rows, &table, list);
	} else {
		tool_rows_print(rows, &table);
	}
	tool_rows_put_left_out(rows, &table);
	return tool_rows_close(rows);
}

/* ---- the command ---------------------------------------------------------------------------- */

struct request {
	const char *glob, *fit, *db;
	struct tool_rows rows;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_list_flags[] = {
	FLAG_TEXT(0, "--fit", "EVENTS", fit, "test whether these events can be counted at once"),
	FLAG_TEXT(0, "--pmu-db", "FILE", db,
		  "table of counter masks for --fit, instead of this machine"),
	FLAG_SORT(0, rows.choice.sort, "column to sort by (default: by PMU)"),
	FLAG_TOP(rows.choice.top, "number of rows; 0: all (the default)"),
	FLAG_ROWS_CHOICE(rows, columns),
	FLAG_FORMAT(rows.format, TABLE_FORMATS),
	FLAG_CONSTANT(0, "--json", rows.format, TABLE_JSON, "output and errors as JSON"),
	FLAG_ROWS_OUTPUT(rows),
	OPERAND_TEXT("EVENT", glob,
		     .once = "word or pattern (quote it to keep the shell from expanding it)"),
	FLAG_END,
};

/* --fit */
static bool is_of_rows(const struct tool_rows *rows)
{
	const struct table_choice *choice = &rows->choice;

	return choice->sort || choice->top || choice->n_where || choice->columns || rows->width ||
	       rows->output || (rows->format != TABLE_PLAIN && rows->format != TABLE_JSON);
}

static int parse(int argc, char **argv, struct request *request)
{
	int code = tool_args_parse(argc, argv, request);

	if (code)
		return code;
	if (request->fit && request->glob)
		return tool_fail(EXIT_USAGE,
				 "unexpected pattern '%s': --fit takes a list of events; "
				 "separate them by commas",
				 request->glob);
	if (request->fit && is_of_rows(&request->rows))
		return tool_fail(EXIT_USAGE, "--fit prints passes, not rows: of the flags for rows "
					     "it takes --format table and json");
	if (request->db && !request->fit)
		return tool_fail(EXIT_USAGE, "--pmu-db needs --fit; add --fit EVENTS");
	return EXIT_OK;
}

static int run_fit(struct request *request)
{
	struct list_fit fit = { 0 };
	int code = request->db ? list_fit_db(&fit, request->fit, request->db) :
				 list_fit_host(&fit, request->fit);

	if (!code)
		code = list_fit_print(&fit, &request->rows);
	list_free(&fit.list);
	return code;
}

void list_all(struct list *list)
{
	pmc_builtins_each(add_builtin, list);
	list_machine(list);
	add_sets(list);
}

/* A name that no table lists may be valid all the same: r1c2, cpu/event=1/. Another word is looked
 * for in names. */
static int find_unlisted(struct list *list, struct tool_rows *rows)
{
	struct pmc_parse_error error;
	struct pmc_events events;
	struct list_row row = { .name = list->glob, .type = "other" };

	if (strpbrk(list->glob, "*?[")) {
		if (tool_json_errors)
			(void)print(list, rows);
		return tool_fail(EXIT_FAIL, "no event matches '%s'%s", list->glob,
				 strchr(list->glob, ':') ?
					 "; pmctl doctor says whether tracepoints and libpfm4's "
					 "events can be listed" :
					 "");
	}
	if (pmc_events_parse(list->glob, NULL, &list->arena, &events, &error)) {
		list->glob = pmc_arena_format(&list->arena, "*%s*", row.name);
		list_all(list);
		return list->n ? EXIT_OK :
				 tool_fail(EXIT_USAGE, "event '%s': %s", row.name, error.text);
	}
	if (events.count != 1)
		return tool_fail(EXIT_USAGE, "'%s' is several events; list takes one pattern",
				 list->glob);
	row.answer = list_try(list, &events.list[0], -1);
	row.pmu = events.list[0].pmu[0] ? events.list[0].pmu : NULL;
	row.description =
		pmc_arena_format(&list->arena, "type %u, config 0x%llx", events.list[0].type,
				 (unsigned long long)events.list[0].config);
	list_add(list, &row);
	return EXIT_OK;
}

static int run_list(struct request *request)
{
	struct list list = { .glob = request->glob };
	int code = EXIT_OK;

	list_init(&list);
	list_all(&list);
	if (!list.n && list.glob)
		code = find_unlisted(&list, &request->rows);
	if (!code)
		code = print(&list, &request->rows);
	list_free(&list);
	return code;
}

int cmd_list(int argc, char **argv)
{
	struct request request = { 0 };
	int code = parse(argc, argv, &request);

	if (code)
		return code;
	return request.fit ? run_fit(&request) : run_list(&request);
}
