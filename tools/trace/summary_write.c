/* SPDX-License-Identifier: MIT */
/* summary_write.c - rows of --summary: pools, the table, JSON, and who woke the threads. */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/rows/fold.h"
#include "tools/table/histogram.h"
#include "tools/trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MOST_ROWS    40
#define MOST_THREADS 20 /* more: pools, unless threads are asked for */
#define MOST_CHAINS  10
#define MOST_LINKS   5
#define NAME_COLUMNS 15 /* of threads */
#define LEAST_NAME   4	/* of a name that is cut */
/* The width of the columns beside that of reasons: of those that stay, of all. */
#define OTHER_COLUMNS 61
#define ALL_COLUMNS   150
#define LEAST_ROOM    16
#define MOST_ROOM     24 /* while others are hidden */

/* ---- pools ---------------------------------------------------------------------------------- */

static struct trace_thread *pool_of(struct trace_summary *summary, struct trace_thread **pools,
				    const struct trace_thread *thread)
{
	struct pmc_arena *arena = &summary->trace->arena;
	const bool is_main = thread->tid && thread->tid == summary->main_tid;
	const char *name = is_main ? "(main)" : thread->name;
	char key[sizeof(thread->pattern)];
	struct trace_thread *pool;
	size_t n = pmc_pool_pattern(name, strnlen(name, 15), key);

	/* A NUL between them. */
	memset(key + n, 0, sizeof(key) - n);
	key[sizeof(key) - 1] = thread->wanted;
	HASH_ENTRY(*pools, pattern, key, pool);
	/* The name of its threads while all have the same. */
	if (!pool->pool)
		strcpy(pool->name, name);
	else if (strcmp(pool->name, name) != 0)
		strcpy(pool->name, pool->pattern);
	pool->wanted = thread->wanted;
	return pool->pool = pool;
}

static void add_thread(struct trace_summary *summary, struct trace_thread *pool,
		       const struct trace_thread *thread)
{
	pool->threads++;
	pool->still |= thread->still;
	pool->oncpu_ns += thread->oncpu_ns;
	pool->delay_ns += thread->delay_ns;
	pool->preempted += thread->preempted;
	pool->unseen += thread->unseen;
	pool->waited += thread->waited;
	pool->blocked_ns += thread->blocked_ns;
	pmc_histogram_merge(&summary->trace->arena, &pool->delays, &thread->delays);
	for (const struct unwind_wait *p = thread->blocked; p; p = p->next)
		unwind_wait_add(&summary->trace->unwind, &pool->blocked, p->key.of, 0, p->n, p->ns);
	for (const struct unwind_wait *p = thread->stacks; p; p = p->next)
		unwind_wait_add(&summary->trace->unwind, &pool->stacks, p->key.of, 0, p->n, p->ns);
	trace_waits_fold(summary, pool, thread);
}

/* Each thread gets its pool; with `rows` these take the place of the threads in summary->last. */
static void make_pools(struct trace_summary *summary, bool rows)
{
	struct trace_thread *pools = NULL, *threads = summary->last;

	for (struct trace_thread *t = summary->no_thread; t < summary->no_thread + N_NO_THREADS;
	     t++)
		t->pool = t;
	for (struct trace_thread *t = threads; t; t = t->next)
		t->pool = pool_of(summary, &pools, t);
	if (!rows)
		return;
	/* Threads of the target that have no row are not counted. */
	for (struct trace_thread *t = threads; t; t = t->next)
		if (!t->wanted || trace_is_row(t))
			add_thread(summary, t->pool, t);
	summary->last = NULL;
	for (struct trace_thread *pool = pools; pool; pool = pool->hh.next) {
		pool->next = summary->last;
		summary->last = pool;
	}
}

