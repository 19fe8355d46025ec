/* SPDX-License-Identifier: MIT */
/* sample_area_made.h - samples of a process for pmctl dump to read, played by the test. */
#ifndef PMC_TESTS_UNIT_SAMPLE_AREA_MADE_H
#define PMC_TESTS_UNIT_SAMPLE_AREA_MADE_H

#include "lib/dump/frame.h"
#include "lib/live/control.h"

#include <string.h>

enum {
	AREA_SLOTS = 4,
	AREA_LISTS = 2, /* slots with samples */
	AREA_LISTED = 3,
	AREA_COUNTS_WORDS =
		(sizeof(struct sample_counts) + AREA_LISTED * sizeof(struct pmc_sample)) / 8,
	AREA_FILES = 2, /* modules */
	AREA_FILE_WORDS = 16,
	AREA_IDS = 5, /* stacks 1 to 4 */
	AREA_DEPTH = 3,
};

/* Threads to words are the area. */
struct area_made {
	struct sample_tables tables;
	uint64_t set_frame[32];
	uint64_t counts[AREA_LISTS][AREA_COUNTS_WORDS];
	struct sample_thread threads[AREA_SLOTS];
	struct sample_module modules[AREA_FILES];
	uint64_t text[AREA_FILES * AREA_FILE_WORDS];
	struct sample_stack stacks[AREA_IDS];
	uint64_t words[AREA_IDS * AREA_DEPTH];
};

static inline struct sample_counts *area_counts(struct area_made *made, uint32_t slot)
{
	return (struct sample_counts *)(void *)made->counts[slot];
}

static inline void area_make_tables(struct area_made *made)
{
	const size_t ends[AREA_PARTS + 1] = {
		[AREA_THREADS] = offsetof(struct area_made, threads),
		[AREA_MODULES] = offsetof(struct area_made, modules),
		[AREA_TEXT] = offsetof(struct area_made, text),
		[AREA_INDEX] = offsetof(struct area_made, stacks),
		[AREA_STACKS] = offsetof(struct area_made, stacks),
		[AREA_WORDS] = offsetof(struct area_made, words),
		[AREA_COUNTS] = sizeof(*made),
		[AREA_SCRATCH] = sizeof(*made),
		[AREA_PARTS] = sizeof(*made),
	};
	const struct pmc_event_def def = { .type = 1, .config = 1, .scale = 1 };
	struct sample_tables *tables = &made->tables;
	struct pmc_frame_buf buf;

	tables->area = (char *)made;
	memcpy(tables->at, ends, sizeof(ends));
	tables->modules = AREA_FILES;
	tables->text = sizeof(made->text);
	tables->stacks = AREA_IDS;
	tables->words = AREA_IDS * AREA_DEPTH;
	tables->creation = 1;
	tables->like.frequency = 997;
	pmc_frame_buf_init(&buf, made->set_frame, sizeof(made->set_frame));
	pmc_begin_eventset(&buf, 1, 1);
	pmc_put_event(&buf, &def, "task-clock", "ns", "");
	tables->like.eventset = pmc_frame_end(&buf);
	tables->eventset_frame = (uint64_t)(uintptr_t)made->set_frame;
	tables->eventset_bytes = buf.len;
}

/* Slot i has i + 1 samples of stack 1, i + 2 of stack 2, and so on, each of weight 10, and was
 * created by stack i + 1. */
static inline void area_make(struct area_made *made)
{
	static const char *const paths[AREA_FILES] = { "/bin/app", "/lib/b.so" };

	memset(made, 0, sizeof(*made));
	area_make_tables(made);
	for (uint32_t i = 0; i < AREA_LISTS; i++) {
		struct sample_counts *counts = area_counts(made, i);

		counts->capacity = 4;
		counts->n = AREA_LISTED;
		for (uint32_t k = 0; k < AREA_LISTED; k++)
			counts->list[k] = (struct pmc_sample){ k + 1, i + k + 1, 10 * (i + k + 1) };
		made->threads[i].counts = counts;
		made->threads[i].enabled_ns = made->threads[i].running_ns = 1000;
		made->threads[i].value = 900 + i;
		made->threads[i].samples = 3 * i + 6;
		made->threads[i].lost = 1;
		made->threads[i].truncated = 2;
		made->threads[i].created_stack = i + 1;
	}
	for (uint32_t i = 0; i < AREA_FILES; i++) {
		struct sample_module *module = &made->modules[i];
		struct pmc_frame_buf buf;

		module->text = i * AREA_FILE_WORDS * 8;
		pmc_frame_buf_init(&buf, made->text + i * AREA_FILE_WORDS, AREA_FILE_WORDS * 8);
		module->hash = pmc_build_module(&buf, paths[i], "id", 2);
		module->text_bytes = (uint32_t)buf.len;
		module->ready = 1;
	}
	for (uint32_t id = 1; id < AREA_IDS; id++) {
		made->stacks[id].first = id * AREA_DEPTH;
		made->stacks[id].depth = AREA_DEPTH;
		made->stacks[id].ready = 1;
		for (unsigned k = 0; k < AREA_DEPTH; k++)
			made->words[id * AREA_DEPTH + k] =
				(uint64_t)(k < AREA_FILES ? k : PMC_NO_MODULE) << 48 | id << 8 | k;
	}
}

#endif
