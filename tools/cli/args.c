/* SPDX-License-Identifier: MIT */
/* args.c - parses the arguments of a command by its table of flags, and finds the nearest flag. */
#include "lib/base/config.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/base/suggest.h"
#include "lib/event/event.h"
#include "tools/cli/flags.h"

#include <stdio.h>
#include <string.h>

const char *tool_nearest(const char *word, const char *const *names, unsigned n)
{
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, word, strlen(word));
	for (unsigned i = 0; i < n; i++)
		pmc_nearest_try(&nearest, names[i]);
	return nearest.name;
}

/* The nearest flag of the command; of NULL the nearest command. */
static const char *nearest_of(const struct tool_command *command, const char *word)
{
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, word, strcspn(word, "="));
	for (const struct tool_flag *row = command ? command->flags : NULL; row;
	     row = tool_flag_next(row))
		if (row->name)
			pmc_nearest_try(&nearest, row->name);
	for (unsigned i = 0; i < tool_n_commands && !command; i++)
		pmc_nearest_try(&nearest, tool_commands[i].name);
	return nearest.name;
}

/* What people look for under a name that other tools have. NULL: nothing is known. */
static const char *elsewhere(const char *of, const char *word, size_t len)
{
	static const char *const rows[][3] = {
#define X(...) { __VA_ARGS__ },
#include "tools/cli/elsewhere.def"
#undef X
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *words = strcmp(rows[i][0], of) ? "" : rows[i][1];

		for (size_t n; *words; words += n + (words[n] == ' ')) {
			n = strcspn(words, " ");
			if (n == len && !memcmp(words, word, n))
				return rows[i][2];
		}
	}
	return NULL;
}

/* The flag that takes this word: --format for json. NULL: none. */
static const struct tool_flag *flag_with(const struct tool_command *command, const char *word)
{
	const struct tool_flag *row = command ? command->flags : NULL;

	for (; row; row = tool_flag_next(row))
		for (unsigned i = 0; row->name && i < row->n_words; i++)
			if (row->words[i] && strcmp(row->words[i], word) == 0)
				return row;
	return NULL;
}

