/* SPDX-License-Identifier: MIT */
/* region.h - the marked regions of another process, frame by frame. Private to this folder. */
#ifndef PMC_TOOLS_ATTACH_REGION_H
#define PMC_TOOLS_ATTACH_REGION_H

#include "lib/live/region_area.h"
#include "tools/attach/attach.h"

struct attach_regions {
	uint32_t next_slot, next_record;
	uint32_t end_slot; /* the first that is left out */
	/* The slot at hand, NULL: none; its area, as it was when the last record was copied. */
	struct slot *slot;
	struct snapshot_groups groups;
	struct region_area area;
	_Alignas(struct region_record)
		uint8_t record[sizeof(struct region_record) + 2 * REGION_WORDS * sizeof(uint64_t)];
	size_t bytes;	   /* of frames so far */
	unsigned tries;	   /* left for the whole process */
	uint32_t changing; /* threads left out: they changed their records all the time */
	bool damaged;	   /* something left out: it cannot have come from an agent */
};

/* Starts over. After attach_look, whose slots say which threads there are. */
void attach_regions_init(struct attach_regions *regions);
/* Only those of one slot, within a tenth of a second whatever the process does. */
void attach_regions_only(struct attach_regions *regions, uint32_t slot);
/* At most one REGION frame into buf, which has room for ATTACH_FRAME_BYTES. False: that was all. */
bool attach_regions_next(const struct attach *target, struct attach_regions *regions,
			 struct pmc_frame_buf *buf);

#endif
