/* SPDX-License-Identifier: MIT */
/* test_packed.c - PACKED frames: the same frames come out, and damaged ones do no harm. */
#include "tests/unit/random_dump.h"
#include "tools/rows/packed.h"
#include "tools/rows/zstd.h"

#include <sys/mman.h>
#include <unistd.h>

struct hashes {
	uint64_t list[4096];
	unsigned n;
	uint64_t damaged;
};

static int add(const struct pmc_frame *frame, void *to)
{
	struct hashes *hashes = to;

	assert_true(hashes->n < 4096);
	hashes->list[hashes->n++] = frame->head.hash;
	return 0;
}

static struct hashes scanned(int fd)
{
	struct hashes hashes = { .n = 0 };

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(pmc_scan_packed_fd(fd, add, &hashes, &hashes.damaged), 0);
	return hashes;
}

static int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static int packed(int plain, size_t at)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	assert_int_equal(pmc_pack(plain, &at, fd), 0);
	assert_int_equal(at, lseek(plain, 0, SEEK_END));
	return fd;
}

static void same_frames_come_out(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct dump dump = random_dump(1 + below(round % 4 ? 60 : 3000));
		int plain = file_of(dump.data, dump.len), fd = packed(plain, 0);
		struct hashes want = scanned(plain), got = scanned(fd);

		assert_int_equal(got.n, want.n);
		assert_memory_equal(got.list, want.list, want.n * sizeof(*want.list));
		assert_int_equal(got.damaged, 0);
		assert_true(lseek(fd, 0, SEEK_END) <= (off_t)dump.len);
		close(plain);
		close(fd);
		dump_free(&dump);
	}
}

static void only_what_is_new(void **state)
{
	struct dump dump = random_dump(50), more = random_dump(50);
	int plain = file_of(dump.data, dump.len), fd, want;

	(void)state;
	assert_int_equal(write(plain, more.data, more.len), more.len);
	fd = packed(plain, dump.len);
	want = file_of(more.data, more.len);
	assert_int_equal(scanned(fd).n, scanned(want).n);
	close(plain);
	close(fd);
	close(want);
	dump_free(&dump);
	dump_free(&more);
}

/* Random bytes anywhere in the contents, in a frame that is good by its hash. */
static void damaged_contents_do_no_harm(void **state)
{
	struct dump dump = random_dump(15);
	int plain = file_of(dump.data, dump.len), fd = packed(plain, 0);
	const unsigned most = scanned(plain).n;
	off_t len = lseek(fd, 0, SEEK_END);
	unsigned fewer = 0;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		uint8_t *bytes = malloc((size_t)len);
		struct pmc_frame_head *head = (void *)bytes;
		struct hashes got;
		int bad;

		assert_int_equal(pread(fd, bytes, (size_t)len, 0), len);
		assert_int_equal(head->type, PMC_FRAME_PACKED);
		assert_int_equal(head->size, len);
		bytes[sizeof(*head) + below((unsigned)len - sizeof(*head))] ^= 1 + below(255);
		head->hash = XXH3_64bits(bytes + 16, (size_t)len - 16);
		bad = file_of(bytes, (size_t)len);
		got = scanned(bad);
		assert_true(got.n <= most);
		assert_true(got.n == most || got.damaged);
		fewer += got.n < most;
		close(bad);
		free(bytes);
	}
	assert_true(fewer > 100);
	close(plain);
	close(fd);
	dump_free(&dump);
}

static void one_inside_another_is_ignored(void **state)
{
	struct dump dump = random_dump(200);
	int plain = file_of(dump.data, dump.len), fd = packed(plain, 0), twice;
	uint8_t text[4096];
	struct pmc_frame_buf buf;
	const struct pmc_note_fixed note = { .code = 12 };

	(void)state;
	/* What can be compressed once more is in the file besides. */
	pmc_frame_buf_init(&buf, text, sizeof(text));
	for (unsigned i = 0; i < 20; i++)
		pmc_build_note(&buf, (const uint8_t[16]){ 1 }, 1, &note, "the same text each time");
	assert_true(lseek(fd, 0, SEEK_END) > 0);
	assert_int_equal(write(fd, text, buf.len), buf.len);
	twice = packed(fd, 0);
	assert_int_equal(scanned(fd).n, scanned(plain).n + 20);
	assert_int_equal(scanned(twice).n, 20);
	close(plain);
	close(fd);
	close(twice);
	dump_free(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_frames_come_out),
		cmocka_unit_test(only_what_is_new),
		cmocka_unit_test(damaged_contents_do_no_harm),
		cmocka_unit_test(one_inside_another_is_ignored),
	};

	seed_from_environment();
	if (pmc_zstd_load()) {
		print_message("# SKIP: %s\n", pmc_zstd_load());
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
