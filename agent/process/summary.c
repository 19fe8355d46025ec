/* SPDX-License-Identifier: MIT */
/* summary.c - adds up the frames of a job and prints the result; see summary.h. */
#include "agent/process/summary.h"
#include "lib/base/number.h"
#include "lib/base/show.h"
#include "lib/base/sort.h"
#include "lib/base/utf8.h"
#include "lib/dump/words.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "agent/base/poison.h"

enum {
	THREADS = 20,	     /* at most so many threads have a row each; more become pools */
	POOLS = 256,	     /* further pools are in one row */
	LINES = THREADS + 3, /* others, unattributed, total */
	NUMBER = 9,	     /* columns of a number at least: ~1.71G+ */
	COLUMNS = 7 + PMC_EVENTS_MAX, /* thread or pool is not one of them */
	NAME_MOST = 40,		      /* columns of a command or an event's name */
};

struct cell {
	double sum;
	bool known;  /* of at least one thread */
	bool lacks;  /* not known of another one */
	bool scaled; /* an estimate: multiplexed */
};

enum { THREAD, CPU, VOLUNTARY, INVOLUNTARY, FAULTS, EVENTS };

struct row {
	char name[20]; /* of a pool with '*' for digits */
	/* Those of events are in the order of the user's list. */
	struct cell cells[EVENTS + PMC_EVENTS_MAX];
};

/* An event that was asked for, perhaps counted in a part for each type of core. */
struct event {
	unsigned parts;
	bool counted;
	bool of_machine;		/* no thread counts it */
	const struct pmc_planned *last; /* of its parts */
};

enum kind { ROW, FIRST_IMAGE, CHILD };

/* The newest frame of a thread or process. */
struct newest {
	uint64_t key; /* 0: a free entry */
	uint64_t time_ns;
	enum kind kind;
};

struct column {
	enum { SHARE, IPC, TIME, COUNT } kind;
	unsigned cell; /* of IPC: that of instructions */
	unsigned by;   /* of IPC: that of cycles */
	char head[64];
	int width;
};

struct summary {
	const uint8_t *job, *identity;
	const struct pmc_plan *plan;
	struct pmc_arena *arena;
	bool adds;	      /* the second reading */
	bool failed;	      /* no memory */
	struct newest *table; /* a hash table */
	size_t table_n, table_room;
	unsigned n_events;
	struct event events[PMC_EVENTS_MAX];
	/* The result. */
	bool pools; /* the rows are of pools, not of threads */
	unsigned n_rows;
	struct row rows[POOLS], others, unattributed, total;
	uint64_t counted;		    /* threads */
	uint64_t seen, cpu_ns, overhead_ns; /* sums of the first process's images */
	uint64_t start_ns, end_ns, off_ns;
	uint64_t children, children_cpu_ns;
	uint64_t waited_cpu_ns; /* of children that the first process waited for */
	/* The page. */
	const struct summary_form *form;
	struct pmc_out *out;
	const char *dot, *micro;
	unsigned n_lines, n_columns, hidden;
	const struct row *lines[LINES];
	int label_width, width;
	struct column columns[COLUMNS];
	bool scaled, lacks;  /* marks that the table has */
	struct pmc_out line; /* of the footer, in text */
	char text[8192];
};

/* ---- the newest frame of each process and thread ------------------------------------------ */

#define PROCESS_SEQ UINT64_MAX
/* 12 MiB with the tables before: the program may have little memory left. */
#define TABLE_MOST ((size_t)1 << 18)

