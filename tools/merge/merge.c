/* SPDX-License-Identifier: MIT */
/*
 * merge.c - the union of inputs: an index of their frames, sorted.
 *
 * Inputs are mapped and stay where they lie. Where the index of all would be too large, sorted runs
 * of it are written to a temporary file and merged. Pages of the inputs that have been used do not
 * stay in memory.
 */
#include "lib/base/file.h"
#include "lib/base/hash.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/base/sort.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/merge/merge.h"
#include "tools/rows/packed.h"
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

/* Entries that are read of a run at a time. */
enum { RUN_ENTRIES = 1024 };
/* Frames that are written before the memory of inputs is looked at: the kernel maps at least 64 KiB
 * around one that is not in memory, or a large folio. */
enum { FRAMES_UNSEEN = 64 };

struct map {
	uint8_t *data;
	size_t len, at; /* where to begin */
	bool is_used;	/* some of it may be in memory */
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
	uint32_t map; /* index, or NO_MAP: in memory */
};
#define NO_MAP UINT32_MAX

/* A sorted part of the index: in the temporary file, and as far as it is read, in memory. */
struct run {
	const struct entry *at, *end;
	uint64_t next, left; /* entries of the file */
	struct entry *room;
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
	struct entry *entries; /* that are in no run yet, at most `most` */
	size_t n, room, most;
	size_t window; /* the most bytes of inputs in memory */
	size_t mapped; /* bytes of files in memory before there were inputs */
	uint64_t n_frames;
	struct run *runs;
	size_t n_runs, runs_room;
	int runs_fd; /* -1: none */
	struct stream *streams, *last;
	struct subject *subjects;
	struct pmc_arena arena;	   /* of these */
	struct pmc_arena stripped; /* frames without their command line */
	bool spill_failed;
};

