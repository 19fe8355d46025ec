/* SPDX-License-Identifier: MIT */
/*
 * rows.c - thread rows: kept as they come, the newest of each thread when it matters.
 *
 * A process's rows are sorted whenever they have doubled, and superseded ones are handed to the
 * next that come: memory follows the number of threads, not of snapshots, without an index.
 */
#include "agent/core/profile/tables.h"

#include <errno.h>
#include <string.h>

#define FIRST_ROOM 16

/* seq upwards, then the newest first; of one snapshot number the later, then the larger hash. */
static int row_order(const struct row_entry *a, const struct row_entry *b)
{
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->row->pub.snapshot != b->row->pub.snapshot)
		return a->row->pub.snapshot > b->row->pub.snapshot ? -1 : 1;
	if (a->row->pub.fixed.time_ns != b->row->pub.fixed.time_ns)
		return a->row->pub.fixed.time_ns > b->row->pub.fixed.time_ns ? -1 : 1;
	if (a->row->hash != b->row->hash)
		return a->row->hash > b->row->hash ? -1 : 1;
	return 0;
}

/* The end of the ordered run that starts at `from`. */
static uint64_t run_end(const struct row_entry *rows, uint64_t from, uint64_t n)
{
	while (++from < n)
		if (row_order(&rows[from - 1], &rows[from]) > 0)
			break;
	return from < n ? from : n;
}

/* Merges neighbouring runs until one is left (qsort may call malloc, and rows come nearly in
 * order). `other` has room for n too. */
static void sort(struct row_entry *const rows, struct row_entry *const other, uint64_t n)
{
	struct row_entry *from = rows, *to = other;

	while (run_end(from, 0, n) < n) {
		struct row_entry *swap = from;

		for (uint64_t low = 0; low < n;) {
			uint64_t mid = run_end(from, low, n), k = low;
			uint64_t high = mid < n ? run_end(from, mid, n) : n;
			uint64_t i = low, j = mid;

			while (i < mid && j < high)
				to[k++] =
					row_order(&from[i], &from[j]) <= 0 ? from[i++] : from[j++];
			memcpy(to + k, from + i, (mid - i) * sizeof(*from));
			k += mid - i;
			memcpy(to + k, from + j, (high - j) * sizeof(*from));
			low = high;
		}
		from = to;
		to = swap;
	}
	if (from != rows)
		memcpy(rows, from, n * sizeof(*rows));
}

static struct table_row *row_alloc(struct pmc_profile *profile, unsigned n_counts)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct free_row *reused = tables->free_rows[n_counts];
	size_t bytes = sizeof(struct table_row) + n_counts * sizeof(struct pmc_count);

	if (!reused)
		return pmc_arena_alloc(&profile->arena, bytes);
	tables->free_rows[n_counts] = reused->next;
	memset((void *)reused, 0, bytes);
	return (struct table_row *)reused;
}

static void row_drop(struct pmc_profile *profile, struct table_row *row)
{
	struct free_row **list = &profile->tables->free_rows[row->n_counts];
	struct free_row *dropped = (struct free_row *)row;

	dropped->next = *list;
	*list = dropped;
}

void profile_settle_rows(struct pmc_profile *profile, struct table_process *process)
{
	const bool timeline = profile->tables->options.timeline;
	struct row_entry *rows = process->rows;
	uint64_t kept = 0;

	sort(rows, rows + process->room, process->n_rows);
	for (uint64_t i = 0; i < process->n_rows; i++) {
		const struct row_entry *last = kept ? &rows[kept - 1] : NULL;

		if (last && last->seq == rows[i].seq &&
		    (!timeline || row_order(last, &rows[i]) == 0))
			row_drop(profile, rows[i].row);
		else
			rows[kept++] = rows[i];
	}
	process->n_rows = kept;
}

/* Room for one more: settle first, grow only if that freed too little. */
static int make_room(struct pmc_profile *profile, struct table_process *process)
{
	struct row_entry *rows;
	uint64_t room;

	if (process->n_rows < process->room)
		return 0;
	if (process->n_rows)
		profile_settle_rows(profile, process);
	if (process->room && process->n_rows <= process->room / 2)
		return 0;
	room = process->room ? process->room * 2 : FIRST_ROOM;
	rows = pmc_arena_alloc(&profile->arena, 2 * room * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (process->n_rows)
		memcpy(rows, process->rows, process->n_rows * sizeof(*rows));
	process->rows = rows;
	process->room = room;
	return 0;
}

int profile_add_row(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_p_eventset *set = NULL;
	struct table_process *process;
	struct table_row *row;
	struct pmc_thread_fixed fixed;
	int error;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (!profile_check_readings(fixed.n_groups, frame->var, frame->var_len))
		return -EBADMSG;
	process = profile_process(profile, frame->head.identity);
	if (!process)
		return -ENOMEM;
	error = make_room(profile, process);
	if (error)
		return error;
	if (fixed.eventset)
		set = profile_find_set(profile, fixed.eventset);
	row = row_alloc(profile, set ? set->view.count : 0);
	if (!row)
		return -ENOMEM;
	row->hash = frame->head.hash;
	row->n_counts = set ? set->view.count : 0;
	row->pub.process = &process->pub;
	row->pub.fixed = fixed;
	row->pub.snapshot = frame->head.snapshot;
	row->pub.module = row->pub.symbol = "";
	if (set) {
		struct pmc_count *counts = (struct pmc_count *)(row + 1);

		error = profile_fill_counts(set, fixed.n_groups, frame->var, frame->var_len,
					    counts);
		if (error) {
			row_drop(profile, row);
			return error;
		}
		row->pub.set = &set->view;
		row->pub.counts = counts;
	} else if (fixed.eventset) {
		row->pending = pmc_arena_alloc(&profile->arena, frame->var_len + 1);
		if (!row->pending)
			return -ENOMEM;
		memcpy(row->pending, frame->var, frame->var_len);
		row->pending_len = (uint32_t)frame->var_len;
	}
	process->rows[process->n_rows++] = (struct row_entry){ fixed.seq, row };
	return 0;
}

static struct pmc_p_site *find_site(struct pmc_profile_tables *tables, uint64_t hash)
{
	struct pmc_p_site *site = tables->last_site;

	if (!site || site->hash != hash) {
		HASH_FIND(hh, tables->sites, &hash, sizeof(hash), site);
		if (site)
			tables->last_site = site;
	}
	return site;
}

int profile_complete_row(struct pmc_profile *profile, struct table_row *row)
{
	struct pmc_p_eventset *set;
	struct pmc_p_site *site;

	if (row->pub.fixed.start_site) {
		site = find_site(profile->tables, row->pub.fixed.start_site);
		if (site) {
			row->pub.module = site->module;
			row->pub.symbol = site->symbol;
			row->pub.offset = site->offset;
		}
	}
	if (!row->pending)
		return 0;
	set = profile_find_set(profile, row->pub.fixed.eventset);
	if (set) {
		struct pmc_count *counts;

		counts = pmc_arena_alloc(&profile->arena, (set->view.count + 1) * sizeof(*counts));
		if (!counts)
			return -ENOMEM;
		/* That they are readings was seen when they came. */
		if (profile_fill_counts(set, row->pub.fixed.n_groups, row->pending,
					row->pending_len, counts) == 0) {
			row->pub.set = &set->view;
			row->pub.counts = counts;
		}
	}
	row->pending = NULL;
	return 0;
}
