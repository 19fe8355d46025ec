/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the frames of a snapshot from outside, in a buffer that grows.
 *
 * Private to this folder.
 */
#ifndef PMC_TOOLS_ATTACH_COLLECT_H
#define PMC_TOOLS_ATTACH_COLLECT_H

#include "tools/attach/region.h"
#include "tools/attach/sample.h"

/* What was left out. */
struct attach_missing {
	uint32_t changing;     /* threads that changed their regions all the time */
	bool regions, samples; /* damaged */
};

/* Regions, rows and samples of one look, then the frames of the process. own_file: they are for
 * another file than the dump of the process. */
int attach_collect(struct attach *target, struct attach_missing *missing, struct pmc_frame_buf *buf,
		   bool own_file);
/* Then the modules and stacks that these refer to, from those on that `stacks` asks for. */
int attach_collect_stacks(struct attach *target, struct attach_stacks *stacks,
			  struct pmc_frame_buf *buf);
/* Regions, row and process of one slot of the last look. */
int attach_collect_thread(struct attach *target, uint32_t slot, struct pmc_frame_buf *buf);

#endif
