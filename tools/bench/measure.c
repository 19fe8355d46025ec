/* SPDX-License-Identifier: MIT */
/*
 * measure.c - the runs of a bench: warm-ups, then all commands in turn, until their time is over.
 *
 * Commands take turns, so that a machine that gets slower or faster meanwhile changes all of them
 * alike. Each round has another order: a command that always came second would always find what the
 * first leaves behind, such as the other CPU where runs alternate between two.
 *
 * SIGINT, SIGTERM and SIGHUP are blocked but while pmctl waits, and take effect at the end.
 */
#include "lib/base/clock.h"
#include "tools/bench/bench.h"
#include "tools/cli/progress.h"
#include "tools/rows/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAST_RUNS 3
#define MOST_RUNS  10000
#define SHELL_RUNS 20
#define AGENT_RUNS 20 /* at most */

/* ---- signals ------------------------------------------------------------------------------ */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { N_ENDS = sizeof(ends) / sizeof(ends[0]) };

struct bench_masks bench_masks;
static struct sigaction was[N_ENDS], child_was;
static volatile sig_atomic_t got;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		got = sig;
}

void bench_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&bench_masks.caught);
	for (unsigned i = 0; i < N_ENDS; i++) {
		if (sigaction(ends[i], NULL, &was[i]) != 0 || was[i].sa_handler == SIG_IGN)
			continue;
		sigaction(ends[i], &action, NULL);
		sigaddset(&bench_masks.caught, ends[i]);
	}
	/* With an inherited SIG_IGN the kernel would reap the commands. */
	sigaction(SIGCHLD, &action, &child_was);
	set = bench_masks.caught;
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &bench_masks.started);
	bench_masks.waiting = bench_masks.started;
	sigdelset(&bench_masks.waiting, SIGCHLD);
}

bool bench_signalled(void)
{
	bool any = got;
	sigset_t pending;

	sigpending(&pending);
	for (unsigned i = 0; i < N_ENDS; i++)
		any |= sigismember(&bench_masks.caught, ends[i]) == 1 &&
		       sigismember(&pending, ends[i]) == 1;
	return any;
}

void bench_raise_again(void)
{
	for (unsigned i = 0; i < N_ENDS; i++)
		if (sigismember(&bench_masks.caught, ends[i]) == 1)
			sigaction(ends[i], &was[i], NULL);
	sigaction(SIGCHLD, &child_was, NULL);
	sigprocmask(SIG_SETMASK, &bench_masks.started, NULL);
	if (got)
		raise(got);
}

/* ---- waiting ------------------------------------------------------------------------------ */

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		return errno != EINTR;
	return info.si_pid == pid;
}

enum spawn_stop bench_wait(pid_t pid, uint64_t timeout_ns, int sig, bool group)
{
	const uint64_t begin = pmc_now_ns();
	enum spawn_stop stop = SPAWN_ENDED;

	while (!has_ended(pid)) {
		const uint64_t spent = pmc_now_ns() - begin;
		const bool late = timeout_ns && spent >= timeout_ns;

		if (!stop && (late || bench_signalled())) {
			stop = late ? SPAWN_TIMED_OUT : SPAWN_KILLED;
			if (group)
				kill(-pid, sig);
			kill(pid, sig); /* it may have left its group */
		} else {
			const uint64_t ns = timeout_ns - spent;
			const struct timespec left = { (time_t)(ns / 1000000000u),
						       (long)(ns % 1000000000u) };

			pselect(0, NULL, NULL, NULL, stop || !timeout_ns ? NULL : &left,
				&bench_masks.waiting);
		}
	}
	return stop;
}

/* Runs a line of --prepare, --setup or --cleanup by sh; NULL: nothing. A signal to pmctl ends it.
 */
static int run_line(const struct bench *bench, const char *flag, const char *line)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
	/* Output of these commands must not mix with the results. */
	const int io[3] = { -1, STDERR_FILENO, -1 };
	const struct tool_spawn spawn = { .argv = argv,
					  .path = "/bin/sh",
					  .environment = bench->environment,
					  .io = io,
					  .mask = &bench_masks.started };
	int status = 0, error;
	pid_t pid;

	if (!line)
		return 0;
	tool_progress_hide();
	error = tool_spawn(&spawn, &pid);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot start %s '%s': %s", flag, line,
				 strerror(error));
	bench_wait(pid, 0, SIGTERM, false);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0 || bench_signalled())
		return 0;
	return tool_fail(EXIT_FAIL, "%s '%s' %s %d", flag, line,
			 WIFSIGNALED(status) ? "was killed by signal" : "failed with exit status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Unless commands may write to the terminal. */
static void begin_progress(const struct bench *bench, const char *what, uint64_t total)
{
	if (bench->io[2] >= 0)
		tool_progress_begin(what, total);
}

/* ---- one run ------------------------------------------------------------------------------ */

/* 0: the run counts. Else the exit code, with the failure printed. */
static int judge(struct bench *bench, struct bench_command *command,
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
			 "run %zu of '%.200s'%s %s; %s--output inherit shows its output, "
			 "--ignore-failure measures it all the same",
			 run + 1, command->text, under_agent ? " under the agent" : "", how,
			 bench_has_token(command->text) ? "-L NAME=A,B,C replaces {NAME}, " : "");
}

