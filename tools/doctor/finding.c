/* SPDX-License-Identifier: MIT */
/* finding.c - fills the findings of checks. */
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
