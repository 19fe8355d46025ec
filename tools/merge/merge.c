/* SPDX-License-Identifier: MIT */
/*
 * merge.c - inputs into an index and sorted runs, their union out of them.
 *
 * Inputs are mapped and sorted where they lie. When frames and index exceed the budget they are
 * written to a temporary file as a sorted run, which is mapped too.
 */
#include "lib/base/out.h"
#include "tools/merge/merge.h"
#include "tools/merge/sort.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a run, what was read is given back in pieces of this size. */
#define RUN_PIECE ((size_t)32 << 20)

struct map {
	uint8_t *data;
	size_t len;
};

/* A file of sorted frames. */
struct merge_run {
	struct merge_source source;
	struct map map;
	struct pmc_scan scan;
	size_t given_back;
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
	merge->index.strip_args = options->strip_args;
	*result = merge;
	return 0;
}

static void clear(struct merge *merge)
{
	merge_index_clear(&merge->index);
	for (unsigned i = 0; i < merge->n_runs; i++)
		munmap(merge->runs[i].map.data, merge->runs[i].map.len);
	for (size_t i = 0; i < merge->n_maps; i++)
		munmap(merge->maps[i].data, merge->maps[i].len);
	free(merge->runs);
	free(merge->maps);
	merge->runs = NULL;
	merge->maps = NULL;
	merge->n_runs = 0;
	merge->n_maps = 0;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	clear(merge);
	free(merge);
}

/* ---- temporary files ---------------------------------------------------------------------- */
static const char *spill_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

const char *merge_spill_trouble(const struct merge *merge)
{
	return merge->spill_failed ? spill_dir() : NULL;
}

/* A new unlinked file: its descriptor, or -errno. */
static int spill_open(void)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/pmc-XXXXXX", spill_dir()) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int map_file(int fd, struct map *map)
{
	struct stat st;
	void *data = MAP_FAILED;

	if (fstat(fd, &st) == 0)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*map = (struct map){ data, (size_t)st.st_size };
	return 0;
}

/* ---- the union ---------------------------------------------------------------------------- */
/* Sources with a frame, as a heap: the least frame is that of the first. */
struct queue {
	struct merge_source **live;
	unsigned n;
	enum merge_order order;
};

static bool comes_before(const struct queue *queue, unsigned a, unsigned b)
{
	return merge_compare(&queue->live[a]->frame, &queue->live[b]->frame, queue->order) < 0;
}

/* Moves the source at `i` down to its place. */
static void sink(struct queue *queue, unsigned i)
{
	for (unsigned least = i;; i = least) {
		struct merge_source *moved = queue->live[i];

		for (unsigned child = 2 * i + 1; child < 2 * i + 3 && child < queue->n; child++)
			if (comes_before(queue, child, least))
				least = child;
		if (least == i)
			return;
		queue->live[i] = queue->live[least];
		queue->live[least] = moved;
	}
}

/* Of the index and the first n runs. 0 or -ENOMEM. */
static int queue_open(struct merge *merge, unsigned n, struct queue *queue)
{
	*queue = (struct queue){ .order = merge->index.order };
	queue->live = calloc(n + 1, sizeof(struct merge_source *));
	if (!queue->live)
		return -ENOMEM;
	for (unsigned i = 0; i <= n; i++) {
		struct merge_source *source = i < n ? &merge->runs[i].source : &merge->index.source;

		if (source->live)
			queue->live[queue->n++] = source;
	}
	for (unsigned i = queue->n / 2; i-- > 0;)
		sink(queue, i);
	return 0;
}

/* Loads the next frame in order, repetitions included. 1, 0 at the end, or -errno. */
static int next_frame(struct queue *queue, struct pmc_frame *frame)
{
	struct merge_source *first;
	int error;

	if (!queue->n)
		return 0;
	first = queue->live[0];
	*frame = first->frame;
	error = first->advance(first);
	if (!first->live)
		queue->live[0] = queue->live[--queue->n];
	sink(queue, 0);
	return error ? error : 1;
}

/* Whether the next frame in order takes the place of this one. */
static bool is_obsolete(const struct merge *merge, const struct pmc_frame *frame,
			const struct pmc_frame *next)
{
	if (merge->index.order == MERGE_BY_KEY && merge_same_key(frame, next))
		return true;
	return frame->head.hash == next->head.hash &&
	       merge_compare(frame, next, MERGE_CANONICAL) == 0;
}

