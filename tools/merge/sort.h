/* SPDX-License-Identifier: MIT */
/* sort.h - the order of frames, and an index that sorts them in memory. Private to this folder. */
#ifndef PMC_TOOLS_MERGE_SORT_H
#define PMC_TOOLS_MERGE_SORT_H

#include "lib/base/arena.h"
#include "lib/dump/frame.h"

enum merge_order {
	MERGE_CANONICAL, /* identity, snapshot, hash, size, bytes */
	MERGE_BY_KEY,	 /* identity, subject, snapshot, time, then canonical: newest last */
};

/* ---- order.c ------------------------------------------------------------------------------ */
/* 0 only for equal bytes: frames of equal hash and different bytes are both kept. */
int merge_compare(const struct pmc_frame *a, const struct pmc_frame *b, enum merge_order order);
/* Whether the later of two frames in MERGE_BY_KEY order makes the earlier one obsolete. */
bool merge_same_key(const struct pmc_frame *a, const struct pmc_frame *b);

/* Sorted frames. */
struct merge_source {
	struct pmc_frame frame; /* the current one, while `live`; its bytes stay valid */
	bool live;
	/* Loads the next frame, or clears `live` at the end. 0 or -errno. */
	int (*advance)(struct merge_source *source);
};

/* ---- index.c: frames in memory, sorted ---------------------------------------------------- */
struct merge_entry {
	uint64_t snapshot, hash;
	const uint8_t *bytes;
	uint32_t size;
	uint32_t stream; /* number of the process image's stream */
};

struct merge_index {
	struct merge_source source; /* over all entries, once sorted */
	enum merge_order order;
	bool strip_args;
	/* Entries as they came, and sorted (the first then serves as scratch). */
	struct merge_entry *entries, *sorted;
	size_t n, room, at;
	size_t used; /* bytes of the frames and of the index */
	struct pmc_arena arena;
	struct merge_stream *streams, *last;
	uint32_t n_streams;
};

/* The frame stays where it is; without its command line it is a copy. 0 or -ENOMEM. */
int merge_index_add(struct merge_index *index, struct pmc_frame *frame);
/* Sorts the entries; `source` is then at the first. */
int merge_index_sort(struct merge_index *index);
void merge_index_clear(struct merge_index *index);

#endif
