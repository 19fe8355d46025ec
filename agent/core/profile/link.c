/* SPDX-License-Identifier: MIT */
/* link.c - finish: tables into the ordered, linked profile, and its coverage. */
#include "agent/core/profile/tables.h"

#include <errno.h>
#include <string.h>

/* More distinct reasons than this come from no agent: the rest shares the last one. */
#define REASONS_MAX 32

static int order_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int process_order(const struct table_process *a, const struct table_process *b)
{
	int order = strcmp(a->pub.host, b->pub.host);

	if (!order)
		order = order_u64(a->pub.fixed.start_ns, b->pub.fixed.start_ns);
	if (!order)
		order = order_u64(a->pub.fixed.pid, b->pub.fixed.pid);
	return order ? order : memcmp(a->pub.identity, b->pub.identity, 16);
}

static int note_order(const struct table_note *a, const struct table_note *b)
{
	int order = order_u64(a->pub.fixed.code, b->pub.fixed.code);

	if (!order)
		order = strcmp(a->pub.text, b->pub.text);
	/* Texts may differ behind a NUL, which only a stranger writes. */
	return order ? order : order_u64(a->hash, b->hash);
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
	/* A forged dump may hold a cycle; nobody who walks up shall have to think of it. Whatever
	 * is walked and not rooted is on the way up that is being walked now. */
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
	const struct pmc_p_thread *row;
	UT_hash_handle hh;
};

/* The newest rows of threads that the agent itself adopted, by tid. */
static struct adopted *list_adopted(struct pmc_arena *arena, const struct table_process *process)
{
	struct adopted *table = NULL, *found;

	for (uint64_t i = 0; i < process->n_rows && process->rows[i].seq < PMC_SEQ_OUTSIDE; i++) {
		const struct pmc_p_thread *row = &process->rows[i].row->pub;

		if (!(row->fixed.flags & PMC_THREAD_ADOPTED))
			continue;
		HASH_FIND(hh, table, &row->fixed.tid, sizeof(row->fixed.tid), found);
		if (!found) {
			found = pmc_arena_alloc(arena, sizeof(*found));
			if (!found)
				return table;
			found->tid = row->fixed.tid;
			HASH_ADD(hh, table, tid, sizeof(found->tid), found);
		}
		if (!found->row || found->row->fixed.time_ns < row->fixed.time_ns)
			found->row = row;
	}
	return table;
}

/* A look from outside saw these threads before the agent adopted them: one thread, two rows. */
static void drop_outside(struct pmc_profile *profile, struct table_process *process)
{
	struct adopted *table = NULL, *found;
	uint64_t from = process->n_rows, kept;

	while (from && process->rows[from - 1].seq >= PMC_SEQ_OUTSIDE)
		from--;
	if (from == process->n_rows)
		return;
	table = list_adopted(&profile->arena, process);
	kept = from;
	for (uint64_t i = from; i < process->n_rows; i++) {
		const struct pmc_thread_fixed *fixed = &process->rows[i].row->pub.fixed;

		HASH_FIND(hh, table, &fixed->tid, sizeof(fixed->tid), found);
		if (!found || found->row->fixed.time_ns < fixed->time_ns)
			process->rows[kept++] = process->rows[i];
	}
	process->n_rows = kept;
}

/* Settled rows are by seq, newest first: the first of each seq is its row. */
static int list_rows(struct pmc_profile *profile)
{
	const bool timeline = profile->tables->options.timeline;
	uint64_t all = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *process = (struct table_process *)profile->processes[i];

		if (process->n_rows)
			profile_settle_rows(profile, process);
		drop_outside(profile, process);
		all += process->n_rows;
	}
	profile->threads = pmc_arena_alloc(&profile->arena, (all + 1) * sizeof(void *));
	if (timeline)
		profile->timeline = pmc_arena_alloc(&profile->arena, (all + 1) * sizeof(void *));
	if (!profile->threads || (timeline && !profile->timeline))
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *process = (struct table_process *)profile->processes[i];

		process->pub.threads = profile->threads + profile->n_threads;
		for (uint64_t r = 0, end; r < process->n_rows; r = end) {
			for (end = r; end < process->n_rows; end++) {
				if (process->rows[end].seq != process->rows[r].seq)
					break;
				if (profile_complete_row(profile, process->rows[end].row))
					return -ENOMEM;
			}
			profile->threads[profile->n_threads++] = &process->rows[r].row->pub;
			process->pub.n_threads++;
			for (uint64_t back = end; timeline && back > r; back--)
				profile->timeline[profile->n_timeline++] =
					&process->rows[back - 1].row->pub;
		}
	}
	return 0;
}

/* Whether a row has counts, or had none to have; if not, why. */
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
		/* What could be opened by no thread is no failure of this one. */
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

static int cover(struct pmc_profile *profile, struct pmc_p_process *process)
{
	uint32_t reason;
	int error;

	for (uint64_t i = 0; i < process->n_threads; i++) {
		const struct pmc_p_thread *row = process->threads[i];

		if (!(row->fixed.flags & PMC_THREAD_NO_CPU))
			process->attributed_cpu_ns += row->fixed.cpu_ns;
		if (row_counted(row, &reason)) {
			process->threads_counted++;
			continue;
		}
		error = add_reason(profile, process, reason, 1);
		if (error)
			return error;
	}
	/* A process that said its last word said how many threads there were. */
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

		if (process->notes) /* else it is not wanted */
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
	for (uint64_t i = 0; !error && i < profile->n_processes; i++)
		error = cover(profile, profile->processes[i]);
	if (!error)
		error = link_notes(profile);
	if (!error)
		error = profile_link_regions(profile);
	if (!error)
		error = profile_remainders(profile);
	if (!error)
		error = profile_machine(profile);
	if (!error && profile->arena.failed)
		error = -ENOMEM;
	return error;
}
