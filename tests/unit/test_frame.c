/* SPDX-License-Identifier: MIT */
/* test_frame.c - frames are read back as built, and damage loses only the damaged frame. */
#include "lib/dump/frame.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull;
}

static uint64_t note(struct pmc_frame_buf *buf, uint64_t snapshot, const char *text, size_t len)
{
	const uint8_t identity[16] = { 1, 2, 3 };
	const struct pmc_note_fixed fixed = { .code = 7, .count = 9 };

	pmc_frame_begin(buf, PMC_FRAME_NOTE, identity, snapshot, &fixed, sizeof(fixed));
	pmc_frame_str(buf, text, len);
	return pmc_frame_end(buf);
}

static void round_trip(void **state)
{
	static uint64_t memory[512];
	struct pmc_frame_buf buf;
	struct pmc_frame frame;
	struct pmc_cursor cursor;
	struct pmc_note_fixed fixed;
	const char *text;
	size_t len;
	uint64_t hash, more;

	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	hash = note(&buf, 3, "hello", 5);
	assert_true(hash);
	assert_int_equal(buf.len, 48 + 16 + 16);
	pmc_frame_begin(&buf, PMC_FRAME_TOTAL, NULL, 0, NULL, 0);
	more = 0x1122334455667788;
	pmc_frame_bytes(&buf, &more, sizeof(more));
	pmc_frame_end(&buf);

	struct pmc_scan scan = { .data = (uint8_t *)memory, .len = buf.len };
	assert_true(pmc_scan_next(&scan, &frame));
	assert_int_equal(frame.head.type, PMC_FRAME_NOTE);
	assert_int_equal(frame.head.version, PMC_DUMP_VERSION);
	assert_int_equal(frame.head.snapshot, 3);
	assert_int_equal(frame.head.identity[2], 3);
	assert_true(frame.head.hash == hash);
	pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
	assert_int_equal(fixed.code, 7);
	assert_int_equal(fixed.count, 9);
	pmc_cursor_init(&cursor, &frame);
	assert_true(pmc_cursor_str(&cursor, &text, &len));
	assert_int_equal(len, 5);
	assert_memory_equal(text, "hello", 5);
	assert_false(pmc_cursor_str(&cursor, &text, &len));
	assert_true(cursor.bad);

	assert_true(pmc_scan_next(&scan, &frame));
	assert_int_equal(frame.head.identity[0], 0);
	/* A writer with a shorter fixed part: the rest is zero. */
	memset(&fixed, 0xff, sizeof(fixed));
	pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
	assert_int_equal(fixed.count, 0);
	pmc_cursor_init(&cursor, &frame);
	assert_true(pmc_cursor_bytes(&cursor, &more, 8));
	assert_true(more == 0x1122334455667788);
	assert_false(pmc_cursor_bytes(&cursor, &more, 8));
	assert_true(more == 0);

	assert_false(pmc_scan_next(&scan, &frame));
	assert_int_equal(scan.at, scan.len);
	assert_int_equal(scan.damaged, 0);
}

static void what_does_not_fit_is_taken_back(void **state)
{
	static uint64_t memory[20];
	struct pmc_frame_buf buf;
	uint64_t first;

	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	first = note(&buf, 1, "a", 1); /* 72 of 160 bytes */
	assert_true(first);
	assert_true(note(&buf, 2, "much too long for it.", 21) == 0);
	assert_int_equal(buf.len, 72);
	assert_true(note(&buf, 3, "fits, for sure..", 16)); /* 88 bytes */
	assert_int_equal(buf.len, 160);

	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	pmc_frame_begin(&buf, PMC_FRAME_NOTE, NULL, 0, NULL, 0);
	pmc_frame_bytes(&buf, memory, 7);
	assert_true(pmc_frame_end(&buf) == 0);

	char *big = calloc(2, PMC_FRAME_MAX_BYTES);
	assert_non_null(big);
	pmc_frame_buf_init(&buf, big, 2 * (size_t)PMC_FRAME_MAX_BYTES);
	assert_true(note(&buf, 1, (const char *)memory, SIZE_MAX) == 0);
	pmc_frame_begin(&buf, PMC_FRAME_NOTE, NULL, 0, NULL, 0);
	for (unsigned i = 0; i < 20; i++)
		pmc_frame_bytes(&buf, big + PMC_FRAME_MAX_BYTES, 65536);
	assert_true(pmc_frame_end(&buf) == 0);
	assert_int_equal(buf.len, 0);
	free(big);
}

