/* SPDX-License-Identifier: MIT */
/* capture_dumps.h - small dumps for captures, the same bytes on every machine. */
#ifndef PMC_TESTS_UNIT_CAPTURE_DUMPS_H
#define PMC_TESTS_UNIT_CAPTURE_DUMPS_H

#include "tests/unit/capture_server.h"
#include "tests/unit/samples_made.h"

/* ---- plain: no PMU, times of the OS, killed by a signal ------------------------------------- */

static inline void dump_plain(void)
{
	static const struct made_event events[] = {
		{ .name = "cycles",
		  .group = PMC_NO_GROUP,
		  .state = PMC_NOT_SUPPORTED,
		  .error = ENOENT },
		{ .name = "instructions",
		  .config = 1,
		  .group = PMC_NO_GROUP,
		  .state = PMC_NOT_SUPPORTED,
		  .error = ENOENT },
		{ .name = "run-delay",
		  .type = PMC_TYPE_OS,
		  .config = PMC_OS_RUN_DELAY,
		  .group = 0,
		  .flags = PMC_EVENT_ACCOUNTED,
		  .unit = "ns" },
		{ .name = "user-time",
		  .type = PMC_TYPE_OS,
		  .config = PMC_OS_USER_TIME,
		  .group = 1,
		  .flags = PMC_EVENT_ACCOUNTED,
		  .unit = "ns" },
	};
	static const char *const names[] = { "xz", "xz-worker-1", "xz-worker-2", "xz-worker-3" };
	struct pmc_process_fixed fixed = dump_process(700, 905 * MS);
	uint64_t set;

	made_begin();
	set = made_set(events, N(events));
	fixed.threads_seen = fixed.threads_counted = 4;
	fixed.eventset = set;
	fixed.how_ended = PMC_ENDED_SIGNAL;
	fixed.how_code = 15;
	made_process(1, &fixed, "laptop", "/opt/none/xz", "xz -T4 big.tar");
	for (unsigned i = 0; i < 4; i++) {
		struct pmc_thread_fixed row =
			dump_thread(700, i, (i ? 295 : 12) * MS + i * 999, set);
		const struct made_value values[] = {
			{ row.cpu_ns, row.cpu_ns, 0, 1, { 31 * MS * i + 1234 } },
			{ row.cpu_ns, row.cpu_ns, 0, 1, { row.cpu_ns - 2 * MS } },
		};

		row.state = PMC_THREAD_KILLED;
		row.minor_faults = i;
		made_thread(1, row, names[i], values, 2);
	}
}

/* ---- samples: call stacks, waits, names and places ------------------------------------------- */

enum { S_MAIN = 0x1000, S_WORK = 0x2000, S_SORT = 0x3000, S_READ = 0x4000, S_NONE = 0x5000 };

static inline void samples_names(uint64_t module)
{
	static const char *const texts[] = { "main",	   "work(int)",	 "sort<long>", "compare",
					     "read_input", "src/app.cc", "src/sort.h" };
	static const struct {
		uint64_t address;
		unsigned n;
		struct pmc_place_function functions[2];
	} places[] = {
		{ S_MAIN, 1, { { 1, 6, 12, 0 } } },
		{ S_WORK, 1, { { 2, 6, 48, 0 } } },
		{ S_SORT, 2, { { 4, 7, 9, PMC_PLACE_INLINED }, { 3, 7, 30, 0 } } },
		{ S_READ, 1, { { 5, 6, 71, 0 } } },
	};
	const struct pmc_names_fixed fixed = { .module = module,
					       .n_texts = N(texts),
					       .n_places = N(places) };

	pmc_frame_begin(&made, PMC_FRAME_NAMES, NULL, 0, &fixed, sizeof(fixed));
	for (unsigned i = 0; i < N(texts); i++)
		pmc_frame_str(&made, texts[i], strlen(texts[i]));
	for (unsigned i = 0; i < N(places); i++) {
		const struct pmc_place_def def = { .address = places[i].address,
						   .start = places[i].address - 0x10,
						   .n_functions = places[i].n };

		pmc_put_place(&made, &def, places[i].functions);
	}
	pmc_frame_end(&made);
}

