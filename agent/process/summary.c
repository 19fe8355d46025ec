/* SPDX-License-Identifier: MIT */
/* summary.c - adds up the frames of a job for its summary; see summary.h. */
#include "agent/process/summary.h"
#include "lib/dump/row.h"

#include <errno.h>
#include <string.h>

#include "agent/base/poison.h"

enum kind { THREAD, FIRST_IMAGE, CHILD };

struct summary_newest {
	uint64_t key; /* 0: a free entry */
	uint64_t time_ns;
	enum kind kind;
};

/* ---- the newest frame of each process and thread ------------------------------------------ */

/* Identities are random, so that half of one is enough. */
static uint64_t key_of(const struct pmc_frame *frame, uint64_t seq)
{
	uint64_t key;

	memcpy(&key, frame->head.identity, sizeof(key));
	key ^= (seq + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return key ? key : 1;
}

#define PROCESS_SEQ UINT64_MAX

static struct summary_newest *find(const struct summary *s, uint64_t key)
{
	size_t at = (size_t)(key >> 7) & (s->table_room - 1);

	while (s->table[at].key && s->table[at].key != key)
		at = (at + 1) & (s->table_room - 1);
	return &s->table[at];
}

#define TABLE_MOST ((size_t)1 << 18)

static bool grow(struct summary *s)
{
	const struct summary_newest *old = s->table;
	const size_t room = s->table_room;

	/* 12 MiB with the tables before: the program may have little memory left. */
	if (room >= TABLE_MOST)
		return false;
	s->table_room = room ? room * 2 : 1024;
	s->table = pmc_arena_alloc(&s->arena, s->table_room * sizeof(*s->table));
	for (size_t i = 0; s->table && i < room; i++)
		if (old[i].key)
			*find(s, old[i].key) = old[i];
	return s->table;
}

/* First reading: keeps the time of the newest frame. Second reading: whether this is that frame,
 * and of that kind; each is that once. */
static bool is_newest(struct summary *s, uint64_t key, uint64_t time_ns, enum kind kind)
{
	struct summary_newest *newest;

	if (s->failed)
		return false;
	newest = find(s, key);
	if (s->adds) {
		if (newest->key != key || newest->time_ns != time_ns || newest->kind != kind)
			return false;
		newest->time_ns = UINT64_MAX;
		return true;
	}
	if (newest->key && newest->time_ns > time_ns)
		return false;
	s->table_n += !newest->key;
	*newest = (struct summary_newest){ key, time_ns, kind };
	if (s->table_n * 2 > s->table_room)
		s->failed = !grow(s);
	return false;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void add_value(struct summary_cell *cell, bool known, uint64_t value)
{
	cell->known |= known;
	cell->lacks |= !known;
	if (known)
		pmc_add_sat(&cell->sum, value);
}

void summary_add_row(struct summary_row *to, const struct summary_row *row)
{
	pmc_add_sat(&to->threads, row->threads);
	for (unsigned i = 0; i < SUMMARY_EVENTS + PMC_EVENTS_MAX; i++) {
		pmc_add_sat(&to->cells[i].sum, row->cells[i].sum);
		to->cells[i].known |= row->cells[i].known;
		to->cells[i].lacks |= row->cells[i].lacks;
		to->cells[i].scaled |= row->cells[i].scaled;
	}
}

static struct summary_row *new_row(struct summary *s, const char *name, uint32_t tid)
{
	struct summary_row *row = &s->rows[s->n_rows++];

	memset(row, 0, sizeof(*row));
	memcpy(row->name, name, sizeof(row->name));
	pmc_pool_pattern(name, strlen(name), row->pool);
	row->tid = tid;
	return row;
}

static struct summary_row *pool_of(struct summary *s, const char *name)
{
	char pool[20] = "";

	pmc_pool_pattern(name, strlen(name), pool);
	for (unsigned i = 0; i < s->n_rows; i++) {
		if (strcmp(s->rows[i].pool, pool) != 0)
			continue;
		s->rows[i].many_names |= strcmp(s->rows[i].name, name) != 0;
		return &s->rows[i];
	}
	return s->n_rows < SUMMARY_POOLS ? new_row(s, name, 0) : &s->rest;
}

static void make_pools(struct summary *s)
{
	const unsigned n = s->n_rows;

	s->pools = true;
	s->n_rows = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct summary_row row = s->rows[i];

		summary_add_row(pool_of(s, row.name), &row);
	}
}

static struct summary_row *row_of(struct summary *s, const struct pmc_frame *frame,
				  const struct pmc_thread_fixed *fixed)
{
	const bool own = memcmp(frame->head.identity, s->identity, 16) == 0;
	char name[20] = "";

	/* The name tells images apart that replaced each other by exec. */
	if (fixed->flags & PMC_THREAD_MAIN && own)
		memcpy(name, "(main)", sizeof("(main)"));
	else if (fixed->name[0])
		memcpy(name, fixed->name, sizeof(fixed->name));
	else
		memcpy(name, "(unnamed)", sizeof("(unnamed)"));
	if (!s->pools && s->n_rows == SUMMARY_THREADS)
		make_pools(s);
	return s->pools ? pool_of(s, name) : new_row(s, name, fixed->tid);
}

/* ---- events ------------------------------------------------------------------------------- */

/* What an event counted in a thread. */
struct count {
	uint64_t raw, enabled_ns, running_ns;
	unsigned parts; /* with a value */
};

/* The readings of n groups; a group that could not be read has no values. */
static void take_readings(const struct summary *s, const struct pmc_frame *frame, unsigned n,
			  struct count counts[PMC_EVENTS_MAX])
{
	const struct summary_part *part = s->parts, *end = s->parts + s->n_parts;
	struct pmc_reading reading;
	struct pmc_cursor cursor;
	uint64_t value;

	pmc_cursor_init(&cursor, frame);
	for (unsigned g = 0; g < n; g++) {
		pmc_cursor_bytes(&cursor, &reading, sizeof(reading));
		for (unsigned i = 0; i < reading.n && pmc_cursor_bytes(&cursor, &value, 8); i++) {
			struct count *count;

			if (part == end || part->group != g)
				continue;
			count = &counts[part->event];
			count->parts += part++->opened;
			pmc_add_sat(&count->raw, value);
			pmc_add_sat(&count->running_ns, reading.running_ns);
			if (reading.enabled_ns > count->enabled_ns)
				count->enabled_ns = reading.enabled_ns;
		}
		while (part < end && part->group == g)
			part++;
	}
}

/* On a hybrid CPU an event stays enabled while its thread is on cores of another type: the times of
 * its parts add up. They are read one after the other: 1/1024 is no multiplexing. */
static void add_count(const struct count *count, unsigned parts, bool was_on,
		      struct summary_cell *cell)
{
	const uint64_t slack = parts > 1 ? count->enabled_ns >> 10 : 0;
	const bool ran = count->running_ns || (!count->enabled_ns && was_on);
	uint64_t value = count->raw;

	if (count->parts < parts || !ran) {
		add_value(cell, false, 0);
		return;
	}
	if (count->running_ns + slack < count->enabled_ns) {
		pmc_scaled(count->raw, count->enabled_ns, count->running_ns, &value);
		cell->scaled = true;
	}
	add_value(cell, true, value);
}

/* Counts of another event set, or of a time in which counting was off, are not known. */
static void add_events(const struct summary *s, const struct pmc_frame *frame,
		       const struct pmc_thread_fixed *fixed, bool known, bool was_on,
		       struct summary_row *row)
{
	const bool times = fixed->flags & PMC_THREAD_TIMES, delay = fixed->flags & PMC_THREAD_DELAY;
	struct count counts[PMC_EVENTS_MAX] = { 0 };

	known &= fixed->eventset == s->eventset;
	take_readings(s, frame, known ? fixed->n_groups : 0, counts);
	for (unsigned i = 0; i < s->n_events; i++) {
		const struct pmc_event_def *def = &s->events[i].def;
		struct summary_cell *cell = &row->cells[SUMMARY_EVENTS + i];

		if (def->type != PMC_TYPE_OS)
			add_count(&counts[i], s->events[i].parts, was_on, cell);
		else if (def->config == PMC_OS_RUN_DELAY)
			add_value(cell, known && delay, fixed->run_delay_ns);
		else
			add_value(cell, known && times,
				  def->config == PMC_OS_USER_TIME ? fixed->user_ns :
								    fixed->system_ns);
	}
}

/* The parts of one event have the same position in the list of the user. */
static bool take_event(struct summary *s, struct pmc_cursor *cursor, struct summary_part *part)
{
	struct pmc_event_def def;
	struct summary_event *event;
	const char *core_type;
	size_t len;

	pmc_cursor_bytes(cursor, &def, sizeof(def));
	event = &s->events[def.position % PMC_EVENTS_MAX];
	pmc_cursor_str(cursor, &event->name, &event->name_len);
	pmc_cursor_str(cursor, &event->unit, &event->unit_len);
	pmc_cursor_str(cursor, &core_type, &len);
	if (cursor->bad)
		return false;
	part->event = def.position % PMC_EVENTS_MAX;
	part->group = def.group;
	part->opened = def.group != PMC_NO_GROUP && def.state == PMC_COUNTED;
	event->parts++;
	if (def.error == PMC_REASON_UNCORE || def.error == PMC_REASON_UNCORE_FULL)
		event->state = SUMMARY_OF_MACHINE;
	else if (part->opened || def.type == PMC_TYPE_OS)
		event->state = SUMMARY_COUNTED;
	else if (event->state == SUMMARY_NO_EVENT)
		event->state = SUMMARY_NOT_COUNTED;
	event->def = def;
	if (s->n_events <= part->event)
		s->n_events = part->event + 1;
	return true;
}

static void take_events(struct summary *s, const struct pmc_frame *frame)
{
	struct pmc_eventset_fixed fixed;
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	s->eventset = frame->head.hash;
	pmc_cursor_init(&cursor, frame);
	while (s->n_parts < fixed.n_events && s->n_parts < PMC_EVENTS_MAX &&
	       take_event(s, &cursor, &s->parts[s->n_parts]))
		s->n_parts++;
}

/* ---- frames ------------------------------------------------------------------------------- */

static void add_thread(struct summary *s, const struct pmc_frame *frame,
		       const struct pmc_thread_fixed *fixed)
{
	const uint64_t until = fixed->end_ns ? fixed->end_ns : fixed->time_ns;
	const bool phases = fixed->off_ns && fixed->start_ns;
	const bool was_on = phases && pmc_thread_on_ns(fixed, until);
	const bool known = !phases || was_on;
	const bool usage = known && !(fixed->flags & PMC_THREAD_NO_RUSAGE);
	struct summary_row *row = row_of(s, frame, fixed);
	uint64_t faults = fixed->minor_faults;

	pmc_add_sat(&faults, fixed->major_faults);
	row->threads++;
	add_value(&row->cells[SUMMARY_CPU], known && !(fixed->flags & PMC_THREAD_NO_CPU),
		  fixed->cpu_ns);
	add_value(&row->cells[SUMMARY_VOLUNTARY], usage, fixed->voluntary_switches);
	add_value(&row->cells[SUMMARY_INVOLUNTARY], usage, fixed->involuntary_switches);
	add_value(&row->cells[SUMMARY_FAULTS], usage, faults);
	s->counted += !fixed->reason && known;
	if (s->n_events)
		add_events(s, frame, fixed, known, was_on, row);
}

/* An image of the first process. */
static void add_image(struct summary *s, const struct pmc_process_fixed *fixed)
{
	s->seen += fixed->threads_seen;
	pmc_add_sat(&s->cpu_ns, fixed->cpu_ns);
	pmc_add_sat(&s->overhead_ns, fixed->overhead_ns);
	pmc_add_sat(&s->off_ns, fixed->off_ns);
	if (!s->start_ns || fixed->start_ns < s->start_ns)
		s->start_ns = fixed->start_ns;
	if (fixed->time_ns >= s->end_ns) {
		s->end_ns = fixed->time_ns;
		s->waited_cpu_ns = fixed->children_cpu_ns;
	}
}

static void take_process(struct summary *s, const struct pmc_frame *frame)
{
	struct pmc_process_fixed fixed;
	enum kind kind;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	kind = fixed.flags & PMC_PROCESS_FIRST ? FIRST_IMAGE : CHILD;
	if (memcmp(fixed.job, s->job, sizeof(fixed.job)) != 0 ||
	    !is_newest(s, key_of(frame, PROCESS_SEQ), fixed.time_ns, kind))
		return;
	if (kind == FIRST_IMAGE) {
		add_image(s, &fixed);
		return;
	}
	/* A child that was replaced by exec goes on as its next image. */
	s->children += fixed.how_ended != PMC_ENDED_EXEC;
	pmc_add_sat(&s->children_cpu_ns, fixed.cpu_ns);
}

static void take_thread(struct summary *s, const struct pmc_frame *frame)
{
	struct pmc_thread_fixed fixed;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	/* From PMC_SEQ_OUTSIDE on: rows of pmctl dump, which the agent's replace. */
	if (fixed.seq < PMC_SEQ_OUTSIDE &&
	    is_newest(s, key_of(frame, fixed.seq), fixed.time_ns, THREAD) &&
	    find(s, key_of(frame, PROCESS_SEQ))->kind == FIRST_IMAGE)
		add_thread(s, frame, &fixed);
}

int summary_take(const struct pmc_frame *frame, void *arg)
{
	struct summary *s = arg;

	if (frame->head.version != PMC_DUMP_VERSION)
		return 0;
	if (frame->head.type == PMC_FRAME_PROCESS)
		take_process(s, frame);
	else if (frame->head.type == PMC_FRAME_THREAD)
		take_thread(s, frame);
	return s->failed ? -ENOMEM : 0;
}

struct summary *summary_new(const uint8_t job[16], const uint8_t identity[16], const void *events,
			    size_t bytes)
{
	struct pmc_arena arena = { 0 };
	struct summary *s = pmc_arena_alloc(&arena, sizeof(*s));
	struct pmc_frame frame;

	if (!s)
		return NULL;
	s->arena = arena;
	s->job = job;
	s->identity = identity;
	if (events) {
		pmc_frame_view(&frame, events, bytes);
		take_events(s, &frame);
	}
	if (grow(s))
		return s;
	summary_free(s);
	return NULL;
}

void summary_free(struct summary *s)
{
	struct pmc_arena arena = s->arena;

	pmc_arena_free(&arena);
}
