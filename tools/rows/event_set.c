/* SPDX-License-Identifier: MIT */
/*
 * event_set.c - EVENTSET frames, and readings as counts of their events.
 *
 * Events may be counted in parts: per core type of a hybrid CPU, per CPU of an uncore PMU. An event
 * of one core type stays enabled while its thread is on another type, without running
 * (kernel/events/core.c: it is inactive in the thread's context). So running < enabled does not
 * mean multiplexing as long as the types together ran all the time, and scaling by enabled /
 * running would include time on other types. Events are scaled to the thread's time on their type.
 */
#include "lib/base/out.h"
#include "lib/base/sort.h"
#include "tools/rows/tables.h"

#include <errno.h>
#include <string.h>

/* Groups are read one after the other: a difference of 1/1024 is not multiplexing. */
#define SLACK(ns) ((ns) >> 10)

/* Bounds the memory that a forged dump can take. */
#define CPUS_MAX 1024

/* An event, and where its count is in readings. */
struct set_slot {
	struct pmc_p_event event;
	struct set_part part;
};

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
	struct pmc_cursor cursor = profile_parts(frame, &fixed, sizeof(fixed));

	if (fixed.n_events > PMC_EVENTS_MAX || fixed.n_groups > fixed.n_events)
		return false;
	set->view.hash = frame->head.hash;
	set->n_parts = fixed.n_events;
	set->n_groups = fixed.n_groups;
	for (unsigned i = 0; i < fixed.n_events; i++) {
		struct pmc_p_event *event = &slots[i].event;
		struct pmc_event_def *def = &event->def;
		unsigned group;

		pmc_cursor_bytes(&cursor, def, sizeof(*def));
		event->name = profile_text(arena, &cursor);
		event->unit = profile_text(arena, &cursor);
		event->core_type = profile_text(arena, &cursor);
		group = def->group;
		if (cursor.bad || def->scope > PMC_SCOPE_KERNEL ||
		    (group != PMC_NO_GROUP && group >= fixed.n_groups))
			return false;
		event->cpus = "";
		if (def->flags & PMC_EVENT_UNCORE) {
			event->cpus = event->core_type;
			event->core_type = "";
		}
		def->flags &= (uint16_t)~PMC_EVENT_SUM;
		slots[i].part.group = def->group;
		slots[i].part.accounted = def->flags & PMC_EVENT_ACCOUNTED;
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

/* ---- events of several parts ------------------------------------------------------------ */

static void number_cores(struct pmc_p_eventset *set, struct set_slot *slots)
{
	for (unsigned i = 0; i < set->n_parts; i++) {
		const char *type = slots[i].event.core_type;
		unsigned same = 0;

		if (!type[0])
			continue;
		while (same < i && strcmp(slots[same].event.core_type, type) != 0)
			same++;
		slots[i].part.core = same < i ? slots[same].part.core : (uint8_t)++set->n_cores;
	}
}

/* The number of events from `first` on that are one event on different core types or CPUs. */
static unsigned count_parts(const struct set_slot *slots, unsigned n, unsigned first)
{
	const struct pmc_p_event *event = &slots[first].event;
	unsigned end = first + 1;

	for (; end < n; end++) {
		const struct pmc_p_event *next = &slots[end].event;

		if (next->def.position != event->def.position ||
		    strcmp(next->name, event->name) != 0 ||
		    !next->core_type[0] != !event->core_type[0])
			break;
		for (unsigned i = first; i < end; i++)
			if (!strcmp(slots[i].event.core_type, next->core_type) &&
			    !strcmp(slots[i].event.cpus, next->cpus))
				return end - first;
	}
	return end - first;
}

static const char *join_cpus(struct pmc_arena *arena, const struct set_slot *slots, unsigned n)
{
	struct pmc_out out = PMC_OUT_MEM(CPUS_MAX);

	for (unsigned i = 0; i < n; i++)
		pmc_outf(&out, i ? ",%s" : "%s", slots[i].event.cpus);
	return pmc_arena_strndup(arena, out.buf, out.len);
}

/* Inserts the sum of the n events from `slots` on before them. Parts per CPU are not shown. */
static void insert_sum(struct pmc_p_eventset *set, struct set_slot *slots, unsigned left,
		       unsigned n, struct pmc_arena *arena)
{
	struct set_slot *sum = slots;
	unsigned opened = 0;

	memmove(slots + 1, slots, left * sizeof(*slots));
	while (opened < n && slots[1 + opened].part.group == PMC_NO_GROUP)
		opened++;
	sum->event = slots[1 + opened % n].event;
	sum->part = (struct set_part){ .group = PMC_SUM_GROUP, .index = (uint16_t)n };
	if (sum->event.core_type[0]) {
		sum->event.core_type = "";
		sum->event.def.flags |= PMC_EVENT_SUM;
		/* The upper half of config is the PMU of one core type. */
		sum->event.def.config &= UINT32_MAX;
	} else {
		sum->event.cpus = join_cpus(arena, slots + 1, n);
		for (unsigned i = 1; i <= n; i++)
			slots[i].part.hidden = set->has_hidden = true;
	}
	set->n_parts++;
	set->n_sums++;
}

/* Slots are set->n_parts in the user's order, with room for PMC_SET_EVENTS_MAX. */
static void insert_sums(struct pmc_p_eventset *set, struct set_slot *slots, struct pmc_arena *arena)
{
	number_cores(set, slots);
	for (unsigned i = 0; i < set->n_parts; i++) {
		unsigned n = count_parts(slots, set->n_parts, i);

		if (n < 2)
			continue;
		insert_sum(set, slots + i, set->n_parts - i, n, arena);
		i += n;
	}
}

/* ---- sets ------------------------------------------------------------------------------- */

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
	insert_sums(&parsed, slots, arena);
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

/* ---- counts of several parts ------------------------------------------------------------ */

struct cores {
	uint64_t enabled; /* the longest of any group */
	uint64_t all;	  /* sum of most[] */
	struct {
		uint64_t most, sum; /* running time of the longest group; of all groups */
		uint64_t time;	    /* estimated time on this type */
		bool open;
	} of[PMC_EVENTS_MAX + 1];
};

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void add_groups(const struct pmc_p_eventset *set, const struct pmc_count *counts,
		       struct cores *cores)
{
	bool seen[PMC_EVENTS_MAX] = { false };

	for (unsigned i = 0; i < set->n_parts; i++) {
		const struct pmc_count *count = &counts[i];
		__typeof__(cores->of[0]) *of = &cores->of[set->parts[i].core];
		const unsigned group = set->parts[i].group;

		if (!set->parts[i].core || !count->enabled_ns || seen[group])
			continue;
		seen[group] = of->open = true;
		if (count->enabled_ns > cores->enabled)
			cores->enabled = count->enabled_ns;
		if (count->running_ns > of->most)
			of->most = count->running_ns;
		pmc_add_sat(&of->sum, count->running_ns);
	}
	for (unsigned c = 1; c <= set->n_cores; c++)
		pmc_add_sat(&cores->all, cores->of[c].most);
}

/*
 * The time on each type. Running times of groups that take turns add up to it; of groups that run
 * together, to more, so it is limited to the time that the other types leave. If there are groups
 * of all types, the times are scaled to add up to the enabled time.
 */
static void share_time(const struct pmc_p_eventset *set, struct cores *cores)
{
	const uint64_t enabled = cores->enabled;
	bool whole = set->n_sums > 0, exact = cores->all + SLACK(enabled) >= enabled;
	unsigned __int128 sum = 0;

	for (unsigned c = 1; c <= set->n_cores; c++) {
		__typeof__(cores->of[0]) *of = &cores->of[c];
		uint64_t others = cores->all - of->most;

		of->time = exact ? of->most : at_most(of->sum, pmc_sub_sat(enabled, others));
		sum += of->time;
		whole = whole && of->open;
	}
	for (unsigned c = 1; c <= set->n_cores && whole && !exact && sum; c++) {
		__typeof__(cores->of[0]) *of = &cores->of[c];
		uint64_t time = (uint64_t)((unsigned __int128)of->time * enabled / sum);

		of->time = time > of->most ? time : of->most;
	}
}

/* Whether the thread was on other types all the time: then this type counted 0. */
static bool never_there(const struct cores *cores, unsigned core, unsigned n)
{
	uint64_t sum = 0;

	if (!cores->of[core].open || cores->of[core].most)
		return false;
	for (unsigned c = 1; c <= n; c++)
		sum += at_most(cores->of[c].sum, cores->enabled);
	return sum && sum + SLACK(cores->enabled) >= cores->enabled;
}

static void settle(const struct pmc_p_eventset *set, const struct cores *cores, unsigned core,
		   struct pmc_count *count)
{
	uint64_t time = cores->of[core].time;

	if (!count->enabled_ns)
		return;
	if (never_there(cores, core, set->n_cores)) {
		*count = (struct pmc_count){ .state = PMC_COUNTED };
	} else if (count->running_ns) {
		bool all = count->running_ns + SLACK(time) >= time;

		count->enabled_ns = all ? count->running_ns : time;
		count->state = all ? PMC_COUNTED : PMC_SCALED;
	}
}

static void add_up(const struct pmc_p_eventset *set, const struct cores *cores, unsigned at,
		   struct pmc_count *counts)
{
	const struct pmc_count *missing = NULL;
	struct pmc_count sum = { .state = PMC_COUNTED };
	bool any = false;

	for (unsigned i = at + 1; i <= at + set->parts[at].index; i++) {
		const struct pmc_count *count = &counts[i];

		if (!pmc_count_has_value(count)) {
			/* A type the thread never ran on does not spoil the sum. */
			if (!missing && !never_there(cores, set->parts[i].core, set->n_cores))
				missing = count;
			continue;
		}
		any = true;
		if (count->state == PMC_SCALED)
			sum.state = PMC_SCALED;
		pmc_add_sat(&sum.raw, count->raw);
		pmc_add_sat(&sum.added, pmc_count_value(count));
		pmc_add_sat(&sum.enabled_ns, count->enabled_ns);
		pmc_add_sat(&sum.running_ns, count->running_ns);
	}
	if (sum.state == PMC_COUNTED)
		sum.added = 0;
	/* A hybrid sum is not unsupported where one type counts the event. */
	if (missing)
		sum = (struct pmc_count){
			.state = any && set->n_cores ? PMC_NOT_COUNTED : missing->state,
			.error = missing->error,
		};
	counts[at] = sum;
}

/* Scales counts per core type to the time on it, fills in the sums and removes hidden parts. */
static void sum_counts(const struct pmc_p_eventset *set, struct pmc_count *counts)
{
	struct cores cores = { 0 };
	unsigned shown = 0;

	if (set->n_cores)
		add_groups(set, counts, &cores);
	if (cores.all) {
		share_time(set, &cores);
		for (unsigned i = 0; i < set->n_parts; i++)
			if (set->parts[i].core)
				settle(set, &cores, set->parts[i].core, &counts[i]);
	}
	for (unsigned i = 0; i < set->n_parts; i++)
		if (set->parts[i].group == PMC_SUM_GROUP)
			add_up(set, &cores, i, counts);
	for (unsigned i = 0; set->has_hidden && i < set->n_parts; i++)
		if (!set->parts[i].hidden)
			counts[shown++] = counts[i];
}

/* ---- counts of a set -------------------------------------------------------------------- */

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
		} else if (part->state == PMC_COUNTED && (g == PMC_NO_GROUP || part->accounted)) {
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
		sum_counts(set, counts);
}

void profile_total(struct pmc_profile *profile, const struct table_frame *total, bool was_on,
		   struct pmc_p_remainder *counts)
{
	struct pmc_p_eventset *set;
	struct pmc_total_fixed fixed;
	struct pmc_cursor cursor;

	if (!total)
		return;
	cursor = profile_parts(&total->frame, &fixed, sizeof(fixed));
	set = profile_find_set(profile, fixed.eventset);
	if (!set)
		return;
	counts->counts =
		pmc_arena_alloc(&profile->arena, (set->n_parts + 1) * sizeof(*counts->counts));
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