#define APP(address) MADE_FRAME(0, address)
#define LIB(address) MADE_FRAME(1, address)

/* main calls work and read_input; work calls sort, which calls itself, and a library. more: extra
 * samples in sort. */
static inline void dump_samples(unsigned more)
{
	static const struct made_event clock = { .name = "task-clock",
						 .type = 1,
						 .config = 1,
						 .unit = "ns",
						 .flags = PMC_EVENT_UNFILTERED };
	static const struct made_event faults = {
		.name = "page-faults", .type = 1, .config = 2, .scope = PMC_SCOPE_USER
	};
	static const struct made_event wait = {
		.name = "off-cpu", .type = PMC_TYPE_OS, .config = PMC_OS_OFF_CPU, .unit = "ns"
	};
	static const struct made_event delay = {
		.name = "run-delay", .type = PMC_TYPE_OS, .config = PMC_OS_RUN_DELAY, .unit = "ns"
	};
	static const struct made_stack stacks[] = {
		{ 1, 0, 1, { APP(S_MAIN) } },
		{ 2, 0, 2, { APP(S_WORK), APP(S_MAIN) } },
		{ 3, 0, 3, { APP(S_SORT), APP(S_WORK), APP(S_MAIN) } },
		{ 4, 0, 4, { APP(S_SORT), APP(S_SORT), APP(S_WORK), APP(S_MAIN) } },
		{ 5, 0, 2, { APP(S_READ), APP(S_MAIN) } },
		{ 6, PMC_STACK_TRUNCATED, 2, { LIB(S_NONE), APP(S_SORT) } },
		{ 7, 0, 2, { MADE_RAW(0x7f0000001234), APP(S_MAIN) } },
		{ 8, PMC_STACK_BROKEN, 1, { LIB(S_NONE) } },
	};
	const struct pmc_sample first[] = {
		{ 1, 5, 5 * MS },   { 2, 15, 15 * MS }, { 3, 30 + more, (30 + more) * MS },
		{ 4, 10, 10 * MS }, { 5, 25, 25 * MS }, { 6, 5, 5 * MS },
		{ 7, 6, 6 * MS },   { 8, 3, 3 * MS },	{ 0, 1, MS },
	};
	const struct pmc_sample pool[] = { { 2, 20, 20 * MS }, { 3, 4, 4 * MS } };
	const struct pmc_sample touched[] = { { 1, 2, 2 }, { 3, 90, 90 } };
	const struct pmc_sample waits[] = { { 5, 3, 1400 * MS },
					    { 5, 1, 500 * MS },
					    { 3, 1, 120000 } };
	const struct pmc_sample preempted[] = { { 0, 30, 60 * MS }, { 0, 1, 9 * MS } };
	struct pmc_process_fixed fixed = dump_process(800, 200 * MS);
	const unsigned process = more ? 50 : 1;
	uint64_t clock_set, faults_set, wait_set, delay_set, modules[2];

	made_begin();
	clock_set = made_set(&clock, 1);
	faults_set = made_set(&faults, 1);
	wait_set = made_set(&wait, 1);
	delay_set = made_set(&delay, 1);
	fixed.threads_seen = fixed.threads_counted = 3;
	made_process(process, &fixed, "node1", "/opt/none/app", "app --sort input");
	made_thread(process, dump_thread(800, 0, (100 + more) * MS, 0), "app", NULL, 0);
	for (unsigned i = 1; i < 3; i++) {
		struct pmc_thread_fixed row = dump_thread(800, i, 24 * MS, 0);

		row.created_stack = 2;
		made_thread(process, row, i == 1 ? "pool-1" : "pool-2", NULL, 0);
	}
	modules[0] = made_module("/opt/none/app", "app-id");
	modules[1] = made_module("/opt/none/lib/libz.so.1", "lib-id");
	samples_names(modules[0]);
	made_stacks(process, modules, 2, stacks, N(stacks));
	made_samples(process,
		     (struct pmc_samples_fixed){ .eventset = clock_set,
						 .period = MS,
						 .samples = 100 + more,
						 .lost = 3,
						 .truncated = 8 },
		     (110 + more) * MS, first, N(first));
	for (unsigned i = 1; i < 3; i++)
		made_samples(process,
			     (struct pmc_samples_fixed){
				     .seq = i, .eventset = clock_set, .period = MS, .samples = 24 },
			     24 * MS, pool, N(pool));
	made_samples(
		process,
		(struct pmc_samples_fixed){ .eventset = faults_set, .period = 1, .samples = 92 },
		95, touched, N(touched));
	made_samples(process,
		     (struct pmc_samples_fixed){ .eventset = wait_set,
						 .period = 1,
						 .samples = 5,
						 .flags = PMC_SAMPLES_LENGTHS },
		     0, waits, N(waits));
	made_samples(process,
		     (struct pmc_samples_fixed){
			     .eventset = delay_set, .samples = 31, .flags = PMC_SAMPLES_LENGTHS },
		     69 * MS, preempted, N(preempted));
}

