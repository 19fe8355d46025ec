/* SPDX-License-Identifier: MIT */
/* coverage.c - the coverage summary: what is known beside the rows, of all processes. */
#include "lib/base/sort.h"
#include "tools/view/view.h"
#include "lib/base/number.h"

#include <errno.h>
#include <signal.h>

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

/* Those that are in no row, or in one that does not know them. */
static void usage_add(const struct pmc_p_process *process, struct pmc_coverage *coverage)
{
	struct pmc_fold_row *row = &coverage->unattributed;
	struct pmc_thread_fixed rest;

	if (!pmc_process_usage_rest(process, &rest)) {
		coverage->usage_unknown = true;
		return;
	}
	row->usage_rows++;
	pmc_add_sat(&row->minor_faults, rest.minor_faults);
	pmc_add_sat(&row->major_faults, rest.major_faults);
	pmc_add_sat(&row->voluntary_switches, rest.voluntary_switches);
	pmc_add_sat(&row->involuntary_switches, rest.involuntary_switches);
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
	pmc_add_sat(&coverage->ended_elsewhere, process->ended_elsewhere);
	pmc_add_sat(&coverage->attributed_cpu_ns, process->attributed_cpu_ns);
	for (unsigned i = 0; i < process->n_uncounted; i++) {
		pmc_add_sat(&coverage->threads_uncounted, process->uncounted[i].count);
		coverage->lacks_rows |= process->uncounted[i].reason == PMC_REASON_ROW_LOST;
	}
	/* Threads that ran at the end may be in no row. */
	coverage->lacks_rows |= fixed->how_ended == PMC_ENDED_SIGNAL && fixed->how_code == SIGKILL;
	if (pmc_process_end_unseen(process, &newest_ns)) {
		/* Its own frame is older than its rows. */
		coverage->unseen_ends++;
		coverage->usage_unknown = true;
		coverage->running += process->known && !has_killed(view, process);
		pmc_add_sat(&coverage->threads_seen, fixed->threads_seen > process->n_threads ?
							     fixed->threads_seen :
							     process->n_threads);
		pmc_add_sat(&coverage->cpu_ns, process->attributed_cpu_ns);
		return;
	}
	pmc_add_sat(&coverage->threads_seen, fixed->threads_seen);
	pmc_add_sat(&coverage->cpu_ns, fixed->cpu_ns);
	pmc_add_sat(&coverage->overhead_ns, fixed->overhead_ns);
	rest = fixed->cpu_ns > process->attributed_cpu_ns ?
		       fixed->cpu_ns - process->attributed_cpu_ns :
		       0;
	coverage->has_unattributed = true;
	remainder_add(view, &process->unattributed, !pmc_process_never_on(fixed), rest,
		      &coverage->unattributed);
	usage_add(process, coverage);
	if (process->descendants.set || process->descendants.has_cpu) {
		coverage->has_descendants = true;
		if (process->descendants.has_cpu)
			coverage->cpu_ns += process->descendants.cpu_ns;
		remainder_add(view, &process->descendants, process->descendants.has_cpu,
			      process->descendants.cpu_ns, &coverage->descendants);
	}
}

struct span {
	uint64_t from, to;
};

static int by_from(const void *a, const void *b, const void *arg)
{
	const struct span *x = a, *y = b;

	(void)arg;
	return (x->from > y->from) - (x->from < y->from);
}

/* The time in which any of the spans was: without the gaps between runs. */
static uint64_t spanned(struct pmc_view *view, struct span *spans, uint64_t n)
{
	struct span *scratch = pmc_arena_alloc(view->arena, (n + 1) * sizeof(*scratch));
	uint64_t to = 0, sum = 0;

	if (!scratch)
		return 0;
	pmc_sort(spans, scratch, n, sizeof(*spans), by_from, NULL);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t from = spans[i].from > to ? spans[i].from : to;

		if (spans[i].to <= from)
			continue;
		sum += spans[i].to - from;
		to = spans[i].to;
	}
	return sum;
}