/* Identities are random, so that half of one is enough. */
static uint64_t key_of(const struct pmc_frame *frame, uint64_t seq)
{
	uint64_t key;

	memcpy(&key, frame->head.identity, sizeof(key));
	key ^= (seq + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return key ? key : 1;
}

static struct newest *find(const struct summary *s, uint64_t key)
{
	size_t at = (size_t)(key >> 7) & (s->table_room - 1);

	while (s->table[at].key && s->table[at].key != key)
		at = (at + 1) & (s->table_room - 1);
	return &s->table[at];
}

static void grow(struct summary *s)
{
	const struct newest *old = s->table;
	const size_t room = s->table_room;

	s->table_room = room ? room * 2 : 1024;
	s->table = room < TABLE_MOST ?
			   pmc_arena_alloc(s->arena, s->table_room * sizeof(*s->table)) :
			   NULL;
	s->failed = !s->table;
	for (size_t i = 0; s->table && i < room; i++)
		if (old[i].key)
			*find(s, old[i].key) = old[i];
}

/* First reading: keeps the time of the newest frame. Second reading: whether this is that frame,
 * and of that kind; each is that once. */
static bool is_newest(struct summary *s, uint64_t key, uint64_t time_ns, enum kind kind)
{
	struct newest *newest = find(s, key);

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
		grow(s);
	return false;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void add_value(struct cell *cell, bool known, double value)
{
	cell->known |= known;
	cell->lacks |= !known;
	cell->sum += known ? value : 0;
}

static void add_row(struct row *to, const struct row *row)
{
	for (unsigned i = 0; i < EVENTS + PMC_EVENTS_MAX; i++) {
		to->cells[i].sum += row->cells[i].sum;
		to->cells[i].known |= row->cells[i].known;
		to->cells[i].lacks |= row->cells[i].lacks;
		to->cells[i].scaled |= row->cells[i].scaled;
	}
}

static void place_in_pool(struct summary *s, struct row row)
{
	struct row *pool = s->rows, *end = s->rows + s->n_rows;
	char name[sizeof(row.name)];

	memcpy(name, row.name, sizeof(name));
	memset(row.name, 0, sizeof(row.name));
	pmc_pool_pattern(name, strlen(name), row.name);
	while (pool < end && strcmp(pool->name, row.name) != 0)
		pool++;
	if (pool < end)
		add_row(pool, &row);
	else if (s->n_rows < POOLS)
		s->rows[s->n_rows++] = row;
	else
		add_row(&s->others, &row);
}

static void place(struct summary *s, const struct row *thread)
{
	add_row(&s->total, thread);
	if (!s->pools && s->n_rows == THREADS) {
		s->pools = true;
		s->n_rows = 0;
		for (unsigned i = 0; i < THREADS; i++)
			place_in_pool(s, s->rows[i]);
	}
	if (s->pools)
		place_in_pool(s, *thread);
	else
		s->rows[s->n_rows++] = *thread;
}

/* ---- events ------------------------------------------------------------------------------- */

/* The count of an event in a thread. */
struct count {
	uint64_t raw, enabled_ns, running_ns;
	unsigned parts; /* with a value */
};

/* The readings of n groups; a group that could not be read has no values. */
static void take_readings(const struct pmc_plan *plan, const struct pmc_frame *frame, unsigned n,
			  struct count counts[PMC_EVENTS_MAX])
{
	struct pmc_reading reading;
	struct pmc_cursor cursor;
	uint64_t value;

	pmc_cursor_init(&cursor, frame);
	for (unsigned g = 0; g < n && g < plan->readings; g++) {
		const unsigned end = plan->first[g + 1];
		unsigned at = plan->first[g];

		pmc_cursor_bytes(&cursor, &reading, sizeof(reading));
		for (unsigned i = 0; i < reading.n && pmc_cursor_bytes(&cursor, &value, 8); i++) {
			const struct pmc_planned *planned;
			struct count *count;

			if (at >= end)
				continue;
			planned = &plan->events[at++];
			count = &counts[planned->event.position];
			count->parts += planned->state == PMC_COUNTED;
			pmc_add_sat(&count->raw, value);
			pmc_add_sat(&count->running_ns, reading.running_ns);
			if (reading.enabled_ns > count->enabled_ns)
				count->enabled_ns = reading.enabled_ns;
		}
	}
}

/* On a hybrid CPU an event stays enabled while its thread is on cores of another type: the times of
 * its parts add up. They are read one after the other: 1/1024 is no multiplexing. */
static void add_count(const struct count *count, const struct event *event, bool was_on,
		      struct cell *cell)
{
	const uint64_t slack = event->parts > 1 ? count->enabled_ns >> 10 : 0;
	const bool ran = count->running_ns || (!count->enabled_ns && was_on);
	double value = (double)count->raw;

	cell->scaled = ran && count->running_ns + slack < count->enabled_ns;
	if (cell->scaled)
		value *= (double)count->enabled_ns / (double)count->running_ns;
	add_value(cell, count->parts == event->parts && ran, value * event->last->event.scale);
}

/* Counts of another event set, or of a time in which counting was off, are not known. */
static void add_events(const struct summary *s, const struct pmc_frame *frame,
		       const struct pmc_thread_fixed *fixed, bool known, bool was_on,
		       struct row *row)
{
	struct count counts[PMC_EVENTS_MAX] = { 0 };

	known &= fixed->eventset == s->plan->hash;
	take_readings(s->plan, frame, known ? fixed->n_groups : 0, counts);
	for (unsigned i = 0; i < s->n_events; i++)
		if (s->events[i].last)
			add_count(&counts[i], &s->events[i], was_on, &row->cells[EVENTS + i]);
}

/* The parts of one event have the same position in the list of the user. */
static void take_plan(struct summary *s)
{
	for (unsigned i = 0; i < s->plan->count; i++) {
		const struct pmc_planned *planned = &s->plan->events[i];
		struct event *event = &s->events[planned->event.position];

		event->parts++;
		event->last = planned;
		event->of_machine = planned->error == PMC_REASON_UNCORE;
		event->counted |= planned->state == PMC_COUNTED;
		if (s->n_events <= planned->event.position)
			s->n_events = planned->event.position + 1;
	}
}

/* ---- frames ------------------------------------------------------------------------------- */

static void name_row(const struct summary *s, const struct pmc_frame *frame,
		     const struct pmc_thread_fixed *fixed, struct row *row)
{
	const bool own = memcmp(frame->head.identity, s->identity, 16) == 0;
	/* The name tells images apart that replaced each other by exec. */
	const char *name = fixed->flags & PMC_THREAD_MAIN && own ? "(main)" :
			   fixed->name[0]			 ? fixed->name :
								   "(unnamed)";

	memcpy(row->name, name, strnlen(name, sizeof(fixed->name)));
}

static void add_thread(struct summary *s, const struct pmc_frame *frame,
		       const struct pmc_thread_fixed *fixed)
{
	const uint64_t until = fixed->end_ns ? fixed->end_ns : fixed->time_ns;
	const bool phases = fixed->off_ns && fixed->start_ns;
	const bool was_on = phases && pmc_thread_on_ns(fixed, until);
	const bool known = !phases || was_on;
	const bool usage = known && !(fixed->flags & PMC_THREAD_NO_RUSAGE);
	struct row row = { .name = "" };

	name_row(s, frame, fixed, &row);
	add_value(&row.cells[THREAD], true, 1);
	add_value(&row.cells[CPU], known && !(fixed->flags & PMC_THREAD_NO_CPU),
		  (double)fixed->cpu_ns);
	add_value(&row.cells[VOLUNTARY], usage, (double)fixed->voluntary_switches);
	add_value(&row.cells[INVOLUNTARY], usage, (double)fixed->involuntary_switches);
	add_value(&row.cells[FAULTS], usage,
		  (double)fixed->minor_faults + (double)fixed->major_faults);
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
	if (is_newest(s, key_of(frame, fixed.seq), fixed.time_ns, ROW) &&
	    find(s, key_of(frame, PROCESS_SEQ))->kind == FIRST_IMAGE)
		add_thread(s, frame, &fixed);
}

__attribute__((cold)) int summary_take(const struct pmc_frame *frame, void *arg)
{
	struct summary *s = arg;

	if (s->failed)
		return -ENOMEM;
	if (frame->head.version != PMC_DUMP_VERSION)
		return 0;
	if (frame->head.type == PMC_FRAME_PROCESS)
		take_process(s, frame);
	else if (frame->head.type == PMC_FRAME_THREAD)
		take_thread(s, frame);
	return 0;
}

void summary_read_again(struct summary *s)
{
	s->adds = true;
}

struct summary *summary_new(struct pmc_arena *arena, const uint8_t job[16],
			    const uint8_t identity[16], const struct pmc_plan *plan)
{
	struct summary *s = pmc_arena_alloc(arena, sizeof(*s));

	if (!s)
		return NULL;
	s->job = job;
	s->identity = identity;
	s->plan = plan;
	s->arena = arena;
	take_plan(s);
	grow(s);
	return s->failed ? NULL : s;
}

/* ---- the table ---------------------------------------------------------------------------- */

static void add_line(struct summary *s, const struct row *row)
{
	const int width = pmc_utf8_columns(row->name, strlen(row->name));

	if (s->label_width < width)
		s->label_width = width;
	s->lines[s->n_lines++] = row;
}

static int by_cpu(const void *a, const void *b, const void *arg)
{
	const double x = (*(struct row *const *)a)->cells[CPU].sum,
		     y = (*(struct row *const *)b)->cells[CPU].sum;

	(void)arg;
	return (x < y) - (x > y);
}

/* The rows with most CPU time, then what the others have. */
static void add_rows(struct summary *s)
{
	const struct row *sorted[POOLS], *scratch[POOLS];

	for (unsigned i = 0; i < s->n_rows; i++)
		sorted[i] = &s->rows[i];
	pmc_merge_runs((char *)sorted, (char *)scratch, s->n_rows, sizeof(*sorted), by_cpu, NULL);
	for (unsigned i = 0; i < s->n_rows; i++)
		if (i < THREADS)
			add_line(s, sorted[i]);
		else
			add_row(&s->others, sorted[i]);
	memcpy(s->others.name, "(others)", sizeof("(others)"));
	if (s->others.cells[THREAD].known)
		add_line(s, &s->others);
}

/* Of what no row has, only the CPU time is known; where it is worth mentioning, the other sums lack
 * something. */
static void make_lines(struct summary *s)
{
	struct cell *cpu = &s->total.cells[CPU];
	const double rest_ns = (double)s->cpu_ns > cpu->sum ? (double)s->cpu_ns - cpu->sum : 0;
	const char *unattributed = s->form->screen.ascii ? "- unattributed" : "─ unattributed";

	if (s->form->rows)
		add_rows(s);
	memcpy(s->unattributed.name, unattributed, strlen(unattributed) + 1);
	memcpy(s->total.name, "total", sizeof("total"));
	s->unattributed.cells[CPU] = (struct cell){ rest_ns, .known = true };
	for (unsigned i = VOLUNTARY; i < EVENTS + s->n_events; i++)
		s->total.cells[i].lacks |= rest_ns > 1000000 && rest_ns > cpu->sum / 200;
	*cpu = (struct cell){ cpu->sum + rest_ns, .known = true };
	add_line(s, &s->unattributed);
	add_line(s, &s->total);
}

static void add_column(struct summary *s, struct column column)
{
	column.width = 2 + pmc_utf8_columns(column.head, strlen(column.head));
	if (column.width < NUMBER)
		column.width = NUMBER;
	if (s->width + column.width > pmc_screen_width(&s->form->screen)) {
		s->hidden++;
		return;
	}
	s->width += column.width;
	s->columns[s->n_columns++] = column;
}

static void put_name(struct summary *s, const struct pmc_event *event, struct pmc_out *out)
{
	pmc_utf8_fit(out, event->name, strlen(event->name), NAME_MOST, PMC_CUT_MIDDLE,
		     s->form->screen.ascii);
}

static void add_event(struct summary *s, unsigned index)
{
	const struct pmc_planned *last = s->events[index].last;
	const bool time = strcmp(last->event.unit, "ns") == 0;
	struct column column = { .kind = time ? TIME : COUNT, .cell = EVENTS + index };
	struct pmc_out out = pmc_out_mem(column.head, sizeof(column.head));

	put_name(s, &last->event, &out);
	if (last->flags & PMC_EVENT_FELL_BACK && last->scope == PMC_SCOPE_USER)
		pmc_out_str(&out, ":u");
	pmc_out_str(&out, time ? " ms" : "");
	add_column(s, column);
}

/* The cell of a counted event; 0: it was not asked for. */
static unsigned find_event(const struct summary *s, uint32_t type, uint32_t config)
{
	for (unsigned i = 0; i < s->n_events; i++)
		/* The upper half of config is the PMU of one type of core. */
		if (s->events[i].counted && s->events[i].last->event.type == type &&
		    (uint32_t)s->events[i].last->event.config == config)
			return EVENTS + i;
	return 0;
}

/* The columns that fit. An event that counts the whole machine has none here. */
static void make_columns(struct summary *s)
{
	const unsigned cycles = find_event(s, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
		       done = find_event(s, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	s->width = 2 + s->label_width;
	if (s->pools || !s->form->rows)
		add_column(s, (struct column){ COUNT, THREAD, .head = "n" });
	add_column(s, (struct column){ TIME, CPU, .head = "cpu ms" });
	add_column(s, (struct column){ SHARE, CPU, .head = "%" });
	add_column(s, (struct column){ COUNT, VOLUNTARY, .head = "vol" });
	add_column(s, (struct column){ COUNT, INVOLUNTARY, .head = "invol" });
	if (!find_event(s, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS))
		add_column(s, (struct column){ COUNT, FAULTS, .head = "page-faults" });
	if (cycles && done)
		add_column(s, (struct column){ IPC, done, cycles, .head = "IPC" });
	for (unsigned i = 0; i < s->n_events; i++) {
		if (s->events[i].of_machine)
			s->hidden++;
		else if (s->events[i].counted)
			add_event(s, i);
	}
}

static void put_share(struct pmc_out *out, double part, double whole)
{
	pmc_show_percent(out, whole > 0 ? 100 * part / whole : 100);
}

static void put_cell(struct summary *s, const struct column *column, const struct row *row,
		     struct pmc_out *out)
{
	const struct cell *cell = &row->cells[column->cell], *by = &row->cells[column->by];

	/* A ratio of sums over different threads has no meaning. */
	if (!cell->known || (column->kind == IPC && (!(by->sum > 0) || cell->lacks != by->lacks))) {
		pmc_out_char(out, '-');
		return;
	}
	if (column->kind == SHARE) {
		put_share(out, cell->sum, s->total.cells[CPU].sum);
		return;
	}
	s->scaled |= cell->scaled;
	pmc_out_str(out, cell->scaled ? "~" : "");
	if (column->kind == IPC) {
		pmc_out_fixed(out, cell->sum / by->sum, 2);
		return;
	}
	if (column->kind == TIME)
		pmc_out_fixed(out, cell->sum / 1e6, 2);
	else
		pmc_show_number(out, cell->sum);
	s->lacks |= cell->lacks;
	pmc_out_str(out, cell->lacks ? "+" : "");
}

static void put_table(struct summary *s)
{
	struct pmc_out *to = s->out, out;
	char text[64];

	for (unsigned row = 0; row <= s->n_lines; row++) {
		const char *label = row ? s->lines[row - 1]->name : "thread";
		int width;

		pmc_out_str(to, "  ");
		width = pmc_utf8_fit(to, label, strlen(label), 0, PMC_CUT_END,
				     s->form->screen.ascii);
		pmc_out_pad(to, ' ', s->label_width - width);
		for (unsigned i = 0; i < s->n_columns; i++) {
			const struct column *column = &s->columns[i];

			pmc_out_to_mem(&out, text, sizeof(text));
			if (row)
				put_cell(s, column, s->lines[row - 1], &out);
			else
				pmc_out_str(&out, column->head);
			pmc_out_pad(to, ' ', column->width - 1 - pmc_utf8_columns(text, out.len));
			pmc_out_char(to, ' ');
			pmc_out_str(to, text);
		}
		pmc_out_char(to, '\n');
	}
	pmc_out_char(to, '\n');
}

/* ---- lines around it ---------------------------------------------------------------------- */

__attribute__((format(__printf__, 2, 3))) static void end_line(struct summary *s,
							       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pmc_voutf(&s->line, format, args);
	va_end(args);
	pmc_show_wrapped(s->out, s->text, pmc_screen_width(&s->form->screen));
	pmc_out_to_mem(&s->line, s->text, sizeof(s->text));
}

static void put_title(struct summary *s)
{
	const char *command = s->form->command;
	const double wall_ns = (double)pmc_sub_sat(pmc_sub_sat(s->end_ns, s->start_ns), s->off_ns);
	const double cpu_ns = s->total.cells[CPU].sum;
	struct pmc_out *line = &s->line;
	size_t at = strcspn(command, " ");

	/* Without the directories of the program. */
	while (at && command[at - 1] != '/')
		at--;
	pmc_out_str(line, " pmcagent: ");
	pmc_utf8_fit(line, command + at, strlen(command + at), NAME_MOST, PMC_CUT_END,
		     s->form->screen.ascii);
	pmc_out_str(line, "  ");
	pmc_show_time(line, wall_ns, s->micro);
	pmc_outf(line, " wall%s", s->dot);
	pmc_show_time(line, cpu_ns, s->micro);
	pmc_out_str(line, " CPU");
	pmc_show_cpus(line, wall_ns > 0 ? cpu_ns / wall_ns : 0);
	pmc_out_str(line, s->dot);
	pmc_show_count(line, (uint64_t)s->total.cells[THREAD].sum, "thread", "threads");
	end_line(s, "\n");
}

static void put_coverage(struct summary *s)
{
	const double all_ns = s->total.cells[CPU].sum, rest_ns = s->unattributed.cells[CPU].sum;
	const uint64_t rows = (uint64_t)s->total.cells[THREAD].sum;
	const uint64_t n = s->seen > rows ? s->seen : rows;

	pmc_out_str(&s->line, " coverage ");
	put_share(&s->line, all_ns - rest_ns, all_ns);
	pmc_outf(&s->line, " %% of CPU%s%llu of ", s->dot, (unsigned long long)s->counted);
	pmc_show_count(&s->line, n, "thread counted", "threads counted");
	pmc_outf(&s->line, "%sagent overhead ", s->dot);
	put_share(&s->line, (double)s->overhead_ns, all_ns);
	end_line(s, " %%");
}

static void put_children(struct summary *s)
{
	/* Those that were waited for include programs without the agent. */
	const uint64_t cpu_ns =
		s->waited_cpu_ns > s->children_cpu_ns ? s->waited_cpu_ns : s->children_cpu_ns;

	if (!s->children && (cpu_ns < 10000000 || cpu_ns < s->cpu_ns / 100))
		return;
	pmc_out_char(&s->line, ' ');
	if (s->children)
		pmc_show_count(&s->line, s->children, "child process, ", "child processes, ");
	else
		pmc_out_str(&s->line, "child processes, ");
	pmc_show_time(&s->line, (double)cpu_ns, s->micro);
	end_line(s, " CPU");
}

static void put_uncounted(struct summary *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_events; i++) {
		if (s->events[i].counted || s->events[i].of_machine || !s->events[i].last)
			continue;
		pmc_out_str(&s->line, n++ ? ", " : " not counted: ");
		put_name(s, &s->events[i].last->event, &s->line);
	}
	if (n)
		end_line(s, "; pmctl doctor says why");
}

static void put_footer(struct summary *s)
{
	const char *wanted = s->form->wanted;

	put_coverage(s);
	put_children(s);
	put_uncounted(s);
	if (s->form->dump) {
		pmc_out_str(&s->line, " full report: pmctl report ");
		pmc_utf8_shell(&s->line, s->form->dump, s->form->screen.ascii);
		end_line(s, "%s", "");
	} else {
		end_line(s, " keep this run: PMC_OUT=run.pmc; full report: pmctl run");
	}
	if (wanted)
		end_line(
			s,
			" PMC_REPORT=%s: pmctl run --report %s prints that, or pmctl report from a "
			"dump",
			wanted, wanted);
	if (s->hidden)
		end_line(s, " %u more column%s in the full report", s->hidden,
			 s->hidden > 1 ? "s" : "");
	if (s->scaled)
		end_line(s, " ~: multiplexed; an estimate from a part of the time");
	if (s->lacks)
		end_line(s, " +: at least this much; not all of the CPU time was counted");
}

void summary_print(struct summary *s, const struct summary_form *form, struct pmc_out *out)
{
	s->form = form;
	s->out = out;
	s->dot = form->screen.ascii ? ", " : " · ";
	s->micro = form->screen.ascii ? "us" : "µs";
	pmc_out_to_mem(&s->line, s->text, sizeof(s->text));
	make_lines(s);
	make_columns(s);
	put_title(s);
	put_table(s);
	put_footer(s);
}
