/* SPDX-License-Identifier: MIT */
/* test_merge.c - a merge is a union of frames: laws, damage, compaction. */
#include "tests/unit/merge_try.h"

#include <errno.h>

static const struct merge_options compact = { .compact = true };

/* ---- laws --------------------------------------------------------------------------------*/
static void laws(const struct merge_options *options, unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		struct dump a = random_dump(below(60)), b = random_dump(below(60));
		struct dump c = random_dump(below(60)), cat = { NULL, 0 };
		struct dump ab, ba, bc, ab_c, a_bc, aa, again, of_cat, want;

		/* Frames occur in several inputs. */
		dump_append(&b, a.data, a.len);
		dump_append(&c, b.data, b.len / 2);
		ab = merged2(options, &a, &b);
		ba = merged2(options, &b, &a);
		check_same(&ab, &ba);
		bc = merged2(options, &b, &c);
		ab_c = merged2(options, &ab, &c);
		a_bc = merged2(options, &a, &bc);
		check_same(&ab_c, &a_bc);
		aa = merged2(options, &ab, &ab);
		check_same(&aa, &ab);
		again = merged(options, &ab, 1, NULL);
		check_same(&again, &ab);
		dump_append(&cat, a.data, a.len);
		dump_append(&cat, b.data, b.len);
		of_cat = merged(options, &cat, 1, NULL);
		check_same(&of_cat, &ab);
		const struct dump both[2] = { a, b };

		want = reference(options, both, 2);
		check_same(&ab, &want);
		struct dump *const all[] = { &a,    &b,	   &c,	&cat,	&ab,	 &ba,  &bc,
					     &ab_c, &a_bc, &aa, &again, &of_cat, &want };

		for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			dump_free(all[i]);
	}
}

static void union_laws(void **state)
{
	laws(&plain, 150);
}

static void compact_laws(void **state)
{
	laws(&compact, 150);
}

static void compact_keeps_the_newest(void **state)
{
	static uint64_t memory[512];
	const uint8_t identity[16] = { 9 };
	struct pmc_frame_buf buf;
	struct pmc_frame frame;
	struct dump in = { NULL, 0 }, out;
	unsigned threads = 0, notes = 0;

	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	for (uint64_t snapshot = 1; snapshot <= 4; snapshot++) {
		const struct pmc_thread_fixed row = { .seq = snapshot % 2, .cpu_ns = snapshot };
		const struct pmc_note_fixed note = { .code = 5, .count = snapshot };

		pmc_frame_begin(&buf, PMC_FRAME_THREAD, identity, snapshot, &row, sizeof(row));
		pmc_frame_end(&buf);
		pmc_frame_begin(&buf, PMC_FRAME_NOTE, identity, snapshot, &note, sizeof(note));
		pmc_frame_str(&buf, snapshot % 2 ? "odd" : "even", snapshot % 2 ? 3 : 4);
		pmc_frame_end(&buf);
		const struct pmc_note_fixed other = { .code = 6 + (uint32_t)snapshot % 2 };

		pmc_frame_begin(&buf, PMC_FRAME_NOTE, identity, snapshot, &other, sizeof(other));
		pmc_frame_str(&buf, "same", 4);
		pmc_frame_end(&buf);
	}
	dump_append(&in, memory, buf.len);
	out = merged(&compact, &in, 1, NULL);
	struct pmc_scan scan = { .data = out.data, .len = out.len };

	while (pmc_scan_next(&scan, &frame)) {
		assert_true(frame.head.snapshot >= 3);
		threads += frame.head.type == PMC_FRAME_THREAD;
		notes += frame.head.type == PMC_FRAME_NOTE;
	}
	assert_int_equal(threads, 2);
	assert_int_equal(notes, 4);
	dump_free(&in);
	dump_free(&out);
}

/* Of two frames with one snapshot number the later one is the newest, whatever its hash. */
static void compact_knows_the_later_look(void **state)
{
	static uint64_t memory[64];
	const uint8_t identity[16] = { 9 };
	struct pmc_frame_buf buf;
	struct pmc_frame frame;

	for (uint64_t round = 0; round < 16; round++) {
		struct dump in = { NULL, 0 }, out;
		struct pmc_thread_fixed row = { .cpu_ns = round };

		pmc_frame_buf_init(&buf, memory, sizeof(memory));
		for (unsigned i = 0; i < 2; i++) {
			row.time_ns = (round + i) % 2 ? 50 : 10;
			pmc_frame_begin(&buf, PMC_FRAME_THREAD, identity, 3, &row, sizeof(row));
			pmc_frame_end(&buf);
		}
		dump_append(&in, memory, buf.len);
		out = merged(&compact, &in, 1, NULL);
		struct pmc_scan scan = { .data = out.data, .len = out.len };

		assert_true(pmc_scan_next(&scan, &frame));
		pmc_frame_fixed(&frame, &row, sizeof(row));
		assert_int_equal(row.time_ns, 50);
		assert_false(pmc_scan_next(&scan, &frame));
		dump_free(&in);
		dump_free(&out);
	}
}

/* Inputs are mapped: bytes that another program writes during the merge must not be taken for
 * frames. */