/* The time in which processes ran and counting was on, on the host where that is longest. Of a
 * process it is taken to be the last part of its life. */
static int wall_add(struct pmc_view *view, struct pmc_coverage *coverage)
{
	struct pmc_profile *profile = view->profile;
	struct span *spans =
		pmc_arena_alloc(view->arena, (profile->n_processes + 1) * sizeof(*spans));
	const char *host = NULL;
	uint64_t n = 0, wall_ns;

	if (!spans)
		return -ENOMEM;
	for (uint64_t i = 0; i <= profile->n_processes; i++) {
		const struct pmc_p_process *process =
			i < profile->n_processes ? profile->processes[i] : NULL;
		uint64_t end;

		if (process && !process->known)
			continue;
		if (n && (!process || strcmp(host, process->host) != 0)) {
			wall_ns = spanned(view, spans, n);
			coverage->wall_ns =
				wall_ns > coverage->wall_ns ? wall_ns : coverage->wall_ns;
			coverage->hosts++;
			n = 0;
		}
		if (!process)
			break;
		host = process->host;
		pmc_process_end_unseen(process, &end);
		coverage->off_ns = process->fixed.off_ns > coverage->off_ns ?
					   process->fixed.off_ns :
					   coverage->off_ns;
		spans[n++] = (struct span){ process->fixed.start_ns + process->fixed.off_ns, end };
	}
	return view->arena->failed ? -ENOMEM : 0;
}

/* The newest image of a process ID. */
struct last_image {
	uint64_t pid;
	const struct pmc_p_process *image;
	UT_hash_handle hh;
};

static bool has_ended(const struct pmc_p_process *process)
{
	return process->fixed.how_ended == PMC_ENDED_EXIT ||
	       process->fixed.how_ended == PMC_ENDED_SIGNAL;
}

static struct last_image *find_parent(struct last_image *table, const struct pmc_p_process *process)
{
	const uint64_t ppid = process->fixed.ppid;
	struct last_image *parent;

	HASH_FIND(hh, table, &ppid, sizeof(ppid), parent);
	return parent && has_ended(parent->image) ? parent : NULL;
}

static int note_image(struct pmc_view *view, struct last_image **table,
		      const struct pmc_p_process *image)
{
	const uint64_t pid = image->fixed.pid;
	struct pmc_arena *arena = view->arena;
	struct last_image *last;

	HASH_FIND(hh, *table, &pid, sizeof(pid), last);
	if (!last) {
		last = pmc_arena_alloc(arena, sizeof(*last));
		if (!last)
			return -ENOMEM;
		last->pid = pid;
		HASH_ADD(hh, *table, pid, sizeof(pid), last);
	}
	last->image = image;
	return arena->failed ? -ENOMEM : 0;
}

static bool is_left(const struct pmc_p_process *process)
{
	return process->fixed.flags & PMC_PROCESS_LEFT;
}

/* Whether the process ended after its parent, whose ID then is that of another process, and after
 * the first process with the flag. */
static bool ended_late(const struct pmc_p_process *process, const struct last_image *parent,
		       uint64_t first_ns)
{
	const uint64_t end_ns = process->fixed.end_ns;

	return !(process->fixed.flags & PMC_PROCESS_FIRST) && end_ns > first_ns &&
	       (!parent || parent->image->fixed.end_ns < end_ns);
}

/* Processes that ended before their children, less the children that ended since. */
static int count_left(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	struct last_image *table = NULL;
	uint64_t late = 0, first_ns = UINT64_MAX;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		coverage->left += is_left(process);
		if (is_left(process) && process->fixed.end_ns < first_ns)
			first_ns = process->fixed.end_ns;
	}
	if (!coverage->left)
		return 0;
	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (note_image(view, &table, profile->processes[i]) != 0)
			return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		late += has_ended(process) &&
			ended_late(process, find_parent(table, process), first_ns);
	}
	coverage->left = pmc_sub_sat(coverage->left, late);
	coverage->lacks_rows |= coverage->left != 0;
	pmc_add_sat(&coverage->threads_uncounted, coverage->left);
	return 0;
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

		if (!process->known)
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

