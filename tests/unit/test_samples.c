/* SPDX-License-Identifier: MIT */
/* test_samples.c - modules, stacks and samples: frames to a profile. */
#include "tests/unit/report_profile.h"
#include "tests/unit/samples_made.h"
#include "tests/unit/unit.h"

#include <sys/mman.h>

static struct pmc_profile profile;
static uint64_t mapped; /* bytes of memory that arenas took */

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	mapped += fd < 0 ? bytes : 0;
	return __real_mmap(at, bytes, protection, flags, fd, offset);
}

static const struct made_event clock_event = {
	.name = "task-clock", .type = 1, .config = 1, .unit = "ns"
};

static const struct made_stack three[] = {
	{ 1, 0, 2, { MADE_FRAME(0, 0x1010), MADE_FRAME(1, 0x2020) } },
	{ 2, PMC_STACK_TRUNCATED, 1, { MADE_FRAME(1, 0x2020) } },
	{ 3, PMC_STACK_FP, 1, { MADE_RAW(0x7f0000001234) } },
};

/* Process 1 with threads 0 and 1; returns the event set of the samples. */
static uint64_t begin(void)
{
	const struct pmc_process_fixed process = { .pid = 7, .time_ns = 9, .rank = -1 };
	uint64_t set, modules[2];

	made_begin();
	set = made_set(&clock_event, 1);
	made_process(1, &process, "host", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .flags = PMC_THREAD_MAIN }, "app", NULL, 0);
	made_thread(1, (struct pmc_thread_fixed){ .seq = 1, .created_stack = 2 }, "work", NULL, 0);
	modules[0] = made_module("/lib/b.so", "id-b");
	modules[1] = made_module("/bin/app", "id-a");
	made_stacks(1, modules, 2, three, 3);
	return set;
}

static void samples_and_stacks_are_linked(void **state)
{
	const uint64_t set = begin();
	const struct pmc_sample list[] = { { 1, 3, 3000 }, { 3, 1, 1000 }, { 0, 2, 2000 } };
	struct pmc_p_samples **of, *samples;
	struct pmc_thread_buf buf;
	uint64_t n;

	made_samples(1, (struct pmc_samples_fixed){ .seq = 1, .eventset = set, .period = 1000 },
		     6100, list, 3);
	made_profile(&profile, false);
	assert_int_equal(profile.damaged_frames, 0);
	assert_int_equal(profile.n_modules, 2);
	assert_string_equal(profile.modules[0]->path, "/bin/app");
	assert_int_equal(profile.modules[1]->build_id_len, 4);
	assert_memory_equal(profile.modules[1]->build_id, "id-b", 4);

	assert_int_equal(profile.n_samples, 1);
	samples = profile.samples[0];
	assert_ptr_equal(samples->row, profile.threads[1]);
	assert_string_equal(samples->event->name, "task-clock");
	assert_int_equal(pmc_count_value(samples->count), 6100);
	assert_int_equal(samples->samples, 6);
	assert_int_equal(samples->weight, 6000);
	assert_int_equal(samples->n, 3);
	assert_int_equal(samples->list[0].stack->depth, 2);
	assert_ptr_equal(samples->list[0].stack->frames[0].module, profile.modules[1]);
	assert_int_equal(samples->list[0].stack->frames[0].address, 0x1010);
	assert_ptr_equal(samples->list[0].stack->frames[1].module, profile.modules[0]);
	assert_null(samples->list[1].stack->frames[0].module);
	assert_int_equal(samples->list[1].stack->frames[0].address, 0x7f0000001234);
	assert_null(samples->list[2].stack);

	of = pmc_profile_samples_of(&profile, profile.threads[1], &n);
	assert_int_equal(n, 1);
	assert_ptr_equal(*of, samples);
	assert_null(pmc_profile_samples_of(&profile, profile.threads[0], &n));
	assert_int_equal(pmc_profile_thread(&profile, profile.threads[1], &buf)->creation->flags,
			 PMC_STACK_TRUNCATED);
	assert_null(pmc_profile_thread(&profile, profile.threads[0], &buf)->creation);
	pmc_profile_free(&profile);
}

