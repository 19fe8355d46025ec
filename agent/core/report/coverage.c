/* SPDX-License-Identifier: MIT */
/* coverage.c - the coverage summary: what is known beside the rows, of all processes in scope. */
#include "agent/core/report/view.h"

#include <errno.h>

/* Adds what the rows of a process do not explain, as a thread that did it. */
static void remainder_add(struct pmc_view *view, const struct pmc_p_remainder *remainder,
			  bool has_cpu, uint64_t cpu_ns, struct pmc_fold_row *row)
{
	const struct pmc_p_thread rest = {
		.set = remainder->set,
		.counts = remainder->counts,
		.fixed = { .flags = PMC_THREAD_NO_RUSAGE | (has_cpu ? 0 : PMC_THREAD_NO_CPU),
			   .cpu_ns = cpu_ns },
	};

	pmc_fold_add(row, &view->events, &rest, false);
	row->threads = 0;
	/* Without a total only the CPU time is known. */
	row->rows -= !remainder->set || !remainder->counts;
}

bool pmc_view_end_unseen(const struct pmc_p_process *process, uint64_t *newest_ns)
{
	*newest_ns = process->fixed.end_ns ? process->fixed.end_ns : process->fixed.time_ns;
	if (process->known && process->fixed.how_ended != PMC_RUNNING)
		return false;
	for (uint64_t i = 0; i < process->n_threads; i++)
		if (process->threads[i]->time_ns > *newest_ns)
			*newest_ns = process->threads[i]->time_ns;
	return *newest_ns > process->fixed.time_ns;
}

static bool has_killed(const struct pmc_view *view, const struct pmc_p_process *process)
{
	struct pmc_thread_buf buf;

	for (uint64_t i = 0; i < process->n_threads; i++)
		if (pmc_profile_thread(view->profile, process->threads[i], &buf)->fixed.state ==
		    PMC_THREAD_KILLED)
			return true;
	return false;
}

static void process_add(struct pmc_view *view, const struct pmc_p_process *process,
			struct pmc_coverage *coverage)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t rest, newest_ns;

	coverage->threads_counted += process->threads_counted;
	coverage->attributed_cpu_ns += process->attributed_cpu_ns;
	for (unsigned i = 0; i < process->n_uncounted; i++)
		coverage->threads_uncounted += process->uncounted[i].count;
	if (pmc_view_end_unseen(process, &newest_ns)) {
		/* Its own frame is older than its rows. */
		coverage->unseen_ends++;
		coverage->running += process->known && !has_killed(view, process);
		coverage->threads_seen += fixed->threads_seen > process->n_threads ?
						  fixed->threads_seen :
						  process->n_threads;
		coverage->cpu_ns += process->attributed_cpu_ns;
		return;
	}
	coverage->threads_seen += fixed->threads_seen;
	coverage->cpu_ns += fixed->cpu_ns;
	coverage->overhead_ns += fixed->overhead_ns;
	rest = fixed->cpu_ns > process->attributed_cpu_ns ?
		       fixed->cpu_ns - process->attributed_cpu_ns :
		       0;
	coverage->has_unattributed = true;
	remainder_add(view, &process->unattributed, true, rest, &coverage->unattributed);
	if (process->descendants.set) {
		coverage->has_descendants = true;
		remainder_add(view, &process->descendants, process->descendants.has_cpu,
			      process->descendants.cpu_ns, &coverage->descendants);
	}
}

/* From the first start to the last end, on the host where that is longest. */
static void wall_add(struct pmc_view *view, struct pmc_coverage *coverage)
{
	struct pmc_profile *profile = view->profile;
	const char *host = NULL;
	uint64_t from = 0, to = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		uint64_t end;

		pmc_view_end_unseen(process, &end);
		if (!process->known || !pmc_view_in_scope(view, process))
			continue;
		if (!host || strcmp(host, process->host)) {
			host = process->host;
			coverage->hosts++;
			from = process->fixed.start_ns;
			to = end;
		}
		from = process->fixed.start_ns < from ? process->fixed.start_ns : from;
		to = end > to ? end : to;
		if (to > from && to - from > coverage->wall_ns)
			coverage->wall_ns = to - from;
	}
}

struct run {
	uint8_t job[16];
	UT_hash_handle hh;
};

/* How many jobs the rows are of. */
static int count_runs(struct pmc_view *view, struct pmc_coverage *coverage)
{
	struct pmc_profile *profile = view->profile;
	struct pmc_arena *arena = view->arena;
	struct run *table = NULL, *run = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || !pmc_view_in_scope(view, process))
			continue;
		if (run && !memcmp(run->job, process->fixed.job, sizeof(run->job)))
			continue;
		HASH_FIND(hh, table, process->fixed.job, sizeof(run->job), run);
		if (run)
			continue;
		run = pmc_arena_alloc(arena, sizeof(*run));
		if (!run)
			return -ENOMEM;
		memcpy(run->job, process->fixed.job, sizeof(run->job));
		HASH_ADD(hh, table, job, sizeof(run->job), run);
		coverage->runs++;
	}
	return arena->failed ? -ENOMEM : 0;
}

/* Rows of a process, and of a thread, are adjacent. */
static void count_rows(const struct pmc_view *view, struct pmc_coverage *coverage)
{
	for (uint64_t i = 0; i < view->n_rows; i++) {
		const struct pmc_p_row *last = i ? view->rows[i - 1] : NULL, *row = view->rows[i];

		coverage->selected += !last || !pmc_same_thread(last, row);
		coverage->selected_processes += !last || last->process != row->process;
	}
}

int pmc_view_coverage(struct pmc_view *view, struct pmc_coverage *coverage)
{
	struct pmc_profile *profile = view->profile;

	memset(coverage, 0, sizeof(*coverage));
	if (pmc_fold_init(&coverage->unattributed, &view->events) ||
	    pmc_fold_init(&coverage->descendants, &view->events))
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (pmc_view_in_scope(view, process)) {
			coverage->processes++;
			process_add(view, process, coverage);
		} else {
			coverage->others++;
			coverage->others_cpu_ns +=
				process->known ? process->fixed.cpu_ns : process->attributed_cpu_ns;
		}
	}
	wall_add(view, coverage);
	count_rows(view, coverage);
	return count_runs(view, coverage);
}
