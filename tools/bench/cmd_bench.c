/* SPDX-License-Identifier: MIT */
/* cmd_bench.c - pmctl bench: its flags, commands, events and files. */
#include "lib/base/config.h"
#include "lib/base/suggest.h"
#include "lib/dump/command_line.h"
#include "tools/bench/bench.h"
#include "tools/cli/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLAG_OPTIONS struct bench
#define MOST_RUNS    10000

static const char *const colors[] = {
	[BENCH_AUTO] = "auto", [BENCH_ALWAYS] = "always", [BENCH_NEVER] = "never"
};
const struct tool_flag cmd_bench_flags[] = {
	FLAG_DURATION(duration_ns, "time per command (default: 5s), at least 3 runs"),
	FLAG_NUMBER('r', "--runs", "N", runs, 1, MOST_RUNS, "number of runs instead of a duration"),
	FLAG_NUMBER('w', "--warmup", "N", warmups, 0, MOST_RUNS,
		    "runs before those that are measured"),
	FLAG_EVENTS(events),
	FLAG_BOOL(0, "--sequential", sequential, "all runs of one command before the next"),
	FLAG_TEXT(0, "--prepare", "CMD", prepare, "shell command before every run, not measured"),
	FLAG_TEXT(0, "--setup", "CMD", setup, "shell command before all runs"),
	FLAG_TEXT(0, "--cleanup", "CMD", cleanup, "shell command after all runs"),
	FLAG_BOOL(0, "--shell", shell, "commands run by sh, whose own time is subtracted"),
	FLAG_TEXT(0, "--input", "FILE", input,
		  "standard input of the commands (default: /dev/null)"),
	FLAG_TEXT(0, "--output", "FILE", output,
		  "output of the commands: a file, null (default) or inherit"),
	FLAG_TIME(0, "--timeout", timeout_ns, FLAG_S, 1,
		  "limit of each run, after which it is killed"),
	FLAG_BOOL(0, "--ignore-failure", ignore_failure, "runs that fail are measured too"),
	FLAG_BOOL(0, "--per-thread", per_thread,
		  "further runs under the agent: threads that changed"),
	FLAG_TEXT(0, "--baseline", "FILE", baseline_file,
		  "JSON of an earlier bench to compare with"),
	FLAG_LIST('L', "--parameter-list", "NAME=A,B,C", scans, n_scans,
		  "runs with each value for {NAME}; repeatable", .pair = true),
	FLAG_PERCENT(0, "--fail-above", fail_above,
		     "exit status 1 if significantly slower by this percentage"),
	FLAG_LIST(0, "--fail-on", "METRIC[=PCT]", fail_on, n_fail_on,
		  "exit status 1 if this is significantly larger; repeatable"),
	FLAG_SORT(0, rows.choice.sort, "column to sort by (default: as they were measured)"),
	FLAG_ROWS_CHOICE(rows, bench_columns),
	FLAG_FORMAT(rows.format, TABLE_FORMATS),
	FLAG_WIDTH(rows.width),
	FLAG_ROW('o', NULL, "FILE", "output file of the results", FLAG_TYPE_FILE, rows.output,
		 .once = "output"),
	FLAG_ROW(0, "--json", "FILE", "JSON of all runs, beside the output", FLAG_TYPE_FILE,
		 beside[0].output),
	FLAG_ROW(0, "--html", "FILE", "page with plots, beside the output", FLAG_TYPE_FILE,
		 beside[1].output),
	FLAG_WORD(0, "--color", "WHEN", color, colors, "colored changes"),
	OPERAND_TAIL(tail),
	OPERAND_LIST(words, n_words),
	FLAG_END,
};

/* ---- commands ----------------------------------------------------------------------------- */

/* A text with room for the arguments, quoted or masked: up to four bytes for one. */
static void begin_text(struct bench *bench, char *const *argv, struct pmc_out *out)
{
	size_t room = 1;

	for (; *argv; argv++)
		room += 4 * strlen(*argv) + 4;
	pmc_out_to_mem(out, pmc_arena_alloc(&bench->arena, room), room);
}

/* The text to show and to store. With known forms of secrets in it, the command line as a dump has
 * it (PMC_ARGS). */
