/* SPDX-License-Identifier: MIT */
/*
 * speedscope.c - the file format of speedscope: a profile for each pool of threads and event.
 *
 * Source: file-format-spec.ts of speedscope, "sampled" profiles.
 */
#include "lib/base/json.h"
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/export/export.h"

/* A profile: the samples of a pool by an event. */
struct shown {
	unsigned event;
	const struct pmc_fold_row *pool; /* NULL: unknown threads */
	uint64_t weight;
};

/* speedscope opens the first: waits last, then as the report chooses its event, then by weight. */
static int by_weight(const void *a, const void *b, const void *arg)
{
	const struct shown *x = a, *y = b;
	const struct export_event *of_x = (const struct export_event *)arg + x->event;
	const struct export_event *of_y = (const struct export_event *)arg + y->event;
	const bool waits = pmc_is_off_cpu(of_x->event);

	if (waits != pmc_is_off_cpu(of_y->event))
		return waits ? 1 : -1;
	if (of_x->samples != of_y->samples)
		return of_x->samples < of_y->samples ? 1 : -1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->weight < y->weight) - (x->weight > y->weight);
}

/* Those with samples, in order. */
static struct shown *list_shown(struct export *export, uint64_t *n_shown)
{
	const uint64_t n_pools = export->pools.n_rows + 1, most = n_pools * export->n_events;
	struct shown *list = pmc_arena_alloc(&export->arena, most * sizeof(*list));
	struct shown *scratch = pmc_arena_alloc(&export->arena, most * sizeof(*scratch));
	uint64_t n = 0;

	for (uint64_t i = 0; i < export->n_lists; i++) {
		const struct export_list *at = &export->lists[i];
		struct shown *shown = &list[at->event * n_pools];

		shown += at->pool ? at->pool->index : n_pools - 1;
		shown->event = at->event;
		shown->pool = at->pool;
		pmc_add_sat(&shown->weight, at->of->weight);
	}
	for (uint64_t i = 0; i < most; i++)
		if (list[i].weight)
			list[n++] = list[i];
	pmc_sort(list, scratch, n, sizeof(*list), by_weight, export->events);
	*n_shown = n;
	return list;
}

static void put_stack(struct export *export, struct pmc_json *json, const struct pmc_p_stack *stack,
		      struct spot_list *spots)
{
	names_of_stack(export->names, stack, NAMES_FUNCTION, true, spots);
	pmc_json_line(json);
	pmc_json_array(json, NULL);
	for (size_t i = spots->n; i-- > 0;)
		pmc_json_u64(json, NULL, spots->list[i]->index);
	pmc_json_array_end(json);
}

/* The stacks or the weights of its samples. */
static void put_samples(struct export *export, struct pmc_json *json, const struct shown *shown,
			bool weights)
{
	struct spot_list spots = { 0 };

	pmc_json_array(json, weights ? "weights" : "samples");
	for (uint64_t i = 0; i < export->n_lists; i++) {
		const struct export_list *list = &export->lists[i];

		if (list->pool != shown->pool || list->event != shown->event)
			continue;
		for (uint64_t k = 0; k < list->of->n; k++)
			if (weights)
				pmc_json_u64(json, NULL, list->of->list[k].weight);
			else
				put_stack(export, json, list->of->list[k].stack, &spots);
	}
	pmc_json_array_end(json);
}

static void put_profile(struct export *export, struct pmc_json *json, const struct shown *shown)
{
	const struct pmc_p_event *event = export->events[shown->event].event;
	struct pmc_out name = PMC_OUT_MEM(256);

	pmc_out_str(&name, shown->pool ? shown->pool->label : "(unknown threads)");
	if (export->n_events > 1)
		pmc_outf(&name, " %s", event->name);
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "type", "sampled");
	pmc_json_str(json, "name", name.buf);
	pmc_json_str(json, "unit", export_is_time(event) ? "nanoseconds" : "none");
	pmc_json_u64(json, "startValue", 0);
	pmc_json_u64(json, "endValue", shown->weight);
	put_samples(export, json, shown, false);
	put_samples(export, json, shown, true);
	pmc_json_object_end(json);
}

static void put_frames(const struct export *export, struct pmc_json *json)
{
	const struct spot *spot = NULL;

	pmc_json_line(json);
	pmc_json_object(json, "shared");
	pmc_json_array(json, "frames");
	while ((spot = names_next_spot(export->names, spot))) {
		pmc_json_line(json);
		pmc_json_object(json, NULL);
		pmc_json_str(json, "name", spot->function);
		if (spot->module[0])
			pmc_json_str(json, "file", spot->module);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	pmc_json_object_end(json);
}

void export_speedscope(struct export *export)
{
	uint64_t n;
	const struct shown *list = list_shown(export, &n);
	struct pmc_json json;

	pmc_json_init(&json, export->out);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	pmc_json_str(&json, "exporter", "pmctl " PMC_VERSION);
	pmc_json_array(&json, "profiles");
	for (uint64_t i = 0; i < n; i++)
		put_profile(export, &json, &list[i]);
	pmc_json_array_end(&json);
	put_frames(export, &json);
	pmc_json_object_end(&json);
	pmc_out_char(export->out, '\n');
}