/* A process, once for all of its images. */
struct counted {
	const struct pmc_p_process *origin;
	bool off, selected;
	UT_hash_handle hh; /* by origin */
};

static struct counted *counted_of(struct pmc_view *view, struct counted **table,
				  const struct pmc_p_process *process)
{
	struct pmc_arena *arena = view->arena;
	struct counted *counted;

	HASH_FIND_PTR(*table, &process->origin, counted);
	if (counted)
		return counted;
	counted = pmc_arena_alloc(arena, sizeof(*counted));
	if (!counted)
		return NULL;
	counted->origin = process->origin;
	HASH_ADD_PTR(*table, origin, counted);
	return counted;
}

static int count_processes(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	struct counted *table = NULL, *counted;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		counted = counted_of(view, &table, process);
		if (!counted)
			return -ENOMEM;
		counted->off |= process->fixed.off_ns != 0;
	}
	for (uint64_t i = 0; i < view->n_rows && !view->arena->failed; i++)
		if (!i || view->rows[i - 1]->process != view->rows[i]->process)
			counted_of(view, &table, view->rows[i]->process)->selected = true;
	for (counted = table; counted; counted = counted->hh.next) {
		coverage->processes++;
		coverage->off_processes += counted->off;
		coverage->selected_processes += counted->selected;
	}
	return view->arena->failed ? -ENOMEM : 0;
}

/* A row of a process in which counting was off for a time. The thread may have ended in the time
 * that wall_add() leaves out, with values from then: before a reset, which keeps rows of ended
 * threads. */
static void count_phased(const struct pmc_view *view, const struct pmc_p_row *row,
			 struct pmc_coverage *coverage)
{
	const struct pmc_process_fixed *process = &row->process->fixed;
	struct pmc_thread_buf buf;
	const struct pmc_thread_fixed *fixed;

	fixed = &pmc_profile_thread(view->profile, row, &buf)->fixed;
	coverage->has_cpu |= !(fixed->flags & PMC_THREAD_NO_CPU);
	coverage->has_earlier |= fixed->end_ns && fixed->cpu_ns &&
				 fixed->end_ns <= process->start_ns + process->off_ns;
}

/* Rows of a process, and of a thread, are adjacent. */
static void count_rows(const struct pmc_view *view, struct pmc_coverage *coverage)
{
	for (uint64_t i = 0; i < view->n_rows; i++) {
		const struct pmc_p_row *last = i ? view->rows[i - 1] : NULL, *row = view->rows[i];

		if (row->process->fixed.off_ns)
			count_phased(view, row, coverage);
		else
			coverage->has_cpu = true;
		coverage->selected += !last || !pmc_same_thread(last, row);
		coverage->selected_hosts +=
			!last || strcmp(last->process->host, row->process->host) != 0;
	}
}

int pmc_view_coverage(struct pmc_view *view, struct pmc_coverage *coverage)
{
	struct pmc_profile *profile = view->profile;
	int err;

	memset(coverage, 0, sizeof(*coverage));
	pmc_fold_init(&coverage->unattributed, &view->events);
	pmc_fold_init(&coverage->descendants, &view->events);
	for (uint64_t i = 0; i < profile->n_processes; i++)
		process_add(view, profile->processes[i], coverage);
	for (uint64_t i = 0; i < profile->n_samples && !coverage->is_sampled; i++)
		coverage->is_sampled =
			profile->samples[i]->event && !pmc_is_off_cpu(profile->samples[i]->event);
	count_rows(view, coverage);
	err = wall_add(view, coverage);
	if (!err)
		err = count_left(view, coverage);
	if (!err)
		err = count_runs(view, coverage);
	return err ? err : count_processes(view, coverage);
}
