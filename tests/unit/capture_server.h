/* SPDX-License-Identifier: MIT */
/*
 * capture_server.h - a dump for captures: a server of 31 threads on a machine with a PMU, its child
 * processes and marked regions.
 */
#ifndef PMC_TESTS_UNIT_CAPTURE_SERVER_H
#define PMC_TESTS_UNIT_CAPTURE_SERVER_H

#include "tests/unit/made_dump.h"

#include <errno.h>
#include <stdio.h>

#define MS	1000000ull
#define N(list) (sizeof(list) / sizeof((list)[0]))

static inline struct pmc_process_fixed dump_process(uint32_t pid, uint64_t cpu_ns)
{
	return (struct pmc_process_fixed){
		.job = { 0x4a },
		.pid = pid,
		.ppid = 1,
		.start_ns = 1000 * MS,
		.end_ns = 3000 * MS,
		.time_ns = 3000 * MS,
		.cpu_ns = cpu_ns,
		.minor_faults = 800,
		.major_faults = 3,
		.voluntary_switches = 300,
		.involuntary_switches = 20,
		.max_rss_bytes = 50 << 20,
		.overhead_ns = 3 * MS,
		.how_ended = PMC_ENDED_EXIT,
		.flags = PMC_PROCESS_FIRST,
		.rank = -1,
	};
}

static inline struct pmc_thread_fixed dump_thread(uint32_t pid, uint64_t seq, uint64_t cpu_ns,
						  uint64_t set)
{
	return (struct pmc_thread_fixed){
		.seq = seq,
		.tid = pid + (uint32_t)seq,
		.state = PMC_THREAD_EXITED,
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.start_ns = (1000 + seq) * MS,
		.end_ns = 2990 * MS,
		.time_ns = 2990 * MS,
		.cpu_ns = cpu_ns,
		.minor_faults = 3 + 40 * (seq % 5),
		.major_faults = seq == 2,
		.voluntary_switches = 20 + 13 * seq,
		.involuntary_switches = seq % 4,
		.created_by = seq ? 0 : PMC_NO_SEQ,
		.eventset = set,
	};
}

/* ---- server: a PMU with three groups, 31 threads, children, regions ------------------------ */

enum { SERVER_EVENTS = 10, SERVER_GROUPS = 3 };

static const struct made_event server_events[SERVER_EVENTS] = {
	{ .name = "cycles", .config = 0, .group = 0 },
	{ .name = "instructions", .config = 1, .group = 0 },
	{ .name = "branches", .config = 4, .group = 0 },
	{ .name = "branch-misses", .config = 5, .group = 0 },
	{ .name = "cache-references", .config = 2, .group = 1 },
	{ .name = "cache-misses", .config = 3, .group = 1 },
	{ .name = "task-clock", .type = 1, .config = 1, .group = 2, .unit = "ns" },
	{ .name = "energy", .type = 9, .config = 2, .group = 2, .unit = "Joules", .scale = 0.25 },
	{ .name = "mem-loads",
	  .type = 4,
	  .config = 0xcd,
	  .group = PMC_NO_GROUP,
	  .state = PMC_NOT_SUPPORTED,
	  .error = ENOENT },
	{ .name = "cycles:k",
	  .group = PMC_NO_GROUP,
	  .state = PMC_NOT_PERMITTED,
	  .error = EACCES,
	  .scope = PMC_SCOPE_KERNEL },
};

struct server_thread {
	const char *name; /* "%u": the number in the pool */
	unsigned n;
	uint64_t cpu_us;
	unsigned ipc_pct, ran_pct; /* ran_pct: of the group of cache events */
	unsigned start;		   /* routine */
};

static const struct server_thread server_threads[] = {
	{ "server", 1, 40300, 120, 100, 0 }, { "db-pool-%u", 8, 150000, 90, 60, 1 },
	{ "io-%u", 4, 5100, 60, 100, 2 },    { "http-worker-%u", 12, 92000, 210, 60, 3 },
	{ "gc", 1, 210000, 45, 60, 4 },	     { "timer", 1, 300, 80, 100, 5 },
	{ "log", 1, 2000, 110, 100, 5 },     { "signals", 1, 4, 30, 100, 5 },
	{ "sweeper", 1, 18000, 70, 100, 4 }, { "uncounted", 1, 25000, 0, 0, 5 },
};

static inline void server_values(struct made_value values[SERVER_GROUPS], uint64_t cpu_ns,
				 unsigned ipc_pct, unsigned ran_pct)
{
	const uint64_t cycles = 3 * cpu_ns, instructions = cycles * ipc_pct / 100;

	values[0] = (struct made_value){
		cpu_ns, cpu_ns, 0, 4, { cycles, instructions, instructions / 5, instructions / 400 }
	};
	values[1] = (struct made_value){
		cpu_ns, cpu_ns * ran_pct / 100, 0, 2, { cycles / 90, cycles / 1700 }
	};
	values[2] = (struct made_value){ cpu_ns, cpu_ns, 0, 2, { cpu_ns, cpu_ns / 40000000 } };
}