int tool_refuse_word(const struct tool_command *command, const char *word)
{
	const char *name = command ? command->name : "";
	const char *what = word[0] == '-' ? "unknown flag" : "unknown command";
	char text[64] = "pmctl help lists the commands";
	const size_t len = strcspn(word, "=");
	const char *use = elsewhere(name, word, len);

	if (use)
		return tool_fail(EXIT_USAGE, "%s '%s'; use %s", what, word, use);
	if (strncmp(word, "--", 2) == 0 && flag_with(command, word + 2))
		return tool_fail(EXIT_USAGE, "%s '%s'; use %s %s", what, word,
				 flag_with(command, word + 2)->name, word + 2);
	if (command)
		snprintf(text, sizeof(text), "pmctl %s --help lists them", name);
	return tool_fail_unknown(what, word, nearest_of(command, word), text);
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* The value attached to the argument if it is that flag: -oV, --out=V. */
static bool is_flag(const struct tool_flag *row, const char *arg, const char **value)
{
	const size_t len = arg[1] == '-' ? strcspn(arg, "=") : 2;

	if (arg[1] != '-' ? arg[1] != row->letter :
			    !row->name || strlen(row->name) != len || strncmp(row->name, arg, len))
		return false;
	*value = !arg[len] ? NULL : arg + len + (arg[len] == '=' && arg[1] == '-');
	return true;
}

static bool takes_operand(const struct tool_flag *row, const struct tool_args *args)
{
	if (row->name || row->letter)
		return false;
	switch (row->type) {
	case FLAG_TYPE_TAIL:
		return args->dashes;
	case FLAG_TYPE_PIDS:
	case FLAG_TYPE_CALL:
		/* A number. */
		return !args->dashes && *args->value &&
		       !args->value[strspn(args->value, "0123456789")];
	default:
		return true;
	}
}

/* Lists of flags, as long as pmctl lives. */
static struct pmc_arena memory;

static const char *joined(const char *a, const char *between, const char *b)
{
	const size_t size = strlen(a) + strlen(between) + strlen(b) + 1;
	char *text = pmc_arena_alloc(&memory, size);

	snprintf(text, size, "%s%s%s", a, between, b);
	return text;
}

void tool_args_init(struct tool_args *args, int argc, char **argv)
{
	*args = (struct tool_args){
		.command = tool_find_command(argv[0]), .argc = argc, .argv = argv, .at = 1
	};
}

bool tool_args_next(struct tool_args *args)
{
	const struct tool_flag *row = args->command->flags;
	static char letter[3] = "-?";
	const char *arg;

	if (!args->dashes && args->at < args->argc && strcmp(args->argv[args->at], "--") == 0) {
		args->dashes = true;
		args->at++;
	}
	if (args->at >= args->argc)
		return false;
	arg = args->value = args->argv[args->at++];
	args->flag = NULL;
	if (args->dashes || arg[0] != '-' || !arg[1]) {
		while (row && !takes_operand(row, args))
			row = tool_flag_next(row);
		args->row = row;
		return true;
	}
	while (row && !is_flag(row, arg, &args->value))
		row = tool_flag_next(row);
	args->row = row;
	letter[1] = arg[1];
	args->flag = !row ? arg : row->name ? row->name : letter;
	if (!row || !row->argument || args->value)
		return true;
	if (args->at < args->argc && (row->argument[0] != '[' || args->argv[args->at][0] != '-'))
		args->value = args->argv[args->at++];
	else if (row->argument[0] == '[')
		args->value = "on";
	if (row->pair && args->value && !strchr(args->value, '=') && args->at < args->argc)
		args->value = joined(args->value, "=", args->argv[args->at++]);
	return true;
}

bool tool_args_is(const struct tool_args *args, const char *flag)
{
	return args->flag && strcmp(args->flag, flag) == 0;
}

bool tool_args_scan(int argc, char **argv)
{
	struct tool_args args;
	bool help = false;

	tool_args_init(&args, argc, argv);
	while (tool_args_next(&args) && !tool_flag_starts_command(args.row)) {
		if (!args.row)
			continue;
		help |= args.row->type == FLAG_TYPE_HELP;
		tool_json_errors |= (tool_args_is(&args, "--json") && !args.row->argument) ||
				    (tool_args_is(&args, "--format") && args.value &&
				     strcmp(args.value, "json") == 0);
	}
	return help;
}

/* ---- values ------------------------------------------------------------------------------- */

int tool_fail_value(const struct tool_args *args, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "invalid %s '%.60s'; give %s", args->flag, args->value,
			 accepted);
}

int tool_refuse_number(void *options, const struct tool_args *args)
{
	(void)options;
	return tool_fail(EXIT_USAGE,
			 "unexpected argument '%.60s'; give -p %.60s for a process, or write -- "
			 "before a command",
			 args->value, args->value);
}

void tool_words_text(const struct tool_flag *row, bool help, char *text, size_t size)
{
	struct pmc_out out = pmc_out_mem(text, size);
	unsigned last = row->n_words - 1;
	const char *between = "";

	while (!row->words[last])
		last--;
	for (unsigned i = 0; i <= last; i++) {
		if (!row->words[i])
			continue;
		pmc_outf(&out, "%s%s%s", i == last ? " or " : between, row->words[i],
			 help && !i ? " (default)" : "");
		between = ", ";
	}
}

static void store(const struct tool_flag *row, void *to, uint64_t value)
{
	if (row->size == sizeof(uint64_t))
		*(uint64_t *)to = value;
	else if (row->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)value;
	else
		*(bool *)to = value;
}

static int set_number(const struct tool_args *args, void *to)
{
	const struct tool_flag *row = args->row;
	char accepted[64];
	uint64_t number;
	int len;

	if (pmc_number(args->value, row->most, &number) && number >= row->least) {
		store(row, to, number);
		return 0;
	}
	len = snprintf(accepted, sizeof(accepted), "a number from %llu",
		       (unsigned long long)row->least);
	if (row->most < INT_MAX)
		snprintf(accepted + len, sizeof(accepted) - (size_t)len, " to %llu",
			 (unsigned long long)row->most);
	return tool_fail_value(args, row->accepted ? row->accepted : accepted);
}

static int set_time(const struct tool_args *args, uint64_t *ns)
{
	const uint64_t least = args->row->least;
	char accepted[64] = "a time such as 500ms, 5s or 2m";

	if (!pmc_config_time(args->value, args->row->unit_ns, ns) && *ns >= least)
		return 0;
	if (least >= FLAG_MS)
		snprintf(accepted, sizeof(accepted), "a time of at least %ums, such as 500ms or 2s",
			 (unsigned)(least / FLAG_MS));
	return tool_fail_value(args, accepted);
}