/* The number of good frames in a buffer; *damaged: of damaged ones. */
static unsigned count(const void *data, size_t len, uint64_t *damaged)
{
	/* A copy of the exact size, so that ASan detects a read past the end. */
	uint8_t *copy = malloc(len + !len);
	struct pmc_scan scan = { .data = copy, .len = len };
	struct pmc_frame frame;
	unsigned n = 0;

	assert_non_null(copy);
	memcpy(copy, data, len);
	while (pmc_scan_next(&scan, &frame))
		n++;
	*damaged = scan.damaged;
	free(copy);
	return n;
}

enum { FRAMES = 20 };

static size_t ends[FRAMES + 1];

static size_t many(void *memory, size_t cap)
{
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, memory, cap);
	for (unsigned i = 0; i < FRAMES; i++) {
		char text[128];

		memset(text, 'a' + (int)i, sizeof(text));
		assert_true(note(&buf, i + 1, text, rnd() % sizeof(text)));
		ends[i + 1] = buf.len;
	}
	return buf.len;
}

static void every_truncation(void **state)
{
	static uint64_t memory[1024];
	size_t len = many(memory, sizeof(memory));
	unsigned whole = 0;
	uint64_t damaged;

	for (size_t cut = 0; cut <= len; cut++) {
		if (cut == ends[whole + 1])
			whole++;
		assert_int_equal(count(memory, cut, &damaged), whole);
		assert_int_equal(damaged, cut != ends[whole]);
	}
	for (size_t from = 1; from < len; from++) {
		unsigned lost = 0;

		while (ends[lost] < from)
			lost++;
		assert_int_equal(count((uint8_t *)memory + from, len - from, &damaged),
				 FRAMES - lost);
		assert_int_equal(damaged, ends[lost] != from);
	}
}

