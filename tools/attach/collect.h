/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the frames of a snapshot from outside, in a buffer that grows.
 *
 * Private to this folder.
 */
#ifndef PMC_TOOLS_ATTACH_COLLECT_H
#define PMC_TOOLS_ATTACH_COLLECT_H

#include "tools/attach/attach.h"

/* What was left out. */
struct attach_missing {
	uint32_t changing;     /* threads that changed their regions all the time */
	bool regions, samples; /* damaged */
	unsigned tries;	       /* left for regions that change */
};
/* Seconds for all threads; a tenth of a second for one. */
#define ATTACH_TRIES	 200000u
#define ATTACH_FEW_TRIES 2000u

/* Regions, row and samples of each slot of one look, then the frames of the process. own_file: they
 * are for another file than the dump of the process. */
int attach_collect(struct attach *target, struct attach_missing *missing, struct pmc_frame_buf *buf,
		   bool own_file);
/* Then the modules and stacks that these refer to, as far as they are not written. */
int attach_collect_stacks(struct attach *target, struct snapshot_written *written,
			  struct attach_missing *missing, struct pmc_frame_buf *buf);
/* Regions, row and process of one slot of the last look. */
int attach_collect_thread(struct attach *target, uint32_t slot, struct pmc_frame_buf *buf);

/* The parts of these. False: there is no memory. */
bool attach_put_regions(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf);
bool attach_put_samples(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf);

#endif