/* Writes the union of the index and the first n runs. */
static int write_frames(struct merge *merge, unsigned n, int fd)
{
	static char room[256 << 10];
	struct pmc_frame frame, held = { .bytes = NULL };
	int error = merge_index_sort(&merge->index), got = 1;
	struct queue queue = { .live = NULL };
	struct pmc_out out;

	if (!error)
		error = queue_open(merge, n, &queue);
	pmc_out_to_fd(&out, fd, room, sizeof(room));
	while (!error && !out.error && got) {
		got = next_frame(&queue, &frame);
		error = got < 0 ? got : 0;
		if (held.bytes && (!got || !is_obsolete(merge, &held, &frame)))
			pmc_out_bytes(&out, (const char *)held.bytes, held.head.size);
		held = frame;
	}
	free(queue.live);
	return error ? error : pmc_out_flush(&out);
}

/* ---- runs --------------------------------------------------------------------------------- */
static int run_advance(struct merge_source *source)
{
	struct merge_run *run = (struct merge_run *)source;

	source->live = pmc_scan_next(&run->scan, &source->frame);
	if (run->scan.at - run->given_back >= RUN_PIECE) {
		madvise(run->map.data + run->given_back, RUN_PIECE, MADV_DONTNEED);
		run->given_back += RUN_PIECE;
	}
	return run->scan.damaged ? -EIO : 0;
}

/* Writes the index to a file and maps that. */
static int add_run(struct merge *merge, int fd)
{
	struct merge_run *run = realloc(merge->runs, (merge->n_runs + 1) * sizeof(*run));
	int error = run ? write_frames(merge, 0, fd) : -ENOMEM;

	if (run)
		merge->runs = run;
	if (error)
		return error;
	run += merge->n_runs;
	*run = (struct merge_run){ .source.advance = run_advance };
	error = map_file(fd, &run->map);
	if (error)
		return error;
	run->scan = (struct pmc_scan){ .data = run->map.data, .len = run->map.len };
	merge->n_runs++;
	return run_advance(&run->source);
}

static int spill(struct merge *merge)
{
	int fd = spill_open(), error = fd < 0 ? fd : add_run(merge, fd);

	if (fd >= 0)
		close(fd);
	merge->spill_failed = error != 0;
	merge_index_clear(&merge->index);
	for (size_t i = 0; i < merge->n_maps; i++)
		madvise(merge->maps[i].data, merge->maps[i].len, MADV_DONTNEED);
	return error;
}

/* ---- inputs ------------------------------------------------------------------------------- */
static int add_file(struct merge *merge, int fd, size_t at, struct merge_input *seen)
{
	struct map *map = realloc(merge->maps, (merge->n_maps + 1) * sizeof(*map));
	struct pmc_scan scan = { .at = 0 };
	struct pmc_frame frame;
	int error;

	if (!map)
		return -ENOMEM;
	merge->maps = map;
	map += merge->n_maps;
	error = map_file(fd, map);
	if (error)
		return error;
	merge->n_maps++;
	scan.data = map->data + at;
	scan.len = map->len - at;
	while (!error && pmc_scan_next(&scan, &frame)) {
		if (merge->index.used >= merge->budget)
			error = spill(merge);
		if (!error)
			error = merge_index_add(&merge->index, &frame);
		seen->good++;
	}
	seen->magic = seen->good || pmc_has_magic(scan.data, scan.len);
	seen->damaged = scan.damaged;
	return error;
}

/* Copies what cannot be mapped to a temporary file: its descriptor, or -errno. */
static int copy(struct merge *merge, int from)
{
	char buf[1 << 16], room[256];
	int to = spill_open(), error = 0;
	struct pmc_out out;
	ssize_t n = 1;

	merge->spill_failed = to < 0;
	if (to < 0)
		return to;
	pmc_out_to_fd(&out, to, room, sizeof(room));
	while (!error && n) {
		n = read(from, buf, sizeof(buf));
		if (n > 0) {
			pmc_out_bytes(&out, buf, (size_t)n);
			error = pmc_out_flush(&out);
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
	int error, mapped = fd;
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
		error = add_file(merge, mapped, (size_t)at, seen);
	}
	if (mapped != fd)
		close(mapped);
	return error;
}

/* ---- output ------------------------------------------------------------------------------- */
int merge_reload(struct merge *merge, int (*append)(int fd))
{
	struct merge_input seen;
	int fd = spill_open(), error;

	merge->spill_failed = true;
	if (fd < 0)
		return fd;
	error = write_frames(merge, merge->n_runs, fd);
	clear(merge);
	merge->index.order = MERGE_CANONICAL;
	merge->spill_failed = error != 0;
	if (!error && append)
		error = append(fd);
	if (!error && lseek(fd, 0, SEEK_SET) < 0)
		error = -errno;
	if (!error)
		error = merge_add_fd(merge, fd, &seen);
	close(fd);
	return error;
}

int merge_write(struct merge *merge, int fd)
{
	/* In the order of keys, to be sorted again. */
	int error = merge->index.order == MERGE_BY_KEY ? merge_reload(merge, NULL) : 0;

	if (!error)
		error = write_frames(merge, merge->n_runs, fd);
	clear(merge);
	return error;
}
