/* SPDX-License-Identifier: MIT */
/* coverage.c - the coverage summary: what is known beside the rows, of all processes. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/proc.h"
#include "lib/base/sort.h"
#include "tools/view/view.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
	struct pmc_usage rest;

	if (!pmc_process_usage_rest(process, &rest)) {
		coverage->usage_unknown = true;
		return;
	}
	row->usage_rows++;
	pmc_usage_add(&row->usage, &rest);
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

bool pmc_process_is_gone(const struct pmc_p_process *process)
{
	const pid_t pid = (pid_t)process->fixed.pid;
	struct pmc_proc_stat now;
	char text[512];
	struct stat st;

	if (!process->known || process->fixed.how_ended != PMC_RUNNING ||
	    pmc_file_read(text, sizeof(text), "/proc/sys/kernel/random/boot_id") <= 0 ||
	    strcmp(text, process->boot_id) != 0 || stat("/proc/self/ns/pid", &st) != 0 ||
	    st.st_ino != process->fixed.pid_namespace)
		return false;
	if (kill(pid, 0) != 0)
		return errno == ESRCH;
	/* Another one may have its ID, which is younger than the frame. */
	if (pmc_file_read(text, sizeof(text), "/proc/%d/stat", (int)pid) <= 0 ||
	    !pmc_proc_stat(text, &now) || pmc_file_read(text, sizeof(text), "/proc/uptime") <= 0)
		return false;
	/* Both are rounded down. */
	return (100 * strtod(text, NULL) + 2 - (double)now.start_ticks) * PMC_TICK_NS <
	       (double)(pmc_now_ns() - process->fixed.time_ns);
}