/* ---- steps: eight snapshots of four threads -------------------------------------------------- */

static inline void dump_steps(void)
{
	static const struct made_event events[] = { { .name = "cycles" },
						    { .name = "instructions", .config = 1 } };
	/* CPU time in each quarter of a second, in ms. */
	static const uint64_t cpu[4][8] = { { 250, 250, 10, 0, 0, 0, 0, 20 },
					    { 0, 100, 200, 250, 250, 200, 100, 0 },
					    { 0, 110, 190, 250, 240, 210, 90, 0 },
					    { 1, 1, 1, 1, 1, 1, 1, 1 } };
	static const char *const names[] = { "main", "pool-1", "pool-2", "tick" };
	struct pmc_process_fixed fixed = dump_process(900, 0);
	uint64_t set;

	made_begin();
	set = made_set(events, 2);
	fixed.threads_seen = fixed.threads_counted = 4;
	fixed.eventset = set;
	for (unsigned i = 0; i < 4; i++) {
		uint64_t sum = 0;

		for (unsigned s = 0; s < 8; s++) {
			struct pmc_thread_fixed row = dump_thread(900, i, 0, set);
			struct made_value value = { .n = 2 };

			sum += cpu[i][s] * MS;
			row.cpu_ns = sum;
			row.start_ns = 1000 * MS;
			row.time_ns = (1250 + 250 * s) * MS;
			row.end_ns = s < 7 ? 0 : row.time_ns;
			row.state = s < 7 ? PMC_THREAD_LIVE : PMC_THREAD_EXITED;
			row.voluntary_switches = 4 * s;
			value.enabled = value.running = sum + 1;
			value.values[0] = 3 * sum;
			value.values[1] = 4 * sum + s;
			made_thread(1, row, names[i], &value, 1);
		}
		fixed.cpu_ns += sum;
	}
	made_process(1, &fixed, "node1", "/opt/none/steps", "steps");
}

/* ---- ranks: two hosts with two ranks each ---------------------------------------------------- */

static inline void dump_ranks(void)
{
	static const struct made_event events[] = { { .name = "cycles" },
						    { .name = "instructions", .config = 1 } };
	uint64_t set;

	made_begin();
	set = made_set(events, 2);
	for (unsigned rank = 0; rank < 4; rank++) {
		struct pmc_process_fixed fixed = dump_process(400 + rank, (410 + 90 * rank) * MS);

		fixed.rank = (int32_t)rank;
		fixed.threads_seen = fixed.threads_counted = 2;
		fixed.eventset = set;
		fixed.job[0] = (uint8_t)(rank / 2);
		fixed.flags = rank % 2 ? 0 : PMC_PROCESS_FIRST;
		made_process(1 + rank, &fixed, rank < 2 ? "node1" : "node2", "/opt/none/solver",
			     "solver -n 4");
		for (unsigned i = 0; i < 2; i++) {
			const uint64_t cpu = (i ? 100 : 300 + 90 * rank) * MS;
			const struct made_value value = { .enabled = cpu,
							  .running = cpu,
							  .n = 2,
							  .values = { 2 * cpu, 3 * cpu } };

			made_thread(1 + rank, dump_thread(400 + rank, i, cpu, set),
				    i ? "comm" : "solver", &value, 1);
		}
	}
}

