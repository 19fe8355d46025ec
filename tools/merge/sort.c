/* SPDX-License-Identifier: MIT */
/*
 * sort.c - frames sorted in memory up to a budget, beyond it in runs on disk.
 *
 * A process writes with rising snapshot numbers, so its frames come nearly in order however many
 * processes share a file: they are dealt out by process first, then natural runs are merged.
 */
#include "tools/merge/sort.h"
#include "agent/core/base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a frame costs beside its bytes: two entries; and a process its stream. */
#define ENTRY_COST  (2 * sizeof(struct merge_entry))
#define STREAM_COST 256

struct merge_stream {
	uint8_t identity[16];
	uint32_t number;
	size_t count, start;
	UT_hash_handle hh;
};

static int memory_advance(struct merge_source *source);

int merge_sorter_init(struct merge_sorter *sorter, enum merge_order order, size_t budget)
{
	memset(sorter, 0, sizeof(*sorter));
	sorter->order = order;
	sorter->source.advance = memory_advance;
	sorter->budget = budget;
	/* What is read ahead of the budget needs room too. */
	sorter->cap = sorter->budget + 4 * (size_t)PMC_FRAME_MAX_BYTES;
	/* Untouched pages cost nothing. */
	sorter->data = mmap(NULL, sorter->cap, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sorter->data == MAP_FAILED) {
		sorter->data = NULL;
		return -ENOMEM;
	}
	return 0;
}

void merge_sorter_fini(struct merge_sorter *sorter)
{
	for (unsigned i = 0; i < sorter->n_runs; i++)
		merge_run_close(&sorter->runs[i]);
	if (sorter->data)
		munmap(sorter->data, sorter->cap);
	free(sorter->entries);
	free(sorter->sorted);
	merge_maps_close(&sorter->maps, 0);
	free(sorter->maps.list);
	pmc_arena_free(&sorter->arena);
	memset(sorter, 0, sizeof(*sorter));
}

static struct merge_stream *stream_of(struct merge_sorter *sorter, const uint8_t identity[16])
{
	struct pmc_arena *arena = &sorter->arena;
	struct merge_stream *stream = sorter->last;

	if (stream && memcmp(stream->identity, identity, 16) == 0)
		return stream;
	HASH_FIND(hh, sorter->streams, identity, 16, stream);
	if (!stream) {
		stream = pmc_arena_alloc(arena, sizeof(*stream));
		if (!stream)
			return NULL;
		memcpy(stream->identity, identity, 16);
		stream->number = sorter->n_streams++;
		HASH_ADD(hh, sorter->streams, identity, 16, stream);
		if (arena->failed)
			return NULL;
		sorter->used += STREAM_COST;
	}
	sorter->last = stream;
	return stream;
}

