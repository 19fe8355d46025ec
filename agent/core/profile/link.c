/* SPDX-License-Identifier: MIT */
/* link.c - finishing a profile: rows ordered, parents linked, coverage computed. */
#include "agent/core/profile/tables.h"

#include <errno.h>
#include <string.h>

/* More than agents write; further reasons are counted as the last one. */
#define REASONS_MAX 32

int profile_order_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int process_order(const struct table_process *a, const struct table_process *b)
{
	int order = strcmp(a->pub.host, b->pub.host);

	if (!order)
		order = profile_order_u64(a->pub.fixed.start_ns, b->pub.fixed.start_ns);
	if (!order)
		order = profile_order_u64(a->pub.fixed.pid, b->pub.fixed.pid);
	return order ? order : memcmp(a->pub.identity, b->pub.identity, 16);
}

static int note_order(const struct table_note *a, const struct table_note *b)
{
	int order = profile_order_u64(a->pub.fixed.code, b->pub.fixed.code);

	if (!order)
		order = strcmp(a->pub.text, b->pub.text);
	/* Texts of a forged dump may differ behind a NUL. */
	return order ? order : profile_order_u64(a->hash, b->hash);
}

static bool wanted(const struct pmc_profile_tables *tables, const struct table_process *process)
{
	return !tables->options.only_job ||
	       (process->pub.known && memcmp(process->pub.fixed.job, tables->job, 16) == 0);
}

static struct table_process *parent_of(const struct table_process *process)
{
	return (struct table_process *)process->pub.parent;
}

static void link_parents(struct pmc_profile *profile)
{
	static const uint8_t nobody[16];
	struct pmc_profile_tables *tables = profile->tables;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *pub = profile->processes[i];
		struct table_process *parent = NULL;

		if (memcmp(pub->fixed.parent_identity, nobody, 16) != 0)
			HASH_FIND(hh, tables->processes, pub->fixed.parent_identity, 16, parent);
		if (parent && wanted(tables, parent))
			pub->parent = &parent->pub;
	}
	/* A forged dump may have a cycle of parents: cut it. Processes that are walked but not
	 * rooted are on the path being walked now. */
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *start = (struct table_process *)profile->processes[i], *p;

		for (p = start; p && !p->rooted; p = parent_of(p)) {
			p->walked = true;
			if (parent_of(p) && parent_of(p)->walked && !parent_of(p)->rooted)
				p->pub.parent = NULL;
		}
		for (p = start; p && !p->rooted; p = parent_of(p))
			p->rooted = true;
	}
}

static int list_processes(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct table_process *process;
	uint64_t n = HASH_COUNT(tables->processes);

	profile->processes = pmc_arena_alloc(&profile->arena, (n + 1) * sizeof(void *));
	if (!profile->processes)
		return -ENOMEM;
	HASH_SORT(tables->processes, process_order);
	for (process = tables->processes; process; process = process->hh.next)
		if (wanted(tables, process)) {
			profile->processes[profile->n_processes++] = &process->pub;
			process->index = profile->n_processes;
		}
	return 0;
}

struct adopted {
	uint32_t tid;
	uint64_t time_ns; /* of the newest row */
	UT_hash_handle hh;
};

/* The threads that the agent itself adopted, by tid. `from` is the first row of the others. */
static struct adopted *list_adopted(struct pmc_profile *profile,
				    const struct table_process *process,
				    const struct pmc_p_row *from)
{
	struct pmc_arena *arena = &profile->arena;
	struct adopted *table = NULL, *found;
	struct pmc_thread_buf buf;

	for (const struct pmc_p_row *row = process->rows; row != from; row = row->next) {
		const struct pmc_thread_fixed *fixed =
			&pmc_profile_thread(profile, row, &buf)->fixed;

		if (!(fixed->flags & PMC_THREAD_ADOPTED))
			continue;
		HASH_FIND(hh, table, &fixed->tid, sizeof(fixed->tid), found);
		if (!found) {
			found = pmc_arena_alloc(arena, sizeof(*found));
			if (!found)
				return table;
			found->tid = fixed->tid;
			HASH_ADD(hh, table, tid, sizeof(found->tid), found);
		}
		if (found->time_ns < fixed->time_ns)
			found->time_ns = fixed->time_ns;
	}
	return table;
}

/* `pmctl dump` saw these threads before the agent adopted them: one thread, two rows. */
static void drop_outside(struct pmc_profile *profile, struct table_process *process)
{
	struct adopted *table, *found;
	struct pmc_p_row **at = &process->rows;
	struct pmc_thread_buf buf;

	if (!process->last_row || process->last_row->seq < PMC_SEQ_OUTSIDE)
		return;
	while ((*at)->seq < PMC_SEQ_OUTSIDE)
		at = &(*at)->next;
	table = list_adopted(profile, process, *at);
	while (*at) {
		const struct pmc_thread_fixed *fixed =
			&pmc_profile_thread(profile, *at, &buf)->fixed;

		HASH_FIND(hh, table, &fixed->tid, sizeof(fixed->tid), found);
		if (!found || found->time_ns < fixed->time_ns) {
			at = &(*at)->next;
			continue;
		}
		*at = (*at)->next;
		process->n_rows--;
	}
}

