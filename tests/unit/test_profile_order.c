/* SPDX-License-Identifier: MIT */
/* test_profile_order.c - a profile from frames in any order, repeated, superseded or invalid. */
#include "tests/unit/profile_try.h"
#include "tests/unit/random_dump.h"

#include <sys/mman.h>
#include <unistd.h>

static uint64_t digest_u64(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 0x100000001b3ull + (digest >> 29);
}

static uint64_t digest_of(const struct pmc_profile *p)
{
	uint64_t digest = digest_u64(p->n_processes, p->n_threads);

	for (uint64_t i = 0; i < p->n_processes; i++) {
		const struct pmc_p_process *process = p->processes[i];

		digest = digest_u64(digest, process->identity[0] << 8 | process->snapshot);
		digest = digest_u64(digest, process->fixed.time_ns);
		digest = digest_u64(digest, process->attributed_cpu_ns);
		for (unsigned n = 0; n < process->n_notes; n++)
			digest = digest_u64(digest, process->notes[n].fixed.count);
	}
	for (uint64_t i = 0; i < p->n_threads; i++) {
		digest = digest_u64(digest, p->threads[i]->seq);
		digest = digest_u64(digest, p->threads[i]->snapshot);
		digest = digest_u64(digest, unpack_row(p, p->threads[i])->fixed.cpu_ns);
	}
	for (uint64_t i = 0; i < p->n_samples; i++) {
		const struct pmc_p_samples *samples = p->samples[i];

		digest = digest_u64(digest, samples->process->identity[0]);
		digest = digest_u64(digest, samples->fixed.seq);
		digest = digest_u64(digest, samples->samples << 8 | samples->fixed.part);
		for (uint64_t n = 0; n < samples->n; n++)
			if (samples->list[n].stack)
				digest = digest_u64(digest, samples->list[n].stack->depth);
	}
	for (uint64_t i = 0; i < p->n_modules; i++)
		digest = digest_u64(digest, p->modules[i]->hash);
	return digest;
}

static void order_does_not_matter(void **state)
{
	for (unsigned round = 0; round < 200; round++) {
		struct dump dump = random_dump(1 + below(80));
		struct pmc_frame frames[80], frame;
		unsigned n = 0;
		struct pmc_scan scan = { .data = dump.data, .len = dump.len };
		uint64_t want, good;

		while (pmc_scan_next(&scan, &frame))
			frames[n++] = frame;
		pmc_profile_init(&profile, NULL);
		pmc_profile_add_buffer(&profile, dump.data, dump.len);
		good = profile.frames;
		pmc_profile_finish(&profile);
		want = digest_of(&profile);
		assert_true(good <= n);
		pmc_profile_free(&profile);

		pmc_profile_init(&profile, NULL);
		for (unsigned i = 0; i < 3 * n; i++) /* some are repeated, some are newer */
			pmc_profile_add(&profile, &frames[below(n)]);
		for (unsigned i = n; i > 0; i--)
			pmc_profile_add(&profile, &frames[i - 1]);
		pmc_profile_finish(&profile);
		assert_true(digest_of(&profile) == want);
		pmc_profile_free(&profile);

		int fd = memfd_create("dump", MFD_CLOEXEC);

		assert_int_equal(write(fd, dump.data, dump.len), dump.len);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		pmc_profile_init(&profile, NULL);
		assert_int_equal(pmc_profile_add_fd(&profile, fd), 0);
		pmc_profile_finish(&profile);
		assert_true(digest_of(&profile) == want);
		pmc_profile_free(&profile);
		close(fd);
		dump_free(&dump);
	}
}

static void sets_may_come_last(void **state)
{
	struct thread_row row = { .identity = 1, .n = 1, .values = { 77 }, .cpu_ns = 1 };
	size_t start;

	row.set = one_event();
	start = build.len;
	build_row(row);
	one_event();
	pmc_profile_init(&profile, NULL);
	pmc_profile_add_buffer(&profile, build.data + start, build.len - start);
	pmc_profile_finish(&profile);
	assert_non_null(unpack_row(&profile, profile.threads[0])->counts);
	assert_int_equal(pmc_count_value(count_of(0)), 77);
}

