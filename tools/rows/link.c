/* SPDX-License-Identifier: MIT */
/* link.c - finishing a profile: rows listed, coverage computed, notes linked. */
#include "tools/rows/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than agents write; further reasons are counted as the last one. */
#define REASONS_MAX 32

static int start_order(const struct pmc_p_process *a, const struct pmc_p_process *b)
{
	int order = profile_order_u64(a->fixed.start_ns, b->fixed.start_ns);

	if (!order)
		order = profile_order_u64(a->fixed.pid, b->fixed.pid);
	return order ? order : memcmp(a->identity, b->identity, 16);
}

static int process_order(const struct pmc_p_process *a, const struct pmc_p_process *b)
{
	const int order = strcmp(a->node, b->node);

	return order ? order : start_order(a, b);
}

static int frame_order(const struct table_frame *a, const struct table_frame *b)
{
	size_t len = a->text_len < b->text_len ? a->text_len : b->text_len;
	int order = profile_order_u64(a->process->index, b->process->index);

	if (!order)
		order = profile_order_u64(a->key->type, b->key->type);
	if (!order)
		order = profile_order_u64(a->key->number, b->key->number);
	if (!order)
		order = memcmp(a->key->text, b->key->text, len);
	return order ? order : profile_order_u64(a->text_len, b->text_len);
}

static void read_process(struct pmc_profile *profile, const struct table_frame *kept)
{
	struct pmc_p_process *process = kept->process;
	struct pmc_arena *arena = &profile->arena;
	struct pmc_cursor cursor =
		profile_parts(&kept->frame, &process->fixed, sizeof(process->fixed));

	process->known = true;
	process->snapshot = kept->frame.head.snapshot;
	process->host = profile_text(arena, &cursor);
	process->boot_id = profile_text(arena, &cursor);
	process->exe = profile_text(arena, &cursor);
	process->cmdline = profile_text(arena, &cursor);
	process->labels = profile_text(arena, &cursor);
}

/* In a UTS namespace a process may have another host name than its parent. Processes of a job with
 * the same boot ID are on one machine, which is named after the host of the first one. */
static void find_machines(struct pmc_profile *profile)
{
	struct pmc_p_process *p, **first;
	struct pmc_map map = { 0 };
	char key[16 + 40];

	for (unsigned pass = 0; pass < 2; pass++)
		for (p = profile->tables->processes; p; p = p->hh.next) {
			memset(key, 0, sizeof(key));
			memcpy(key, p->fixed.job, 16);
			snprintf(key + 16, sizeof(key) - 16, "%s", p->boot_id);
			first = pmc_map_at(&map, &profile->arena, key, sizeof(key), sizeof(*first));
			if (!*first || start_order(p, *first) < 0)
				*first = p;
			p->node = *p->boot_id ? (*first)->host : p->host;
		}
}

static void list_processes(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;
	const uint8_t *job = tables->options.only_job;
	struct pmc_p_process *process;
	uint64_t n = HASH_COUNT(tables->processes);

	profile->processes = pmc_arena_alloc(&profile->arena, (n + 1) * sizeof(void *));
	for (const struct table_frame *kept = tables->frames; kept; kept = kept->hh.next)
		if (kept->key->type == PMC_FRAME_PROCESS)
			read_process(profile, kept);
	find_machines(profile);
	HASH_SORT(tables->processes, process_order);
	for (process = tables->processes; process; process = process->hh.next)
		if (!job || (process->known && !memcmp(process->fixed.job, job, 16))) {
			profile->processes[profile->n_processes++] = process;
			process->index = profile->n_processes;
		}
}

/* ---- images: which are of one process, when their job started, whose totals have their work -- */

struct job {
	const struct pmc_p_process *start; /* its first one on the machine of the last one */
	struct pmc_p_process *root;	   /* the newest first process */
};

/* The newest image with a process ID; NULL: none. */
static struct pmc_p_process **newest_of(struct pmc_arena *arena, struct pmc_map *map, uint64_t pid,
					uint64_t pid_namespace)
{
	const uint64_t key[2] = { pid, pid_namespace };

	return pmc_map_at(map, arena, key, sizeof(key), sizeof(struct pmc_p_process *));
}

static bool is_same_job(const struct pmc_p_process *a, const struct pmc_p_process *b)
{
	return !strcmp(a->node, b->node) &&
	       !memcmp(a->fixed.job, b->fixed.job, sizeof(a->fixed.job));
}

