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
		if (event->def.group == PMC_NO_GROUP) {
			if (event->def.state < PMC_NOT_COUNTED ||
			    event->def.state > PMC_NOT_PERMITTED)
				event->def.state = PMC_NOT_COUNTED;
			continue;
		}
		if (event->def.group >= fixed.n_groups || event->def.state != PMC_COUNTED)
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

bool profile_skip_readings(struct pmc_cursor *cursor, unsigned n_groups)
{
	struct pmc_reading reading;

	if (n_groups > PMC_EVENTS_MAX)
		return false;
	for (unsigned g = 0; g < n_groups; g++) {
		if (!pmc_cursor_bytes(cursor, &reading, sizeof(reading)) ||
		    reading.n > cursor->left / sizeof(uint64_t))
			return false;
		cursor->at += reading.n * sizeof(uint64_t);
		cursor->left -= reading.n * sizeof(uint64_t);
	}
	return true;
}

/* The counts of a group, but their values; *readable: it has them. */
static struct pmc_count judge(const struct pmc_reading *reading, unsigned size, bool *readable)
{
	struct pmc_count count = { .state = PMC_NOT_COUNTED };
	const uint32_t error = reading->error;

	*readable = !error && reading->n == size;
	if (!*readable) {
		count.error = error ? error : EBADMSG;
		if (error == EACCES || error == EPERM)
			count.state = PMC_NOT_PERMITTED;
		return count;
	}
	count.enabled_ns = reading->enabled_ns;
	count.running_ns = reading->running_ns;
	if (!count.enabled_ns)
		count.error = PMC_REASON_NOT_STARTED;
	else if (!count.running_ns)
		count.error = PMC_REASON_NEVER_RAN;
	else
		count.state = count.running_ns < count.enabled_ns ? PMC_SCALED : PMC_COUNTED;
	return count;
}

void profile_take_counts(const struct pmc_p_eventset *set, unsigned n_groups,
			 struct pmc_cursor *cursor, struct pmc_count *counts)
{
	struct {
		struct pmc_count count;
		const uint8_t *values;
		bool readable;
	} groups[PMC_EVENTS_MAX];

	for (unsigned g = 0; g < n_groups; g++) {
		struct pmc_reading reading = { 0 };

		pmc_cursor_bytes(cursor, &reading, sizeof(reading));
		groups[g].count = judge(&reading, set->group_size[g], &groups[g].readable);
		groups[g].values = cursor->at;
		cursor->at += reading.n * sizeof(uint64_t);
		cursor->left -= reading.n * sizeof(uint64_t);
	}
	for (unsigned i = 0; i < set->view.count; i++) {
		const struct pmc_event_def *def = &set->view.events[i].def;
		const unsigned g = set->at[i].group;

		if (g >= PMC_SUM_GROUP) {
			counts[i] = (struct pmc_count){ .state = (enum pmc_state)def->state,
							.error = def->error };
		} else if (g >= n_groups) {
			counts[i] =
				(struct pmc_count){ .state = PMC_NOT_COUNTED, .error = EBADMSG };
		} else {
			counts[i] = groups[g].count;
			if (groups[g].readable)
				memcpy(&counts[i].raw,
				       groups[g].values + set->at[i].index * sizeof(uint64_t),
				       sizeof(uint64_t));
		}
	}
	if (set->n_cores)
		profile_core_counts(set, counts);
}

int profile_total(struct pmc_profile *profile, const struct table_frame *total,
		  struct pmc_p_remainder *counts)
{
	struct pmc_p_eventset *set;
	struct pmc_total_fixed fixed;
	struct pmc_cursor cursor;

	if (!total)
		return 0;
	pmc_frame_fixed(&total->frame, &fixed, sizeof(fixed));
	set = profile_find_set(profile, fixed.eventset);
	if (!set)
		return 0;
	counts->counts =
		pmc_arena_alloc(&profile->arena, (set->view.count + 1) * sizeof(*counts->counts));
	if (!counts->counts)
		return -ENOMEM;
	pmc_cursor_init(&cursor, &total->frame);
	profile_take_counts(set, fixed.n_groups, &cursor, counts->counts);
	counts->set = &set->view;
	return 0;
}