/* `keep`: no warm-up. */
static int run_once(struct bench *bench, struct bench_command *command, struct bench_runner *runner,
		    bool keep)
{
	unsigned pass = (unsigned)(command->n_runs % bench->passes);
	struct spawn_result result;
	struct bench_run *run;
	int code = run_line(bench, "--prepare", command->prepare);

	if (code || bench_signalled())
		return code;
	command->runs = pmc_arena_grow(&bench->arena, command->runs, command->n_runs,
				       &command->room, sizeof(*run));
	run = &command->runs[command->n_runs];
	run->values = pmc_arena_alloc(&bench->arena, bench->n_measures * sizeof(*run->values));
	for (unsigned m = 0; m < bench->n_measures; m++)
		run->values[m] = NAN;
	code = bench_runner_run(bench, command, runner, pass, &result, run->values);
	if (code)
		return code;
	code = judge(bench, command, &result, command->n_runs, false);
	if (code || !keep || result.stopped == SPAWN_KILLED || bench_signalled())
		return code;
	run->status = result.status;
	/* Negative for a run that was shorter than the mean shell: means stay right. */
	run->values[BENCH_WALL] = (double)result.wall_ns - bench->shell_ns[0];
	run->values[BENCH_CPU] = (double)(result.user_ns + result.sys_ns) - bench->shell_ns[1];
	run->values[BENCH_USER] = (double)result.user_ns - bench->shell_ns[2];
	run->values[BENCH_SYS] = (double)result.sys_ns - bench->shell_ns[3];
	run->values[BENCH_RSS] = (double)result.peak_rss_bytes;
	command->n_runs++;
	bench->n_runs++;
	return 0;
}

/* Work of pmctl's own: 40 times, then for a tenth of the time. */
static void run_machine(struct bench *bench, struct bench_runner *runner, uint64_t spent)
{
	struct bench_command *machine = &bench->machine;
	struct spawn_result result;
	struct bench_run *run;

	if (!machine->path[0] ||
	    (machine->n_runs >= 40 &&
	     machine->runs[0].values[BENCH_WALL] * (double)machine->n_runs * 10 > (double)spent) ||
	    bench_runner_run(bench, machine, runner, 0, &result, NULL) || result.error ||
	    result.status || result.stopped)
		return;
	machine->runs = pmc_arena_grow(&bench->arena, machine->runs, machine->n_runs,
				       &machine->room, sizeof(*run));
	run = &machine->runs[machine->n_runs++];
	run->values = pmc_arena_alloc(&bench->arena, BENCH_EVENTS * sizeof(*run->values));
	run->values[BENCH_WALL] = (double)result.wall_ns;
	run->values[BENCH_CPU] = (double)(result.user_ns + result.sys_ns);
}

/* ---- the schedule ------------------------------------------------------------------------- */

/* The commands from..to of the next round, in random order. */
static void shuffle(unsigned *order, unsigned from, unsigned to)
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
	const unsigned n = to - from;
	uint64_t least = bench->runs ? bench->runs : LEAST_RUNS * (uint64_t)bench->passes;
	uint64_t most = bench->runs ? bench->runs : MOST_RUNS;
	uint64_t limit = bench->runs ? 0 : bench->duration_ns * n;
	uint64_t begin, spent = 0;
	unsigned *order = pmc_arena_alloc(&bench->arena, n * sizeof(*order));
	double share;
	int code = 0;

	begin_progress(bench, "warming up", bench->warmups * n);
	for (uint64_t i = 0; i < bench->warmups * n && !code && !bench_signalled(); i++) {
		code = run_once(bench, &bench->commands[from + i % n], runner, false);
		tool_progress_add(1);
	}
	tool_progress_end();
	begin_progress(bench, "measuring", 1000000);
	begin = pmc_now_ns();
	for (uint64_t i = 0; !code && !bench_signalled(); i++) {
		if (i % n == 0 && (i / n == most || (i / n >= least && spent >= limit)))
			break;
		if (i % n == 0)
			shuffle(order, from, to);
		code = run_once(bench, &bench->commands[order[i % n]], runner, true);
		spent = pmc_now_ns() - begin;
		if (i % n == n - 1 && !code && !bench_signalled())
			run_machine(bench, runner, spent);
		share = (double)(i + 1) / (double)(least * n);
		if (limit)
			share = fmin(share, (double)spent / (double)limit);
		tool_progress_step((uint64_t)(share * 1e6));
	}
	tool_progress_end();
	return code;
}