static const char *masked(struct bench *bench, const char *text, char *const *argv)
{
	struct pmc_config config;
	struct pmc_config_error error;
	struct pmc_out full, shown;

	if (pmc_config_from_env(environ, &config, &error) != 0)
		config.args = PMC_ARGS_MASKED;
	begin_text(bench, argv, &full);
	pmc_command_line(&full, argv, PMC_ARGS_FULL);
	begin_text(bench, argv, &shown);
	pmc_command_line(&shown, argv, config.args);
	return strcmp(full.buf, shown.buf) ? shown.buf : text;
}

static int add(struct bench *bench, char **argv)
{
	struct bench_command *command = &bench->commands[bench->n_commands];
	const char *name = argv[0];

	*command = (struct bench_command){ .argv = argv };
	if (!tool_find_command_file(name, command->path))
		return tool_fail(EXIT_NO_CMD, "cannot run %s: no such program%s%s", name,
				 strchr(name, '/') ? "" : " on the PATH",
				 strpbrk(name, " |<>;&$`()*?[~=") ? "; --shell runs shell lines" :
								    "");
	bench->n_commands++;
	return 0;
}

#define BLANKS " \t\n\v\f\r"

/* Whether a shell would take the character as more than itself. quote: around it; 0: none. */
static bool is_syntax(const char *at, bool starts_word, char quote)
{
	static const char parameters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "_0123456789{(?@#*!$-";

	if (*at == '$' && quote != '\'')
		return at[1] && strchr(parameters, at[1]);
	if (*at == '`')
		return quote != '\'';
	if (quote)
		return false;
	/* [ is a program, too. */
	if (*at == '[' && starts_word)
		return at[1] && !strchr(BLANKS, at[1]);
	return strchr(starts_word ? "|&;<>()*?~#" : "|&;<>()*?[", *at);
}

/* Splits the text into words as sh does, without expanding anything: quotes keep white space, and a
 * backslash takes the next character as such, within quotes only the quote. `to` has room for the
 * text, argv for a word of each second character. syntax: the first word in which a shell would see
 * more; NULL: none. The number of words; -1: an open quote. */
static int split(const char *text, char *to, char **argv, const char **syntax)
{
	char quote = 0;
	int n = 0;

	*syntax = NULL;
	while (*(text += strspn(text, BLANKS))) {
		const char *start = text;

		argv[n++] = to;
		for (; *text && (quote || !strchr(BLANKS, *text)); text++) {
			if (!*syntax && is_syntax(text, text == start, quote))
				*syntax = argv[n - 1];
			if (quote ? *text == quote : *text == '"' || *text == '\'') {
				quote = quote ? 0 : *text;
				continue;
			}
			if (*text == '\\' && !text[1])
				return -1;
			if (*text == '\\' && quote && text[1] != quote)
				*to++ = *text;
			text += *text == '\\';
			*to++ = *text;
		}
		*to++ = '\0';
	}
	argv[n] = NULL;
	return quote ? -1 : n;
}

static int add_string(struct bench *bench, const char *text)
{
	const size_t len = strlen(text);
	char **argv, *words;
	const char *syntax;
	int n;

	argv = pmc_arena_alloc(&bench->arena, (len / 2 + 4) * sizeof(*argv));
	if (bench->shell) {
		memcpy(argv, (const char *[]){ "/bin/sh", "-c", text }, 3 * sizeof(*argv));
		return add(bench, argv);
	}
	words = pmc_arena_alloc(&bench->arena, len + 1);
	n = split(text, words, argv, &syntax);
	if (n == 0)
		return tool_fail(EXIT_USAGE, "a command is empty; give 'CMD [ARG...]'");
	if (n < 0)
		return tool_fail(EXIT_USAGE,
				 "cannot parse '%.80s': a quote is not closed; \\' and "
				 "\\\" are quotes as such",
				 text);
	if (syntax && syntax != argv[0])
		tool_warn("'%.80s' in '%.80s' is an argument of %s; --shell runs shell lines",
			  syntax, text, argv[0]);
	return add(bench, argv);
}

