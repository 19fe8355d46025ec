/* SPDX-License-Identifier: MIT */
/* print.c - prints the rows of pmctl list by PMU, as text or as JSON. */
#include "lib/base/json.h"
#include "tools/list/list.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_COLUMNS 42

int list_print_json(const struct list *list)
{
	char room[8192];
	struct pmc_json json;
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	pmc_json_init(&json, &out, false);
	pmc_json_array(&json, NULL);
	for (unsigned i = 0; i < list->n; i++) {
		const struct list_row *row = &list->rows[i];

		pmc_json_line(&json);
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "pmu", row->pmu);
		pmc_json_str(&json, "name", row->name);
		pmc_json_str(&json, "type", row->type);
		pmc_json_str(&json, "description", row->description);
		pmc_json_bool(&json, "available", row->answer.available);
		pmc_json_str(&json, "reason", row->answer.reason);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_out_char(&out, '\n');
	error = pmc_out_flush(&out);
	return error ? tool_fail_write("to standard output", -error) : EXIT_OK;
}

static bool equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_section(const struct list_row *a, const struct list_row *b)
{
	return equal(a->type, b->type) && equal(a->pmu, b->pmu);
}

/* A reason that applies to every row is printed once, in the heading. */
static void put_section(const struct list_row *rows, unsigned n)
{
	bool names_pmu = rows->pmu && strcmp(rows->pmu, rows->type) != 0;
	bool alike = true;
	const char *why;

	for (unsigned i = 1; i < n; i++)
		alike &= rows[i].answer.available == rows->answer.available &&
			 equal(rows[i].answer.reason, rows->answer.reason);
	why = alike ? rows->answer.reason : NULL;
	tool_line("%s events%s%s%s%s%s", rows->type, names_pmu ? " of PMU " : "",
		  names_pmu ? rows->pmu : "", why ? ": " : "",
		  why && !rows->answer.available ? "not available, " : "", why ? why : "");
	for (unsigned i = 0; i < n; i++) {
		const struct list_row *row = &rows[i];

		why = alike ? NULL : row->answer.reason;
		tool_line("  %s  %-*s  %s%s%s%s%s", row->answer.available ? "yes" : "no ",
			  NAME_COLUMNS, row->name, row->description, why ? " (" : "",
			  why && !row->answer.available ? "not available: " : "", why ? why : "",
			  why ? ")" : "");
	}
}

void list_print_table(const struct list *list)
{
	for (unsigned i = 0, n; i < list->n; i += n) {
		for (n = 1; i + n < list->n; n++)
			if (!same_section(&list->rows[i], &list->rows[i + n]))
				break;
		if (i)
			puts("");
		put_section(&list->rows[i], n);
	}
}
