/* SPDX-License-Identifier: MIT */
/* test_json.c - the JSON emitter: structure, escapes, numbers with fixed decimals. */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static char text[1 << 16];
static struct pmc_out out;
static struct pmc_json json;

static void start(void)
{
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_json_init(&json, &out);
}

static void doubles(void **state)
{
	static const struct {
		double value;
		const char *text;
	} table[] = {
		{ 0, "0.000000" },
		{ 1, "1.000000" },
		{ -1.5, "-1.500000" },
		{ 0.1, "0.100000" },
		{ 1.0 / 3, "0.333333" },
		{ 2.0 / 3, "0.666667" },
		{ 123456789.125, "123456789.125000" },
		{ 0.00000049, "0.000000" },
		{ 1e18, "1000000000000000000.000000" },
		{ NAN, "null" },
		{ INFINITY, "null" },
		{ -1e20, "null" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		start();
		pmc_json_double(&json, NULL, table[i].value);
		assert_string_equal(text, table[i].text);
	}
}

static void structure(void **state)
{
	json_t *back;

	start();
	pmc_json_object(&json, NULL);
	pmc_json_u64(&json, "big", UINT64_MAX);
	pmc_json_i64(&json, "small", INT64_MIN);
	pmc_json_array(&json, "empty");
	pmc_json_array_end(&json);
	pmc_json_array(&json, "list");
	pmc_json_line(&json);
	pmc_json_bool(&json, NULL, true);
	pmc_json_line(&json);
	pmc_json_null(&json, NULL);
	pmc_json_object(&json, NULL);
	pmc_json_object_end(&json);
	pmc_json_array_end(&json);
	pmc_json_str(&json, "none", NULL);
	pmc_json_strn(&json, "part", "abcdef", 3);
	pmc_json_object_end(&json);
	assert_int_equal(out.error, 0);
	assert_string_equal(text, "{\"big\":18446744073709551615,\"small\":-9223372036854775808,"
				  "\"empty\":[],\"list\":[\ntrue,\nnull,{}],\"none\":null,"
				  "\"part\":\"abc\"}");
	/* jansson limits integers to 63 bits: parse larger ones as reals */
	back = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
	assert_non_null(back);
	assert_int_equal(json_array_size(json_object_get(back, "list")), 3);
	json_decref(back);
}

static void every_byte(void **state)
{
	char raw[4];

	for (unsigned lead = 0; lead < 256; lead++) {
		for (unsigned next = 0; next < 256; next++) {
			raw[0] = (char)lead;
			raw[1] = (char)next;
			start();
			pmc_json_array(&json, NULL);
			pmc_json_strn(&json, NULL, raw, 2);
			pmc_json_array_end(&json);
			json_t *back = json_loads(text, JSON_ALLOW_NUL, NULL);

			if (!back)
				fail_msg("bytes %02x %02x: %s", lead, next, text);
			json_decref(back);
			for (const char *p = text; *p; p++) {
				uint32_t code;
				size_t n = pmc_utf8_decode(p, strlen(p), &code);

				assert_true(n > 0);
				assert_true(pmc_utf8_width(code) >= 0);
				p += n - 1;
			}
		}
	}
	start();
	pmc_json_str(&json, NULL, "a\x1b[31m\"\\\n\xc2\x9b\xff日本\xed\xa0\x80\xf4\x90\x80\x80");
	assert_string_equal(text, "\"a\\u001b[31m\\\"\\\\\\n\\u009b\xef\xbf\xbd日本"
				  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
				  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	start();
	pmc_json_str(&json, NULL, "\xe2\x80\xae\xf3\xa0\x80\x81");
	assert_string_equal(text, "\"\\u202e\\udb40\\udc01\"");
}

/* No name ends a script element, in a value or a key. */
static void in_html(void **state)
{
	start();
	out.in_html = true;
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "</a&>", "</script>&amp;<!--\xe2\x80\xa8\xe2\x80\xa9");
	pmc_json_object_end(&json);
	assert_string_equal(text, "{\"\\u003c/a\\u0026>\":\"\\u003c/script>\\u0026amp;"
				  "\\u003c!--\\u2028\\u2029\"}");
	start();
	pmc_json_str(&json, NULL, "<&>");
	assert_string_equal(text, "\"<&>\"");
}

static void safe(const char *in, int columns, const char *want, int width)
{
	pmc_out_to_mem(&out, text, sizeof(text));
	assert_int_equal(pmc_utf8_safe(&out, in, strlen(in), columns), width);
	assert_string_equal(text, want);
	assert_int_equal(pmc_utf8_columns(text, strlen(text)), width);
}

static void harmless(void **state)
{
	safe("worker", 0, "worker", 6);
	safe("worker", 6, "worker", 6);
	safe("worker", 5, "work…", 5);
	safe("\x1b[2J", 0, "\\x1b[2J", 7);
	safe("\x1b[2J", 4, "…", 1);
	safe("\xff\xfe", 0, "\\xff\\xfe", 8);
	safe("\xc2\x9b", 0, "\\u{9b}", 6);
	safe("\xe2\x80\xae"
	     "x",
	     0, "\\u{202e}x", 9);
	safe("日本", 0, "日本", 4);
	safe("日本", 3, "日…", 3);
	safe("日本x", 4, "日…", 3);
	safe("e\xcc\x81t", 0, "e\xcc\x81t", 2);
	safe("", 3, "", 0);
	safe("a\nb\tc", 0, "a\\x0ab\\x09c", 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doubles),    cmocka_unit_test(structure),
		cmocka_unit_test(every_byte), cmocka_unit_test(in_html),
		cmocka_unit_test(harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
