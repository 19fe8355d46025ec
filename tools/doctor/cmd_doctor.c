/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c - pmctl doctor: what can be counted here, what stands in the way, the remedy. */
#include "agent/core/base/json.h"
#include "tools/doctor/doctor.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int print_json(const struct doctor_facts *facts)
{
	char room[8192];
	struct pmc_json json;
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	pmc_json_init(&json, &out, true);
	pmc_json_object(&json, NULL);
	pmc_json_bool(&json, "ok", doctor_hardware(facts));
	pmc_json_array(&json, "checks");
	for (unsigned i = 0; i < doctor_n_checks; i++) {
		struct doctor_finding finding = { .status = DOCTOR_OK };

		doctor_checks[i].judge(facts, &finding);
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "name", doctor_checks[i].name);
		pmc_json_str(&json, "status", doctor_status_name(finding.status));
		pmc_json_str(&json, "detail", finding.detail);
		pmc_json_str(&json, "remedy", finding.remedy[0] ? finding.remedy : NULL);
		pmc_json_bool(&json, "remedy_is_command", finding.command);
		pmc_json_str(&json, "hint", finding.hint[0] ? finding.hint : NULL);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(&out, '\n');
	error = pmc_out_flush(&out);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot write to standard output: %s",
				 strerror(-error));
	return EXIT_OK;
}

/* The first check that had this remedy too: what is missing once shows in several checks. */
static unsigned same_remedy(const struct doctor_facts *facts, unsigned check, const char *remedy)
{
	for (unsigned i = 0; i < check; i++) {
		struct doctor_finding finding = { .status = DOCTOR_OK };

		doctor_checks[i].judge(facts, &finding);
		if (strcmp(finding.remedy, remedy) == 0)
			return i;
	}
	return check;
}

static void print_table(const struct doctor_facts *facts)
{
	for (unsigned i = 0; i < doctor_n_checks; i++) {
		struct doctor_finding finding = { .status = DOCTOR_OK };

		doctor_checks[i].judge(facts, &finding);
		printf("%-20s  %-6s  %s\n", doctor_checks[i].name,
		       doctor_status_name(finding.status), finding.detail);
		unsigned first = same_remedy(facts, i, finding.remedy);

		if (!finding.remedy[0])
			continue;
		if (first < i)
			printf("%30sremedy: as for %s\n", "", doctor_checks[first].name);
		else
			printf("%30sremedy: %s%s%s%s\n", "", finding.remedy,
			       finding.hint[0] ? "   (" : "", finding.hint,
			       finding.hint[0] ? ")" : "");
	}
	if (facts->cycles == 0 && doctor_hardware(facts))
		puts("\nHardware events can be counted here.");
	else if (doctor_hardware(facts))
		puts("\nHardware events can be counted here, in user mode only.");
	else if (facts->software_user == 0)
		puts("\nHardware events cannot be counted here. Software events can; CPU time, "
		     "faults and context\nswitches of every thread always are.");
	else
		puts("\nNo perf event can be counted here. CPU time, faults and context switches "
		     "of every thread\nstill are.");
}

int cmd_doctor(int argc, char **argv)
{
	static const struct pmc_roots roots = { "/proc", "/sys", "" };
	struct doctor_facts facts;
	bool json = false;
	int code = EXIT_OK;

	if (tool_wants_help("doctor", argc, argv))
		return EXIT_OK;
	for (int i = 1; i < argc; i++) {
		const char *near;

		if (strcmp(argv[i], "--json") == 0) {
			json = tool_json_errors = true;
			continue;
		}
		near = argv[i][0] == '-' ? tool_nearest_flag("doctor", argv[i]) : NULL;
		return tool_fail(EXIT_USAGE, "does not take '%s'; %s%s%s", argv[i],
				 near ? "did you mean '" : "it takes --json", near ? near : "",
				 near ? "'?" : "");
	}
	doctor_read(&roots, &facts);
	doctor_try(&facts);
	doctor_counters(&roots, &facts);
	doctor_try_features(&facts);
	doctor_parts(&facts);
	if (json)
		code = print_json(&facts);
	else
		print_table(&facts);
	if (code)
		return code;
	return doctor_hardware(&facts) ? EXIT_OK : EXIT_FAIL;
}
