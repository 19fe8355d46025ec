/* SPDX-License-Identifier: MIT */
/* args.c - the table of flags: parsing by it, the nearest flag, and a command's list of flags. */
#include "agent/core/base/config.h"
#include "agent/core/base/number.h"
#include "agent/core/base/suggest.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tool_flag flags[] = {
#define X(command, letter, flag, argument, help) { #command, flag, argument, help, letter, NULL },
#include "tools/cli/flags.def"
#undef X
};
static const struct tool_flag help_flag = { NULL, "--help", NULL, "this text", 'h', NULL };

#define N_FLAGS (sizeof(flags) / sizeof(flags[0]))

bool tool_flag_at(const char *command, unsigned *at, struct tool_flag *flag)
{
	/* The knobs are flags of run, before its own; --help is the last flag of every command. */
	unsigned n_knobs = strcmp(command, "run") == 0 ? pmc_n_knobs : 0;

	if (*at < n_knobs) {
		const struct pmc_knob *knob = &pmc_knobs[(*at)++];

		*flag = (struct tool_flag){ "run",	knob->flag,   knob->argument,
					    knob->help, knob->letter, knob };
		return true;
	}
	while (*at - n_knobs < N_FLAGS) {
		*flag = flags[(*at)++ - n_knobs];
		if (strcmp(flag->command, command) == 0)
			return true;
	}
	*flag = help_flag;
	return (*at)++ == n_knobs + N_FLAGS;
}

#ifdef TOOL_WITHOUT_PERF_EVENTS
#define PROCESS "pmctl stat -p"
#else
/* Two suggestions, each in quotes. */
#define PROCESS "pmctl stat -p' or 'pmctl dump"
#endif

/* Words of other tools. */
static const struct {
	const char *command, *word, *ours;
} of_others[] = {
	{ "", "record", "run --sample" },
	{ "", "sample", "run --sample" },
	{ "run", "-g", "--sample" },
	{ "run", "-F", "--sample" },
	{ "run", "--call-graph", "--sample" },
	{ "run", "--freq", "--sample" },
	{ "run", "-p", PROCESS },
	{ "run", "--pid", PROCESS },
	{ "stat", "-r", "pmctl bench -r" },
	{ "stat", "--repeat", "pmctl bench -r" },
};

static const char *translate(const char *command, const char *word)
{
	const bool letter = word[0] == '-' && word[1] != '-';
	const size_t len = letter && word[1] ? 2 : strcspn(word, "=");

	for (unsigned i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++) {
		const char *known = of_others[i].word;

		if (!strcmp(of_others[i].command, command) && strlen(known) == len &&
		    !strncmp(known, word, len))
			return of_others[i].ours;
	}
	return NULL;
}

const char *tool_nearest_flag(const char *command, const char *flag)
{
	const char *ours = translate(command, flag);
	struct pmc_nearest nearest;
	struct tool_flag row;
	unsigned at = 0;

	if (ours)
		return ours;
	pmc_nearest_init(&nearest, flag, strcspn(flag, "="));
	while (tool_flag_at(command, &at, &row))
		if (row.name)
			pmc_nearest_try(&nearest, row.name);
	return nearest.name;
}

const char *tool_nearest(const char *word, const char *const *names, unsigned n)
{
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, word, strlen(word));
	for (unsigned i = 0; i < n; i++)
		pmc_nearest_try(&nearest, names[i]);
	return nearest.name;
}

const char *tool_nearest_command(const char *word)
{
	const char *ours = translate("", word);
	struct pmc_nearest nearest;

	if (ours)
		return ours;
	pmc_nearest_init(&nearest, word, strlen(word));
	for (unsigned i = 0; i < tool_n_commands; i++)
		pmc_nearest_try(&nearest, tool_commands[i].name);
	return nearest.name;
}

/* ---- parsing ------------------------------------------------------------------------------ */

