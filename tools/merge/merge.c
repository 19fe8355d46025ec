/* SPDX-License-Identifier: MIT */
/*
 * merge.c - inputs into an index and sorted runs, their union out of them.
 *
 * Inputs are mapped and sorted where they lie. When frames and index exceed the budget they are
 * written to a temporary file as a sorted run, and the maps are given back.
 */
#include "tools/merge/merge.h"
#include "tools/merge/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files are mapped in pieces of this size. */
#define MAP_BYTES ((off_t)256 << 20)

struct map {
	uint8_t *data;
	size_t len;
};

struct merge {
	struct merge_index index;
	size_t budget;
	struct map *maps; /* of inputs, where the indexed frames are */
	size_t n_maps;
	struct merge_run *runs;
	unsigned n_runs;
	bool spill_failed;
};

int merge_new(struct merge **result, const struct merge_options *options)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return -ENOMEM;
	merge->budget = options->budget_bytes ? options->budget_bytes : MERGE_BUDGET;
	merge->index.order = options->compact ? MERGE_BY_KEY : MERGE_CANONICAL;
	*result = merge;
	return 0;
}

/* Empties the index; of the maps the last `keep` stay. */
static void clear_index(struct merge *merge, size_t keep)
{
	merge_index_clear(&merge->index);
	while (merge->n_maps > keep) {
		munmap(merge->maps[0].data, merge->maps[0].len);
		merge->n_maps--;
		memmove(merge->maps, merge->maps + 1, merge->n_maps * sizeof(*merge->maps));
	}
}

static void clear(struct merge *merge)
{
	for (unsigned i = 0; i < merge->n_runs; i++)
		merge_run_close(&merge->runs[i]);
	free(merge->runs);
	merge->runs = NULL;
	merge->n_runs = 0;
	clear_index(merge, 0);
	free(merge->maps);
	merge->maps = NULL;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	clear(merge);
	free(merge);
}

const char *merge_spill_trouble(const struct merge *merge)
{
	return merge->spill_failed ? merge_spill_dir() : NULL;
}

/* ---- spilling ----------------------------------------------------------------------------- */
static int write_sources(struct merge_source **sources, unsigned n, enum merge_order order, int fd)
{
	struct merge_writer writer;
	int error = merge_writer_init(&writer, fd), closing;

	if (error)
		return error;
	error = merge_sources(sources, n, order, merge_writer_put, &writer);
	closing = merge_writer_close(&writer);
	return error ? error : closing;
}

static int write_run(struct merge *merge)
{
	struct merge_run *more = realloc(merge->runs, (merge->n_runs + 1) * sizeof(*more));
	struct merge_source *source = &merge->index.source;
	int fd, error = merge_index_sort(&merge->index);

	if (!more)
		return -ENOMEM;
	merge->runs = more;
	if (error)
		return error;
	fd = merge_spill_open();
	if (fd < 0)
		return fd;
	error = write_sources(&source, 1, merge->index.order, fd);
	if (error) {
		close(fd);
		return error;
	}
	return merge_run_open(&merge->runs[merge->n_runs++], fd);
}

/* Makes a run of the index; of the maps the last `keep` stay. */
static int spill(struct merge *merge, size_t keep)
{
	int error = merge->index.n ? write_run(merge) : 0;

	merge->spill_failed = error != 0;
	clear_index(merge, keep);
	return error;
}

/* ---- inputs ------------------------------------------------------------------------------- */
static int map(struct merge *merge, int fd, off_t at, size_t len)
{
	struct map *more = realloc(merge->maps, (merge->n_maps + 1) * sizeof(*more));
	void *data;
	int error;

	if (!more)
		return -ENOMEM;
	merge->maps = more;
	data = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, at);
	/* A process may have some 65,000 maps. */
	if (data == MAP_FAILED && errno == ENOMEM && merge->n_maps) {
		error = spill(merge, 0);
		if (error)
			return error;
		data = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, at);
	}
	if (data == MAP_FAILED)
		return -errno;
	merge->maps[merge->n_maps++] = (struct map){ data, len };
	return 0;
}

/* Indexes the frames of the last map. */
static int scan(struct merge *merge, struct pmc_scan *scan, struct merge_input *seen)
{
	struct pmc_frame frame;
	int error = 0;

	while (!error && pmc_scan_next(scan, &frame)) {
		if (merge->index.used >= merge->budget)
			error = spill(merge, 1);
		if (!error)
			error = merge_index_add(&merge->index, &frame);
		seen->good++;
	}
	return error;
}

