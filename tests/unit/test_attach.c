/* SPDX-License-Identifier: MIT */
/* test_attach.c - reading a process with an agent; this process plays it, valid and hostile. */
#include "lib/count/group.h"
#include "lib/plan/plan.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

/* Text of a refusal, in one line. */
static char said[4096];

static int saved_stderr;
static struct pmc_control control;
static struct attach target;

static void listen(void)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	saved_stderr = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	fclose(file);
}

static int heard(int code)
{
	off_t len = lseek(STDERR_FILENO, 0, SEEK_END);
	ssize_t n = pread(STDERR_FILENO, said, sizeof(said) - 1, 0);

	assert_true(len < (off_t)sizeof(said));
	said[n > 0 ? n : 0] = '\0';
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	return code;
}

#define SAYS(call, code, text)                                                                     \
	do {                                                                                       \
		listen();                                                                          \
		int code_ = heard(call);                                                           \
		if (code_ != (code) || !strstr(said, text))                                        \
			fail_msg("%s: %d, '%s'; wanted %d, '%s'", #call, code_, said, code, text); \
	} while (0)

/* ---- memory -------------------------------------------------------------------------------*/
static void text_ends_where_memory_does(void **state)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t end = (uint64_t)(uintptr_t)pages + PAGE;
	char text[64];

	assert_ptr_not_equal(pages, MAP_FAILED);
	memset(pages, 'a', PAGE);
	memcpy(pages + PAGE - 6, "hello", 6);
	assert_int_equal(munmap(pages + PAGE, PAGE), 0);
	assert_int_equal(attach_enter(&target, getpid(), false), 0);
	assert_int_equal(attach_read_text(&target, end - 6, text, sizeof(text)), 0);
	assert_string_equal(text, "hello");
	assert_int_equal(attach_read_text(&target, end - 6, text, 4), 0);
	assert_string_equal(text, "hel");
	pages[PAGE - 1] = '!';
	assert_int_equal(attach_read_text(&target, end - 6, text, sizeof(text)), 0);
	assert_string_equal(text, "hello!");
	assert_int_equal(attach_read_text(&target, end, text, sizeof(text)), -EFAULT);
	assert_string_equal(text, "");
	assert_int_equal(attach_read(&target, UINT64_MAX - 8, text, 4), -EFAULT);
	assert_int_equal(attach_read(&target, UINT64_MAX - 8, text, 64), -EFAULT);
	attach_close(&target);
	munmap(pages, PAGE);
}

static void find(void)
{
	assert_int_equal(attach_enter(&target, getpid(), false), 0);
	assert_int_equal(attach_maps(&target), 0);
}

static void the_control_block_is_found(void **state)
{
	/* In .data and in .bss. */
	static struct pmc_control found = { .state = 1 };
	uint64_t function = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "getppid");
	bool mapped = false;

	memset(&control, 0, sizeof(control));
	find();
	for (size_t i = 0; i < target.n_images; i++) {
		assert_true(target.images[i].start < target.images[i].end);
		mapped |= function >= target.images[i].start && function < target.images[i].end;
	}
	assert_true(mapped);
	assert_int_equal(target.address, 0);
	attach_close(&target);
	for (unsigned i = 0; i < 2; i++) {
		struct pmc_control *block = i ? &control : &found;

		block->version = PMC_CONTROL_VERSION;
		block->bytes = sizeof(*block);
		block->magic = PMC_CONTROL_MAGIC;
		find();
		assert_int_equal(target.address, (uint64_t)(uintptr_t)block);
		block->magic = 0;
		attach_close(&target);
	}
}

/* The magic alone is no control block: every program that compares it has it in its data. */
static void other_magic_is_passed_over(void **state)
{
	static uint64_t words[4] = { 1 };

	memset(&control, 0, sizeof(control));
	words[0] = words[2] = PMC_CONTROL_MAGIC;
	find();
	assert_int_equal(target.address, 0);
	attach_close(&target);
	/* Version 1: kept for the message. */
	words[3] = 1;
	find();
	assert_int_equal(target.address, (uint64_t)(uintptr_t)(words + 2));
	attach_close(&target);
	control.version = PMC_CONTROL_VERSION;
	control.bytes = sizeof(control);
	control.magic = PMC_CONTROL_MAGIC;
	/* The lone magic comes first in memory, so the search must go on past it. */
	assert_true((char *)words < (char *)&control);
	find();
	assert_int_equal(target.address, (uint64_t)(uintptr_t)&control);
	attach_close(&target);
	memset(words, 0, sizeof(words));
}

static void pids(void **state)
{
	static const char *const bad[] = { "", "0", "-1", "1x", "x", "99999999999", "1 " };
	char own[16];
	pid_t pid;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		SAYS(attach_pid(bad[i], &pid), EXIT_USAGE, "invalid process ID");
	snprintf(own, sizeof(own), "%d", getpid());
	assert_int_equal(attach_pid(own, &pid), 0);
	assert_int_equal(pid, getpid());
}