/* Of files, in the memory of this process; 0: unknown. */
static size_t mapped_bytes(void)
{
	char text[128];
	uint64_t pages = 0;
	const char *at = text;

	if (pmc_file_read(text, sizeof(text), "/proc/self/statm") <= 0)
		return 0;
	for (unsigned i = 0; i < 3 && pmc_number_take(&at, NULL, 10, &pages); i++)
		at += *at == ' ';
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

struct merge *merge_new(const struct merge_options *options)
{
	struct merge *merge = tool_realloc(NULL, sizeof(*merge));
	size_t bytes = options->index_bytes;

	if (!bytes)
		bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4;
	if (!options->index_bytes && bytes > INDEX_MOST)
		bytes = INDEX_MOST;
	*merge = (struct merge){ .options = *options,
				 .window = bytes / 8,
				 .most = (bytes - 2 * (bytes / 8)) / (2 * sizeof(struct entry)),
				 .mapped = mapped_bytes(),
				 .runs_fd = -1 };
	return merge;
}

static void clear(struct merge *merge)
{
	for (size_t i = 0; i < merge->n_maps; i++)
		munmap(merge->maps[i].data, merge->maps[i].len);
	pmc_fd_close(merge->runs_fd);
	free(merge->maps);
	free(merge->entries);
	free(merge->runs);
	pmc_arena_free(&merge->arena);
	pmc_arena_free(&merge->stripped);
	*merge = (struct merge){ .options = merge->options,
				 .most = merge->most,
				 .window = merge->window,
				 .mapped = merge->mapped,
				 .runs_fd = -1,
				 .spill_failed = merge->spill_failed };
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	clear(merge);
	free(merge);
}

/* ---- entries ------------------------------------------------------------------------------ */

/* By identity, snapshot, hash and size, without a look at the inputs. */
static inline __attribute__((always_inline)) int place_order(const void *left, const void *right,
							     const void *arg)
{
	const struct entry *a = left, *b = right;
	int order = 0;

	(void)arg;
	if (a->stream != b->stream)
		order = memcmp(a->stream->identity, b->stream->identity, 16);
	if (!order)
		order = (a->snapshot > b->snapshot) - (a->snapshot < b->snapshot);
	if (!order)
		order = (a->hash > b->hash) - (a->hash < b->hash);
	return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Frames of one place and different bytes are both kept. */
static int entry_order(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	const int order = place_order(a, b, NULL);

	return order ? order : memcmp(a->bytes, b->bytes, a->size);
}

/* Makes the frame a PROCESS frame without a command line, which is the fourth of its texts. */
static bool strip_args(struct merge *merge, struct pmc_frame *frame)
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
	if (!pmc_frame_end(&buf))
		return false;
	pmc_frame_view(frame, buf.data, buf.len);
	return true;
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

static struct entry entry_of(struct merge *merge, struct pmc_frame *frame, size_t map)
{
	if (merge->options.strip_args && frame->head.type == PMC_FRAME_PROCESS &&
	    frame->head.version == PMC_DUMP_VERSION && strip_args(merge, frame))
		map = NO_MAP;
	return (struct entry){ .stream = stream_of(merge, frame->head.identity),
			       .snapshot = frame->head.snapshot,
			       .hash = frame->head.hash,
			       .bytes = frame->bytes,
			       .size = frame->head.size,
			       .map = (uint32_t)map };
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
	if (order > 0 || (!order && entry_order(entry, old) > 0)) {
		*old = *entry;
		known->time_ns = subject.time_ns;
	}
	return true;
}

/* ---- the index ---------------------------------------------------------------------------- */

static int stream_order(const struct stream *a, const struct stream *b)
{
	return memcmp(a->identity, b->identity, sizeof(a->identity));
}

/* By streams, then each of them. */
static void sort(struct merge *merge)
{
	struct entry *sorted = tool_realloc(NULL, (merge->n + 1) * sizeof(*sorted));
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

		pmc_sort(sorted + at, merge->entries + at, stream->n, sizeof(*sorted), place_order,
			 NULL);
	}
	free(merge->entries);
	merge->entries = sorted;
	merge->room = merge->n;
}

/* Makes a run of the entries. 0 or -errno. */
static int spill(struct merge *merge)
{
	static char room[64 << 10];
	struct run run = { .left = merge->n };
	struct pmc_out out;
	int error;

	if (merge->runs_fd < 0)
		merge->runs_fd = merge_temporary();
	if (merge->runs_fd < 0)
		return merge->runs_fd;
	sort(merge);
	for (size_t i = 0; i < merge->n_runs; i++)
		run.next += merge->runs[i].left;
	pmc_out_to_fd(&out, merge->runs_fd, room, sizeof(room));
	pmc_out_bytes(&out, (const char *)merge->entries, merge->n * sizeof(*merge->entries));
	error = pmc_out_flush(&out);
	merge->runs =
		tool_list_grow(merge->runs, merge->n_runs, &merge->runs_room, sizeof(*merge->runs));
	merge->runs[merge->n_runs++] = run;
	merge->n = 0;
	return error;
}

/* Takes the inputs out of memory where they fill the window. They are read again where they are
 * used. */
static void limit_inputs(struct merge *merge)
{
	if (pmc_sub_sat(mapped_bytes(), merge->mapped) <= merge->window)
		return;
	for (size_t i = 0; i < merge->n_maps; i++) {
		struct map *map = &merge->maps[i];

		if (map->is_used)
			madvise(map->data, map->len, MADV_DONTNEED);
		map->is_used = false;
	}
}

/* Appends the frames in a PACKED one to the temporary file *to, which is made if it is -1. True: it
 * is done with; false: it cannot be read, and is kept as one of a later version would be. */
static bool unpack(struct merge *merge, const struct pmc_frame *frame, int *to,
		   struct merge_input *seen, int *error)
{
	struct pmc_scan scan = { .at = 0 };
	struct pmc_out out = { .cap = PMC_FRAME_MAX_BYTES };
	struct pmc_frame inner;
	uint8_t *bytes;
	long n;

	if (frame->head.type != PMC_FRAME_PACKED)
		return false;
	bytes = tool_realloc(NULL, 2 * (size_t)PMC_FRAME_MAX_BYTES);
	out.buf = (char *)bytes + PMC_FRAME_MAX_BYTES;
	n = pmc_unpack(frame, bytes);
	scan.data = bytes;
	scan.len = n > 0 ? (size_t)n : 0;
	*error = n < 0 ? (int)n : 0;
	while (pmc_scan_next(&scan, &inner)) {
		if (inner.head.type == PMC_FRAME_PACKED)
			continue;
		memcpy(out.buf + out.len, inner.bytes, inner.head.size);
		out.len += inner.head.size;
	}
	if (out.len && *to < 0)
		*to = merge_temporary();
	if (out.len) {
		out.fd = *to;
		*error = *to < 0 ? *to : pmc_out_flush(&out);
		merge->spill_failed = *error != 0;
	}
	free(bytes);
	/* Its command lines cannot be taken out. */
	seen->damaged += scan.damaged + (!n && merge->options.strip_args);
	return n || merge->options.strip_args;
}

/* Takes the entries of an input. With `compact` the index is one of threads, and not limited.
 * unpacked: see unpack(); NULL: a PACKED frame is one as any other. */
static int read_map(struct merge *merge, size_t index, struct merge_input *seen, int *unpacked)
{
	const struct map *map = &merge->maps[index];
	struct pmc_scan scan = { .data = map->data + map->at, .len = map->len - map->at };
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t kept = (uintptr_t)map->data;
	struct pmc_frame frame;
	int error = 0;

	while (!error && pmc_scan_next(&scan, &frame)) {
		const uintptr_t at = (uintptr_t)frame.bytes;
		const struct entry entry = entry_of(merge, &frame, index);

		tool_progress_add(frame.head.size);
		if (unpacked && unpack(merge, &frame, unpacked, seen, &error))
			continue;
		seen->good++;
		if (at - kept > merge->window) {
			madvise((void *)kept, (at - kept) & -page, MADV_DONTNEED);
			kept += (at - kept) & -page;
		}
		if (merge->options.compact && has_subject(merge, &entry, &frame))
			continue;
		if (!merge->options.compact && merge->n >= merge->most)
			error = spill(merge);
		merge->spill_failed = error != 0;
		append(merge, &entry);
		merge->n_frames++;
	}
	limit_inputs(merge);
	seen->damaged += scan.damaged;
	return error;
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

static int add_file(struct merge *merge, int fd, size_t at, size_t len, struct merge_input *seen,
		    int *unpacked)
{
	uint8_t *data = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	if (data == MAP_FAILED)
		return -errno;
	merge->maps = tool_realloc(merge->maps, (merge->n_maps + 1) * sizeof(*merge->maps));
	merge->maps[merge->n_maps] = (struct map){ data, len, at, true };
	return read_map(merge, merge->n_maps++, seen, unpacked);
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
	int error, mapped = fd, unpacked = -1;
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
		error = add_file(merge, mapped, (size_t)at, (size_t)st.st_size, seen, &unpacked);
	}
	if (!error && unpacked >= 0 && fstat(unpacked, &st) == 0 && st.st_size)
		error = add_file(merge, unpacked, 0, (size_t)st.st_size, seen, NULL);
	pmc_fd_close(unpacked);
	if (mapped != fd)
		close(mapped);
	return error;
}

/* ---- output ------------------------------------------------------------------------------- */

static bool refill(struct merge *merge, struct run *run)
{
	const uint64_t n = run->left < RUN_ENTRIES ? run->left : RUN_ENTRIES;
	const size_t bytes = n * sizeof(*run->room);
	const off_t at = (off_t)(run->next * sizeof(*run->room));

	if (!n)
		return false;
	if (!run->room)
		run->room = pmc_arena_alloc(&merge->arena, RUN_ENTRIES * sizeof(*run->room));
	/* The file has no name: only a failing disk can shorten it. */
	if (pread(merge->runs_fd, run->room, bytes, at) != (ssize_t)bytes)
		return false;
	run->at = run->room;
	run->end = run->room + n;
	run->next += n;
	run->left -= n;
	return true;
}

/* Moves a run down to its place in the heap, whose first run has the lowest entry. */
static void sift(struct run *runs, size_t n, size_t i)
{
	const struct run run = runs[i];

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && place_order(runs[child + 1].at, runs[child].at, NULL) < 0)
			child++;
		if (place_order(run.at, runs[child].at, NULL) <= 0)
			break;
		runs[i] = runs[child];
	}
	runs[i] = run;
}

