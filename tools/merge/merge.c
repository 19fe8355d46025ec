/* SPDX-License-Identifier: MIT */
/*
 * merge.c - the union of inputs: an index of their frames, sorted.
 *
 * Inputs are mapped and stay where they lie. Where the index of all would be too large, the inputs
 * are read again for each part of the canonical order, which a sample of the frames divides.
 */
#include "lib/base/hash.h"
#include "lib/base/out.h"
#include "lib/base/sort.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/merge/merge.h"
#include "tools/rows/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory of the index: a container may have less than the machine. */
#define INDEX_MOST ((size_t)1 << 30)

enum { SAMPLED = 4096 };

struct map {
	uint8_t *data;
	size_t len, at; /* where to begin */
};

/* The frames of a process image, which come nearly in order, however many share a file. */
struct stream {
	uint8_t identity[16];
	size_t n, end; /* of the entries that are sorted */
	UT_hash_handle hh;
};

struct entry {
	struct stream *stream;
	uint64_t snapshot, hash;
	const uint8_t *bytes;
	uint32_t size;
};

/* The subject of frames, and the newest frame about it. */
struct subject {
	size_t entry;
	uint64_t time_ns;
	UT_hash_handle hh;
	char key[];
};

struct merge {
	struct merge_options options;
	struct map *maps;
	size_t n_maps;
	struct entry *entries; /* of all inputs; of a part if there are more than `most` */
	size_t n, room, most;
	uint64_t n_frames;
	struct entry sample[SAMPLED]; /* each stride-th frame */
	uint64_t n_sampled, stride;
	const struct entry *from, *to; /* bounds of the part that is written; NULL: none */
	struct stream *streams, *last;
	struct subject *subjects;
	struct pmc_arena arena;	   /* of these */
	struct pmc_arena stripped; /* frames without their command line */
	bool spill_failed;
};

struct merge *merge_new(const struct merge_options *options)
{
	struct merge *merge = tool_realloc(NULL, sizeof(*merge));
	size_t bytes = options->index_bytes;

	memset(merge, 0, sizeof(*merge));
	if (!bytes)
		bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4;
	if (!options->index_bytes && bytes > INDEX_MOST)
		bytes = INDEX_MOST;
	merge->options = *options;
	merge->most = bytes / (2 * sizeof(struct entry));
	merge->stride = 1;
	return merge;
}

static void clear(struct merge *merge)
{
	for (size_t i = 0; i < merge->n_maps; i++)
		munmap(merge->maps[i].data, merge->maps[i].len);
	free(merge->maps);
	free(merge->entries);
	pmc_arena_free(&merge->arena);
	pmc_arena_free(&merge->stripped);
	merge->maps = NULL;
	merge->entries = NULL;
	merge->streams = merge->last = NULL;
	merge->subjects = NULL;
	merge->n_maps = merge->n = merge->room = 0;
	merge->n_frames = merge->n_sampled = 0;
	merge->from = merge->to = NULL;
	merge->stride = 1;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	clear(merge);
	free(merge);
}

/* ---- entries ------------------------------------------------------------------------------ */

/* By identity, snapshot and hash. */
static inline __attribute__((always_inline)) int place_order(const struct entry *a,
							     const struct entry *b)
{
	int order = 0;

	if (a->stream != b->stream)
		order = memcmp(a->stream->identity, b->stream->identity, 16);
	if (!order)
		order = (a->snapshot > b->snapshot) - (a->snapshot < b->snapshot);
	return order ? order : (a->hash > b->hash) - (a->hash < b->hash);
}

/* Frames of equal hash and different bytes are both kept. */
static inline __attribute__((always_inline)) int entry_order(const void *left, const void *right,
							     const void *arg)
{
	const struct entry *a = left, *b = right;
	int order = place_order(a, b);

	(void)arg;
	if (!order)
		order = (a->size > b->size) - (a->size < b->size);
	return order ? order : memcmp(a->bytes, b->bytes, a->size);
}

/* Makes the frame a PROCESS frame without a command line, which is the fourth of its texts. */
static void strip_args(struct merge *merge, struct pmc_frame *frame)
{
	void *room = pmc_arena_alloc(&merge->stripped, frame->head.size);
	struct pmc_frame_buf buf;
	struct pmc_cursor cursor;
	const char *text;
	size_t len;

	pmc_frame_buf_init(&buf, room, frame->head.size);
	pmc_frame_begin(&buf, PMC_FRAME_PROCESS, frame->head.identity, frame->head.snapshot,
			frame->fixed, frame->head.fixed);
	pmc_cursor_init(&cursor, frame);
	for (unsigned i = 0; i < 5; i++) {
		pmc_cursor_str(&cursor, &text, &len);
		pmc_frame_str(&buf, text, i != 3 && !cursor.bad ? len : 0);
	}
	if (pmc_frame_end(&buf))
		pmc_frame_view(frame, buf.data, buf.len);
}

