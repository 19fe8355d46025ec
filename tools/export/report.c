/* SPDX-License-Identifier: MIT */
/* report.c - exports that are forms of the report. */
#include "tools/view/report.h"
#include "tools/cli/pmctl.h"
#include "tools/export/export.h"

#include <errno.h>

static int write_report(struct export *export, struct pmc_report_options *options)
{
	const char *problem = NULL;
	int error;

	options->top = -1;
	error = pmc_report(export->profile, options, export->out, &problem);
	return error == export->out->error ? 0 : error;
}

int export_folded(struct export *export)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_FOLDED,
					      .by = PMC_BY_PATH,
					      .event = export->event,
					      .fold_samples = report_fold_counted,
					      .names_arg = export->names };

	return write_report(export, &options);
}

int export_csv(struct export *export)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_CSV };

	return write_report(export, &options);
}

int export_jsonl(struct export *export)
{
	struct pmc_report_options options = { .format = PMC_FORMAT_JSON_LINES };

	return write_report(export, &options);
}
