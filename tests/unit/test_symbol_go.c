/* SPDX-License-Identifier: MIT */
/*
 * test_symbol_go.c - functions and lines of stripped Go programs: of tables written here by hand,
 * in each form that Go has had, and of a program that the Go toolchain builds.
 */
#include "tools/symbol/symbol.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two functions of 16 bytes behind 32 bytes of C: main.first, line 5 for 4 bytes, then 305, and
 * main.second, line 9 for 4 bytes, then 6; both have 16 bytes of stack from the fifth byte on.
 * Numbers of lists are varints; the lowest bit is a sign, and the first one is added to -1. */
static const char table_s[] =
	".text\n"
	"	.fill 32, 1, 0x90\n"
	".Ltext: .fill 16, 1, 0x90\n"
	"second: .fill 16, 1, 0x90\n"
	".type second, %function\n"
	".size second, 16\n"
	"end: .fill 16, 1, 0x90\n"
	".section .go.buildinfo, \"a\"\n"
	"	.quad 0\n"
	".section .go.module, \"aw\"\n"
	"	.fill 20, 8, 0\n"
	"	.quad .Ltext, 0, .Ltext\n"
	"#if MAGIC < 0xfffffffa\n"
	"#define START(of) .long of - .Ltext\n"
	"#define NUMBER .long\n"
	"#else\n"
	"#define START(of) .quad of\n"
	"#define NUMBER .quad\n"
	"#endif\n"
	"#if MAGIC == 0xfffffffb\n"
	"#define NAMES table\n"
	"#define LINES table\n"
	"#define LIST table\n"
	"#else\n"
	"#define NAMES names\n"
	"#define LINES lines\n"
	"#define LIST list\n"
	"#endif\n"
	".section SECTION, FLAGS\n"
	"	.fill BEFORE, 1, 0\n"
	"table: .long MAGIC\n"
	"	.byte 0, 0, 1, 8\n"
	"	.quad 2\n"
	"#if MAGIC != 0xfffffffb\n"
	"	.quad 1\n"
	"#if MAGIC < 0xfffffffa\n"
	"	.quad TEXT\n"
	"#endif\n"
	"	.quad names - table, units - table, files - table, lines - table, list - table\n"
	"#endif\n"
	"list:	START(.Ltext)\n"
	"	NUMBER of_first - LIST\n"
	"	START(second)\n"
	"	NUMBER of_second - LIST\n"
	"	START(end)\n"
	"#if MAGIC == 0xfffffffb\n"
	"	.long units - table\n"
	"#endif\n"
	"of_first: START(.Ltext)\n"
	"	.long first - NAMES, 0, 0, stack - LINES, file - LINES, line_of_first - LINES, 0, "
	"1\n"
	"of_second: START(second)\n"
	"	.long main - NAMES, 0, 0, stack - LINES, file - LINES, line_of_second - LINES, 0, "
	"1\n"
	"names:	.byte 0\n"
	"first:	.asciz \"main.first\"\n"
	"main:	.asciz \"main.second\"\n"
	"units:	.long -1\n"
	"#if MAGIC == 0xfffffffb\n"
	"	.long path - table\n"
	"#else\n"
	"	.long path - files\n"
	"#endif\n"
	"files:	.byte 0\n"
	"path:	.asciz \"/src/main.go\"\n"
	"lines:	.byte 0\n"
	"#if MAGIC == 0xfffffffb\n"
	"file:	.byte 4, 16, 0\n"
	"#else\n"
	"file:	.byte 2, 16, 0\n"
	"#endif\n"
	"line_of_first: .byte 12, 4, 0xd8, 4, 12, 0\n"
	"line_of_second: .byte 20, 4, 5, 12, 0\n"
	"stack:	.byte 2, 4, 32, 12, 0\n";

static const char program_go[] = "package main\n"
				 "//go:noinline\n"
				 "func compute(n int) int { return n * n }\n"
				 "func main() { println(compute(3)) }\n";

static const struct form {
	const char *name, *magic, *section, *text, *before, *linked;
} forms[] = {
	{ "go1.2", "0xfffffffb", ".gopclntab", ".Ltext", "0", "-static" },
	{ "go1.16", "0xfffffffa", ".gopclntab", ".Ltext", "0", "-static" },
	{ "go1.18", "0xfffffff0", ".gopclntab", ".Ltext", "0", "-static" },
	{ "go1.20", "0xfffffff1", ".gopclntab", ".Ltext", "0", "-static" },
	/* Where the code starts is elsewhere. */
	{ "go1.26", "0xfffffff1", ".gopclntab", "0", "0", "-static" },
	{ "go1.26-pie", "0xfffffff1", ".gopclntab", "0", "0", "-static-pie" },
	{ "go1.20-pie", "0xfffffff1", ".data.rel.ro.gopclntab", ".Ltext", "0", "-static-pie" },
	/* Addresses are in relocations only. */
	{ "go1.20-lld", "0xfffffff1", ".data.rel.ro.gopclntab", ".Ltext", "0",
	  "-static-pie -fuse-ld=lld" },
	{ "go1.26-lld", "0xfffffff1", ".gopclntab", "0", "0", "-static-pie -fuse-ld=lld" },
	/* The C linker has merged sections. */
	{ "cgo-pie", "0xfffffff0", ".data.rel.ro", ".Ltext", "64", "-static-pie" },
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]), CODE = 0x10000, FIRST = CODE + 32 };

static char dir[] = "/tmp/pmc-symbol-go-XXXXXX";

static bool try_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool try_shell(const char *format, ...)
{
	char command[2048];
	int at = snprintf(command, sizeof(command), "cd %s && ", dir);
	va_list args;

	va_start(args, format);
	vsnprintf(command + at, sizeof(command) - (size_t)at, format, args);
	va_end(args);
	return system(command) == 0;
}

