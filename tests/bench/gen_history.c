/* SPDX-License-Identifier: MIT */
/*
 * gen_history.c - writes dumps of RUNS runs of one program, run-1.pmc, run-2.pmc, ..., into the
 * current directory, with labels "build=RUN".
 *
 *	gen_history RUNS SPREAD DRIFT SEED [RUN POOL PERCENT]...
 *
 * Two pools of four threads, and a main thread. CPU time has a spread of SPREAD percent and a slow
 * wave of DRIFT percent over some 40 runs, which all pools have in common. From RUN on, POOL
 *(worker or flusher) takes PERCENT more. The same arguments give the same dumps.
 */
#include "tests/bench/gen.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static double uniform(void)
{
	return (double)(rnd() >> 11) * 0x1p-53;
}

/* Of standard deviation 1. */
static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * acos(-1) * uniform());
}

static uint64_t put_thread(const uint8_t identity[16], uint64_t seq, const char *name,
			   uint64_t cpu_ns)
{
	struct pmc_thread_fixed row = {
		.seq = seq,
		.tid = 1000 + (uint32_t)seq,
		.state = PMC_THREAD_EXITED,
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.start_ns = 1000000000,
		.end_ns = 3000000000,
		.time_ns = 3000000000,
		.cpu_ns = cpu_ns,
		.minor_faults = 100 + rnd() % 20,
		.voluntary_switches = 500 + rnd() % 50,
		.created_by = seq ? 0 : PMC_NO_SEQ,
	};

	snprintf(row.name, sizeof(row.name), "%s", name);
	pmc_begin_thread(&buf, identity, 1, &row);
	pmc_frame_end(&buf);
	return cpu_ns;
}

static void put_run(unsigned run, double worker, double flusher)
{
	char labels[32];
	const struct pmc_process_text text = { .host = "host-1",
					       .boot_id = "6f1c2d3e-0000-4000-8000-123456789abc",
					       .exe = "/usr/bin/server",
					       .cmdline = "server",
					       .labels = labels };
	struct pmc_process_fixed fixed = { .job = { 1 },
					   .pid = 1000,
					   .ppid = 1,
					   .start_ns = 1000000000,
					   .end_ns = 3000000000,
					   .time_ns = 3000000000,
					   .threads_seen = 9,
					   .threads_counted = 9,
					   .how_ended = PMC_ENDED_EXIT,
					   .flags = PMC_PROCESS_FIRST,
					   .rank = -1 };
	uint8_t identity[16];
	char name[16];

	snprintf(labels, sizeof(labels), "build=%u", run);
	for (unsigned b = 0; b < 16; b++)
		identity[b] = fixed.job[b] = (uint8_t)(rnd() >> 8);
	for (uint64_t seq = 0; seq < 9; seq++) {
		const double of = !seq ? 1e8 : seq < 5 ? worker * 2e8 : flusher * 5e7;

		snprintf(name, sizeof(name), "%s-%u", seq < 5 ? "worker" : "flusher",
			 (unsigned)(seq - 1) % 4);
		fixed.cpu_ns += put_thread(identity, seq, seq ? name : "server", (uint64_t)of);
	}
	pmc_build_process(&buf, identity, 1, &fixed, &text);
}

static void write_run(unsigned run)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "run-%u.pmc", run);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, memory, buf.len) != (ssize_t)buf.len || close(fd) < 0) {
		perror(path);
		exit(1);
	}
	pmc_frame_buf_init(&buf, memory, sizeof(memory));
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc % 3 != 2) {
		fprintf(stderr,
			"usage: gen_history RUNS SPREAD DRIFT SEED [RUN POOL PERCENT]...\n");
		return 2;
	}
	state = strtoull(argv[4], NULL, 0) * 0x9e3779b97f4a7c15ull | 1;
	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	for (unsigned run = 1; run <= strtoul(argv[1], NULL, 0); run++) {
		const double spread = strtod(argv[2], NULL) / 100,
			     wave = strtod(argv[3], NULL) / 100 * sin(run * 2 * acos(-1) / 40);
		double of[2];

		for (unsigned i = 0; i < 2; i++)
			of[i] = 1 + wave + spread * normal();
		for (int i = 5; i + 2 < argc; i += 3)
			if (run >= strtoul(argv[i], NULL, 0))
				of[strcmp(argv[i + 1], "flusher") == 0] *=
					1 + strtod(argv[i + 2], NULL) / 100;
		put_run(run, of[0], of[1]);
		write_run(run);
	}
	return 0;
}
