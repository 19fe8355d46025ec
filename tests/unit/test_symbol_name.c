/* SPDX-License-Identifier: MIT */
/* test_symbol_name.c - names from perf maps, and of C++ and Rust functions. */
#include "tools/symbol/symbol.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct symbols *symbols;

static int begin(void **state)
{
	symbols = symbols_new(NULL);
	return 0;
}

static int end(void **state)
{
	symbols_free(symbols);
	return 0;
}

/* The one frame of an address, without a line. */
static void is_named(struct symbol_module *module, uint64_t address, const char *name)
{
	const struct symbol_place *place = symbols_at(symbols, module, address);

	assert_int_equal(place->n, 1);
	assert_null(place->frames[0].file);
	if (name)
		assert_string_equal(place->frames[0].function, name);
	else
		assert_null(place->frames[0].function);
}

static struct symbol_module *perf_map(pid_t pid, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return symbols_perf_map(symbols, pid);
}

static void test_perf_map(void **state)
{
	const pid_t pid = getpid();
	struct symbol_module *module = perf_map(pid, "7f0000001000 100 LInterpreter;run\n"
						     "not a line\n"
						     "\n"
						     "7f0000002000 40 old::name\n"
						     "ffffffffffffffff 2 wraps\n"
						     "7f0000002000 20 new name with spaces\n"
						     "7f0000003000 10 _RNvC6_123foo3bar\n");
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	is_named(module, 0x7f00000010ff, "LInterpreter;run");
	is_named(module, 0x7f0000001100, NULL);
	is_named(module, 0x7f000000201f, "new name with spaces");
	is_named(module, 0x7f0000003000, "123foo::bar");
	assert_int_equal(symbols_status(symbols, module), SYMBOL_OPEN);
	assert_int_equal(symbols_status(symbols, symbols_perf_map(symbols, 0x3fffffff)),
			 SYMBOL_MISSING);
	unlink(path);
}

static void test_large_perf_map(void **state)
{
	const pid_t pid = getpid() + (1 << 22);
	struct symbol_module *module = perf_map(pid, "1000 100 first\n");
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	assert_int_equal(truncate(path, SYMBOL_PERF_MAP_MOST + 1), 0);
	is_named(module, 0x1000, NULL);
	assert_int_equal(symbols_status(symbols, module), SYMBOL_TOO_LARGE);
	unlink(path);
}

/* Another user can put a file, or a link to one, in that place. */
static void test_foreign_perf_map(void **state)
{
	const pid_t pid = getpid() + (1 << 23);
	char path[64], target[] = "/tmp/pmc-map-XXXXXX";
	int fd = mkstemp(target);
	struct symbol_module *module;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	assert_true(fd >= 0 && write(fd, "1000 100 linked\n", 16) == 16 && close(fd) == 0);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
	module = symbols_perf_map(symbols, pid);
	is_named(module, 0x1000, NULL);
	unlink(path);
	unlink(target);
	if (geteuid() != 0)
		return;
	module = perf_map(pid + 1, "1000 100 foreign\n");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid + 1);
	assert_int_equal(chown(path, 65534, 65534), 0);
	is_named(module, 0x1000, NULL);
	assert_int_equal(symbols_status(symbols, module), SYMBOL_DIFFERS);
	unlink(path);
}

static void test_demangle(void **state)
{
	static const char *const names[][2] = {
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		  "17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZL6helperi", "helper(int)" },
		{ "_Z3fooi.constprop.0", "foo(int) [clone .constprop.0]" },
		{ "main", NULL },
		{ "_start", NULL },
		{ "_Z", NULL },
		{ "_R", NULL },
		{ "", NULL },
	};
	char text[256];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned len = symbols_demangle(names[i][0], text, sizeof(text));

		if (names[i][1])
			assert_string_equal(text, names[i][1]);
		assert_int_equal(len, names[i][1] ? strlen(names[i][1]) : 0);
	}
}

/* Each substitution doubles the text: 60 of them are more than any memory. */
static void test_demangle_bomb(void **state)
{
	char name[1024] = "_Z1f1aIS_S_E", text[300];
	size_t at = strlen(name);

	for (unsigned i = 0; i < 60; i++) {
		const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char id[8];

		if (i < 36)
			snprintf(id, sizeof(id), "S%c_", digits[i]);
		else
			snprintf(id, sizeof(id), "S1%c_", digits[i - 36]);
		at += (size_t)snprintf(name + at, sizeof(name) - at, "1bI%s%sE", id, id);
	}
	assert_int_equal(symbols_demangle(name, text, sizeof(text)), sizeof(text) - 1);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_int_equal(symbols_demangle("_ZL6helperi", text, 7), 6);
	assert_string_equal(text, "helper");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_perf_map), TEST(test_large_perf_map), TEST(test_foreign_perf_map),
		TEST(test_demangle), TEST(test_demangle_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