bool tool_percent(const char *text, double *percent)
{
	char *end;

	*percent = strtod(text, &end);
	return end != text && (!*end || !strcmp(end, "%")) && *percent >= 0 && *percent < 1e6;
}

/* The index of the word; -1 with the error printed: it is none of the flag's. */
static int find_word(const struct tool_args *args, const char *text)
{
	const struct tool_flag *row = args->row;
	const char *use = row->name ? elsewhere(row->name, text, strlen(text)) : NULL;
	char accepted[160] = "give ", what[64];
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, text, strlen(text));
	for (unsigned i = 0; i < row->n_words; i++) {
		const char *names[] = { row->words[i], row->aliases ? row->aliases[i] : NULL };

		for (unsigned k = 0; k < 2 && row->words[i] && names[k]; k++) {
			if (strcmp(text, names[k]) == 0)
				return (int)i;
			pmc_nearest_try(&nearest, names[k]);
		}
	}
	snprintf(what, sizeof(what), "invalid %s", args->flag);
	if (use) {
		tool_fail(EXIT_USAGE, "%s '%s'; use %s", what, text, use);
		return -1;
	}
	tool_words_text(row, false, accepted + 5, sizeof(accepted) - 5);
	tool_fail_unknown(what, text, nearest.name, accepted);
	return -1;
}

static int set_words(const struct tool_args *args, unsigned char *to)
{
	const unsigned most = (unsigned)args->row->size - 1;
	char text[256];
	unsigned n = 0;

	memset(to, 0, args->row->size);
	snprintf(text, sizeof(text), "%s", args->value);
	for (char *at = text, *word; (word = strsep(&at, ","));) {
		const int found = find_word(args, word);

		if (found < 0)
			return EXIT_USAGE;
		if (memchr(to, found, n))
			return tool_fail(EXIT_USAGE, "%s %.60s: %s is there twice", args->flag,
					 args->value, word);
		if (n == most)
			return tool_fail(EXIT_USAGE, "%s %.60s: more than %u words", args->flag,
					 args->value, most);
		to[n++] = (unsigned char)found;
	}
	return 0;
}

static bool is_pid_list(const char *at)
{
	uint64_t pid;

	do
		if (!pmc_number_take(&at, NULL, 10, &pid) || !pid || pid > INT_MAX)
			return false;
	while (*at++ == ',');
	return !at[-1];
}

static int check_text(const struct tool_args *args)
{
	const char *value = args->value, *use;
	char of[64];
	struct stat st;

	switch (args->row->type) {
	case FLAG_TYPE_FILE:
		return *value ? 0 : tool_fail_value(args, "a file name");
	case FLAG_TYPE_DIRECTORY:
		return stat(value, &st) == 0 && S_ISDIR(st.st_mode) ?
			       0 :
			       tool_fail_value(args, "an existing directory");
	case FLAG_TYPE_PIDS:
		if (is_pid_list(value))
			return 0;
		return args->flag ?
			       tool_fail_value(args, "process IDs such as 12 or 12,34") :
			       tool_fail(EXIT_USAGE,
					 "invalid process ID '%.60s'; write -- before a command",
					 value);
	default:
		snprintf(of, sizeof(of), "%s %s", args->command->name,
			 args->flag ? args->flag : "");
		use = elsewhere(of, value, strlen(value));
		return use ? tool_fail(EXIT_USAGE, "invalid %s '%s'; use %s",
				       args->flag ? args->flag : "argument", value, use) :
			     0;
	}
}

static void append(const struct tool_args *args, const char ***list, unsigned *n)
{
	if (!*list)
		*list = pmc_arena_alloc(&memory, sizeof(**list) * (size_t)args->argc);
	(*list)[(*n)++] = args->value;
}

int tool_parse_events(const char *source, const char *text, struct pmc_arena *arena,
		      struct pmc_events *events)
{
	struct pmc_parse_error error;

	return pmc_events_parse(text, NULL, arena, events, &error) ?
		       tool_fail(EXIT_USAGE, "%s '%s': %s", source, text, error.text) :
		       EXIT_OK;
}

/* ---- parsing ------------------------------------------------------------------------------ */