/* The same process ID is another process on another machine, or after a boot. */
static bool is_successor(const struct pmc_p_process *image, const struct pmc_p_process *before)
{
	return before->fixed.how_ended == PMC_ENDED_EXEC &&
	       !(image->fixed.flags & PMC_PROCESS_FORKED) &&
	       image->fixed.start_ns > before->fixed.start_ns && is_same_job(image, before) &&
	       !strcmp(image->boot_id, before->boot_id);
}

/* CPU clocks and wait4(2), in µs, of one process differ by less. */
#define CLOCKS_NS 20000u

/* Whether its CPU time is not in the first process's wait4(2). True only if certain: CPU time
 * excluded by mistake would be counted twice. At the end of a process getppid() is the process that
 * reaps it: after its parent's end init or a subreaper, which started before the job; in a PID
 * namespace of its own the init of that, and of this one a process outside. */
static bool not_waited_for(const struct pmc_p_process *p, const struct pmc_p_process *root)
{
	const struct pmc_process_fixed *last = &p->last_image->fixed;
	const struct pmc_process_fixed *end = &root->origin->last_image->fixed;

	if (last->how_ended != PMC_RUNNING && last->end_ns > end->time_ns)
		return true;
	/* It used more than all that were waited for, as with SIGCHLD ignored. */
	if (end->how_ended != PMC_RUNNING && last->cpu_ns > end->children_cpu_ns + CLOCKS_NS)
		return true;
	if (last->ppid == root->fixed.pid && last->pid_namespace == root->fixed.pid_namespace)
		return false;
	if (p->parent)
		return p->parent->not_waited_for;
	if (last->pid_namespace != root->fixed.pid_namespace)
		return false;
	return last->ppid == 1 || last->ppid == root->fixed.ppid || last->ppid < root->fixed.pid;
}

static void link_root(struct job *job, struct pmc_p_process *p)
{
	struct pmc_p_process *before = job->root;
	const struct pmc_process_fixed *fixed = &p->fixed;

	if (before && strcmp(before->node, p->node) == 0)
		p->root = before;
	/* The CPU clock of children advances while counting is off. */
	if (p->root)
		p->root->phases |= fixed->off_ns != 0;
	if (!profile_is_first(p)) {
		if (p->root && p->origin == p)
			p->not_waited_for = not_waited_for(p, p->root);
		if (p->root && !p->origin->not_waited_for)
			p->root->seen_cpu_ns += fixed->cpu_ns;
		return;
	}
	p->children_cpu_ns = fixed->children_cpu_ns;
	/* Children of the image before an exec are included, too. */
	if (p->root && before->fixed.pid == fixed->pid) {
		p->seen_cpu_ns = before->seen_cpu_ns;
		p->phases = before->phases;
		before->children_cpu_ns = 0;
	}
	p->phases |= fixed->off_ns != 0;
	p->root = job->root = p;
}

/* Sets origin and last_image of each process of the list, which are on each machine in the order
 * of their start. Jobs of several machines with one name, or boots, may have the same process IDs
 * at the same times. */
static void link_images(struct pmc_profile *profile)
{
	struct pmc_map map = { 0 };

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *p = profile->processes[i], **newest;
		uint64_t key[4] = { p->fixed.pid, p->fixed.pid_namespace };

		memcpy(key + 2, p->fixed.job, sizeof(p->fixed.job));
		newest = pmc_map_at(&map, &profile->arena, key, sizeof(key), sizeof(p));
		p->origin = p;
		if (p->known && *newest && is_successor(p, *newest))
			p->origin = (*newest)->origin;
		if (p->known)
			*newest = p;
		p->origin->last_image = p;
	}
}

/* Sets parent, job_start_ns and root of each process of the list, and what roots sum. */
static void link_jobs(struct pmc_profile *profile)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_map map = { 0 }, jobs = { 0 };

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *p = profile->processes[i], *parent;
		const uint64_t pid_namespace = p->fixed.pid_namespace;
		struct job *job;

		if (!p->known)
			continue;
		job = pmc_map_at(&jobs, arena, p->fixed.job, sizeof(p->fixed.job), sizeof(*job));
		if (!job->start || strcmp(job->start->node, p->node) != 0)
			job->start = p;
		p->job_start_ns = job->start->fixed.start_ns;
		parent = *newest_of(arena, &map, p->origin->last_image->fixed.ppid, pid_namespace);
		/* The parent of a namespace's init is outside. */
		if (!p->origin->last_image->fixed.ppid)
			HASH_FIND(hh, profile->tables->processes, p->origin->fixed.parent_identity,
				  16, parent);
		if (parent && parent->index < p->index && is_same_job(parent, p))
			p->parent = parent->origin;
		*newest_of(arena, &map, p->fixed.pid, pid_namespace) = p;
		link_root(job, p);
	}
	profile->n_jobs = HASH_COUNT(jobs.entries);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int by_seq(const void *seq, const void *row)
{
	return profile_order_u64(*(const uint64_t *)seq, (*(struct pmc_p_row *const *)row)->seq);
}

