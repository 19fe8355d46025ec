/* SPDX-License-Identifier: MIT */
/* coverage.c - the coverage summary: what is known beside the rows, of all processes. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/view/view.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

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

bool pmc_process_is_gone(const struct pmc_p_process *process)
{
	char text[64];
	struct stat st;

	if (!process->known || process->fixed.how_ended != PMC_RUNNING ||
	    pmc_file_read(text, sizeof(text), "/proc/sys/kernel/random/boot_id") <= 0 ||
	    strcmp(text, process->boot_id) != 0 || stat("/proc/self/ns/pid", &st) != 0 ||
	    st.st_ino != process->fixed.pid_namespace)
		return false;
	return kill((pid_t)process->fixed.pid, 0) != 0 && errno == ESRCH;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool has_ended(const struct pmc_p_process *process)
{
	return process->fixed.how_ended == PMC_ENDED_EXIT ||
	       process->fixed.how_ended == PMC_ENDED_SIGNAL;
}

/* By pmctl profile. An agent on macOS may not know the status either, but always the memory. */
static bool is_recorded(const struct pmc_p_process *process)
{
	return process->known && process->fixed.flags & PMC_PROCESS_NO_STATUS &&
	       !process->fixed.max_rss_bytes;
}

/* It may still run, or was killed together with pmctl run. Processes of pmctl profile always end
 * with the recording. */
static bool is_open(const struct pmc_p_process *process)
{
	return process->known && process->n_threads && process->fixed.how_ended == PMC_RUNNING &&
	       !is_recorded(process);
}

/* The program that it became by exec is in no frame: pmctl run adds it to its own first process. */
static bool lacks_last_image(const struct pmc_p_process *process)
{
	return process->known && process->fixed.how_ended == PMC_ENDED_EXEC &&
	       process->origin->last_image == process;
}

static void process_add(struct pmc_view *view, const struct pmc_p_process *process,
			struct pmc_coverage *coverage)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t rest, newest_ns;
	struct pmc_usage usage;
	bool known;

	coverage->recorded |= is_recorded(process);
	coverage->threads_counted += process->threads_counted;
	pmc_add_sat(&coverage->ended_elsewhere, process->ended_elsewhere);
	pmc_add_sat(&coverage->attributed_cpu_ns, process->attributed_cpu_ns);
	for (unsigned i = 0; i < process->n_uncounted; i++) {
		pmc_add_sat(&coverage->threads_uncounted, process->uncounted[i].count);
		coverage->lacks_rows |= process->uncounted[i].reason == PMC_REASON_ROW_LOST;
	}
	/* Threads that ran at the end may be in no row. */
	coverage->lacks_rows |= fixed->how_ended == PMC_ENDED_SIGNAL && fixed->how_code == SIGKILL;
	coverage->lacks_rows |= !process->n_threads && fixed->cpu_ns;
	coverage->lacks_rows |= pmc_process_lost_agent(process);
	if (lacks_last_image(process)) {
		coverage->lacks_rows = true;
		if (fixed->flags & PMC_PROCESS_FIRST) {
			coverage->unseen_ends++;
			coverage->unseen = process;
		}
	}
	if (pmc_process_end_unseen(process, &newest_ns)) {
		/* Its own frame is older than its rows. */
		coverage->unseen_ends++;
		coverage->unseen = process;
		coverage->usage_unknown = coverage->lacks_rows = true;
		pmc_add_sat(&coverage->threads_seen,
			    larger(fixed->threads_seen, process->n_threads));
		pmc_add_sat(&coverage->cpu_ns, process->attributed_cpu_ns);
		return;
	}
	pmc_add_sat(&coverage->threads_seen, fixed->threads_seen);
	pmc_add_sat(&coverage->cpu_ns, fixed->cpu_ns);
	pmc_add_sat(&coverage->overhead_ns, fixed->overhead_ns);
	pmc_add_sat(&coverage->exits_ns, fixed->exit_us * (uint64_t)1000);
	rest = pmc_sub_sat(fixed->cpu_ns, process->attributed_cpu_ns);
	if (!process->n_threads)
		pmc_add_sat(&coverage->rowless_ns, rest);
	else if (has_ended(process) && fixed->flags & PMC_PROCESS_NO_SWITCHES)
		pmc_add_sat(&coverage->cut_ns, rest);
	if (is_open(process)) {
		coverage->open_ends++;
		coverage->open = process;
	}
	coverage->has_unattributed = true;
	remainder_add(view, &process->unattributed, !pmc_process_never_on(fixed), rest,
		      &coverage->unattributed);
	known = pmc_process_usage_rest(process, &usage);
	coverage->usage_unknown |= !known;
	coverage->unattributed.usage_rows += known;
	coverage->unattributed.switch_rows += known;
	if (known)
		pmc_usage_add(&coverage->unattributed.usage, &usage);
	if (process->descendants.set || process->descendants.has_cpu) {
		coverage->has_descendants = true;
		if (process->descendants.has_cpu)
			coverage->cpu_ns += process->descendants.cpu_ns;
		remainder_add(view, &process->descendants, process->descendants.has_cpu,
			      process->descendants.cpu_ns, &coverage->descendants);
	}
}

