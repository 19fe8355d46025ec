/* SPDX-License-Identifier: MIT */
/* merge_try.h - merges of dumps in memory, and a simple merge to compare with. */
#ifndef PMC_TESTS_MERGE_TRY_H
#define PMC_TESTS_MERGE_TRY_H

#include "tests/unit/random_dump.h"
#include "tools/merge/merge.h"
#include "tools/rows/profile.h"

#include <sys/mman.h>
#include <unistd.h>

static const struct merge_options plain;

static inline int memory_file(const struct dump *dump)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, dump->data, dump->len), dump->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline struct dump read_back(int fd)
{
	struct dump dump = { NULL, 0 };
	off_t len = lseek(fd, 0, SEEK_END);

	assert_true(len >= 0);
	dump.data = malloc((size_t)len + 1);
	assert_non_null(dump.data);
	assert_int_equal(pread(fd, dump.data, (size_t)len, 0), len);
	dump.len = (size_t)len;
	close(fd);
	return dump;
}

/* The merge of n dumps; *damaged gets the number of damaged frames if given. */
static inline struct dump merged(const struct merge_options *options, const struct dump *dumps,
				 unsigned n, uint64_t *damaged)
{
	int out = memfd_create("out", MFD_CLOEXEC);
	struct merge *merge;

	merge = merge_new(options);
	if (damaged)
		*damaged = 0;
	for (unsigned i = 0; i < n; i++) {
		struct merge_input seen;
		int fd = memory_file(&dumps[i]);

		assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
		assert_int_equal(seen.bytes, dumps[i].len);
		if (damaged)
			*damaged += seen.damaged;
		close(fd);
	}
	assert_int_equal(merge_write(merge, out), 0);
	merge_free(merge);
	return read_back(out);
}

static inline struct dump merged2(const struct merge_options *options, const struct dump *a,
				  const struct dump *b)
{
	const struct dump both[2] = { *a, *b };

	return merged(options, both, 2, NULL);
}

static inline void check_same(const struct dump *a, const struct dump *b)
{
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->data, b->data, a->len);
}

/* ---- a reference: all frames in an array, qsort, adjacent frames compared --------------- */
static inline int by_order(const void *a, const void *b)
{
	const struct pmc_frame *frame_a = a, *frame_b = b;
	const struct pmc_frame_head *head_a = &frame_a->head, *head_b = &frame_b->head;
	int order = memcmp(head_a->identity, head_b->identity, sizeof(head_a->identity));

	if (order)
		return order;
	if (head_a->snapshot != head_b->snapshot)
		return head_a->snapshot < head_b->snapshot ? -1 : 1;
	if (head_a->hash != head_b->hash)
		return head_a->hash < head_b->hash ? -1 : 1;
	if (frame_a->head.size != frame_b->head.size)
		return frame_a->head.size < frame_b->head.size ? -1 : 1;
	return memcmp(frame_a->bytes, frame_b->bytes, frame_a->head.size);
}

static inline struct pmc_frame *frames_of(const struct dump *dumps, unsigned n, size_t *count)
{
	struct pmc_frame *frames = NULL;
	struct pmc_frame frame;

	*count = 0;
	for (unsigned i = 0; i < n; i++) {
		struct pmc_scan scan = { .data = dumps[i].data, .len = dumps[i].len };

		while (pmc_scan_next(&scan, &frame)) {
			frames = realloc(frames, (*count + 1) * sizeof(*frames));
			assert_non_null(frames);
			frames[(*count)++] = frame;
		}
	}
	if (*count)
		qsort(frames, *count, sizeof(*frames), by_order);
	return frames;
}

/* The time in the fixed part; 0: none. */
static inline uint64_t time_of(const struct pmc_frame *frame)
{
	const size_t at =
		frame->head.type == PMC_FRAME_PROCESS ?
			offsetof(struct pmc_process_fixed, time_ns) :
		frame->head.type == PMC_FRAME_THREAD ? offsetof(struct pmc_thread_fixed, time_ns) :
		frame->head.type == PMC_FRAME_TOTAL  ? offsetof(struct pmc_total_fixed, time_ns) :
		frame->head.type == PMC_FRAME_REGION ? offsetof(struct pmc_region_fixed, time_ns) :
		frame->head.type == PMC_FRAME_SAMPLES || frame->head.type == PMC_FRAME_TIMES ?
						       offsetof(struct pmc_samples_fixed, time_ns) :
						       SIZE_MAX / 2;
	uint64_t time_ns = 0;

	if (at + sizeof(time_ns) <= frame->head.fixed)
		memcpy(&time_ns, frame->bytes + sizeof(frame->head) + at, sizeof(time_ns));
	return time_ns;
}

static inline bool same_subject(const struct pmc_frame *a, const struct pmc_frame *b)
{
	struct pmc_subject of_a, of_b;

	return pmc_frame_subject(a, &of_a) && pmc_frame_subject(b, &of_b) &&
	       of_a.text_len == of_b.text_len &&
	       !memcmp(&of_a.key, &of_b.key, pmc_subject_bytes(of_a.text_len));
}

static inline bool outdated(const struct pmc_frame *frame, const struct pmc_frame *other)
{
	if (!same_subject(frame, other))
		return false;
	if (frame->head.snapshot != other->head.snapshot)
		return frame->head.snapshot < other->head.snapshot;
	if (time_of(frame) != time_of(other))
		return time_of(frame) < time_of(other);
	return by_order(frame, other) < 0;
}

static inline struct dump reference(const struct merge_options *options, const struct dump *dumps,
				    unsigned n)
{
	struct dump out = { NULL, 0 };
	size_t count;
	struct pmc_frame *frames = frames_of(dumps, n, &count);

	for (size_t i = 0; i < count; i++) {
		bool keep = i + 1 == count || by_order(&frames[i], &frames[i + 1]) != 0;

		for (size_t j = 0; keep && options->compact && j < count; j++)
			keep = !outdated(&frames[i], &frames[j]);
		if (keep)
			dump_append(&out, frames[i].bytes, frames[i].head.size);
	}
	free(frames);
	return out;
}

#endif