static void every_bit_flip(void **state)
{
	static uint64_t memory[1024];
	uint8_t *bytes = (uint8_t *)memory;
	size_t len = many(memory, sizeof(memory));
	uint64_t damaged;

	for (size_t bit = 0; bit < len * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(count(memory, len, &damaged), FRAMES - 1);
		assert_int_equal(damaged, 1);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void damage_is_counted_in_frames(void **state)
{
	static uint64_t memory[1024];
	uint8_t *bytes = (uint8_t *)memory;
	size_t len = many(memory, sizeof(memory));
	uint64_t damaged;

	/* Three adjacent frames are damaged, the middle one in its magic; and a fourth, further on.
	 */
	bytes[ends[3] + 50] ^= 1;
	bytes[ends[4] + 2] ^= 1;
	bytes[ends[5] + 50] ^= 1;
	bytes[ends[9] + 50] ^= 1;
	assert_int_equal(count(memory, len, &damaged), FRAMES - 4);
	/* A frame without its magic between two damaged frames is not counted separately. */
	assert_int_equal(damaged, 3);

	/* A frame without its magic before a damaged frame: both are counted. */
	len = many(memory, sizeof(memory));
	bytes[ends[4] + 2] ^= 1;
	bytes[ends[5] + 50] ^= 1;
	assert_int_equal(count(memory, len, &damaged), FRAMES - 2);
	assert_int_equal(damaged, 2);

	memset(memory, 0x89, sizeof(memory));
	assert_int_equal(count(memory, sizeof(memory), &damaged), 0);
	assert_int_equal(damaged, 1);
	assert_int_equal(count(memory, 0, &damaged), 0);
	assert_int_equal(damaged, 0);
}

/* The same bytes in one piece and in random pieces give the same frames and damage. */
static void streams_like_buffers(void **state)
{
	static uint64_t memory[1024];
	static uint8_t window[8192];
	uint8_t *bytes = (uint8_t *)memory;

	for (unsigned round = 0; round < 2000; round++) {
		size_t len = many(memory, sizeof(memory)), fed = 0;
		struct pmc_scan scan = { .data = window, .partial = true };
		struct pmc_frame frame;
		unsigned whole, pieces = 0;
		uint64_t damaged;

		for (unsigned flips = rnd() % 6; flips; flips--)
			bytes[rnd() % len] ^= (uint8_t)(1 << rnd() % 8);
		len -= rnd() % 100;
		whole = count(memory, len, &damaged);
		for (;;) {
			size_t left = scan.len - scan.at;
			size_t more = rnd() % 200;

			memmove(window, window + scan.at, left);
			if (more > len - fed)
				more = len - fed;
			memcpy(window + left, bytes + fed, more);
			fed += more;
			pmc_scan_move(&scan);
			scan.len = left + more;
			scan.partial = fed < len;
			while (pmc_scan_next(&scan, &frame)) {
				assert_memory_equal(frame.bytes, &frame.head, sizeof(frame.head));
				pieces++;
			}
			if (fed == len)
				break;
		}
		if (pieces != whole || scan.damaged != damaged)
			fail_msg("round %u: %u frames for %u, damage %lu for %lu", round, pieces,
				 whole, (unsigned long)scan.damaged, (unsigned long)damaged);
	}
}

/* Headers that claim a megabyte each, 48 bytes apart: the bytes hashed in vain must stay
 * proportional to the input, and the small frames after them are found. */
static void forged_heads(void **state)
{
	const size_t len = (size_t)8 << 20, tail = 4096;
	uint8_t *bytes = malloc(len + tail);
	struct pmc_frame_head head = { .magic = { PMC_FRAME_MAGIC_0, PMC_FRAME_MAGIC_1,
						  PMC_FRAME_MAGIC_2, PMC_FRAME_MAGIC_3 },
				       .size = PMC_FRAME_MAX_BYTES,
				       .version = PMC_DUMP_VERSION,
				       .type = PMC_FRAME_NOTE };
	struct pmc_scan scan = { .data = bytes };
	struct pmc_frame_buf buf;
	struct pmc_frame frame;
	unsigned good = 0;

	assert_non_null(bytes);
	for (size_t at = 0; at < len; at += sizeof(head))
		memcpy(bytes + at, &head, sizeof(head) < len - at ? sizeof(head) : len - at);
	pmc_frame_buf_init(&buf, bytes + len, tail);
	for (unsigned i = 0; i < 3; i++) {
		pmc_frame_begin(&buf, PMC_FRAME_NOTE, NULL, i, NULL, 0);
		pmc_frame_str(&buf, "text", 4);
		pmc_frame_end(&buf);
	}
	scan.len = len + buf.len;
	while (pmc_scan_next(&scan, &frame))
		good++;
	assert_int_equal(good, 3);
	assert_in_range(scan.wasted, PMC_FRAME_MAX_BYTES, 32 * len);
	assert_true(scan.damaged >= len / sizeof(head) - 1);
	free(bytes);
}

static void noise(void **state)
{
	static uint64_t memory[512];
	uint8_t *bytes = (uint8_t *)memory;
	uint64_t damaged;

	for (unsigned round = 0; round < 5000; round++) {
		size_t len = rnd() % sizeof(memory);

		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)rnd();
		for (unsigned heads = 0; heads < 20 && len > 48; heads++) {
			struct pmc_frame_head head = {
				.magic = { 0x89, 0x70, 0x6d, 0x63 },
				.size = (uint32_t)rnd() >> rnd() % 32,
				.version = (uint8_t)rnd(),
				.fixed = (uint16_t)((uint16_t)rnd() >> rnd() % 16),
			};

			memcpy(bytes + rnd() % (len - 48), &head, sizeof(head));
		}
		assert_int_equal(count(memory, len, &damaged), 0);
		assert_true(damaged || !len);
	}
}

static void strings_are_not_believed(void **state)
{
	static uint64_t memory[64];
	struct pmc_frame_buf buf;
	struct pmc_frame frame;
	struct pmc_cursor cursor;
	const char *text;
	size_t len;
	static const uint32_t lens[] = { 5, 13, 4096, UINT32_MAX, UINT32_MAX - 3, UINT32_MAX - 8 };

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const uint32_t str[2] = { lens[i], 0 };

		pmc_frame_buf_init(&buf, memory, sizeof(memory));
		pmc_frame_begin(&buf, PMC_FRAME_SITE, NULL, 0, NULL, 0);
		pmc_frame_bytes(&buf, str, sizeof(str));
		pmc_frame_end(&buf);
		struct pmc_scan scan = { .data = (uint8_t *)memory, .len = buf.len };
		assert_true(pmc_scan_next(&scan, &frame));
		pmc_cursor_init(&cursor, &frame);
		assert_false(pmc_cursor_str(&cursor, &text, &len));
		assert_int_equal(len, 0);
		assert_string_equal(text, "");
		assert_true(cursor.bad);
	}
}

int main(void)
{
	const char *given = getenv("PMC_TEST_SEED");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(what_does_not_fit_is_taken_back),
		cmocka_unit_test(every_truncation),
		cmocka_unit_test(every_bit_flip),
		cmocka_unit_test(damage_is_counted_in_frames),
		cmocka_unit_test(streams_like_buffers),
		cmocka_unit_test(forged_heads),
		cmocka_unit_test(noise),
		cmocka_unit_test(strings_are_not_believed),
	};

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) << 20 | 1;
	print_message("# PMC_TEST_SEED=%#llx\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