static int add_file(struct merge *merge, int fd, off_t at, off_t end, struct merge_input *seen)
{
	const off_t page = sysconf(_SC_PAGESIZE);
	struct pmc_scan pieces = { .partial = true };
	int error = 0;

	while (!error && at < end) {
		off_t from = at / page * page, to = end - from > MAP_BYTES ? from + MAP_BYTES : end;

		error = map(merge, fd, from, (size_t)(to - from));
		if (error)
			break;
		pieces.data = merge->maps[merge->n_maps - 1].data + (at - from);
		pieces.len = (size_t)(to - at);
		pieces.at = 0;
		pieces.partial = to < end;
		error = scan(merge, &pieces, seen);
		seen->magic |= seen->good || pmc_has_magic(pieces.data, pieces.len);
		at += (off_t)pieces.at;
	}
	seen->damaged = pieces.damaged;
	return error;
}

/* Copies what cannot be mapped to a temporary file: its descriptor, or -errno. */
static int copy(struct merge *merge, int from)
{
	char buf[1 << 16];
	int to = merge_spill_open(), error = 0;
	ssize_t n = 1;

	merge->spill_failed = to < 0;
	if (to < 0)
		return to;
	while (!error && n) {
		n = read(from, buf, sizeof(buf));
		if (n > 0) {
			error = merge_write_all(to, buf, (size_t)n);
			merge->spill_failed = error != 0;
		} else if (n < 0 && errno != EINTR) {
			error = -errno;
		}
	}
	if (error)
		close(to);
	return error ? error : to;
}

int merge_add_fd(struct merge *merge, int fd, struct merge_input *seen)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	int error = 0, mapped = fd;
	struct stat st;

	memset(seen, 0, sizeof(*seen));
	if (fstat(fd, &st) == 0 && (at < 0 || !S_ISREG(st.st_mode))) {
		at = 0;
		mapped = copy(merge, fd);
		if (mapped < 0)
			return mapped;
	}
	error = fstat(mapped, &st) == 0 ? 0 : -errno;
	if (!error && st.st_size > at) {
		seen->bytes = (uint64_t)(st.st_size - at);
		error = add_file(merge, mapped, at, st.st_size, seen);
	}
	if (mapped != fd)
		close(mapped);
	return error;
}

/* ---- output ------------------------------------------------------------------------------- */
/* The sources of the union: *n of them, to be freed, or NULL. */
static struct merge_source **sources_of(struct merge *merge, unsigned *n)
{
	struct merge_source **sources = calloc(merge->n_runs + 1, sizeof(*sources));

	if (!sources || merge_index_sort(&merge->index) != 0) {
		free(sources);
		return NULL;
	}
	for (*n = 0; *n < merge->n_runs; ++*n)
		sources[*n] = &merge->runs[*n].source;
	sources[(*n)++] = &merge->index.source;
	return sources;
}

static int write_union(struct merge *merge, int fd)
{
	unsigned n;
	struct merge_source **sources = sources_of(merge, &n);
	int error = sources ? write_sources(sources, n, MERGE_CANONICAL, fd) : -ENOMEM;

	free(sources);
	clear(merge);
	return error;
}

/* ---- compaction: the last frame of each key is written; all of them are sorted again ------- */
struct compaction {
	struct merge_writer writer;
	struct pmc_frame pending; /* in `copy` */
	bool has_pending;
	uint8_t copy[PMC_FRAME_MAX_BYTES];
};

static int put_newest(void *arg, const struct pmc_frame *frame)
{
	struct compaction *compaction = arg;
	int error = 0;

	if (compaction->has_pending && !merge_same_key(&compaction->pending, frame))
		error = merge_writer_put(&compaction->writer, &compaction->pending);
	memcpy(compaction->copy, frame->bytes, frame->head.size);
	pmc_frame_view(&compaction->pending, compaction->copy, frame->head.size);
	compaction->has_pending = true;
	return error;
}

static int write_newest(struct merge *merge, int fd)
{
	struct compaction *compaction = malloc(sizeof(*compaction));
	unsigned n;
	struct merge_source **sources = sources_of(merge, &n);
	int error = -ENOMEM, closing;

	if (compaction && sources && merge_writer_init(&compaction->writer, fd) == 0) {
		compaction->has_pending = false;
		error = merge_sources(sources, n, MERGE_BY_KEY, put_newest, compaction);
		if (!error && compaction->has_pending)
			error = merge_writer_put(&compaction->writer, &compaction->pending);
		closing = merge_writer_close(&compaction->writer);
		error = error ? error : closing;
	}
	free(compaction);
	free(sources);
	clear(merge);
	return error;
}

static int compact(struct merge *merge)
{
	struct merge_input seen;
	int fd = merge_spill_open(), error;

	merge->spill_failed = true;
	if (fd < 0)
		return fd;
	error = write_newest(merge, fd);
	merge->index.order = MERGE_CANONICAL;
	if (!error && lseek(fd, 0, SEEK_SET) < 0)
		error = -errno;
	if (!error)
		error = merge_add_fd(merge, fd, &seen);
	close(fd);
	merge->spill_failed = error != 0;
	return error;
}

int merge_write(struct merge *merge, int fd)
{
	int error = merge->index.order == MERGE_BY_KEY ? compact(merge) : 0;

	return error ? error : write_union(merge, fd);
}
