/* SPDX-License-Identifier: MIT */
/* sample.h - samples of another process, frame by frame. Private to this folder. */
#ifndef PMC_TOOLS_ATTACH_SAMPLE_H
#define PMC_TOOLS_ATTACH_SAMPLE_H

#include "tools/attach/attach.h"

/* Samples of the threads of one look, all zero at first. */
struct attach_samples {
	uint32_t next_slot, part;
	const struct slot *slot; /* at hand; NULL: none */
	struct sample_thread thread;
	struct pmc_sample *list;
	uint32_t n, room;
	uint32_t all;	  /* entries of all parts, of which the first n are not empty */
	uint64_t time_ns; /* before they were copied */
	struct pmc_reading reading;
	uint64_t value;
	size_t bytes; /* of frames so far */
	bool damaged; /* something left out: it cannot have come from an agent */
	bool no_memory;
};

/* At most one SAMPLES frame into buf, which has room for SAMPLE_FRAME_BYTES. False: that was all,
 * or there is no memory. */
bool attach_samples_next(const struct attach *target, struct attach_samples *samples,
			 struct pmc_frame_buf *buf);
void attach_samples_free(struct attach_samples *samples);

/* Modules and stacks, which samples and rows refer to: copied after those. */
struct attach_stacks {
	/* The first that are wanted, set by the caller; then the first for the next time. */
	uint32_t from_module, from_stack;
	uint32_t next_module, next_stack;
	uint32_t at_module, at_stack; /* the next frame's */
	struct sample_module *modules;
	uint32_t n_modules;
	uint8_t *text; /* MODULE frames */
	uint32_t text_bytes;
	struct sample_stack *stacks; /* of IDs from_stack to end */
	uint32_t end;
	uint64_t *words; /* from first_word on */
	uint32_t first_word;
	bool damaged; /* as above */
};

/* All but the first two fields are 0. False: there is no memory. */
bool attach_stacks_copy(struct attach *target, struct attach_stacks *stacks);
/* At most one MODULE or STACKS frame, as attach_samples_next. */
bool attach_stacks_next(const struct attach *target, struct attach_stacks *stacks,
			struct pmc_frame_buf *buf);
void attach_stacks_free(struct attach_stacks *stacks);

#endif
