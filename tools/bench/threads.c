/* SPDX-License-Identifier: MIT */
/*
 * threads.c - further runs under the agent: the CPU time and events of each thread name, for
 * --per-thread, and events that the agent alone can count.
 *
 * They are separate from the measured runs, which have no agent. Names that differ only in digits
 * are one name (db-pool-1, db-pool-2: db-pool-*), as in reports.
 */
#include "tools/rows/fold.h"
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_RUNS 20

struct under_agent {
	char dir[64], dump[80];
	char *environ[5];
	char preload[2 * PATH_MAX], out[96], events[4096];
};

static int set_up(struct under_agent *agent)
{
	const char *old = getenv(bench_preload.variable), *tmp = getenv("TMPDIR");
	char dir[PATH_MAX], found[PATH_MAX];

	if (!tool_find_agent(dir, found))
		return tool_fail(EXIT_FAIL,
				 "cannot find the agent: no %s in %s or %s/../lib/pmc; install "
				 "pmctl whole",
				 bench_preload.library, dir, dir);
	snprintf(agent->dir, sizeof(agent->dir), "%s/pmc-bench-XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(agent->dir))
		return tool_fail(EXIT_FAIL, "cannot make a directory for dumps: %s",
				 strerror(errno));
	snprintf(agent->dump, sizeof(agent->dump), "%s/run.pmc", agent->dir);
	snprintf(agent->preload, sizeof(agent->preload), "%s=%s%s%s", bench_preload.variable, found,
		 old && *old ? ":" : "", old ? old : "");
	snprintf(agent->out, sizeof(agent->out), "PMC_OUT=%s", agent->dump);
	agent->environ[0] = agent->preload;
	agent->environ[1] = agent->out;
	agent->environ[2] = agent->events;
	agent->environ[3] = (char *)"PMC_REPORT=off";
	return 0;
}

static int set_events(struct bench *bench, struct under_agent *agent, size_t r)
{
	const char *events = bench_agent_events(bench, r);

	if (events && snprintf(agent->events, sizeof(agent->events), "PMC_EVENTS=%s", events) <
			      (int)sizeof(agent->events))
		return 0;
	return tool_fail(EXIT_FAIL, "the list of events is too long");
}

/* The thread's values in run r of the command; new threads are added. */
static double *values_of(struct bench *bench, const struct bench_command *command, const char *name,
			 size_t r)
{
	const size_t columns = bench_thread_columns(bench);
	struct bench_thread *thread = bench->threads;
	double **values;

	while (thread && strcmp(thread->name, name))
		thread = thread->next;
	if (!thread) {
		thread = pmc_arena_alloc(&bench->arena,
					 sizeof(*thread) + bench->n_commands * sizeof(double *));
		if (!thread || !(thread->name = pmc_arena_strdup(&bench->arena, name)))
			return NULL;
		*bench->last_thread = thread;
		bench->last_thread = &thread->next;
	}
	values = &thread->values[command - bench->commands];
	if (!*values)
		*values = pmc_arena_alloc(&bench->arena, MOST_RUNS * columns * sizeof(double));
	return *values ? *values + r * columns : NULL;
}

static const struct pmc_fold_stat *event_of(const struct pmc_fold *fold,
					    const struct pmc_fold_row *row, const char *name)
{
	for (unsigned i = 0; i < fold->u->set.count; i++)
		if (!strcmp(fold->u->set.events[i].name, name))
			return &row->events[i];
	return NULL;
}

static int take_rows(struct bench *bench, const struct bench_command *command,
		     const struct pmc_fold *fold, size_t r)
{
	for (const struct pmc_fold_row *row = fold->rows; row; row = row->next) {
		double *values = values_of(bench, command, row->label, r);

		if (!values)
			return -ENOMEM;
		values[0] = (double)row->cpu.sum;
		for (unsigned c = 1; c < bench_thread_columns(bench); c++) {
			const struct pmc_fold_stat *stat =
				event_of(fold, row, bench_thread_column(bench, c));

			values[c] = stat && stat->rows ? (double)stat->sum : NAN;
		}
	}
	return 0;
}

/* The sums of events that the agent alone can count. */
static void take_events(struct bench *bench, struct bench_command *command,
			const struct pmc_fold *fold, size_t r)
{
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		struct pmc_planned *event =
			&bench->plan.events[bench->measures[m].event - bench->plan.events];
		double sum = fold->rows ? 0 : NAN;

		if (bench->measures[m].pass != r % bench->passes)
			continue;
		for (const struct pmc_fold_row *row = fold->rows; row; row = row->next) {
			const struct pmc_fold_stat *stat = event_of(fold, row, event->event.name);

			/* A sum that lacks a thread is none. */
			sum += stat && stat->rows == row->rows ? (double)stat->sum : NAN;
			if (!stat || stat->rows == row->rows)
				continue;
			event->state = stat->rows ? PMC_PARTIAL : stat->why;
			event->error = (int)stat->error;
		}
		command->runs[r].values[m] = sum;
	}
}

