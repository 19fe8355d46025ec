/* SPDX-License-Identifier: MIT */
/* report.h - dumps as commands read them, and the names of their addresses. */
#pragma once

#include "tools/symbol/symbol.h"
#include "tools/view/report.h"

/* ---- inputs ------------------------------------------------------------------------------ */

/* Adds the frames of the inputs (tool_inputs_read()). Damaged ones are a warning while one is good.
 * 0, or the exit code with the error printed. */
int report_read(struct pmc_profile *profile, const char *const *files, unsigned n);
/* An input_reader of tools/cli/pmctl.h: adds the frames of one input. */
int report_read_one(void *profile, int fd, const char *name);
/* The keys of --by, ended by 0: the last one, PMC_BY_NONE without any, and those before it. 0, or
 * the exit code with the error printed. */
int report_set_keys(const unsigned char *keys, unsigned char *outer, enum pmc_fold_by *by);
/* cmd_report() of a recording that is not kept. keep_hint: how to keep it. */
int report_recording(int argc, char **argv, const char *keep_hint);
/* -o: NULL: none. 0, or the exit code with the error printed: it is an input. */
int report_check_output(const char *output, const char *const *files, unsigned n);

/* ---- names of samples -------------------------------------------------------------------- */

struct report_names;

/* Where names come from: files below `root`, NULL is this machine's. The rows of a fold are
 * good as long as the names. */
struct report_names *report_names_new(const char *root);
/* Before another profile is named, whose warnings are those of all: the one before may be gone. */
void report_names_next(struct report_names *names);
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

/* ---- start routines ---------------------------------------------------------------------- */

/* Gives every thread of the profile whose start routine has no symbol one from its module's
 * file, where that is on this machine and has a function starting just there. Files that are
 * missing or no ELF change nothing. Threads of other hosts are left alone: their files of the
 * same path may differ. Modules get the path of
 * their file in place of a link to it, where that is here. */
void symbols_resolve(struct pmc_profile *profile);

/* Whether a file has not changed since start_ns (CLOCK_MONOTONIC; 0: unknown, and false). */
bool symbols_unchanged(const char *path, uint64_t start_ns);
