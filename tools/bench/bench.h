/* SPDX-License-Identifier: MIT */
/*
 * bench.h - pmctl bench: commands, their runs, what was measured, and what each OS does for it.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/plan/plan.h"
#include "tools/bench/helper/protocol.h"
#include "lib/bench/statistics.h"
#include "tools/cli/rows.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum bench_unit { BENCH_NS, BENCH_BYTES, BENCH_COUNT };

struct bench_measure {
	const char *name; /* in tables */
	const char *key;  /* in JSON and CSV */
	enum bench_unit unit;
	const struct pmc_planned *event; /* NULL: of the operating system */
};

/* The first measurements; events follow. */
enum { BENCH_WALL, BENCH_CPU, BENCH_USER, BENCH_SYS, BENCH_RSS, BENCH_EVENTS };

/* ---- commands ----------------------------------------------------------------------------- */
struct bench_run {
	int status;	/* as of wait4(2) */
	double *values; /* of each measurement; NAN: none */
};

/* -L: its values replace {NAME} in commands. */
struct bench_parameter {
	const char *name, *token; /* token: {NAME} */
	const char **values;
	unsigned n;
	bool used; /* by a command */
};

struct bench_command {
	const char *text;	 /* as shown */
	const char *form;	 /* the same with {NAME} of the first parameter */
	const char *prepare;	 /* --prepare for it; NULL: none */
	const char **values;	 /* of each parameter; NULL: the command does not have it */
	char **argv;		 /* argv[0] as given */
	char path[PATH_MAX];	 /* what is executed */
	uint32_t first, n_words; /* of pmc-spawn's arguments */
	struct bench_run *runs;
	size_t n_runs, room;
	uint64_t failures; /* of all runs, warm-ups too */
	size_t thread_runs;
	bool scaled[PMC_EVENTS_MAX]; /* events of which a run was multiplexed */
};

/* A thread name's CPU time and events in runs under the agent. */
struct bench_thread {
	const char *name;
	struct bench_thread *next;
	/* Of each command: value c of run r is [r * columns + c], where c is 0 for CPU time, and
	 * else an event. NULL: it does not have the thread. */
	double *values[];
};

struct bench {
	struct pmc_arena arena;
	struct bench_command *commands;
	unsigned n_commands;
	struct bench_command *baseline; /* NULL: the first command is the reference */
	unsigned n_baseline;
	/* Work of pmctl's own between the runs, by which sessions are compared; without a path:
	 * none. */
	struct bench_command machine;
	double baseline_speed[2]; /* medians of its wall and CPU time; 0 or NAN: unknown */

	/* flags */
	const char *events, *prepare, *setup, *cleanup, *input, *output, *baseline_file;
	uint64_t duration_ns, timeout_ns;
	uint64_t runs, warmups; /* runs 0: as many as the duration allows */
	bool sequential, shell, ignore_failure, per_thread;
	double fail_above; /* percent; negative: not asked for */
	const char **fail_on, **scans;
	unsigned n_fail_on, n_scans;
	struct tool_rows rows, beside[2]; /* the output; files of JSON and of the page */
	enum { BENCH_AUTO, BENCH_ALWAYS, BENCH_NEVER } color;
	const char **words; /* commands as strings */
	unsigned n_words;
	char **tail; /* the command after "--" */
	struct bench_parameter *parameters;
	unsigned n_parameters;
	uint64_t n_combinations; /* of their values */

	int io[3];	    /* the commands' standard descriptors; -1: pmctl's own */
	char **environment; /* of shell lines; NULL: pmctl's own */

	/* counters */
	struct pmc_plan plan;
	unsigned passes;
	unsigned pass[PMC_EVENTS_MAX]; /* of each event of the plan: see bench_counts() */
	bool by_agent; /* events with a pass are counted by the agent, in runs of its own */
	struct bench_measure *measures;
	unsigned n_measures;
	double *limits;	    /* of each: the most that it may be larger, in percent; NAN: none */
	double shell_ns[4]; /* wall, CPU, user and system time of an empty shell; subtracted */

	/* where it stands */
	bool interrupted;
	size_t n_runs; /* of all commands */
	struct bench_thread *threads, **last_thread;
};

#define BENCH_EVERY_PASS ((unsigned)-1)
/* Whether run r counts the event. */
static inline bool bench_counts(const struct bench *bench, const struct pmc_planned *event,
				size_t r)
{
	const unsigned pass = bench->pass[event - bench->plan.events];

	return pass == BENCH_EVERY_PASS || pass == r % bench->passes;
}

