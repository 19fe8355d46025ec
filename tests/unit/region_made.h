/* SPDX-License-Identifier: MIT */
/* region_made.h - a process with marked regions for pmctl dump to read, played by the test. */
#ifndef PMC_TESTS_UNIT_REGION_MADE_H
#define PMC_TESTS_UNIT_REGION_MADE_H

#include "tools/attach/attach.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AREAS 2
#define NAMES 3			 /* regions of each thread */
#define FIRST (REGION_OTHER + 1) /* record of the first region */
#define WORDS 6			 /* a group of two: ends, enabled, running, two values; even */

static struct pmc_control control;
static struct registry registry;
static struct region_area *areas[AREAS];
static struct attach target;
static struct attach_missing missing;
/* A thread of that process. */
static pthread_t thread;
static _Atomic bool running;

/* ---- this process as the target ------------------------------------------------------------ */
static inline size_t area_bytes(void)
{
	return region_record_at(WORDS, REGION_RECORDS);
}

static inline struct region_record *record_at(struct region_area *area, uint32_t index)
{
	return (void *)((char *)area + region_record_at(WORDS, index));
}

/* Regions "one", "two" and "three" of the thread in that slot. Region i has i calls; inclusive sums
 * start at 1000 * i, exclusive ones at 100 * i. */
static struct region_area *made_area(struct slot *slot, enum region_mode mode)
{
	static const char *const names[NAMES] = { "one", "two", "three" };
	struct region_area *area = calloc(1, area_bytes());

	assert_non_null(area);
	area->slot = slot;
	area->owner = slot->seq + 1;
	area->groups = 1;
	area->mode = mode;
	area->capacity = WORDS;
	area->words = mode == REGION_CLOCK ? 2 : WORDS - 1;
	area->cost = REGION_COST_MEASURED;
	area->eventset = 77;
	area->n_records = FIRST + NAMES;
	/* Records of the cost of marking are never reported. */
	record_at(area, REGION_COST_OUTER)->calls = record_at(area, REGION_COST_INNER)->calls = 16;
	strcpy(record_at(area, REGION_OTHER)->name, "(other regions)");
	record_at(area, REGION_OTHER)->name_len = 15;
	for (uint32_t i = 1; i <= NAMES; i++) {
		struct region_record *record = record_at(area, REGION_OTHER + i);

		record->calls = record->outermost = i;
		strcpy(record->name, names[i - 1]);
		record->name_len = (uint32_t)strlen(record->name);
		for (unsigned w = REGION_CPU; w < area->words; w++) {
			record->words[w] = 1000 * i + w - REGION_CPU;
			record->words[WORDS + w] = 100 * i + w - REGION_CPU;
		}
	}
	for (unsigned w = REGION_CPU; w < area->words; w++) {
		area->inside[w] = w;
		area->around[w] = 10 + w;
	}
	atomic_store(&slot->regions, (uint64_t)(uintptr_t)area);
	return area;
}

static struct slot *made_slot(uint64_t seq)
{
	struct slot *slot = registry_alloc(&registry);

	slot->tid = (uint32_t)(1000 + seq);
	slot->seq = seq;
	slot->n_fds = 2;
	registry_live(slot);
	return slot;
}

static int set_up(void **state)
{
	control = (struct pmc_control){
		.magic = PMC_CONTROL_MAGIC,
		.version = PMC_CONTROL_VERSION,
		.bytes = sizeof(control),
		.state = PMC_CONTROL_ON,
		.identity = { 7 },
		.snapshot = 5,
		.first = { 0, 2 },
		.registry = (uint64_t)(uintptr_t)&registry,
	};
	if (registry_init(&registry, 1, 2, 16) != 0)
		return -1;
	areas[0] = made_area(made_slot(3), REGION_READ);
	areas[1] = made_area(made_slot(4), REGION_CLOCK);
	if (attach_enter(&target, getpid(), false) != 0)
		return -1;
	target.address = (uint64_t)(uintptr_t)&control;
	return attach_look(&target);
}

static inline void begin(void *(*work)(void *), void *arg)
{
	running = true;
	assert_int_equal(pthread_create(&thread, NULL, work, arg), 0);
}

static void finish(void)
{
	if (running) {
		running = false;
		pthread_join(thread, NULL);
	}
}

static int tear_down(void **state)
{
	finish();
	attach_close(&target);
	registry_fini(&registry);
	for (unsigned i = 0; i < AREAS; i++)
		free(areas[i]);
	return 0;
}

/* ---- results ------------------------------------------------------------------------------- */
struct seen {
	struct pmc_region_fixed fixed;
	char name[REGION_NAME];
	struct pmc_reading readings[8]; /* four values for each group */
	uint64_t values[8][2];
};

static struct seen seen[16];
static unsigned n_seen;

static void see(const struct pmc_frame *frame)
{
	struct seen *to = &seen[n_seen++];
	struct pmc_cursor cursor;
	const char *name;
	size_t len;

	assert_true(n_seen < 16);
	assert_int_equal(frame->head.type, PMC_FRAME_REGION);
	assert_int_equal(frame->head.snapshot, 5);
	assert_int_equal(frame->head.identity[0], 7);
	memset(to, 0, sizeof(*to));
	pmc_frame_fixed(frame, &to->fixed, sizeof(to->fixed));
	pmc_cursor_init(&cursor, frame);
	assert_true(pmc_cursor_str(&cursor, &name, &len));
	assert_true(len < sizeof(to->name));
	memcpy(to->name, name, len);
	assert_true(to->fixed.n_groups <= 2);
	for (unsigned part = 0; part < 4u * to->fixed.n_groups; part++) {
		struct pmc_reading *reading = &to->readings[part];

		assert_true(pmc_cursor_bytes(&cursor, reading, sizeof(*reading)));
		assert_true(reading->n <= 2);
		if (reading->n)
			assert_true(pmc_cursor_bytes(&cursor, to->values[part],
						     reading->n * sizeof(uint64_t)));
	}
	assert_int_equal(cursor.left, 0);
}

/* Reads all frames of one snapshot into seen[]. */
static inline void look(void)
{
	struct pmc_frame_buf buf = { .data = NULL };
	struct pmc_frame frame;

	n_seen = 0;
	missing = (struct attach_missing){ .tries = ATTACH_TRIES };
	for (uint32_t i = 0; i < target.n_slots; i++)
		attach_put_regions(&target, registry_slot(&target.registry, i), &missing, &buf);
	struct pmc_scan scan = { .data = buf.data, .len = buf.len };

	while (pmc_scan_next(&scan, &frame))
		see(&frame);
	assert_int_equal(scan.damaged, 0);
	free(buf.data);
}

#endif
