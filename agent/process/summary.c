/* SPDX-License-Identifier: MIT */
/* summary.c - adds up the frames of a job and prints the result; see summary.h. */
#include "agent/process/summary.h"
#include "lib/base/number.h"
#include "lib/base/show.h"
#include "lib/base/sort.h"
#include "lib/base/utf8.h"
#include "lib/dump/row.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "agent/base/poison.h"

enum {
	THREADS = 20,	     /* at most so many threads have a row each; more become pools */
	POOLS = 256,	     /* further pools are in one row */
	LINES = THREADS + 3, /* others, unattributed, total */
	COLUMNS = 7 + PMC_EVENTS_MAX, /* thread or pool is not one of them */
	NAME_MOST = 40,		      /* columns of a command or an event's name */
	COMMAND_MOST = 60,	      /* bytes of a hint that repeats the command */
};

struct cell {
	uint64_t sum;
	bool known;  /* of at least one thread */
	bool lacks;  /* not known of another one */
	bool scaled; /* an estimate: multiplexed */
};

enum { CPU, VOLUNTARY, INVOLUNTARY, FAULTS, EVENTS };

struct row {
	char name[20], pool[20]; /* pool: with digits as '*' */
	bool many_names;
	uint32_t tid; /* of its first thread */
	uint64_t threads;
	struct cell cells[EVENTS + PMC_EVENTS_MAX];
};

/* An event that was asked for, perhaps counted in a part for each type of core. */
struct event {
	enum { NO_EVENT, NOT_COUNTED, COUNTED, OF_MACHINE } state;
	unsigned parts;
	uint64_t groups;	  /* of the parts, one bit each */
	struct pmc_event_def def; /* of its last part */
	const char *name, *unit;  /* without NUL */
	size_t name_len, unit_len;
};

struct part {
	unsigned event;
	uint16_t group;
	bool opened;
};

enum kind { THREAD, FIRST_IMAGE, CHILD };

/* The newest frame of a process or thread. */
struct newest {
	uint64_t key; /* 0: a free entry */
	uint64_t time_ns;
	enum kind kind;
};

struct summary {
	struct pmc_arena *arena;
	const uint8_t *job, *identity;
	bool adds;	      /* the second reading */
	struct newest *table; /* a hash table */
	size_t table_n, table_room;
	bool failed; /* no memory */
	/* The events of the first process, in the order in which they were asked for. */
	uint64_t eventset; /* 0: none */
	unsigned n_events, n_parts;
	struct event events[PMC_EVENTS_MAX];
	struct part parts[PMC_EVENTS_MAX];
	/* The result. Both kinds of rows are filled; one of them is printed. */
	unsigned n_pools;
	struct row threads[THREADS], pools[POOLS], others, total;
	uint64_t counted;		    /* threads */
	uint64_t seen, cpu_ns, overhead_ns; /* sums of the first process's images */
	uint64_t start_ns, end_ns, off_ns;
	uint64_t children, children_cpu_ns;
	uint64_t waited_cpu_ns; /* of children that the first process waited for */
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

static struct newest *find(const struct summary *s, uint64_t key)
{
	size_t at = (size_t)(key >> 7) & (s->table_room - 1);

