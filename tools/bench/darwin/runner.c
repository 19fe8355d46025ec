/* SPDX-License-Identifier: MIT */
/*
 * runner.c - starts the commands of a bench on macOS and measures each run. POSIX only, so that
 * tests run it on Linux.
 *
 * pmctl starts the commands itself: a program that macOS starts by posix_spawn has nothing of
 * pmctl's memory in its own. Each is a process group of its own, which the terminal's signals do
 * not reach. If pmctl is killed, the command goes on: nothing on macOS ties the two.
 */
#include "lib/base/clock.h"
#include "lib/plan/mac_plan.h"
#include "tools/bench/bench.h"
#include "tools/cli/mac_usage.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/child.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const struct bench_preload bench_preload = {
	"DYLD_INSERT_LIBRARIES", "libpmcagent.dylib",
	"programs of macOS (/bin, /usr/bin), setuid and hardened ones do not load it"
};

struct bench_runner {
	char **environment; /* NULL: pmctl's own */
};

int bench_runner_start(struct bench *bench, char *const *extra, struct bench_runner **started)
{
	struct bench_runner *runner = calloc(1, sizeof(*runner));

	(void)bench;
	*started = NULL;
	if (runner && extra)
		runner->environment = bench_environment(extra);
	if (!runner || (extra && !runner->environment)) {
		free(runner);
		return tool_fail(EXIT_FAIL, "out of memory");
	}
	*started = runner;
	return 0;
}

void bench_runner_stop(struct bench_runner *runner)
{
	if (runner)
		free(runner->environment);
	free(runner);
}

/* Events that could not be read keep no value. */
static void put_events(const struct bench *bench, const struct mac_usage *usage, double *values)
{
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		switch (pmc_mac_kind(&bench->measures[m].event->event)) {
		case PMC_MAC_CYCLES:
			if (usage->counted)
				values[m] = (double)usage->cycles;
			break;
		case PMC_MAC_INSTRUCTIONS:
			if (usage->counted)
				values[m] = (double)usage->instructions;
			break;
		case PMC_MAC_CLOCK:
			if (usage->timed)
				values[m] = (double)(usage->user_ns + usage->system_ns);
			break;
		}
	}
}

/* Times and peak memory are those of wait4, which include the children that the command has waited
 * for. */
int bench_runner_run(const struct bench *bench, struct bench_command *command,
		     struct bench_runner *runner, unsigned pass, struct spawn_result *result,
		     double *values)
{
	const struct tool_spawn spawn = {
		.argv = command->argv,
		.path = command->path,
		.environment = runner->environment,
		.io = bench->io,
		.mask = &bench_masks.started,
		.group = true,
	};
	struct rusage rusage = { .ru_maxrss = 0 };
	struct mac_usage usage;
	uint64_t from;
	int status = 0;
	pid_t pid;

	(void)pass;
	*result = (struct spawn_result){ 0 };
	/* The standard input from its start, if it is a file. */
	lseek(bench->io[0] >= 0 ? bench->io[0] : STDIN_FILENO, 0, SEEK_SET);
	from = pmc_now_ns();
	result->error = tool_spawn(&spawn, &pid);
	if (result->error)
		return 0;
	result->stopped = (int32_t)bench_wait(pid, bench->timeout_ns, SIGKILL, true);
	result->wall_ns = pmc_now_ns() - from;
	if (values && mac_usage_read(&pmc_mac_system, pid, &usage) == 0)
		put_events(bench, &usage, values);
	while (wait4(pid, &status, 0, &rusage) < 0 && errno == EINTR)
		;
	result->status = status;
	result->user_ns = pmc_timeval_ns(&rusage.ru_utime);
	result->sys_ns = pmc_timeval_ns(&rusage.ru_stime);
	result->peak_rss_bytes = (uint64_t)rusage.ru_maxrss; /* bytes on macOS */
	return 0;
}
