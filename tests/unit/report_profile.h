/* SPDX-License-Identifier: MIT */
/* report_profile.h - profiles of made dumps, and their reports, for tests of the report. */
#ifndef PMC_TESTS_REPORT_PROFILE_H
#define PMC_TESTS_REPORT_PROFILE_H

#include "lib/base/out.h"
#include "tools/rows/profile.h"
#include "tools/view/report.h"
#include "tests/unit/made_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void made_profile(struct pmc_profile *profile, bool timeline)
{
	const struct pmc_profile_options options = { .timeline = timeline };

	if (made.overflow)
		abort();
	pmc_profile_init(profile, &options);
	pmc_profile_add_buffer(profile, made.data, made.len);
	pmc_profile_finish(profile);
}

/* The report as text, valid for the next seven reports too; *result: the result of pmc_report. */
static inline char *made_report(struct pmc_profile *profile,
				const struct pmc_report_options *options, int *result,
				const char **problem)
{
	static char texts[8][8 << 20];
	static unsigned last;
	char *text = texts[++last % 8];
	struct pmc_out out;
	const char *ignored;

	pmc_out_to_mem(&out, text, sizeof(texts[0]));
	*result = pmc_report(profile, options, &out, problem ? problem : &ignored);
	if (options->format == PMC_FORMAT_TABLE && strstr(text, " \n")) {
		fprintf(stderr, "lines end in blanks:\n%s", text);
		abort();
	}
	return text;
}

#endif
