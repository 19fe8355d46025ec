/* SPDX-License-Identifier: MIT */
/* command.c - the commands of a bench: words of a string, a line for the shell, or an argv. */
#include "lib/base/config.h"
#include "lib/dump/command_line.h"
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Searches the PATH as execvp(3) does. */
static int find_program(struct bench_command *command)
{
	const char *name = command->argv[0], *path = getenv("PATH");
	const bool given = strchr(name, '/');

	path = given ? "/" : path ? path : "/bin:/usr/bin";
	for (; *path; path += *path == ':') {
		int len = (int)strcspn(path, ":");

		if (snprintf(command->path, sizeof(command->path), "%.*s%s%s", given ? 0 : len,
			     path,
			     given ? "" :
			     len   ? "/" :
				     "./",
			     name) < (int)sizeof(command->path) &&
		    is_program(command->path))
			return 0;
		path += len;
	}
	if (given && access(name, F_OK) == 0)
		return tool_fail(EXIT_CANNOT_RUN, "cannot run %s: it is not an executable file",
				 name);
	return tool_fail(EXIT_NO_CMD, "cannot run %s: no such program%s%s", name,
			 given ? "" : " on the PATH",
			 strpbrk(name, " |<>;&$") ? "; --shell runs shell lines" : "");
}

/* The text to show and to store. With known forms of secrets in it, the command line as a dump has
 * it (PMC_ARGS). */
static const char *masked(struct bench *bench, const char *text, char **argv)
{
	struct pmc_config config;
	struct pmc_config_error error;
	char full[4096], shown[4096];
	struct pmc_out out;

	if (pmc_config_from_env(environ, &config, &error) != 0)
		config.args = PMC_ARGS_MASKED;
	pmc_out_to_mem(&out, full, sizeof(full));
	pmc_command_line(&out, argv, PMC_ARGS_FULL);
	pmc_out_to_mem(&out, shown, sizeof(shown));
	pmc_command_line(&out, argv, config.args);
	return strcmp(full, shown) ? pmc_arena_strdup(&bench->arena, shown) : text;
}

static int add(struct bench *bench, const char *text, char **argv)
{
	struct bench_command *command = &bench->commands[bench->n_commands];
	int code;

	if (!text || !argv)
		return tool_fail(EXIT_FAIL, "out of memory");
	*command = (struct bench_command){ .text = masked(bench, text, argv), .argv = argv };
	code = find_program(command);
	bench->n_commands += !code;
	return code;
}

static int add_line(struct bench *bench, const char *text)
{
	char **argv = pmc_arena_alloc(&bench->arena, 4 * sizeof(*argv));

	if (argv) {
		argv[0] = (char *)"/bin/sh";
		argv[1] = (char *)"-c";
		argv[2] = (char *)text;
	}
	return add(bench, text, argv);
}

/* Splits the text into words as sh does, without expanding anything: quotes keep white space, and a
 * backslash takes the next character as such, within quotes only the quote. `to` has room for the
 * text, argv for a word of each second character. The number of words; -1: an open quote. */
static int split(const char *text, char *to, char **argv)
{
	bool in_word = false;
	char quote = 0;
	int n = 0;

	for (; *text; text++) {
		if (!quote && strchr(" \t\n\v\f\r", *text)) {
			if (in_word)
				*to++ = '\0';
			in_word = false;
			continue;
		}
		if (!in_word)
			argv[n++] = to;
		in_word = true;
		if (quote ? *text == quote : *text == '"' || *text == '\'') {
			quote = quote ? 0 : *text;
			continue;
		}
		if (*text == '\\') {
			if (!text[1])
				return -1;
			if (quote && text[1] != quote)
				*to++ = '\\';
			text++;
		}
		*to++ = *text;
	}
	*to = '\0';
	argv[n] = NULL;
	return quote ? -1 : n;
}

/* A word that a shell would take as an operator; NULL: none. */
static const char *operator_in(char **argv)
{
	static const char *const operators[] = { "|", "||", "&&", "&",	";",
						 ">", ">>", "<",  "2>", "2>&1" };

	for (; *argv; argv++)
		for (unsigned i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
			if (!strcmp(*argv, operators[i]))
				return *argv;
	return NULL;
}

int bench_add_string(struct bench *bench, const char *text)
{
	const size_t len = strlen(text);
	char **argv, *words;
	int n;

	if (bench->shell)
		return add_line(bench, text);
	argv = pmc_arena_alloc(&bench->arena, (len / 2 + 2) * sizeof(*argv));
	words = pmc_arena_alloc(&bench->arena, len + 1);
	if (!argv || !words)
		return tool_fail(EXIT_FAIL, "out of memory");
	n = split(text, words, argv);
	if (n == 0)
		return tool_fail(EXIT_USAGE, "a command is empty; give 'CMD [ARG...]'");
	if (n < 0)
		return tool_fail(EXIT_USAGE,
				 "cannot parse '%.80s': a quote is not closed; \\' and "
				 "\\\" are quotes as such",
				 text);
	if (operator_in(argv))
		tool_warn("'%s' in '%.80s' is an argument of %s; --shell runs shell lines",
			  operator_in(argv), text, argv[0]);
	return add(bench, text, argv);
}

/* The argument vector, quoted for a shell. */
static const char *typed(struct bench *bench, char **argv)
{
	char text[PMC_COMMAND_LINE_BYTES];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	for (char **arg = argv; *arg; arg++) {
		const bool plain = **arg && !strpbrk(*arg, " \t\n'\"\\|&;<>()$`*?[#~");

		pmc_outf(&out, "%s%s", arg == argv ? "" : " ", plain ? "" : "'");
		for (const char *c = *arg; *c; c++)
			pmc_outf(&out, *c == '\'' ? "'\\'%c" : "%c", *c);
		pmc_out_str(&out, plain ? "" : "'");
	}
	return pmc_arena_strdup(&bench->arena, text);
}

int bench_add_argv(struct bench *bench, char **argv)
{
	const char *text = typed(bench, argv);

	if (bench->shell && !argv[1])
		return add_line(bench, argv[0]);
	if (bench->shell)
		return tool_fail(EXIT_USAGE,
				 "--shell takes each command as one string: pmctl bench --shell "
				 "'CMD | CMD'");
	return add(bench, text, argv);
}
