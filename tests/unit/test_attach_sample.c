/* SPDX-License-Identifier: MIT */
/* test_attach_sample.c - samples of another process: valid tables give frames, forged ones none. */
#include "tests/unit/sample_area_made.h"
#include "tools/attach/attach.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

static struct pmc_control control;
static struct registry registry;
static struct area_made made;
static struct attach target;
static struct attach_missing missing;
static struct snapshot_written written;

/* What the frames of the last look() have. */
static struct {
	unsigned frames;
	struct pmc_samples_fixed fixed[8];
	struct pmc_reading reading;
	uint64_t value;
	struct pmc_sample last; /* of the last frame */
} seen;
static struct {
	unsigned modules, frames, stacks;
	uint64_t module[4], hash[4]; /* of MODULE frames; listed in the STACKS frame */
	struct pmc_stack_def def[8];
	uint64_t words[8][AREA_DEPTH];
} tables;

static int set_up(void **state)
{
	control = (struct pmc_control){
		.magic = PMC_CONTROL_MAGIC,
		.version = PMC_CONTROL_VERSION,
		.bytes = sizeof(control),
		.state = PMC_CONTROL_ON,
		.identity = { 7 },
		.snapshot = 5,
		.registry = (uint64_t)(uintptr_t)&registry,
		.samples = (uint64_t)(uintptr_t)&made.tables,
	};
	area_make(&made);
	if (registry_init(&registry, 0, 0, AREA_SLOTS) != 0)
		return -1;
	for (uint32_t i = 0; i < AREA_SLOTS; i++) {
		struct slot *slot = registry_alloc(&registry);

		slot->tid = 1000 + i;
		slot->seq = i + 3;
		registry_live(slot);
	}
	if (attach_enter(&target, getpid(), false) != 0)
		return -1;
	target.address = (uint64_t)(uintptr_t)&control;
	return attach_look(&target);
}

static int tear_down(void **state)
{
	attach_close(&target);
	registry_fini(&registry);
	return 0;
}

static void take_samples(const struct pmc_frame *frame)
{
	struct pmc_samples_fixed *fixed = &seen.fixed[seen.frames++];
	struct pmc_cursor cursor;

	assert_in_range(seen.frames, 1, 8);
	pmc_frame_fixed(frame, fixed, sizeof(*fixed));
	pmc_cursor_init(&cursor, frame);
	if (fixed->n_groups) {
		pmc_cursor_bytes(&cursor, &seen.reading, sizeof(seen.reading));
		if (seen.reading.n)
			pmc_cursor_bytes(&cursor, &seen.value, sizeof(seen.value));
	}
	for (uint32_t i = 0; i < fixed->n; i++)
		pmc_cursor_bytes(&cursor, &seen.last, sizeof(seen.last));
	assert_false(cursor.bad);
	assert_int_equal(cursor.left, 0);
}

static void take_stacks(const struct pmc_frame *frame)
{
	struct pmc_stacks_fixed fixed;
	struct pmc_cursor cursor;

	tables.frames++;
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, frame);
	pmc_cursor_bytes(&cursor, tables.hash, fixed.n_modules * sizeof(uint64_t));
	for (uint32_t i = 0; i < fixed.n_stacks; i++, tables.stacks++) {
		struct pmc_stack_def *def = &tables.def[tables.stacks];

		pmc_cursor_bytes(&cursor, def, sizeof(*def));
		pmc_cursor_bytes(&cursor, tables.words[tables.stacks],
				 def->depth * sizeof(uint64_t));
	}
	assert_false(cursor.bad);
	assert_int_equal(cursor.left, 0);
}

static void take(const struct pmc_frame_buf *buf)
{
	struct pmc_scan scan = { .data = buf->data, .len = buf->len };
	struct pmc_frame frame;

	assert_false(buf->overflow);
	while (pmc_scan_next(&scan, &frame))
		if (frame.head.type == PMC_FRAME_SAMPLES)
			take_samples(&frame);
		else if (frame.head.type == PMC_FRAME_MODULE)
			tables.module[tables.modules++] = frame.head.hash;
		else
			take_stacks(&frame);
	assert_int_equal(scan.damaged, 0);
}

static void look(void)
{
	struct pmc_frame_buf buf = { .data = NULL };

	memset(&seen, 0, sizeof(seen));
	memset(&missing, 0, sizeof(missing));
	for (uint32_t i = 0; i < target.n_slots; i++)
		attach_put_samples(&target, registry_slot(&target.registry, i), &missing, &buf);
	take(&buf);
	free(buf.data);
}

static void look_at_tables(void)
{
	struct pmc_frame_buf buf = { .data = NULL };

	memset(&tables, 0, sizeof(tables));
	assert_int_equal(attach_collect_stacks(&target, &written, &missing, &buf), 0);
	take(&buf);
	free(buf.data);
}

