/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c - pmctl doctor: what can be counted here, what blocks it, and the fix. */
#include "lib/base/json.h"
#include "tools/cli/flags.h"
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct result {
	const char *name;
	struct doctor_finding finding;
};

static const char *const statuses[] = { "ok", "limits", "blocks" };

static int print_json(const struct result *results, unsigned n, bool ok,
		      const struct doctor_facts *facts)
{
	char room[8192];
	struct pmc_json json;
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	pmc_json_init(&json, &out, true);
	pmc_json_object(&json, NULL);
	pmc_json_bool(&json, "ok", ok);
	pmc_json_bool(&json, "hardware", doctor_hardware(facts));
	pmc_json_array(&json, "checks");
	for (unsigned i = 0; i < n; i++) {
		const struct doctor_finding *finding = &results[i].finding;

		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "name", results[i].name);
		pmc_json_str(&json, "status", statuses[finding->status]);
		pmc_json_str(&json, "detail", finding->detail);
		pmc_json_str(&json, "remedy", finding->fix[0] ? finding->fix : NULL);
		pmc_json_bool(&json, "remedy_is_command", finding->fix_is_command);
		pmc_json_str(&json, "hint", finding->hint[0] ? finding->hint : NULL);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(&out, '\n');
	error = pmc_out_flush(&out);
	return error ? tool_fail_write("to standard output", -error) : EXIT_OK;
}

/* `missing`: the required events, if they cannot be counted; else NULL. */
static void print_table(const struct result *results, unsigned n, const struct doctor_facts *facts,
			const char *missing)
{
	const int columns = tool_columns(STDOUT_FILENO);

	for (unsigned i = 0, same; i < n; i++) {
		const struct doctor_finding *finding = &results[i].finding;

		tool_wrapped_line(columns, "%-20s  %-6s  %s", results[i].name,
				  statuses[finding->status], finding->detail);
		if (!finding->fix[0])
			continue;
		for (same = 0; strcmp(results[same].finding.fix, finding->fix) != 0;)
			same++;
		if (same < i)
			tool_line("%30sfix: as for %s", "", results[same].name);
		else /* a command is copied as one line */
			tool_wrapped_line(finding->fix_is_command ? 0 : columns,
					  "%30sfix: %s%s%s%s", "", finding->fix,
					  finding->hint[0] ? "   (" : "", finding->hint,
					  finding->hint[0] ? ")" : "");
	}
	puts("");
	tool_wrapped_line(columns, "%s", doctor_summary(facts));
	if (missing)
		tool_wrapped_line(columns, "%s cannot %sbe counted here (required).", missing,
				  strchr(missing, ',') ? "all " : "");
}

struct request {
	const char *require; /* NULL: none */
	bool json;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_doctor_flags[] = {
	FLAG_TEXT(0, "--require", "EVENT", require,
		  "event that must be countable, else exit status 1"),
	FLAG_BOOL(0, "--json", json, "output and errors as JSON"),
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
	facts = doctor_gather();
	for (unsigned i = 0; i < n; i++) {
		results[i].name = doctor_checks[i].name;
		doctor_checks[i].judge(facts, &results[i].finding);
	}
	ok = doctor_anything(facts);
	if (request.require) {
		results[n].name = "require";
		code = doctor_require(facts, request.require, &ok, &results[n++].finding);
	}
	if (!code && request.json)
		code = print_json(results, n, ok, facts);
	else if (!code)
		print_table(results, n, facts, ok ? NULL : request.require);
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

void doctor_fix_words(struct doctor_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->fix, sizeof(finding->fix), format, args);
	va_end(args);
	finding->fix_is_command = false;
}

void doctor_fix_command(struct doctor_finding *finding, bool root, const char *hint,
			const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->fix, sizeof(finding->fix), format, args);
	va_end(args);
	if (root && strncmp(finding->fix, "sudo ", 5) == 0)
		memmove(finding->fix, finding->fix + 5, sizeof(finding->fix) - 5);
	finding->fix_is_command = true;
	snprintf(finding->hint, sizeof(finding->hint), "%s", hint);
}
