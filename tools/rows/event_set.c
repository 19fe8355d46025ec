/* SPDX-License-Identifier: MIT */
/* event_set.c - EVENTSET frames, and readings as counts of their events. */
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/rows/tables.h"

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

/* Events with their places, in the frame's order. */
static bool parse(const struct pmc_frame *frame, struct pmc_arena *arena,
		  struct pmc_p_eventset *set, struct set_slot *slots)
{
	struct pmc_eventset_fixed fixed;
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (fixed.n_events > PMC_EVENTS_MAX || fixed.n_groups > fixed.n_events)
		return false;
	set->view.hash = frame->head.hash;
	set->n_parts = fixed.n_events;
	set->n_groups = fixed.n_groups;
	pmc_cursor_init(&cursor, frame);
	for (unsigned i = 0; i < fixed.n_events; i++) {
		struct pmc_p_event *event = &slots[i].event;
		struct pmc_event_def *def = &event->def;
		unsigned group;

		pmc_cursor_bytes(&cursor, def, sizeof(*def));
		event->name = profile_text(arena, &cursor);
		event->unit = profile_text(arena, &cursor);
		event->core_type = profile_text(arena, &cursor);
		group = def->group;
		if (cursor.bad || (group != PMC_NO_GROUP && group >= fixed.n_groups))
			return false;
		event->cpus = "";
		if (def->flags & PMC_EVENT_UNCORE) {
			event->cpus = event->core_type;
			event->core_type = "";
		}
		def->flags &= (uint16_t)~PMC_EVENT_SUM;
		slots[i].part.group = def->group;
		if (def->state < PMC_NOT_COUNTED || def->state > PMC_NOT_PERMITTED)
			def->state = group == PMC_NO_GROUP ? PMC_NOT_COUNTED : PMC_COUNTED;
		if (def->type == PMC_TYPE_OS) {
			def->state = PMC_COUNTED;
			def->error = 0;
		}
		if (group != PMC_NO_GROUP)
			slots[i].part.index = set->group_size[group]++;
		slots[i].part.state = def->state;
		slots[i].part.error = def->error;
	}
	return true;
}

static int by_position(const void *a, const void *b, const void *arg)
{
	(void)arg;
	return profile_order_u64(((const struct set_slot *)a)->event.def.position,
				 ((const struct set_slot *)b)->event.def.position);
}

bool profile_add_set(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_eventset *set, parsed = { .n_groups = 0 };
	struct set_slot slots[PMC_SET_EVENTS_MAX] = { 0 }, scratch[PMC_EVENTS_MAX];
	struct pmc_p_event *events;

	if (profile_find_set(profile, frame->head.hash))
		return true;
	if (!parse(frame, arena, &parsed, slots))
		return false;
	pmc_sort(slots, scratch, parsed.n_parts, sizeof(*slots), by_position, NULL);
	profile_insert_sums(&parsed, slots, arena);
	set = pmc_arena_alloc(arena, sizeof(*set));
	events = pmc_arena_alloc(arena, (parsed.n_parts + 1) * sizeof(*events));
	*set = parsed;
	set->view.events = events;
	for (unsigned i = 0; i < set->n_parts; i++) {
		set->parts[i] = slots[i].part;
		if (!slots[i].part.hidden)
			events[set->view.count++] = slots[i].event;
	}
	HASH_ADD(hh, tables->sets, view.hash, sizeof(set->view.hash), set);
	return true;
}

static bool has_values(const struct pmc_reading *reading, unsigned size)
{
	return !reading->error && reading->n == size;
}

/* The counts of a group of that size, but their values. */
static struct pmc_count judge(const struct pmc_reading *reading, unsigned size, bool was_on)
{
	struct pmc_count count = { .state = PMC_NOT_COUNTED };
	const uint32_t error = reading->error;

	if (!has_values(reading, size)) {
		count.error = error ? error : EBADMSG;
		if (error == EACCES || error == EPERM)
			count.state = PMC_NOT_PERMITTED;
		return count;
	}
	count.enabled_ns = reading->enabled_ns;
	count.running_ns = reading->running_ns;
	if (!count.enabled_ns && was_on)
		count.state = PMC_COUNTED;
	else if (!count.enabled_ns)
		count.error = PMC_REASON_NOT_STARTED;
	else if (!count.running_ns)
		count.error = PMC_REASON_NEVER_RAN;
	else
		count.state = count.running_ns < count.enabled_ns ? PMC_SCALED : PMC_COUNTED;
	return count;
}