/* ---- hybrid: two types of cores -------------------------------------------------------------- */

static inline void dump_hybrid(void)
{
	static const struct made_event events[] = {
		{ .name = "cycles", .config = 4ull << 32, .group = 0, .core_type = "cpu_core" },
		{ .name = "instructions",
		  .config = 4ull << 32 | 1,
		  .group = 0,
		  .core_type = "cpu_core" },
		{ .name = "cycles", .config = 10ull << 32, .group = 1, .core_type = "cpu_atom" },
		{ .name = "instructions",
		  .config = 10ull << 32 | 1,
		  .group = 1,
		  .core_type = "cpu_atom" },
	};
	struct pmc_eventset_fixed head = { .n_events = 4, .n_groups = 2 };
	struct pmc_process_fixed fixed = dump_process(600, 610 * MS);
	uint64_t set;

	made_begin();
	/* Events that belong together have the same position in the requested list. */
	pmc_begin_eventset(&made, head.n_events, head.n_groups);
	for (unsigned i = 0; i < 4; i++) {
		const struct pmc_event_def def = { .config = events[i].config,
						   .group = events[i].group,
						   .scale = 1,
						   .position = (uint16_t)(i % 2) };

		pmc_put_event(&made, &def, events[i].name, "", events[i].core_type);
	}
	set = pmc_frame_end(&made);
	fixed.threads_seen = fixed.threads_counted = 3;
	fixed.eventset = set;
	made_process(1, &fixed, "hybrid", "/opt/none/mix", "mix");
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t cpu = (300 - 100 * i) * MS, core = cpu * i / 2;
		const struct made_value values[2] = {
			{ cpu, core, 0, 2, { 4 * core, 8 * core } },
			{ cpu, cpu - core, 0, 2, { 2 * (cpu - core), 2 * (cpu - core) } },
		};
		static const char *const names[] = { "mix", "both", "fast" };

		made_thread(1, dump_thread(600, i, cpu, set), names[i], values, 2);
	}
}

/* ---- hostile: names that are no text --------------------------------------------------------- */

static inline void dump_hostile(void)
{
	static const char *const names[] = { "\x1b]0;pwned\x07", "\xff\xfe\xc2\x9b]31m",
					     "a\nb\rc",		 "\xe2\x80\xaegnp.exe",
					     "日本語スレ",	 "",
					     "0123456789abcdef", "=1+1,\"x\"" };
	const struct made_event event = { .name = "cyc\x1b[31mles\n", .unit = "\x1bu" };
	struct pmc_process_fixed fixed = dump_process(666, 9 * MS);
	uint64_t set, site;

	made_begin();
	set = made_set(&event, 1);
	site = made_site("/opt/none/\x1b[2J.so", "sym\x1b[2Jbol", 5);
	fixed.threads_seen = fixed.threads_counted = N(names);
	fixed.eventset = set;
	made_process(1, &fixed, "no\x1b[2Jde", "/opt/none/\x1b[2Japp", "app \x1b[2J \xff");
	for (unsigned i = 0; i < N(names); i++) {
		const struct made_value value = { 1, 1, 0, 1, { 5 + i } };
		struct pmc_thread_fixed row = dump_thread(666, i, (i + 1) * MS, set);

		row.start_site = site;
		made_thread(1, row, names[i], &value, 1);
	}
	made_note(1, 1, 1, "note \x1b[2J\n");
}

#endif
