/* SPDX-License-Identifier: MIT */
/* region.c - marked regions in the views: rows to group, JSON, what marking cost. */
#include "agent/core/report/view.h"

#include <errno.h>
#include <string.h>

/* A region in one thread, as a thread that did nothing else. */
static void as_thread(struct pmc_view *view, const struct pmc_p_region *region,
		      struct pmc_p_thread *row)
{
	if (region->row)
		*row = *pmc_view_thread(view, region->row);
	row->process = (struct pmc_p_process *)region->process;
	row->module = row->symbol = "";
	row->fixed.seq = region->fixed.seq;
	row->fixed.flags = PMC_THREAD_NO_RUSAGE | (region->has_cpu ? 0 : PMC_THREAD_NO_CPU);
	row->fixed.start_ns = row->fixed.end_ns = 0;
	row->fixed.cpu_ns = region->cpu_ns;
	row->set = region->set;
	row->counts = region->counts;
	row->region = region;
}

struct selected {
	const struct pmc_p_row *thread;
	UT_hash_handle hh;
};

/* The threads that --where and the scope let through; `all` if that is every one. */
static int select_threads(struct pmc_view *view, struct selected **table, bool *all)
{
	struct pmc_arena *arena = view->arena;
	struct selected *list;

	*table = NULL;
	*all = view->threads == view->profile->threads;
	if (*all)
		return 0;
	list = pmc_arena_alloc(arena, (view->n_threads + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint64_t i = 0; i < view->n_threads; i++) {
		list[i].thread = view->threads[i];
		HASH_ADD_PTR(*table, thread, &list[i]);
	}
	return arena->failed ? -ENOMEM : 0;
}

int pmc_view_regions(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	uint64_t room = profile->n_regions + 1;
	struct selected *table, *found;
	struct pmc_p_thread *rows;
	bool all;
	int err = select_threads(view, &table, &all);

	view->regions = pmc_arena_alloc(view->arena, room * sizeof(*view->regions));
	rows = pmc_arena_alloc(view->arena, room * sizeof(*rows));
	if (err || !view->regions || !rows)
		return err ? err : -ENOMEM;
	for (uint64_t i = 0; i < profile->n_regions; i++) {
		const struct pmc_p_region *region = profile->regions[i];

		if (!all) {
			HASH_FIND_PTR(table, &region->row, found);
			if (!region->row || !found)
				continue;
		}
		as_thread(view, region, &rows[view->n_regions]);
		view->regions[view->n_regions] = &rows[view->n_regions];
		view->n_regions++;
	}
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------*/

static void json_events(struct pmc_json *json, const char *key, const struct pmc_p_region *region,
			const struct pmc_count *counts)
{
	pmc_json_array(json, key);
	for (unsigned i = 0; region->set && counts && i < region->set->count; i++)
		pmc_view_json_event(json, &region->set->events[i], &counts[i]);
	pmc_json_array_end(json);
}

static void json_known(struct pmc_json *json, const char *key, bool known, uint64_t value)
{
	if (known)
		pmc_json_u64(json, key, value);
	else
		pmc_json_null(json, key);
}

static void json_pair(struct pmc_json *json, const struct pmc_p_region *region)
{
	bool known = region->fixed.flags & PMC_REGION_COST;

	pmc_json_object(json, "pair");
	json_known(json, "cpu_ns", known, region->fixed.around_cpu_ns);
	pmc_json_str(json, "read",
		     region->fixed.flags & PMC_REGION_USER_READS ? "user" : "system-call");
	json_events(json, "events", region, region->around);
	pmc_json_object_end(json);
}

static void json_region(struct pmc_json *json, const struct pmc_p_thread *thread)
{
	const struct pmc_p_region *region = thread->region;
	const struct pmc_p_process *process = region->process;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_strn(json, "region", region->name, region->name_len);
	pmc_json_str(json, "host", process->known ? process->host : NULL);
	json_known(json, "pid", process->known, process->fixed.pid);
	json_known(json, "tid", region->row, thread->fixed.tid);
	pmc_json_u64(json, "seq", region->fixed.seq);
	pmc_json_u64(json, "calls", region->fixed.calls);
	pmc_json_u64(json, "open", region->fixed.open);
	json_known(json, "cpu_ns", region->has_cpu, region->cpu_ns);
	json_known(json, "self_cpu_ns", region->has_cpu, region->self_cpu_ns);
	json_events(json, "events", region, region->counts);
	json_events(json, "self", region, region->self_counts);
	json_pair(json, region);
	pmc_json_object_end(json);
}

void pmc_view_json_regions(struct pmc_view *view, struct pmc_json *json)
{
	pmc_json_array(json, "regions");
	for (uint64_t i = 0; i < view->n_regions && !view->options->summary; i++)
		json_region(json, view->regions[i]);
	pmc_json_array_end(json);
}

/* ---- under the table -----------------------------------------------------------------------*/

/* What a pair costs is the same in all threads that are read alike: the dearest stands for it. */
static void pair_cost(struct pmc_view *view, const struct pmc_p_region *dearest)
{
	const struct pmc_p_region *region = dearest;
	struct pmc_out *out = view->out;

	pmc_out_str(out, " · a pair costs ");
	pmc_show_time(out, (double)region->fixed.around_cpu_ns);
	for (unsigned i = 0; region->set && region->around && i < region->set->count; i++) {
		const struct pmc_count *count = &region->around[i];

		if (strcmp(region->set->events[i].name, "instructions") ||
		    !pmc_count_has_value(count))
			continue;
		pmc_out_str(out, " and ");
		pmc_show_integer(out, pmc_count_value(count));
		pmc_out_str(out, " instructions");
		break;
	}
	pmc_out_str(out, region->fixed.flags & PMC_REGION_USER_READS ?
				 ", read in user space, and is taken off" :
				 ", which is taken off");
}

void pmc_view_region_remarks(struct pmc_view *view)
{
	const struct pmc_p_region *dearest = NULL;
	struct pmc_out *out = view->out;
	bool by = view->options->by == PMC_BY_REGION;

	if (!view->n_regions) {
		if (by)
			pmc_out_str(out, " no region was marked in these threads: see "
					 "pmc_region(3)\n");
		return;
	}
	if (!by) {
		pmc_out_str(out, " regions are marked in it: pmctl report --by region shows "
				 "them\n");
		return;
	}
	for (uint64_t i = 0; i < view->n_regions; i++) {
		const struct pmc_p_region *region = view->regions[i]->region;

		if ((region->fixed.flags & PMC_REGION_COST) &&
		    (!dearest || region->fixed.around_cpu_ns > dearest->fixed.around_cpu_ns))
			dearest = region;
	}
	pmc_out_str(out, " regions include those inside them; self is without");
	if (dearest)
		pair_cost(view, dearest);
	pmc_out_char(out, '\n');
}
