/* SPDX-License-Identifier: MIT */
/* pmu_probe.c - runs groups on the PMU to learn what it counts; see pmu_probe.h. */
#include "lib/plan/pmu_probe.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdatomic.h>

int pmc_probe_add(struct pmc_probe *probe, const struct pmc_event *event, enum pmc_scope scope)
{
	const bool leader = probe->n == 0;
	struct pmc_attr attr;
	int fd;

	_Static_assert(PMC_EVENTS_MAX <= 64, "a bit for each event");
	if (probe->n == PMC_EVENTS_MAX)
		return -EMFILE;
	pmc_perf_group_attr(event, scope, leader, &attr);
	attr.base.pinned = leader;
	/* arm64 leaves disabled events out when it validates a group, but not these:
	 * validate_event() in drivers/perf/arm_pmu.c. */
	attr.base.enable_on_exec = leader;
	fd = probe->open(&attr, leader ? -1 : probe->fds[0]);
	if (fd < 0)
		return fd;
	if (pmc_event_needs_pmu(event))
		probe->pmu |= UINT64_C(1) << probe->n;
	probe->fds[probe->n++] = fd;
	return 0;
}

void pmc_probe_drop(struct pmc_probe *probe)
{
	if (probe->n == 0)
		return;
	pmc_perf_group_close(&probe->fds[--probe->n], 1);
	probe->pmu &= ~(UINT64_C(1) << probe->n);
}

void pmc_probe_close(struct pmc_probe *probe)
{
	while (probe->n > 0)
		pmc_probe_drop(probe);
}

#define WORK_LINES    32u
#define WORK_BRANCHES 128u
/* A dead counter reads no more than this: KVM adds the instructions that it emulates for the guest,
 * five at most while a group is enabled. A live one reads more after the workload. */
#define WORK_DEAD_MOST 16u

static _Alignas(64) const char work_on[WORK_LINES][64];

/* Writes the line back and drops it from all caches. */
static void flush(const void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
	(void)line;
#endif
}

/* Reads lines that no cache holds and takes unpredictable branches, so that each of the default
 * events counts. */
__attribute__((noinline)) static void work(void)
{
	uint64_t seed = pmc_now_ns() | 1;

	for (unsigned i = 0; i < WORK_LINES; i++)
		flush(work_on[i]);
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < WORK_LINES; i++)
		(void)*(const volatile char *)work_on[i];
	for (unsigned i = 0; i < WORK_BRANCHES; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		/* volatile keeps the branch: no conditional move. */
		if (seed & 16)
			__asm__ volatile("" : "+r"(i));
		else
			__asm__ volatile("" : "+r"(seed));
	}
}

bool pmc_probe_run(struct pmc_probe *probe, unsigned *silent)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
	const int n_words = PMC_PERF_GROUP_WORDS((int)probe->n);
	int got;

	*silent = 0;
	if (probe->n == 0)
		return true;
	pmc_perf_group_enable(probe->fds[0]);
	work();
	/* Stopped first: where a hypervisor traps access, running counters are slow to read. */
	pmc_perf_group_disable(probe->fds[0]);
	got = pmc_perf_read_some(probe->fds[0], words, (size_t)n_words);
	for (unsigned i = 0; i < probe->n && got == n_words; i++)
		*silent += (probe->pmu >> i & 1) && words[3 + 2 * i] <= WORK_DEAD_MOST;
	/* Any other error says nothing about the group. */
	return got != -ENODATA;
}

/* Whether this process or the system ran out of something that other events could have had. */
static bool is_exhausted(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EINTR;
}

int pmc_probe_counters(pmc_perf_opener open, const struct pmc_event *leader,
		       const struct pmc_event *sibling, unsigned most,
		       struct pmc_counters *counters)
{
	struct pmc_probe probe = { .open = open };
	unsigned silent;
	int error, exhausted = 0;

	*counters = (struct pmc_counters){ 0 };
	do {
		pmc_probe_close(&probe);
		error = 0;
		while (probe.n < most && !error)
			error = pmc_probe_add(&probe, probe.n ? sibling : leader, PMC_SCOPE_USER);
		if (is_exhausted(error))
			exhausted = error;
		if (counters->accepted == 0)
			counters->accepted = probe.n;
		most = probe.n - 1;
	} while (!pmc_probe_run(&probe, &silent));
	counters->running = probe.n;
	counters->counting = probe.n - silent;
	pmc_probe_close(&probe);
	return exhausted;
}

unsigned pmc_probe_alive(pmc_perf_opener open, unsigned n)
{
	static const struct pmc_event instructions = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};
	struct pmc_counters counters;

	pmc_probe_counters(open, &instructions, &instructions, n, &counters);
	if (counters.counting == 0 || counters.counting == counters.running)
		return n;
	return counters.counting;
}

int pmc_probe_together(pmc_perf_opener open, const struct pmc_event *const *events,
		       const enum pmc_scope *scopes, unsigned n)
{
	struct pmc_probe probe = { .open = open };
	unsigned silent = 0, pmu;
	int error = 0;
	bool runs;

	for (unsigned i = 0; i < n && !error; i++)
		error = pmc_probe_add(&probe, events[i], scopes[i]);
	runs = !error && pmc_probe_run(&probe, &silent);
	pmu = (unsigned)__builtin_popcountll(probe.pmu);
	pmc_probe_close(&probe);
	if (is_exhausted(error))
		return error;
	return runs && (pmu < 2 || !silent || pmc_probe_alive(open, pmu) == pmu);
}