/* Of two frames with one snapshot number the later one is used, in any order, with any hash. */
static void time_tells_equal_numbers_apart(void **state)
{
	for (unsigned round = 0; round < 16; round++) {
		uint64_t early = round, late = 100 + round, times[2] = { early, late };

		if (round % 2) {
			times[0] = late;
			times[1] = early;
		}
		build_start();
		for (unsigned i = 0; i < 2; i++) {
			const struct pmc_process_fixed process = { .time_ns = times[i] };
			const struct pmc_thread_fixed row = { .time_ns = times[i] };
			const struct pmc_total_fixed total = { .kind = PMC_TOTAL_THREADS,
							       .time_ns = times[i] };

			build_process(1, 7, &process, "app");
			pmc_frame_begin(&build, PMC_FRAME_THREAD, id(1), 7, &row, sizeof(row));
			pmc_frame_end(&build);
			pmc_frame_begin(&build, PMC_FRAME_TOTAL, id(1), 7, &total, sizeof(total));
			pmc_frame_end(&build);
		}
		load();
		assert_int_equal(profile.n_threads, 1);
		assert_int_equal(unpack_row(&profile, profile.threads[0])->fixed.time_ns, late);
		assert_int_equal(profile.processes[0]->fixed.time_ns, late);
		pmc_profile_free(&profile);
	}
}

/* Memory use depends on the number of threads, not of snapshots. */
static void snapshots_do_not_pile_up(void **state)
{
	size_t used = 0;
	static const struct ev event = { .name = "cycles" };

	pmc_profile_init(&profile, NULL);
	uint64_t set = build_set(&event, 1, 1);

	for (uint64_t snapshot = 1; snapshot <= 3000; snapshot++) {
		for (uint64_t seq = 0; seq < 50; seq++)
			build_row((struct thread_row){ .identity = 1,
						       .snapshot = snapshot,
						       .seq = seq,
						       .set = set,
						       .n = 1,
						       .values = { snapshot } });
		pmc_profile_add_buffer(&profile, build.data, build.len);
		build_start();
		if (snapshot == 10) {
			/* Later snapshots need no more memory. */
			used = profile.arena.used;
			assert_true(used > 0);
		}
	}
	assert_int_equal(profile.arena.used, used);
	pmc_profile_finish(&profile);
	assert_int_equal(profile.n_threads, 50);
	assert_int_equal(pmc_count_value(count_of(0)), 3000);
}

static void noise_is_survived(void **state)
{
	for (unsigned round = 0; round < 300; round++) {
		struct dump dump = random_dump(30);
		struct pmc_scan scan = { .data = dump.data, .len = dump.len };
		struct pmc_frame frame;

		/* Frames with a correct hash and an invalid content. */
		while (pmc_scan_next(&scan, &frame)) {
			uint8_t *bytes = dump.data + (frame.bytes - dump.data);
			struct pmc_frame_head head = frame.head;

			for (unsigned hits = below(4); hits && head.size > 48; hits--)
				bytes[48 + below(head.size - 48)] = (uint8_t)(rnd() >> below(8));
			if (below(4) == 0)
				memcpy(bytes + 18, &(uint16_t){ (uint16_t)(8 * below(12)) }, 2);
			memcpy(&head, bytes, sizeof(head));
			if (head.fixed <= head.size - 48)
				reseal(bytes, 1, (uint8_t)(1 + below(6)));
		}
		pmc_profile_init(&profile, &(struct pmc_profile_options){ .timeline = round % 2 });
		pmc_profile_add_buffer(&profile, dump.data, dump.len);
		pmc_profile_finish(&profile);
		pmc_profile_free(&profile);
		dump_free(&dump);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_does_not_matter),
		PROFILE_TEST(sets_may_come_last),
		PROFILE_TEST(time_tells_equal_numbers_apart),
		PROFILE_TEST(snapshots_do_not_pile_up),
		cmocka_unit_test(noise_is_survived),
	};

	seed_from_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