/* The argument vector, quoted for a shell. */
static const char *typed(struct bench *bench, char **argv)
{
	struct pmc_out out;

	begin_text(bench, argv, &out);
	for (char **arg = argv; *arg; arg++) {
		const bool plain = **arg && !strpbrk(*arg, " \t\n'\"\\|&;<>()$`*?[#~");

		pmc_outf(&out, "%s%s", arg == argv ? "" : " ", plain ? "" : "'");
		for (const char *c = *arg; *c; c++)
			pmc_outf(&out, *c == '\'' ? "'\\'%c" : "%c", *c);
		pmc_out_str(&out, plain ? "" : "'");
	}
	return out.buf;
}

static char **fill(struct bench *bench, char *const *words, const char *const *values)
{
	char **filled;
	size_t n = 0;

	while (words[n])
		n++;
	filled = pmc_arena_alloc(&bench->arena, (n + 1) * sizeof(*filled));
	while (n-- > 0)
		filled[n] = bench_fill(bench, words[n], values);
	return filled;
}

/* The command with these values as it is shown. */
static const char *shown(struct bench *bench, bool line, char *const *words, const char **values)
{
	char **filled = fill(bench, words, values);
	const char *text = masked(bench, line ? filled[0] : typed(bench, filled), filled);

	return bench_fill(bench, bench_form(bench, text, words), values);
}

/* A command for each combination of the values of its parameters. line: its text; NULL: it is an
 * argument vector. */
static int add_each(struct bench *bench, char *line, char **argv)
{
	char *const lines[] = { line, NULL };
	char *const *words = line ? lines : argv;
	const char **values;
	int code = 0;

	if (!line && bench->shell)
		return tool_fail(EXIT_USAGE,
				 "--shell takes each command as one string: pmctl bench --shell "
				 "'CMD | CMD'");
	for (uint64_t k = 0; !code && (values = bench_values(bench, words, k)); k++) {
		struct bench_command *command = &bench->commands[bench->n_commands];
		const char *first = values[0];

		code = line ? add_string(bench, bench_fill(bench, line, values)) :
			      add(bench, fill(bench, argv, values));
		command->text = shown(bench, line, words, values);
		command->values = values;
		if (bench->prepare)
			command->prepare = bench_fill(bench, bench->prepare, values);
		values[0] = first ? bench->parameters->token : NULL;
		command->form = shown(bench, line, words, values);
		values[0] = first;
	}
	return code;
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* A file that is written must not be one that the bench reads, or writes another thing to. */
static int refuse_overwrite(const struct bench *bench)
{
	const char *const files[][3] = {
		{ bench->input, "--input", "the file of --input" },
		{ bench->baseline_file, "--baseline", "the file of --baseline" },
		{ bench->output, "--output", "the file of --output" },
		{ bench->rows.output, "-o", "the file of -o" },
		{ bench->beside[0].output, "--json", "the file of --json" },
		{ bench->beside[1].output, "--html", NULL },
	};
	int code = 0;

	for (unsigned i = 2; i < 6; i++)
		for (unsigned k = 0; k < 5 && files[i][0] && !code; k++)
			if (k != i)
				code = tool_refuse_overwrite(files[i][1], files[i][0], files[k][0],
							     files[k][2]);
	return code;
}

static int parse(struct bench *bench, int argc, char **argv)
{
	const struct tool_rows *rows = &bench->rows;
	int code;

	bench->fail_above = -1;
	code = tool_args_parse(argc, argv, bench);
	if (!code)
		code = bench_read_scans(bench);
	if (code)
		return code;
	bench->commands =
		pmc_arena_alloc(&bench->arena, sizeof(*bench->commands) * bench->n_combinations *
						       (bench->n_words + 1));
	/* --shell applies to all strings, also those before the flag. */
	for (unsigned i = 0; i < bench->n_words && !code; i++)
		code = add_each(bench, (char *)bench->words[i], NULL);
	if (!code && bench->tail)
		code = add_each(bench, bench->shell && !bench->tail[1] ? bench->tail[0] : NULL,
				bench->tail);
	if (code)
		return code;
	if (!bench->n_commands)
		return tool_fail(EXIT_USAGE,
				 "no command; pmctl bench 'CMD A' 'CMD B', or -- CMD [ARG...]");
	code = bench_check_scans(bench);
	if (code)
		return code;
	if (bench->runs && bench->duration_ns)
		return tool_fail(EXIT_USAGE, "--duration and --runs exclude each other; give one");
	bench->duration_ns = bench->duration_ns ? bench->duration_ns : 5 * FLAG_S;
	if ((bench->fail_above >= 0 || bench->n_fail_on) && bench->n_commands < 2 &&
	    !bench->baseline_file)
		return tool_fail(EXIT_USAGE,
				 "%s has nothing to compare with; name two commands "
				 "or --baseline FILE",
				 bench->n_fail_on ? "--fail-on" : "--fail-above");
	if (rows->format == TABLE_JSON &&
	    (rows->choice.sort || rows->choice.columns || rows->choice.n_where))
		return tool_fail(EXIT_USAGE, "--format json has whole runs; use --format jsonl "
					     "with --sort, --where and --columns");
	return refuse_overwrite(bench);
}

/* ---- the plan ----------------------------------------------------------------------------- */

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
			name = pmc_event_label(&planned->event, &bench->arena);
			bench->measures[bench->n_measures++] = (struct bench_measure){
				.name = name,
				.key = name,
				.unit = strcmp(planned->event.unit, "ns") ? BENCH_COUNT : BENCH_NS,
				.event = planned,
			};
		}
	}
}