/* ---- this process as the target -------------------------------------------------------------- */
static struct registry registry;
static struct slot *slot;
static int group[PMC_EVENTS_MAX];
static struct pmc_arena arena;

static int set_up(void **state)
{
	struct pmc_plan plan;

	memset(&control, 0, sizeof(control));
	control.magic = PMC_CONTROL_MAGIC;
	control.version = PMC_CONTROL_VERSION;
	control.bytes = sizeof(control);
	control.state = PMC_CONTROL_ON;
	control.identity[0] = 7;
	control.snapshot = 5;
	control.first[1] = 1;
	control.registry = (uint64_t)(uintptr_t)&registry;
	if (registry_init(&registry, 1, 1, 16) != 0)
		return -1;
	slot = registry_alloc(&registry);
	slot->tid = (uint32_t)getpid();
	slot->seq = 3;
	slot->n_fds = 1;
	group[0] = -1;
	if (pmc_plan_clock(&arena, &plan) != 0)
		return -1;
	if (pmc_plan_open_group(&plan, 0, &PMC_PERF_SELF, group, set_ids(slot->data)) == 0)
		pmc_perf_group_enable(group[0]);
	set_fds(&registry, slot->data)[0] = group[0];
	registry_live(slot);
	if (attach_enter(&target, getpid(), true) != 0)
		return -1;
	target.address = (uint64_t)(uintptr_t)&control;
	return 0;
}

static int tear_down(void **state)
{
	attach_close(&target);
	pmc_perf_group_close(group, 1);
	registry_fini(&registry);
	pmc_arena_free(&arena);
	return 0;
}

/* The row of the slot, as pmctl dump writes it. */
static void look(struct pmc_thread_fixed *row, struct pmc_reading *reading, uint64_t *value)
{
	static uint64_t memory[8192];
	struct pmc_frame_buf buf;
	struct pmc_frame frame;
	struct pmc_cursor cursor;

	assert_int_equal(attach_look(&target), 0);
	assert_int_equal(target.n_slots, 1);
	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	attach_row(&target, &buf, registry_slot(&target.registry, 0), false);
	struct pmc_scan scan = { .data = buf.data, .len = buf.len };

	assert_true(pmc_scan_next(&scan, &frame));
	assert_int_equal(frame.head.type, PMC_FRAME_THREAD);
	assert_int_equal(frame.head.snapshot, 5);
	assert_int_equal(frame.head.identity[0], 7);
	pmc_frame_fixed(&frame, row, sizeof(*row));
	pmc_cursor_init(&cursor, &frame);
	assert_true(pmc_cursor_bytes(&cursor, reading, sizeof(*reading)));
	*value = 0;
	if (reading->n)
		assert_true(pmc_cursor_bytes(&cursor, value, sizeof(*value)));
	assert_int_equal(cursor.left, 0);
}

static void rows_are_true(void **state)
{
	struct pmc_thread_fixed row;
	struct pmc_reading reading;
	struct pmc_usage before, now;
	uint64_t value, all;

	if (group[0] < 0)
		skip();
	pmc_usage_thread(&before);
	look(&row, &reading, &value);
	pmc_usage_thread(&now);
	assert_int_equal(row.seq, 3);
	assert_int_equal(row.tid, getpid());
	/* Of this thread, read from /proc by the same function as of any other. */
	assert_false(row.flags & PMC_THREAD_NO_RUSAGE);
	assert_in_range(row.minor_faults, before.minor_faults, now.minor_faults);
	assert_in_range(row.voluntary_switches, before.voluntary_switches, now.voluntary_switches);
	assert_int_equal(row.reason, 0);
	assert_int_equal(reading.n, 1);
	assert_int_equal(reading.running_ns, reading.enabled_ns);
	assert_true(value > 0);
	/* Minus the values at the last reset, never below 0. */
	all = value;
	set_base(&registry, slot->data)[0] = reading.enabled_ns;
	set_base(&registry, slot->data)[1] = INT64_MAX;
	set_base(&registry, slot->data)[2] = all;
	look(&row, &reading, &value);
	assert_int_equal(reading.running_ns, 0);
	assert_true(value > 0);
	assert_in_range(reading.enabled_ns, 1, value + 1000000);
	set_base(&registry, slot->data)[2] = INT64_MAX;
	look(&row, &reading, &value);
	assert_int_equal(value, 0);
}

/* A descriptor that is no longer the group's must not be read: reading a pipe removes its data. */
static void foreign_descriptors_are_left_alone(void **state)
{
	struct pmc_thread_fixed row;
	struct pmc_reading reading;
	uint64_t value;
	char text[8];
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(write(ends[1], "keep", 4), 4);
	set_fds(&registry, slot->data)[0] = ends[0];
	look(&row, &reading, &value);
	assert_int_equal(reading.n, 0);
	assert_int_equal(reading.error, PMC_REASON_RECYCLED);
	assert_int_equal(row.reason, PMC_REASON_RECYCLED);
	assert_int_equal(read(ends[0], text, sizeof(text)), 4);
	close(ends[0]);
	close(ends[1]);
	look(&row, &reading, &value);
	assert_int_equal(row.reason, PMC_REASON_RECYCLED);
	if (group[0] < 0)
		skip();
	/* A perf event group with another event ID. */
	set_fds(&registry, slot->data)[0] = group[0];
	set_ids(slot->data)[0]++;
	look(&row, &reading, &value);
	assert_int_equal(row.reason, PMC_REASON_RECYCLED);
}

