/* SPDX-License-Identifier: MIT */
/* sort.h - the external sort of merge.c: an index of mapped frames, sorted runs on disk. */
#ifndef PMC_TOOLS_MERGE_SORT_H
#define PMC_TOOLS_MERGE_SORT_H

#include "agent/core/base/arena.h"
#include "agent/core/dump/frame.h"

enum merge_order {
	MERGE_CANONICAL, /* identity, snapshot, hash, size, bytes */
	MERGE_BY_KEY,	 /* identity, subject, snapshot, time, then canonical: newest last */
};

/* ---- order.c ------------------------------------------------------------------------------ */
/* 0 only for equal bytes: frames of equal hash and different bytes are both kept. */
int merge_compare(const struct pmc_frame *a, const struct pmc_frame *b, enum merge_order order);
/* Whether the later of two frames in MERGE_BY_KEY order makes the earlier one obsolete. */
bool merge_same_key(const struct pmc_frame *a, const struct pmc_frame *b);

/* ---- runs.c: buffered writing, sorted runs, k-way merge ----------------------------------- */
/* 0 or -errno. */
int merge_write_all(int fd, const void *bytes, size_t len);

struct merge_writer {
	int fd, error;
	uint8_t *buf;
	size_t len;
};

int merge_writer_init(struct merge_writer *writer, int fd);
/* A merge_put; writer is a struct merge_writer. */
int merge_writer_put(void *writer, const struct pmc_frame *frame);
/* Writes what is buffered and frees the buffer. 0 or the first error. */
int merge_writer_close(struct merge_writer *writer);

/* Sorted frames without repetition. */
struct merge_source {
	struct pmc_frame frame; /* the current one, while `live`; valid until the next advance */
	bool live;
	/* Loads the next frame, or clears `live` at the end. 0 or -errno. */
	int (*advance)(struct merge_source *source);
};

typedef int merge_put(void *arg, const struct pmc_frame *frame);
/* Passes the frames of all sources to put, in order, each once. 0 or the first error. */
int merge_sources(struct merge_source **sources, unsigned n, enum merge_order order, merge_put *put,
		  void *arg);

/* A source that reads a file of sorted frames. */
struct merge_run {
	struct merge_source source;
	int fd;
	uint8_t *buf;
	struct pmc_scan scan;
};

const char *merge_spill_dir(void);
/* A new unlinked file in that directory: its descriptor, or -errno. */
int merge_spill_open(void);
/* Starts at the beginning of the file. Takes the descriptor, also on failure. */
int merge_run_open(struct merge_run *run, int fd);
void merge_run_close(struct merge_run *run);

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
	/* Entries as they came, and sorted (the first then serves as scratch). */
	struct merge_entry *entries, *sorted;
	size_t n, room, at;
	size_t used; /* bytes of the frames and of the index */
	struct pmc_arena arena;
	struct merge_stream *streams, *last;
	uint32_t n_streams;
};

/* The frame stays where it is. 0 or -ENOMEM. */
int merge_index_add(struct merge_index *index, const struct pmc_frame *frame);
/* Sorts the entries; `source` is then at the first. */
int merge_index_sort(struct merge_index *index);
void merge_index_clear(struct merge_index *index);

#endif