/* METRIC[=PCT] of --fail-on; the name of an event may have a = in it. */
static int add_limit(struct bench *bench, const char *text)
{
	char *name = pmc_arena_strdup(&bench->arena, text), *equals = strrchr(name, '=');
	double limit = bench->fail_above > 0 ? bench->fail_above : 0, own;
	struct pmc_nearest nearest;
	char why[320];

	if (equals && tool_percent(equals + 1, &own)) {
		*equals = '\0';
		limit = own;
	}
	pmc_nearest_init(&nearest, name, strlen(name));
	for (unsigned m = 0; m < bench->n_measures; m++) {
		if (!strcmp(name, bench->measures[m].name) ||
		    !strcmp(name, bench->measures[m].key)) {
			bench->limits[m] = limit;
			return 0;
		}
		pmc_nearest_try(&nearest, bench->measures[m].name);
	}
	for (unsigned i = 0; i < bench->plan.count; i++) {
		if (strcmp(name, bench->plan.events[i].event.name) != 0)
			continue;
		bench_why(bench, &bench->plan.events[i], why, sizeof(why));
		return tool_fail(EXIT_FAIL, "--fail-on %s: not counted: %s", name, why);
	}
	return tool_fail_unknown("unknown measurement", name, nearest.name,
				 "give one of the table, such as wall_time=5");
}

/* Without --fail-on, wall time and the events of -e are judged. */
static int set_limits(struct bench *bench)
{
	int code = 0;

	bench->limits = pmc_arena_alloc(&bench->arena, bench->n_measures * sizeof(double));
	for (unsigned m = 0; m < bench->n_measures; m++)
		bench->limits[m] =
			bench->fail_above >= 0 && !bench->n_fail_on &&
					(m == BENCH_WALL || (m >= BENCH_EVENTS && bench->events)) ?
				bench->fail_above :
				NAN;
	for (unsigned i = 0; i < bench->n_fail_on && !code; i++)
		code = add_limit(bench, bench->fail_on[i]);
	for (unsigned p = 0; p < bench->n_parameters && !code; p++)
		if (bench_has_name(bench, p))
			code = tool_fail(EXIT_USAGE,
					 "-L %s: a column has this name; choose another",
					 bench->parameters[p].name);
	return code;
}

