/* SPDX-License-Identifier: MIT */
/* cmd_bench.c - pmctl bench: measures commands and compares them. */
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the plan ----------------------------------------------------------------------------- */

static const char *event_name(struct bench *bench, const struct pmc_event *event)
{
	char text[256];

	if (!event->core_type || !*event->core_type)
		return event->name;
	snprintf(text, sizeof(text), "%s@%s", event->name, event->core_type);
	return pmc_arena_strdup(&bench->arena, text);
}

/* Measurements in the user's order. */
static void add_events(struct bench *bench)
{
	const struct pmc_plan *plan = &bench->plan;

	for (unsigned position = 0; position < PMC_EVENTS_MAX; position++) {
		for (unsigned i = 0; i < plan->opened; i++) {
			const struct pmc_planned *planned = &plan->events[i];
			const char *name;

			if (planned->event.position != position || planned->state != PMC_COUNTED)
				continue;
			name = event_name(bench, &planned->event);
			bench->measures[bench->n_measures++] = (struct bench_measure){
				.name = name,
				.key = name,
				.unit = strcmp(planned->event.unit, "ns") ? BENCH_COUNT : BENCH_NS,
				.event = planned,
				.pass = bench_pass_of(bench, planned),
			};
		}
	}
}

static int plan(struct bench *bench)
{
	static const struct bench_measure system[BENCH_EVENTS] = {
		[BENCH_WALL] = { "wall_time", "wall_ns", BENCH_NS, NULL, BENCH_EVERY_PASS },
		[BENCH_USER] = { "user_time", "user_ns", BENCH_NS, NULL, BENCH_EVERY_PASS },
		[BENCH_SYS] = { "system_time", "sys_ns", BENCH_NS, NULL, BENCH_EVERY_PASS },
		[BENCH_RSS] = { "peak_rss", "peak_rss_bytes", BENCH_BYTES, NULL, BENCH_EVERY_PASS },
	};
	const char *text = bench->events ? bench->events : pmc_events_default;
	struct pmc_parse_error error = { .error = 0 };
	struct pmc_events events;
	int code;

	if (pmc_events_parse(text, NULL, &bench->arena, &events, &error))
		return tool_fail(error.error == -ENOMEM ? EXIT_FAIL : EXIT_USAGE,
				 "--events '%s': %s", text, error.text);
	bench->measures = pmc_arena_alloc(
		&bench->arena, sizeof(system) + PMC_EVENTS_MAX * sizeof(*bench->measures));
	if (!bench->measures)
		return tool_fail(EXIT_FAIL, "out of memory");
	code = bench_make_plan(bench, &events);
	if (code)
		return code;
	memcpy(bench->measures, system, sizeof(system));
	bench->n_measures = BENCH_EVENTS;
	add_events(bench);
	return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

/* A pipe could keep pmctl waiting for its other end. */
static int open_input(const char *path, int *fd)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (*fd < 0)
		return tool_fail(EXIT_FAIL, "cannot open --input %s: %s", path, strerror(errno));
	if (fstat(*fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)))
		return tool_fail(EXIT_FAIL,
				 "cannot use --input %s: it is neither a file nor a device", path);
	fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK);
	return 0;
}

static int open_files(struct bench *bench)
{
	const bool to_null = !bench->output || !strcmp(bench->output, "null");
	int code = open_input(bench->input ? bench->input : "/dev/null", &bench->io[0]);

	if (code || (!to_null && !strcmp(bench->output, "inherit")))
		return code;
	bench->io[1] = tool_open_output(to_null ? "/dev/null" : bench->output, EXIT_FAIL);
	bench->io[2] = to_null ? bench->io[1] : -1;
	return bench->io[1] < 0 ? -bench->io[1] : 0;
}

/* ---- results ------------------------------------------------------------------------------ */

static int print(struct bench *bench)
{
	static char room[64 << 10];
	const char *term = getenv("TERM");
	struct pmc_out out;
	int error;

	pmc_screen_from_env(&bench->screen, environ);
	pmc_screen_of_fd(&bench->screen, STDOUT_FILENO);
	bench->screen.color &= term && strcmp(term, "dumb");
	if (bench->color)
		bench->screen.color = bench->color == BENCH_ALWAYS;
	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	if (bench->format == BENCH_JSON)
		bench_write_json(bench, &out);
	else if (bench->format == BENCH_CSV)
		bench_write_csv(bench, &out);
	else
		bench_write_table(bench, &out);
	error = pmc_out_flush(&out);
	return error ? tool_fail_write("to standard output", -error) : 0;
}

static bool measured(const struct bench *bench)
{
	for (unsigned c = 0; c < bench->n_commands; c++)
		if (bench->commands[c].n_runs)
			return true;
	return false;
}

/* The time of an empty shell is subtracted, so the rest may be below 0. */
static void warn_of_shell(const struct bench *bench)
{
	for (unsigned c = 0; c < bench->n_commands && bench->shell; c++) {
		struct bench_row row;

		bench_row_of(bench, &bench->commands[c], NULL, NULL, BENCH_WALL, &row);
		if (row.summary.n && row.summary.min < 0)
			tool_warn("'%.80s' takes about as long as the shell itself: times below "
				  "that of an empty shell are shown as 0 (not in JSON and CSV); "
				  "measure a longer command",
				  bench->commands[c].text);
	}
}

/* Whether wall time, or a requested event, is significantly worse by more than --fail-above. */
static bool regressed(const struct bench *bench)
{
	bool worse = false;

	for (unsigned c = 0; c < bench->n_commands && bench->fail_above >= 0; c++) {
		const struct bench_command *command = &bench->commands[c];
		const struct bench_command *reference = bench_reference(bench, command);

		for (unsigned m = 0; reference && m < bench->n_measures; m++) {
			struct bench_row row;

			if (m != BENCH_WALL && (m < BENCH_EVENTS || !bench->events))
				continue;
			bench_row_of(bench, command, reference, NULL, m, &row);
			worse |= row.delta.significant && row.delta.pct > bench->fail_above;
		}
	}
	return worse;
}

static int run_bench(struct bench *bench)
{
	int code = plan(bench), printed;

	if (!code)
		code = bench_read_baseline(bench);
	if (!code)
		code = open_files(bench);
	if (code)
		return code;
	bench_catch_signals();
	code = bench_measure(bench);
	if (!code && (bench->per_thread || bench->by_agent) && !bench->interrupted)
		code = bench_threads(bench);
	warn_of_shell(bench);
	/* Completed runs are shown after a failure or an interrupt, too. */
	printed = measured(bench) ? print(bench) : 0;
	if (!code && bench->interrupted)
		tool_warn("interrupted: results cover the completed runs");
	bench_raise_again();
	if (!code && !printed && regressed(bench))
		code = tool_fail(EXIT_FAIL, "a command is slower than --fail-above permits");
	return code ? code : printed;
}

int cmd_bench(int argc, char **argv)
{
	struct bench bench = { .io = { -1, -1, -1 }, .last_thread = &bench.threads };
	int code = bench_flags(&bench, argc, argv);

	if (!code)
		code = run_bench(&bench);
	for (unsigned c = 0; c < bench.n_commands; c++)
		free(bench.commands[c].runs);
	for (unsigned c = 0; c < bench.n_baseline; c++)
		free(bench.baseline[c].runs);
	pmc_arena_free(&bench.arena);
	return code;
}
