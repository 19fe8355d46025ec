/* SPDX-License-Identifier: MIT */
/*
 * counters: the counting library on a real PMU, with kprobes and BPF. Prints "what number" lines,
 * errors as negative numbers, which counters.t checks.
 */
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pmc/counter.h>
#include <pmc/sampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOP  1000000ul
#define CALLS 1000u

static struct pmc_failure failure;

static void say(const char *what, long long number)
{
	printf("%s %lld\n", what, number);
}

static unsigned descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static struct pmc_open_options user_only(void)
{
	struct pmc_open_options open = pmc_open_options_init();

	open.exclude_kernel = true;
	return open;
}

/* The loop under the event, twice from 0: what was counted, or the error. */
static void count_loop(const char *what, const struct pmc_counter_event *event, int made)
{
	struct pmc_open_options open = user_only();
	struct pmc_counter *counter = NULL;
	uint64_t count = 0;
	int error = made ? made : pmc_counter_open(&counter, event, &open, &failure);

	for (int i = 0; i < 2 && !error; i++) {
		error = pmc_counter_reset(counter);
		error = error ? error : pmc_counter_enable(counter);
		run_instructions(LOOP);
		error = error ? error : pmc_counter_disable(counter);
		error = error ? error : pmc_counter_read(counter, &count);
	}
	say(what, error ? error : (long long)count);
	pmc_counter_close(counter);
}

static void kinds(void)
{
	const struct pmc_counter_field field = { "event", 8 };
	struct pmc_counter_event event;

	count_loop("hardware", &event,
		   pmc_counter_event_hardware(&event, PERF_COUNT_HW_INSTRUCTIONS));
	count_loop("raw", &event, pmc_counter_event_raw(&event, 8, 0, 0));
	count_loop("pmu", &event,
		   pmc_counter_event_pmu(&event, "armv8_pmuv3", &field, 1, &failure));
	count_loop("fields", &event,
		   pmc_counter_event_fields(&event, "armv8_pmuv3", "inst_retired", &failure));
	count_loop("text", &event, pmc_counter_event_parse(&event, "instructions:u", &failure));
	count_loop("cycles", &event, pmc_counter_event_hardware(&event, PERF_COUNT_HW_CPU_CYCLES));
	count_loop("cache", &event,
		   pmc_counter_event_cache(&event, PERF_COUNT_HW_CACHE_L1D,
					   PERF_COUNT_HW_CACHE_OP_READ,
					   PERF_COUNT_HW_CACHE_RESULT_MISS));
	printf("cache-says %s | %s\n", failure.what, failure.advice);
}

/* As many as the PMU has, one more, and what is left open. */
static void groups(void)
{
	struct pmc_counter_event event[15];
	struct pmc_group_value values[15];
	struct pmc_open_options open = user_only();
	struct pmc_group *group = NULL;
	struct pmc_group_times times;
	struct pmc_counter *single[14];
	unsigned before = descriptors();
	uint64_t count;
	int error;

	for (int i = 0; i < 15; i++)
		pmc_counter_event_raw(&event[i], 8, 0, 0);
	say("group-6", pmc_group_open(&group, event, 6, &open, &failure));
	error = pmc_group_read(group, &times, values, 6);
	say("not-yet", error);
	for (int round = 0; round < 3; round++) {
		pmc_group_reset(group);
		pmc_group_enable(group);
		run_instructions(LOOP);
		pmc_group_disable(group);
		error = pmc_group_read(group, &times, values, 6);
		for (unsigned i = 0; i < 6; i++)
			printf("member-%u-%d %lld\n", i, round,
			       error ? error : (long long)values[i].count);
		printf("ran-%d %d\n", round, times.running_ns == times.enabled_ns);
	}
	pmc_group_close(group);
	/* The leader of this one counts from the start, so that the kernel's check sees it. */
	open.enabled = true;
	say("group-15", pmc_group_open(&group, event, 15, &open, &failure));
	say("left-open", (long long)descriptors() - before);

	/* Two to a counter and more: each is scaled from what it ran. */
	for (int i = 0; i < 14; i++)
		error = pmc_counter_open(&single[i], &event[i], &open, &failure);
	say("single", error);
	run_instructions(400 * LOOP);
	for (int i = 0; i < 14; i++) {
		uint64_t raw, enabled, running;

		error = pmc_counter_read(single[i], &count);
		pmc_counter_read_count_and_time(single[i], &raw, &enabled, &running);
		printf("scaled-%d %lld\nshare-%d %d\n", i, error ? error : (long long)count, i,
		       running > 0 && running < enabled);
		pmc_counter_close(single[i]);
	}
	open.pinned = true;
	for (int i = 0; i < 8; i++)
		error = pmc_counter_open(&single[i], &event[i], &open, &failure);
	run_instructions(LOOP);
	for (int i = 0; i < 8; i++) {
		error = pmc_counter_read(single[i], &count);
		printf("pinned-%d %lld\n", i, error ? error : (long long)count / 100000);
		pmc_counter_close(single[i]);
	}
}

