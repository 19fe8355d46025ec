/* SPDX-License-Identifier: MIT */
/*
 * index.c - an index of frames in memory, and its sort.
 *
 * A process writes frames with rising snapshot numbers, so within one process image they come
 * nearly in order, however many processes share a file: entries are grouped by process image, then
 * each group is sorted by merging its natural runs.
 */
#include "lib/base/hash.h"
#include "lib/base/sort.h"
#include "tools/merge/sort.h"
#include "tools/cli/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_COST 256

/* The frames of one process image. */
struct merge_stream {
	uint8_t identity[16];
	uint32_t number;
	size_t count, start;
	UT_hash_handle hh;
};

static struct merge_stream *stream_of(struct merge_index *index, const uint8_t identity[16])
{
	struct pmc_arena *arena = &index->arena;
	struct merge_stream *stream = index->last;

	if (stream && memcmp(stream->identity, identity, 16) == 0)
		return stream;
	HASH_FIND(hh, index->streams, identity, 16, stream);
	if (!stream) {
		stream = pmc_arena_alloc(arena, sizeof(*stream));
		if (!stream)
			return NULL;
		memcpy(stream->identity, identity, 16);
		stream->number = index->n_streams++;
		HASH_ADD(hh, index->streams, identity, 16, stream);
		if (arena->failed)
			return NULL;
		index->used += STREAM_COST;
	}
	index->last = stream;
	return stream;
}

/* Makes the frame a PROCESS frame without a command line, which is the last of its texts. */
static bool strip_args(struct merge_index *index, struct pmc_frame *frame)
{
	void *room = pmc_arena_alloc(&index->arena, frame->head.size);
	struct pmc_frame_buf buf;
	struct pmc_cursor cursor;
	const char *text;
	size_t len;

	if (!room)
		return false;
	pmc_frame_buf_init(&buf, room, frame->head.size);
	pmc_frame_begin(&buf, PMC_FRAME_PROCESS, frame->head.identity, frame->head.snapshot,
			frame->fixed, frame->head.fixed);
	pmc_cursor_init(&cursor, frame);
	for (unsigned i = 0; i < 4; i++) {
		pmc_cursor_str(&cursor, &text, &len);
		pmc_frame_str(&buf, text, i < 3 && !cursor.bad ? len : 0);
	}
	if (!pmc_frame_end(&buf))
		return false;
	pmc_frame_view(frame, buf.data, buf.len);
	return true;
}

int merge_index_add(struct merge_index *index, struct pmc_frame *frame)
{
	struct merge_stream *stream = stream_of(index, frame->head.identity);
	struct merge_entry *entries;

	if (!stream)
		return -ENOMEM;
	if (index->strip_args && frame->head.type == PMC_FRAME_PROCESS &&
	    frame->head.version == PMC_DUMP_VERSION && !strip_args(index, frame))
		return -ENOMEM;
	entries = tool_list_grow(index->entries, index->n, &index->room, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	index->entries = entries;
	index->entries[index->n++] = (struct merge_entry){
		.snapshot = frame->head.snapshot,
		.hash = frame->head.hash,
		.bytes = frame->bytes,
		.size = frame->head.size,
		.stream = stream->number,
	};
	stream->count++;
	/* `sorted` will take as much again. */
	index->used += 2 * sizeof(struct merge_entry) + frame->head.size;
	return 0;
}

/* Orders entries of one stream, which have the same identity. */
static int entry_order(const void *left, const void *right, const void *arg)
{
	const struct merge_entry *a = left, *b = right;
	const struct merge_index *index = arg;
	struct pmc_frame frame_a, frame_b;

	if (index->order == MERGE_CANONICAL) {
		if (a->snapshot != b->snapshot)
			return a->snapshot < b->snapshot ? -1 : 1;
		if (a->hash != b->hash)
			return a->hash < b->hash ? -1 : 1;
	}
	pmc_frame_view(&frame_a, a->bytes, a->size);
	pmc_frame_view(&frame_b, b->bytes, b->size);
	return merge_compare(&frame_a, &frame_b, index->order);
}

static int stream_order(const struct merge_stream *a, const struct merge_stream *b)
{
	return memcmp(a->identity, b->identity, sizeof(a->identity));
}

static int index_advance(struct merge_source *source)
{
	struct merge_index *index = (struct merge_index *)source;

	source->live = index->at < index->n;
	if (source->live) {
		const struct merge_entry *entry = &index->sorted[index->at++];

		/* Inputs are mapped: their contents may change. */
		if (!pmc_frame_still(&source->frame, entry->bytes, entry->size, entry->hash))
			return -ESTALE;
	}
	return 0;
}

int merge_index_sort(struct merge_index *index)
{
	struct merge_stream *stream;
	size_t *next, at = 0;

	index->sorted = malloc((index->n + 1) * sizeof(*index->sorted));
	next = pmc_arena_alloc(&index->arena, (index->n_streams + 1) * sizeof(*next));
	if (!index->sorted || !next)
		return -ENOMEM;
	HASH_SORT(index->streams, stream_order);
	for (stream = index->streams; stream; stream = stream->hh.next) {
		stream->start = next[stream->number] = at;
		at += stream->count;
	}
	at = 0;
	while (at < index->n && next[index->entries[at].stream] == at)
		next[index->entries[at++].stream]++;
	if (at && at == index->n) { /* grouped already, as in a merged dump */
		struct merge_entry *scratch = index->sorted;

		index->sorted = index->entries;
		index->entries = scratch;
	}
	/* Entries before `at` are in place. */
	for (size_t i = 0; at < index->n && i < index->n; i++)
		index->sorted[i < at ? i : next[index->entries[i].stream]++] = index->entries[i];
	for (stream = index->streams; stream; stream = stream->hh.next)
		pmc_sort(index->sorted + stream->start, index->entries + stream->start,
			 stream->count, sizeof(*index->sorted), entry_order, index);
	index->at = 0;
	index->source.advance = index_advance;
	return index_advance(&index->source);
}

void merge_index_clear(struct merge_index *index)
{
	pmc_arena_free(&index->arena);
	free(index->entries);
	free(index->sorted);
	*index = (struct merge_index){ .order = index->order, .strip_args = index->strip_args };
}
