/* SPDX-License-Identifier: MIT */
/* test_pmctl.c - pmctl's commands, arguments, errors and suggestions; every row is documented. */
#include "lib/base/config.h"
#include "tests/unit/tool_run.h"
#include "tests/unit/unit.h"
#include "tools/cli/flags.h"

#include <ctype.h>
#include <jansson.h>

static struct tool_run run;

static void expect_in(const char *text, const char *part, const char *where)
{
	if (!strstr(text, part))
		fail_msg("%s lacks '%s'; it says:\n%s", where, part, text);
}

static void commands_are_found(void **state)
{
	PMCTL(&run, "--version");
	assert_int_equal(run.code, 0);
	assert_string_equal(run.out, "pmctl " PMC_VERSION "\n");
	PMCTL(&run, "help");
	assert_int_equal(run.code, 0);
	for (unsigned i = 0; i < tool_n_commands; i++) {
		expect_in(run.out, tool_commands[i].name, "pmctl help");
		expect_in(run.out, tool_commands[i].summary, "pmctl help");
		expect_in(run.out, tool_commands[i].group, "pmctl help");
	}
	tool_run(&run, (const char *const[]){ NULL });
	assert_int_equal(run.code, 0);
	expect_in(run.out, "Usage: pmctl", "pmctl alone");
}

static void mistakes_are_refused(void **state)
{
	PMCTL(&run, "repotr");
	assert_int_equal(run.code, EXIT_USAGE);
	expect_in(run.err, "'report'", "pmctl repotr");
	PMCTL(&run, "doc");
	assert_int_equal(run.code, EXIT_USAGE);
	PMCTL(&run, "help", "rnu");
	assert_int_equal(run.code, EXIT_USAGE);
	expect_in(run.err, "'run'", "pmctl help rnu");
	PMCTL(&run, "run", "--agent", "/none", "cmd", "--help");
	assert_int_equal(run.code, EXIT_OURS);
	PMCTL(&run, "run", "--repotr", "off", "true");
	assert_int_equal(run.code, EXIT_USAGE);
	expect_in(run.err, "'--report'", "pmctl run --repotr");
	assert_string_equal(run.out, "");
}

static void errors_are_one_harmless_line(void **state)
{
	PMCTL(&run, "\033[31mred\nline\177\xc2\x9b\xe2\x80\xae\xff\xc3\xa9");
	assert_int_equal(run.code, EXIT_USAGE);
	expect_in(run.err, "'\\x1b[31mred\\x0aline\\x7f\\u{9b}\\u{202e}\\xff\xc3\xa9'",
		  "the refusal");
	assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
}

static void json_errors_are_json(void **state)
{
	json_error_t problem;
	json_t *root, *error;

	PMCTL(&run, "doctor", "--json", "--no\"such\"flag");
	assert_int_equal(run.code, EXIT_USAGE);
	root = json_loads(run.err, 0, &problem);
	assert_non_null(root);
	error = json_object_get(root, "error");
	assert_string_equal(json_string_value(json_object_get(error, "command")), "doctor");
	assert_int_equal(json_integer_value(json_object_get(error, "code")), EXIT_USAGE);
	expect_in(json_string_value(json_object_get(error, "message")), "--no\"such\"flag",
		  "the message");
	json_decref(root);
}

static void nearest(void **state)
{
	static const char *const names[] = { "cycles", "instructions", "branches", "bus-cycles" };

	assert_string_equal(tool_nearest("cycels", names, 4), "cycles");
	assert_string_equal(tool_nearest("cycles", names, 4), "cycles");
	assert_string_equal(tool_nearest("INSTRUCTION", names, 4), "instructions");
	assert_string_equal(tool_nearest("bus_cycles", names, 4), "bus-cycles");
	assert_null(tool_nearest("x", names, 4));
	assert_null(tool_nearest("", names, 4));
	assert_null(tool_nearest("page-faults", names, 4));
	assert_null(tool_nearest("cycles", names, 0));
}

/* A man page as plain text, without macros, escapes and fonts. */
static const char *man_page(const char *name)
{
	static char text[65536];
	char path[64];
	FILE *file;
	size_t n = 0;

	snprintf(path, sizeof(path), "docs/man/%s", name);
	file = fopen(path, "r");

	if (!file)
		fail_msg("cannot open %s: run the unit tests from the top folder", path);
	for (int c; n + 1 < sizeof(text) && (c = fgetc(file)) != EOF;) {
		if (c == '\\') {
			c = fgetc(file);
			if (c == 'f') {
				fgetc(file);
				continue;
			}
			if (c == 'c' || c == '&')
				continue;
		}
		if (c != '"')
			text[n++] = (char)c;
	}
	text[n] = '\0';
	fclose(file);
	return text;
}

static const char *command_page(const char *command)
{
	char name[32];

	snprintf(name, sizeof(name), "pmctl-%s.1", command);
	return man_page(name);
}

