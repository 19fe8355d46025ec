/* SPDX-License-Identifier: MIT */
/* sched_switch.c - prints the context switches of all CPUs in order of time: [SECONDS [PAGES]]. */
#include <errno.h>
#include <pmc/sampler.h>
#include <pmc/tracepoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void print(const struct pmc_tracepoint *tp, const struct pmc_record *r)
{
	static const char *const names[2][2] = { { "prev_pid", "prev_comm" },
						 { "next_pid", "next_comm" } };
	int64_t pid[2];
	char comm[2][64];

	for (int i = 0; i < 2; i++)
		if (pmc_tracepoint_integer(pmc_tracepoint_find(tp, names[i][0]), r, &pid[i]) ||
		    pmc_tracepoint_string(pmc_tracepoint_find(tp, names[i][1]), r, comm[i], 64))
			return;
	printf("TID: %d, PID: %d\nTIME: %llu\nPrevPID: %d PrevComm: %s NextComm: %s NextPID:%d\n\n",
	       (int)pid[0], (int)r->pid, (unsigned long long)r->time, (int)pid[0], comm[0], comm[1],
	       (int)pid[1]);
}

int main(int argc, char **argv)
{
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_tracepoint *tracepoint;
	struct pmc_sampler_totals totals;
	struct pmc_counter_event event;
	struct pmc_sampler_set *set;
	struct pmc_record record;
	struct pmc_failure why;
	uint64_t lost = 0;
	time_t end = argc > 1 ? atoi(argv[1]) : 1;
	int error = 0;

	options.sample_period = 1;
	options.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_RAW;
	options.enabled = true;
	if (pmc_tracepoint_load(&tracepoint, "sched", "sched_switch", &why) ||
	    pmc_tracepoint_event(tracepoint, &event) ||
	    pmc_sampler_set_open(&set, &event, &options, argc > 2 ? atoi(argv[2]) : 128, &why))
		return fprintf(stderr, "%s: %s\n", why.what, why.advice), 1;
	for (end += time(NULL); !error || (error == -EAGAIN && time(NULL) < end);) {
		error = pmc_sampler_set_next_wait(set, &record, NULL, 100);
		if (!error && record.type == PERF_RECORD_SAMPLE)
			print(tracepoint, &record);
		if (time(NULL) >= end)
			pmc_sampler_set_disable(set);
	}
	pmc_sampler_set_lost(set, &lost);
	pmc_sampler_set_read_totals(set, &totals);
	fprintf(stderr, "%llu switches, %llu lost, %llu late\n", (unsigned long long)totals.samples,
		(unsigned long long)lost, (unsigned long long)totals.late);
	pmc_sampler_set_free(set);
	pmc_tracepoint_free(tracepoint);
	return error != -EAGAIN || fflush(stdout) || ferror(stdout);
}
