/* SPDX-License-Identifier: MIT */
/* region.h - the marked regions of a process that we look into, frame by frame. */
#ifndef PMC_TOOLS_ATTACH_REGION_H
#define PMC_TOOLS_ATTACH_REGION_H

#include "agent/core/live/region_area.h"
#include "tools/attach/attach.h"

/* Where a look at them stands. */
struct attach_regions {
	uint64_t *areas; /* addresses in that process; 0: none is there yet */
	uint32_t n_areas, next_area;
	struct region_layout layout;
	uint8_t *taken; /* of each slot: its area was found */
	/* The area at hand; its first part, as it was when a record of it was copied. */
	bool open;
	uint64_t address;
	struct slot *slot;
	struct attach_groups groups;
	struct region_area area;
	bool uncalibrated; /* when what marking costs was copied */
	uint32_t next_record;
	_Alignas(struct region_record)
		uint8_t record[sizeof(struct region_record) + 2 * REGION_WORDS * sizeof(uint64_t)];
	char name[REGION_NAME];
	size_t bytes;	      /* of frames so far */
	unsigned tries, naps; /* how many more there may be */
	/* Left out: regions of so many threads, which changed all the time; what made no sense. */
	uint32_t changing;
	bool changing_here; /* the area's thread is one of these */
	bool damaged;
};

/* To be called after attach_look, whose slots say which threads there are. regions: zeroes, or
 * after attach_regions_close. 0, or the exit code after having told why. */
int attach_regions_open(const struct attach *target, struct attach_regions *regions);
/* At most one REGION frame into buf, which has room for ATTACH_FRAME_BYTES. False: that was all.
 * What cannot be read is left out, and counted above. */
bool attach_regions_next(const struct attach *target, struct attach_regions *regions,
			 struct pmc_frame_buf *buf);
/* What was left out stays to be read. */
void attach_regions_close(struct attach_regions *regions);

#endif
