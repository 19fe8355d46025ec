/* SPDX-License-Identifier: MIT */
/* fold_union.c - events of several sets as one list of columns. */
#include "tools/rows/fold.h"

#include <string.h>

void pmc_union_init(struct pmc_union *u, struct pmc_arena *arena)
{
	*u = (struct pmc_union){ .arena = arena };
	u->events = pmc_arena_alloc(arena, PMC_UNION_MAX * sizeof(*u->events));
	u->columns = pmc_arena_alloc(arena, PMC_UNION_MAX * sizeof(*u->columns));
	u->set.events = u->events;
}

double pmc_event_scale(const struct pmc_p_event *event)
{
	double scale = event->def.scale;

	return scale > 0 && scale - scale == 0 ? scale : 1;
}

/* The key of an event that is the same in two sets; the label is its start. */
static char *column_key(struct pmc_arena *arena, const struct pmc_p_event *event, unsigned nth,
			size_t *label_len)
{
	size_t cap = strlen(event->name) + strlen(event->core_type) + strlen(event->unit) + 64;
	char *key = pmc_arena_alloc(arena, cap);
	uint64_t scale;
	struct pmc_out out;

	memcpy(&scale, &event->def.scale, sizeof(scale));
	pmc_out_to_mem(&out, key, cap);
	pmc_out_str(&out, event->name);
	if (nth > 1)
		pmc_outf(&out, "#%u", nth);
	if (event->core_type[0])
		pmc_outf(&out, "@%s", event->core_type);
	*label_len = out.len;
	pmc_outf(&out, "\n%s\n%llx", event->unit, (unsigned long long)scale);
	return key;
}

static uint16_t column_of(struct pmc_union *u, const struct pmc_p_event *event, unsigned nth,
			  bool grow)
{
	struct pmc_arena *arena = u->arena;
	struct pmc_union_column *c;
	struct pmc_p_event *united;
	size_t label_len;
	char *key = column_key(arena, event, nth, &label_len);

	HASH_FIND_STR(u->by_key, key, c);
	if (!c && grow && u->set.count == PMC_UNION_MAX)
		u->overflow = true;
	if (!c && (!grow || u->overflow))
		return PMC_NO_COLUMN;
	if (!c) {
		c = pmc_arena_alloc(arena, sizeof(*c));
		c->key = key;
		c->label = pmc_arena_strndup(arena, key, label_len);
		c->index = (uint16_t)u->set.count++;
		HASH_ADD_KEYPTR(hh, u->by_key, c->key, strlen(c->key), c);
		u->events[c->index] = *event;
		u->columns[c->index] = c;
	}
	united = &u->events[c->index];
	c->mixed_scope |= event->def.scope != united->def.scope;
	/* A set that counted the event decides over one that could not. */
	if (united->def.state != PMC_COUNTED)
		united->def = event->def;
	united->def.scale = pmc_event_scale(event);
	return c->index;
}

static const struct pmc_union_map *find_map(struct pmc_union *u, uint64_t hash)
{
	struct pmc_union_map *map = u->last;

	if (map && map->set->hash == hash)
		return map;
	HASH_FIND(hh, u->maps, &hash, sizeof(hash), map);
	if (map)
		u->last = map;
	return map;
}

/* The metrics that the set has the events for. */
static void add_ratios(struct pmc_union *u, struct pmc_union_map *map)
{
	map->ratios = pmc_arena_alloc(u->arena, pmc_n_metrics * sizeof(*map->ratios));
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		struct pmc_union_ratio *ratio = &map->ratios[map->n_ratios];

		ratio->metric = i;
		pmc_metric_events(i, map->set, &ratio->events);
		if (!ratio->events.applies)
			continue;
		map->n_ratios++;
		u->ratios |= UINT64_C(1) << i;
	}
}

void pmc_union_add(struct pmc_union *u, const struct pmc_p_set_view *set, bool grow)
{
	struct pmc_arena *arena = u->arena;
	struct pmc_union_map *map;

	if (!set || find_map(u, set->hash))
		return;
	map = pmc_arena_alloc(arena, sizeof(*map));
	map->set = set;
	add_ratios(u, map);
	map->column = pmc_arena_alloc(arena, (set->count + 1) * sizeof(*map->column));
	for (unsigned i = 0; i < set->count; i++) {
		unsigned nth = 1;

		for (unsigned j = 0; j < i; j++)
			nth += !strcmp(set->events[i].name, set->events[j].name) &&
			       !strcmp(set->events[i].core_type, set->events[j].core_type);
		map->column[i] = column_of(u, &set->events[i], nth, grow);
	}
	HASH_ADD_KEYPTR(hh, u->maps, &set->hash, sizeof(set->hash), map);
}

const uint16_t *pmc_union_map(struct pmc_union *u, const struct pmc_p_set_view *set)
{
	const struct pmc_union_map *map = set ? find_map(u, set->hash) : NULL;

	return map ? map->column : NULL;
}

void pmc_union_ratio(struct pmc_union *u, const struct pmc_p_set_view *set,
		     const struct pmc_count *counts, unsigned metric, struct pmc_ratio *ratio)
{
	const struct pmc_union_map *map = set ? find_map(u, set->hash) : NULL;

	for (unsigned i = 0; map && i < map->n_ratios; i++)
		if (map->ratios[i].metric == metric)
			pmc_ratio_take(metric, &map->ratios[i].events, set, counts, ratio);
}

const struct pmc_p_set_view *pmc_union_set_of(struct pmc_union *u,
					      const struct pmc_p_thread *thread)
{
	const struct pmc_union_map *map;
	uint64_t hash = thread->fixed.eventset;

	if (!hash && thread->process)
		hash = thread->process->fixed.eventset;
	map = find_map(u, hash);
	return map ? map->set : NULL;
}
