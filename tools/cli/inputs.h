/* SPDX-License-Identifier: MIT */
/* inputs.h - the dumps that a command reads: files, directories of dumps, standard input. */
#pragma once

/* Problems of an input that could be read. */
enum { INPUT_EMPTY = 1, INPUT_FOREIGN, INPUT_FATAL };

/* Reads one input from the descriptor's position: 0, -errno, INPUT_EMPTY, INPUT_FOREIGN (no good
 * frame), or INPUT_FATAL: nothing more can be read, and the error is printed. */
typedef int input_reader(void *to, int fd, const char *name);

/*
 * Reads each of the paths; "-" is standard input, a directory stands for the dumps in it. Inputs
 * that cannot be read, are empty or no dumps are named in one warning, unless they are all there
 * are. 0, or the exit code with the error printed.
 */
int tool_inputs_read(const char *const *paths, unsigned n, input_reader *read, void *to);
