/* SPDX-License-Identifier: MIT */
/* test_command_line.c - masking of secrets in command lines; other text is unchanged. */
#include "lib/dump/command_line.h"
#include "tests/unit/unit.h"

#include <string.h>

static void shows(const char *const *argv, enum pmc_args how, const char *expected)
{
	char text[PMC_COMMAND_LINE_BYTES];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_command_line(&out, (char *const *)(uintptr_t)argv, how);
	assert_string_equal(text, expected);
}

#define MASKED(expected, ...)                                                                      \
	shows((const char *const[]){ __VA_ARGS__, NULL }, PMC_ARGS_MASKED, expected)

static void arguments(void **state)
{
	MASKED("cmd PASSWORD=*** x", "cmd", "PASSWORD=hunter2", "x");
	MASKED("cmd --api-token=***", "cmd", "--api-token=a=b c;d");
	MASKED("cmd -Ddb.Password=***", "cmd", "-Ddb.Password=a,b");
	MASKED("cmd --secret *** -v", "cmd", "--secret", "two words", "-v");
	MASKED("cmd -storepass *** x", "cmd", "-storepass", "-changeit", "x");
	MASKED("cmd --no-pass --verbose", "cmd", "--no-pass", "--verbose");
	MASKED("cmd AWS_CREDENTIALS=***", "cmd", "AWS_CREDENTIALS=");
	MASKED("cmd --key", "cmd", "--key");
	MASKED("--token a b", "--token", "a", "b");
}

static void inside_arguments(void **state)
{
	MASKED("sh -c export TOKEN=***; run --pass *** -v", "sh", "-c",
	       "export TOKEN=abc; run --pass hunter2 -v");
	MASKED("sh -c A='b c' SECRET=*** x", "sh", "-c", "A='b c' SECRET='d e' x");
	MASKED("sh -c run \"--password=***\" '--token=***'; x", "sh", "-c",
	       "run \"--password=a hunter2\" '--token=b c'; x");
	MASKED("sh -c run '--token' *** \"--pass\" *** -v", "sh", "-c",
	       "run '--token' 'a b' \"--pass\" hunter2 -v");
	MASKED("sh -c run '--pass=***", "sh", "-c", "run '--pass=a b");
	MASKED("curl http://h/?a=1&api_key=***&b=2", "curl", "http://h/?a=1&api_key=xyz&b=2");
	MASKED("x --set=db.password=***,a=b", "x", "--set=db.password=c,a=b");
}

static void urls(void **state)
{
	MASKED("git postgres://u:***@h:5432/db", "git", "postgres://u:p%40:w@h:5432/db");
	MASKED("git https://u:***@h", "git", "https://u:a@b@h");
	MASKED("git https://u@h:80/a:b@c https://h", "git", "https://u@h:80/a:b@c", "https://h");
	MASKED("x a://b:***@c d://e:***@f", "x", "a://b:1@c d://e:2@f");
}

static void other_words_stay(void **state)
{
	MASKED("dd if=/dev/zero of=x bs=4k", "dd", "if=/dev/zero", "of=x", "bs=4k");
	MASKED("ls - -- = == :// a://", "ls", "-", "--", "=", "==", "://", "a://");
	MASKED("", "");
}

/* A secret's word is found in other words. */
static void words_in_words(void **state)
{
	MASKED("x storepass=*** APIKEY=*** authTokens=*** key1=***", "x", "storepass=a", "APIKEY=b",
	       "authTokens=c", "key1=d");
}

static void the_knob(void **state)
{
	const char *const argv[] = { "cmd", "--password", "p", NULL }, *const none[] = { NULL };

	shows(argv, PMC_ARGS_FULL, "cmd --password p");
	shows(argv, PMC_ARGS_MASKED, "cmd --password ***");
	shows(argv, PMC_ARGS_NAME, "cmd");
	shows(none, PMC_ARGS_NAME, "");
}

/* Masking comes before truncation: a truncated secret could no longer be recognised. */
static void long_ones_are_cut(void **state)
{
	static char big[2 * PMC_COMMAND_LINE_BYTES];
	char text[PMC_COMMAND_LINE_BYTES];
	const char *argv[] = { "cmd", "--password", big, "--token", "t", NULL };
	struct pmc_out out;

	memset(big, 'x', sizeof(big) - 1);
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_command_line(&out, (char *const *)(uintptr_t)argv, PMC_ARGS_MASKED);
	assert_string_equal(text, "cmd --password *** --token ***");
	argv[1] = "--other";
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_command_line(&out, (char *const *)(uintptr_t)argv, PMC_ARGS_MASKED);
	assert_int_equal(strlen(text), sizeof(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(inside_arguments),
		cmocka_unit_test(urls),
		cmocka_unit_test(other_words_stay),
		cmocka_unit_test(words_in_words),
		cmocka_unit_test(the_knob),
		cmocka_unit_test(long_ones_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
