/* SPDX-License-Identifier: MIT */
/*
 * merge.h - the union of dumps: each frame once, in canonical order, in bounded memory.
 *
 * The output depends on the set of good frames in the inputs and on nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_options {
	bool compact;	    /* only the newest frame of each thread, process, total, note, region */
	bool strip_args;    /* PROCESS frames without command lines */
	size_t index_bytes; /* memory for the index; 0: a quarter of the machine's, at most 1 GiB */
};

struct merge_request {
	const char **files;
	unsigned n_files;
	const char *out;
	bool names;
	bool parquet; /* tables in the directory `out` */
	struct merge_options options;
};
/* Sets the request. 0, or the exit code with the error printed. */
int merge_parse(int argc, char **argv, struct merge_request *request);

struct merge_input {
	uint64_t bytes, good, damaged; /* good, damaged: frames */
};

struct merge;

struct merge *merge_new(const struct merge_options *options);
/* Adds every good frame from the descriptor's position to its end. 0 or -errno. The file is mapped
 * until merge_write or merge_free: if it is truncated, that is a SIGBUS; see merge_output_open. */
int merge_add_fd(struct merge *merge, int fd, struct merge_input *seen);
/* Writes the union; the merge is then empty. 0 or -errno; ESTALE: an input was overwritten. */
int merge_write(struct merge *merge, int fd);
/* An input_reader of tools/cli/pmctl.h: adds one input to a struct merge. */
int merge_add_input(void *merge, int fd, const char *name);
/* "cannot <what> <name>: why" with the fix: prints it and returns the exit code. */
int merge_fail(const struct merge *merge, const char *what, const char *name, int error);
/* The directory of temporary files if the last error was about them, else NULL. */
const char *merge_spill_trouble(const struct merge *merge);
void merge_free(struct merge *merge);
/* A new file in TMPDIR that has no name: its descriptor, or -errno. */
int merge_temporary(void);

/* Writes the union so far to a temporary file, lets `add` read it and add frames at its end, and
 * reads it back. 0 or -errno. */
int merge_reload(struct merge *merge, int (*add)(int fd));

/* ---- the output: a temporary file beside it, renamed over it when complete --------------- */
/* One at a time. Standard output, devices and pipes are written directly. */
struct merge_output {
	int fd;
	const char *path;
	struct tool_new_file *file; /* NULL: it is written directly */
};

/* 0, or the exit code with the error printed. A signal that ends the process removes the temporary
 * file; SIGBUS also prints why and exits with 1. */
int merge_output_open(struct merge_output *output, const char *path);
/* Handles those signals without an output, where inputs are read. */
void merge_output_signals(void);
/* Writes the union, before with `add` (NULL: none) as of merge_reload(), and gives the temporary
 * file the output's name. The same. */
int merge_output_write(struct merge_output *output, struct merge *merge, int (*add)(int fd));
/* Removes what is not committed. May be called twice. */
void merge_output_close(struct merge_output *output);