static void reverse(struct pmc_p_row **rows, uint64_t n)
{
	for (uint64_t i = 0; i < n / 2; i++) {
		struct pmc_p_row *row = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = row;
	}
}

/* A process's rows into the lists of all. Settled rows are by seq, the newest first: the first of
 * each seq is its row. */
static void list_rows_of(struct pmc_profile *profile, struct table_process *process)
{
	struct pmc_p_row *row, *next;

	process->pub.threads = profile->threads + profile->n_threads;
	for (row = process->rows; row; row = next) {
		const uint64_t seq = row->seq;
		uint64_t n = 0;

		profile->threads[profile->n_threads++] = row;
		process->pub.n_threads++;
		for (; row && row->seq == seq; row = next, n++) {
			next = row->next;
			row->process = &process->pub; /* in the place of `next` */
			if (profile->timeline)
				profile->timeline[profile->n_timeline + n] = row;
		}
		if (profile->timeline)
			reverse(profile->timeline + profile->n_timeline, n);
		profile->n_timeline += profile->timeline ? n : 0;
		next = row;
	}
}

static int list_rows(struct pmc_profile *profile)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *process = (struct table_process *)profile->processes[i];

		profile_settle_rows(profile, process);
		drop_outside(profile, process);
		all += process->n_rows;
	}
	profile->threads = pmc_arena_alloc(&profile->arena, (all + 1) * sizeof(void *));
	if (profile->tables->options.timeline) {
		profile->timeline = pmc_arena_alloc(&profile->arena, (all + 1) * sizeof(void *));
		if (!profile->timeline)
			return -ENOMEM;
	}
	profile->sets = pmc_arena_alloc(&profile->arena,
					(HASH_COUNT(profile->tables->sets) + 1) * sizeof(void *));
	if (!profile->threads || !profile->sets)
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_processes; i++)
		list_rows_of(profile, (struct table_process *)profile->processes[i]);
	return 0;
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

static int add_reason(struct pmc_profile *profile, struct pmc_p_process *process, uint32_t reason,
		      uint64_t count)
{
	unsigned i;

	if (!process->uncounted) {
		process->uncounted =
			pmc_arena_alloc(&profile->arena, REASONS_MAX * sizeof(*process->uncounted));
		if (!process->uncounted)
			return -ENOMEM;
	}
	for (i = 0; i < process->n_uncounted; i++)
		if (process->uncounted[i].reason == reason || i == REASONS_MAX - 1)
			break;
	if (i == process->n_uncounted) {
		process->uncounted[i].reason = reason;
		process->n_uncounted++;
	}
	process->uncounted[i].count += count;
	return 0;
}

/* A row's set into the list of those in use. */
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

/* Coverage of a process, and its rows' share of the totals: each row is unpacked once. */
static int cover(struct pmc_profile *profile, struct pmc_p_process *process)
{
	struct pmc_thread_buf buf;
	uint32_t reason;

	for (uint64_t i = 0; i < process->n_threads; i++) {
		const struct pmc_p_thread *row =
			pmc_profile_thread(profile, process->threads[i], &buf);

		if (!(row->fixed.flags & PMC_THREAD_NO_CPU))
			process->attributed_cpu_ns += row->fixed.cpu_ns;
		list_set(profile, row->set);
		profile_subtract_row((struct table_process *)process, row);
		if (row_counted(row, &reason))
			process->threads_counted++;
		else if (add_reason(profile, process, reason, 1) != 0)
			return -ENOMEM;
	}
	/* A process that ended said how many threads there were. */
	if (process->known && process->fixed.how_ended != PMC_RUNNING &&
	    process->fixed.threads_seen > process->n_threads)
		return add_reason(profile, process, PMC_REASON_ROW_LOST,
				  process->fixed.threads_seen - process->n_threads);
	return 0;
}

static int link_notes(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct table_note *note;

	for (note = tables->notes; note; note = note->hh.next)
		note->process->pub.n_notes++;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *process = profile->processes[i];

		if (!process->n_notes)
			continue;
		process->notes =
			pmc_arena_alloc(&profile->arena, process->n_notes * sizeof(void *));
		if (!process->notes)
			return -ENOMEM;
		process->n_notes = 0;
	}
	HASH_SORT(tables->notes, note_order);
	for (note = tables->notes; note; note = note->hh.next) {
		struct pmc_p_process *process = &note->process->pub;

		if (process->notes) /* NULL: of another job */
			process->notes[process->n_notes++] = &note->pub;
	}
	return 0;
}

int pmc_profile_finish(struct pmc_profile *profile)
{
	int error = list_processes(profile);

	if (!error) {
		link_parents(profile);
		error = list_rows(profile);
	}
	if (!error)
		error = profile_open_totals(profile);
	for (uint64_t i = 0; !error && i < profile->n_processes; i++)
		error = cover(profile, profile->processes[i]);
	if (error)
		return error;
	profile_close_totals(profile);
	error = link_notes(profile);
	if (!error)
		error = profile_link_regions(profile);
	if (!error)
		error = profile_sum_uncore(profile);
	return !error && profile->arena.failed ? -ENOMEM : error;
}
