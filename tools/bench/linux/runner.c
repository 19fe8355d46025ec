/* SPDX-License-Identifier: MIT */
/*
 * runner.c - the events of a bench on Linux, pmc-spawn, which starts its commands, and its
 * counters.
 *
 * If the PMU cannot run all events at once, each run counts one group of them (a pass), so that
 * none is multiplexed.
 *
 * pmc-spawn and its command are process groups of their own, which the terminal's signals do not
 * reach.
 */
#include "tools/bench/bench.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_runner {
	pid_t pid; /* of pmc-spawn */
	int socket;
	int fds[PMC_EVENTS_MAX];     /* by event of the plan; -1: not open */
	int anchors[PMC_EVENTS_MAX]; /* of each group; see open_counters() */
	uint64_t ids[PMC_EVENTS_MAX];
};

static bool group_needs_pmu(const struct pmc_plan *plan, unsigned group)
{
	for (unsigned i = plan->first[group]; i < plan->first[group + 1]; i++)
		if (pmc_event_needs_pmu(&plan->events[i].event))
			return true;
	return false;
}

const char *const bench_remark;

const char *bench_agent_events(struct bench *bench, size_t r)
{
	(void)r;
	return bench->events ? bench->events : pmc_events_default;
}

/* Groups without hardware events are in each pass. */
int bench_make_plan(struct bench *bench, const struct pmc_events *events)
{
	const struct pmc_plan *plan = &bench->plan;

	pmc_plan_make(events, tool_perf_open, &bench->arena, &bench->plan);
	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned pass = group_needs_pmu(plan, g) ? bench->passes++ : BENCH_EVERY_PASS;

		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			bench->pass[i] = pass;
	}
	bench->passes += bench->passes == 0;
	return 0;
}

void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap)
{
	(void)bench;
	pmc_plan_why(event, event->error, text, cap);
}

/* Of the commands, then pmc-spawn's own work. */
static struct bench_command *command_at(struct bench *bench, unsigned c)
{
	return c < bench->n_commands ? &bench->commands[c] : &bench->machine;
}

/* pmc-spawn's arguments: path and argv of each command. */
static char **words_of(struct bench *bench, char *path)
{
	static char *machine[] = { (char *)"pmc-spawn", (char *)"work", NULL };
	uint32_t n = 1;
	char **words;

	bench->machine.argv = machine;
	memcpy(bench->machine.path, path, PATH_MAX);
	for (unsigned c = 0; c <= bench->n_commands; c++) {
		struct bench_command *command = command_at(bench, c);

		command->first = n++;
		for (char **word = command->argv; *word; word++)
			n++;
		command->n_words = n - command->first;
	}
	words = pmc_arena_alloc(&bench->arena, (n + 1) * sizeof(*words));
	words[0] = path;
	for (unsigned c = 0; c <= bench->n_commands; c++) {
		struct bench_command *command = command_at(bench, c);

		words[command->first] = command->path;
		memcpy(words + command->first + 1, command->argv,
		       (command->n_words - 1) * sizeof(*words));
	}
	return words;
}

static int start(const struct bench *bench, struct bench_runner *runner, struct tool_spawn *spawn)
{
	int pair[2], socket, error;
	char ready;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return errno;
	runner->socket = pair[0];
	/* Not one of those that it takes the place of. */
	socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
	spawn->io = (const int[]){ bench->io[0], bench->io[1], bench->io[2], socket };
	error = socket < 0 ? errno : tool_spawn(spawn, &runner->pid);
	close(pair[1]);
	close(socket);
	/* Counters opened before its exec would count pmctl's child too. */
	if (!error && recv(runner->socket, &ready, 1, 0) != 1)
		error = EPIPE;
	return error;
}

int bench_runner_start(struct bench *bench, struct bench_runner **started)
{
	static char path[PATH_MAX];
	char dir[PATH_MAX];
	struct bench_runner *runner = pmc_arena_alloc(&bench->arena, sizeof(*runner));
	struct tool_spawn spawn = {
		.path = path, .n_io = SPAWN_SOCKET + 1, .mask = &bench_masks.started, .group = true
	};
	int error;

	if (!path[0] && !tool_find_beside("pmc-spawn", X_OK, dir, path))
		return tool_fail(EXIT_FAIL,
				 "cannot find pmc-spawn in %s or %s/" PMC_AGENT_DIR
				 "; install pmctl whole",
				 dir, dir);
	spawn.argv = words_of(bench, path);
	memset(runner->fds, -1, sizeof(runner->fds));
	memset(runner->anchors, -1, sizeof(runner->anchors));
	runner->socket = -1;
	*started = runner;
	error = start(bench, runner, &spawn);
	return error ? tool_fail(EXIT_FAIL, "cannot start %s: %s", path, strerror(error)) : 0;
}