static struct stream *stream_of(struct merge *merge, const uint8_t identity[16])
{
	struct pmc_arena *arena = &merge->arena;
	struct stream *stream = merge->last;

	if (stream && memcmp(stream->identity, identity, 16) == 0)
		return stream;
	HASH_FIND(hh, merge->streams, identity, 16, stream);
	if (!stream) {
		stream = pmc_arena_alloc(arena, sizeof(*stream));
		memcpy(stream->identity, identity, 16);
		HASH_ADD(hh, merge->streams, identity, 16, stream);
	}
	merge->last = stream;
	return stream;
}

static struct entry entry_of(struct merge *merge, struct pmc_frame *frame)
{
	if (merge->options.strip_args && frame->head.type == PMC_FRAME_PROCESS &&
	    frame->head.version == PMC_DUMP_VERSION)
		strip_args(merge, frame);
	return (struct entry){ .stream = stream_of(merge, frame->head.identity),
			       .snapshot = frame->head.snapshot,
			       .hash = frame->head.hash,
			       .bytes = frame->bytes,
			       .size = frame->head.size };
}

static void append(struct merge *merge, const struct entry *entry)
{
	merge->entries =
		tool_list_grow(merge->entries, merge->n, &merge->room, sizeof(*merge->entries));
	merge->entries[merge->n++] = *entry;
}

/* Whether an entry has the subject of the frame: that of the newer one. */
static bool has_subject(struct merge *merge, const struct entry *entry,
			const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &merge->arena;
	struct pmc_subject subject;
	struct subject *known;
	struct entry *old;
	size_t len;
	int order;

	if (!pmc_frame_subject(frame, &subject))
		return false;
	len = pmc_subject_bytes(subject.text_len);
	HASH_FIND(hh, merge->subjects, &subject.key, len, known);
	if (!known) {
		known = pmc_arena_alloc(arena, sizeof(*known) + len);
		known->entry = merge->n;
		known->time_ns = subject.time_ns;
		memcpy(known->key, &subject.key, len);
		HASH_ADD_KEYPTR(hh, merge->subjects, known->key, len, known);
		return false;
	}
	old = &merge->entries[known->entry];
	order = (entry->snapshot > old->snapshot) - (entry->snapshot < old->snapshot);
	/* pmctl dump repeats the process's newest snapshot number. */
	if (!order)
		order = (subject.time_ns > known->time_ns) - (subject.time_ns < known->time_ns);
	if (order > 0 || (!order && entry_order(entry, old, NULL) > 0)) {
		*old = *entry;
		known->time_ns = subject.time_ns;
	}
	return true;
}

/* When the sample is full, every second one of it stays. */
static void take_sample(struct merge *merge, const struct entry *entry)
{
	if (merge->n_frames % merge->stride != 0)
		return;
	if (merge->n_sampled == SAMPLED) {
		for (unsigned i = 0; i < SAMPLED / 2; i++)
			merge->sample[i] = merge->sample[2 * i];
		merge->n_sampled = SAMPLED / 2;
		merge->stride *= 2;
		if (merge->n_frames % merge->stride != 0)
			return;
	}
	merge->sample[merge->n_sampled++] = *entry;
}

/* With `compact` the index is one of threads, and not limited. */
static bool is_in_parts(const struct merge *merge)
{
	return !merge->options.compact && merge->n_frames > merge->most;
}

static bool is_in_part(const struct merge *merge, const struct entry *entry)
{
	return (!merge->from || place_order(entry, merge->from) >= 0) &&
	       (!merge->to || place_order(entry, merge->to) < 0);
}

/* Takes the entries of an input; seen: at first sight, else those of the part. */
static void read_map(struct merge *merge, const struct map *map, struct merge_input *seen)
{
	struct pmc_scan scan = { .data = map->data + map->at, .len = map->len - map->at };
	struct pmc_frame frame;

	while (pmc_scan_next(&scan, &frame)) {
		const struct entry entry = entry_of(merge, &frame);

		tool_progress_add(seen ? frame.head.size : 0);
		if (seen) {
			seen->good++;
			if (merge->options.compact && has_subject(merge, &entry, &frame))
				continue;
			take_sample(merge, &entry);
			merge->n_frames++;
			merge->n = is_in_parts(merge) ? 0 : merge->n;
		}
		if (seen ? !is_in_parts(merge) : is_in_part(merge, &entry))
			append(merge, &entry);
	}
	if (is_in_parts(merge))
		madvise(map->data, map->len, MADV_DONTNEED);
	if (seen)
		seen->damaged = scan.damaged;
}

/* ---- inputs ------------------------------------------------------------------------------- */

static const char *spill_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

