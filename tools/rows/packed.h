/* SPDX-License-Identifier: MIT */
/* packed.h - dumps whose frames are compressed: PMC_FRAME_PACKED of pmc/dump.h. */
#pragma once

#include "lib/dump/frame.h"

/* What libzstd being missing is as an error; see pmc_zstd_load(). */
#define PMC_NO_ZSTD EPROTONOSUPPORT

/* As pmc_scan_fd(), with the frames of a PACKED frame in its place. -PMC_NO_ZSTD: there is one. */
int pmc_scan_packed_fd(int fd, int (*each)(const struct pmc_frame *frame, void *arg), void *arg,
		       uint64_t *damaged);

/* What is in a PACKED frame, in `bytes`, which has PMC_FRAME_MAX_BYTES. Returns its length;
 * 0: the frame is damaged; -PMC_NO_ZSTD. */
long pmc_unpack(const struct pmc_frame *frame, uint8_t *bytes);

/* Appends the frames from byte *at of the file `from` on to `to`, compressed where that makes them
 * smaller and libzstd is there, and moves *at to their end. 0 or -errno. */
int pmc_pack(int from, size_t *at, int to);