static void look_at_all_tables(void)
{
	written = (struct snapshot_written){ .stacks = 1 };
	look_at_tables();
}

/* In the row of a slot. */
static uint32_t created_stack(uint32_t index)
{
	static uint64_t room[ATTACH_FRAME_BYTES / 8];
	struct pmc_thread_fixed row;
	struct pmc_frame_buf buf;
	struct pmc_frame frame;

	pmc_frame_buf_init(&buf, room, sizeof(room));
	attach_row(&target, &buf, registry_slot(&target.registry, index), false);
	struct pmc_scan scan = { .data = buf.data, .len = buf.len };

	assert_true(pmc_scan_next(&scan, &frame));
	pmc_frame_fixed(&frame, &row, sizeof(row));
	return row.created_stack;
}

static void frames_are_true(void **state)
{
	look();
	assert_false(missing.samples);
	assert_int_equal(seen.frames, 2);
	assert_int_equal(seen.fixed[0].seq, 3);
	assert_int_equal(seen.fixed[0].samples, 6);
	assert_int_equal(seen.fixed[1].seq, 4);
	assert_int_equal(seen.fixed[1].samples, 9);
	assert_int_equal(seen.fixed[1].n, 3);
	assert_int_equal(seen.fixed[1].n_groups, 1);
	assert_int_equal(seen.fixed[1].lost, 1);
	assert_int_equal(seen.fixed[1].truncated, 2);
	assert_int_equal(seen.fixed[1].frequency, 997);
	assert_int_equal(seen.fixed[1].eventset, made.tables.like.eventset);
	assert_int_equal(seen.reading.enabled_ns, 1000);
	assert_int_equal(seen.value, 901);
	assert_int_equal(seen.last.stack, 3);
	assert_int_equal(seen.last.count, 4);
	assert_int_equal(seen.last.weight, 40);

	assert_int_equal(created_stack(1), 2);
	look_at_all_tables();
	assert_false(missing.samples);
	assert_int_equal(tables.modules, 2);
	assert_int_equal(tables.frames, 1);
	assert_int_equal(tables.stacks, 4);
	assert_memory_equal(tables.module, tables.hash, 2 * sizeof(uint64_t));
	assert_int_equal(tables.hash[1], made.modules[1].hash);
	assert_int_equal(tables.def[3].id, 4);
	assert_memory_equal(tables.words[3], made.words + 4 * AREA_DEPTH, sizeof(tables.words[3]));
	assert_int_equal(written.modules, 2);
	assert_int_equal(written.stacks, 5);
	/* Nothing is new the next time. */
	look_at_tables();
	assert_int_equal(tables.modules + tables.frames, 0);
	assert_int_equal(written.stacks, 5);
}

static void long_lists_are_split(void **state)
{
	const uint32_t n = 2 * PMC_SAMPLES_PART + 1;
	struct sample_counts *counts = calloc(1, sizeof(*counts) + n * sizeof(struct pmc_sample));

	assert_non_null(counts);
	counts->capacity = 8192;
	counts->n = n;
	for (uint32_t i = 0; i < n; i++)
		counts->list[i].count = 1;
	made.threads[1].counts = counts;
	made.threads[1].samples = n;
	look();
	assert_int_equal(seen.frames, 4);
	for (unsigned part = 0; part < 3; part++) {
		assert_int_equal(seen.fixed[1 + part].part, part);
		assert_int_equal(seen.fixed[1 + part].n, part == 2 ? 1 : PMC_SAMPLES_PART);
		assert_int_equal(seen.fixed[1 + part].n_groups, part == 0);
		assert_int_equal(seen.fixed[1 + part].samples, part ? 0 : n);
	}
	free(counts);
}

/* The account of slot 1 after pmctl ctl reset. */
static void reset_account(void)
{
	struct account_side side = { .owner = 5, .reset_ns = 70, .sampled = { 990, 980, 900 } };

	control.switched = 1;
	account_write(&registry.accounts[1], &side);
	assert_int_equal(attach_look(&target), 0);
}

static void a_reset_clears(void **state)
{
	reset_account();
	look();
	assert_false(missing.samples);
	assert_int_equal(seen.frames, 2);
	assert_int_equal(seen.fixed[0].samples, 6);
	assert_int_equal(seen.fixed[1].n, 0);
	assert_int_equal(seen.fixed[1].samples, 0);
	assert_int_equal(seen.fixed[1].lost, 0);
	assert_int_equal(seen.fixed[1].truncated, 0);
	assert_int_equal(seen.reading.enabled_ns, 10);
	assert_int_equal(seen.reading.running_ns, 20);
	assert_int_equal(seen.value, 1);
	/* The thread has sampled since. */
	made.threads[1].reset_ns = 70;
	look();
	assert_int_equal(seen.fixed[1].samples, 9);
	assert_int_equal(seen.fixed[1].lost, 1);
	assert_int_equal(seen.value, 1);
	/* The account of the thread that had the slot before. */
	registry.accounts[1].sides[registry.accounts[1].number & 1].owner = 4;
	made.threads[1].reset_ns = 0;
	look();
	assert_int_equal(seen.fixed[1].samples, 9);
	assert_int_equal(seen.value, 901);
}

