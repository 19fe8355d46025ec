/* SPDX-License-Identifier: MIT */
/* merge.c - inputs into the sorter, the union out of it, superseded frames dropped if asked. */
#include "tools/merge/merge.h"
#include "tools/merge/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Small enough that what was read is still in the cache when it is hashed. */
#define READ_BYTES ((size_t)256 << 10)

struct merge {
	struct merge_options options;
	struct merge_sorter sorter; /* by key if compacting, else canonical */
	uint64_t written;
	bool trouble;
};

int merge_new(struct merge **result, const struct merge_options *options)
{
	struct merge *merge = calloc(1, sizeof(*merge));
	int error;

	if (!merge)
		return -ENOMEM;
	merge->options = *options;
	if (!merge->options.budget_bytes)
		merge->options.budget_bytes = MERGE_BUDGET;
	error = merge_sorter_init(&merge->sorter, options->compact ? MERGE_BY_KEY : MERGE_CANONICAL,
				  merge->options.budget_bytes);
	if (error) {
		free(merge);
		return error;
	}
	*result = merge;
	return 0;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	merge_sorter_fini(&merge->sorter);
	free(merge);
}

uint64_t merge_frames_written(const struct merge *merge)
{
	return merge->written;
}

const char *merge_spill_trouble(const struct merge *merge)
{
	return merge->trouble || merge->sorter.spill_trouble ? merge_spill_dir() : NULL;
}

struct mapped_scan {
	struct merge_sorter *sorter;
	struct merge_map map;
	struct merge_input *seen;
};

static int scan_map(void *arg)
{
	struct mapped_scan *mapped = arg;
	struct merge_sorter *sorter = mapped->sorter;
	struct pmc_scan scan = { .data = mapped->map.data, .len = mapped->map.len };
	struct pmc_frame frame;
	int error = 0;

	mapped->seen->bytes = scan.len;
	while (!error && pmc_scan_next(&scan, &frame)) {
		const struct merge_frame found = { .head = frame.head, .bytes = frame.bytes };

		if (merge_sorter_full(sorter))
			error = merge_sorter_spill(sorter, sorter->len);
		if (!error)
			error = merge_sorter_note(sorter, &found, true);
		mapped->seen->good++;
	}
	mapped->seen->damaged = scan.damaged;
	mapped->seen->magic = mapped->seen->good || pmc_has_magic(scan.data, scan.len);
	return error;
}

static int read_all(struct merge_sorter *sorter, int fd, struct merge_input *seen)
{
	struct pmc_scan scan = { .data = sorter->data, .at = sorter->len, .partial = true };
	size_t piece = sorter->budget < READ_BYTES ? sorter->budget : READ_BYTES;
	struct pmc_frame frame;
	ssize_t got;
	int error = 0;

	while (!error && scan.partial) {
		if (merge_sorter_full(sorter)) {
			error = merge_sorter_spill(sorter, scan.at);
			scan.at = 0;
			continue;
		}
		got = read(fd, sorter->data + sorter->len, piece);
		if (got < 0) {
			if (errno != EINTR)
				error = -errno;
			continue;
		}
		sorter->len += (size_t)got;
		seen->bytes += (size_t)got;
		scan.len = sorter->len;
		scan.partial = got > 0;
		if (!seen->magic)
			seen->magic = pmc_has_magic(sorter->data + scan.at, scan.len - scan.at);
		while (!error && pmc_scan_next(&scan, &frame)) {
			const struct merge_frame found = { .head = frame.head,
							   .bytes = frame.bytes };

			seen->good++;
			error = merge_sorter_note(sorter, &found, false);
		}
	}
	seen->damaged = scan.damaged;
	return error;
}

int merge_add_fd(struct merge *merge, int fd, struct merge_input *seen)
{
	struct mapped_scan mapped = { .sorter = &merge->sorter, .seen = seen };

	memset(seen, 0, sizeof(*seen));
	if (merge_maps_add(&merge->sorter.maps, fd, &mapped.map))
		return merge_maps_guard(scan_map, &mapped);
	return read_all(&merge->sorter, fd, seen);
}

/* ---- compaction: the last of each key goes on, into a second sort in canonical order ------- */
struct compaction {
	struct merge_sorter canonical;
	struct merge_frame pending; /* its bytes are in `copy` */
	bool has_pending;
	uint8_t copy[PMC_FRAME_MAX_BYTES];
};

static int compact_put(void *arg, const struct merge_frame *frame)
{
	struct compaction *compaction = arg;
	int error = 0;

	if (compaction->has_pending && !merge_same_key(&compaction->pending, frame))
		error = merge_sorter_put(&compaction->canonical, &compaction->pending);
	memcpy(compaction->copy, frame->bytes, frame->head.size);
	compaction->pending.head = frame->head;
	compaction->pending.bytes = compaction->copy;
	compaction->has_pending = true;
	return error;
}

static int put_writer(void *arg, const struct merge_frame *frame)
{
	struct merge_writer *writer = arg;

	merge_writer_put(writer, frame->bytes, frame->head.size);
	return writer->error;
}

static int write_compact(struct merge *merge, struct merge_writer *writer)
{
	struct compaction *compaction = malloc(sizeof(*compaction));
	int error;

	if (!compaction)
		return -ENOMEM;
	compaction->has_pending = false;
	error = merge_sorter_init(&compaction->canonical, MERGE_CANONICAL,
				  merge->options.budget_bytes);
	if (!error)
		error = merge_sorter_drain(&merge->sorter, compact_put, compaction);
	if (!error && compaction->has_pending)
		error = merge_sorter_put(&compaction->canonical, &compaction->pending);
	if (!error)
		error = merge_sorter_drain(&compaction->canonical, put_writer, writer);
	merge->trouble = compaction->canonical.spill_trouble;
	merge_sorter_fini(&compaction->canonical);
	free(compaction);
	return error;
}

struct writing {
	struct merge *merge;
	struct merge_writer writer;
};

static int write_out(void *arg)
{
	struct writing *writing = arg;

	if (writing->merge->options.compact)
		return write_compact(writing->merge, &writing->writer);
	return merge_sorter_drain(&writing->merge->sorter, put_writer, &writing->writer);
}

int merge_write(struct merge *merge, int fd)
{
	struct writing writing = { .merge = merge };
	int error, closing;

	error = merge_writer_init(&writing.writer, fd);
	if (error)
		return error;
	error = merge_maps_guard(write_out, &writing);
	merge->written = writing.writer.frames;
	closing = merge_writer_close(&writing.writer);
	return error ? error : closing;
}