void profile_take_counts(const struct pmc_p_eventset *set, unsigned n_groups,
			 struct pmc_cursor *cursor, bool was_on, struct pmc_count *counts)
{
	struct {
		struct pmc_count count;
		const uint8_t *values; /* NULL: none */
	} groups[PMC_EVENTS_MAX];

	for (unsigned g = 0; g < n_groups; g++) {
		struct pmc_reading reading = { 0 };

		pmc_cursor_bytes(cursor, &reading, sizeof(reading));
		groups[g].count = judge(&reading, set->group_size[g], was_on);
		groups[g].values = profile_words(cursor, reading.n);
		if (!has_values(&reading, set->group_size[g]))
			groups[g].values = NULL;
	}
	for (unsigned i = 0; i < set->n_parts; i++) {
		const struct set_part *part = &set->parts[i];
		const unsigned g = part->group;

		if (g < n_groups && part->state == PMC_COUNTED) {
			counts[i] = groups[g].count;
			if (groups[g].values)
				memcpy(&counts[i].raw, groups[g].values + part->index * 8, 8);
		} else if (part->state == PMC_COUNTED && g == PMC_NO_GROUP) {
			counts[i] = (struct pmc_count){ .state = PMC_NOT_COUNTED,
							.error = PMC_REASON_OS };
		} else if (g < n_groups || g >= PMC_SUM_GROUP) {
			counts[i] = (struct pmc_count){ .state = (enum pmc_state)part->state,
							.error = part->error };
		} else {
			counts[i] =
				(struct pmc_count){ .state = PMC_NOT_COUNTED, .error = EBADMSG };
		}
	}
	if (set->n_cores || set->n_sums)
		profile_sum_counts(set, counts);
}

/* Events of the OS, whose values are fields of the row; they were counted for on_ns. */
void profile_take_os(const struct pmc_p_eventset *set, const struct pmc_thread_fixed *fixed,
		     uint64_t on_ns, struct pmc_count *counts)
{
	const struct {
		uint64_t value;
		uint8_t flag;
	} fields[] = {
		[PMC_OS_RUN_DELAY] = { fixed->run_delay_ns, PMC_THREAD_DELAY },
		[PMC_OS_USER_TIME] = { fixed->user_ns, PMC_THREAD_TIMES },
		[PMC_OS_SYSTEM_TIME] = { fixed->system_ns, PMC_THREAD_TIMES },
	};

	for (unsigned i = 0; i < set->view.count; i++) {
		const struct pmc_event_def *def = &set->view.events[i].def;

		if (def->type != PMC_TYPE_OS)
			continue;
		if (fixed->reason == PMC_REASON_NOT_STARTED)
			counts[i].error = fixed->reason;
		else if (def->config < sizeof(fields) / sizeof(fields[0]) &&
			 fixed->flags & fields[def->config].flag)
			counts[i] = (struct pmc_count){ .raw = fields[def->config].value,
							.enabled_ns = on_ns,
							.running_ns = on_ns,
							.state = PMC_COUNTED };
	}
}

void profile_total(struct pmc_profile *profile, const struct table_frame *total, bool was_on,
		   struct pmc_p_remainder *counts)
{
	struct pmc_p_eventset *set;
	struct pmc_total_fixed fixed;
	struct pmc_cursor cursor;

	if (!total)
		return;
	pmc_frame_fixed(&total->frame, &fixed, sizeof(fixed));
	set = profile_find_set(profile, fixed.eventset);
	if (!set)
		return;
	counts->counts =
		pmc_arena_alloc(&profile->arena, (set->n_parts + 1) * sizeof(*counts->counts));
	pmc_cursor_init(&cursor, &total->frame);
	profile_take_counts(set, fixed.n_groups, &cursor, was_on, counts->counts);
	counts->set = &set->view;
}

uint64_t pmc_count_scaled(const struct pmc_count *count)
{
	uint64_t value = count->raw;

	if (count->added)
		return count->added;
	pmc_scaled(count->raw, count->enabled_ns, count->running_ns, &value);
	return value;
}