static int plan(struct bench *bench)
{
	static const struct bench_measure system[BENCH_EVENTS] = {
		[BENCH_WALL] = { "wall_time", "wall_ns", BENCH_NS, NULL },
		[BENCH_CPU] = { "cpu_time", "cpu_ns", BENCH_NS, NULL },
		[BENCH_USER] = { "user_time", "user_ns", BENCH_NS, NULL },
		[BENCH_SYS] = { "system_time", "sys_ns", BENCH_NS, NULL },
		[BENCH_RSS] = { "peak_rss", "peak_rss_bytes", BENCH_BYTES, NULL },
	};
	const char *text = bench->events ? bench->events : pmc_events_default;
	struct pmc_events events;
	int code = tool_parse_events("--events", text, &bench->arena, &events);

	bench->measures = pmc_arena_alloc(
		&bench->arena, sizeof(system) + PMC_EVENTS_MAX * sizeof(*bench->measures));
	if (!code)
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

/* They share a buffer, and are written one after the other. */
static int open_results(struct bench *bench)
{
	const char *term = getenv("TERM");
	int code = tool_rows_open(&bench->rows);

	for (unsigned i = 0; i < 2 && !code; i++)
		if (bench->beside[i].output)
			code = tool_rows_open(&bench->beside[i]);
	bench->rows.screen.color &= term && strcmp(term, "dumb");
	if (bench->color)
		bench->rows.screen.color = bench->color == BENCH_ALWAYS;
	return code;
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

/* ---- the runs ------------------------------------------------------------------------------- */

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

/* 0, or the exit code with what is significantly larger than its limit printed. */
static int judge(const struct bench *bench)
{
	for (unsigned i = 0; i < bench->n_commands * bench->n_measures; i++) {
		const struct bench_command *command = &bench->commands[i / bench->n_measures];
		const struct bench_command *reference = bench_reference(bench, command);
		const unsigned m = i % bench->n_measures;
		struct bench_row row;

		if (isnan(bench->limits[m]) || !reference)
			continue;
		bench_row_of(bench, command, reference, NULL, m, &row);
		/* Nothing is larger than it was if it is 0. */
		if (bench->n_fail_on && !row.delta.has_ci &&
		    !(row.summary.n > 1 && row.summary.max == 0))
			return tool_fail(
				EXIT_FAIL,
				"--fail-on %s: '%.80s' cannot be compared: each side needs "
				"two runs, and the reference a value that is not 0",
				bench->measures[m].name, command->text);
		if (row.delta.significant && row.delta.pct > bench->limits[m])
			return tool_fail(
				EXIT_FAIL, "%s of '%.80s' is %.1f %% larger; %s permits %.1f %%",
				bench->measures[m].name, command->text, row.delta.pct,
				bench->n_fail_on ? "--fail-on" : "--fail-above", bench->limits[m]);
	}
	return 0;
}

static int run_bench(struct bench *bench)
{
	static void (*const write[2])(struct bench *, struct pmc_out *) = { bench_write_json,
									    bench_write_page };
	int code, printed, failed = 0;

	bench_catch_signals();
	code = bench_measure(bench);
	warn_of_shell(bench);
	/* Completed runs are shown after a failure or an interrupt, too. */
	printed = bench_write(bench);
	/* A condition that no row meets has been refused; the measurements are shown without it. */
	if (printed && bench->rows.choice.n_where) {
		bench->rows.choice.n_where = 0;
		bench_write(bench);
		tool_rows_close(&bench->rows);
	} else if (!printed) {
		printed = tool_rows_close(&bench->rows);
	}
	for (unsigned i = 0; i < 2 && bench->n_runs && !failed; i++) {
		if (!bench->beside[i].output)
			continue;
		write[i](bench, &bench->beside[i].out);
		failed = tool_rows_close(&bench->beside[i]);
	}
	printed = printed ? printed : failed;
	if (!code && bench->interrupted)
		tool_warn("interrupted: results cover the completed runs");
	bench_raise_again();
	if (!code && !printed)
		code = judge(bench);
	return code ? code : printed;
}

int cmd_bench(int argc, char **argv)
{
	static int (*const steps[])(struct bench *) = {
		plan,	      set_limits, bench_read_baseline, bench_write, open_files,
		open_results, run_bench
	};
	struct bench bench = { .io = { -1, -1, -1 }, .last_thread = &bench.threads };
	int code = parse(&bench, argc, argv);

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]) && !code; i++)
		code = steps[i](&bench);
	pmc_arena_free(&bench.arena);
	return code;
}
