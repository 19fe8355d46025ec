/* SPDX-License-Identifier: MIT */
/*
 * gen_samples.c - writes to stdout a dump of THREADS threads with SAMPLES samples in all.
 *
 *	gen_samples THREADS SAMPLES [MODULE [SEED]] >FILE
 *
 * Each thread has its part of the samples, all with different stacks of 5 to 24 frames, out of one
 * stack for every ten samples. Addresses are a few thousand of a program that does not exist, or of
 * MODULE. The same arguments give the same bytes.
 */
#include "tests/bench/gen.h"

enum { FUNCTIONS = 4000, PERIOD = 1000000, CALLEES = 3 };

static const uint8_t identity[16] = { 1, 2, 3 };

static uint64_t put_set(void)
{
	const struct pmc_event_def def = { .type = 1, .config = 1, .scale = 1 };

	pmc_begin_eventset(&buf, 1, 1);
	pmc_put_event(&buf, &def, "task-clock", "ns", "");
	return pmc_frame_end(&buf);
}

/* A tree: every function calls a few others. The first frame is the innermost. */
static unsigned make_stack(uint64_t *frames)
{
	const unsigned depth = 5 + (unsigned)(rnd() % 20);
	uint64_t function = 0;

	for (unsigned i = depth; i-- > 0;) {
		frames[i] = 0x4000 + function * 64 + rnd() % 4 * 8;
		function = (function * CALLEES + 1 + rnd() % CALLEES) % FUNCTIONS;
	}
	return depth;
}

static void put_stacks(uint64_t module, uint32_t n)
{
	for (uint32_t id = 1; id <= n;) {
		const uint32_t end = n - id < 5000 ? n + 1 : id + 5000;
		const struct pmc_stacks_fixed fixed = { .n_modules = 1, .n_stacks = end - id };

		pmc_frame_begin(&buf, PMC_FRAME_STACKS, identity, 1, &fixed, sizeof(fixed));
		pmc_frame_bytes(&buf, &module, sizeof(module));
		for (; id < end; id++) {
			uint64_t frames[24];
			const struct pmc_stack_def def = { .id = id,
							   .depth = (uint16_t)make_stack(frames) };

			pmc_put_stack(&buf, &def, frames);
		}
		pmc_frame_end(&buf);
		flush(0);
	}
}

static void put_thread(uint64_t seq, uint64_t set, uint32_t n, uint32_t n_stacks)
{
	const struct pmc_samples_fixed samples = {
		.seq = seq,
		.time_ns = 9,
		.eventset = set,
		.period = PERIOD,
		.samples = n,
		.n = n,
		.n_groups = 1,
	};
	const uint64_t value = (uint64_t)n * PERIOD;
	const struct pmc_reading reading = { .enabled_ns = value, .running_ns = value, .n = 1 };
	struct pmc_thread_fixed row = { .seq = seq,
					.tid = (uint32_t)(1000 + seq),
					.state = PMC_THREAD_EXITED,
					.flags = seq ? 0 : PMC_THREAD_MAIN,
					.start_ns = 1,
					.end_ns = 9,
					.time_ns = 9,
					.cpu_ns = value,
					.created_by = PMC_NO_SEQ };

	snprintf(row.name, sizeof(row.name), "worker-%u", (unsigned)(seq % 1000));
	pmc_begin_thread(&buf, identity, 1, &row);
	pmc_frame_end(&buf);
	pmc_frame_begin(&buf, PMC_FRAME_SAMPLES, identity, 1, &samples, sizeof(samples));
	pmc_put_reading(&buf, &reading, &value);
	for (uint32_t i = 0, stack = 0; i < n; i++) {
		stack += 1 + (uint32_t)(rnd() % (n_stacks / n * 2 - 1));
		pmc_frame_bytes(
			&buf, &(struct pmc_sample){ stack <= n_stacks ? stack : i + 1, 1, PERIOD },
			sizeof(struct pmc_sample));
	}
	pmc_frame_end(&buf);
	flush(sizeof(memory) / 2);
}

int main(int argc, char **argv)
{
	const uint64_t threads = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	const uint64_t samples = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	const struct pmc_process_text text = { "host-1", "boot", "/usr/bin/server", "server", "" };
	struct pmc_process_fixed process = { .pid = 1000,
					     .rank = -1,
					     .start_ns = 1,
					     .end_ns = 9,
					     .time_ns = 9,
					     .threads_seen = threads,
					     .threads_counted = threads,
					     .cpu_ns = samples * PERIOD,
					     .flags = PMC_PROCESS_FIRST,
					     .how_ended = PMC_ENDED_EXIT };
	uint64_t set, module;
	uint32_t stacks = (uint32_t)(samples / 10);

	if (!threads || samples / threads < 1 || stacks / (samples / threads) < 1) {
		fprintf(stderr, "usage: gen_samples THREADS SAMPLES [MODULE [SEED]] >FILE\n");
		return 2;
	}
	state = (argc > 4 ? strtoull(argv[4], NULL, 0) : 1) * 0x9e3779b97f4a7c15ull | 1;
	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	set = put_set();
	module = pmc_build_module(&buf, argc > 3 ? argv[3] : "/usr/bin/server", "", 0);
	pmc_build_process(&buf, identity, 1, &process, &text);
	put_stacks(module, stacks);
	for (uint64_t seq = 0; seq < threads; seq++)
		put_thread(seq, set, (uint32_t)(samples / threads), stacks);
	flush(0);
	return fflush(stdout) ? 1 : 0;
}
