/* SPDX-License-Identifier: MIT */
/*
 * merge.h - the union of dumps: frames by content, in canonical order, in bounded memory.
 *
 * What comes out depends on the set of good frames that went in and on nothing else.
 */
#ifndef PMC_TOOLS_MERGE_MERGE_H
#define PMC_TOOLS_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define MERGE_BUDGET ((size_t)256 << 20)

struct merge_options {
	bool compact;	     /* only the newest snapshot of each thread, process, total and note */
	size_t budget_bytes; /* of frames held in memory; 0: MERGE_BUDGET. The rest is spilled */
};

/* What one input held. */
struct merge_input {
	uint64_t bytes, good, damaged;
	bool magic; /* a frame's magic was seen somewhere: it is, or was, a dump */
};

struct merge;

/* 0 or -ENOMEM. */
int merge_new(struct merge **merge, const struct merge_options *options);
/* Every good frame from the descriptor's position to its end. 0 or -errno. */
int merge_add_fd(struct merge *merge, int fd, struct merge_input *seen);
/* Writes the union; the merge is then empty. 0 or -errno. */
int merge_write(struct merge *merge, int fd);
uint64_t merge_frames_written(const struct merge *merge);
/* Whether the last error came of the temporary files, and where those are. */
const char *merge_spill_trouble(const struct merge *merge);
void merge_free(struct merge *merge);

/* ---- the output file: written beside its name, then renamed over it ---------------------- */
struct merge_output {
	int fd;
	const char *path;
	char *temporary; /* NULL: written directly (stdout, devices, pipes) */
};

/* 0, or -errno and *why says what is wrong with the path, if errno does not. */
int merge_output_open(struct merge_output *output, const char *path, const char **why);
/* The new file takes the name. 0 or -errno. */
int merge_output_commit(struct merge_output *output);
/* Drops what is not committed. May be called twice. */
void merge_output_close(struct merge_output *output);

#endif
