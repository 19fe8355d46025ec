/* SPDX-License-Identifier: MIT */
/* bench.h - pmctl bench: commands, their runs, and what was measured. Private to this folder. */
#ifndef PMC_TOOLS_BENCH_H
#define PMC_TOOLS_BENCH_H

#include "lib/base/out.h"
#include "lib/plan/plan.h"
#include "tools/bench/helper/protocol.h"
#include "tools/bench/statistics.h"
#include "tools/bench/units.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- measurements: rows of the table ----------------------------------------------------- */
struct bench_measure {
	const char *name; /* in tables and JSON */
	enum bench_unit unit;
	const struct pmc_planned *event; /* NULL: of the operating system */
	unsigned pass; /* of an event: the runs i with i % passes == pass have it */
};
#define BENCH_EVERY_PASS ((unsigned)-1)

/* The first measurements; events follow. */
enum { BENCH_WALL, BENCH_USER, BENCH_SYS, BENCH_RSS, BENCH_EVENTS };

/* ---- commands ----------------------------------------------------------------------------- */
struct bench_run {
	int status;	/* as of wait4(2) */
	double *values; /* of each measurement; NAN: none */
};

/* A thread name's CPU time and events in each run under the agent. */
struct bench_thread {
	const char *name;
	double *values; /* of run r and column c: [r * n_columns + c]; NAN: none */
	struct bench_thread *next;
};

struct bench_command {
	const char *text;	 /* as shown */
	char **argv;		 /* argv[0] as given */
	char path[4096];	 /* what is executed */
	uint32_t first, n_words; /* of pmc-spawn's arguments */
	struct bench_run *runs;
	size_t n_runs, room;
	uint64_t failures; /* of all runs, warm-ups too */
	struct bench_thread *threads;
	size_t thread_runs;
	bool scaled[PMC_EVENTS_MAX]; /* events of which a run was multiplexed */
};

enum bench_format { BENCH_TABLE, BENCH_JSON, BENCH_CSV, BENCH_MARKDOWN };

struct bench {
	struct pmc_arena arena;
	struct bench_command *commands;
	unsigned n_commands;
	struct bench_command
		*baseline; /* of --baseline; NULL: the first command is the reference */
	unsigned n_baseline;

	/* flags */
	const char *events, *prepare, *setup, *cleanup, *input, *output, *baseline_file;
	uint64_t duration_ns, timeout_ns;
	uint64_t runs, warmups; /* runs 0: as many as the duration allows */
	bool sequential, shell, ignore_failure, per_thread;
	double fail_above; /* percent; negative: not asked for */
	enum bench_format format;
	enum { BENCH_AUTO, BENCH_ALWAYS, BENCH_NEVER } color;
	const char **words; /* commands as strings */
	unsigned n_words;
	char **tail; /* the command after "--" */

	int io[3]; /* the commands' standard descriptors; -1: pmctl's own */

	/* counters */
	struct pmc_plan plan;
	unsigned passes;
	bool by_agent; /* events with a pass are counted by the agent, in runs of its own */
	struct bench_measure *measures;
	unsigned n_measures;
	double shell_ns[3]; /* wall, user and system time of an empty shell; subtracted */

	/* where it stands */
	bool interrupted;
	unsigned n_thread_columns; /* CPU time, then events */
	const char **thread_columns;
};

/* ---- the parts: 0, or the exit code with the error printed --------------------------------- */
int bench_flags(struct bench *bench, int argc, char **argv);
/* Adds a command: the words of a string, or a shell line; or an argv. */
int bench_add_string(struct bench *bench, const char *text);
int bench_add_argv(struct bench *bench, char **argv);

/* The events of the bench as measurements and passes. */
int bench_plan(struct bench *bench);
/* Measures every command. */
int bench_measure(struct bench *bench);
/* The commands from..to of the next round, in random order. */
void bench_shuffle(unsigned *order, unsigned from, unsigned to);
/* Further runs under the agent, for --per-thread and for events that it alone can count. */
int bench_threads(struct bench *bench);

/* Opens --input and --output into bench->io. */
int bench_open_files(struct bench *bench);

/* Runs a line of --prepare, --setup or --cleanup by sh. */
int bench_shell(const char *flag, const char *line);

/* 0: the run counts. Else the exit code, with the failure printed. */
int bench_judge(struct bench *bench, struct bench_command *command,
		const struct spawn_result *result, size_t run, bool under_agent);

/* ---- results ------------------------------------------------------------------------------ */
/* A measurement over the runs that have it. */
struct bench_row {
	struct bench_summary summary;
	struct bench_delta delta; /* from the reference */
};

/* `reference`: NULL if there is nothing to compare with. */
void bench_row_of(const struct bench *bench, const struct bench_command *command,
		  const struct bench_command *reference, unsigned measure, struct bench_row *row);
/* What the command is compared with; NULL: it is the reference. */
const struct bench_command *bench_reference(const struct bench *bench,
					    const struct bench_command *command);
/* A thread's column over its runs; runs without the thread count as 0. */
void bench_thread_row(const struct bench *bench, const struct bench_command *command,
		      const struct bench_command *reference, const char *name, unsigned column,
		      struct bench_row *row);
bool bench_regressed(const struct bench *bench);

/* columns: width to fit into; 0: any. */
/* On a terminal, or as Markdown. */
void bench_write_table(const struct bench *bench, struct pmc_out *out, bool color, int columns);
/* Under tables. */
void bench_write_delta(const struct bench *bench, struct pmc_out *out, int columns);
void bench_write_summary(const struct bench *bench, struct pmc_out *out, int columns);
void bench_write_notes(const struct bench *bench, struct pmc_out *out, int columns);
void bench_write_json(const struct bench *bench, struct pmc_out *out);
void bench_write_csv(const struct bench *bench, struct pmc_out *out);

#endif