/* The flag of the command that `arg` is; *value gets what is attached to it: -oV, --out=V. */
static bool find_flag(const char *command, const char *arg, struct tool_flag *flag,
		      const char **value)
{
	size_t len = strcspn(arg, "=");
	unsigned at = 0;

	*value = NULL;
	while (tool_flag_at(command, &at, flag)) {
		if (arg[1] == '-' && flag->name && strlen(flag->name) == len &&
		    strncmp(flag->name, arg, len) == 0) {
			*value = arg[len] ? arg + len + 1 : NULL;
			return true;
		}
		if (arg[1] != '-' && flag->letter && arg[1] == flag->letter) {
			*value = arg[2] ? arg + 2 : NULL;
			return true;
		}
	}
	return false;
}

static bool is_number(const char *arg)
{
	return arg[0] && !arg[strspn(arg, "0123456789")];
}

/* Whether arguments from this operand on belong to CMD. */
static bool starts_command(const char *command, const char *operand)
{
	static const char *const commands[] = { "stat", "top", "trace" };

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(command, commands[i]) == 0)
			return !is_number(operand);
	return strcmp(command, "run") == 0;
}

bool tool_args_scan(int argc, char **argv)
{
	bool help = false;
	struct tool_flag flag;
	const char *value;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] != '-' && starts_command(argv[0], argv[i]))
			break;
		if (argv[i][0] != '-' || !find_flag(argv[0], argv[i], &flag, &value))
			continue;
		if (flag.argument && !value &&
		    (flag.argument[0] != '[' || (i + 1 < argc && argv[i + 1][0] != '-')))
			value = ++i < argc ? argv[i] : "";
		if (flag.letter == 'h')
			help = true;
		else if (flag.name &&
			 (strcmp(flag.name, "--json") == 0 ||
			  (strcmp(flag.name, "--format") == 0 && strcmp(value, "json") == 0)))
			tool_json_errors = true;
	}
	return help;
}

void tool_args_init(struct tool_args *args, int argc, char **argv)
{
	*args = (struct tool_args){ .argc = argc, .argv = argv, .at = 1 };
}

static bool stop(struct tool_args *args, int code)
{
	args->done = true;
	args->code = code;
	return false;
}

/* Lists of events add up: -e A -e B is -e A,B. NULL: out of memory. */
static const char *add_events(const char *more)
{
	static char *list;
	const size_t len = list ? strlen(list) + 1 : 0, size = len + strlen(more) + 1;
	char *longer = realloc(list, size);

	if (!longer)
		return NULL;
	snprintf(longer + len, size - len, "%s", more);
	if (len)
		longer[len - 1] = ',';
	return list = longer;
}

bool tool_args_next(struct tool_args *args)
{
	static char letter[3] = "-?";
	const char *command = args->argv[0], *arg;
	struct tool_flag flag;
	char see[64];

	if (!args->operands && args->at < args->argc && strcmp(args->argv[args->at], "--") == 0) {
		args->operands = true;
		args->at++;
	}
	if (args->at >= args->argc)
		return false;
	arg = args->argv[args->at++];
	args->flag = NULL;
	args->value = arg;
	if (args->operands || arg[0] != '-' || !arg[1])
		return true;
	if (!find_flag(command, arg, &flag, &args->value)) {
		snprintf(see, sizeof(see), "pmctl %s --help lists them", command);
		return stop(args, tool_fail_unknown("unknown flag", arg,
						    tool_nearest_flag(command, arg), see));
	}
	letter[1] = flag.letter;
	args->flag = flag.name ? flag.name : letter;
	if (!flag.argument && args->value)
		return stop(args, tool_fail(EXIT_USAGE, "unexpected value '%s': %s takes none",
					    args->value, args->flag));
	if (flag.argument && flag.argument[0] == '[' && !args->value) {
		args->value = "on";
		if (args->at < args->argc && args->argv[args->at][0] != '-')
			args->value = args->argv[args->at++];
	} else if (flag.argument && !args->value) {
		if (args->at >= args->argc)
			return stop(args, tool_fail(EXIT_USAGE, "%s needs a value: %s", args->flag,
						    flag.knob ? flag.knob->values : flag.argument));
		args->value = args->argv[args->at++];
	}
	/* Those of trace have filters of their own. */
	if (tool_args_is(args, "--events") && strcmp(command, "trace") != 0)
		args->value = add_events(args->value);
	if (flag.argument && !args->value)
		return stop(args, tool_fail(EXIT_FAIL, "out of memory"));
	return true;
}