static void slots_in_motion_are_left_out(void **state)
{
	static const uint32_t phases[] = { SLOT_FREE, SLOT_RESERVED, SLOT_CLOSING, 1u << 31 };

	for (unsigned i = 0; i < 4; i++) {
		slot->word = phases[i];
		assert_int_equal(attach_look(&target), 0);
		assert_int_equal(target.n_slots, 0);
	}
	/* A live slot with three readers is still live. */
	slot->word = SLOT_LIVE + 3;
	assert_int_equal(attach_look(&target), 0);
	assert_int_equal(target.n_slots, 1);
	assert_int_equal(registry_slot(&target.registry, 0)->word, SLOT_LIVE + 3);
}

/* Memory use depends on the number of live slots, not on the size that the registry claims. */
static void forged_registries_take_no_memory(void **state)
{
	struct registry *big = &registry;

	registry_fini(big);
	assert_int_equal(registry_init(big, 1, 1, REGISTRY_CAPACITY), 0);
	big->high = REGISTRY_CAPACITY;
	slot = registry_slot(big, REGISTRY_CAPACITY - 1);
	registry_live(slot);
	assert_int_equal(attach_look(&target), 0);
	assert_int_equal(target.n_slots, 1);
	assert_int_equal(target.index[0], REGISTRY_CAPACITY - 1);
	assert_in_range(target.room, 1, 64);
	/* More live slots than the process has threads. */
	for (uint32_t i = 0; i < REGISTRY_CAPACITY; i++)
		registry_live(registry_slot(big, i));
	SAYS(attach_look(&target), EXIT_FAIL, "is damaged");
	assert_in_range(target.room, 1024, 4096);
}

static void other_agents_are_refused(void **state)
{
	control.version++;
	SAYS(attach_look(&target), EXIT_FAIL, "another version");
	control.version--;
	control.bytes -= 8;
	SAYS(attach_look(&target), EXIT_FAIL, "another version");
	control.bytes += 8;
	control.state = PMC_CONTROL_DONE;
	SAYS(attach_look(&target), EXIT_FAIL, "is ending");
	control.state = PMC_CONTROL_STARTING;
	assert_int_equal(attach_look(&target), ATTACH_AGAIN);
	control.state = PMC_CONTROL_OFF;
	strcpy(control.why, "PMC_EVENTS=x: what");
	SAYS(attach_look(&target), EXIT_FAIL, "is dormant: PMC_EVENTS=x: what");
	memset(control.why, 'x', sizeof(control.why));
	SAYS(attach_look(&target), EXIT_FAIL, "is dormant: xxx");
}

#define DAMAGED(change)                                                                            \
	do {                                                                                       \
		struct registry was = registry;                                                    \
		struct pmc_control control_was = control;                                          \
		change;                                                                            \
		SAYS(attach_look(&target), EXIT_FAIL, "is damaged");                               \
		registry = was;                                                                    \
		control = control_was;                                                             \
		assert_int_equal(attach_look(&target), 0);                                         \
	} while (0)

static void lies_are_refused(void **state)
{
	DAMAGED(registry.n_groups = 65);
	DAMAGED(registry.n_groups = 2);
	DAMAGED(registry.n_fds = 2);
	DAMAGED(registry.n_fds = UINT32_MAX);
	DAMAGED(registry.set_words += 1);
	DAMAGED(registry.slot_bytes = 8);
	DAMAGED(registry.slot_bytes = SIZE_MAX);
	DAMAGED(registry.slot_bytes += 1);
	DAMAGED(registry.high = 17);
	DAMAGED(registry.high = registry.capacity = REGISTRY_CAPACITY + 1);
	DAMAGED(control.first[1] = 65);
	DAMAGED(control.first[0] = 1);
	DAMAGED(control.dump_signal = -1);
	DAMAGED(control.dump_signal = SIGRTMAX + 1);
	DAMAGED(control.threads.groups = 65);
	DAMAGED(control.execs.groups = 2; control.execs.first[1] = 3; control.execs.first[2] = 2);
	registry.slots = NULL;
	SAYS(attach_look(&target), EXIT_FAIL, "cannot read the memory");
	control.registry = 8;
	SAYS(attach_look(&target), EXIT_FAIL, "cannot read the memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_ends_where_memory_does),
		cmocka_unit_test(the_control_block_is_found),
		cmocka_unit_test(other_magic_is_passed_over),
		cmocka_unit_test(pids),
		cmocka_unit_test_setup_teardown(rows_are_true, set_up, tear_down),
		cmocka_unit_test_setup_teardown(foreign_descriptors_are_left_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(slots_in_motion_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forged_registries_take_no_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_agents_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