/* On the host where it is longest. */
static void wall_add(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	const char *machine = "";
	struct pmc_wall wall = { 0 };

	/* By machine and start. */
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known)
			continue;
		if (!coverage->hosts || strcmp(machine, process->node) != 0) {
			machine = process->node;
			coverage->hosts++;
			wall = (struct pmc_wall){ 0 };
		}
		coverage->off_ns = larger(coverage->off_ns, process->fixed.off_ns);
		coverage->wall_ns = larger(coverage->wall_ns, pmc_wall_add(&wall, process));
	}
}

/* Whether the process ended after its parent, and after the first process with the flag. */
static bool ended_late(const struct pmc_p_process *process, uint64_t first_ns)
{
	const struct pmc_p_process *parent = process->parent ? process->parent->last_image : NULL;
	const uint64_t end_ns = process->fixed.end_ns;

	return has_ended(process) && !(process->fixed.flags & PMC_PROCESS_FIRST) &&
	       end_ns > first_ns &&
	       (!parent || !has_ended(parent) || parent->fixed.end_ns < end_ns);
}

/* Processes that ended before their children, less the children that ended since. */
static void count_left(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	uint64_t late = 0, first_ns = UINT64_MAX;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!(process->fixed.flags & PMC_PROCESS_LEFT))
			continue;
		coverage->left++;
		first_ns = process->fixed.end_ns < first_ns ? process->fixed.end_ns : first_ns;
	}
	for (uint64_t i = 0; i < profile->n_processes; i++)
		late += ended_late(profile->processes[i], first_ns);
	coverage->left = pmc_sub_sat(coverage->left, late);
	coverage->lacks_rows |= coverage->left != 0;
	pmc_add_sat(&coverage->threads_uncounted, coverage->left);
}

/* Processes, each once for all of its images. */
static void count_processes(struct pmc_view *view, struct pmc_coverage *coverage)
{
	const struct pmc_profile *profile = view->profile;
	bool *selected = pmc_arena_alloc(view->arena, profile->n_processes + 1); /* by index */

	for (uint64_t i = 0; i < profile->n_processes; i++)
		coverage->processes += profile->processes[i]->origin == profile->processes[i];
	for (uint64_t i = 0; i < view->n_rows; i++) {
		const uint64_t index = view->rows[i]->process->origin->index;

		coverage->selected_processes += !selected[index];
		selected[index] = true;
	}
}

/* Where counting was off for a time. A reset keeps the rows of threads that ended before it, in
 * time that wall_add() leaves out. */
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
			!last || strcmp(last->process->node, row->process->node) != 0;
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
	coverage->runs = profile->n_jobs;
	pmc_fold_init(&coverage->unattributed, &view->events, false);
	pmc_fold_init(&coverage->descendants, &view->events, false);
	for (uint64_t i = 0; i < profile->n_processes; i++)
		process_add(view, profile->processes[i], coverage);
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_event *event = profile->samples[i]->event;

		coverage->has_waits |= event && pmc_is_off_cpu(event);
	}
	coverage->lacks_rows |= !coverage->recorded &&
				(needs_threads(view, coverage, coverage->unattributed.cpu.sum) ||
				 needs_threads(view, coverage, coverage->descendants.cpu.sum));
	count_rows(view, coverage);
	wall_add(view, coverage);
	count_left(view, coverage);
	count_processes(view, coverage);
}
