/* SPDX-License-Identifier: MIT */
/*
 * cmd_complete.c - pmctl complete: what may replace the last word of a command line, from the
 * tables of flags. The functions for shells in data/completion call it.
 *
 * The first line is "KIND N", lines of "NAME[TAB]DESCRIPTION" follow. N is how many bytes of the
 * word stand in front of the name. KIND is one of:
 *	words	a blank follows the name
 *	list	a blank or a comma
 *	open	more of the word
 *	files	the shell completes a file name; dirs: that of a directory
 *	command	the shell completes a command or its arguments; N is the command's place in the
 *		line, pmctl is 0
 */
#include "lib/base/config.h"
#include "lib/base/file.h"
#include "lib/base/utf8.h"
#include "tools/cli/flags.h"
#include "tools/list/list.h"
#include "tools/rows/metrics.h"
#include "tools/table/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct completion {
	const struct tool_command *command;
	const char *word;
	const char *part;	     /* of the word: what is completed */
	const struct tool_flag *row; /* whose value that is */
	const char *kind;
	const char *events; /* of -e; NULL: none */
};

static void begin(struct completion *to, const char *kind, const char *part)
{
	to->kind = kind;
	to->part = part;
	printf("%s %zu\n", kind, (size_t)(part - to->word));
}

/* Leaves out a name that a shell would interpret: those of processes are hostile. */
static void offer(const struct completion *to, const char *name, const char *description)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.:@/+=,%-";
	struct pmc_out out = PMC_OUT_MEM(512);

	if (strncmp(name, to->part, strlen(to->part)) != 0 || name[strspn(name, plain)])
		return;
	if (description && strcmp(description, name) != 0)
		pmc_utf8_safe(&out, description, strlen(description), 100);
	printf("%s%s%s%.*s\n", name, strcmp(to->kind, "open") ? "" : "=", out.len ? "\t" : "",
	       (int)out.len, out.buf);
}

static void put_commands(const struct completion *to)
{
	for (unsigned i = 0; i < tool_n_commands; i++)
		offer(to, tool_commands[i].name, tool_commands[i].summary);
}

static void put_events(const struct completion *to)
{
	const bool tracepoints = strcmp(to->row->argument, "NAMES") == 0;
	char glob[512]; /* those that it matches besides are not offered */
	struct list list = { .glob = glob };

	snprintf(glob, sizeof(glob), "%s*", to->part);
	list_init(&list);
	list_all(&list);
	for (unsigned i = 0; i < list.n; i++)
		if (!tracepoints || strcmp(list.rows[i].type, "tracepoint") == 0)
			offer(to, list.rows[i].name, list.rows[i].description);
	list_free(&list);
}

static void put_columns(const struct completion *to)
{
	const struct tool_flag *row = to->command->flags;
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;

	while (row && !row->columns)
		row = tool_flag_next(row);
	for (unsigned i = 0; row && i < row->n_columns; i++)
		offer(to, row->columns[i].name, row->columns[i].head);
	if (row && row->counts &&
	    !pmc_events_parse(to->events ? to->events : pmc_events_default, NULL, &arena, &events,
			      &error)) {
		for (unsigned i = 0; i < events.count; i++)
			offer(to, events.list[i].name, "event");
		for (unsigned i = 0; i < pmc_n_metrics; i++)
			offer(to, pmc_metrics[i].name, pmc_metrics[i].doc);
	}
	pmc_arena_free(&arena);
}

/* Neither threads of the kernel, which have no command line, nor processes of other users. */
static void put_process(const char *pid, void *arg)
{
	static char maps[1 << 22];
	const struct completion *to = arg;
	char path[64], name[256];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s", pid);
	if (!isdigit((unsigned char)*pid) || atoi(pid) == getpid() || stat(path, &st) != 0 ||
	    (geteuid() && st.st_uid != geteuid()) ||
	    !pmc_file_read(name, sizeof(name), "%s/cmdline", path) ||
	    pmc_file_read(name, sizeof(name), "%s/comm", path) <= 0)
		return;
	if (to->row->agent) {
		pmc_file_read(maps, sizeof(maps), "%s/maps", path);
		if (!strstr(maps, "/" TOOL_AGENT_FILE))
			return;
	}
	if (strcmp(to->row->argument, "GLOB") == 0)
		offer(to, name, pid);
	else
		offer(to, pid, name);
}

static void put_processes(const struct completion *to)
{
	pmc_dir_visit(put_process, (void *)(uintptr_t)to, "/proc");
}