const char *merge_spill_trouble(const struct merge *merge)
{
	return merge->spill_failed ? spill_dir() : NULL;
}

int merge_temporary(void)
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

static int add_file(struct merge *merge, int fd, size_t at, size_t len, struct merge_input *seen)
{
	uint8_t *data = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	if (data == MAP_FAILED)
		return -errno;
	merge->maps = tool_realloc(merge->maps, (merge->n_maps + 1) * sizeof(*merge->maps));
	merge->maps[merge->n_maps] = (struct map){ data, len, at };
	read_map(merge, &merge->maps[merge->n_maps++], seen);
	return 0;
}

/* Copies what cannot be mapped to a temporary file: its descriptor, or -errno. */
static int copy(struct merge *merge, int from)
{
	char buf[1 << 16], room[256];
	int to = merge_temporary(), error = 0;
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
		error = add_file(merge, mapped, (size_t)at, (size_t)st.st_size, seen);
	}
	if (mapped != fd)
		close(mapped);
	return error;
}

/* ---- output ------------------------------------------------------------------------------- */

static int stream_order(const struct stream *a, const struct stream *b)
{
	return memcmp(a->identity, b->identity, sizeof(a->identity));
}

/* By streams, then each of them. */
static void sort(struct merge *merge)
{
	struct entry *sorted = tool_realloc(NULL, (merge->room + 1) * sizeof(*sorted));
	struct stream *stream;
	size_t end = 0;

	HASH_SORT(merge->streams, stream_order);
	for (stream = merge->streams; stream; stream = stream->hh.next)
		stream->n = 0;
	for (size_t i = 0; i < merge->n; i++)
		merge->entries[i].stream->n++;
	for (stream = merge->streams; stream; stream = stream->hh.next) {
		stream->end = end;
		end += stream->n;
	}
	for (size_t i = 0; i < merge->n; i++)
		sorted[merge->entries[i].stream->end++] = merge->entries[i];
	for (stream = merge->streams; stream; stream = stream->hh.next) {
		const size_t at = stream->end - stream->n;

		pmc_sort(sorted + at, merge->entries + at, stream->n, sizeof(*sorted), entry_order,
			 NULL);
	}
	free(merge->entries);
	merge->entries = sorted;
}

/* Each once. */
static int write_entries(struct merge *merge, struct pmc_out *out)
{
	struct pmc_frame frame;
	int error = 0;

	sort(merge);
	for (size_t i = 0; i < merge->n && !error && !out->error; i++) {
		const struct entry *entry = &merge->entries[i];

		/* Inputs are mapped: their contents may change. */
		if (!pmc_frame_still(&frame, entry->bytes, entry->size, entry->hash))
			error = -ESTALE;
		else if (i + 1 == merge->n || entry_order(entry, entry + 1, NULL) != 0)
			pmc_out_bytes(out, (const char *)entry->bytes, entry->size);
		tool_progress_add(1);
	}
	return error;
}

static int write_parts(struct merge *merge, struct pmc_out *out)
{
	const uint64_t n = merge->n_sampled, parts = merge->n_frames / merge->most + 1;
	static struct entry scratch[SAMPLED];
	uint64_t frames = 0;
	int error = 0;

	pmc_sort(merge->sample, scratch, n, sizeof(*scratch), entry_order, NULL);
	for (uint64_t i = 1; i <= parts && !error && !out->error; i++) {
		merge->from = merge->to;
		merge->to = i < parts ? &merge->sample[i * n / parts] : NULL;
		merge->n = 0;
		pmc_arena_free(&merge->stripped);
		for (size_t map = 0; map < merge->n_maps; map++)
			read_map(merge, &merge->maps[map], NULL);
		frames += merge->n;
		error = write_entries(merge, out);
	}
	return error || out->error || frames == merge->n_frames ? error : -ESTALE;
}

static int write_union(struct merge *merge, int fd)
{
	static char room[256 << 10];
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, fd, room, sizeof(room));
	tool_progress_begin("writing frames", merge->n_frames);
	error = is_in_parts(merge) ? write_parts(merge, &out) : write_entries(merge, &out);
	tool_progress_end();
	return error ? error : pmc_out_flush(&out);
}

int merge_reload(struct merge *merge, int (*add)(int fd))
{
	struct merge_input seen;
	int fd = merge_temporary(), error;

	merge->spill_failed = true;
	if (fd < 0)
		return fd;
	error = write_union(merge, fd);
	clear(merge);
	merge->spill_failed = error != 0;
	if (!error)
		error = add(fd);
	if (!error && lseek(fd, 0, SEEK_SET) < 0)
		error = -errno;
	if (!error)
		error = merge_add_fd(merge, fd, &seen);
	close(fd);
	return error;
}

int merge_write(struct merge *merge, int fd)
{
	int error = write_union(merge, fd);

	clear(merge);
	return error;
}
