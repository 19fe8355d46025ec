/* SPDX-License-Identifier: MIT */
/*
 * gen_dump.c - writes to stdout a dump of ROWS thread rows, as agents write them into one file.
 *
 *	gen_dump ROWS [SEED [PROCESSES]] >FILE
 *
 * PROCESSES process images (default 4) of one job, their frames interleaved: most threads end in
 * sequence and are written when they end; the last tenth of each process is alive at its end and
 * written in one snapshot. Six events in one group. The same arguments give the same bytes.
 */
#include "tests/bench/gen.h"

enum { EVENTS = 6, SITES = 8 };

static uint64_t put_set(void)
{
	static const struct {
		const char *name;
		uint32_t config;
	} events[EVENTS] = {
		{ "cycles", 0 },       { "instructions", 1 }, { "cache-references", 2 },
		{ "cache-misses", 3 }, { "branches", 4 },     { "branch-misses", 5 },
	};

	pmc_begin_eventset(&buf, EVENTS, 1);
	for (uint16_t i = 0; i < EVENTS; i++) {
		const struct pmc_event_def def = {
			.config = events[i].config,
			.scale = 1.0,
			.position = i,
		};

		pmc_put_event(&buf, &def, events[i].name, "", "");
	}
	return pmc_frame_end(&buf);
}

static uint64_t put_site(unsigned i)
{
	char symbol[32];

	snprintf(symbol, sizeof(symbol), "worker_main_%u", i);
	return pmc_build_site(&buf, 0x1000 + i * 0x340, "/usr/lib/x86_64-linux-gnu/libworkers.so.3",
			      symbol);
}

struct process {
	uint8_t identity[16];
	uint32_t pid;
	uint64_t rows, done, snapshot, now, cpu;
};

static void put_reading(uint64_t cycles, uint64_t ran)
{
	const struct pmc_reading reading = { .enabled_ns = ran, .running_ns = ran, .n = EVENTS };
	const uint64_t values[EVENTS] = {
		cycles,	      cycles + cycles / 2, cycles / 50 + rnd() % 1000,
		cycles / 900, cycles / 5,	   cycles / 700,
	};

	pmc_put_reading(&buf, &reading, values);
}

static void put_row(struct process *p, uint64_t seq, bool live, uint64_t set, const uint64_t *sites)
{
	uint64_t ran = 20000 + rnd() % 3000000;
	struct pmc_thread_fixed row = {
		.seq = seq,
		.tid = p->pid + (uint32_t)(seq % 30000),
		.state = live ? PMC_THREAD_LIVE : PMC_THREAD_EXITED,
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.n_groups = 1,
		.start_ns = p->now - ran,
		.end_ns = live ? 0 : p->now,
		.time_ns = p->now,
		.cpu_ns = ran,
		.minor_faults = rnd() % 40,
		.voluntary_switches = rnd() % 10,
		.involuntary_switches = rnd() % 3,
		.created_by = seq ? seq % 3 : PMC_NO_SEQ,
		.eventset = set,
		.start_site = seq ? sites[seq % SITES] : 0,
	};

	snprintf(row.name, sizeof(row.name), seq ? "worker-%u" : "main", (unsigned)(seq % 1000));
	p->now += 1 + rnd() % 50000;
	p->cpu += ran;
	pmc_begin_thread(&buf, p->identity, p->snapshot, &row);
	put_reading(ran * 3, ran);
	pmc_frame_end(&buf);
	flush(sizeof(memory) - 4096);
}

static void put_process(struct process *p, unsigned i, uint64_t set, bool ended)
{
	static const char *const exes[] = { "/usr/bin/server", "/usr/bin/make", "/bin/sh" };
	const struct pmc_process_text text = {
		.host = "host-1",
		.boot_id = "6f1c2d3e-0000-4000-8000-123456789abc",
		.exe = exes[i % 3],
		.cmdline = "server --threads 64 --config /etc/server.conf",
	};
	struct pmc_process_fixed fixed = {
		.job = { 0x4a, 0x6f, 0x62, 1 },
		.pid = p->pid,
		.ppid = p->pid - 1,
		.start_ns = 1000000000ull + i,
		.end_ns = ended ? p->now : 0,
		.time_ns = p->now,
		.cpu_ns = p->cpu,
		.pre_cpu_ns = 0,
		.max_rss_bytes = 50 << 20,
		.threads_seen = p->done,
		.threads_counted = p->done,
		.eventset = set,
		.how_ended = ended ? PMC_ENDED_EXIT : PMC_RUNNING,
		.flags = i ? PMC_PROCESS_COVERED : PMC_PROCESS_FIRST,
		.rank = -1,
	};

	pmc_build_process(&buf, p->identity, p->snapshot, &fixed, &text);
}

static void put_totals(struct process *p, uint64_t set)
{
	for (uint8_t kind = PMC_TOTAL_THREADS; kind <= PMC_TOTAL_EXEC; kind++) {
		const struct pmc_total_fixed fixed = {
			.kind = kind,
			.n_groups = 1,
			.time_ns = p->now,
			.eventset = set,
		};

		pmc_frame_begin(&buf, PMC_FRAME_TOTAL, p->identity, p->snapshot, &fixed,
				sizeof(fixed));
		put_reading(p->cpu * 3, p->cpu);
		pmc_frame_end(&buf);
	}
}

static void finish(struct process *p, unsigned i, uint64_t set, const uint64_t *sites)
{
	p->snapshot++;
	for (; p->done < p->rows; p->done++)
		put_row(p, p->done, true, set, sites);
	put_process(p, i, set, true);
	if (i == 0)
		put_totals(p, set);
}

int main(int argc, char **argv)
{
	uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 0) : 0, left = rows, set = 0;
	unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 4;
	struct process *processes = calloc(n ? n : 1, sizeof(*processes));
	uint64_t sites[SITES];

	if (!rows || !n || !processes) {
		fprintf(stderr, "usage: gen_dump ROWS [SEED [PROCESSES]] >FILE\n");
		return 2;
	}
	state = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1) * 0x9e3779b97f4a7c15ull | 1;
	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	for (unsigned i = 0; i < n; i++) {
		struct process *p = &processes[i];

		for (unsigned b = 0; b < 16; b++)
			p->identity[b] = (uint8_t)(rnd() >> 8);
		p->pid = 1000 + i * 30001;
		p->now = 1000000000ull + i;
		p->rows = i + 1 < n ? rows / n : left;
		left -= p->rows;
		p->snapshot = 1;
		set = put_set();
		for (unsigned s = 0; s < SITES; s++)
			sites[s] = put_site(s);
		put_process(p, i, set, false);
		flush(sizeof(memory) - 65536);
	}
	/* The processes run some threads in turn, until a tenth of each is alive. */
	for (unsigned running = n; running;) {
		unsigned i = (unsigned)(rnd() % n);
		struct process *p = &processes[i];

		for (unsigned turn = (unsigned)(rnd() % 16); turn && p->done < p->rows; turn--) {
			p->snapshot++;
			put_row(p, p->done++, false, set, sites);
			if (p->done < p->rows - p->rows / 10)
				continue;
			finish(p, i, set, sites);
			put_set();
			flush(sizeof(memory) / 2);
		}
		for (running = 0, i = 0; i < n && !running; i++)
			running = processes[i].done < processes[i].rows;
	}
	flush(0);
	free(processes);
	return fflush(stdout) ? 1 : 0;
}