struct pmc_p_row *profile_find_row(const struct pmc_p_process *process, uint64_t seq)
{
	struct pmc_p_row **found = NULL;

	if (process->n_threads)
		found = bsearch(&seq, process->threads, process->n_threads, sizeof(*found), by_seq);
	return found ? *found : NULL;
}

/* A process's rows into the lists of all. Rows are settled: the last of each seq is its row. */
static void list_rows_of(struct pmc_profile *profile, struct pmc_p_process *process)
{
	struct pmc_p_row *row, *next;

	process->threads = profile->threads + profile->n_threads;
	for (row = process->rows; row; row = next) {
		next = row->next;
		row->process = process; /* in the place of `next` */
		if (profile->timeline)
			profile->timeline[profile->n_timeline++] = row;
		if (!next || next->seq != row->seq)
			process->threads[process->n_threads++] = row;
	}
}

static void list_rows(struct pmc_profile *profile)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *process = profile->processes[i];

		profile_settle_rows(profile, process);
		all += process->n_rows;
	}
	profile->threads = pmc_arena_alloc(&profile->arena, (all + 1) * sizeof(void *));
	if (profile->tables->options.timeline)
		profile->timeline = pmc_arena_alloc(&profile->arena, (all + 1) * sizeof(void *));
	profile->sets = pmc_arena_alloc(&profile->arena,
					(HASH_COUNT(profile->tables->sets) + 1) * sizeof(void *));
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *process = profile->processes[i];

		list_rows_of(profile, process);
		profile->n_threads += profile->processes[i]->n_threads;
	}
}

/* Whether a row has counts or no events at all; if not, the reason. */
static bool row_counted(const struct pmc_p_thread *row, uint32_t *reason)
{
	*reason = row->fixed.reason;
	if (!row->set) {
		if (!*reason && row->fixed.eventset)
			*reason = PMC_REASON_SET_LOST;
		return !*reason;
	}
	for (unsigned i = 0; i < row->set->count; i++) {
		const struct pmc_count *count = &row->counts[i];

		if (pmc_count_has_value(count))
			return true;
		/* An event that no thread could open is not this row's failure. */
		if (row->set->events[i].def.state == PMC_COUNTED && !*reason)
			*reason = count->error ? count->error : PMC_REASON_NOT_STARTED;
	}
	return !*reason;
}

static void add_reason(struct pmc_profile *profile, struct pmc_p_process *process, uint32_t reason,
		       uint64_t count)
{
	unsigned i;

	if (!process->uncounted)
		process->uncounted =
			pmc_arena_alloc(&profile->arena, REASONS_MAX * sizeof(*process->uncounted));
	for (i = 0; i < process->n_uncounted; i++)
		if (process->uncounted[i].reason == reason || i == REASONS_MAX - 1)
			break;
	if (i == process->n_uncounted) {
		process->uncounted[i].reason = reason;
		process->n_uncounted++;
	}
	pmc_add_sat(&process->uncounted[i].count, count);
}

static void list_set(struct pmc_profile *profile, const struct pmc_p_set_view *view)
{
	struct pmc_p_eventset *set;

	if (!view || (profile->n_sets && profile->sets[profile->n_sets - 1] == view))
		return;
	set = profile_find_set(profile, view->hash);
	if (set->listed)
		return;
	set->listed = true;
	profile->sets[profile->n_sets++] = view;
}

/* What a process has, too: not run delay, nor user and system time. */
static bool has_accounted(const struct pmc_p_set_view *set)
{
	unsigned i = 0;

	while (i < set->count && (!(set->events[i].def.flags & PMC_EVENT_ACCOUNTED) ||
				  set->events[i].def.type == PMC_TYPE_OS))
		i++;
	return i < set->count;
}

