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

#include <errno.h>
#include <stdlib.h>

/* The samples with that index, if they are of the event and pool; else none. */
static const struct pmc_p_samples *chosen(const struct export *export, uint64_t i, unsigned event,
					  const struct export_pools *pools,
					  const struct pmc_fold_row *pool)
{
	static const struct pmc_p_samples none;
	const struct pmc_p_samples *of = export->profile->samples[i];

	return pools->of[i] == pool && export_event_of(export, of) == (int)event ? of : &none;
}

/* ---- the order of profiles --------------------------------------------------------------- */

/* What becomes a profile: the samples of a pool by an event. */
struct shown {
	unsigned event;
	bool waits;
	uint64_t event_samples;
	const struct pmc_fold_row *pool; /* NULL: unknown threads */
	uint64_t weight;
};

/* speedscope opens the first one: waits last, then as the report chooses its event, then by weight.
 */
static int by_weight(const void *a, const void *b, const void *arg)
{
	const struct shown *x = a, *y = b;

	(void)arg;
	if (x->waits != y->waits)
		return x->waits ? 1 : -1;
	if (x->event_samples != y->event_samples)
		return x->event_samples < y->event_samples ? 1 : -1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->weight < y->weight) - (x->weight > y->weight);
}

static void add_shown(const struct export *export, const struct export_pools *pools,
		      struct shown shown, struct shown *list, uint64_t *n)
{
	for (uint64_t i = 0; i < export->profile->n_samples; i++)
		pmc_add_sat(&shown.weight,
			    chosen(export, i, shown.event, pools, shown.pool)->weight);
	if (shown.weight)
		list[(*n)++] = shown;
}

/* Those with samples. NULL: no memory. */
static struct shown *list_shown(struct export *export, const struct export_pools *pools,
				uint64_t *n)
{
	const struct pmc_profile *profile = export->profile;
	const uint64_t most = (pools->fold.n_rows + 1) * export->n_events + 1;
	struct shown *list = pmc_arena_alloc(&export->arena, most * sizeof(*list));
	struct shown *scratch = pmc_arena_alloc(&export->arena, most * sizeof(*scratch));

	*n = 0;
	if (!list || !scratch)
		return NULL;
	for (unsigned event = 0; event < export->n_events; event++) {
		struct shown shown = { .event = event,
				       .waits = pmc_is_off_cpu(export->events[event]) };

		for (uint64_t i = 0; i < profile->n_samples; i++)
			if (export_event_of(export, profile->samples[i]) == (int)event)
				pmc_add_sat(&shown.event_samples, profile->samples[i]->samples);
		for (shown.pool = pools->fold.rows; shown.pool; shown.pool = shown.pool->next)
			add_shown(export, pools, shown, list, n);
		add_shown(export, pools, shown, list, n);
	}
	pmc_sort(list, scratch, *n, sizeof(*list), by_weight, NULL);
	return list;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static int put_stack(struct export *export, struct pmc_json *json, const struct pmc_p_stack *stack,
		     struct spot_list *spots)
{
	int error = names_of_stack(export->names, stack, NAMES_FUNCTION, true, spots);

	pmc_json_line(json);
	pmc_json_array(json, NULL);
	for (size_t i = spots->n; !error && i-- > 0;)
		pmc_json_u64(json, NULL, spots->list[i]->index);
	pmc_json_array_end(json);
	return error;
}

static int put_profile(struct export *export, struct pmc_json *json,
		       const struct export_pools *pools, const struct shown *shown)
{
	const struct pmc_profile *profile = export->profile;
	const unsigned event = shown->event;
	const struct pmc_fold_row *pool = shown->pool;
	const struct pmc_p_event *sampled = export->events[event];
	struct spot_list spots = { 0 };
	struct pmc_out text;
	char name[256];
	int error = 0;

	pmc_out_to_mem(&text, name, sizeof(name));
	pmc_outf(&text, "%s%s%s", pool ? pool->label : "(unknown threads)",
		 export->n_events > 1 ? " " : "", export->n_events > 1 ? sampled->name : "");
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "type", "sampled");
	pmc_json_str(json, "name", name);
	pmc_json_str(json, "unit", export_is_time(sampled) ? "nanoseconds" : "none");
	pmc_json_u64(json, "startValue", 0);
	pmc_json_u64(json, "endValue", shown->weight);
	pmc_json_array(json, "samples");
	for (uint64_t i = 0; !error && i < profile->n_samples; i++) {
		const struct pmc_p_samples *of = chosen(export, i, event, pools, pool);

		for (uint64_t k = 0; !error && k < of->n; k++)
			error = put_stack(export, json, of->list[k].stack, &spots);
	}
	pmc_json_array_end(json);
	pmc_json_array(json, "weights");
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *of = chosen(export, i, event, pools, pool);

		for (uint64_t k = 0; k < of->n; k++)
			pmc_json_u64(json, NULL, of->list[k].weight);
	}
	pmc_json_array_end(json);
	pmc_json_object_end(json);
	free(spots.list);
	return error;
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

int export_speedscope(struct export *export)
{
	struct export_pools pools;
	struct pmc_json json;
	struct shown *list;
	uint64_t n;
	int error = export_find_pools(export, &pools);

	if (error)
		return error;
	list = list_shown(export, &pools, &n);
	if (!list)
		return -ENOMEM;
	pmc_json_init(&json, export->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	pmc_json_str(&json, "exporter", "pmctl " PMC_VERSION);
	pmc_json_array(&json, "profiles");
	for (uint64_t i = 0; i < n && !error; i++)
		error = put_profile(export, &json, &pools, &list[i]);
	pmc_json_array_end(&json);
	put_frames(export, &json);
	pmc_json_object_end(&json);
	pmc_out_char(export->out, '\n');
	return error;
}
