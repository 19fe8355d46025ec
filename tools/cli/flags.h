/* SPDX-License-Identifier: MIT */
/*
 * flags.h - tables of flags: each command has one, from which its arguments are parsed.
 *
 * A row has the type of the value and the member of the command's options that gets it; help,
 * suggestions and errors come from the rows, too. A file that has a table defines FLAG_OPTIONS as
 * the type of these options. The command's page documents each flag.
 */
#pragma once

#include "tools/cli/pmctl.h"

#include <stddef.h>

enum tool_flag_type {
	FLAG_TYPE_HELP,	    /* --help, the last row of each table */
	FLAG_TYPE_CONSTANT, /* no value: an integer, bool or enum gets `least` */
	FLAG_TYPE_TEXT,
	FLAG_TYPE_FILE,	     /* a text that is not empty */
	FLAG_TYPE_DIRECTORY, /* that exists */
	FLAG_TYPE_EVENTS,    /* -e A -e B is -e A,B */
	FLAG_TYPE_LIST,	     /* repeatable: const char **, and its length */
	FLAG_TYPE_NUMBER,    /* any integer */
	FLAG_TYPE_TIME,	     /* uint64_t, in ns */
	FLAG_TYPE_PERCENT,   /* double */
	FLAG_TYPE_WORD,	     /* the index of the word: any integer, bool or enum */
	FLAG_TYPE_WORDS,     /* indices of words joined by commas, bytes ended by 0 */
	FLAG_TYPE_PIDS,	     /* a checked text such as 12,34 */
	FLAG_TYPE_CALL,	     /* set() */
	/* operands only */
	FLAG_TYPE_COMMAND, /* char **: starts at the first operand */
	FLAG_TYPE_TAIL,	   /* char **: starts after "--" */
};

struct tool_args;
struct table_column;

struct tool_flag {
	const char *name; /* "--flag"; NULL: a letter only */
	char letter;	  /* 0: none; without name and letter the row is of operands */
	enum tool_flag_type type;
	const char *argument; /* NULL: takes none; "[...]": optional; pmctl complete knows some */
	const char *help;     /* without the words; NULL: of operands */
	const char *def;      /* for the help; NULL: none */
	const char *accepted; /* for errors; NULL: by the type */
	const char *once;     /* what may be given once only; NULL: the last one counts */
	size_t at, size, length_at; /* of the member, and the place of the length of a list */
	uint64_t least, most;
	uint64_t unit_ns; /* of a time without a unit */
	/* Some may be NULL: no word has that value. The first is the default. */
	const char *const *words, *const *aliases;
	unsigned n_words;
	/* For pmctl complete: of --columns, the columns of the rows, and whether there are those of
	 * events and metrics, too; of processes, only those with the agent. */
	const struct table_column *columns;
	unsigned n_columns;
	bool counts, agent;
	int (*set)(void *options, const struct tool_args *args); /* 0 or the exit code */
	bool pair; /* NAME VALUE stands for NAME=VALUE */
};

/* The next row of the table; NULL: it was the last. */
static inline const struct tool_flag *tool_flag_next(const struct tool_flag *row)
{
	return row->type == FLAG_TYPE_HELP ? NULL : row + 1;
}

/* Whether the rest of the arguments is that of a command to run. */
static inline bool tool_flag_starts_command(const struct tool_flag *row)
{
	return row && (row->type == FLAG_TYPE_COMMAND || row->type == FLAG_TYPE_TAIL);
}

/* ---- rows --------------------------------------------------------------------------------- */
#define FLAG_ROW(key, flag, takes, text, kind, member, ...)                                        \
	{                                                                                          \
		.letter = key, .name = flag, .argument = takes, .help = text, .type = kind,        \
		.at = offsetof(FLAG_OPTIONS, member), .size = sizeof(((FLAG_OPTIONS *)0)->member), \
		##__VA_ARGS__                                                                      \
	}
#define FLAG_CALL(key, flag, takes, function, text, ...)                                           \
	{                                                                                          \
		.letter = key, .name = flag, .argument = takes, .help = text,                      \
		.type = FLAG_TYPE_CALL, .set = function, ##__VA_ARGS__                             \
	}
#define FLAG_END                                                                                   \
	{                                                                                          \
		.letter = 'h', .name = "--help", .help = "this text", .type = FLAG_TYPE_HELP       \
	}