/* Coverage of a process, and its rows' share of the totals: each row is unpacked once. */
static void cover(struct pmc_profile *profile, struct pmc_p_process *process)
{
	const bool outside = process->known && process->fixed.flags & PMC_PROCESS_OUTSIDE;
	bool recorded = false, lacks = false; /* switches */
	struct pmc_thread_buf buf;
	uint32_t reason;

	for (uint64_t i = 0; i < process->n_threads; i++) {
		const struct pmc_p_thread *row = profile_unpack(profile, process->threads[i], &buf);

		if (!(row->fixed.flags & PMC_THREAD_NO_CPU))
			pmc_add_sat(&process->attributed_cpu_ns, row->fixed.cpu_ns);
		recorded |= row->fixed.flags & PMC_THREAD_SWITCHES;
		lacks |= pmc_lacks_switches(&row->fixed);
		if (!pmc_lacks_switches(&row->fixed) || row->least_usage)
			pmc_usage_add(&process->usage, &PMC_USAGE_OF(&row->fixed));
		list_set(profile, row->set);
		if (!process->accounted && row->set && has_accounted(row->set))
			process->accounted = row->set;
		profile_subtract_row(process, row);
		if (row_counted(row, &reason))
			process->threads_counted++;
		else
			add_reason(profile, process, reason, 1);
	}
	/* The switches of a recorded process are sums of its rows. */
	if (recorded && !lacks)
		process->fixed.flags &= (uint8_t)~PMC_PROCESS_NO_SWITCHES;
	if (outside && process->n_threads)
		process->ended_elsewhere =
			pmc_sub_sat(process->fixed.threads_seen, process->n_threads);
	/* A process that ended said how many threads there were; of one that was killed there may
	 * be nothing but the frame from its start. */
	if (process->known && (process->fixed.how_ended != PMC_RUNNING || !process->n_threads) &&
	    process->fixed.threads_seen > process->n_threads)
		add_reason(profile, process, PMC_REASON_ROW_LOST,
			   process->fixed.threads_seen - process->n_threads);
}

static void list_note(const struct table_frame *kept, struct pmc_p_note *note)
{
	struct pmc_p_process *process = kept->process;

	pmc_frame_fixed(&kept->frame, &note->fixed, sizeof(note->fixed));
	note->text = kept->key->text;
	if (!process->n_notes++)
		process->notes = note;
}

static void link_frames(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;
	const uint64_t *n = tables->n_frames;
	struct pmc_p_note *notes =
		pmc_arena_alloc(&profile->arena, (n[PMC_FRAME_NOTE] + 1) * sizeof(*notes));

	profile->regions =
		pmc_arena_alloc(&profile->arena, (n[PMC_FRAME_REGION] + 1) * sizeof(void *));
	profile->samples = pmc_arena_alloc(
		&profile->arena, (n[PMC_FRAME_SAMPLES] + n[PMC_FRAME_TIMES] + 1) * sizeof(void *));
	profile->delays =
		pmc_arena_alloc(&profile->arena, (n[PMC_FRAME_SAMPLES] + 1) * sizeof(void *));
	profile->woken =
		pmc_arena_alloc(&profile->arena, (n[PMC_FRAME_SAMPLES] + 1) * sizeof(void *));
	profile->timed =
		pmc_arena_alloc(&profile->arena, (n[PMC_FRAME_TIMES] + 1) * sizeof(void *));
	profile_list_modules(profile);
	HASH_SORT(tables->frames, frame_order);
	for (struct table_frame *kept = tables->frames; kept; kept = kept->hh.next) {
		if (!kept->process->index) /* of another job */
			continue;
		if (kept->key->type == PMC_FRAME_TOTAL)
			kept->process->totals[kept->key->number] = kept;
		else if (kept->key->type == PMC_FRAME_NOTE)
			list_note(kept, notes++);
		else if (kept->key->type == PMC_FRAME_REGION)
			profile_list_region(profile, kept);
		else if (kept->key->type == PMC_FRAME_STACKS)
			profile_list_stacks(profile, kept);
		else if (kept->key->type == PMC_FRAME_SAMPLES || kept->key->type == PMC_FRAME_TIMES)
			profile_list_samples(profile, kept);
	}
}

void pmc_profile_finish(struct pmc_profile *profile)
{
	list_processes(profile);
	link_images(profile);
	link_jobs(profile);
	list_rows(profile);
	if (profile->timeline)
		profile_spread_delays(profile);
	link_frames(profile);
	profile_open_totals(profile);
	for (uint64_t i = 0; i < profile->n_processes; i++)
		cover(profile, profile->processes[i]);
	profile_close_totals(profile);
}
