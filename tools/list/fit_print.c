/* SPDX-License-Identifier: MIT */
/* fit_print.c - prints the result of pmctl list --fit, as text or as JSON. */
#include "lib/base/json.h"
#include "tools/list/list.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <unistd.h>

static bool possible(const struct list_fit *fit)
{
	for (unsigned i = 0; i < fit->n; i++)
		if (fit->events[i].reason)
			return false;
	return true;
}

static void json_events(struct pmc_json *json, const char *key, const struct list_fit *fit,
			uint64_t events)
{
	pmc_json_array(json, key);
	for (unsigned i = 0; i < fit->n; i++)
		if (events >> i & 1)
			pmc_json_str(json, NULL, fit->events[i].name);
	pmc_json_array_end(json);
}

/* The events of a pass, as bits. */
static uint64_t members(const struct list_fit *fit, unsigned pass)
{
	uint64_t events = 0;

	for (unsigned i = 0; i < fit->n; i++)
		if (!fit->events[i].reason && fit->events[i].pass == pass)
			events |= UINT64_C(1) << i;
	return events;
}

static void json_assignment(struct pmc_json *json, const struct list_fit *fit)
{
	pmc_json_object(json, "assignment");
	for (unsigned i = 0; !fit->clash && i < fit->n; i++) {
		if (fit->known_counters)
			pmc_json_i64(json, fit->events[i].name, fit->events[i].counter);
		else
			pmc_json_null(json, fit->events[i].name);
	}
	pmc_json_object_end(json);
}

static int print_json(const struct list_fit *fit)
{
	char room[8192];
	struct pmc_json json;
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	pmc_json_init(&json, &out, true);
	pmc_json_object(&json, NULL);
	pmc_json_bool(&json, "fits", !fit->clash);
	json_assignment(&json, fit);
	json_events(&json, "clash", fit, fit->clash);
	pmc_json_array(&json, "passes");
	for (unsigned pass = 0; pass < fit->passes; pass++)
		json_events(&json, NULL, fit, members(fit, pass));
	pmc_json_array_end(&json);
	/* No number of passes counts an impossible event. */
	if (possible(fit))
		pmc_json_u64(&json, "lower_bound", fit->lower_bound);
	else
		pmc_json_null(&json, "lower_bound");
	pmc_json_array(&json, "impossible");
	for (unsigned i = 0; i < fit->n; i++) {
		if (!fit->events[i].reason)
			continue;
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "name", fit->events[i].name);
		pmc_json_str(&json, "reason", fit->events[i].reason);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_str(&json, "remark", fit->remark);
	pmc_json_object_end(&json);
	pmc_out_char(&out, '\n');
	error = pmc_out_flush(&out);
	return error ? tool_fail_write("to standard output", -error) : EXIT_OK;
}

static void put_pass(const struct list_fit *fit, unsigned pass)
{
	for (unsigned i = 0; i < fit->n; i++) {
		if (fit->events[i].reason || fit->events[i].pass != pass)
			continue;
		if (fit->known_counters)
			printf("  counter %2d  %s\n", fit->events[i].counter, fit->events[i].name);
		else
			printf("  %s\n", fit->events[i].name);
	}
}

static void print_text(const struct list_fit *fit)
{
	const char *between = "  ";

	if (fit->remark)
		puts(fit->remark);
	if (!fit->clash) {
		printf("All %u event%s can be counted at once:\n", fit->n, fit->n == 1 ? "" : "s");
		put_pass(fit, 0);
		return;
	}
	for (unsigned i = 0; i < fit->n; i++)
		if (fit->events[i].reason)
			printf("%s cannot be counted: %s\n", fit->events[i].name,
			       fit->events[i].reason);
	if (possible(fit)) {
		printf("The %u events cannot be counted at once. A smallest set that clashes:\n",
		       fit->n);
		for (unsigned i = 0; i < fit->n; i++) {
			if (!(fit->clash >> i & 1))
				continue;
			printf("%s%s", between, fit->events[i].name);
			between = ", ";
		}
		puts("");
	} else if (fit->passes) {
		puts("The others:");
	}
	for (unsigned pass = 0; pass < fit->passes; pass++) {
		printf("pass %u of %u\n", pass + 1, fit->passes);
		put_pass(fit, pass);
	}
	if (fit->passes > 1)
		printf("At least %u passes are needed%s.\n", fit->lower_bound,
		       fit->lower_bound < fit->passes ? "; not every combination was tried" : "");
}

int list_fit_print(const struct list_fit *fit, bool json)
{
	if (json)
		return print_json(fit);
	print_text(fit);
	return EXIT_OK;
}
