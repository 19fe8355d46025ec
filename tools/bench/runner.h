/* SPDX-License-Identifier: MIT */
/*
 * runner.h - what each OS does for a bench: events, processes, signals, baselines.
 *
 * Implemented in linux/ and darwin/. Private to this folder.
 */
#ifndef PMC_TOOLS_BENCH_RUNNER_H
#define PMC_TOOLS_BENCH_RUNNER_H

#include "tools/bench/bench.h"

/* ---- events ------------------------------------------------------------------------------- */
/* Makes bench->plan of the events, and the number of passes. 0, or the exit code of an error that
 * has been printed. */
int bench_make_plan(struct bench *bench, const struct pmc_events *events);
/* Of a counted event. */
unsigned bench_pass_of(const struct bench *bench, const struct pmc_planned *event);
/* Events of the agent in its run r. NULL: out of memory. */
const char *bench_agent_events(struct bench *bench, size_t r);
/* Beside the table: what events are counted of; NULL: the command and all that it starts. */
extern const char *const bench_remark;
/* The reason of an event without a value. */
void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap);

/* ---- runs --------------------------------------------------------------------------------- */
struct bench_runner;

/* `extra`: NAME=VALUE strings for the commands' environment, NULL at the end; may be NULL. 0, or
 * the exit code of an error that has been printed: *runner is NULL then. */
int bench_runner_start(struct bench *bench, char *const *extra, struct bench_runner **runner);
/* Runs a command once; an interrupt kills it. Events of the pass that are counted from outside go
 * to `values`, unless it is NULL. 0, or the exit code of an error that has been printed. */
int bench_runner_run(const struct bench *bench, struct bench_command *command,
		     struct bench_runner *runner, unsigned pass, struct spawn_result *result,
		     double *values);
/* NULL: nothing. */
void bench_runner_stop(struct bench_runner *runner);
/* Runs a line by sh; a signal to pmctl ends it. 0 and *status, or an errno. */
int bench_line(const char *line, int *status);

/* How programs are told to load the agent, and which cannot. */
struct bench_preload {
	const char *variable, *library, *unable;
};
extern const struct bench_preload bench_preload;

/* ---- signals ------------------------------------------------------------------------------ */
/* SIGINT, SIGTERM and SIGHUP are looked at between and during runs from now on. */
void bench_catch_signals(void);
/* One has come since. */
bool bench_signalled(void);
/* Ends as the signal would have ended pmctl. */
void bench_raise_again(void);

/* Runs of an earlier bench, from its JSON. */
int bench_read_baseline(struct bench *bench);

#endif
