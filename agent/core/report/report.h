/* SPDX-License-Identifier: MIT */
/*
 * report.h - a profile as a table, JSON or CSV. The exit report and `pmctl report` are this.
 *
 * No stdio, no malloc (arena), no locale: safe in a host process at exit.
 */
#ifndef PMC_CORE_REPORT_REPORT_H
#define PMC_CORE_REPORT_REPORT_H

#include "agent/core/base/advice.h"
#include "agent/core/base/out.h"
#include "agent/core/profile/profile.h"

enum pmc_report_format { PMC_FORMAT_TABLE, PMC_FORMAT_JSON, PMC_FORMAT_CSV };

enum pmc_report_by {
	PMC_BY_NONE = 0, /* a row per thread, surplus rows folded by name pattern (table) */
	PMC_BY_THREAD,
	PMC_BY_NAME,
	PMC_BY_START,
	PMC_BY_PROCESS,
	PMC_BY_EXE,
	PMC_BY_HOST,
	PMC_BY_RANK,
	PMC_BY_REGION, /* the groups are regions, their rows what a thread did in one */
};

struct pmc_report_options {
	enum pmc_report_format format;
	enum pmc_report_by by;
	const char *sort;          /* column; NULL: CPU time */
	const char *const *where;  /* "COLUMN=GLOB", all must match */
	unsigned n_where;
	int top;                   /* rows shown; -1: default (20 in a table, all else); 0: all */
	bool summary;              /* totals and ledger without thread rows */
	bool wide;                 /* every column, however wide */
	bool color;
	bool timeline;             /* a line per snapshot instead */
	bool only_first;           /* thread rows of the first process only, children in a footer */
	const char *keep_hint;     /* how to keep this, for the last line; NULL: none */
	const struct pmc_here *here; /* where it was measured, if that is here and now; else NULL */
};

/* 0, or -EINVAL with *problem naming the column or pattern that does not exist, -ENOMEM, or
 * out's error. Flushes out. */
int pmc_report(struct pmc_profile *profile, const struct pmc_report_options *options,
	       struct pmc_out *out, const char **problem);

/* One clause for a reason or errno ("its start was not seen", "too many open files"). */
const char *pmc_reason_text(uint32_t reason);
const char *pmc_state_name(enum pmc_state state);

#endif
