/* SPDX-License-Identifier: MIT */
/* test_record_text.c - records as lines of text. */
#include "tests/unit/unit.h"

#include <pmc/record.h>

#include <errno.h>
#include <string.h>

static struct perf_event_attr attr = { .sample_id_all = 1 };
static char line[256];

/* The text of a record with this body; *error is that of the decoding. */
static const char *text_of(uint32_t type, uint16_t misc, const uint64_t *body, unsigned n,
			   int *error)
{
	const struct perf_event_header header = { .type = type,
						  .misc = misc,
						  .size = (uint16_t)(8 + 8 * n) };
	uint64_t words[16];
	struct pmc_record record;

	memcpy(words, &header, sizeof(header));
	memcpy(words + 1, body, 8 * n);
	*error = pmc_record_decode(words, sizeof(words), &attr, &record);
	assert_int_equal(pmc_record_text(&record, line, sizeof(line)), 0);
	return line;
}

#define TWO(low, high) ((uint64_t)(high) << 32 | (low))
#define TRAILER	       TWO(901, 902), 903, TWO(906, 0)
#define TEXT(type, misc, ...)                                                                      \
	text_of(type, misc, (const uint64_t[]){ __VA_ARGS__ },                                     \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, &error)

static void records_have_their_members(void **state)
{
	uint64_t name = 0;
	int error;

	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	memcpy(&name, "a\nb", 4);
	assert_string_equal(
		TEXT(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, TWO(7, 8), name, TRAILER),
		"comm time=903 cpu=906 pid=7 tid=8 comm=a\\x0ab exec=1");
	assert_string_equal(TEXT(PERF_RECORD_LOST, 0, 5, 6, TRAILER),
			    "lost pid=901 tid=902 time=903 cpu=906 id=5 lost=6");
	assert_string_equal(TEXT(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, TRAILER),
			    "switch pid=901 tid=902 time=903 cpu=906 out");
	assert_string_equal(TEXT(1000, 0, 1, TRAILER),
			    "type 1000 pid=901 tid=902 time=903 cpu=906 body=32 bytes");
}

static void samples_have_their_fields(void **state)
{
	int error;

	attr.sample_type =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
	assert_string_equal(
		TEXT(PERF_RECORD_SAMPLE, 0, 0x4011a6, TWO(7, UINT32_MAX), 1000, 2, 0x10, 0x20),
		"sample ip=0x4011a6 pid=7 tid=-1 period=1000 callchain={0x10,0x20}");
	assert_int_equal(error, 0);
}

/* Members of a record that cannot be decoded are 0 or NULL. */
static void undecodable_records_have_their_type(void **state)
{
	int error;

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	assert_string_equal(TEXT(PERF_RECORD_SAMPLE, 0, 1), "sample");
	assert_int_equal(error, -EPROTO);
	for (uint32_t type = 1; type <= PMC_RECORD_CALLCHAIN_DEFERRED; type++) {
		TEXT(type, 0, 0x4141414141414141);
		assert_memory_equal(line, pmc_record_name(type), strlen(pmc_record_name(type)));
	}
}

static void text_that_does_not_fit_is_cut(void **state)
{
	const struct pmc_record record = { .type = PERF_RECORD_COMM };
	char cut[16];

	assert_int_equal(pmc_record_text(&record, cut, sizeof(cut)), -ENOSPC);
	assert_string_equal(cut, "comm pid=0 tid=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_have_their_members),
		cmocka_unit_test(samples_have_their_fields),
		cmocka_unit_test(undecodable_records_have_their_type),
		cmocka_unit_test(text_that_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
