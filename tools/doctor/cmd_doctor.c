/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c - pmctl doctor: what can be counted here, what blocks it, and the fix. */
#include "tools/cli/rows.h"
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct result {
	const char *name;
	struct doctor_finding finding;
};

static const char *const statuses[] = { "ok", "limits", "blocks" };

static const struct table_column of_checks[] = {
	{ .name = "name", .index = 0 },
	{ .name = "status", .index = 1 },
	{ .name = "detail", .index = 2 },
	{ .name = "remedy", .head = "fix", .index = 3, .blank = true },
	{ .name = "remedy_is_command", .index = 4, .data = true },
	{ .name = "hint", .index = 5, .blank = true },
};
enum { N_COLUMNS = sizeof(of_checks) / sizeof(of_checks[0]) };

static int print_rows(struct tool_rows *rows, const struct result *results, unsigned n, bool ok,
		      const struct doctor_facts *facts)
{
	struct pmc_arena arena = { 0 };
	struct table_cells cells = { .n = N_COLUMNS };
	struct table table = {
		.columns = of_checks, .n_columns = N_COLUMNS, .n_rows = n, .arena = &arena
	};
	int code = tool_rows_open(rows);

	cells.cells = pmc_arena_alloc(&arena, n * N_COLUMNS * sizeof(*cells.cells));
	for (unsigned i = 0; i < n; i++) {
		const struct doctor_finding *finding = &results[i].finding;
		const struct table_cell row[N_COLUMNS] = {
			cell_text(results[i].name),
			cell_text(statuses[finding->status]),
			cell_text(finding->detail),
			cell_text(finding->fix[0] ? finding->fix : NULL),
			cell_bool(finding->fix_is_command),
			cell_text(finding->hint[0] ? finding->hint : NULL),
		};

		memcpy(cells.cells + i * N_COLUMNS, row, sizeof(row));
	}
	table_set_cells(&table, &cells);
	if (code)
		return code;
	if (rows->format == TABLE_JSON)
		pmc_outf(&rows->out,
			 "{\"ok\":%s,\"hardware\":%s,\"checks\":", ok ? "true" : "false",
			 doctor_hardware(facts) ? "true" : "false");
	tool_rows_print(rows, &table);
	if (rows->format == TABLE_JSON)
		pmc_out_str(&rows->out, "}\n");
	code = tool_rows_close(rows);
	pmc_arena_free(&arena);
	return code;
}

enum { DETAIL_AT = 30 }; /* column */

/* `missing`: the required events, if they cannot be counted; else NULL. facts NULL: no summary. */
static void print_table(const struct result *results, unsigned n, const struct doctor_facts *facts,
			const char *missing)
{
	const int columns = tool_columns(STDOUT_FILENO);

	for (unsigned i = 0, same; i < n; i++) {
		const struct doctor_finding *finding = &results[i].finding;

		tool_indented_line(columns, DETAIL_AT - 1, "%-20s  %-6s  %s", results[i].name,
				   statuses[finding->status], finding->detail);
		if (!finding->fix[0])
			continue;
		for (same = 0; strcmp(results[same].finding.fix, finding->fix) != 0;)
			same++;
		if (same < i)
			tool_line("%*sfix: as for %s", DETAIL_AT, "", results[same].name);
		else /* a command is copied as one line */
			tool_indented_line(finding->fix_is_command ? 0 : columns, DETAIL_AT + 4,
					   "%*sfix: %s%s%s%s", DETAIL_AT, "", finding->fix,
					   finding->hint[0] ? "   (" : "", finding->hint,
					   finding->hint[0] ? ")" : "");
	}
	if (!facts)
		return;
	puts("");
	tool_wrapped_line(columns, "%s", doctor_summary(facts));
	if (missing)
		tool_wrapped_line(columns, "%s cannot %sbe counted here (required).", missing,
				  strchr(missing, ',') ? "all " : "");
}

/* Whether each event can be counted. The finding is that of the first one that cannot, or of the
 * last. */
static int require(const struct doctor_facts *facts, const char *text, bool *counted,
		   struct doctor_finding *finding)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	struct pmc_plan plan;
	int code = tool_parse_events("event", text, &arena, &events);

	if (!code && doctor_plan(&events, &arena, &plan))
		code = tool_fail(EXIT_FAIL, "cannot plan the events '%s'", text);
	*counted = !code;
	for (unsigned i = 0; !code && *counted && i < plan.count; i++) {
		doctor_judge(facts, &plan.events[i], &arena, finding);
		*counted = finding->status == DOCTOR_OK;
	}
	if (!code && *counted && plan.count > 1)
		doctor_say(finding, DOCTOR_OK, "%s: each counted", text);
	pmc_arena_free(&arena);
	return code;
}

struct request {
	const char *event, *require; /* NULL: none */
	struct tool_rows rows;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_doctor_flags[] = {
	FLAG_TEXT(0, "--require", "EVENT", require,
		  "event that must be countable, else exit status 1"),
	FLAG_FORMAT(rows.format, TABLE_FORMATS),
	FLAG_CONSTANT(0, "--json", rows.format, TABLE_JSON, "output and errors as JSON"),
	OPERAND_TEXT("EVENT", event, .once = "event"),
	FLAG_END,
};

int cmd_doctor(int argc, char **argv)
{
	const struct doctor_facts *facts;
	static struct result results[64];
	unsigned n = doctor_n_checks;
	struct request request = { .require = NULL };
	bool ok;
	int code = tool_args_parse(argc, argv, &request);

	if (code)
		return code;
	if (request.event && request.require)
		return tool_fail(EXIT_USAGE, "an event and --require cannot be used together");
	facts = doctor_gather();
	if (request.event)
		n = 0;
	for (unsigned i = 0; i < n; i++) {
		results[i].name = doctor_checks[i].name;
		doctor_checks[i].judge(facts, &results[i].finding);
	}
	ok = doctor_anything(facts);
	if (request.event || request.require) {
		const char *text = request.event ? request.event : request.require;

		results[n].name = request.event ? "event" : "require";
		code = require(facts, text, &ok, &results[n++].finding);
	}
	if (!code && request.rows.format != TABLE_PLAIN)
		code = print_rows(&request.rows, results, n, ok, facts);
	else if (!code)
		print_table(results, n, request.event ? NULL : facts, ok ? NULL : request.require);
	return code ? code : ok ? EXIT_OK : EXIT_FAIL;
}

/* ---- findings ------------------------------------------------------------------------------- */

void doctor_say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
{
	va_list args;

	finding->status = status;
	va_start(args, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, args);
	va_end(args);
}

void doctor_fix(struct doctor_finding *finding, const char *hint, bool root, const char *format,
		...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->fix, sizeof(finding->fix), format, args);
	va_end(args);
	finding->fix_is_command = hint;
	if (hint && root && strncmp(finding->fix, "sudo ", 5) == 0)
		memmove(finding->fix, finding->fix + 5, sizeof(finding->fix) - 5);
	snprintf(finding->hint, sizeof(finding->hint), "%s", hint ? hint : "");
}
