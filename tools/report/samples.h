/* SPDX-License-Identifier: MIT */
/* samples.h - samples by function, line or call path, with their names. */
#ifndef PMC_TOOLS_REPORT_SAMPLES_H
#define PMC_TOOLS_REPORT_SAMPLES_H

#include "tools/view/report.h"

struct report_names;

/* Where names come from: files below `root`, NULL is this machine's. The rows of a fold are
 * good as long as the names. */
struct report_names *report_names_new(const char *root);
void report_names_free(struct report_names *names);
/* For struct pmc_report_options; `names` is a struct report_names. */
void report_fold_samples(struct pmc_sample_fold *fold, void *names);
/* The same for paths that are shown with the number of their samples: warns where these do not all
 * stand for as much of the event. */
void report_fold_counted(struct pmc_sample_fold *fold, void *names);
/* The functions of a stack, the innermost first, up to main: "grow < accept < main". */
const char *report_path_of(const struct pmc_p_stack *stack, void *names);
/* Whether a dump has addresses in stacks, or start routines without names. */
bool report_wants_names(const struct pmc_profile *profile);
/* Writes NAMES frames for the addresses in the stacks of a dump and for its start routines whose
 * names are known here, but for those that it has as good. NULL, or why some or all are missing. */
const char *report_keep_names(const struct pmc_profile *profile, int fd);
#define REPORT_NAMES_FIX                                                                           \
	"--symfs names a directory with the measured files, pmctl merge --names keeps names in a " \
	"dump"
/* Says on stderr which modules have no names, why, and the fix. */
void report_names_warn(struct report_names *names, const char *fix);

#endif