/* Whether the text has the word, delimited by characters that are not part of names. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		char before = at == text ? ' ' : at[-1], after = at[len];

		if (!isalnum((unsigned char)before) && before != '-' && before != '_' &&
		    !isalnum((unsigned char)after) && after != '-' && after != '_')
			return true;
	}
	return false;
}

static void expect_word(const char *text, const char *word, const char *where)
{
	if (!has_word(text, word))
		fail_msg("%s does not document %s", where, word);
}

static void commands_are_documented(void **state)
{
	for (unsigned i = 0; i < tool_n_commands; i++) {
		const char *at;
		unsigned examples = 0;

		expect_word(man_page("pmctl.1"), tool_commands[i].name, "pmctl(1)");
		if (strcmp(tool_commands[i].name, "help"))
			expect_word(command_page(tool_commands[i].name), ".SH SYNOPSIS",
				    "its page");
		PMCTL(&run, "help", tool_commands[i].name);
		assert_int_equal(run.code, 0);
		expect_in(run.out, tool_commands[i].synopsis, "its help");
		at = strstr(run.out, "\nExamples:\n");
		assert_non_null(at);
		while ((at = strstr(at + 1, "\n  # ")))
			examples++;
		if (examples != 2)
			fail_msg("help of %s has %u examples", tool_commands[i].name, examples);
	}
}

static void flag_help_is_a_short_phrase(void **state)
{
	for (unsigned i = 0; i < tool_n_commands; i++) {
		const struct tool_flag *flag = tool_commands[i].flags;

		for (; flag; flag = tool_flag_next(flag)) {
			unsigned words = 1;

			for (const char *c = flag->help; c && *c; c++)
				words += *c == ' ';
			if (words > 10)
				fail_msg("%u words: %s", words, flag->help);
		}
	}
}

static void arguments(void **state)
{
	static char *const words[] = { (char *)"report", (char *)"-ox",	  (char *)"f",
				       (char *)"--by=a", (char *)"--top", (char *)"3",
				       (char *)"--",	 (char *)"--wide" };
	static const struct {
		const char *flag, *value;
	} want[] = { { "--output", "x" },
		     { NULL, "f" },
		     { "--by", "a" },
		     { "--top", "3" },
		     { NULL, "--wide" } };
	struct tool_args args;

	tool_args_init(&args, 8, (char **)words);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(tool_args_next(&args));
		assert_non_null(args.row);
		assert_string_equal(args.value, want[i].value);
		assert_true(want[i].flag ? tool_args_is(&args, want[i].flag) : !args.flag);
	}
	assert_false(tool_args_next(&args));
}

/* A table of all types, parsed in place of that of `help`. */
struct options {
	bool yes, fp;
	unsigned small, n_list;
	uint64_t large, ms, s;
	double pct;
	const char *events, *pids, *file, **list;
	char **tail;
};
#define FLAG_OPTIONS struct options
static const struct tool_flag table[] = {
	FLAG_BOOL('y', "--yes", yes, "a switch"),
	FLAG_WORD(0, "--how", "HOW", fp, ((const char *const[]){ "dwarf", "fp" }), "words"),
	FLAG_NUMBER('s', "--small", "N", small, 2, 9, "a small number"),
	FLAG_COUNT(large, "a large number"),
	FLAG_INTERVAL(ms, FLAG_MS, "a time"),
	FLAG_DURATION(s, "a longer time"),
	FLAG_PERCENT(0, "--pct", pct, "a share"),
	FLAG_EVENTS(events),
	FLAG_PROCESSES(pids, "processes"),
	FLAG_OUTPUT(file, "a file"),
	OPERAND_PIDS(pids),
	OPERAND_TAIL(tail),
	OPERAND_LIST(list, n_list),
	FLAG_END,
};

/* The words are those behind pmctl COMMAND; `error`: expected in the message, NULL for none. */
static struct options parsed(const char *error, const char *const *words)
{
	static char text[256];
	struct options options = { .yes = false };
	struct tool_args args = { .argv = (char **)(uintptr_t)words, .at = 0 };
	const struct tool_command command = { .name = "test", .synopsis = "FILE", .flags = table };
	int code;

	while (words[args.argc])
		args.argc++;
	args.command = &command;
	tool_keep_errors(text, sizeof(text));
	code = tool_args_take(&args, &options);
	tool_keep_errors(NULL, 0);
	assert_int_equal(code, error ? EXIT_USAGE : 0);
	if (error)
		expect_in(text, error, "the message");
	return options;
}
#define PARSED(error, ...) parsed(error, (const char *const[]){ __VA_ARGS__, NULL })

static void values_have_types(void **state)
{
	struct options o =
		PARSED(NULL, "-y", "--how=fp", "-s9", "-n", "18446744073709551615", "a", "--pct",
		       "2.5%", "-e", "x", "--events=y,z", "-p1,2", "-o", "f", "-", "--", "-c", "d");

	assert_true(o.yes && o.fp && o.pct == 2.5);
	assert_int_equal(o.small, 9);
	assert_true(o.large == UINT64_MAX);
	assert_string_equal(o.events, "x,y,z");
	assert_string_equal(o.pids, "1,2");
	assert_string_equal(o.file, "f");
	assert_int_equal(o.n_list, 2);
	assert_string_equal(o.list[0], "a");
	assert_string_equal(o.list[1], "-");
	assert_string_equal(o.tail[0], "-c");
	assert_string_equal(PARSED(NULL, "12").pids, "12");
	assert_string_equal(PARSED(NULL, "--", "12").tail[0], "12");
}

