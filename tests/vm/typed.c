/* SPDX-License-Identifier: MIT */
/*
 * typed CASE [N]: typed groups and the harness on a PMU whose counts are known.
 *
 *	exact		instructions and cycles of loops of known length, a line each
 *	crowd N		a group of N instruction counters around one loop: how they end
 *	pinned		a pinned group of one counter, and one that cannot fit
 *	scaled N	two groups of N each at once: shared, so scaled
 *	bench NAME	the harness on a loop of 1,000 instructions; NAME.json and NAME.md
 *	shared NAME	the same with more counters than there are
 *	slow NAME	and in samples longer than a counter's turn
 *	plain OPS	that loop OPS times, and nothing else: for a counter outside
 */
#include "tests/vm/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pmc/bench.h>
#include <pmc/counter.h>
#include <pmc/group.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIR(X)                                                                                    \
	X(instructions, "instructions:u", "", "retired instructions")                              \
	X(cycles, "cycles:u", "", "core clock cycles")
PMC_GROUP(pair, PAIR)

static int exact(void)
{
	static const unsigned long lengths[] = { 2, 1000, 100000, 10000000, 1000 };
	struct pair_values values;
	struct pair group;
	int error = pair_open(&group, 0, -1);

	if (error)
		return error;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && !error; i++) {
		error = pair_reset(&group);
		if (!error)
			error = pair_enable(&group);
		run_instructions(lengths[i]);
		if (!error)
			error = pair_disable(&group);
		if (!error)
			error = pair_read(&group, &values);
		printf("%lu %llu %llu %d %d\n", lengths[i], (unsigned long long)values.instructions,
		       (unsigned long long)values.cycles, (int)values.state,
		       values.time_enabled_ns == values.time_running_ns);
	}
	pair_close(&group);
	return error;
}

enum { MOST = 16 };

static const struct pmc_group_typed_field instruction = { "i", "instructions:u", "",
							  "retired instructions" };

static void fields_of(struct pmc_group_typed_field *fields, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fields[i] = instruction;
}

static void print_reading(const struct pmc_group_typed *group, unsigned n)
{
	struct pmc_group_typed_times times;
	uint64_t values[MOST];
	int error = pmc_group_typed_read(group, n, values, &times);

	printf("%d %d %.3f", error, (int)times.state,
	       times.enabled_ns ? (double)times.running_ns / (double)times.enabled_ns : 0);
	for (unsigned i = 0; i < n; i++)
		printf(" %llu", (unsigned long long)values[i]);
	printf("\n");
}

static int crowd(unsigned n)
{
	struct pmc_group_typed_field fields[MOST];
	struct pmc_group_typed group;
	int error;

	fields_of(fields, n);
	error = pmc_group_typed_open(&group, fields, n, 0, -1);
	printf("open %d failed %d\n", error, (int)group.failed);
	if (error)
		return 0;
	error = pmc_group_typed_enable(&group);
	run_instructions(1000000);
	print_reading(&group, n);
	pmc_group_typed_close(&group);
	return error;
}

static int pinned(void)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_group_typed group, more;
	struct pmc_group_typed_field fields[MOST];
	int error;

	open.pinned = true;
	open.exclude_kernel = true;
	fields_of(fields, MOST);
	error = pmc_group_typed_open_with(&group, fields, 4, &open);
	if (!error)
		error = pmc_group_typed_open_with(&more, fields, 4, &open);
	if (error)
		return error;
	pmc_group_typed_enable(&group);
	pmc_group_typed_enable(&more);
	run_instructions(1000000);
	print_reading(&group, 4);
	print_reading(&more, 4);
	pmc_group_typed_close(&group);
	pmc_group_typed_close(&more);
	return 0;
}

static int scaled(unsigned n)
{
	struct pmc_group_typed_field fields[MOST];
	struct pmc_group_typed groups[2];
	int error = 0;

	fields_of(fields, n);
	for (unsigned g = 0; g < 2 && !error; g++)
		error = pmc_group_typed_open(&groups[g], fields, n, 0, -1);
	if (error)
		return error;
	for (unsigned g = 0; g < 2; g++)
		pmc_group_typed_enable(&groups[g]);
	run_instructions(400000000);
	for (unsigned g = 0; g < 2; g++)
		pmc_group_typed_disable(&groups[g]);
	for (unsigned g = 0; g < 2; g++) {
		print_reading(&groups[g], n);
		pmc_group_typed_close(&groups[g]);
	}
	return 0;
}

/* One copy for all cases. */
static void __attribute__((noinline)) thousand(void *arg, uint64_t ops)
{
	(void)arg;
	while (ops--)
		run_instructions(1000);
}

static int write_to(const struct pmc_bench *bench, const char *name, const char *end,
		    enum pmc_bench_format format)
{
	char path[256];
	int fd, error;

	snprintf(path, sizeof(path), "%s.%s", name, end);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	error = pmc_bench_write(bench, fd, format);
	close(fd);
	return error;
}

static int bench(const char *name, uint64_t sample_ns, const char *events)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench *made;
	int error;

	options.events = events;
	options.sample_ns = sample_ns;
	options.total_ns = sample_ns > 1000000 ? 10 * sample_ns : 50 * sample_ns;
	options.warmup_ns = 5000000;
	error = pmc_bench_open(&made, &options, NULL);
	if (!error)
		error = pmc_bench_run(made, "thousand", thousand, NULL, 0);
	if (!error)
		error = write_to(made, name, "json", PMC_BENCH_JSON);
	if (!error)
		error = write_to(made, name, "md", PMC_BENCH_MARKDOWN);
	pmc_bench_close(made);
	return error;
}

#define TWELVE "instructions:u,cycles:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u"

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	int error = -EINVAL;

	if (!strcmp(what, "exact"))
		error = exact();
	else if (!strcmp(what, "crowd") && n && n <= MOST)
		error = crowd(n);
	else if (!strcmp(what, "pinned"))
		error = pinned();
	else if (!strcmp(what, "scaled") && n && n <= MOST)
		error = scaled(n);
	else if (!strcmp(what, "bench") && argc > 2)
		error = bench(argv[2], 1000000,
			      "task-clock,cycles:u,instructions:u,cache-misses,branch-misses");
	else if (!strcmp(what, "shared") && argc > 2)
		error = bench(argv[2], 1000000, TWELVE);
	else if (!strcmp(what, "slow") && argc > 2)
		error = bench(argv[2], 20000000, TWELVE);
	else if (!strcmp(what, "plain") && n)
		error = (thousand(NULL, n), 0);
	if (error)
		fprintf(stderr, "typed %s: %s\n", what, strerror(-error));
	return error != 0;
}
