/* SPDX-License-Identifier: MIT */
/* event_set.c - EVENTSET frames, and readings as counts of their events. */
#include "agent/core/profile/tables.h"

#include <errno.h>
#include <string.h>

struct pmc_p_eventset *profile_find_set(const struct pmc_profile *profile, uint64_t hash)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_p_eventset *set = tables->last_set;

	if (set && set->view.hash == hash)
		return set;
	HASH_FIND(hh, tables->sets, &hash, sizeof(hash), set);
	if (set)
		tables->last_set = set;
	return set;
}

static const char *take_text(struct pmc_cursor *cursor, struct pmc_arena *arena)
{
	const char *text;
	size_t len;

	if (!pmc_cursor_str(cursor, &text, &len))
		return "";
	return pmc_arena_strndup(arena, text, len);
}

/* Events with their places, in the frame's order. */
static int parse(const struct pmc_frame *frame, struct pmc_arena *arena, struct pmc_p_eventset *set,
		 struct pmc_p_event *events)
{
	struct pmc_eventset_fixed fixed;
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (fixed.n_events > PMC_EVENTS_MAX || fixed.n_groups > fixed.n_events)
		return -EBADMSG;
	set->view.hash = frame->head.hash;
	set->view.count = fixed.n_events;
	set->n_groups = fixed.n_groups;
	pmc_cursor_init(&cursor, frame);
	for (unsigned i = 0; i < fixed.n_events; i++) {
		struct pmc_p_event *event = &events[i];

		pmc_cursor_bytes(&cursor, &event->def, sizeof(event->def));
		event->name = take_text(&cursor, arena);
		event->unit = take_text(&cursor, arena);
		event->core_type = take_text(&cursor, arena);
		if (cursor.bad)
			return -EBADMSG;
		if (!event->name || !event->unit || !event->core_type)
			return -ENOMEM;
		event->cpus = "";
		if (event->def.flags & PMC_EVENT_UNCORE) {
			event->cpus = event->core_type;
			event->core_type = "";
		}
		event->def.flags &= (uint16_t)~PMC_EVENT_SUM;
		set->at[i].group = event->def.group;
		if (event->def.group == PMC_NO_GROUP)
			continue;
		if (event->def.group >= fixed.n_groups)
			return -EBADMSG;
		set->at[i].index = set->group_size[event->def.group]++;
	}
	return 0;
}

/* A stable insertion sort by position: sets are small. */
static void to_users_order(struct pmc_p_eventset *set, struct pmc_p_event *events)
{
	for (unsigned i = 1; i < set->view.count; i++) {
		for (unsigned j = i; j > 0 && events[j - 1].def.position > events[j].def.position;
		     j--) {
			struct pmc_p_event event = events[j];
			__typeof__(set->at[0]) at = set->at[j];

			events[j] = events[j - 1];
			set->at[j] = set->at[j - 1];
			events[j - 1] = event;
			set->at[j - 1] = at;
		}
	}
}

int profile_add_set(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_eventset *set, parsed = { .n_groups = 0 };
	struct pmc_p_event events[PMC_SET_EVENTS_MAX] = { 0 }, *kept;
	int error;

	if (profile_find_set(profile, frame->head.hash))
		return 0;
	error = parse(frame, arena, &parsed, events);
	if (error)
		return error;
	to_users_order(&parsed, events);
	profile_core_sums(&parsed, events);
	set = pmc_arena_alloc(arena, sizeof(*set));
	kept = pmc_arena_alloc(arena, sizeof(*kept) * (parsed.view.count + 1));
	if (!set || !kept)
		return -ENOMEM;
	memcpy(kept, events, sizeof(*kept) * parsed.view.count);
	*set = parsed;
	set->view.events = kept;
	HASH_ADD(hh, tables->sets, view.hash, sizeof(set->view.hash), set);
	return arena->failed ? -ENOMEM : 0;
}