static void put_text(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int set_up(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	unsetenv("DEBUGINFOD_URLS");
	put_text("table.S", table_s);
	put_text("program.go", program_go);
	for (unsigned i = 0; i < FORMS; i++) {
		const struct form *form = &forms[i];

		if (!try_shell("gcc -nostdlib %s -Wl,-Ttext=0x%x,-e,0 "
			       "-Wl,--build-id=none,-z,noseparate-code "
			       "-DMAGIC=%s -DTEXT=%s -DBEFORE=%s -DSECTION=%s -DFLAGS='\"%s\"' "
			       "-o %s table.S && strip -o %s.stripped %s",
			       form->linked, CODE, form->magic, form->text, form->before,
			       form->section, strcmp(form->linked, "-static") ? "aw" : "a",
			       form->name, form->name, form->name))
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	return try_shell("rm -r %s", dir) ? 0 : -1;
}

/* "FUNCTION FILE:LINE", of a file or its stripped copy. */
static const char *at(const char *name, const char *suffix, uint64_t address)
{
	struct symbols *symbols = symbols_new(NULL);
	static char text[512];
	const struct symbol_frame *frame;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	frame = symbols_at(symbols, symbols_module(symbols, path, NULL, 0), address)->frames;
	snprintf(text, sizeof(text), "%s %s:%u", frame->function ? frame->function : "-",
		 frame->file ? frame->file : "-", frame->line);
	symbols_free(symbols);
	return text;
}

static void test_forms(void **state)
{
	for (unsigned i = 0; i < FORMS; i++) {
		const char *name = forms[i].name, *stripped = ".stripped";

		print_message("%s\n", name);
		assert_string_equal(at(name, stripped, FIRST - 1), "- -:0");
		assert_string_equal(at(name, stripped, FIRST), "main.first /src/main.go:5");
		assert_string_equal(at(name, stripped, FIRST + 3), "main.first /src/main.go:5");
		assert_string_equal(at(name, stripped, FIRST + 4), "main.first /src/main.go:305");
		assert_string_equal(at(name, stripped, FIRST + 15), "main.first /src/main.go:305");
		assert_string_equal(at(name, stripped, FIRST + 16), "main.second /src/main.go:9");
		assert_string_equal(at(name, stripped, FIRST + 31), "main.second /src/main.go:6");
		assert_string_equal(at(name, stripped, FIRST + 32), "- -:0");
		/* The symbol table comes first. */
		assert_string_equal(at(name, "", FIRST + 16), "second /src/main.go:9");
		assert_string_equal(at(name, "", FIRST), "main.first /src/main.go:5");
	}
}

/* Bytes of stack in a function; -1: unknown. */
static int64_t stack_at(const char *name, uint64_t address)
{
	struct symbols *symbols = symbols_new(NULL);
	uint64_t bytes;
	char path[256];
	bool known;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	known = symbols_go_frame(symbols, symbols_module(symbols, path, NULL, 0), address, &bytes);
	symbols_free(symbols);
	return known ? (int64_t)bytes : -1;
}

static void test_stack(void **state)
{
	for (unsigned i = 0; i < FORMS; i++) {
		assert_int_equal(stack_at(forms[i].name, FIRST - 1), -1);
		assert_int_equal(stack_at(forms[i].name, FIRST + 3), 0);
		assert_int_equal(stack_at(forms[i].name, FIRST + 4), 16);
		assert_int_equal(stack_at(forms[i].name, FIRST + 19), 0);
		assert_int_equal(stack_at(forms[i].name, FIRST + 31), 16);
		assert_int_equal(stack_at(forms[i].name, FIRST + 32), -1);
	}
}

/* One byte of the file after the other is changed: any answer, no crash. */
static void test_damaged(void **state)
{
	static const int values[] = { 0xff, 0x80, 0x00 };

	for (unsigned i = 0; i < FORMS; i++) {
		char path[256];
		struct stat st;

		assert_true(try_shell("cp %s.stripped damaged", forms[i].name));
		snprintf(path, sizeof(path), "%s/damaged", dir);
		assert_int_equal(stat(path, &st), 0);
		for (long byte = 0; byte < st.st_size; byte++) {
			FILE *file = fopen(path, "r+");
			int was;

			assert_non_null(file);
			fseek(file, byte, SEEK_SET);
			was = fgetc(file);
			fseek(file, byte, SEEK_SET);
			fputc(values[byte % 3], file);
			fflush(file);
			at("damaged", "", FIRST + 20);
			stack_at("damaged", FIRST + 20);
			fseek(file, byte, SEEK_SET);
			fputc(was, file);
			fclose(file);
		}
	}
}

/* The address of a function by the symbol table of the program that is not stripped. */
static uint64_t address_of(const char *program, const char *function)
{
	char command[256];
	unsigned long address = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s/%s | sed -n 's/ T %s$//p'", dir, program,
		 function);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%lx", &address), 1);
	assert_int_equal(pclose(pipe), 0);
	return address;
}

static void test_toolchain(void **state)
{
	static const char *const modes[] = { "exe", "pie" };

	if (!try_shell("command -v go >/dev/null")) {
		print_message("no Go toolchain is installed\n");
		skip();
	}
	for (unsigned i = 0; i < 2; i++) {
		char want[256];
		uint64_t address;

		assert_true(try_shell("GOCACHE=%s/cache GO111MODULE=off go build -buildmode=%s -o "
				      "program program.go && strip -o program.stripped program",
				      dir, modes[i]));
		address = address_of("program", "main.compute");
		snprintf(want, sizeof(want), "main.compute %s/program.go:3", dir);
		assert_string_equal(at("program", ".stripped", address), want);
		assert_string_equal(at("program", "", address), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_toolchain),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