/* Those of its accepted values that the parser of the variable accepts, unless it takes any. */
static void put_accepted(const struct completion *to)
{
	struct pmc_config scratch;
	char text[256], *rest = text;
	unsigned knob = 0;

	while (knob < pmc_n_knobs && strcmp(pmc_knob_flags[knob], to->row->name) != 0)
		knob++;
	if (knob == pmc_n_knobs || !pmc_config_set(&scratch, knob, "?"))
		return;
	snprintf(text, sizeof(text), "%s", pmc_knobs[knob].values);
	for (const char *word; (word = strsep(&rest, " ,;:()"));)
		if (isalpha((unsigned char)*word) && !strchr(word, '=') &&
		    !pmc_config_set(&scratch, knob, word))
			offer(to, word, NULL);
}

static const struct value {
	const char *argument; /* NULL: others */
	const char *flag;     /* NULL: of any flag */
	const char *kind;
	void (*put)(const struct completion *to);
} values[] = {
	{ "COMMAND", NULL, "words", put_commands },
	{ "EVENT", NULL, "words", put_events },
	{ "[EVENT]", NULL, "words", put_events },
	{ "EVENTS", NULL, "list", put_events },
	{ "NAMES", NULL, "list", put_events },
	{ "COLUMN", NULL, "words", put_columns },
	{ "A,B,C", NULL, "list", put_columns },
	{ "COLUMN=GLOB", NULL, "open", put_columns },
	{ "PID", NULL, "words", put_processes },
	{ "GLOB", "--name", "words", put_processes },
	{ "FILE", NULL, "files", NULL },
	{ "DIR", NULL, "dirs", NULL },
	{ NULL, NULL, "words", NULL },
};

static void complete_value(struct completion *to, const struct tool_flag *row, const char *text)
{
	const bool words = row->type == FLAG_TYPE_WORDS || row->type == FLAG_TYPE_PIDS;
	const struct value *value = values;
	const char *last;

	/* --report html=FILE */
	if (strstr(row->argument, "[=FILE]") && strchr(text, '=')) {
		begin(to, "files", strchr(text, '=') + 1);
		return;
	}
	while (value->argument && (strcmp(value->argument, row->argument) != 0 ||
				   (value->flag && strcmp(value->flag, row->name) != 0)))
		value++;
	if (words || strcmp(value->kind, "list") == 0)
		while ((last = strpbrk(text, ",{")))
			text = last + 1;
	begin(to, words ? "list" : value->kind, text);
	to->row = row;
	for (unsigned i = 0; i < row->n_words; i++)
		if (row->words[i])
			offer(to, row->words[i], NULL);
	if (value->put)
		value->put(to);
	if (row->type == FLAG_TYPE_CALL && row->accepted)
		put_accepted(to);
}

/* By its long name if it has one. */
static void complete_flag(struct completion *to)
{
	const struct tool_flag *row = to->command->flags;
	char letter[3] = "-?";

	begin(to, "words", to->word);
	for (; row; row = tool_flag_next(row)) {
		letter[1] = row->letter;
		if (row->letter && (!row->name || strcmp(to->word, letter) == 0))
			offer(to, letter, row->help);
		else if (row->name)
			offer(to, row->name, row->help);
	}
}

/* words[0] is the command. */
static void complete_argument(struct completion *to, int n, char **words)
{
	static char unknown[] = "---";
	const struct tool_flag *row = to->command->flags; /* of an operand */
	struct tool_args args;
	char *last = words[n - 1];

	/* Of a flag, neither an operand nor the end of all flags. */
	if (strcmp(last, "-") == 0 || strcmp(last, "--") == 0)
		words[n - 1] = last = unknown;
	tool_args_init(&args, n, words);
	while (tool_args_next(&args) && args.at < n && !tool_flag_starts_command(args.row))
		if (args.row && args.row->type == FLAG_TYPE_EVENTS)
			to->events = args.value;
	if (tool_flag_starts_command(args.row)) {
		printf("command %d\n", args.at);
	} else if (!args.flag) {
		while (row && (row->name || row->letter || row->type == FLAG_TYPE_CALL ||
			       row->type == (args.dashes ? FLAG_TYPE_PIDS : FLAG_TYPE_TAIL)))
			row = tool_flag_next(row);
		if (row && !tool_flag_starts_command(row))
			complete_value(to, row, to->word);
	} else if (args.row && args.row->argument && args.value >= last &&
		   args.value <= last + strlen(last)) {
		to->word = last;
		complete_value(to, args.row, args.value);
	} else {
		complete_flag(to);
	}
}

int cmd_complete(int argc, char **argv)
{
	struct completion to = { .word = argv[argc - 1] };

	if (argc < 3 || strcmp(argv[1], "--") != 0)
		return tool_fail(EXIT_USAGE, "no words; pmctl complete -- WORD... has those after "
					     "pmctl, the last as far as it is typed");
	to.command = tool_find_command(argv[2]);
	if (argc == 3) {
		begin(&to, "words", to.word);
		put_commands(&to);
	} else if (to.command) {
		complete_argument(&to, argc - 2, argv + 2);
	}
	return EXIT_OK;
}