static inline void server_region(unsigned process, uint64_t seq, uint64_t set, const char *name,
				 uint64_t calls, uint64_t cpu_ns)
{
	const struct pmc_region_fixed fixed = {
		.seq = seq,
		.calls = calls,
		.outermost = calls,
		.time_ns = 2990 * MS,
		.eventset = set,
		.cpu_ns = cpu_ns,
		.self_cpu_ns = cpu_ns * 3 / 4,
		.inside_cpu_ns = 40,
		.around_cpu_ns = 60,
		.n_groups = SERVER_GROUPS,
		.flags = PMC_REGION_CPU | PMC_REGION_COST,
	};
	struct made_value values[SERVER_GROUPS];

	pmc_frame_begin(&made, PMC_FRAME_REGION, made_identity(process), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_str(&made, name, strlen(name));
	for (unsigned i = 0; i < 4; i++) {
		server_values(values, i == 0 ? cpu_ns : i == 1 ? cpu_ns * 3 / 4 : 50, 150, 100);
		made_readings(values, SERVER_GROUPS);
	}
	pmc_frame_end(&made);
}

/* A helper of the server that becomes another program. */
static inline void server_child(unsigned process, uint64_t set)
{
	struct pmc_process_fixed child = dump_process(12100, 9 * MS);
	struct made_value values[SERVER_GROUPS];

	child.job[1] = (uint8_t)(process - 1);
	child.ppid = 12037;
	child.flags = PMC_PROCESS_FORKED;
	child.threads_seen = child.threads_counted = 1;
	child.eventset = set;
	memcpy(child.parent_identity, made_identity(process), 16);
	child.start_ns = 1500 * MS;
	child.end_ns = 1520 * MS;
	child.how_ended = PMC_ENDED_EXEC;
	made_process(process + 1, &child, "node1", "/opt/none/server", "server --threads 27");
	server_values(values, 8 * MS, 100, 100);
	made_thread(process + 1, dump_thread(12100, 0, 8 * MS, set), "server", values,
		    SERVER_GROUPS);
	child.flags = PMC_PROCESS_COVERED;
	memcpy(child.parent_identity, made_identity(process + 1), 16);
	child.start_ns = 1520 * MS;
	child.end_ns = 2100 * MS;
	child.how_ended = PMC_ENDED_EXIT;
	child.how_code = 3;
	child.cpu_ns = 310 * MS;
	made_process(process + 2, &child, "node1", "/opt/none/convert", "convert in.png out.jpg");
	server_values(values, 310 * MS, 260, 100);
	made_thread(process + 2, dump_thread(12100, 0, 310 * MS, set), "convert", values,
		    SERVER_GROUPS);
}

/* Runs differ by a few permille. changed: a later version, whose pool "db" takes a quarter more CPU
 * time, without "gc" and with a thread of its own. */
static inline void dump_server(unsigned run, bool changed)
{
	static const char *const routines[] = { "",	     "db_main", "io_main",
						"http_main", "gc_main", "run_task" };
	const unsigned process = 1 + 10 * run;
	struct pmc_process_fixed fixed = dump_process(12037, 0);
	struct made_value values[SERVER_GROUPS];
	uint64_t set, sites[N(routines)] = { 0 }, seq = 0, sum = 0;

	fixed.job[1] = (uint8_t)(process - 1); /* each run is a job */
	made_begin();
	set = made_set(server_events, SERVER_EVENTS);
	for (unsigned i = 1; i < N(routines); i++)
		sites[i] = made_site("/opt/none/server", routines[i], 0x1000 * i);
	for (unsigned t = 0; t < N(server_threads); t++) {
		struct server_thread thread = server_threads[t];

		if (changed && !strcmp(thread.name, "db-pool-%u"))
			thread.cpu_us += thread.cpu_us / 4;
		if (changed && !strcmp(thread.name, "gc"))
			thread.name = "compactor";
		for (unsigned i = 0; i < thread.n; i++, seq++) {
			uint64_t cpu = thread.cpu_us * (1000 - 7 * i + (run * 5 + t * 3) % 11);
			struct pmc_thread_fixed row = dump_thread(12037, seq, cpu, set);
			char name[32];

			snprintf(name, sizeof(name), thread.name, i + 1);
			row.start_site = sites[thread.start];
			server_values(values, cpu, thread.ipc_pct, thread.ran_pct);
			if (!strcmp(name, "uncounted")) {
				row.reason = EMFILE;
				for (unsigned g = 0; g < SERVER_GROUPS; g++)
					values[g] = (struct made_value){ .error = EMFILE };
			}
			if (!strcmp(name, "log")) {
				row.state = PMC_THREAD_LIVE;
				row.end_ns = 0;
			}
			made_thread(process, row, name, values, SERVER_GROUPS);
			if (thread.start == 3 && i < 3) {
				server_region(process, seq, set, "parse", 1000 + i, cpu / 3);
				server_region(process, seq, set, "query", 200, cpu / 2);
			}
			sum += cpu;
		}
	}
	fixed.cpu_ns = sum + 30 * MS;
	fixed.minor_faults = 4000;
	fixed.voluntary_switches = 7000;
	fixed.involuntary_switches = 60;
	fixed.threads_seen = seq;
	fixed.threads_counted = seq - 1;
	fixed.eventset = set;
	fixed.inherit_mode = PMC_INHERIT_FULL;
	fixed.children_cpu_ns = 325 * MS;
	made_process(process, &fixed, "node1", "/opt/none/server", "server --threads 27");
	server_child(process, set);
	server_values(values, sum + 40 * MS, 140, 100);
	made_total(process, PMC_TOTAL_THREADS, set, values, SERVER_GROUPS);
	server_values(values, 315 * MS, 260, 100);
	made_total(process, PMC_TOTAL_EXEC, set, values, SERVER_GROUPS);
	made_note(process, 3, 2, "a note of the agent");
}

#endif
