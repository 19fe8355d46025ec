/* SPDX-License-Identifier: MIT */
/*
 * sample_area.c - one mapping for the tables of sampling, reserved at the start, used as needed:
 * a handler allocates nothing there.
 */
#include "agent/sample/private.h"

#include <errno.h>
#include <sys/mman.h>

#include "agent/base/poison.h"

struct sample_tables sample_tables;

/* Bytes of each part; `scale` divides the tables of stacks where address space is limited. */
static size_t part_bytes(enum sample_part part, uint32_t slots, unsigned scale)
{
	switch (part) {
	case AREA_THREADS:
		return slots * sizeof(struct sample_thread);
	case AREA_MODULES:
		return SAMPLE_MODULES * sizeof(struct sample_module);
	case AREA_TEXT:
		return SAMPLE_TEXT_BYTES;
	case AREA_INDEX:
		return ((size_t)1 << 21) / scale;
	case AREA_STACKS: /* half as many as in the index */
		return SAMPLE_STACKS_BYTES / scale;
	case AREA_WORDS:
		return SAMPLE_WORDS_BYTES / scale;
	default:
		return SAMPLE_SCRATCHES * SAMPLE_SCRATCH_BYTES;
	}
}

int sample_area_init(uint32_t slots)
{
	size_t *at = sample_tables.at;
	void *map = MAP_FAILED;

	for (unsigned scale = 1; scale <= 64 && map == MAP_FAILED; scale *= 4) {
		for (unsigned part = 0; part < AREA_PARTS; part++)
			at[part + 1] = at[part] +
				       ((part_bytes(part, slots, scale) + 4095) & ~(size_t)4095);
		map = mmap(NULL, at[AREA_PARTS], PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	if (map == MAP_FAILED)
		return -ENOMEM;
	sample_stacks_forked();
	sample_tables.area = map;
	return 0;
}

bool sample_ready(void)
{
	return sample_tables.area != NULL;
}

void *sample_area(enum sample_part part, size_t item, size_t *n)
{
	*n = sample_room(&sample_tables, part, item);
	return sample_tables.area ? sample_tables.area + sample_tables.at[part] : NULL;
}

void sample_area_clear(void)
{
	if (sample_tables.area)
		madvise(sample_tables.area, sample_tables.at[AREA_PARTS], MADV_DONTNEED);
}