/* Each run of a shell line includes the time of an empty shell. */
static int measure_shell(struct bench *bench)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)"", NULL };
	struct bench shell = *bench;
	struct bench_command command = { .text = "", .argv = argv, .path = "/bin/sh" };
	struct bench_runner *runner = NULL;
	struct bench_row row;
	int code;

	shell.commands = &command;
	shell.n_commands = 1;
	shell.runs = SHELL_RUNS;
	shell.warmups = 3;
	shell.n_measures = BENCH_EVENTS;
	shell.plan.groups = 0;
	shell.passes = 1;
	code = bench_runner_start(&shell, &runner);
	if (!code)
		code = run_rounds(&shell, runner, 0, 1);
	bench_runner_stop(runner);
	for (unsigned m = BENCH_WALL; m <= BENCH_SYS; m++) {
		bench_row_of(bench, &command, NULL, NULL, m, &row);
		bench->shell_ns[m] = row.summary.mean;
	}
	bench->arena = shell.arena;
	return code;
}

/* ---- runs under the agent -------------------------------------------------------------------
 *
 * The CPU time and events of each thread name, for --per-thread, and events that the agent alone
 * can count. These runs are separate from the measured ones, which have no agent. Names that differ
 * only in digits are one name (db-pool-1, db-pool-2: db-pool-*), as in reports. */

struct under_agent {
	char dir[PATH_MAX], dump[PATH_MAX + 8];
};

/* Sets the variables that load the agent into commands; other lines keep the environment. */
static int set_up(struct bench *bench, struct under_agent *agent)
{
	char dir[PATH_MAX], found[PATH_MAX];
	size_t n = 0;
	int code;

	if (!tool_find_agent(dir, found))
		return tool_no_agent(EXIT_FAIL, dir, "install pmctl whole");
	code = tool_make_dir(agent->dir, "bench", "");
	if (code)
		return code;
	snprintf(agent->dump, sizeof(agent->dump), "%s/run.pmc", agent->dir);
	while (environ[n])
		n++;
	bench->environment = pmc_arena_alloc(&bench->arena, (n + 1) * sizeof(*environ));
	memcpy(bench->environment, environ, n * sizeof(*environ));
	tool_prepend(TOOL_PRELOAD, found);
	setenv("PMC_OUT", agent->dump, 1);
	setenv("PMC_REPORT", "off", 1);
	/* Of an enclosing job: a run is a job of its own. */
	unsetenv("PMC_JOB");
	return 0;
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
		thread->name = pmc_arena_strdup(&bench->arena, name);
		*bench->last_thread = thread;
		bench->last_thread = &thread->next;
	}
	values = &thread->values[command - bench->commands];
	if (!*values)
		*values = pmc_arena_alloc(&bench->arena, AGENT_RUNS * columns * sizeof(double));
	return *values + r * columns;
}

static const struct pmc_fold_stat *event_of(const struct pmc_fold *fold,
					    const struct pmc_fold_row *row, const char *name)
{
	for (unsigned i = 0; i < fold->u->set.count; i++)
		if (!strcmp(fold->u->set.events[i].name, name))
			return &row->events[i];
	return NULL;
}

static void take_rows(struct bench *bench, const struct bench_command *command,
		      const struct pmc_fold *fold, size_t r)
{
	for (const struct pmc_fold_row *row = fold->rows; row; row = row->next) {
		double *values = values_of(bench, command, row->label, r);

		values[0] = (double)row->cpu.sum;
		for (unsigned c = 1; c < bench_thread_columns(bench); c++) {
			const struct pmc_fold_stat *stat =
				event_of(fold, row, bench_thread_column(bench, c));

			values[c] = stat && stat->rows ? (double)stat->sum : NAN;
		}
	}
}

