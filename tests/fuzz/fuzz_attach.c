/* SPDX-License-Identifier: MIT */
/*
 * fuzz_attach.c - memory of a process that pmctl dump reads; this process plays it, and the input
 * changes bytes of it.
 *
 * The input is a sequence of changes: one byte has the part (low two bits) and the number of bytes
 * (the rest), two the position, then the bytes follow.
 */
#include "lib/live/control.h"
#include "lib/live/registry.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sample_area_made.h"
#include "tools/attach/attach.h"

#include <sys/syscall.h>

#define GROUPS 3
#define EVENTS 5
#define SLOTS  4
#define AREAS  2
#define NAMES  3
#define WORDS  (REGION_CPU + 2 * GROUPS + EVENTS)
_Static_assert(WORDS % 2 == 0, "a capacity is even");
#define FIRST (REGION_OTHER + 1)
/* A forged process may have more live slots; then no rows are built, to save memory. */
#define SLOTS_MAX 64

/* What the process has at the addresses of its pointers. */
static const char exe[] = "/usr/bin/program", cmdline[] = "program --with arguments";

/* The regions of a thread, up to the last record in use. */
struct area {
	struct region_area head;
	uint8_t records[(FIRST + NAMES) * (sizeof(struct region_record) + 2 * WORDS * 8)];
};

static struct pmc_control control;
static struct registry registry;
/* The other structures, contiguous for the input. */
static struct {
	uint64_t set_frame[64];
	struct area area[AREAS];
	struct area_made samples;
} other;
/* Positions in the input have 16 bits. */
_Static_assert(sizeof(other) < 1 << 16, "the input reaches all of it");
_Static_assert(SLOTS == AREA_SLOTS, "each slot has a thread there");
static char *slots;
static size_t slots_bytes, set_words;
static int pidfd = -1;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	FUZZ_CHECK(pidfd >= 0);
	FUZZ_CHECK(registry_init(&registry, GROUPS, EVENTS, SLOTS) == 0);
	slots = registry.slots;
	slots_bytes = SLOTS * registry.slot_bytes;
	set_words = registry.set_words;
	return 0;
}

static uint64_t address(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

static void set_first(uint16_t *first)
{
	static const uint16_t sound[GROUPS + 1] = { 0, 2, 4, EVENTS };

	memcpy(first, sound, sizeof(sound));
}

static void make_control(void)
{
	struct pmc_eventset_fixed fixed = { .n_events = 0, .n_groups = 0 };
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, other.set_frame, sizeof(other.set_frame));
	pmc_frame_begin(&buf, PMC_FRAME_EVENTSET, NULL, 0, &fixed, sizeof(fixed));
	memset(&control, 0, sizeof(control));
	control.magic = PMC_CONTROL_MAGIC;
	control.version = PMC_CONTROL_VERSION;
	control.bytes = sizeof(control);
	control.state = PMC_CONTROL_ON;
	control.pid = getpid();
	control.identity[0] = 7;
	control.snapshot = 5;
	control.registry = address(&registry);
	control.exe = address(exe);
	control.cmdline = address(cmdline);
	control.eventset = pmc_frame_end(&buf);
	control.eventset_frame = address(other.set_frame);
	control.eventset_bytes = buf.len;
	control.samples = address(&other.samples.tables);
	set_first(control.first);
	control.threads.groups = GROUPS;
	set_first(control.threads.first);
	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		control.threads.fds[i] = control.execs.fds[i] = -1;
}

/* The first slot is of a thread without groups. */
static void make_area(uint32_t i)
{
	struct region_area *area = &other.area[i].head;

	area->sequence = 2 * i;
	area->owner = i + 1;
	area->groups = GROUPS;
	area->mode = i ? REGION_READ : REGION_CLOCK;
	area->capacity = WORDS;
	area->words = i ? WORDS : REGION_CPU + 1;
	area->n_records = FIRST + NAMES;
	for (uint32_t k = 0; k < FIRST + NAMES; k++) {
		struct region_record *record = (void *)((char *)area + region_record_at(WORDS, k));

		record->calls = k;
		record->open = k == FIRST;
		record->name_len = k == FIRST ? REGION_NAME - 1 : k;
		for (unsigned w = 0; w < 2 * area->words; w++)
			record->words[w] = w % 5 ? k << w : 0ull - w;
	}
	registry_slot(&registry, i)->regions = address(area);
}