int merge_sorter_note(struct merge_sorter *sorter, const struct merge_frame *frame, bool mapped)
{
	struct merge_stream *stream = stream_of(sorter, frame->head.identity);

	if (!stream)
		return -ENOMEM;
	if (sorter->n == sorter->room) {
		size_t room = sorter->room ? sorter->room * 2 : 4096;
		struct merge_entry *more = realloc(sorter->entries, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sorter->entries = more;
		sorter->room = room;
	}
	sorter->entries[sorter->n++] = (struct merge_entry){
		.snapshot = frame->head.snapshot,
		.bytes = frame->bytes,
		.hash = (uint32_t)(frame->head.hash >> 32),
		.stream = stream->number,
	};
	stream->count++;
	sorter->used += ENTRY_COST + (mapped ? 0 : frame->head.size);
	return 0;
}

bool merge_sorter_full(const struct merge_sorter *sorter)
{
	return sorter->used >= sorter->budget ||
	       sorter->cap - sorter->len < 2 * (size_t)PMC_FRAME_MAX_BYTES;
}

int merge_sorter_put(struct merge_sorter *sorter, const struct merge_frame *frame)
{
	struct merge_frame copy = *frame;
	int error = 0;

	if (merge_sorter_full(sorter))
		error = merge_sorter_spill(sorter, sorter->len);
	if (error)
		return error;
	copy.bytes = sorter->data + sorter->len;
	memcpy(sorter->data + sorter->len, frame->bytes, frame->head.size);
	sorter->len += frame->head.size;
	return merge_sorter_note(sorter, &copy, false);
}

/* ---- sorting ------------------------------------------------------------------------------*/
/* A mapped file may be written to after its frames were proved: a length is not believed twice. */
static bool load(const struct merge_entry *entry, struct merge_frame *frame)
{
	struct pmc_frame_head *head = &frame->head;

	frame->bytes = entry->bytes;
	memcpy(head, frame->bytes, sizeof(*head));
	if (head->size >= sizeof(*head) && head->size <= PMC_FRAME_MAX_BYTES &&
	    head->fixed <= head->size - sizeof(*head))
		return true;
	head->size = sizeof(*head);
	head->fixed = 0;
	return false;
}

/* Of one stream: the identity is equal. */
static int entry_order(const struct merge_sorter *sorter, const struct merge_entry *a,
		       const struct merge_entry *b)
{
	struct merge_frame frame_a, frame_b;

	if (sorter->order == MERGE_CANONICAL) {
		if (a->snapshot != b->snapshot)
			return a->snapshot < b->snapshot ? -1 : 1;
		if (a->hash != b->hash)
			return a->hash < b->hash ? -1 : 1;
	}
	load(a, &frame_a);
	load(b, &frame_b);
	return merge_compare(&frame_a, &frame_b, sorter->order);
}

static size_t run_end(const struct merge_sorter *sorter, const struct merge_entry *entries,
		      size_t from, size_t n)
{
	while (++from < n)
		if (entry_order(sorter, &entries[from - 1], &entries[from]) > 0)
			break;
	return from < n ? from : n;
}

static void sort_stream(const struct merge_sorter *sorter, struct merge_entry *const entries,
			struct merge_entry *const scratch, size_t n)
{
	struct merge_entry *from = entries, *to = scratch;

	while (run_end(sorter, from, 0, n) < n) {
		struct merge_entry *swap = from;

		for (size_t low = 0; low < n;) {
			size_t mid = run_end(sorter, from, low, n), k = low;
			size_t high = mid < n ? run_end(sorter, from, mid, n) : n;
			size_t i = low, j = mid;

			while (i < mid && j < high) {
				bool left = entry_order(sorter, &from[i], &from[j]) <= 0;

				to[k++] = left ? from[i++] : from[j++];
			}
			memcpy(to + k, from + i, (mid - i) * sizeof(*to));
			k += mid - i;
			memcpy(to + k, from + j, (high - j) * sizeof(*to));
			low = high;
		}
		from = to;
		to = swap;
	}
	if (from != entries)
		memcpy(entries, from, n * sizeof(*entries));
}

static int stream_order(const struct merge_stream *a, const struct merge_stream *b)
{
	return memcmp(a->identity, b->identity, sizeof(a->identity));
}

static int sort_memory(struct merge_sorter *sorter)
{
	struct merge_stream *stream;
	size_t *starts, at = 0;

	free(sorter->sorted);
	sorter->sorted = malloc((sorter->n + 1) * sizeof(*sorter->sorted));
	starts = pmc_arena_alloc(&sorter->arena, (sorter->n_streams + 1) * sizeof(*starts));
	if (!sorter->sorted || !starts)
		return -ENOMEM;
	HASH_SORT(sorter->streams, stream_order);
	for (stream = sorter->streams; stream; stream = stream->hh.next) {
		stream->start = starts[stream->number] = at;
		at += stream->count;
	}
	for (size_t i = 0; i < sorter->n; i++)
		sorter->sorted[starts[sorter->entries[i].stream]++] = sorter->entries[i];
	for (stream = sorter->streams; stream; stream = stream->hh.next)
		sort_stream(sorter, sorter->sorted + stream->start, sorter->entries + stream->start,
			    stream->count);
	sorter->at = 0;
	sorter->source.live = true;
	return memory_advance(&sorter->source);
}

/* Steps over repetitions: they are neighbours. */
static int memory_advance(struct merge_source *source)
{
	struct merge_sorter *sorter = (struct merge_sorter *)source;
	const struct merge_entry *last = sorter->at ? &sorter->sorted[sorter->at - 1] : NULL;

	while (last && sorter->at < sorter->n &&
	       last->stream == sorter->sorted[sorter->at].stream &&
	       last->hash == sorter->sorted[sorter->at].hash &&
	       entry_order(sorter, last, &sorter->sorted[sorter->at]) == 0)
		sorter->at++;
	source->live = sorter->at < sorter->n;
	if (source->live && !load(&sorter->sorted[sorter->at++], &source->frame))
		return -EIO;
	return 0;
}

static void forget_memory(struct merge_sorter *sorter)
{
	pmc_arena_free(&sorter->arena);
	sorter->streams = sorter->last = NULL;
	sorter->n_streams = 0;
	sorter->n = sorter->at = sorter->used = 0;
	free(sorter->sorted);
	sorter->sorted = NULL;
}

/* ---- spilling ------------------------------------------------------------------------------*/
static int put_writer(void *arg, const struct merge_frame *frame)
{
	struct merge_writer *writer = arg;

	merge_writer_put(writer, frame->bytes, frame->head.size);
	return writer->error;
}

/* All of the sources into a new run, which takes the place of those given up. */
static int write_run(struct merge_sorter *sorter, struct merge_source **sources, unsigned n,
		     int *result)
{
	struct merge_writer writer = { .buf = NULL };
	int fd = merge_spill_open(), error, closing;

	sorter->spill_trouble = true;
	if (fd < 0)
		return fd;
	error = merge_writer_init(&writer, fd);
	if (!error) {
		error = merge_sources(sources, n, sorter->order, put_writer, &writer);
		closing = merge_writer_close(&writer);
		error = error ? error : closing;
	}
	if (error) {
		close(fd);
		return error;
	}
	sorter->spill_trouble = false;
	*result = fd;
	return 0;
}

static int add_run(struct merge_sorter *sorter, int fd)
{
	struct merge_run *run = &sorter->runs[sorter->n_runs];
	int error = merge_run_open(run, fd);

	sorter->n_runs++;
	sorter->spill_trouble = error != 0;
	return error;
}

static int collapse_runs(struct merge_sorter *sorter)
{
	struct merge_source *sources[MERGE_FAN];
	int fd, error;

	for (unsigned i = 0; i < sorter->n_runs; i++)
		sources[i] = &sorter->runs[i].source;
	error = write_run(sorter, sources, sorter->n_runs, &fd);
	if (error)
		return error;
	for (unsigned i = 0; i < sorter->n_runs; i++)
		merge_run_close(&sorter->runs[i]);
	sorter->n_runs = 0;
	return add_run(sorter, fd);
}

int merge_sorter_spill(struct merge_sorter *sorter, size_t keep)
{
	struct merge_source *memory = &sorter->source;
	int fd, error = 0;

	if (sorter->n) {
		error = sort_memory(sorter);
		if (!error && sorter->n_runs == MERGE_FAN)
			error = collapse_runs(sorter);
		if (!error)
			error = write_run(sorter, &memory, 1, &fd);
		if (!error)
			error = add_run(sorter, fd);
	}
	forget_memory(sorter);
	merge_maps_close(&sorter->maps, 1);
	memmove(sorter->data, sorter->data + keep, sorter->len - keep);
	sorter->len -= keep;
	return error;
}

int merge_sorter_drain(struct merge_sorter *sorter,
		       int (*put)(void *arg, const struct merge_frame *frame), void *arg)
{
	struct merge_source *sources[MERGE_FAN + 1];
	unsigned n = 0;
	int error = sort_memory(sorter);

	for (unsigned i = 0; i < sorter->n_runs; i++)
		sources[n++] = &sorter->runs[i].source;
	sources[n++] = &sorter->source;
	if (!error)
		error = merge_sources(sources, n, sorter->order, put, arg);
	for (unsigned i = 0; i < sorter->n_runs; i++)
		merge_run_close(&sorter->runs[i]);
	sorter->n_runs = 0;
	forget_memory(sorter);
	merge_maps_close(&sorter->maps, 0);
	sorter->len = 0;
	return error;
}