static void newest_snapshot_of_each_part_counts(void **state)
{
	const uint64_t set = begin();
	const struct pmc_sample old[] = { { 1, 1, 10 } }, new[] = { { 1, 5, 50 } };
	const struct pmc_sample more[] = { { 2, 7, 70 } };
	const struct pmc_samples_fixed one = { .eventset = set, .time_ns = 1 };
	struct pmc_samples_fixed two = one, late = one;

	two.part = 1;
	late.time_ns = 2;
	made_samples(1, two, 0, more, 1);
	made_samples(1, one, 20, old, 1);
	made_samples(1, late, 90, new, 1);
	made_profile(&profile, false);
	assert_int_equal(profile.n_samples, 1);
	assert_int_equal(profile.samples[0]->n, 2);
	assert_int_equal(profile.samples[0]->weight, 120);
	assert_int_equal(pmc_count_value(profile.samples[0]->count), 90);
	pmc_profile_free(&profile);
}

static void lists_that_do_not_fit_are_damage(void **state)
{
	const struct made_stack unlisted = { 4, 0, 1, { MADE_FRAME(9, 1) } };
	struct pmc_samples_fixed fixed = { .n = 1 };
	struct pmc_stacks_fixed stacks = { .n_stacks = 1 };

	begin();
	made_stacks(1, NULL, 0, &unlisted, 1);
	pmc_frame_begin(&made, PMC_FRAME_SAMPLES, made_identity(1), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_end(&made);
	fixed.n = UINT32_MAX;
	pmc_frame_begin(&made, PMC_FRAME_SAMPLES, made_identity(1), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_end(&made);
	pmc_frame_begin(&made, PMC_FRAME_STACKS, made_identity(1), ++made_snapshot, &stacks,
			sizeof(stacks));
	pmc_frame_end(&made);
	stacks = (struct pmc_stacks_fixed){ .n_modules = UINT32_MAX };
	pmc_frame_begin(&made, PMC_FRAME_STACKS, made_identity(1), ++made_snapshot, &stacks,
			sizeof(stacks));
	pmc_frame_end(&made);
	pmc_frame_begin(&made, PMC_FRAME_MODULE, NULL, 0, NULL, 0);
	pmc_frame_end(&made);
	made_profile(&profile, false);
	assert_int_equal(profile.damaged_frames, 6);
	assert_int_equal(profile.n_samples, 0);
	pmc_profile_free(&profile);
}

static void missing_frames_leave_gaps(void **state)
{
	const struct pmc_sample list[] = { { 8, 1, 10 } };

	begin();
	made_samples(1, (struct pmc_samples_fixed){ .seq = 5, .eventset = 77 }, 20, list, 1);
	made_samples(2, (struct pmc_samples_fixed){ .seq = 5, .eventset = 77 }, 20, list, 1);
	made_profile(&profile, false);
	assert_int_equal(profile.n_samples, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_null(profile.samples[i]->row);
		assert_null(profile.samples[i]->event);
		assert_null(profile.samples[i]->count);
		assert_null(profile.samples[i]->list[0].stack);
	}
	pmc_profile_free(&profile);
}

/* One function for address 0x1010 of module `module`, of process 1 if that is 0. */
static void made_names(uint64_t module, const char *name, const char *file)
{
	const struct pmc_names_fixed fixed = { .module = module, .n_texts = 2, .n_places = 1 };
	const struct pmc_place_def def = { .address = 0x1010, .start = 0x1000, .n_functions = 1 };
	const struct pmc_place_function function = {
		.name = name ? 1 : 0, .file = file ? 2 : 0, .line = 7, .flags = PMC_PLACE_INLINED
	};

	pmc_frame_begin(&made, PMC_FRAME_NAMES, module ? NULL : made_identity(1), 0, &fixed,
			sizeof(fixed));
	pmc_frame_str(&made, name ? name : "", name ? strlen(name) : 0);
	pmc_frame_str(&made, file ? file : "", file ? strlen(file) : 0);
	pmc_put_place(&made, &def, &function);
	assert_true(pmc_frame_end(&made) != 0);
}

static void names_are_those_of_a_module_or_process(void **state)
{
	uint64_t module;
	struct pmc_p_frame frame = { .address = 0x1010 };
	const struct pmc_p_place *place;

	begin();
	module = made_module("/lib/b.so", "id-b");
	made_names(module, "in_module", "b.c");
	made_names(0, "in_process", NULL);
	made_process(2, &(struct pmc_process_fixed){ .pid = 8, .rank = -1 }, "host", "/x", "x");
	made_profile(&profile, false);
	assert_int_equal(profile.damaged_frames, 0);
	place = pmc_profile_place(profile.processes[0], &frame);
	assert_string_equal(place->functions[0].name, "in_process");
	assert_null(place->functions[0].file);
	assert_null(pmc_profile_place(profile.processes[1], &frame));
	for (uint64_t i = 0; i < profile.n_modules; i++) {
		frame.module = profile.modules[i];
		place = pmc_profile_place(profile.processes[1], &frame);
		assert_int_equal(place != NULL, frame.module->hash == module);
		if (!place)
			continue;
		assert_string_equal(place->functions[0].name, "in_module");
		assert_string_equal(place->functions[0].file, "b.c");
		assert_int_equal(place->functions[0].line, 7);
		assert_true(place->functions[0].inlined);
		assert_int_equal(place->start, 0x1000);
		assert_int_equal(place->n, 1);
		frame.address++;
		assert_null(pmc_profile_place(profile.processes[1], &frame));
		frame.address--;
	}
	pmc_profile_free(&profile);
}

static void start_routines_have_the_names_of_their_process(void **state)
{
	const struct pmc_place_def def = { .address = 0x40, .n_functions = 1 };
	const struct pmc_place_function function = { .name = 1 };
	struct pmc_thread_fixed row = { .seq = 3, .tid = 1, .created_by = PMC_NO_SEQ };
	struct pmc_names_fixed fixed = { .n_texts = 1, .n_places = 1 };

	begin();
	row.start_site = fixed.module = made_site("/bin/x", "", 0x40);
	for (unsigned id = 1; id <= 2; id++) {
		made_process(id, &(struct pmc_process_fixed){ .pid = id, .rank = -1 }, "host", "/x",
			     "x");
		made_thread(id, row, "worker", NULL, 0);
	}
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_str(&made, "work", 4);
	pmc_put_place(&made, &def, &function);
	assert_true(pmc_frame_end(&made) != 0);
	made_profile(&profile, false);
	assert_int_equal(profile.damaged_frames, 0);
	for (uint64_t i = 0; i < profile.n_threads; i++) {
		const struct pmc_p_thread *thread;
		struct pmc_thread_buf buf;

		if (profile.threads[i]->seq != 3)
			continue;
		thread = pmc_profile_thread(&profile, profile.threads[i], &buf);
		assert_string_equal(thread->symbol,
				    thread->process->identity[0] == 1 ? "work" : "");
		assert_string_equal(thread->module, "/bin/x");
		assert_int_equal(thread->offset, 0x40);
	}
	pmc_profile_free(&profile);
}

static void names_with_lines_win_in_any_order(void **state)
{
	static const char *const names[] = { "one", "two", "three" };
	const char *winner = NULL;

	for (unsigned turn = 0; turn < 6; turn++) {
		struct pmc_p_module *module;
		struct pmc_p_frame frame = { .address = 0x1010 };
		uint64_t hash;
		const char *name;

		begin();
		hash = made_module("/lib/b.so", "id-b");
		for (unsigned i = 0; i < 3; i++) {
			const unsigned k = (turn % 2 ? 3 - i : i) + turn / 2;

			made_names(hash, names[k % 3], k % 3 ? "b.c" : NULL);
		}
		made_profile(&profile, false);
		module = profile.modules[1];
		assert_int_equal(module->hash, hash);
		frame.module = module;
		name = pmc_profile_place(profile.processes[0], &frame)->functions[0].name;
		assert_string_not_equal(name, "one");
		if (winner)
			assert_string_equal(name, winner);
		winner = names[strcmp(name, "two") ? 2 : 1];
		pmc_profile_free(&profile);
	}
}

static void a_name_wins_over_none(void **state)
{
	for (unsigned turn = 0; turn < 40; turn++) {
		struct pmc_p_frame frame = { .address = 0x1010 };
		char name[16];

		begin();
		snprintf(name, sizeof(name), "name%u", turn);
		made_names(0, turn % 2 ? name : NULL, NULL);
		made_names(0, turn % 2 ? NULL : name, NULL);
		made_profile(&profile, false);
		assert_string_equal(
			pmc_profile_place(profile.processes[0], &frame)->functions[0].name, name);
		pmc_profile_free(&profile);
	}
}

static void names_that_do_not_fit_are_damage(void **state)
{
	struct pmc_names_fixed fixed = { .n_texts = UINT32_MAX };
	struct pmc_place_def def = { .n_functions = 1 };
	struct pmc_place_function function = { .name = 2 };
	const struct pmc_p_frame frame = { .address = 0 };

	begin();
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_end(&made);
	fixed = (struct pmc_names_fixed){ .n_texts = 1, .n_places = 1 };
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_str(&made, "a", 1);
	pmc_frame_end(&made);
	/* A text that is not there, in the second place. */
	fixed.n_places = 2;
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_str(&made, "a", 1);
	function.name = 1;
	pmc_put_place(&made, &def, &function);
	function.name = 2;
	pmc_put_place(&made, &def, &function);
	pmc_frame_end(&made);
	/* More functions than bytes, and none. */
	fixed = (struct pmc_names_fixed){ .n_places = 1 };
	def.n_functions = UINT32_MAX;
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_bytes(&made, &def, sizeof(def));
	pmc_frame_end(&made);
	def.n_functions = 0;
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_bytes(&made, &def, sizeof(def));
	pmc_frame_end(&made);
	/* A function is there, but too many are. */
	def.n_functions = PMC_PLACE_FUNCTIONS_MAX + 1;
	pmc_frame_begin(&made, PMC_FRAME_NAMES, made_identity(1), 0, &fixed, sizeof(fixed));
	pmc_frame_bytes(&made, &def, sizeof(def));
	memset(&function, 0, sizeof(function));
	for (unsigned i = 0; i < def.n_functions; i++)
		pmc_frame_bytes(&made, &function, sizeof(function));
	pmc_frame_end(&made);
	made_profile(&profile, false);
	assert_int_equal(profile.damaged_frames, 6);
	assert_null(pmc_profile_place(profile.processes[0], &frame));
	pmc_profile_free(&profile);
}

/* A list that grew by copies of one more entry would take the square of their number. */
static void many_parts_take_little_memory(void **state)
{
	enum { PARTS = 4000 };
	struct pmc_samples_fixed fixed = { .eventset = begin() };
	const struct pmc_sample one[] = { { 1, 1, 10 } };

	for (fixed.part = 0; fixed.part < PARTS; fixed.part++)
		made_samples(1, fixed, 10, one, 1);
	mapped = 0;
	made_profile(&profile, false);
	assert_int_equal(profile.n_samples, 1);
	assert_int_equal(profile.samples[0]->n, PARTS);
	assert_true(mapped > 0);
	assert_in_range(mapped / made.len, 0, 8);
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_and_stacks_are_linked),
		cmocka_unit_test(many_parts_take_little_memory),
		cmocka_unit_test(newest_snapshot_of_each_part_counts),
		cmocka_unit_test(lists_that_do_not_fit_are_damage),
		cmocka_unit_test(missing_frames_leave_gaps),
		cmocka_unit_test(names_are_those_of_a_module_or_process),
		cmocka_unit_test(start_routines_have_the_names_of_their_process),
		cmocka_unit_test(names_with_lines_win_in_any_order),
		cmocka_unit_test(a_name_wins_over_none),
		cmocka_unit_test(names_that_do_not_fit_are_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