/* The newest frame of each part is valid: older ones have to be replaced. */
static void a_reset_clears_all_parts(void **state)
{
	reset_account();
	made.threads[1].had = 2 * PMC_SAMPLES_PART + 1;
	for (unsigned again = 0; again < 2; again++, made.threads[1].reset_ns = 70) {
		look();
		assert_false(missing.samples);
		assert_int_equal(seen.frames, 4);
		assert_int_equal(seen.fixed[1].n, again ? AREA_LISTED : 0);
		for (unsigned part = 1; part < 3; part++) {
			assert_int_equal(seen.fixed[1 + part].part, part);
			assert_int_equal(seen.fixed[1 + part].n, 0);
			assert_int_equal(seen.fixed[1 + part].n_groups, 0);
		}
	}
}

static void threads_that_end_meanwhile(void **state)
{
	struct slot *slot = registry_slot(&registry, 0);

	/* Its memory is gone, or another thread's. */
	made.threads[0].counts = (void *)8;
	slot->word = SLOT_CLOSING;
	look();
	assert_int_equal(seen.frames, 1);
	assert_int_equal(seen.fixed[0].seq, 4);
	assert_false(missing.samples);
	made.threads[0].counts = area_counts(&made, 0);
	slot->word = SLOT_LIVE;
	slot->seq = 99;
	look();
	assert_int_equal(seen.frames, 1);
	assert_false(missing.samples);
}

static void what_is_not_complete(void **state)
{
	made.stacks[3].ready = 0;
	made.modules[1].ready = 0;
	look_at_all_tables();
	assert_false(missing.samples);
	assert_int_equal(tables.modules, 1);
	assert_int_equal(tables.hash[1], 0);
	assert_int_equal(tables.stacks, 3);
	assert_int_equal(tables.def[2].id, 4);
	assert_int_equal(written.modules, 1);
	assert_int_equal(written.stacks, 3);
	/* Counters may exceed the room, when a table is full. */
	made.tables.stacks = made.tables.words = made.tables.modules = UINT32_MAX;
	look_at_all_tables();
	assert_int_equal(tables.stacks, 3);
	/* The text of the second is not there yet. */
	made.modules[1].ready = 1;
	made.tables.text = made.modules[1].text;
	look_at_all_tables();
	assert_false(missing.samples);
	assert_int_equal(tables.modules, 1);
	assert_int_equal(written.modules, 1);
}

static void no_sampling(void **state)
{
	control.samples = 0;
	assert_int_equal(attach_look(&target), 0);
	look();
	look_at_all_tables();
	assert_int_equal(seen.frames + tables.modules + tables.frames, 0);
	assert_false(missing.samples);
}

#define LIE(change, samples_frames, stacks_left)                                                   \
	do {                                                                                       \
		area_make(&made);                                                                  \
		change;                                                                            \
		assert_int_equal(attach_look(&target), 0);                                         \
		look();                                                                            \
		look_at_all_tables();                                                              \
		if (seen.frames != (samples_frames) || tables.stacks != (stacks_left) ||           \
		    !missing.samples)                                                              \
			fail_msg("%s: %u frames, %u stacks", #change, seen.frames, tables.stacks); \
	} while (0)

static void lies_are_refused(void **state)
{
	LIE(made.tables.at[AREA_WORDS] = 0, 0, 0);
	LIE(made.tables.area = (char *)8, 0, 0);
	LIE(made.threads[0].counts = (void *)8, 1, 4);
	LIE(area_counts(&made, 0)->capacity = 1u << 31, 1, 4);
	LIE(area_counts(&made, 0)->n = 5, 1, 4);
	LIE(made.threads[0].had = UINT32_MAX, 1, 4);
	LIE(made.stacks[2].depth = PMC_STACK_DEPTH_MAX + 1, 2, 3);
	LIE(made.stacks[2].first = AREA_IDS * AREA_DEPTH - 1, 2, 3);
	LIE(made.stacks[2].first = UINT32_MAX, 2, 3);
	LIE(made.words[6] = (uint64_t)AREA_FILES << 48, 2, 3);
	LIE(made.modules[0].hash++, 2, 4);
	LIE(made.modules[0].text_bytes -= 8, 2, 4);
	LIE(made.text[3]++, 2, 4);
	control.samples = 8;
	LIE((void)0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_are_true, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_lists_are_split, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reset_clears, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reset_clears_all_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_that_end_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_complete, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_sampling, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