/*
 * Inherited by the command, they count from its exec.
 *
 * An anchor is a disabled event that children do not inherit. Without one the kernel takes the
 * contexts of pmc-spawn and of its child for equal, and may swap them when it switches from one to
 * the other (perf_event_context_sched_out). The child's exec then enables the events of pmc-spawn
 * itself, and what later children inherit is never enabled.
 */
static int open_counters(const struct bench *bench, struct bench_runner *runner, unsigned pass)
{
	const struct pmc_plan *plan = &bench->plan;
	const struct pmc_perf_target own = { .pid = runner->pid, .cpu = -1 };
	const struct pmc_perf_target exec = { .kind = PMC_PERF_GROUP_EXEC,
					      .pid = runner->pid,
					      .cpu = -1 };
	uint64_t anchor_id;
	int error = 0;

	for (unsigned g = 0; g < plan->groups && !error; g++) {
		const unsigned first = plan->first[g];

		if (!bench_counts(bench, &plan->events[first], pass))
			continue;
		error = pmc_plan_open_group(plan, g, &exec, runner->fds + first, &runner->ids[g]);
		if (!error)
			error = pmc_perf_group_open(&plan->attrs[first], 1, &own,
						    &runner->anchors[g], &anchor_id);
	}
	return error;
}

/* Their counts, into the values of the run's events. */
static void read_counters(const struct bench *bench, struct bench_command *command,
			  const struct bench_runner *runner, unsigned pass, double *values)
{
	const struct pmc_plan *plan = &bench->plan;

	for (unsigned g = 0; g < plan->groups; g++) {
		uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
		const unsigned first = plan->first[g], end = plan->first[g + 1];
		struct pmc_reading now;

		if (!bench_counts(bench, &plan->events[first], pass))
			continue;
		pmc_perf_group_read(runner->fds[first], runner->ids[g], end - first, &now, words);
		for (unsigned m = BENCH_EVENTS; now.n && now.running_ns && m < bench->n_measures;
		     m++) {
			unsigned i = (unsigned)(bench->measures[m].event - plan->events);

			if (i < first || i >= end)
				continue;
			values[m] = (double)words[i - first];
			if (now.running_ns < now.enabled_ns) {
				values[m] *= (double)now.enabled_ns / (double)now.running_ns;
				command->scaled[i] = true;
			}
		}
	}
}

static int run(const struct bench *bench, const struct bench_command *command,
	       struct bench_runner *runner, struct spawn_result *result)
{
	const struct spawn_request request = { bench->timeout_ns, command->first,
					       command->n_words };
	struct pollfd fd = { .fd = runner->socket, .events = POLLIN };
	bool told = false;
	ssize_t n = send(runner->socket, &request, sizeof(request), MSG_NOSIGNAL);

	while (n > 0 && ppoll(&fd, 1, NULL, &bench_masks.waiting) < 0 && errno == EINTR) {
		if (told || !bench_signalled())
			continue;
		(void)!send(runner->socket, "", 1, MSG_NOSIGNAL);
		kill(runner->pid, SIGCONT);
		told = true;
	}
	n = recv(runner->socket, result, sizeof(*result), 0);
	if (n == sizeof(*result))
		return 0;
	return tool_fail(EXIT_FAIL, "pmc-spawn ended early: it was killed");
}

/* Counters are new for each run: a process that an earlier run left behind is still in the old. */
int bench_runner_run(const struct bench *bench, struct bench_command *command,
		     struct bench_runner *runner, unsigned pass, struct spawn_result *result,
		     double *values)
{
	int error = values ? open_counters(bench, runner, pass) : 0, code;

	if (error)
		code = tool_fail(EXIT_FAIL, "cannot open the counters of %s: %s; see pmctl doctor",
				 command->argv[0], strerror(-error));
	else
		code = run(bench, command, runner, result);
	if (!code && values)
		read_counters(bench, command, runner, pass, values);
	pmc_perf_group_close(runner->fds, bench->plan.opened);
	pmc_perf_group_close(runner->anchors, bench->plan.groups);
	return code;
}

void bench_runner_stop(struct bench_runner *runner)
{
	if (!runner)
		return;
	close(runner->socket);
	/* It may have been stopped. */
	if (runner->pid > 0)
		kill(runner->pid, SIGCONT);
	while (runner->pid > 0 && waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