static void children(char *const *command)
{
	struct pmc_open_options open = user_only();
	struct pmc_counter_event event;
	struct pmc_counter *counter = NULL;
	uint64_t count = 0;
	int status, error;
	pid_t child;

	pmc_counter_event_hardware(&event, PERF_COUNT_HW_INSTRUCTIONS);
	open.inherit = true;
	error = pmc_counter_open(&counter, &event, &open, &failure);
	pmc_counter_enable(counter);
	child = fork();
	if (child == 0) {
		run_instructions(50 * LOOP);
		_exit(0);
	}
	waitpid(child, &status, 0);
	pmc_counter_disable(counter);
	error = error ? error : pmc_counter_read(counter, &count);
	say("inherit", error ? error : (long long)(count / LOOP));
	pmc_counter_close(counter);

	open.enable_on_exec = true;
	error = pmc_counter_open(&counter, &event, &open, &failure);
	run_instructions(50 * LOOP);
	child = fork();
	if (child == 0) {
		freopen("/dev/null", "w", stdout);
		execvp(command[0], command);
		_exit(127);
	}
	waitpid(child, &status, 0);
	error = error ? error : pmc_counter_read(counter, &count);
	say("on-exec", error ? error : (long long)(count / LOOP));
	pmc_counter_close(counter);
}

static uint64_t address_of(const char *symbol)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long at = 0, found = 0;
	char name[256], line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %*c %255s", &at, name) == 2 && strcmp(name, symbol) == 0)
			found = at;
	if (file)
		fclose(file);
	return found;
}