static int read_dump(struct bench *bench, struct bench_command *command, const char *path, size_t r)
{
	const struct pmc_profile_options options = { .timeline = false };
	struct pmc_profile profile;
	struct pmc_arena arena = { 0 };
	struct pmc_thread_buf buf;
	struct pmc_union u;
	struct pmc_fold fold;
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	pmc_profile_init(&profile, &options);
	error = pmc_profile_add_fd(&profile, fd);
	close(fd);
	if (!error) {
		pmc_profile_finish(&profile);
		pmc_union_init(&u, &arena);
		for (unsigned s = 0; s < profile.n_sets; s++)
			pmc_union_add(&u, profile.sets[s], true);
		pmc_fold_begin(&fold, &u, PMC_BY_POOL);
		for (uint64_t t = 0; t < profile.n_threads; t++)
			pmc_fold_thread(&fold,
					pmc_profile_thread(&profile, profile.threads[t], &buf));
		pmc_fold_end(&fold);
		if (bench->per_thread)
			error = take_rows(bench, command, &fold, r);
		if (!error && bench->by_agent)
			take_events(bench, command, &fold, r);
	}
	pmc_arena_free(&arena);
	pmc_profile_free(&profile);
	return error;
}

static int run_once(struct bench *bench, struct bench_command *command, struct bench_runner *runner,
		    struct under_agent *agent, size_t r)
{
	struct spawn_result result;
	int code = bench_shell("--prepare", bench->prepare), error;

	if (code || bench_signalled())
		return code;
	code = set_events(bench, agent, r);
	if (code)
		return code;
	unlink(agent->dump);
	code = bench_runner_run(bench, command, runner, 0, &result, NULL);
	if (!code)
		code = bench_judge(bench, command, &result, r, true);
	if (code || bench_signalled() || result.stopped == SPAWN_KILLED)
		return code;
	error = read_dump(bench, command, agent->dump, r);
	if (error == -ENOENT)
		return tool_fail(EXIT_FAIL,
				 "'%.200s' left no dump under the agent: %s; pmctl run says more",
				 command->text, bench_preload.unable);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot read the dump of '%.200s': %s", command->text,
				 strerror(-error));
	command->thread_runs = r + 1;
	return 0;
}

int bench_threads(struct bench *bench)
{
	unsigned *order = calloc(bench->n_commands, sizeof(*order));
	struct bench_runner *runner = NULL;
	struct under_agent agent = { .dir = "" };
	size_t rounds =
		bench->commands[0].n_runs < MOST_RUNS ? bench->commands[0].n_runs : MOST_RUNS;
	int code = order ? set_up(&agent) : tool_fail(EXIT_FAIL, "out of memory");

	if (!code)
		code = set_events(bench, &agent, 0);
	if (!code)
		code = bench_runner_start(bench, agent.environ, &runner);
	for (size_t r = 0; r < rounds && !code; r++) {
		bench_shuffle(order, 0, bench->n_commands);
		for (unsigned i = 0; i < bench->n_commands && !code && !bench_signalled(); i++)
			code = run_once(bench, &bench->commands[order[i]], runner, &agent, r);
	}
	bench_runner_stop(runner);
	free(order);
	unlink(agent.dump);
	if (agent.dir[0])
		rmdir(agent.dir);
	bench->interrupted = bench_signalled();
	return code;
}
