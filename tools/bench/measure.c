/* SPDX-License-Identifier: MIT */
/*
 * measure.c - the runs of a bench: warm-ups, then all commands in turn, until their time is over.
 *
 * Commands take turns, so that a machine that gets slower or faster meanwhile changes all of them
 * alike. Each round has another order: a command that always came second would always find what the
 * first leaves behind, such as the other CPU where runs alternate between two.
 */
#include "lib/base/clock.h"
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/list.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAST_RUNS 3
#define MOST_RUNS  10000
#define SHELL_RUNS 20

/* ---- progress on a terminal --------------------------------------------------------------- */

static void show_progress(const struct bench *bench, uint64_t done, uint64_t spent_ns,
			  uint64_t end_ns)
{
	static const char bar[] = "########################################"
				  "........................................";
	static uint64_t shown_ns;
	uint64_t now = pmc_now_ns();
	double share = end_ns ? (double)spent_ns / (double)end_ns :
				(double)done / (double)(bench->runs ? bench->runs : 1);

	if (!isatty(STDERR_FILENO) || now - shown_ns < 100000000)
		return;
	shown_ns = now;
	fprintf(stderr, "\r [%.40s] %llu runs", bar + 40 - (int)(fmin(share, 1) * 40),
		(unsigned long long)done);
	if (done && share > 0 && share < 1)
		fprintf(stderr, ", %.0f s left ", (double)spent_ns / 1e9 * (1 - share) / share);
	fflush(stderr);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- one run ------------------------------------------------------------------------------ */

static struct bench_run *new_run(struct bench *bench, struct bench_command *command)
{
	struct bench_run *run, *runs;

	runs = tool_list_grow(command->runs, command->n_runs, &command->room, sizeof(*runs));
	if (!runs)
		return NULL;
	command->runs = runs;
	run = &command->runs[command->n_runs];
	run->values = pmc_arena_alloc(&bench->arena, bench->n_measures * sizeof(*run->values));
	for (unsigned m = 0; run->values && m < bench->n_measures; m++)
		run->values[m] = NAN;
	return run->values ? run : NULL;
}

int bench_judge(struct bench *bench, struct bench_command *command,
		const struct spawn_result *result, size_t run, bool under_agent)
{
	char how[64];

	if (result->error)
		return tool_fail(result->error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN,
				 "cannot run %s: %s%s", command->path, strerror(result->error),
				 result->error == ENOEXEC ? "; give it a #! line, or add --shell" :
							    "");
	if (result->stopped == SPAWN_KILLED || (!result->status && !result->stopped))
		return 0;
	command->failures++;
	if (bench->ignore_failure)
		return 0;
	if (result->stopped == SPAWN_TIMED_OUT)
		snprintf(how, sizeof(how), "exceeded --timeout and was killed");
	else if (WIFSIGNALED(result->status))
		snprintf(how, sizeof(how), "was killed by signal %d (%s)", WTERMSIG(result->status),
			 strsignal(WTERMSIG(result->status)));
	else
		snprintf(how, sizeof(how), "exited with status %d", WEXITSTATUS(result->status));
	return tool_fail(EXIT_FAIL,
			 "run %zu of '%.200s'%s %s; --output inherit shows its output, "
			 "--ignore-failure measures it all the same",
			 run + 1, command->text, under_agent ? " under the agent" : "", how);
}

/* `keep`: no warm-up. */
static int run_once(struct bench *bench, struct bench_command *command, struct bench_runner *runner,
		    bool keep)
{
	unsigned pass = (unsigned)(command->n_runs % bench->passes);
	struct bench_run *run = new_run(bench, command);
	struct spawn_result result;
	int code;

	if (!run)
		return tool_fail(EXIT_FAIL, "out of memory");
	code = bench_shell("--prepare", bench->prepare);
	if (code || bench_signalled())
		return code;
	code = bench_runner_run(bench, command, runner, pass, &result, run->values);
	if (code)
		return code;
	code = bench_judge(bench, command, &result, command->n_runs, false);
	if (code || !keep || result.stopped == SPAWN_KILLED || bench_signalled())
		return code;
	run->status = result.status;
	/* Negative for a run that was shorter than the mean shell: means stay right. */
	run->values[BENCH_WALL] = (double)result.wall_ns - bench->shell_ns[0];
	run->values[BENCH_USER] = (double)result.user_ns - bench->shell_ns[1];
	run->values[BENCH_SYS] = (double)result.sys_ns - bench->shell_ns[2];
	run->values[BENCH_RSS] = (double)result.peak_rss_bytes;
	command->n_runs++;
	return 0;
}

/* ---- the schedule ------------------------------------------------------------------------- */

void bench_shuffle(unsigned *order, unsigned from, unsigned to)
{
	static uint64_t state;

	state = state ? state : pmc_now_ns();
	for (unsigned i = 0; i < to - from; i++) {
		unsigned k;

		/* Of a linear congruential generator only the high bits are random. */
		state = state * 6364136223846793005u + 1442695040888963407u;
		k = (unsigned)(state >> 33) % (i + 1);
		order[i] = order[k];
		order[k] = from + i;
	}
}

/* Runs the commands from..to in turn: `warmups` rounds, then measured ones. */
static int run_rounds(struct bench *bench, struct bench_runner *runner, unsigned from, unsigned to)
{
	uint64_t least = bench->runs ? bench->runs : LEAST_RUNS * (uint64_t)bench->passes;
	uint64_t most = bench->runs ? bench->runs : MOST_RUNS;
	uint64_t limit = bench->runs ? 0 : bench->duration_ns * (to - from);
	uint64_t begin = pmc_now_ns(), spent = 0;
	unsigned *order = calloc(to - from, sizeof(*order));
	int code = order ? 0 : tool_fail(EXIT_FAIL, "out of memory");

	for (uint64_t round = 0; round < bench->warmups && !code && !bench_signalled(); round++)
		for (unsigned c = from; c < to && !code && !bench_signalled(); c++)
			code = run_once(bench, &bench->commands[c], runner, false);
	begin = pmc_now_ns();
	for (uint64_t round = 0; round < most && (round < least || spent < limit); round++) {
		if (code || bench_signalled())
			break;
		bench_shuffle(order, from, to);
		for (unsigned i = 0; i < to - from && !code && !bench_signalled(); i++) {
			code = run_once(bench, &bench->commands[order[i]], runner, true);
			spent = pmc_now_ns() - begin;
			show_progress(bench, round + 1, spent, limit);
		}
	}
	free(order);
	return code;
}

/* Each run of a shell line includes the time of an empty shell. */
static int measure_shell(struct bench *bench)
{
	struct bench shell = *bench;
	struct bench_command command = { .text = "" };
	struct bench_runner *runner;
	struct bench_row row;
	int code;

	shell.commands = &command;
	shell.n_commands = 0;
	shell.runs = SHELL_RUNS;
	shell.warmups = 3;
	shell.prepare = NULL;
	shell.n_measures = BENCH_EVENTS;
	shell.plan.groups = 0;
	shell.passes = 1;
	code = bench_add_string(&shell, "");
	if (!code)
		code = bench_runner_start(&shell, NULL, &runner);
	if (code)
		return code;
	code = run_rounds(&shell, runner, 0, 1);
	bench_runner_stop(runner);
	for (unsigned m = BENCH_WALL; m <= BENCH_SYS; m++) {
		bench_row_of(bench, &command, NULL, NULL, m, &row);
		bench->shell_ns[m] = row.summary.mean;
	}
	bench->arena = shell.arena;
	free(command.runs);
	return code;
}

/* Commands from..to with --setup before and --cleanup after them. */
static int measure_commands(struct bench *bench, struct bench_runner *runner, unsigned from,
			    unsigned to)
{
	int code = bench_shell("--setup", bench->setup), after;

	if (!code && !bench_signalled())
		code = run_rounds(bench, runner, from, to);
	after = bench_shell("--cleanup", bench->cleanup);
	return code ? code : after;
}

int bench_measure(struct bench *bench)
{
	struct bench_runner *runner = NULL;
	int code = bench->shell ? measure_shell(bench) : 0;

	if (!code)
		code = bench_runner_start(bench, NULL, &runner);
	for (unsigned c = 0; c < bench->n_commands && !code && !bench_signalled();
	     c += bench->sequential ? 1 : bench->n_commands)
		code = measure_commands(bench, runner, c,
					bench->sequential ? c + 1 : bench->n_commands);
	bench_runner_stop(runner);
	clear_progress();
	bench->interrupted = bench_signalled();
	return code;
}