bool tool_args_is(const struct tool_args *args, const char *flag)
{
	return args->flag && strcmp(args->flag, flag) == 0;
}

int tool_args_parse(int argc, char **argv, int (*set)(void *to, const struct tool_args *args),
		    void *to, char ***cmd)
{
	struct tool_args args;
	int code = 0;

	tool_args_init(&args, argc, argv);
	while (!code && tool_args_next(&args)) {
		if (!args.flag && (args.operands || !is_number(args.value))) {
			*cmd = argv + args.at - 1;
			break;
		}
		code = set(to, &args);
	}
	return code ? code : args.code;
}

/* ---- values ------------------------------------------------------------------------------- */

int tool_fail_value(const struct tool_args *args, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "invalid %s '%.60s'; give %s", args->flag, args->value,
			 accepted);
}

int tool_fail_operand(const struct tool_args *args)
{
	return tool_fail(EXIT_USAGE,
			 "unexpected argument '%.60s'; give -p %.60s for a process, or write -- "
			 "before a command",
			 args->value, args->value);
}

int tool_args_word(const struct tool_args *args, const struct tool_word *words, int *value)
{
	char accepted[160] = "one of ", what[64];
	size_t len = strlen(accepted);
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, args->value, strlen(args->value));
	for (; words->name; words++) {
		if (!strcmp(args->value, words->name) ||
		    (words->alias && !strcmp(args->value, words->alias))) {
			*value = words->value;
			return 0;
		}
		pmc_nearest_try(&nearest, words->name);
		if (words->alias)
			pmc_nearest_try(&nearest, words->alias);
		len += (size_t)snprintf(accepted + len, sizeof(accepted) - len, "%s%s", words->name,
					words[1].name ? ", " : "");
	}
	snprintf(what, sizeof(what), "invalid %s", args->flag);
	return tool_fail_unknown(what, args->value, nearest.name, accepted);
}

int tool_args_number(const struct tool_args *args, uint64_t least, uint64_t most, uint64_t *number)
{
	char accepted[64];
	int len;

	if (pmc_number(args->value, most, number) && *number >= least)
		return 0;
	len = snprintf(accepted, sizeof(accepted), "a number from %llu", (unsigned long long)least);
	if (most < INT_MAX)
		snprintf(accepted + len, sizeof(accepted) - (size_t)len, " to %llu",
			 (unsigned long long)most);
	return tool_fail_value(args, accepted);
}

int tool_args_time(const struct tool_args *args, unsigned least_ms, uint64_t *ns)
{
	char accepted[64] = "a time such as 500ms, 5s or 2m";

	if (!pmc_config_time(args->value, ns) && *ns && *ns >= least_ms * 1000000ull)
		return 0;
	if (least_ms)
		snprintf(accepted, sizeof(accepted), "a time of at least %ums, such as 500ms or 2s",
			 least_ms);
	return tool_fail_value(args, accepted);
}

int tool_args_directory(const struct tool_args *args, const char **path)
{
	struct stat st;

	*path = args->value;
	return stat(args->value, &st) == 0 && S_ISDIR(st.st_mode) ?
		       0 :
		       tool_fail_value(args, "an existing directory");
}

int tool_args_percent(const struct tool_args *args, double *percent)
{
	char *end;

	*percent = strtod(args->value, &end);
	if (end == args->value || (*end && strcmp(end, "%")) || !(*percent >= 0 && *percent < 1e6))
		return tool_fail_value(args, "a percentage such as 5 or 2.5");
	return 0;
}
