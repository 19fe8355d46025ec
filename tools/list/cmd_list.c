/* SPDX-License-Identifier: MIT */
/* cmd_list.c - pmctl list: events, whether each is available here, and which fit at once. */
#include "tools/cli/rows.h"
#include "tools/list/list.h"

#include <string.h>

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
	FLAG_ROWS_CHOICE(rows),
	FLAG_FORMAT(rows.format, TABLE_FORMATS),
	FLAG_CONSTANT(0, "--json", rows.format, TABLE_JSON, "output and errors as JSON"),
	FLAG_ROWS_OUTPUT(rows),
	OPERAND_TEXT(glob,
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

static int run_fit(const struct request *request)
{
	struct list_fit fit = { 0 };
	int code = request->db ? list_fit_db(&fit, request->fit, request->db) :
				 list_fit_host(&fit, request->fit);

	if (!code)
		code = list_fit_print(&fit, request->rows.format == TABLE_JSON);
	list_free(&fit.list);
	return code;
}

static void collect(struct list *list)
{
	list_builtins(list);
	list_machine(list);
	list_sets(list);
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
			(void)list_print(list, rows);
		return tool_fail(EXIT_FAIL, "no event matches '%s'%s", list->glob,
				 strchr(list->glob, ':') ?
					 "; pmctl doctor says whether tracepoints and libpfm4's "
					 "events can be listed" :
					 "");
	}
	if (pmc_events_parse(list->glob, NULL, &list->arena, &events, &error)) {
		list->glob = list_text(list, "*%s*", row.name);
		collect(list);
		return list->n ? EXIT_OK :
				 tool_fail(EXIT_USAGE, "event '%s': %s", row.name, error.text);
	}
	if (events.count != 1)
		return tool_fail(EXIT_USAGE, "'%s' is several events; list takes one pattern",
				 list->glob);
	row.answer = list_try(list, &events.list[0], -1);
	row.pmu = events.list[0].pmu[0] ? events.list[0].pmu : NULL;
	row.description = list_text(list, "type %u, config 0x%llx", events.list[0].type,
				    (unsigned long long)events.list[0].config);
	list_add(list, &row);
	return EXIT_OK;
}

static int run_list(struct request *request)
{
	struct list list = { .glob = request->glob };
	int code = EXIT_OK;

	list_init(&list);
	collect(&list);
	if (!list.n && list.glob)
		code = find_unlisted(&list, &request->rows);
	if (!code)
		code = list_print(&list, &request->rows);
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