static bool has_flag(const struct tool_command *command, const char *name)
{
	const struct tool_flag *row = command->flags;

	while (row && (!row->name || strcmp(row->name, name) != 0))
		row = tool_flag_next(row);
	return row;
}

/* -bn1: other tools take letters in one word. */
static int refuse_value(const struct tool_args *args)
{
	const struct tool_flag *row = args->command->flags;
	const char *value = args->value, *rest;
	char use[96] = "";

	while (row && row->letter != *value)
		row = tool_flag_next(row);
	rest = row && row->argument && !value[1] ? row->argument : value + 1;
	if (args->argv[args->at - 1][1] != '-' && *value && row && (row->argument || !*rest))
		snprintf(use, sizeof(use), "; write -%c -%c%s%s", args->row->letter, *value,
			 *rest ? " " : "", rest);
	return tool_fail(EXIT_USAGE, "unexpected value '%s': %s takes none%s", value, args->flag,
			 use);
}

/* The errors of the argument's form, whatever its value. */
static int check_form(const struct tool_args *args)
{
	const struct tool_flag *row = args->row;
	char text[160];

	if (!row && args->flag)
		return tool_refuse_word(args->command, args->flag);
	if (!row && has_flag(args->command, "--name"))
		return tool_fail(EXIT_USAGE,
				 "unexpected argument '%.60s'; give --name %.60s for processes of "
				 "that name, or write -- before a command",
				 args->value, args->value);
	if (!row)
		return tool_fail(EXIT_USAGE, "unexpected argument '%.60s'; usage: pmctl %s %s",
				 args->value, args->command->name, args->command->synopsis);
	if (args->flag && !row->argument && args->value)
		return refuse_value(args);
	if (!args->flag || !row->argument || args->value)
		return 0;
	snprintf(text, sizeof(text), "%s", row->accepted ? row->accepted : row->argument);
	if (row->words)
		tool_words_text(row, false, text, sizeof(text));
	return tool_fail(EXIT_USAGE, "%s needs a value: %s", args->flag, text);
}

static int set(const struct tool_args *args, char *options)
{
	static const char unset[sizeof(uint64_t)];
	const struct tool_flag *row = args->row;
	void *to = options + row->at;
	int code;

	if (row->once && memcmp(to, unset, row->size) != 0)
		return tool_fail(EXIT_USAGE, "more than one %s: '%.60s'; give one", row->once,
				 args->value ? args->value : args->flag);
	switch (row->type) {
	case FLAG_TYPE_HELP:
		return 0;
	case FLAG_TYPE_CONSTANT:
		store(row, to, row->least);
		return 0;
	case FLAG_TYPE_NUMBER:
		return set_number(args, to);
	case FLAG_TYPE_TIME:
		return set_time(args, to);
	case FLAG_TYPE_PERCENT:
		return tool_percent(args->value, to) ?
			       0 :
			       tool_fail_value(args, "a percentage such as 5 or 2.5");
	case FLAG_TYPE_WORD:
		code = find_word(args, args->value);
		if (code >= 0)
			store(row, to, (uint64_t)code);
		return code < 0 ? EXIT_USAGE : 0;
	case FLAG_TYPE_WORDS:
		return set_words(args, to);
	case FLAG_TYPE_LIST:
		append(args, to, (unsigned *)(void *)(options + row->length_at));
		return 0;
	case FLAG_TYPE_EVENTS:
		*(const char **)to = *(const char **)to ?
					     joined(*(const char **)to, ",", args->value) :
					     args->value;
		return 0;
	case FLAG_TYPE_CALL:
		return row->set(options, args);
	case FLAG_TYPE_COMMAND:
	case FLAG_TYPE_TAIL:
		*(char ***)to = args->argv + args->at - 1;
		return 0;
	default:
		code = check_text(args);
		if (!code)
			*(const char **)to = args->value;
		return code;
	}
}

int tool_args_take(struct tool_args *args, void *options)
{
	int code = 0;

	while (!code && tool_args_next(args)) {
		code = check_form(args);
		if (!code)
			code = set(args, options);
		if (tool_flag_starts_command(args->row))
			break;
	}
	return code;
}

int tool_args_parse(int argc, char **argv, void *options)
{
	struct tool_args args;

	tool_args_init(&args, argc, argv);
	return tool_args_take(&args, options);
}