/* Frames with equal sort keys, without duplicates: nearly always one. */
struct same {
	struct entry *list;
	size_t n, room;
};

static void add_same(struct merge *merge, struct same *same, const struct entry *entry)
{
	if (entry->map != NO_MAP)
		merge->maps[entry->map].is_used = true;
	for (size_t i = 0; i < same->n; i++)
		if (entry_order(&same->list[i], entry) == 0)
			return;
	same->list = tool_list_grow(same->list, same->n, &same->room, sizeof(*same->list));
	same->list[same->n++] = *entry;
}

/* Inputs are mapped: their contents may change. */
static int write_same(struct same *same, struct pmc_out *out)
{
	struct pmc_frame frame;

	if (same->n > 1)
		qsort(same->list, same->n, sizeof(*same->list), entry_order);
	for (size_t i = 0; i < same->n; i++) {
		const struct entry *entry = &same->list[i];

		if (!pmc_frame_still(&frame, entry->bytes, entry->size, entry->hash))
			return -ESTALE;
		pmc_out_bytes(out, (const char *)entry->bytes, entry->size);
	}
	same->n = 0;
	return out->error;
}

/* Makes a heap of the runs, the entries in memory included. Returns their number. */
static size_t make_heap(struct merge *merge)
{
	struct run *runs;
	size_t n;

	sort(merge);
	merge->runs = tool_list_grow(merge->runs, merge->n_runs, &merge->runs_room, sizeof(*runs));
	merge->runs[merge->n_runs++] =
		(struct run){ .at = merge->entries, .end = merge->entries + merge->n };
	runs = merge->runs;
	n = merge->n_runs;
	for (size_t i = n; i-- > 0;)
		if (runs[i].at == runs[i].end && !refill(merge, &runs[i]))
			runs[i] = runs[--n];
	for (size_t i = n; i-- > 0;)
		sift(runs, n, i);
	return n;
}

/* Writes each frame once. 0 or -errno. */
static int write_entries(struct merge *merge, struct pmc_out *out)
{
	size_t n = make_heap(merge);
	struct run *first = merge->runs;
	struct same same = { .n = 0 };
	uint64_t taken = 0;
	int error = 0;

	while (n && !error) {
		if (same.n && place_order(same.list, first->at, NULL) != 0)
			error = write_same(&same, out);
		add_same(merge, &same, first->at);
		if (++taken % FRAMES_UNSEEN == 0)
			limit_inputs(merge);
		tool_progress_add(1);
		if (++first->at == first->end && !refill(merge, first))
			*first = first[--n];
		if (n)
			sift(first, n, 0);
	}
	if (!error)
		error = write_same(&same, out);
	free(same.list);
	return error || taken == merge->n_frames ? error : -EIO;
}

static int write_union(struct merge *merge, int fd)
{
	static char room[256 << 10];
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, fd, room, sizeof(room));
	tool_progress_begin("writing frames", merge->n_frames);
	error = write_entries(merge, &out);
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