size_t profile_readings_len(unsigned n_groups, const uint8_t *var, size_t len)
{
	struct pmc_reading reading;
	size_t at = 0;

	for (unsigned g = 0; g < n_groups; g++) {
		if (len - at < sizeof(reading))
			return SIZE_MAX;
		memcpy(&reading, var + at, sizeof(reading));
		at += sizeof(reading);
		if (reading.n > (len - at) / sizeof(uint64_t))
			return SIZE_MAX;
		at += reading.n * sizeof(uint64_t);
	}
	return at;
}

/* The state of the counts of a reading with an error. */
static enum pmc_state state_of(uint32_t error)
{
	return error == EACCES || error == EPERM ? PMC_NOT_PERMITTED : PMC_NOT_COUNTED;
}

static void judge(struct pmc_count *count)
{
	if (count->enabled_ns == 0) {
		count->state = PMC_NOT_COUNTED;
		count->error = PMC_REASON_NOT_STARTED;
	} else if (count->running_ns == 0) {
		count->state = PMC_NOT_COUNTED;
		count->error = PMC_REASON_NEVER_RAN;
	} else if (count->running_ns < count->enabled_ns) {
		count->state = PMC_SCALED;
	} else {
		count->state = PMC_COUNTED;
	}
}

int profile_fill_counts(const struct pmc_p_eventset *set, unsigned n_groups, const uint8_t *var,
			size_t len, struct pmc_count *counts)
{
	struct {
		struct pmc_reading reading;
		const uint8_t *values;
	} groups[PMC_EVENTS_MAX];

	if (n_groups > PMC_EVENTS_MAX || profile_readings_len(n_groups, var, len) > len)
		return -EBADMSG;
	for (unsigned g = 0; g < n_groups; g++) {
		memcpy(&groups[g].reading, var, sizeof(groups[g].reading));
		groups[g].values = var + sizeof(groups[g].reading);
		var = groups[g].values + groups[g].reading.n * sizeof(uint64_t);
	}
	for (unsigned i = 0; i < set->view.count; i++) {
		const struct pmc_event_def *def = &set->view.events[i].def;
		unsigned g = set->at[i].group;
		struct pmc_count *count = &counts[i];

		*count = (struct pmc_count){ .state = PMC_NOT_COUNTED, .error = def->error };
		if (g == PMC_SUM_GROUP)
			continue;
		if (def->state != PMC_COUNTED || g == PMC_NO_GROUP) {
			if (def->state >= PMC_NOT_COUNTED && def->state <= PMC_NOT_PERMITTED)
				count->state = (enum pmc_state)def->state;
		} else if (g >= n_groups) {
			count->error = EBADMSG;
		} else if (groups[g].reading.error) {
			count->error = groups[g].reading.error;
			count->state = state_of(count->error);
		} else if (groups[g].reading.n != set->group_size[g]) {
			count->error = EBADMSG;
		} else {
			memcpy(&count->raw,
			       groups[g].values + set->at[i].index * sizeof(count->raw),
			       sizeof(count->raw));
			count->enabled_ns = groups[g].reading.enabled_ns;
			count->running_ns = groups[g].reading.running_ns;
			count->error = 0;
			judge(count);
		}
	}
	if (set->n_cores)
		profile_core_counts(set, counts);
	return 0;
}

int profile_total(struct pmc_profile *profile, const struct table_total *total,
		  struct pmc_p_remainder *counts)
{
	struct pmc_p_eventset *set =
		total->held.var ? profile_find_set(profile, total->fixed.eventset) : NULL;

	if (!set)
		return 0;
	counts->counts =
		pmc_arena_alloc(&profile->arena, (set->view.count + 1) * sizeof(*counts->counts));
	if (!counts->counts)
		return -ENOMEM;
	if (profile_fill_counts(set, total->fixed.n_groups, total->held.var, total->held.var_len,
				counts->counts) == 0)
		counts->set = &set->view;
	return 0;
}