/* The sums of events that the agent alone can count. */
static void take_events(struct bench *bench, struct bench_command *command,
			const struct pmc_fold *fold, size_t r)
{
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		const size_t i = (size_t)(bench->measures[m].event - bench->plan.events);
		struct pmc_planned *event = &bench->plan.events[i];
		double sum = fold->rows ? 0 : NAN;

		if (bench->pass[i] != r % bench->passes)
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
	struct pmc_profile profile;
	struct pmc_arena arena = { 0 };
	struct pmc_thread_buf buf;
	struct pmc_union u;
	struct pmc_fold fold;
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	pmc_profile_init(&profile, NULL);
	error = pmc_profile_add_fd(&profile, fd);
	close(fd);
	if (!error) {
		pmc_profile_finish(&profile);
		pmc_union_init(&u, &arena);
		for (unsigned s = 0; s < profile.n_sets; s++)
			pmc_union_add(&u, profile.sets[s], true);
		pmc_fold_begin(&fold, &u, NULL, PMC_BY_POOL);
		for (uint64_t t = 0; t < profile.n_threads; t++)
			pmc_fold_thread(&fold,
					pmc_profile_thread(&profile, profile.threads[t], &buf));
		pmc_fold_end(&fold);
		if (bench->per_thread)
			take_rows(bench, command, &fold, r);
		if (bench->by_agent)
			take_events(bench, command, &fold, r);
	}
	pmc_arena_free(&arena);
	pmc_profile_free(&profile);
	return error;
}

static int run_under_agent(struct bench *bench, struct bench_command *command,
			   struct bench_runner *runner, struct under_agent *agent, size_t r)
{
	struct spawn_result result;
	int code = run_line(bench, "--prepare", command->prepare), error;

	if (code || bench_signalled())
		return code;
	/* On macOS, where runs have different events; pmc-spawn has the environment of its start.
	 */
	setenv("PMC_EVENTS", bench_agent_events(bench, r), 1);
	unlink(agent->dump);
	code = bench_runner_run(bench, command, runner, 0, &result, NULL);
	if (!code)
		code = judge(bench, command, &result, r, true);
	if (code || bench_signalled() || result.stopped == SPAWN_KILLED)
		return code;
	error = read_dump(bench, command, agent->dump, r);
	if (error == -ENOENT)
		return tool_fail(EXIT_FAIL,
				 "'%.200s' left no dump under the agent, which it does not load; "
				 "pmctl run says why",
				 command->text);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot read the dump of '%.200s': %s", command->text,
				 strerror(-error));
	command->thread_runs = r + 1;
	return 0;
}

static int run_all_under_agent(struct bench *bench)
{
	const unsigned n = bench->n_commands;
	unsigned *order = pmc_arena_alloc(&bench->arena, n * sizeof(*order));
	struct bench_runner *runner = NULL;
	struct under_agent agent = { .dir = "" };
	int code = set_up(bench, &agent);
	size_t rounds;

	if (!code)
		setenv("PMC_EVENTS", bench_agent_events(bench, 0), 1);
	if (!code)
		code = bench_runner_start(bench, &runner);
	rounds = bench->commands[0].n_runs < AGENT_RUNS ? bench->commands[0].n_runs : AGENT_RUNS;
	begin_progress(bench, "running under the agent", rounds * n);
	for (size_t i = 0; i < rounds * n && !code && !bench_signalled(); i++) {
		if (i % n == 0)
			shuffle(order, 0, n);
		code = run_under_agent(bench, &bench->commands[order[i % n]], runner, &agent,
				       i / n);
		tool_progress_add(1);
	}
	tool_progress_end();
	bench_runner_stop(runner);
	unlink(agent.dump);
	if (agent.dir[0])
		rmdir(agent.dir);
	return code;
}

/* ---- all of them --------------------------------------------------------------------------- */

int bench_measure(struct bench *bench)
{
	struct bench_runner *runner = NULL;
	const unsigned at_once = bench->sequential ? 1 : bench->n_commands;
	int code = bench->shell ? measure_shell(bench) : 0, after;

	if (!code)
		code = bench_runner_start(bench, &runner);
	for (unsigned c = 0; c < bench->n_commands && !code && !bench_signalled(); c += at_once) {
		code = run_line(bench, "--setup", bench->setup);
		if (!code && !bench_signalled())
			code = run_rounds(bench, runner, c, c + at_once);
		after = run_line(bench, "--cleanup", bench->cleanup);
		code = code ? code : after;
	}
	bench_runner_stop(runner);
	if (!code && (bench->per_thread || bench->by_agent) && !bench_signalled())
		code = run_all_under_agent(bench);
	bench->interrupted = bench_signalled();
	return code;
}
