/* SPDX-License-Identifier: MIT */
/* zstd.h - compression by libzstd, which is loaded where it is needed: no build needs it. */
#pragma once

#include <stddef.h>

/* Before the others. NULL, or why it cannot be loaded. */
const char *pmc_zstd_load(void);

/* Room that pmc_zstd_compress() needs at most. */
size_t pmc_zstd_bound(size_t bytes);

/* The bytes written; 0: `room` is too small, memory is missing, or `from` is damaged. */
size_t pmc_zstd_compress(void *to, size_t room, const void *from, size_t bytes);
size_t pmc_zstd_decompress(void *to, size_t room, const void *from, size_t bytes);