static void overwritten_inputs_are_an_error(void **state)
{
	static uint64_t memory[64];
	const uint8_t identity[16] = { 9 };
	struct dump in = { NULL, 0 };
	struct pmc_thread_fixed row = { .cpu_ns = 1 };
	struct merge_input seen;
	struct pmc_frame_buf buf;
	struct merge *merge;
	int fd, out;

	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	pmc_frame_begin(&buf, PMC_FRAME_THREAD, identity, 3, &row, sizeof(row));
	pmc_frame_end(&buf);
	dump_append(&in, memory, buf.len);
	for (int round = 0; round < 2; round++) {
		fd = memory_file(&in);
		out = memfd_create("out", MFD_CLOEXEC);
		merge = merge_new(&plain);
		assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
		if (round) {
			/* A different frame of the same size. */
			pmc_frame_buf_init(&buf, memory, sizeof(memory));
			row.cpu_ns = 2;
			pmc_frame_begin(&buf, PMC_FRAME_THREAD, identity, 3, &row, sizeof(row));
			pmc_frame_end(&buf);
		} else {
			memset(memory, 0, sizeof(memory));
		}
		assert_int_equal(pwrite(fd, memory, in.len, 0), in.len);
		assert_int_equal(merge_write(merge, out), -ESTALE);
		merge_free(merge);
		close(fd);
		close(out);
	}
	dump_free(&in);
}

/* ---- damage ------------------------------------------------------------------------------*/
static void shuffle(struct dump *dump)
{
	struct dump out = { NULL, 0 };
	size_t count;
	struct pmc_frame *frames = frames_of(dump, 1, &count);

	for (size_t i = count; i > 1; i--) {
		size_t j = below((unsigned)i);
		struct pmc_frame swap = frames[i - 1];

		frames[i - 1] = frames[j];
		frames[j] = swap;
	}
	for (size_t i = 0; i < count; i++)
		dump_append(&out, frames[i].bytes, frames[i].head.size);
	free(frames);
	dump_free(dump);
	*dump = out;
}

/* A damaged copy of the dump. *expected: the number of damaged frames that a reader counts,
 * *survivors: the frames that remain. */
static struct dump hurt(const struct dump *good, unsigned way, uint64_t *expected,
			struct dump *survivors)
{
	struct dump bad = { NULL, 0 };
	size_t count, at = 0, hit;
	struct pmc_frame *frames;

	dump_append(&bad, good->data, good->len);
	shuffle(&bad);
	frames = frames_of(good, 1, &count); /* only to count them */
	free(frames);
	*expected = 0;
	hit = below((unsigned)count);
	struct pmc_scan scan = { .data = bad.data, .len = bad.len };
	struct pmc_frame frame;

	for (size_t i = 0; pmc_scan_next(&scan, &frame); i++) {
		size_t size = frame.head.size;

		if (i != hit || way == 0) {
			if (way != 1 || i < hit)
				dump_append(survivors, frame.bytes, size);
		}
		if (i == hit)
			at = (size_t)(frame.bytes - bad.data);
	}
	switch (way) {
	case 0: /* duplicated */
		dump_append(survivors, bad.data, bad.len);
		bad.data = realloc(bad.data, 2 * bad.len);
		assert_non_null(bad.data);
		memcpy(bad.data + bad.len, bad.data, bad.len);
		bad.len *= 2;
		break;
	case 1: /* truncated within a frame */
		bad.len = at + 1 + below(47);
		*expected = 1;
		break;
	default: /* a flipped bit */
		bad.data[at + below(48)] ^= (uint8_t)(1 << below(8));
		*expected = 1;
	}
	return bad;
}

static void damage_costs_the_damaged_frames(void **state)
{
	struct dump bad[100], survivors = { NULL, 0 }, out, want;
	uint64_t expected = 0, damaged;

	for (unsigned i = 0; i < 100; i++) {
		struct dump good = random_dump(1 + below(40));
		uint64_t lost;

		bad[i] = hurt(&good, i % 3, &lost, &survivors);
		expected += lost;
		dump_free(&good);
	}
	out = merged(&plain, bad, 100, &damaged);
	assert_int_equal(damaged, expected);
	want = reference(&plain, &survivors, 1);
	check_same(&out, &want);
	for (unsigned i = 0; i < 100; i++)
		dump_free(&bad[i]);
	dump_free(&out);
	dump_free(&want);
	dump_free(&survivors);
}

/* Arbitrary damage: the result has exactly the frames that a scan finds. */
static void noise_is_survived(void **state)
{
	for (unsigned round = 0; round < 200; round++) {
		struct dump bad = random_dump(20), out, want;

		for (unsigned hits = below(30); hits; hits--) {
			size_t at = below((unsigned)bad.len);

			switch (below(3)) {
			case 0:
				bad.data[at] = (uint8_t)rnd();
				break;
			case 1:
				memmove(bad.data + at, bad.data + at / 2, bad.len - at);
				break;
			default:
				bad.len = at + 1;
			}
		}
		out = merged(&plain, &bad, 1, NULL);
		want = reference(&plain, &bad, 1);
		check_same(&out, &want);
		dump_free(&bad);
		dump_free(&out);
		dump_free(&want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(union_laws),
		cmocka_unit_test(compact_laws),
		cmocka_unit_test(compact_keeps_the_newest),
		cmocka_unit_test(compact_knows_the_later_look),
		cmocka_unit_test(overwritten_inputs_are_an_error),
		cmocka_unit_test(damage_costs_the_damaged_frames),
		cmocka_unit_test(noise_is_survived),
	};

	seed_from_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
