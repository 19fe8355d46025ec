/* SPDX-License-Identifier: MIT */
/* test_out.c - text output compared with printf, and full buffers. */
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/base/utf8.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAME(format, ...)                                                                          \
	do {                                                                                       \
		char want[256], got[256];                                                          \
		struct pmc_out o;                                                                  \
		snprintf(want, sizeof(want), format, __VA_ARGS__);                                 \
		pmc_out_to_mem(&o, got, sizeof(got));                                              \
		pmc_outf(&o, format, __VA_ARGS__);                                                 \
		assert_string_equal(got, want);                                                    \
	} while (0)

static void formats_like_printf(void **state)
{
	SAME("%s|%5s|%-5s|%.2s|%.*s", "abc", "abc", "abc", "abc", 1, "abc");
	SAME("%d %d %d %5d|%-5d|%05d", 0, -1, 2147483647, -42, -42, 42);
	SAME("%u %x %08x %lu %lx", 7u, 255u, 48879u, 1ul << 40, ~0ul);
	SAME("%lld %llu %llx %zu", -9223372036854775807ll - 1, ~0ull, ~0ull, (size_t)9);
	SAME("100%% %c%c %*d", 'a', 'b', 6, 12);
}

static void fixed_agrees_with_printf(void **state)
{
	srand(7);
	for (unsigned i = 0; i < 20000; i++) {
		/* Exact in binary, and ties are skipped: both functions round the same number. */
		double value = (rand() - RAND_MAX / 2) / 1024.0 * (i % 7 ? 1 : 1e6);
		char want[64], got[64];
		struct pmc_out o;
		int decimals = (int)(i % 4);

		if (fabs(value * pow(10, decimals) - trunc(value * pow(10, decimals))) == 0.5)
			continue;
		snprintf(want, sizeof(want), "%.*f", decimals, value);
		if (strspn(want, "-0.") == strlen(want))
			memmove(want, want + (want[0] == '-'), strlen(want));
		pmc_out_to_mem(&o, got, sizeof(got));
		pmc_out_fixed(&o, value, decimals);
		assert_string_equal(got, want);
	}
}

static void what_is_no_number_is_a_dash(void **state)
{
	char got[64];
	struct pmc_out o;

	pmc_out_to_mem(&o, got, sizeof(got));
	pmc_out_fixed(&o, NAN, 2);
	pmc_out_fixed(&o, INFINITY, 2);
	pmc_out_fixed(&o, 0.999, 2);
	pmc_out_char(&o, ' ');
	pmc_out_fixed(&o, -0.001, 2);
	assert_string_equal(got, "--1.00 0.00");
}

static void full_memory_is_an_error_and_terminated(void **state)
{
	struct pmc_out o;
	char got[8];

	pmc_out_to_mem(&o, got, sizeof(got));
	pmc_out_str(&o, "0123456789");
	assert_string_equal(got, "0123456");
	assert_int_equal(o.error, -ENOSPC);
}

static void descriptor_output_is_whole_and_its_errors_stick(void **state)
{
	char small[16], back[128] = "";
	struct pmc_out o;
	int pipefd[2], full;

	assert_int_equal(pipe(pipefd), 0);
	pmc_out_to_fd(&o, pipefd[1], small, sizeof(small));
	for (unsigned i = 0; i < 10; i++)
		pmc_outf(&o, "line %u\n", i);
	pmc_out_str(&o, "longer than the whole buffer is");
	assert_int_equal(pmc_out_flush(&o), 0);
	assert_int_equal(read(pipefd[0], back, sizeof(back) - 1), 10 * 7 + 31);
	assert_non_null(strstr(back, "line 0\nline 1\n"));
	assert_non_null(strstr(back, "line 9\nlonger than the whole buffer is"));
	close(pipefd[0]);
	close(pipefd[1]);
	full = open("/dev/full", O_WRONLY);
	pmc_out_to_fd(&o, full, small, sizeof(small));
	pmc_out_str(&o, "x");
	assert_int_equal(pmc_out_flush(&o), -ENOSPC);
	pmc_out_str(&o, "y");
	assert_int_equal(pmc_out_flush(&o), -ENOSPC);
	close(full);
}

/* The shell makes the name of the word again. */
static void packed(void **state)
{
	uint8_t bytes[64] = { [3] = 0x1f, [40] = 0xff, [63] = 7 }, got[64];
	char text[140];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	pmc_out_packed(&out, bytes, sizeof(bytes));
	assert_string_equal(text, "i1fzvffzh07");
	assert_int_equal(pmc_number_unpack(text, out.len, got, sizeof(got)), 64);
	assert_memory_equal(got, bytes, sizeof(bytes));
	assert_int_equal(pmc_number_unpack(text, out.len, got, 63), -1);
	assert_int_equal(pmc_number_unpack(text, out.len - 1, got, sizeof(got)), -1);
	assert_int_equal(pmc_number_unpack("{", 1, got, sizeof(got)), -1);
	assert_int_equal(pmc_number_unpack("zzzz", 4, got, sizeof(got)), -1);
	assert_int_equal(pmc_number_unpack("", 0, got, sizeof(got)), 0);
}

static void words_for_the_shell(void **state)
{
	static const struct {
		const char *name, *word;
		bool ascii;
	} cases[] = {
		{ "run.pmc", "run.pmc", false },
		{ "a b", "'a b'", false },
		{ "it's $HOME", "'it'\\''s $HOME'", false },
		{ "\xc3\xa9", "'\xc3\xa9'", false },
		{ "\xc3\xa9", "$'\\xc3\\xa9'", true },
		{ "a\x1b[31m'\\", "$'a\\x1b[31m\\'\\\\'", false },
		{ "-x", "./-x", false },
		{ "-x y", "./'-x y'", false },
		{ "", "''", false },
	};
	char text[64];
	struct pmc_out out;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_utf8_shell(&out, cases[i].name, cases[i].ascii);
		assert_string_equal(text, cases[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_like_printf),
		cmocka_unit_test(fixed_agrees_with_printf),
		cmocka_unit_test(what_is_no_number_is_a_dash),
		cmocka_unit_test(full_memory_is_an_error_and_terminated),
		cmocka_unit_test(descriptor_output_is_whole_and_its_errors_stick),
		cmocka_unit_test(packed),
		cmocka_unit_test(words_for_the_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
