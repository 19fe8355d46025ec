/* SPDX-License-Identifier: MIT */
/* gen.h - random numbers, and a buffer of dump frames that goes to stdout. */
#ifndef PMC_TESTS_GEN_H
#define PMC_TESTS_GEN_H

#include "lib/dump/frame.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

static inline uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static uint64_t memory[1 << 19];
static struct pmc_frame_buf buf;

/* Writes what the buffer holds, but not less than that. */
static inline void flush(size_t least)
{
	if (buf.len < least)
		return;
	if (fwrite(memory, 1, buf.len, stdout) != buf.len) {
		perror("writing the dump");
		exit(1);
	}
	pmc_frame_buf_init(&buf, memory, sizeof(memory));
}

#endif