	while (s->table[at].key && s->table[at].key != key)
		at = (at + 1) & (s->table_room - 1);
	return &s->table[at];
}

#define TABLE_MOST ((size_t)1 << 18)

static bool grow(struct summary *s)
{
	const struct newest *old = s->table;
	const size_t room = s->table_room;

	/* 12 MiB with the tables before: the program may have little memory left. */
	if (room >= TABLE_MOST)
		return false;
	s->table_room = room ? room * 2 : 1024;
	s->table = pmc_arena_alloc(s->arena, s->table_room * sizeof(*s->table));
	for (size_t i = 0; s->table && i < room; i++)
		if (old[i].key)
			*find(s, old[i].key) = old[i];
	return s->table;
}

/* First reading: keeps the time of the newest frame. Second reading: whether this is that frame,
 * and of that kind; each is that once. */
static bool is_newest(struct summary *s, uint64_t key, uint64_t time_ns, enum kind kind)
{
	struct newest *newest;

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
	*newest = (struct newest){ key, time_ns, kind };
	if (s->table_n * 2 > s->table_room)
		s->failed = !grow(s);
	return false;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void add_value(struct cell *cell, bool known, uint64_t value)
{
	cell->known |= known;
	cell->lacks |= !known;
	if (known)
		pmc_add_sat(&cell->sum, value);
}

static void add_row(struct row *to, const struct row *row, unsigned n_events)
{
	pmc_add_sat(&to->threads, row->threads);
	for (unsigned i = 0; i < EVENTS + n_events; i++) {
		pmc_add_sat(&to->cells[i].sum, row->cells[i].sum);
		to->cells[i].known |= row->cells[i].known;
		to->cells[i].lacks |= row->cells[i].lacks;
		to->cells[i].scaled |= row->cells[i].scaled;
	}
}

/* Adds a thread to the rows, to a pool and to the total. */
static void place(struct summary *s, const struct row *thread)
{
	struct row *pool = s->pools, *end = s->pools + s->n_pools;

	add_row(&s->total, thread, s->n_events);
	if (s->total.threads <= THREADS)
		s->threads[s->total.threads - 1] = *thread;
	while (pool < end && strcmp(pool->pool, thread->pool) != 0)
		pool++;
	if (pool < end) {
		pool->many_names |= strcmp(pool->name, thread->name) != 0;
		add_row(pool, thread, s->n_events);
	} else if (s->n_pools < POOLS) {
		s->pools[s->n_pools++] = *thread;
	} else {
		add_row(&s->others, thread, s->n_events);
	}
}

/* ---- events ------------------------------------------------------------------------------- */

/* The count of an event in a thread. */
struct count {
	uint64_t raw, enabled_ns, running_ns;
	unsigned parts; /* with a value */
};

/* The readings of n groups; a group that could not be read has no values. */
static void take_readings(const struct summary *s, const struct pmc_frame *frame, unsigned n,
			  struct count counts[PMC_EVENTS_MAX])
{
	const struct part *part = s->parts, *end = s->parts + s->n_parts;
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
static void add_count(const struct count *count, unsigned parts, bool was_on, struct cell *cell)
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
		       struct row *row)
{
	const bool times = fixed->flags & PMC_THREAD_TIMES, delay = fixed->flags & PMC_THREAD_DELAY;
	struct count counts[PMC_EVENTS_MAX] = { 0 };

	known &= fixed->eventset == s->eventset;
	take_readings(s, frame, known ? fixed->n_groups : 0, counts);
	for (unsigned i = 0; i < s->n_events; i++) {
		const struct pmc_event_def *def = &s->events[i].def;
		struct cell *cell = &row->cells[EVENTS + i];

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
static bool take_event(struct summary *s, struct pmc_cursor *cursor, struct part *part)
{
	struct pmc_event_def def;
	struct event *event;
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
	event->groups |= part->opened ? UINT64_C(1) << def.group % 64 : 0;
	if (def.error == PMC_REASON_UNCORE || def.error == PMC_REASON_UNCORE_FULL)
		event->state = OF_MACHINE;
	else if (part->opened || def.type == PMC_TYPE_OS)
		event->state = COUNTED;
	else if (event->state == NO_EVENT)
		event->state = NOT_COUNTED;
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

static void name_row(const struct summary *s, const struct pmc_frame *frame,
		     const struct pmc_thread_fixed *fixed, struct row *row)
{
	const bool own = memcmp(frame->head.identity, s->identity, 16) == 0;

	/* The name tells images apart that replaced each other by exec. */
	if (fixed->flags & PMC_THREAD_MAIN && own)
		memcpy(row->name, "(main)", sizeof("(main)"));
	else if (fixed->name[0])
		memcpy(row->name, fixed->name, sizeof(fixed->name));
	else
		memcpy(row->name, "(unnamed)", sizeof("(unnamed)"));
	pmc_pool_pattern(row->name, strlen(row->name), row->pool);
}

static void add_thread(struct summary *s, const struct pmc_frame *frame,
		       const struct pmc_thread_fixed *fixed)
{
	const uint64_t until = fixed->end_ns ? fixed->end_ns : fixed->time_ns;
	const bool phases = fixed->off_ns && fixed->start_ns;
	const bool was_on = phases && pmc_thread_on_ns(fixed, until);
	const bool known = !phases || was_on;
	const bool usage = known && !(fixed->flags & PMC_THREAD_NO_RUSAGE);
	struct row row = { .tid = fixed->tid, .threads = 1 };
	uint64_t faults = fixed->minor_faults;

	name_row(s, frame, fixed, &row);
	pmc_add_sat(&faults, fixed->major_faults);
	add_value(&row.cells[CPU], known && !(fixed->flags & PMC_THREAD_NO_CPU), fixed->cpu_ns);
	add_value(&row.cells[VOLUNTARY], usage, fixed->voluntary_switches);
	add_value(&row.cells[INVOLUNTARY], usage, fixed->involuntary_switches);
	add_value(&row.cells[FAULTS], usage, faults);
	add_events(s, frame, fixed, known, was_on, &row);
	s->counted += !fixed->reason && known;
	place(s, &row);
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
	if (is_newest(s, key_of(frame, fixed.seq), fixed.time_ns, THREAD) &&
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

struct summary *summary_new(struct pmc_arena *arena, const uint8_t job[16],
			    const uint8_t identity[16], const void *events, size_t bytes)
{
	struct summary *s = pmc_arena_alloc(arena, sizeof(*s));
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
	return grow(s) ? s : NULL;
}

void summary_read_again(struct summary *s)
{
	s->adds = true;
}

/* ---- lines -------------------------------------------------------------------------------- */

struct column {
	enum { NUMBER, SHARE, IPC, CELL } kind;
	unsigned cell; /* of IPC: that of instructions */
	unsigned by;   /* of IPC: that of cycles */
	double factor;
	struct pmc_scale scale;
	char head[64];
	int width;
};

struct page {
	struct summary *s;
	const struct summary_form *form;
	struct pmc_out *out;
	const char *command, *dot, *micro;
	char source[1024]; /* the command that shows all */
	bool numbers;	   /* of threads; else their IDs are shown */
	unsigned n_lines, n_columns, hidden;
	const char *labels[LINES];
	const struct row *lines[LINES];
	int label_width;
	struct row unattributed;
	struct column columns[COLUMNS];
	bool scaled, lacks;  /* marks that the table has */
	struct pmc_out line; /* of the footer, in text */
	char text[8192];
};

static void add_line(struct page *page, const char *label, const struct row *row)
{
	const int width = pmc_utf8_columns(label, strlen(label));

	if (page->label_width < width)
		page->label_width = width;
	page->labels[page->n_lines] = label;
	page->lines[page->n_lines++] = row;
}

static int by_cpu(const void *a, const void *b, const void *arg)
{
	const uint64_t x = (*(struct row *const *)a)->cells[CPU].sum,
		       y = (*(struct row *const *)b)->cells[CPU].sum;

	(void)arg;
	return (x < y) - (x > y);
}

/* The rows with most CPU time, then what the others have. */
static void add_rows(struct page *page)
{
	struct summary *s = page->s;
	const bool pools = s->total.threads > THREADS;
	const unsigned n = pools ? s->n_pools : (unsigned)s->total.threads;
	const struct row *sorted[POOLS], *scratch[POOLS];

	for (unsigned i = 0; i < n; i++)
		sorted[i] = pools ? &s->pools[i] : &s->threads[i];
	pmc_sort(sorted, scratch, n, sizeof(*sorted), by_cpu, NULL);
	for (unsigned i = 0; i < n; i++)
		if (i < THREADS)
			add_line(page, sorted[i]->many_names ? sorted[i]->pool : sorted[i]->name,
				 sorted[i]);
		else
			add_row(&s->others, sorted[i], s->n_events);
	if (s->others.threads)
		add_line(page, "(others)", &s->others);
}

/* Of what no row has, only the CPU time is known; where it is worth mentioning, the other sums lack
 * something. */
static void make_lines(struct page *page)
{
	struct summary *s = page->s;
	struct cell *cpu = &s->total.cells[CPU];
	const uint64_t rest_ns = pmc_sub_sat(s->cpu_ns, cpu->sum);

	page->numbers = !page->form->rows || s->total.threads > THREADS;
	if (page->form->rows)
		add_rows(page);
	page->unattributed.cells[CPU] = (struct cell){ rest_ns, .known = true };
	for (unsigned i = CPU + 1; i < EVENTS + s->n_events; i++)
		s->total.cells[i].lacks |= rest_ns > 1000000 && rest_ns > cpu->sum / 200;
	*cpu = (struct cell){ cpu->sum + rest_ns, .known = true };
	add_line(page, page->form->screen.ascii ? "- unattributed" : "─ unattributed",
		 &page->unattributed);
	add_line(page, "total", &s->total);
}

/* ---- columns ------------------------------------------------------------------------------ */

/* Without marks. A value that is not 0 is not printed as 0.00. */
static void put_value(const struct pmc_scale *scale, double value, struct pmc_out *out)
{
	static const double least[] = { 1, 0.1, 0.01, 0.001 };

	if (value > 0 && value / scale->divisor < least[scale->decimals & 3] / 2) {
		pmc_out_char(out, '<');
		value = least[scale->decimals & 3] * scale->divisor;
	}
	pmc_show_scaled(out, scale, value);
}

/* A cell of a row, or nothing. */
static void put_cell(struct page *page, const struct column *column, const struct row *row,
		     struct pmc_out *out)
{
	const struct cell *cell = &row->cells[column->cell], *by = &row->cells[column->by];
	const uint64_t all_ns = page->s->total.cells[CPU].sum;

	if (column->kind == NUMBER && page->numbers) {
		if (row->threads)
			pmc_show_integer(out, row->threads);
	} else if (column->kind == NUMBER) {
		if (row->tid)
			pmc_out_u64(out, row->tid);
	} else if (!cell->known || (column->kind == IPC && !by->sum)) {
		pmc_out_char(out, '-');
	} else if (column->kind == SHARE) {
		pmc_show_percent(out, all_ns ? 100 * (double)cell->sum / (double)all_ns : 0);
	} else {
		pmc_out_str(out, cell->scaled ? "~" : "");
		if (column->kind == IPC)
			pmc_out_fixed(out, (double)cell->sum / (double)by->sum, 2);
		else
			put_value(&column->scale, (double)cell->sum * column->factor, out);
		pmc_out_str(out, cell->lacks && column->kind == CELL ? "+" : "");
		page->scaled |= cell->scaled;
		page->lacks |= cell->lacks;
	}
}

/* The column is complete but for its width. */
static void add_column(struct page *page, struct column column)
{
	struct pmc_out out;
	char text[64];

	column.width = pmc_utf8_columns(column.head, strlen(column.head));
	for (unsigned i = 0; i < page->n_lines; i++) {
		pmc_out_to_mem(&out, text, sizeof(text));
		put_cell(page, &column, page->lines[i], &out);
		if ((int)out.len > column.width)
			column.width = (int)out.len;
	}
	page->columns[page->n_columns++] = column;
}

static void add_cells(struct page *page, const char *head, bool time, double factor, unsigned cell)
{
	const double most = (double)page->s->total.cells[cell].sum * factor;
	struct column column = { .kind = CELL, .cell = cell, .factor = factor };
	struct pmc_out out;

	column.scale = (struct pmc_scale){ 1, 0, "" };
	if (time)
		pmc_scale_time(&column.scale, most, page->micro);
	else if (most > 999999 || factor != 1)
		pmc_scale_count(&column.scale, most, factor != 1);
	pmc_out_to_mem(&out, column.head, sizeof(column.head));
	pmc_outf(&out, *column.scale.unit ? "%s %s" : "%s", head, column.scale.unit);
	add_column(page, column);
}

static void add_event(struct page *page, unsigned index)
{
	const struct event *event = &page->s->events[index];
	const bool time = event->unit_len == 2 && memcmp(event->unit, "ns", 2) == 0;
	char head[64];
	struct pmc_out out;

	pmc_out_to_mem(&out, head, sizeof(head));
	pmc_utf8_fit(&out, event->name, event->name_len, NAME_MOST, PMC_CUT_MIDDLE,
		     page->form->screen.ascii);
	if (event->def.flags & PMC_EVENT_FELL_BACK && event->def.scope == PMC_SCOPE_USER)
		pmc_out_str(&out, ":u");
	add_cells(page, head, time, event->def.scale, EVENTS + index);
}

static bool is_event(const struct event *event, uint32_t type, uint32_t config)
{
	/* The upper half is the PMU of one type of core. */
	return event->state == COUNTED && event->def.type == type &&
	       (uint32_t)event->def.config == config;
}

static void add_ipc(struct page *page)
{
	const struct event *events = page->s->events;

	for (unsigned i = 0; i < page->s->n_events; i++) {
		if (!is_event(&events[i], PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS))
			continue;
		for (unsigned j = 0; j < page->s->n_events; j++) {
			if (!is_event(&events[j], PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) ||
			    events[i].groups != events[j].groups)
				continue;
			add_column(page,
				   (struct column){ IPC, EVENTS + i, EVENTS + j, .head = "IPC" });
			return;
		}
	}
}

static bool is_too_wide(const struct page *page)
{
	int width = 2 + page->label_width;

	for (unsigned i = 0; i < page->n_columns; i++)
		width += 2 + page->columns[i].width;
	return width > pmc_screen_width(&page->form->screen);
}

/* Events beyond the width have no column; one that counts the whole machine has none here. */
static void make_columns(struct page *page)
{
	const struct summary *s = page->s;
	bool faults = false;
	unsigned first, end;

	add_column(page, page->numbers ? (struct column){ NUMBER, .head = "n" } :
					 (struct column){ NUMBER, .head = "tid" });
	add_cells(page, "cpu", true, 1, CPU);
	add_column(page, (struct column){ SHARE, CPU, .head = "%" });
	first = page->n_columns;
	for (unsigned i = 0; i < s->n_events; i++) {
		const struct event *event = &s->events[i];

		page->hidden += event->state == OF_MACHINE;
		faults |= is_event(event, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
		if (event->state == COUNTED ||
		    (event->state == NOT_COUNTED && !page->form->default_events))
			add_event(page, i);
	}
	end = page->n_columns;
	add_ipc(page);
	add_cells(page, "vol", false, 1, VOLUNTARY);
	add_cells(page, "invol", false, 1, INVOLUNTARY);
	if (!faults)
		add_cells(page, "page-faults", false, 1, FAULTS);
	for (; end > first && is_too_wide(page); end--) {
		memmove(&page->columns[end - 1], &page->columns[end],
			(page->n_columns-- - end) * sizeof(*page->columns));
		page->hidden++;
	}
}

/* ---- printing ----------------------------------------------------------------------------- */

static void put_table(struct page *page)
{
	struct pmc_out *to = page->out, out;
	char text[64];

	for (unsigned row = 0; row <= page->n_lines; row++) {
		const char *label = row ? page->labels[row - 1] : "thread";
		int width;

		pmc_out_str(to, "  ");
		width = pmc_utf8_fit(to, label, strlen(label), 0, PMC_CUT_END,
				     page->form->screen.ascii);
		pmc_out_pad(to, ' ', page->label_width - width);
		for (unsigned i = 0; i < page->n_columns; i++) {
			const struct column *column = &page->columns[i];

			pmc_out_to_mem(&out, text, sizeof(text));
			if (row)
				put_cell(page, column, page->lines[row - 1], &out);
			else
				pmc_out_str(&out, column->head);
			pmc_out_pad(to, ' ', 2 + column->width - pmc_utf8_columns(text, out.len));
			pmc_out_str(to, text);
		}
		pmc_out_char(to, '\n');
	}
	pmc_out_char(to, '\n');
}

/* Ends a line with what is printed. */
__attribute__((format(__printf__, 2, 3))) static void end_line(struct page *page,
							       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pmc_voutf(&page->line, format, args);
	va_end(args);
	pmc_show_wrapped(page->out, page->text, pmc_screen_width(&page->form->screen));
	pmc_out_to_mem(&page->line, page->text, sizeof(page->text));
}

static void put_share(struct page *page, uint64_t part, uint64_t whole)
{
	pmc_show_percent(&page->line, whole ? 100 * (double)part / (double)whole : 100);
}

static void put_title(struct page *page)
{
	const struct summary *s = page->s;
	const uint64_t wall_ns = pmc_sub_sat(pmc_sub_sat(s->end_ns, s->start_ns), s->off_ns);
	const double cpu_ns = (double)s->total.cells[CPU].sum;
	struct pmc_out *line = &page->line;

	pmc_out_str(line, " pmcagent: ");
	pmc_utf8_fit(line, page->command, strlen(page->command), NAME_MOST, PMC_CUT_END,
		     page->form->screen.ascii);
	pmc_out_str(line, "  ");
	pmc_show_time(line, (double)wall_ns, page->micro);
	pmc_outf(line, " wall%s", page->dot);
	pmc_show_time(line, cpu_ns, page->micro);
	pmc_out_str(line, " CPU (");
	pmc_out_fixed(line, wall_ns ? cpu_ns / (double)wall_ns : 0, 2);
	pmc_outf(line, " CPUs)%s", page->dot);
	pmc_show_count(line, s->total.threads, "thread", "threads");
	end_line(page, "\n");
}

static void put_coverage(struct page *page)
{
	const struct summary *s = page->s;
	const uint64_t all_ns = s->total.cells[CPU].sum,
		       rest_ns = page->unattributed.cells[CPU].sum;
	const uint64_t n = s->seen > s->total.threads ? s->seen : s->total.threads;

	pmc_out_str(&page->line, " coverage ");
	put_share(page, all_ns - rest_ns, all_ns);
	pmc_outf(&page->line, " %% of CPU%s%llu of ", page->dot, (unsigned long long)s->counted);
	pmc_show_count(&page->line, n, "thread counted", "threads counted");
	pmc_outf(&page->line, "%sagent overhead ", page->dot);
	put_share(page, s->overhead_ns, all_ns);
	end_line(page, " %%");
}

static void put_children(struct page *page)
{
	const struct summary *s = page->s;
	/* Those that were waited for include programs without the agent. */
	const uint64_t cpu_ns =
		s->waited_cpu_ns > s->children_cpu_ns ? s->waited_cpu_ns : s->children_cpu_ns;

	if (!s->children && (cpu_ns < 10000000 || cpu_ns < s->cpu_ns / 100))
		return;
	pmc_out_char(&page->line, ' ');
	if (s->children)
		pmc_show_count(&page->line, s->children, "child process, ", "child processes, ");
	else
		pmc_out_str(&page->line, "child processes, ");
	pmc_show_time(&page->line, (double)cpu_ns, page->micro);
	end_line(page, " CPU; %s shows %s", page->source, s->children == 1 ? "it" : "them");
}

static void put_uncounted(struct page *page)
{
	const struct summary *s = page->s;
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_events; i++) {
		if (s->events[i].state != NOT_COUNTED)
			continue;
		pmc_out_str(&page->line, n++ ? ", " : " not counted: ");
		pmc_utf8_fit(&page->line, s->events[i].name, s->events[i].name_len, NAME_MOST,
			     PMC_CUT_MIDDLE, page->form->screen.ascii);
	}
	if (n == s->n_events && n && page->form->default_events) {
		pmc_out_to_mem(&page->line, page->text, sizeof(page->text));
		end_line(page, " no hardware counters here (pmctl doctor)");
	} else if (n) {
		end_line(page, "; pmctl doctor says why");
	}
}

static void put_footer(struct page *page)
{
	const char *wanted = page->form->wanted;

	put_coverage(page);
	put_children(page);
	put_uncounted(page);
	end_line(page, " %s%s", page->form->dump ? "full report: " : "keep this run: ",
		 page->form->dump ? page->source : "PMC_OUT=run.pmc");
	if (wanted)
		end_line(
			page,
			" PMC_REPORT=%s: pmctl run --report %s prints that, or pmctl report from a "
			"dump",
			wanted, wanted);
	if (page->hidden)
		end_line(page, " %u more event%s; %s shows %s", page->hidden,
			 page->hidden > 1 ? "s" : "", page->source,
			 page->hidden > 1 ? "them" : "it");
	if (page->scaled)
		end_line(page, " ~: multiplexed; an estimate from a part of the time");
	if (page->lacks)
		end_line(page, " +: at least this much; not all of the CPU time was counted");
}

void summary_print(struct summary *s, const struct summary_form *form, struct pmc_out *out)
{
	struct page *page = pmc_arena_alloc(s->arena, sizeof(*page));
	struct pmc_out source;
	size_t at = strcspn(form->command, " ");

	if (!page)
		return;
	page->s = s;
	page->form = form;
	page->out = out;
	page->dot = form->screen.ascii ? ", " : " · ";
	page->micro = form->screen.ascii ? "us" : "µs";
	/* Without the directories of the program. */
	while (at && form->command[at - 1] != '/')
		at--;
	page->command = form->command + at;
	pmc_out_to_mem(&page->line, page->text, sizeof(page->text));
	pmc_out_to_mem(&source, page->source, sizeof(page->source));
	pmc_out_str(&source, form->dump ? "pmctl report " : "pmctl run -- ");
	if (form->dump)
		pmc_utf8_shell(&source, form->dump, form->screen.ascii);
	else if (strlen(page->command) > COMMAND_MOST) /* nobody types it again */
		pmc_out_str(&source, "CMD");
	else
		pmc_utf8_fit(&source, page->command, strlen(page->command), 0, PMC_CUT_END,
			     form->screen.ascii);
	make_lines(page);
	make_columns(page);
	put_title(page);
	put_table(page);
	put_footer(page);
}