/* Functions that return an int return 0, or the exit code with the error printed. */

/* ---- scan.c ------------------------------------------------------------------------------- */
/* Makes bench->parameters of the flags -L. */
int bench_read_scans(struct bench *bench);
/* Values of each parameter for the k-th combination of those that the command has, with its words
 * or --prepare; NULL: there are no more. */
const char **bench_values(struct bench *bench, char *const *words, uint64_t k);
/* The text with {NAME} replaced. */
char *bench_fill(struct bench *bench, const char *text, const char *const *values);
/* A command's text with " (NAME={NAME})" for each parameter that only --prepare has. */
const char *bench_form(struct bench *bench, const char *text, char *const *words);
/* Fails if a parameter is in no command, or where it has no value. */
int bench_check_scans(const struct bench *bench);
/* Whether {NAME} is left in a command's text. */
bool bench_has_token(const char *text);

/* ---- measure.c ---------------------------------------------------------------------------- */
int bench_measure(struct bench *bench);
/* SIGINT, SIGTERM and SIGHUP are looked at between and during runs from now on; whether one has
 * come; ends as it would have ended pmctl. */
void bench_catch_signals(void);
bool bench_signalled(void);
void bench_raise_again(void);
/* Of signals: those that are caught; the mask that commands get; the mask for waits. */
extern struct bench_masks {
	sigset_t caught, started, waiting;
} bench_masks;
/* Until the process has ended; it is not reaped. A signal to pmctl, or the end of its time (0:
 * none), sends it `sig`. group: to its process group too. */
enum spawn_stop bench_wait(pid_t pid, uint64_t timeout_ns, int sig, bool group);

/* ---- results.c ---------------------------------------------------------------------------- */
extern const struct table_column bench_columns[9];
/* A measurement over the runs that have it. */
struct bench_row {
	struct bench_summary summary;
	struct bench_delta delta; /* from the reference */
};

/* A measurement of a command; of one of its threads if that is not NULL: a column, and runs without
 * the thread count as 0. `reference`: NULL if there is nothing to compare with. */
void bench_row_of(const struct bench *bench, const struct bench_command *command,
		  const struct bench_command *reference, const struct bench_thread *thread,
		  unsigned measure, struct bench_row *row);
/* The unit of the measurement in tables and plots, and decimals for values up to `most`. */
void bench_scale_of(const struct bench *bench, unsigned measure, double most,
		    struct pmc_scale *scale);
/* The reference of the command; NULL: it is the reference itself. */
const struct bench_command *bench_reference(const struct bench *bench,
					    const struct bench_command *command);
/* Columns of a thread: CPU time, and the events. */
static inline unsigned bench_thread_columns(const struct bench *bench)
{
	return 1 + bench->n_measures - BENCH_EVENTS;
}
static inline const char *bench_thread_column(const struct bench *bench, unsigned column)
{
	return column ? bench->measures[BENCH_EVENTS + column - 1].event->event.name : "cpu_ns";
}
/* Whether another column or measurement has the name of parameter p. */
bool bench_has_name(const struct bench *bench, unsigned p);
void bench_write_json(struct bench *bench, struct pmc_out *out);
/* All measurements as a table of HTML. */
void bench_put_table(struct bench *bench, struct pmc_out *out);
/* Prints to bench->rows, which is open; without runs it only checks the choice of rows. */
int bench_write(struct bench *bench);
void bench_write_page(struct bench *bench, struct pmc_out *out);

/* ---- of each OS, in linux/ and darwin/ ------------------------------------------------------ */
/* Makes bench->plan of the events, and their passes. */
int bench_make_plan(struct bench *bench, const struct pmc_events *events);
/* Events of the agent in its run r. */
const char *bench_agent_events(struct bench *bench, size_t r);
/* Beside the table: what events are counted of; NULL: the command and all that it starts. */
extern const char *const bench_remark;
/* The reason of an event without a value. */
void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap);
/* Runs of an earlier bench, from its JSON. */
int bench_read_baseline(struct bench *bench);

struct bench_runner;
int bench_runner_start(struct bench *bench, struct bench_runner **runner);
/* Runs a command once; an interrupt kills it. Events of the pass that are counted from outside go
 * to `values`, unless it is NULL. */
int bench_runner_run(const struct bench *bench, struct bench_command *command,
		     struct bench_runner *runner, unsigned pass, struct spawn_result *result,
		     double *values);
/* NULL: nothing. */
void bench_runner_stop(struct bench_runner *runner);