/* Whether the kernel switches events when it switches threads. */
static bool has_perf_events(const struct pmc_union *events)
{
	for (unsigned i = 0; i < events->set.count; i++) {
		const struct pmc_event_def *def = &events->set.events[i].def;

		if (def->state == PMC_COUNTED &&
		    !(def->flags & (PMC_EVENT_ACCOUNTED | PMC_EVENT_UNCORE)))
			return true;
	}
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
	coverage->lacks_rows |=
		pmc_process_is_gone(process) || (!process->n_threads && fixed->cpu_ns);
	if (pmc_process_end_unseen(process, &newest_ns)) {
		/* Its own frame is older than its rows. */
		coverage->unseen_ends++;
		coverage->usage_unknown = true;
		coverage->running += process->known && !has_killed(view, process) &&
				     !pmc_process_is_gone(process);
		pmc_add_sat(&coverage->threads_seen, fixed->threads_seen > process->n_threads ?
							     fixed->threads_seen :
							     process->n_threads);
		pmc_add_sat(&coverage->cpu_ns, process->attributed_cpu_ns);
		return;
	}
	pmc_add_sat(&coverage->threads_seen, fixed->threads_seen);
	pmc_add_sat(&coverage->cpu_ns, fixed->cpu_ns);
	pmc_add_sat(&coverage->overhead_ns, fixed->overhead_ns);
	pmc_add_sat(&coverage->exits_ns, fixed->exit_us * (uint64_t)1000);
	coverage->forked |= fixed->flags & PMC_PROCESS_FORKED;
	if (has_perf_events(&view->events) && !(fixed->flags & PMC_PROCESS_NO_SWITCHES))
		pmc_add_sat(&coverage->perf_switches,
			    fixed->voluntary_switches + fixed->involuntary_switches);
	rest = fixed->cpu_ns > process->attributed_cpu_ns ?
		       fixed->cpu_ns - process->attributed_cpu_ns :
		       0;
	if (!process->n_threads)
		pmc_add_sat(&coverage->rowless_ns, rest);
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

/* The time in which any of the n spans was: without the gaps between runs. */
static uint64_t spanned(struct span *spans, struct span *scratch, uint64_t n)
{
	uint64_t to = 0, sum = 0;

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
static void wall_add(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	const uint64_t all = profile->n_processes;
	struct span *spans = pmc_arena_alloc(view->arena, 2 * (all + 1) * sizeof(*spans));
	const char *host = NULL;
	uint64_t n = 0;

	for (uint64_t i = 0; i <= all; i++) {
		const struct pmc_p_process *process = i < all ? profile->processes[i] : NULL;
		uint64_t end;

		if (process && !process->known)
			continue;
		if (n && (!process || strcmp(host, process->host) != 0)) {
			const uint64_t wall_ns = spanned(spans, spans + all + 1, n);

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
}

/* A job, a process with all its images, or a process ID. */
struct subject {
	uint8_t key[16];
	const struct pmc_p_process *image; /* the newest */
	bool off, selected;
	UT_hash_handle hh;
};

static struct subject *subject_of(struct pmc_view *view, struct subject **table, const void *key,
				  size_t len)
{
	struct pmc_arena *arena = view->arena;
	uint8_t whole[16] = { 0 };
	struct subject *subject;

	memcpy(whole, key, len);
	HASH_FIND(hh, *table, whole, sizeof(whole), subject);
	if (subject)
		return subject;
	subject = pmc_arena_alloc(arena, sizeof(*subject));
	memcpy(subject->key, whole, sizeof(whole));
	HASH_ADD(hh, *table, key, sizeof(whole), subject);
	return subject;
}

static bool has_ended(const struct pmc_p_process *process)
{
	return process->fixed.how_ended == PMC_ENDED_EXIT ||
	       process->fixed.how_ended == PMC_ENDED_SIGNAL;
}

static bool is_left(const struct pmc_p_process *process)
{
	return process->fixed.flags & PMC_PROCESS_LEFT;
}

/* Whether the process ended after its parent (NULL: unknown), whose ID then is that of another
 * process, and after the first process with the flag. */
static bool ended_late(const struct pmc_p_process *process, const struct pmc_p_process *parent,
		       uint64_t first_ns)
{
	const uint64_t end_ns = process->fixed.end_ns;

	return has_ended(process) && !(process->fixed.flags & PMC_PROCESS_FIRST) &&
	       end_ns > first_ns &&
	       (!parent || !has_ended(parent) || parent->fixed.end_ns < end_ns);
}

/* Processes that ended before their children, less the children that ended since. */
static void count_left(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	struct subject *pids = NULL;
	uint64_t late = 0, first_ns = UINT64_MAX;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const uint64_t pid = process->fixed.pid;

		coverage->left += is_left(process);
		if (is_left(process) && process->fixed.end_ns < first_ns)
			first_ns = process->fixed.end_ns;
		subject_of(view, &pids, &pid, sizeof(pid))->image = process;
	}
	for (uint64_t i = 0; i < profile->n_processes && coverage->left; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const uint64_t ppid = process->fixed.ppid;

		late += ended_late(process, subject_of(view, &pids, &ppid, sizeof(ppid))->image,
				   first_ns);
	}
	coverage->left = pmc_sub_sat(coverage->left, late);
	coverage->lacks_rows |= coverage->left != 0;
	pmc_add_sat(&coverage->threads_uncounted, coverage->left);
}

static struct subject *process_of(struct pmc_view *view, struct subject **table,
				  const struct pmc_p_process *process)
{
	return subject_of(view, table, &process->origin, sizeof(process->origin));
}

/* Runs, and processes, each once for all of its images. */
static void count_processes(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	struct subject *runs = NULL, *processes = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (process->known)
			subject_of(view, &runs, process->fixed.job, sizeof(process->fixed.job));
		process_of(view, &processes, process)->off |= process->fixed.off_ns != 0;
	}
	for (uint64_t i = 0; i < view->n_rows; i++)
		if (!i || view->rows[i - 1]->process != view->rows[i]->process)
			process_of(view, &processes, view->rows[i]->process)->selected = true;
	coverage->runs = HASH_COUNT(runs);
	coverage->processes = HASH_COUNT(processes);
	for (struct subject *process = processes; process; process = process->hh.next) {
		coverage->off_processes += process->off;
		coverage->selected_processes += process->selected;
	}
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

/* Whether it is more than the start and end of processes and threads take, which are in no row. */
static bool needs_threads(const struct pmc_view *view, const struct pmc_coverage *coverage,
			  uint64_t cpu_ns)
{
	const uint64_t rest_ns = pmc_sub_sat(cpu_ns, pmc_coverage_ends_ns(coverage));

	return rest_ns > coverage->cpu_ns / 20 && rest_ns / 10000000 > view->profile->n_processes;
}

void pmc_view_coverage(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;

	memset(coverage, 0, sizeof(*coverage));
	pmc_fold_init(&coverage->unattributed, &view->events, false);
	pmc_fold_init(&coverage->descendants, &view->events, false);
	for (uint64_t i = 0; i < profile->n_processes; i++)
		process_add(view, profile->processes[i], coverage);
	for (uint64_t i = 0; i < profile->n_samples && !coverage->is_sampled; i++)
		coverage->is_sampled =
			profile->samples[i]->event && !pmc_is_off_cpu(profile->samples[i]->event);
	coverage->lacks_rows |= needs_threads(view, coverage, coverage->unattributed.cpu.sum) ||
				needs_threads(view, coverage, coverage->descendants.cpu.sum);
	count_rows(view, coverage);
	wall_add(view, coverage);
	count_left(view, coverage);
	count_processes(view, coverage);
}