/* Any may end with further fields of the row: .once = "output". */
#define FLAG_CONSTANT(key, flag, member, value, text, ...)                                         \
	FLAG_ROW(key, flag, NULL, text, FLAG_TYPE_CONSTANT, member, .least = value, ##__VA_ARGS__)
#define FLAG_BOOL(key, flag, member, text) FLAG_CONSTANT(key, flag, member, true, text)
#define FLAG_TEXT(key, flag, takes, member, text, ...)                                             \
	FLAG_ROW(key, flag, takes, text, FLAG_TYPE_TEXT, member, ##__VA_ARGS__)
#define FLAG_LIST(key, flag, takes, member, length, text, ...)                                     \
	FLAG_ROW(key, flag, takes, text, FLAG_TYPE_LIST, member,                                   \
		 .length_at = offsetof(FLAG_OPTIONS, length), ##__VA_ARGS__)
#define FLAG_NUMBER(key, flag, takes, member, from, to, text, ...)                                 \
	FLAG_ROW(key, flag, takes, text, FLAG_TYPE_NUMBER, member, .least = from, .most = to,      \
		 ##__VA_ARGS__)
#define FLAG_TIME(key, flag, member, unit, from, text)                                             \
	FLAG_ROW(key, flag, "TIME", text, FLAG_TYPE_TIME, member, .unit_ns = unit, .least = from)
#define FLAG_MS UINT64_C(1000000)
#define FLAG_S	(1000 * FLAG_MS)
#define FLAG_PERCENT(key, flag, member, text)                                                      \
	FLAG_ROW(key, flag, "PCT", text, FLAG_TYPE_PERCENT, member)
#define FLAG_WORD(key, flag, takes, member, list, text, ...)                                       \
	FLAG_ROW(key, flag, takes, text, FLAG_TYPE_WORD, member, .words = list,                    \
		 .n_words = sizeof(list) / sizeof(char *), ##__VA_ARGS__)

/* Flags of several commands: one spelling, one meaning. */
#define FLAG_EVENTS(member)                                                                        \
	FLAG_ROW('e', "--events", "EVENTS", "events to count, as for PMC_EVENTS",                  \
		 FLAG_TYPE_EVENTS, member)
#define FLAG_ID(key, flag, takes, member, kind, text)                                              \
	FLAG_NUMBER(key, flag, takes, member, 1, INT_MAX, text, .once = kind,                      \
		    .accepted = "a " kind " ID")
#define FLAG_PROCESS(member, text) FLAG_ID('p', "--pid", "PID", member, "process", text)
#define FLAG_PROCESSES(member, text, ...)                                                          \
	FLAG_ROW('p', "--pid", "PID", text, FLAG_TYPE_PIDS, member,                                \
		 .once = "list of processes (-p takes PID,PID)", ##__VA_ARGS__)

#define FLAG_NAMED(member, text, ...)                                                              \
	FLAG_TEXT(0, "--name", "GLOB", member, text, .once = "name", ##__VA_ARGS__)
#define FLAG_MACHINE(member, text) FLAG_BOOL('a', "--all-cpus", member, text)

#define FLAG_INTERVAL(member, from, text) FLAG_TIME('I', "--interval", member, FLAG_MS, from, text)

#define FLAG_COUNT(member, text) FLAG_NUMBER('n', "--count", "N", member, 1, UINT64_MAX, text)

#define FLAG_DURATION(member, text) FLAG_TIME('d', "--duration", member, FLAG_S, 1, text)
#define FLAG_OUTPUT(member, text)                                                                  \
	FLAG_ROW('o', "--output", "FILE", text, FLAG_TYPE_FILE, member, .once = "output")
#define FLAG_BY(member, keys, ...) FLAG_WORD(0, "--by", "KEY", member, keys, "rows", ##__VA_ARGS__)
/* Of several keys. */
#define FLAG_BY_KEYS(member, keys, ...)                                                            \
	FLAG_ROW(0, "--by", "KEY[,KEY]", "rows", FLAG_TYPE_WORDS, member, .words = keys,           \
		 .n_words = sizeof(keys) / sizeof(char *), ##__VA_ARGS__)

#define FLAG_SORT(key, member, text) FLAG_TEXT(key, "--sort", "COLUMN", member, text)
#define FLAG_WHERE(member, length)                                                                 \
	FLAG_LIST(0, "--where", "COLUMN=GLOB", member, length,                                     \
		  "filter on a column; repeatable, all must match")
#define FLAG_COLUMNS(member, list, ...)                                                            \
	FLAG_TEXT(0, "--columns", "A,B,C", member, "columns and their order, in tables and CSV",   \
		  .columns = list, .n_columns = sizeof(list) / sizeof((list)[0]), ##__VA_ARGS__)
#define FLAG_TOP(member, text) FLAG_NUMBER(0, "--top", "N", member, 0, INT_MAX, text)
#define FLAG_FORMAT(member, ...)                                                                   \
	FLAG_WORD(0, "--format", "FORMAT", member, ((const char *const[]){ __VA_ARGS__ }), "output")
#define FLAG_WIDTH(member)                                                                         \
	FLAG_NUMBER(0, "--width", "N", member, 20, 10000,                                          \
		    "width of the table instead of the terminal's")
#define FLAG_EVENT(member, text) FLAG_TEXT(0, "--event", "EVENT", member, text)
#define FLAG_SYMFS(member)                                                                         \
	FLAG_ROW(0, "--symfs", "DIR", "root directory of modules and debug files",                 \
		 FLAG_TYPE_DIRECTORY, member)

/* Rows of operands: an operand is that of the first row that takes it. */
#define OPERAND_COMMAND(member)		 FLAG_ROW(0, NULL, NULL, NULL, FLAG_TYPE_COMMAND, member)
#define OPERAND_TAIL(member)		 FLAG_ROW(0, NULL, NULL, NULL, FLAG_TYPE_TAIL, member)
#define OPERAND_LIST(member, length)	 FLAG_LIST(0, NULL, "FILE", member, length, NULL)
#define OPERAND_TEXT(takes, member, ...) FLAG_TEXT(0, NULL, takes, member, NULL, ##__VA_ARGS__)
/* A number in front of "--" may be meant as a process ID. */
#define OPERAND_PIDS(member)                                                                       \
	FLAG_ROW(0, NULL, "PID", NULL, FLAG_TYPE_PIDS, member,                                     \
		 .once = "list of processes (-p takes PID,PID)")
#define OPERAND_NO_NUMBER FLAG_CALL(0, NULL, NULL, tool_refuse_number, NULL)

/* ---- parsing ------------------------------------------------------------------------------ */
struct tool_args {
	const struct tool_command *command;
	int argc, at;
	char **argv;
	bool dashes; /* after "--": only operands follow */
	/* the current argument */
	const struct tool_flag *row; /* NULL: unknown */
	const char *flag;	     /* by its long name if it has one; NULL: an operand */
	const char *value;	     /* of the flag, NULL if it takes none; or the operand */
};

/* Sets the options by the table of the command argv[0]. 0, or the exit code with the error printed.
 * Lists and texts live as long as pmctl. */
int tool_args_parse(int argc, char **argv, void *options);
int tool_args_take(struct tool_args *args, void *options); /* the rest of these arguments */
/* The same without setting anything: the next argument, right or wrong; false: no more. */
void tool_args_init(struct tool_args *args, int argc, char **argv);
bool tool_args_next(struct tool_args *args);
bool tool_args_is(const struct tool_args *args, const char *flag);
/* Looks through the arguments before the command parses them: whether they have --help; --json and
 * --format json set tool_json_errors. */
bool tool_args_scan(int argc, char **argv);

/* For set(): 0, or the exit code with the error printed. */
/* "invalid FLAG 'VALUE'; give ACCEPTED" */
int tool_fail_value(const struct tool_args *args, const char *accepted);
int tool_refuse_number(void *options, const struct tool_args *args);
/* "5", "2.5%"; false: it is no percentage from 0. */
bool tool_percent(const char *text, double *percent);

/* pmc_events_parse(): 0, or the exit code with the error printed, "SOURCE 'TEXT': why". */
struct pmc_arena;
struct pmc_events;
int tool_parse_events(const char *source, const char *text, struct pmc_arena *arena,
		      struct pmc_events *events);

/* "a, b or c"; help: with the default marked. */
void tool_words_text(const struct tool_flag *row, bool help, char *text, size_t size);
