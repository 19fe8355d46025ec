/* SPDX-License-Identifier: MIT */
/* cmd_list.c - pmctl list: the events there are, whether they open here, and what fits at once. */
#include "tools/list/list.h"
#include "tools/cli/pmctl.h"

#include <string.h>

struct request {
	const char *glob, *fit, *db;
	bool json;
};

/* The value of --flag VALUE or --flag=VALUE at argv[*i], which moves on; NULL: another flag, or
 * no value. */
static const char *value_of(const char *flag, int argc, char **argv, int *i)
{
	size_t len = strlen(flag);

	if (strncmp(argv[*i], flag, len) != 0)
		return NULL;
	if (argv[*i][len] == '=')
		return argv[*i] + len + 1;
	return !argv[*i][len] && *i + 1 < argc ? argv[++*i] : NULL;
}

static int unknown(const char *arg)
{
	const char *near = tool_nearest_flag("list", arg);

	if (strcmp(arg, "--fit") == 0)
		return tool_fail(EXIT_USAGE, "--fit needs a value: events, separated by commas");
	if (strcmp(arg, "--pmu-db") == 0)
		return tool_fail(EXIT_USAGE, "--pmu-db needs a value: the database's file");
	if (near)
		return tool_fail(EXIT_USAGE, "there is no flag '%s'; did you mean '%s'?", arg,
				 near);
	return tool_fail(EXIT_USAGE, "there is no flag '%s'; see pmctl list --help", arg);
}

static int parse(int argc, char **argv, struct request *request)
{
	bool flags = true;

	/* First of all: other mistakes are then told as JSON too. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			request->json = tool_json_errors = true;
	for (int i = 1; i < argc; i++) {
		const char *value;

		if (!flags || argv[i][0] != '-') {
			if (request->glob)
				return tool_fail(EXIT_USAGE,
						 "takes one pattern; quote it, or the shell "
						 "expands it");
			request->glob = argv[i];
		} else if (strcmp(argv[i], "--") == 0) {
			flags = false;
		} else if (strcmp(argv[i], "--json") == 0) {
			continue;
		} else if ((value = value_of("--fit", argc, argv, &i))) {
			request->fit = value;
		} else if ((value = value_of("--pmu-db", argc, argv, &i))) {
			request->db = value;
		} else {
			return unknown(argv[i]);
		}
	}
	if (request->fit && request->glob)
		return tool_fail(EXIT_USAGE, "--fit takes its events itself, and no pattern '%s'",
				 request->glob);
	if (request->db && !request->fit)
		return tool_fail(EXIT_USAGE, "--pmu-db belongs to --fit EVENTS");
	return EXIT_OK;
}

static int run_fit(const struct request *request)
{
	struct list_fit fit = { 0 };
	int code = request->db ? list_fit_db(&fit, request->fit, request->db) :
				 list_fit_host(&fit, request->fit);

	if (!code)
		code = list_fit_print(&fit, request->json);
	pmc_arena_free(&fit.arena);
	return code;
}

/* A name that no table lists may be understood all the same: r1c2, cpu/event=1/. */
static int find_unlisted(struct list *list)
{
	struct pmc_parse_error error;
	struct pmc_events events;
	struct list_row row = { .name = list->glob, .type = "other" };
	struct list_answer answer;

	if (strpbrk(list->glob, "*?[")) {
		if (tool_json_errors)
			(void)list_print_json(list);
		return tool_fail(EXIT_FAIL, "no event matches '%s'", list->glob);
	}
	if (pmc_events_parse(list->glob, NULL, &list->arena, &events, &error))
		return tool_fail(EXIT_USAGE, "'%s': %s", list->glob, error.text);
	if (events.count != 1)
		return tool_fail(EXIT_USAGE, "'%s' is more than one event", list->glob);
	answer = list_try(list, &events.list[0], -1);
	row.pmu = events.list[0].pmu[0] ? events.list[0].pmu : NULL;
	row.available = answer.available;
	row.reason = answer.reason;
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
	list_sysfs(&list);
	list_pfm(&list);
	list_tracepoints(&list);
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
	int code;

	if (tool_wants_help("list", argc, argv))
		return EXIT_OK;
	code = parse(argc, argv, &request);
	if (code)
		return code;
	return request.fit ? run_fit(&request) : run_list(&request);
}
