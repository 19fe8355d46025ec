/* SPDX-License-Identifier: MIT */
/* cmd_list.c - pmctl list: events, whether each is available here, and which fit at once. */
#include "tools/list/list.h"
#include "tools/cli/flags.h"

#include <string.h>

struct request {
	const char *glob, *fit, *db;
	bool json;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_list_flags[] = {
	FLAG_TEXT(0, "--fit", "EVENTS", fit, "test whether these events can be counted at once"),
	FLAG_TEXT(0, "--pmu-db", "FILE", db,
		  "table of counter masks for --fit, instead of this machine"),
	FLAG_BOOL(0, "--json", json, "output and errors as JSON"),
	OPERAND_TEXT(glob, .once = "pattern (quote it to keep the shell from expanding it)"),
	FLAG_END,
};

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
	if (request->db && !request->fit)
		return tool_fail(EXIT_USAGE, "--pmu-db needs --fit; add --fit EVENTS");
	return EXIT_OK;
}

static int run_fit(const struct request *request)
{
	struct list_fit fit = { 0 };
	int code = request->db ? list_fit_db(&fit, request->fit, request->db) :
				 list_fit_host(&fit, request->fit);

	if (!code && fit.list.arena.failed)
		code = tool_fail(EXIT_FAIL, "out of memory");
	if (!code)
		code = list_fit_print(&fit, request->json);
	list_free(&fit.list);
	return code;
}

/* A name that no table lists may be valid all the same: r1c2, cpu/event=1/. */
static int find_unlisted(struct list *list)
{
	struct pmc_parse_error error;
	struct pmc_events events;
	struct list_row row = { .name = list->glob, .type = "other" };

	if (strpbrk(list->glob, "*?[")) {
		if (tool_json_errors)
			(void)list_print_json(list);
		return tool_fail(EXIT_FAIL, "no event matches '%s'", list->glob);
	}
	if (pmc_events_parse(list->glob, NULL, &list->arena, &events, &error))
		return tool_fail(EXIT_USAGE, "'%s': %s", list->glob, error.text);
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

static int run_list(const struct request *request)
{
	struct list list = { .glob = request->glob };
	int code = EXIT_OK;

	list_init(&list);
	list_builtins(&list);
	list_machine(&list);
	list_sets(&list);
	if (!list.n && list.glob)
		code = find_unlisted(&list);
	if (!code && list.arena.failed)
		code = tool_fail(EXIT_FAIL, "out of memory");
	if (!code && request->json)
		code = list_print_json(&list);
	else if (!code)
		list_print_table(&list);
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
