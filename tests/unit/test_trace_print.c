/* SPDX-License-Identifier: MIT */
/* test_trace_print.c - tools/trace/print.c: print formats, and those that cannot be evaluated. */
#include "tools/trace/trace.h"
#include "tests/unit/unit.h"

#include <string.h>

#define FIELDS(id)                                                                                 \
	"name: made" #id "\n"                                                                      \
	"ID: " #id "\n"                                                                            \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                                 \
	"\n"                                                                                       \
	"\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n"                                      \
	"\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:0;\n"                        \
	"\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"                                  \
	"\n"                                                                                       \
	"print fmt: "

struct made {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint32_t state, position;
	char comm[8], text[8];
};

/* The text of a record whose format has the ID, or NULL. */
static const char *text_of(const char *format, const struct made *made, size_t size)
{
	static struct trace_print *print;
	struct pmc_record record = { .type = PERF_RECORD_SAMPLE,
				     .present = PERF_SAMPLE_RAW,
				     .sample.raw = { .data = (const unsigned char *)made,
						     .size = size } };
	struct pmc_tracepoint *tracepoint;
	static char copy[4096];
	const char *text;

	assert_int_equal(pmc_tracepoint_parse(&tracepoint, format, strlen(format), NULL), 0);
	print = trace_print_new();
	assert_non_null(print);
	trace_print_parse(print, "made", format, strlen(format));
	text = trace_print_text(print, tracepoint, &record);
	if (text)
		strcpy(copy, text);
	trace_print_free(print);
	pmc_tracepoint_free(tracepoint);
	return text ? copy : NULL;
}

static const struct made made = {
	.type = 700,
	.pid = 12,
	.state = 5,
	.position = 4u << 16 | 24,
	.comm = "sh\x1b",
	.text = "abc",
};

static void test_evaluates(void **state)
{
	assert_string_equal(
		text_of(FIELDS(700) "\"%s state=%s %#06x <%s>\", __get_str(text), "
				    "__print_flags(REC->state, \"|\", { 1, \"R\" }, { 4, \"D\" }), "
				    "REC->state << 4, REC->comm\n",
			&made, sizeof(made)),
		"abc state=R|D 0x0050 <sh\x1b>");
	assert_string_equal(
		text_of(FIELDS(700) "\"%s\", REC->state > 4 ? "
				    "__print_symbolic(REC->state, { 5, \"five\" }) : \"\"\n",
			&made, sizeof(made)),
		"five");
}

static void test_does_not_evaluate(void **state)
{
	static const char plain[] = FIELDS(700) "\"%s\", __get_str(text)\n";
	struct made other = made;

	assert_null(
		text_of(FIELDS(700) "\"%d\", some_function(REC->state)\n", &made, sizeof(made)));
	/* The text is behind the end. */
	assert_null(text_of(plain, &made, sizeof(made) - 8));
	other.position = 5u << 16 | 28;
	assert_null(text_of(plain, &other, sizeof(other)));
	assert_null(text_of(plain, &made, 2));
	/* A text without an end. */
	other.position = 8u << 16 | 24;
	memset(other.text, 'x', sizeof(other.text));
	assert_string_equal(text_of(plain, &other, sizeof(other)), "xxxxxxxx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evaluates),
		cmocka_unit_test(test_does_not_evaluate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