static void make_process(void)
{
	memset(&other, 0, sizeof(other));
	make_control();
	memset(&registry, 0, sizeof(registry));
	memset(slots, 0, slots_bytes);
	registry.slots = slots;
	registry.n_groups = GROUPS;
	registry.n_fds = EVENTS;
	registry.set_words = set_words;
	registry.slot_bytes = slots_bytes / SLOTS;
	registry.capacity = SLOTS;
	registry.high = SLOTS;
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *slot = registry_slot(&registry, i);

		slot->word = SLOT_LIVE;
		slot->tid = i ? 1000 + i : (uint32_t)getpid();
		slot->seq = i;
		slot->n_fds = EVENTS;
		for (unsigned k = 0; k < EVENTS; k++)
			set_fds(&registry, slot->data)[k] = k ? -1 : pidfd;
	}
	for (uint32_t i = 0; i < AREAS; i++)
		make_area(i);
	area_make(&other.samples);
}

static void change(const uint8_t *data, size_t size)
{
	const struct {
		void *at;
		size_t bytes;
	} parts[4] = {
		{ &control, sizeof(control) },
		{ &registry, sizeof(registry) },
		{ slots, slots_bytes },
		{ &other, sizeof(other) },
	};

	while (size > 3) {
		size_t part = data[0] & 3, n = data[0] >> 2, at;

		at = (size_t)(data[1] | data[2] << 8) % parts[part].bytes;
		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		if (n > parts[part].bytes - at)
			n = parts[part].bytes - at;
		memcpy((char *)parts[part].at + at, data, n);
		data += n;
		size -= n;
	}
}

/* The output must be a valid dump for any input. */
static void check_frames(const struct pmc_frame_buf *buf)
{
	struct pmc_scan scan = { .data = buf->data, .len = buf->len };
	struct pmc_frame frame;
	size_t bytes = 0;

	while (pmc_scan_next(&scan, &frame))
		bytes += frame.head.size;
	FUZZ_CHECK(scan.damaged == 0 && bytes == buf->len);
}

static uint64_t count_frames(const struct pmc_frame_buf *buf)
{
	struct pmc_scan scan = { .data = buf->data, .len = buf->len };
	struct pmc_frame frame;
	uint64_t frames = 0;

	while (pmc_scan_next(&scan, &frame))
		frames++;
	return frames;
}

/* Regions, in any number. */
static uint64_t look_at_regions(struct attach *target)
{
	/* The memory does not change during a run. */
	struct attach_missing missing = { .tries = 50 };
	struct pmc_frame_buf buf = { .data = NULL };
	uint64_t frames;

	for (uint32_t i = 0; i < target->n_slots; i++)
		attach_put_regions(target, registry_slot(&target->registry, i), &missing, &buf);
	FUZZ_CHECK(!buf.overflow);
	check_frames(&buf);
	frames = count_frames(&buf);
	FUZZ_CHECK(frames <= target->n_slots * REGION_RECORDS);
	free(buf.data);
	return frames;
}

/* As for regions. Once more from where the first look ended, as pmctl dump -I does. */
static uint64_t look_at_samples(struct attach *target)
{
	struct snapshot_written written = { .stacks = 1 }, before;
	struct pmc_frame_buf buf = { .data = NULL };
	struct attach_missing missing = { .tries = 0 };
	uint64_t frames;

	for (uint32_t i = 0; i < target->n_slots; i++)
		attach_put_samples(target, registry_slot(&target->registry, i), &missing, &buf);
	for (unsigned look = 0; look < 2; look++) {
		before = written;
		attach_collect_stacks(target, &written, &missing, &buf);
		FUZZ_CHECK(written.modules >= before.modules && written.stacks >= before.stacks);
	}
	FUZZ_CHECK(!buf.overflow);
	check_frames(&buf);
	frames = count_frames(&buf);
	free(buf.data);
	return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attach target;
	struct pmc_frame_buf buf;

	FUZZ_CHECK(attach_enter(&target, getpid(), false) == 0);
	target.address = address(&control);
	make_process();
	change(data, size);
	if (attach_look(&target) == 0 && target.n_slots <= SLOTS_MAX) {
		/* As in pmctl dump, space is reserved before each frame. */
		size_t room =
			target.n_slots * ATTACH_FRAME_BYTES + ATTACH_FRAME_BYTES + (512 << 10);
		uint8_t *memory = malloc(room);

		FUZZ_CHECK(memory && target.tasks.n > 0);
		uint64_t regions = look_at_regions(&target);

		/* The number of frames of an unchanged process. */
		FUZZ_CHECK(size > 3 || regions == AREAS * (NAMES + 1));
		uint64_t sampled = look_at_samples(&target);

		FUZZ_CHECK(size > 3 || sampled == AREA_LISTS + AREA_FILES + 1);
		pmc_frame_buf_init(&buf, memory, room);
		for (uint32_t i = 0; i < target.n_slots; i++)
			attach_row(&target, &buf, registry_slot(&target.registry, i), i & 1);
		attach_process_frames(&target, &buf);
		FUZZ_CHECK(!buf.overflow);
		check_frames(&buf);
		free(memory);
	}
	attach_close(&target);
	return 0;
}
