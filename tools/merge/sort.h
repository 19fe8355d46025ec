/* SPDX-License-Identifier: MIT */
/* sort.h - the external sort under merge.c: frames in memory, runs on disk, k-way merge. */
#ifndef PMC_TOOLS_MERGE_SORT_H
#define PMC_TOOLS_MERGE_SORT_H

#include "agent/core/base/arena.h"
#include "agent/core/dump/frame.h"

/* A frame where it lies. */
struct merge_frame {
	struct pmc_frame_head head;
	const uint8_t *bytes;
};

enum merge_order {
	MERGE_CANONICAL, /* identity, snapshot, hash, bytes */
	MERGE_BY_KEY,	 /* identity, what it speaks of, snapshot, time, hash: newest last */
};

/* 0 only for equal bytes. Frames of equal hash and different bytes are two facts. */
int merge_compare(const struct merge_frame *a, const struct merge_frame *b, enum merge_order order);
/* Whether the later of two frames in MERGE_BY_KEY order makes the earlier one obsolete. */
bool merge_same_key(const struct merge_frame *a, const struct merge_frame *b);

/* ---- buffered writing --------------------------------------------------------------------*/
struct merge_writer {
	int fd, error;
	uint8_t *buf;
	size_t len;
	uint64_t frames;
};

int merge_writer_init(struct merge_writer *writer, int fd);
void merge_writer_put(struct merge_writer *writer, const uint8_t *bytes, size_t len);
/* Writes what is buffered and frees. 0 or the first error. */
int merge_writer_close(struct merge_writer *writer);

/* ---- sources: sorted frames without repetition --------------------------------------------*/
struct merge_source {
	struct merge_frame frame; /* the current one, while `live` */
	bool live;
	/* Loads the next frame, or clears `live` at the end. 0 or -errno. */
	int (*advance)(struct merge_source *source);
};

/* Frames of all sources, in order, each once. 0, -errno, or what `put` returned. */
int merge_sources(struct merge_source **sources, unsigned n, enum merge_order order,
		  int (*put)(void *arg, const struct merge_frame *frame), void *arg);

/* ---- runs: sorted frames in an unlinked temporary file --------------------------------------*/
struct merge_run {
	struct merge_source source;
	int fd;
	uint8_t *buf;
	struct pmc_scan scan;
};

const char *merge_spill_dir(void);
/* A descriptor of a new unlinked file, or -errno. */
int merge_spill_open(void);
/* Starts reading a file of sorted frames from its beginning. Takes the descriptor. */
int merge_run_open(struct merge_run *run, int fd);
void merge_run_close(struct merge_run *run);

/* ---- mapped inputs ------------------------------------------------------------------------*/
struct merge_map {
	uint8_t *data;
	size_t len;
};

struct merge_maps {
	struct merge_map *list;
	size_t n, room;
};

/* Maps a regular file that is at its beginning. False: read it instead. */
bool merge_maps_add(struct merge_maps *maps, int fd, struct merge_map *map);
/* Unmaps all but the last `keep`. */
void merge_maps_close(struct merge_maps *maps, size_t keep);
/* Runs what touches maps: -EIO if a file was cut short under it or cannot be read. */
int merge_maps_guard(int (*run)(void *arg), void *arg);

/* ---- the sorter ---------------------------------------------------------------------------*/
#define MERGE_FAN 32 /* runs merged at a time; each needs a buffer of two frames */

struct merge_entry {
	uint64_t snapshot;
	const uint8_t *bytes;
	uint32_t hash; /* its upper half: enough to tell most frames apart without looking */
	uint32_t stream;
};

struct merge_stream;

struct merge_sorter {
	struct merge_source source; /* over what is in memory, once sorted */
	enum merge_order order;
	size_t budget, used;
	uint8_t *data;
	size_t len, cap;
	/* Entries as they came, and grouped by stream (then the first serves as scratch). */
	struct merge_entry *entries, *sorted;
	size_t n, room, at;
	struct merge_maps maps; /* of inputs that frames lie in */
	struct pmc_arena arena; /* of the streams */
	struct merge_stream *streams, *last;
	uint32_t n_streams;
	struct merge_run runs[MERGE_FAN];
	unsigned n_runs;
	bool spill_trouble;
};

int merge_sorter_init(struct merge_sorter *sorter, enum merge_order order, size_t budget);
/* The frame lies in sorter->data, or in one of sorter->maps. 0 or -ENOMEM. */
int merge_sorter_note(struct merge_sorter *sorter, const struct merge_frame *frame, bool mapped);
/* Copies a frame in, spilling first where that is due. */
int merge_sorter_put(struct merge_sorter *sorter, const struct merge_frame *frame);
bool merge_sorter_full(const struct merge_sorter *sorter);
/* Writes what is noted as a run. data[keep..len) is moved to the front; of the maps only the
 * last one is kept. */
int merge_sorter_spill(struct merge_sorter *sorter, size_t keep);
/* Every frame once, in order. The sorter is then empty. */
int merge_sorter_drain(struct merge_sorter *sorter,
		       int (*put)(void *arg, const struct merge_frame *frame), void *arg);
void merge_sorter_fini(struct merge_sorter *sorter);

#endif