static void call_kernel(void)
{
	for (unsigned i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static void probed(const char *what, const struct pmc_counter_event *event, int made)
{
	struct pmc_counter *counter = NULL;
	uint64_t count = 0;
	int error = made ? made : pmc_counter_open(&counter, event, NULL, &failure);

	error = error ? error : pmc_counter_enable(counter);
	call_kernel();
	error = error ? error : pmc_counter_disable(counter);
	error = error ? error : pmc_counter_read(counter, &count);
	say(what, error ? error : (long long)count);
	pmc_counter_close(counter);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* A program that adds 1 to the only element of the map. */
static int load_program(int map)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{ .code = 0 },
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 2, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_XADD | BPF_DW, .dst_reg = 0, .src_reg = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = sizeof(code) / sizeof(code[0]);
	attr.license = (uintptr_t) "GPL";
	return bpf(BPF_PROG_LOAD, &attr);
}

static void with_bpf(void)
{
	struct pmc_counter_event event;
	struct pmc_counter *counter = NULL;
	uint64_t seen = 0;
	union bpf_attr attr;
	uint32_t zero = 0;
	int map, program, error;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	map = bpf(BPF_MAP_CREATE, &attr);
	program = map < 0 ? -1 : load_program(map);
	say("bpf-load", program < 0 ? -errno : 0);
	pmc_counter_event_kprobe(&event, PMC_PROBE_ENTRY, "__arm64_sys_getppid", 0, &failure);
	error = pmc_counter_open(&counter, &event, NULL, &failure);
	error = error ? error : pmc_counter_set_bpf(counter, program);
	error = error ? error : pmc_counter_enable(counter);
	call_kernel();
	error = error ? error : pmc_counter_disable(counter);
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&zero;
	attr.value = (uintptr_t)&seen;
	if (!error && bpf(BPF_MAP_LOOKUP_ELEM, &attr) != 0)
		error = -errno;
	say("bpf", error ? error : (long long)seen);
	/* No program at all: the errno is the kernel's. */
	say("bpf-none", error ? error : pmc_counter_set_bpf(counter, -1));
	pmc_counter_close(counter);
	close(program);
	close(map);
}

static void kernel_probes(void)
{
	struct pmc_counter_event event;
	uint64_t at = address_of("__arm64_sys_getppid");

	probed("kprobe", &event,
	       pmc_counter_event_kprobe(&event, PMC_PROBE_ENTRY, "__arm64_sys_getppid", 0,
					&failure));
	probed("kretprobe", &event,
	       pmc_counter_event_kprobe(&event, PMC_PROBE_RETURN, "__arm64_sys_getppid", 0,
					&failure));
	say("kallsyms", at != 0);
	probed("kprobe-address", &event,
	       pmc_counter_event_kprobe_address(&event, PMC_PROBE_ENTRY, at, &failure));
	probed("kprobe-nowhere", &event,
	       pmc_counter_event_kprobe(&event, PMC_PROBE_ENTRY, "no_such_function", 0, &failure));
	printf("nowhere-says %s | %s\n", failure.what, failure.advice);
}

/* Samples of the cycle counter: every one is there, with a time that does not go back. */
static void samples(void)
{
	struct pmc_open_options open = user_only();
	struct pmc_sampler *sampler = NULL;
	struct pmc_counter_event event;
	struct pmc_counter *counter = NULL;
	struct pmc_record record;
	uint64_t count = 0, last = 0;
	unsigned n = 0, back = 0;
	int error;

	pmc_counter_event_hardware(&event, PERF_COUNT_HW_CPU_CYCLES);
	open.sample_period = LOOP;
	open.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	error = pmc_counter_open(&counter, &event, &open, &failure);
	error = error ? error : pmc_sampler_open(&sampler, counter, 8, NULL);
	error = error ? error : pmc_counter_enable(counter);
	run_instructions(100 * LOOP);
	error = error ? error : pmc_counter_disable(counter);
	error = error ? error : pmc_counter_read(counter, &count);
	while (!error && pmc_sampler_next(sampler, &record) == 0) {
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		n++;
		back += record.time < last;
		last = record.time;
	}
	say("sampled-cycles", error ? error : (long long)(count / LOOP));
	say("samples", error ? error : (long long)n);
	say("samples-back", back);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

/* What a later version of the kernel brought. */
static void from_the_future(void)
{
	struct pmc_counter_event event;
	struct pmc_counter *counter;

	pmc_counter_event_software(&event, PERF_COUNT_SW_PAGE_FAULTS);
	event.config3 = 1;
	say("too-big", pmc_counter_open(&counter, &event, NULL, &failure));
	printf("too-big-says %s | %s\n", failure.what, failure.advice);
	pmc_counter_close(counter);
}

int main(int argc, char **argv)
{
	/* A child that leaves by exec would write what is still in the buffer once more. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	kinds();
	groups();
	if (argc > 1)
		children(argv + 1);
	kernel_probes();
	with_bpf();
	samples();
	from_the_future();
	return 0;
}