static int most_time(const struct unwind_wait *a, const struct unwind_wait *b)
{
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static int longest_first(const struct trace_wait *a, const struct trace_wait *b)
{
	return (a->ns < b->ns) - (a->ns > b->ns);
}

void trace_waits_sort(struct unwind_wait **list)
{
	LL_SORT(*list, most_time);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* As many as fit in `room` columns, 0: all: "futex 93 %, read 7 %". The first is cut if it is too
 * long. */
static struct table_cell reasons_cell(struct pmc_arena *arena, const struct trace_thread *t,
				      int room)
{
	struct pmc_out out = PMC_OUT_MEM(512);

	room = room ? room : (int)out.cap;
	for (const struct unwind_wait *p = t->blocked; p; p = p->next) {
		const char *name = p->key.of;
		unsigned part = trace_percent(p->ns, t->blocked_ns);
		int columns = (int)strlen(name), left = room - (part > 99 ? 6 : part > 9 ? 5 : 4);

		left -= out.len ? 2 : 0;
		if ((out.len && columns > left) || !part)
			break;
		left = left > LEAST_NAME ? left : LEAST_NAME;
		pmc_out_str(&out, out.len ? ", " : "");
		columns = pmc_utf8_safe(&out, name, strlen(name), left);
		pmc_outf(&out, " %u %%", part);
		room = left - columns;
	}
	return cell_textn(pmc_arena_strndup(arena, out.buf, out.len), out.len);
}

struct table_cell trace_time(const struct trace_thread *t, uint64_t ns)
{
	struct table_cell cell = cell_number(true, ns);

	cell.estimate = t->unseen != 0;
	return cell;
}

/* The longest one is known exactly. */
struct table_cell trace_percentile(const struct pmc_histogram *of, unsigned percent)
{
	return cell_number(of->n, pmc_histogram_percentile(of, percent));
}

enum { NAME, PID, TID, THREADS, ONCPU, BLOCKED = 9, IN = 16 };

static void fill_row(struct pmc_arena *arena, struct table_cell to[TRACE_COLUMNS],
		     const struct trace_thread *t)
{
	const struct table_cell cells[TRACE_COLUMNS] = {
		cell_text(t->name),
		cell_number(!t->threads && t->pid, t->pid),
		cell_number(!t->threads, t->tid),
		cell_number(t->threads, t->threads),
		trace_time(t, t->oncpu_ns),
		trace_time(t, t->delay_ns),
		trace_percentile(&t->delays, 50),
		trace_percentile(&t->delays, 99),
		trace_percentile(&t->delays, 100),
		trace_time(t, t->blocked_ns),
		trace_percentile(&t->blocks, 50),
		trace_percentile(&t->blocks, 99),
		trace_percentile(&t->blocks, 100),
		cell_number(true, t->waited),
		cell_number(true, t->preempted),
		cell_number(true, t->unseen),
		reasons_cell(arena, t, 0),
	};

	memcpy(to, cells, sizeof(cells));
}

#define NUMBER(title, at) TABLE_COLUMN(title, at, .unit = TABLE_WHOLE, .data = true)
/* Of a high rank: hidden early. */
#define PERCENTILE(title, shown, at, rank)                                                         \
	TABLE_COLUMN(title, at, .head = shown, .unit = TABLE_TIME, .drop = TABLE_DROP_USAGE,       \
		     .place = rank)
const struct table_column trace_columns[TRACE_COLUMNS] = {
	TABLE_COLUMN("name", NAME, .head = "thread"),
	TABLE_COLUMN("pid", PID, .unit = TABLE_ID, .data = true),
	TABLE_COLUMN("tid", TID, .unit = TABLE_ID),
	TABLE_COLUMN("threads", THREADS, .unit = TABLE_WHOLE),
	TRACE_TIME("oncpu_ns", "on CPU", ONCPU, .together = true),
	TRACE_TIME("run_delay_ns", "delay", 5, .together = true),
	PERCENTILE("run_delay_p50_ns", "delay p50", 6, 5),
	PERCENTILE("run_delay_p99_ns", "delay p99", 7, 1),
	PERCENTILE("longest_run_delay_ns", "longest delay", 8, 3),
	TRACE_TIME("blocked_ns", "blocked", BLOCKED, .together = true),
	PERCENTILE("blocked_p50_ns", "blocked p50", 10, 6),
	PERCENTILE("blocked_p99_ns", "blocked p99", 11, 2),
	PERCENTILE("longest_blocked_ns", "longest blocked", 12, 4),
	NUMBER("voluntary_switches", 13),
	NUMBER("involuntary_switches", 14),
	NUMBER("unseen_switches", 15),
	TABLE_COLUMN("blocked_in", IN, .head = "in"),
};

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_wakers(struct pmc_json *json, const struct trace_summary *summary,
		       const struct trace_thread *t)
{
	pmc_json_array(json, "woken_by");
	for (const struct trace_wait *p = t->waits; p; p = p->next) {
		const struct trace_thread *by = p->key.waker;

		if (!trace_is_waker(summary, by))
			continue;
		pmc_json_object(json, NULL);
		if (!by->threads)
			pmc_json_u64(json, "tid", by->tid);
		pmc_json_str(json, "name", by->name);
		pmc_json_str(json, "cause", live_cause_name((enum live_cause)p->key.cause));
		pmc_json_u64(json, "count", p->lengths.n);
		pmc_json_u64(json, "wait_ns", p->ns);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

static void put_column(struct pmc_json *json, struct trace *trace, struct trace_thread *t,
		       const struct table_column *column, const struct table_cell *cell)
{
	if (column->index == NAME) {
		pmc_json_str(json, t->threads ? "pool" : "name", t->name);
	} else if (column->index == BLOCKED) {
		pmc_json_object(json, "blocked_ns");
		for (const struct unwind_wait *p = t->blocked; p; p = p->next)
			pmc_json_u64(json, p->key.of, p->ns);
		pmc_json_object_end(json);
	} else if (column->index == IN && trace->stacks) {
		trace_stacks_json(trace, t, json);
	} else if (column->index == IN) {
		pmc_json_strn(json, "blocked_in", cell->text, cell->len);
	} else {
		pmc_json_known(json, column->name, cell->kind == CELL_NUMBER, cell->number);
	}
}

/* Whether the column is in the JSON of this row if the user chose no columns. */
static bool is_told(const struct trace *trace, const struct trace_thread *t, unsigned column)
{
	if (column == PID || column == TID)
		return !t->threads;
	return column == THREADS ? t->threads : column != IN || trace->stacks;
}

/* Members of the JSON that are no columns. */
static void put_rest(struct pmc_json *json, const struct trace_summary *summary,
		     const struct trace_thread *t)
{
	pmc_json_u64(json, "switches", t->waited + t->preempted);
	table_histogram_json(json, "run_delay_histogram", &t->delays);
	table_histogram_json(json, "blocked_histogram", &t->blocks);
	put_wakers(json, summary, t);
}

static void put_json(struct trace *trace, struct trace_thread *t, const struct table *table,
		     const struct table_cell *cells)
{
	const bool chosen = trace->rows.choice.columns;
	struct pmc_json json;

	pmc_json_init(&json, &trace->rows.out);
	pmc_json_object(&json, NULL);
	for (unsigned i = 0; i < table->n_columns; i++) {
		const struct table_column *column = &table->columns[i];

		if (chosen || is_told(trace, t, column->index))
			put_column(&json, trace, t, column, &cells[column->index]);
	}
	if (!chosen)
		put_rest(&json, trace->summary, t);
	pmc_json_object_end(&json);
	pmc_out_char(&trace->rows.out, '\n');
}

/* ---- wakers --------------------------------------------------------------------------------- */

/* Who ended most of the waiting of a row: a thread, or threads of one pool together. */
struct waker {
	const struct trace_thread *by; /* the one with most of it; NULL: nobody */
	unsigned threads, part;
};

/* Waits of one waker for several causes are several of the list. */
static bool is_first(const struct trace_thread *t, const struct trace_wait *wait)
{
	const struct trace_wait *p = t->waits;

	while (p->key.waker != wait->key.waker)
		p = p->next;
	return p == wait;
}

static struct waker main_waker(const struct trace_summary *summary, const struct trace_thread *t)
{
	struct waker most = { .by = NULL };
	uint64_t all = 0;

	for (const struct trace_wait *p = t->waits; p; p = p->next)
		memset(&p->key.waker->pool->sum, 0, sizeof(t->sum));
	for (const struct trace_wait *p = t->waits; p; p = p->next) {
		struct trace_thread *pool = p->key.waker->pool;

		if (!trace_is_waker(summary, p->key.waker))
			continue;
		pool->sum.n += is_first(t, p);
		pool->sum.ns += p->ns;
		all += p->ns;
	}
	for (const struct trace_wait *p = t->waits; p; p = p->next) {
		const struct trace_thread *by = p->key.waker;

		if (trace_is_waker(summary, by) &&
		    (!most.by || by->pool->sum.ns > most.by->pool->sum.ns))
			most = (struct waker){ .by = by, .threads = by->pool->sum.n };
	}
	most.part = most.by ? trace_percent(most.by->pool->sum.ns, all) : 0;
	return most;
}

static int put_name(struct pmc_out *out, const char *name)
{
	return pmc_utf8_safe(out, name, strlen(name), NAME_COLUMNS);
}

static void put_waker(struct pmc_out *out, const struct waker *waker)
{
	pmc_out_str(out, " <- ");
	put_name(out, waker->threads > 1 ? waker->by->pool->name : waker->by->name);
	if (waker->threads > 1)
		pmc_outf(out, " (%u threads)", waker->threads);
	else if (!waker->by->threads && waker->by->tid)
		pmc_outf(out, " %u", waker->by->tid);
	pmc_outf(out, " %u %%", waker->part);
}

/* Who ended most of its waiting, who that one's, and so on: up to an interrupt, or a thread or
 * threads of a pool that are in the line already. */
static void put_chain(struct pmc_out *out, const struct trace_summary *summary,
		      const struct trace_thread *t, int width, bool *any)
{
	const struct trace_thread *seen[MOST_LINKS + 1] = { t };
	struct waker waker = main_waker(summary, t);
	const int start = NAME_COLUMNS + 8;
	int column = start;

	if (!waker.by)
		return;
	pmc_out_str(out, *any ? "" : "\nwoken by, and share of the time waited:\n");
	*any = true;
	pmc_out_pad(out, ' ', NAME_COLUMNS - put_name(out, t->name));
	pmc_outf(out, " %7u", t->threads ? t->threads : t->tid);
	for (unsigned n = 1; n <= MOST_LINKS && waker.by; n++) {
		bool last = waker.by == &summary->no_thread[BY_INTERRUPT];
		struct pmc_out link = PMC_OUT_MEM(128);
		int columns;

		put_waker(&link, &waker);
		columns = pmc_utf8_columns(link.buf, link.len);
		/* Goes on below the first waker where the line ends. */
		if (column > start && column + columns > width) {
			pmc_out_char(out, '\n');
			pmc_out_pad(out, ' ', start);
			column = start;
		}
		pmc_out_bytes(out, link.buf, link.len);
		column += columns;
		for (unsigned i = 0; i < n; i++)
			last |= seen[i] == waker.by ||
				(waker.threads > 1 && seen[i]->pool == waker.by->pool);
		seen[n] = waker.by;
		waker = last ? (struct waker){ .by = NULL } : main_waker(summary, waker.by);
	}
	pmc_out_char(out, '\n');
}

/* ---- the table ------------------------------------------------------------------------------ */

static void put_head(struct trace *trace, struct trace_thread *const *list,
		     const struct table *table, uint64_t wall_ns)
{
	struct pmc_out *out = &trace->rows.out;
	const uint64_t n = table->n_rows + table->n_more;
	uint64_t threads = 0;

	for (uint64_t i = 0; i < n; i++)
		threads += list[table->order[i]]->threads;
	if (trace->by == TRACE_BY_POOL)
		table_say(out, &table->screen, "%n %(pool|pools) of %n %(thread|threads) in ", n,
			  threads);
	else
		table_say(out, &table->screen, "%n %(thread|threads) in ", n);
	pmc_out_fixed(out, (double)wall_ns / 1e6, 1);
	pmc_out_str(out, " ms\n\n");
}

void trace_put_notes(struct trace *trace, const struct table *table, uint64_t unseen)
{
	struct pmc_out *out = &trace->rows.out;
	const uint64_t asleep = trace->summary->asleep;

	tool_rows_put_left_out(&trace->rows, table);
	if (asleep)
		table_say(out, &table->screen, "%n other %(thread|threads) slept throughout\n",
			  asleep);
	if (trace_lost(trace))
		table_say(out, &table->screen,
			  "~: %n %(record was|records were) lost, and switches with them; a long "
			  "time may be a sum (-m N: larger rings)\n",
			  trace_lost(trace));
	else if (unseen)
		table_say(out, &table->screen,
			  "~: %n %(switch was|switches were) not recorded: these times may be "
			  "wrong by up to a wait each\n",
			  unseen);
}

static void put_table(struct trace *trace, struct trace_thread *const *list, struct table *table,
		      struct table_cell *cells, uint64_t wall_ns)
{
	struct pmc_out *out = &trace->rows.out;
	const bool text = trace->rows.format == TRACE_TEXT;
	const int width = pmc_screen_width(&table->screen);
	int room = width - OTHER_COLUMNS;
	uint64_t unseen = 0;
	bool any = false;

	if (room > MOST_ROOM)
		room = width - ALL_COLUMNS > MOST_ROOM ? width - ALL_COLUMNS : MOST_ROOM;
	if (room < LEAST_ROOM)
		room = LEAST_ROOM;
	for (uint64_t i = 0; i < table->n_rows; i++)
		cells[table->order[i] * TRACE_COLUMNS + IN] =
			reasons_cell(&trace->arena, list[table->order[i]], room);
	table_layout(table);
	put_head(trace, list, table, wall_ns);
	if (text)
		table_put_head(table, out);
	else
		table_print(table, TABLE_MARKDOWN, out);
	for (uint64_t i = 0; i < table->n_rows; i++) {
		unseen += list[table->order[i]]->unseen;
		if (!text)
			continue;
		table_put_rows(table, i, i + 1, out);
		trace_stacks_line(trace, list[table->order[i]], width);
	}
	trace_put_notes(trace, table, unseen);
	for (uint64_t i = 0; i < table->n_rows && i < MOST_CHAINS && text; i++)
		put_chain(out, trace->summary, list[table->order[i]], width, &any);
}

/* In the chosen format; columns of the table are those of the rows there are. */
static int put_all(struct trace *trace, struct trace_thread *const *list, size_t n,
		   uint64_t wall_ns)
{
	struct table_cell *cells =
		pmc_arena_alloc(&trace->arena, n * TRACE_COLUMNS * sizeof(*cells));
	struct table_cells rows = { .cells = cells, .n = TRACE_COLUMNS };
	struct table_column named[TRACE_COLUMNS];
	struct table table = {
		.columns = named, .n_columns = TRACE_COLUMNS, .n_rows = n, .arena = &trace->arena
	};
	const bool lost = trace_lost(trace) != 0;
	int code;

	for (size_t i = 0; i < n; i++) {
		struct table_cell *row = cells + i * TRACE_COLUMNS;

		fill_row(&trace->arena, row, list[i]);
		/* Of any thread; a hole in its records is one turn, wait or run delay. */
		for (unsigned c = ONCPU; lost && c < IN; c++)
			row[c].estimate = true;
	}
	table_set_cells(&table, &rows);
	memcpy(named, trace_columns, sizeof(trace_columns));
	if (trace->by == TRACE_BY_POOL)
		named[0].head = "pool";
	if (!trace->rows.choice.sort)
		trace->rows.choice.sort = "oncpu_ns";
	code = tool_rows_choose(&trace->rows, &table, 0);
	if (code)
		return code;
	table.screen = trace->rows.screen;
	if (trace->rows.format == TRACE_JSON)
		for (uint64_t i = 0; i < table.n_rows; i++)
			put_json(trace, list[table.order[i]], &table,
				 cells + table.order[i] * TRACE_COLUMNS);
	else if (tool_rows_is_table(&trace->rows))
		put_table(trace, list, &table, cells, wall_ns);
	else if (trace->rows.format == TRACE_PROMETHEUS)
		trace_histogram_prometheus(trace, list, table.order, table.n_rows);
	else if (!trace->histogram)
		table_print(&table, TABLE_CSV, &trace->rows.out);
	if (trace->histogram && trace->rows.format != TRACE_JSON &&
	    trace->rows.format != TRACE_PROMETHEUS)
		trace_histogram_print(trace, list, table.order, table.n_rows);
	return 0;
}

int trace_summary_check(struct trace *trace)
{
	struct table table = { .columns = trace_columns,
			       .n_columns = TRACE_COLUMNS,
			       .arena = &trace->arena };

	if (trace->by == TRACE_BY_WAKER)
		table.columns = trace_waker_columns(trace, &table.n_columns);
	return tool_rows_choose(&trace->rows, &table, 0);
}

static size_t count_rows(const struct trace_summary *summary)
{
	size_t n = 0;

	for (const struct trace_thread *t = summary->last; t; t = t->next)
		n += trace_is_row(t);
	return n;
}

int trace_summary_end(struct trace *trace)
{
	struct trace_summary *summary = trace->summary;
	struct trace_thread **rows;
	uint64_t now = trace->rings.stopped_ns;
	size_t n, i;
	int code;

	trace_summary_find_still(trace);
	for (struct trace_thread *t = summary->last; t; t = t->next) {
		if (!trace_is_row(t))
			continue;
		t->waker = &summary->no_thread[BY_NOBODY];
		trace_thread_settle(summary, t, now);
	}
	if (trace->by == TRACE_BY_DEFAULT && tool_rows_is_table(&trace->rows) &&
	    count_rows(summary) > MOST_THREADS)
		trace->by = TRACE_BY_POOL;
	if (trace->by == TRACE_BY_DEFAULT && trace->rows.format == TRACE_PROMETHEUS)
		trace->by = TRACE_BY_POOL;
	make_pools(summary, trace->by == TRACE_BY_POOL || trace->by == TRACE_BY_WAKER);
	n = i = count_rows(summary);
	rows = tool_realloc(NULL, (n + 1) * sizeof(struct trace_thread *));
	/* Wakers of rows may be others. */
	for (struct trace_thread *t = summary->last; t; t = t->next) {
		LL_SORT(t->waits, longest_first);
		trace_waits_sort(&t->blocked);
		for (const struct trace_wait *p = t->waits; p; p = p->next)
			pmc_histogram_merge(&trace->arena, &t->blocks, &p->lengths);
		if (trace_is_row(t))
			rows[--i] = t;
	}
	if (trace->rows.choice.top == UINT_MAX)
		trace->rows.choice.top = tool_rows_is_table(&trace->rows) ? MOST_ROWS : 0;
	if (trace->by == TRACE_BY_WAKER)
		code = trace_waker_rows(trace, rows, n);
	else
		code = put_all(trace, rows, n, now - summary->start_ns);
	free(rows);
	return code;
}