/* -I 1000 is in ms, -d 5 in s, as with perf. */
static void times_have_units(void **state)
{
	assert_int_equal(PARSED(NULL, "-I", "1000").ms, 1000000000);
	assert_int_equal(PARSED(NULL, "-I", "1s").ms, 1000000000);
	assert_int_equal(PARSED(NULL, "-I1.5").ms, 1500000);
	assert_int_equal(PARSED(NULL, "-d", "5").s, 5000000000);
	assert_int_equal(PARSED(NULL, "-d", "100ms").s, 100000000);
	PARSED("at least 1ms", "-I", "0.5");
	PARSED("a time such as", "-d", "0");
	PARSED("a time such as", "-d", "5 s");
}

static void values_are_checked(void **state)
{
	PARSED("--yes takes none", "--yes=1");
	PARSED("--yes takes none; write -y -s 9", "-ys9");
	PARSED("--yes takes none; write -y -n N", "-yn");
	PARSED("'1'; give a number from 2 to 9", "-s", "1");
	PARSED("give dwarf or fp", "--how", "zzz");
	PARSED("mean 'dwarf'", "--how", "dwarv");
	PARSED("--how needs a value: dwarf or fp", "--how");
	PARSED("a percentage", "--pct", "5x");
	PARSED("process IDs", "-p", "1,x");
	PARSED("more than one list of processes", "-p", "1", "2");
	PARSED("more than one output", "-o", "f", "-o", "g");
	PARSED("give a file name", "-o", "");
	PARSED("mean '--pct'", "--pctt", "5");
}

static void flags_are_documented(void **state)
{
	for (unsigned i = 0; i < tool_n_commands; i++) {
		const struct tool_flag *flag = tool_commands[i].flags;
		const char *man = strcmp(tool_commands[i].name, "help") ?
					  command_page(tool_commands[i].name) :
					  NULL;

		PMCTL(&run, "help", tool_commands[i].name);
		for (; flag; flag = tool_flag_next(flag)) {
			char letter[3] = { '-', flag->letter };

			if (flag->help)
				expect_in(run.out, flag->help, "help");
			/* In the overview. */
			if (flag->letter == 'h')
				continue;
			if (flag->name) {
				expect_word(man, flag->name, tool_commands[i].name);
				expect_word(run.out, flag->name, "help");
			}
			if (flag->letter) {
				expect_word(man, letter, tool_commands[i].name);
				expect_word(run.out, letter, "help");
			}
		}
	}
}

static const struct {
	const char *env, *flag, *def, *help;
	char letter;
} knobs[] = {
#define X(field, type, env, flag, letter, argument, def, values, help)                             \
	{ env, flag, def, help, letter },
#include "lib/base/config.def"
#undef X
};

static void knobs_are_documented(void **state)
{
	PMCTL(&run, "help", "run");
	for (unsigned i = 0; i < pmc_n_knobs; i++) {
		char letter[3] = { '-', knobs[i].letter };
		const char *man = command_page("run");

		expect_word(man, knobs[i].flag, "pmctl-run(1)");
		expect_word(man, knobs[i].env, "pmctl-run(1)");
		expect_word(run.out, knobs[i].flag, "pmctl help run");
		expect_in(run.out, knobs[i].help, "pmctl help run");
		man = man_page("libpmcagent.7");
		expect_word(man, knobs[i].flag, "libpmcagent(7)");
		expect_word(man, knobs[i].env, "libpmcagent(7)");
		if (knobs[i].def)
			expect_word(man, knobs[i].def, "libpmcagent(7)");
		if (knobs[i].letter) {
			expect_word(man, letter, "libpmcagent(7)");
			expect_word(run.out, letter, "pmctl help run");
		}
	}
}

static void export_formats_are_documented(void **state)
{
	const char *man = command_page("export");

#define X(id, name, ...) expect_word(man, name, "pmctl-export(1)");
#include "tools/export/exporters.def"
#undef X
}

static void help_is_the_same_both_ways(void **state)
{
	static struct tool_run other;

	for (unsigned i = 0; i < tool_n_commands; i++) {
		PMCTL(&run, "help", tool_commands[i].name);
		PMCTL(&other, tool_commands[i].name, "--help");
		assert_string_equal(run.out, other.out);
		PMCTL(&other, tool_commands[i].name, "-h");
		assert_string_equal(run.out, other.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_found),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(errors_are_one_harmless_line),
		cmocka_unit_test(json_errors_are_json),
		cmocka_unit_test(nearest),
		cmocka_unit_test(commands_are_documented),
		cmocka_unit_test(arguments),
		cmocka_unit_test(values_have_types),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(flag_help_is_a_short_phrase),
		cmocka_unit_test(flags_are_documented),
		cmocka_unit_test(knobs_are_documented),
		cmocka_unit_test(export_formats_are_documented),
		cmocka_unit_test(help_is_the_same_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
