/* SPDX-License-Identifier: MIT */
/* say.c - puts a check's finding and remedy into words. */
#include "tools/doctor/doctor.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = { "ok", "limits", "blocks" };

	return names[status];
}

void doctor_say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
{
	va_list args;

	finding->status = status;
	va_start(args, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, args);
	va_end(args);
}

/* Root of the machine, not of a namespace. */
static bool is_root(const struct doctor_facts *facts)
{
	return facts->uid == 0 && facts->here.user_namespace != PMC_YES;
}

void doctor_command(const struct doctor_facts *facts, struct doctor_finding *finding,
		    const char *format, ...)
{
	const size_t cap = sizeof(finding->remedy);
	va_list args;

	va_start(args, format);
	vsnprintf(finding->remedy, cap, format, args);
	va_end(args);
	if (is_root(facts) && strncmp(finding->remedy, "sudo ", 5) == 0)
		memmove(finding->remedy, finding->remedy + 5, cap - 5);
	finding->command = true;
}

void doctor_words(struct doctor_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, args);
	va_end(args);
	finding->command = false;
}

void doctor_hint(struct doctor_finding *finding, const char *text)
{
	snprintf(finding->hint, sizeof(finding->hint), "%s", text);
}

void doctor_sysctl(const struct doctor_facts *facts, struct doctor_finding *finding,
		   const char *setting)
{
	doctor_command(facts, finding, "sudo sysctl -w %s", setting);
	if (facts->here.user_namespace == PMC_YES)
		doctor_hint(finding, "outside the user namespace");
	else if (facts->here.container)
		doctor_hint(finding, "on the host of the container");
	else
		doctor_hint(finding, "until the next boot; a file in /etc/sysctl.d keeps it");
}

void doctor_todo(const struct doctor_facts *facts, struct doctor_finding *finding, int error,
		 enum pmc_perf_call call)
{
	const struct pmc_tried tried = { .call = call };
	struct pmc_advice advice;

	pmc_advise(error, &tried, &facts->here, &advice);
	doctor_words(finding, "%s", advice.todo);
}

bool doctor_refused(int error)
{
	return error == -EACCES || error == -EPERM || error == TOOL_PROBE_KILLED;
}

const char *doctor_error(const struct doctor_facts *facts, int error,
			 const struct perf_event_attr *attr, char *buf, size_t cap)
{
	const struct pmc_tried tried = { .attr = attr };
	struct pmc_advice advice;
	char name[24];

	if (error == TOOL_PROBE_KILLED)
		return "a seccomp filter kills whoever calls perf_event_open";
	pmc_advise(error, &tried, &facts->here, &advice);
	snprintf(buf, cap, "%s: %s", pmc_error_name(error, name), advice.means);
	return buf;
}
