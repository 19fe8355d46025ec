/* SPDX-License-Identifier: MIT */
/*
 * runner.c - the events of a bench on macOS; starts its commands and measures each run. POSIX only,
 * so that tests run it on Linux.
 *
 * The kernel keeps cycles, instructions and CPU time of the command's process, which are read at
 * its end. Events of kperf are counted by the agent, in runs of its own: kperfdata says which get
 * counters at once, and each pass has some of them.
 *
 * pmctl starts the commands itself: a program that macOS starts by posix_spawn has nothing of
 * pmctl's memory in its own. Each is a process group of its own, which the terminal's signals do
 * not reach. If pmctl is killed, the command goes on: nothing on macOS ties the two.
 */
#include "lib/base/clock.h"
#include "lib/dump/words.h"
#include "lib/plan/mac_plan.h"
#include "tools/bench/bench.h"
#include "tools/cli/mac_usage.h"
#include "tools/list/mac_kpep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const bench_remark =
	"cycles, instructions and clocks: of the command's own process, without its children.";

/* Spreads events of kperf, a bit each, over passes. 0 or the exit code of a printed error. */
static int spread(struct bench *bench, uint64_t kpep)
{
	static struct list_fit fit;
	struct pmc_plan *plan = &bench->plan;
	int code;

	memset(&fit, 0, sizeof(fit));
	fit.n = plan->count;
	for (unsigned i = 0; i < fit.n; i++) {
		const char *name = plan->events[i].event.name;

		name = pmc_arena_strndup(&bench->arena, name, strcspn(name, ":"));
		list_fit_name(&fit, i, name);
	}
	code = list_kpep_fit(&fit, kpep);
	for (unsigned i = 0; i < fit.n && !code; i++) {
		if (!(kpep >> i & 1))
			continue;
		bench->pass[i] = fit.events[i].pass;
		bench->by_agent |= !fit.events[i].reason;
		if (fit.events[i].reason)
			pmc_mac_refuse(&plan->events[i], fit.events[i].code);
	}
	if (!code && fit.passes > 1)
		bench->passes = fit.passes;
	list_free(&fit.list);
	return code;
}

int bench_make_plan(struct bench *bench, const struct pmc_events *events)
{
	struct pmc_plan *plan = &bench->plan;
	struct pmc_mac mac;
	uint64_t kpep = 0;

	bench->passes = 1;
	pmc_mac_open(&mac);
	plan->events = pmc_arena_alloc(&bench->arena, (events->count + 1) * sizeof(*plan->events));
	plan->count = plan->opened = events->count;
	for (unsigned i = 0; i < plan->count; i++) {
		struct pmc_planned *planned = &plan->events[i];
		const int kind = pmc_mac_kind(&events->list[i]);

		*planned = (struct pmc_planned){ .event = events->list[i], .scope = PMC_SCOPE_ALL };
		bench->pass[i] = BENCH_EVERY_PASS;
		if (kind < 0)
			pmc_mac_refuse(planned, PMC_REASON_NO_SOURCE);
		else if (kind == PMC_MAC_KPEP && !pmc_mac_system.is_root())
			pmc_mac_refuse(planned, EPERM);
		else if (kind == PMC_MAC_KPEP)
			kpep |= UINT64_C(1) << i;
		else if (kind != PMC_MAC_CLOCK && mac.no_counts)
			pmc_mac_refuse(planned, mac.no_counts);
		if (kind == PMC_MAC_KPEP && planned->event.asked_scope &&
		    planned->event.exclude_kernel)
			planned->scope = PMC_SCOPE_USER;
	}
	return kpep ? spread(bench, kpep) : 0;
}

const char *bench_agent_events(struct bench *bench, size_t r)
{
	const struct pmc_plan *plan = &bench->plan;
	struct pmc_out out;
	size_t room = 1;

	for (unsigned i = 0; i < plan->count; i++)
		room += strlen(plan->events[i].event.name) + 1;
	pmc_out_to_mem(&out, pmc_arena_alloc(&bench->arena, room), room);
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *planned = &plan->events[i];

		if (planned->group != PMC_NO_GROUP && bench_counts(bench, planned, r))
			pmc_outf(&out, "%s%s", out.len ? "," : "", planned->event.name);
	}
	return out.buf;
}

void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap)
{
	(void)bench;
	if (event->error != EPERM)
		snprintf(text, cap, "%s", pmc_reason_text((uint32_t)event->error));
	else if (pmc_mac_system.is_root())
		snprintf(text, cap, "the kernel does not permit it (macOS 14.4 and later)");
	else
		snprintf(text, cap, "kperf needs root; use sudo");
}

int bench_read_baseline(struct bench *bench)
{
	if (!bench->baseline_file)
		return 0;
	return tool_fail(EXIT_USAGE, "--baseline is not available on macOS: pmctl cannot read JSON "
				     "there; give both commands to one bench");
}

int bench_runner_start(struct bench *bench, struct bench_runner **started)
{
	(void)bench;
	*started = NULL;
	return 0;
}

void bench_runner_stop(struct bench_runner *runner)
{
	(void)runner;
}

/* Events that could not be read keep no value. */
static void put_events(const struct bench *bench, const struct mac_usage *usage, double *values)
{
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++) {
		const int kind = pmc_mac_kind(&bench->measures[m].event->event);

		if (kind == PMC_MAC_CYCLES && usage->counted)
			values[m] = (double)usage->cycles;
		else if (kind == PMC_MAC_INSTRUCTIONS && usage->counted)
			values[m] = (double)usage->instructions;
		else if (kind == PMC_MAC_CLOCK && usage->timed)
			values[m] = (double)(usage->user_ns + usage->system_ns);
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
		.io = bench->io,
		.mask = &bench_masks.started,
		.group = true,
	};
	struct rusage rusage = { .ru_maxrss = 0 };
	struct mac_usage usage;
	uint64_t from;
	int status = 0;
	pid_t pid;

	(void)runner;
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
	if (values && mac_usage_read(pid, &usage) == 0)
		put_events(bench, &usage, values);
	while (wait4(pid, &status, 0, &rusage) < 0 && errno == EINTR)
		;
	result->status = status;
	result->user_ns = pmc_timeval_ns(&rusage.ru_utime);
	result->sys_ns = pmc_timeval_ns(&rusage.ru_stime);
	result->peak_rss_bytes = (uint64_t)rusage.ru_maxrss; /* bytes on macOS */
	return 0;
}
