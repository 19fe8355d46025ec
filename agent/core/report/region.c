/* SPDX-License-Identifier: MIT */
/* region.c - marked regions in the views: rows to group, JSON, the cost of marking. */
#include "agent/core/report/view.h"

#include <errno.h>

/* A region in one thread, as a thread that did nothing else. */
static void as_thread(struct pmc_profile *profile, const struct pmc_p_region *region,
		      struct pmc_p_thread *row)
{
	struct pmc_thread_buf buf;

	if (region->row)
		*row = *pmc_profile_thread(profile, region->row, &buf);
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
	const struct pmc_p_row *row;
	UT_hash_handle hh;
};

/* The threads in scope and selected by --where; `all` if that is every one. */
static int select_threads(struct pmc_view *view, struct selected **table, bool *all)
{
	struct pmc_arena *arena = view->arena;
	struct selected *list;

	*table = NULL;
	*all = view->rows == view->profile->threads;
	if (*all || !view->profile->n_regions)
		return 0;
	list = pmc_arena_alloc(arena, (view->n_rows + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint64_t i = 0; i < view->n_rows; i++) {
		list[i].row = view->rows[i];
		HASH_ADD_PTR(*table, row, &list[i]);
	}
	return arena->failed ? -ENOMEM : 0;
}

int pmc_view_regions(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	struct selected *table, *found;
	bool all;
	int err = select_threads(view, &table, &all);

	view->regions =
		pmc_arena_alloc(view->arena, (profile->n_regions + 1) * sizeof(*view->regions));
	if (err || !view->regions)
		return err ? err : -ENOMEM;
	for (uint64_t i = 0; i < profile->n_regions; i++) {
		const struct pmc_p_region *region = profile->regions[i];

		if (!all) {
			HASH_FIND_PTR(table, &region->row, found);
			if (!region->row || !found)
				continue;
		}
		as_thread(profile, region, &view->regions[view->n_regions++]);
	}
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------*/

static void json_pair(struct pmc_view *view, struct pmc_json *json,
		      const struct pmc_p_region *region)
{
	bool known = region->fixed.flags & PMC_REGION_COST;

	pmc_json_object(json, "pair");
	pmc_json_known(json, "cpu_ns", known, region->fixed.around_cpu_ns);
	pmc_json_str(json, "read",
		     region->fixed.flags & PMC_REGION_USER_READS ? "user" : "system-call");
	pmc_json_events(view, json, "events", region->set, region->around);
	pmc_json_object_end(json);
}

static void json_region(struct pmc_view *view, struct pmc_json *json,
			const struct pmc_p_region *region)
{
	const struct pmc_p_process *process = region->process;
	struct pmc_thread_buf buf;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_strn(json, "region", region->name, region->name_len);
	pmc_json_str(json, "host", process->known ? process->host : NULL);
	pmc_json_known(json, "pid", process->known, process->fixed.pid);
	pmc_json_known(
		json, "tid", region->row,
		region->row ? pmc_profile_thread(view->profile, region->row, &buf)->fixed.tid : 0);
	pmc_json_u64(json, "seq", region->fixed.seq);
	pmc_json_u64(json, "calls", region->fixed.calls);
	pmc_json_u64(json, "open", region->fixed.open);
	pmc_json_known(json, "cpu_ns", region->has_cpu, region->cpu_ns);
	pmc_json_known(json, "self_cpu_ns", region->has_cpu, region->self_cpu_ns);
	pmc_json_events(view, json, "events", region->set, region->counts);
	pmc_json_events(view, json, "self", region->set, region->self_counts);
	json_pair(view, json, region);
	pmc_json_object_end(json);
}

void pmc_json_regions(struct pmc_view *view, struct pmc_json *json)
{
	pmc_json_array(json, "regions");
	for (uint64_t i = 0; i < view->n_regions && !view->options->summary; i++)
		json_region(view, json, view->regions[i].region);
	pmc_json_array_end(json);
}

/* ---- under the table -----------------------------------------------------------------------*/

static void pair_cost(struct pmc_view *view, const struct pmc_p_region *region)
{
	struct pmc_out *out = view->out;

	pmc_out_str(out, view->glyphs->dot);
	pmc_out_str(out, "begin and end cost ");
	pmc_show_time(out, (double)region->fixed.around_cpu_ns, view->glyphs->micro);
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
				 " (read in user space), subtracted" :
				 ", subtracted");
}

void pmc_view_region_line(struct pmc_view *view)
{
	const struct pmc_p_region *dearest = NULL;
	struct pmc_out *out = view->out;

	if (view->by != PMC_BY_REGION) {
		if (view->n_regions)
			pmc_out_str(out,
				    " it marks regions: pmctl report --by region shows them\n");
		return;
	}
	if (!view->n_regions) {
		pmc_out_str(out, " no regions marked in these threads; see pmc_region(3)\n");
		return;
	}
	/* The cost is the same in all threads read in the same way: the highest stands for it. */
	for (uint64_t i = 0; i < view->n_regions; i++) {
		const struct pmc_p_region *region = view->regions[i].region;

		if ((region->fixed.flags & PMC_REGION_COST) &&
		    (!dearest || region->fixed.around_cpu_ns > dearest->fixed.around_cpu_ns))
			dearest = region;
	}
	pmc_out_str(out, " regions include inner regions; self excludes them");
	if (dearest)
		pair_cost(view, dearest);
	pmc_out_char(out, '\n');
}
