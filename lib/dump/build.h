/* SPDX-License-Identifier: MIT */
/*
 * build.h - the parts of each frame type of pmc/dump.h. Async-signal-safe, no allocation.
 *
 * pmc_build_* append a whole frame and return its hash, 0 if it did not fit. Frames with a list in
 * them are started by pmc_begin_* or pmc_frame_begin: append the list with pmc_put_*, then call
 * pmc_frame_end.
 */
#pragma once

#include "lib/dump/frame.h"

#include <stddef.h>

struct pmc_process_text {
	const char *host, *boot_id, *exe, *cmdline; /* NULL: unknown */
};

uint64_t pmc_build_process(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
			   const struct pmc_process_fixed *fixed,
			   const struct pmc_process_text *text);
uint64_t pmc_build_note(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
			const struct pmc_note_fixed *fixed, const char *text);
/* The module is cut after 3,000 bytes and the symbol after 900: the frame fits PMC_SITE_BYTES. */
#define PMC_SITE_BYTES 4096
uint64_t pmc_build_site(struct pmc_frame_buf *buf, uint64_t offset, const char *module,
			const char *symbol);

/* The path is cut after 3,000 bytes and the build ID after 64: the frame fits PMC_MODULE_BYTES. */
#define PMC_MODULE_BYTES 4096
uint64_t pmc_build_module(struct pmc_frame_buf *buf, const char *path, const void *build_id,
			  size_t build_id_len);

/* ---- EVENTSET: n_events times pmc_put_event --------------------------------------------- */
void pmc_begin_eventset(struct pmc_frame_buf *buf, unsigned n_events, unsigned n_groups);
void pmc_put_event(struct pmc_frame_buf *buf, const struct pmc_event_def *def, const char *name,
		   const char *unit, const char *core_type);

/* ---- THREAD, TOTAL: n_groups times pmc_put_reading; REGION: the name, and four times as many - */
/* Rows are written without the fields about phases and of OS events unless these are in use. */
static inline size_t pmc_thread_bytes(const struct pmc_thread_fixed *fixed)
{
	if (fixed->flags & (PMC_THREAD_TIMES | PMC_THREAD_DELAY))
		return sizeof(*fixed);
	return fixed->off_ns || fixed->reset_ns ? offsetof(struct pmc_thread_fixed, run_delay_ns) :
						  offsetof(struct pmc_thread_fixed, off_ns);
}
/* As pmc_frame_begin, with a fixed part of pmc_thread_bytes(). */
struct pmc_thread_fixed *pmc_begin_thread(struct pmc_frame_buf *buf, const uint8_t identity[16],
					  uint64_t snapshot, const struct pmc_thread_fixed *fixed);
/* ---- STACKS: n_modules hashes by pmc_frame_bytes, n_stacks times pmc_put_stack ------------ */
void pmc_put_stack(struct pmc_frame_buf *buf, const struct pmc_stack_def *def,
		   const uint64_t *frames);
/* ---- SAMPLES: n_groups times pmc_put_reading, then n samples by pmc_frame_bytes ----------- */
/* ---- NAMES: n_texts times pmc_frame_str, then n_places times pmc_put_place ----------------- */
void pmc_put_place(struct pmc_frame_buf *buf, const struct pmc_place_def *def,
		   const struct pmc_place_function *functions);
/* Appends a reading and room for its values, filled from `values` unless that is NULL. Returns
 * where the values are. NULL: no room. */
uint64_t *pmc_put_reading(struct pmc_frame_buf *buf, const struct pmc_reading *reading,
			  const uint64_t *values);
