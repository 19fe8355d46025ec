/* SPDX-License-Identifier: MIT */
/* summary_write.c - prints the rows of --summary, as a table or as JSON, and who ended the waits.
 */
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/summary.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS    40
#define MOST_THREADS 20 /* more: pools, unless threads are asked for */
#define MOST_CHAINS  10
#define MOST_LINKS   5
#define WIDTH	     100 /* without a terminal */
#define NAME_COLUMNS 15	 /* of threads */
#define LEAST_NAME   4	 /* of a name that is cut */

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_wakers(struct pmc_json *json, const struct trace_summary *summary,
		       const struct trace_thread *t)
{
	unsigned n;
	struct trace_pair **pairs = trace_pairs_of(summary, t, &n);

	pmc_json_array(json, "woken_by");
	for (unsigned i = 0; i < n; i++) {
		pmc_json_object(json, NULL);
		if (!pairs[i]->key.by->threads)
			pmc_json_u64(json, "tid", pairs[i]->key.by->tid);
		pmc_json_str(json, "name", pairs[i]->key.by->name);
		pmc_json_u64(json, "count", pairs[i]->count);
		pmc_json_u64(json, "wait_ns", pairs[i]->wait_ns);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	free(pairs);
}

static void put_json(struct trace *trace, const struct trace_thread *t)
{
	const struct trace_summary *summary = trace->summary;
	struct pmc_out *out = &trace->out;
	struct pmc_json json;
	unsigned last = 64;

	while (last && !t->waits[last])
		last--;
	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	if (t->threads) {
		pmc_json_str(&json, "pool", t->name);
		pmc_json_u64(&json, "threads", t->threads);
	} else {
		if (t->pid)
			pmc_json_u64(&json, "pid", t->pid);
		else
			pmc_json_null(&json, "pid");
		pmc_json_u64(&json, "tid", t->tid);
		pmc_json_str(&json, "name", t->name);
	}
	pmc_json_u64(&json, "oncpu_ns", t->oncpu_ns);
	pmc_json_u64(&json, "run_delay_ns", t->delay_ns);
	pmc_json_object(&json, "blocked_ns");
	for (unsigned i = 0; i < t->n_blocked; i++)
		pmc_json_u64(&json, t->blocked[i].reason->name, t->blocked[i].ns);
	pmc_json_object_end(&json);
	pmc_json_u64(&json, "switches", t->waited + t->preempted);
	pmc_json_u64(&json, "voluntary_switches", t->waited);
	pmc_json_u64(&json, "involuntary_switches", t->preempted);
	pmc_json_u64(&json, "unseen_switches", t->unseen);
	pmc_json_u64(&json, "longest_wait_ns", t->longest_ns);
	pmc_json_array(&json, "wait_log2_us");
	for (unsigned i = 0; i <= last; i++)
		pmc_json_u64(&json, NULL, t->waits[i]);
	pmc_json_array_end(&json);
	put_wakers(&json, summary, t);
	trace_stacks_json(trace, t, &json);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

/* ---- the table ------------------------------------------------------------------------------ */

static void put_ms(struct pmc_out *out, uint64_t ns, bool doubtful)
{
	char text[32];
	struct pmc_out cell;

	pmc_out_to_mem(&cell, text, sizeof(text));
	pmc_out_str(&cell, doubtful ? "~" : "");
	pmc_out_fixed(&cell, (double)ns / 1e6, 1);
	pmc_outf(out, " %9s", text);
}

/* As many as fit into the line: "futex 93 %, read 7 %". The first is cut if it is too long. */
static void put_reasons(struct pmc_out *out, const struct trace_thread *t, int room)
{
	for (unsigned i = 0; i < t->n_blocked; i++) {
		const char *name = t->blocked[i].reason->name;
		unsigned part = trace_percent(t->blocked[i].ns, t->blocked_ns);
		int columns = (int)strlen(name), left = room - (part > 99 ? 8 : part > 9 ? 7 : 6);

		if ((i && columns > left) || !part)
			break;
		left = left > LEAST_NAME ? left : LEAST_NAME;
		pmc_out_str(out, i ? ", " : "  ");
		columns = pmc_utf8_safe(out, name, strlen(name), left);
		pmc_outf(out, " %u %%", part);
		room = left - columns;
	}
}

static void put_name(struct pmc_out *out, const struct trace_thread *t)
{
	char id[16];
	struct pmc_out cell;
	int width = pmc_utf8_safe(out, t->name, strlen(t->name), NAME_COLUMNS);

	pmc_out_to_mem(&cell, id, sizeof(id));
	pmc_outf(&cell, "%u", t->threads ? t->threads : t->tid);
	pmc_out_pad(out, ' ', NAME_COLUMNS - width);
	pmc_outf(out, " %7s", id);
}

static void put_row(struct pmc_out *out, const struct trace_thread *t, int width)
{
	put_name(out, t);
	put_ms(out, t->oncpu_ns, t->unseen);
	put_ms(out, t->delay_ns, t->unseen);
	put_ms(out, t->longest_ns, false);
	put_ms(out, t->blocked_ns, t->unseen);
	put_reasons(out, t, width - NAME_COLUMNS - 48);
	pmc_out_char(out, '\n');
}

/* Who ended most of the waiting of a row: a thread, or threads of one pool together. */
struct waker {
	const struct trace_thread *by; /* the one with most of it; NULL: nobody */
	char pattern[20];
	unsigned threads, part;
};

/* Adds the pairs of the pool of pair `first` that are behind it. */
static uint64_t sum_pool(struct trace_pair **pairs, unsigned n, unsigned first, struct waker *waker)
{
	char pattern[20];
	uint64_t ns = 0;

	*waker = (struct waker){ .by = pairs[first]->key.by };
	trace_pattern(waker->by, waker->pattern);
	for (unsigned i = first; i < n; i++) {
		trace_pattern(pairs[i]->key.by, pattern);
		if (strcmp(pattern, waker->pattern) != 0)
			continue;
		ns += pairs[i]->wait_ns;
		waker->threads++;
	}
	return ns;
}

static struct waker main_waker(const struct trace_summary *summary, const struct trace_thread *t)
{
	unsigned n;
	struct trace_pair **pairs = trace_pairs_of(summary, t, &n);
	struct waker most = { .by = NULL }, waker;
	uint64_t all = 0, most_ns = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t ns = sum_pool(pairs, n, i, &waker);

		if (!most.by || ns > most_ns) {
			most = waker;
			most_ns = ns;
		}
		all += pairs[i]->wait_ns;
	}
	most.part = trace_percent(most_ns, all);
	free(pairs);
	return most;
}

/* Goes on below the first waker where the line ends. Returns the column behind it. */
static int put_waker(struct pmc_out *out, const struct waker *waker, int column, int width)
{
	const char *name = waker->threads > 1 ? waker->pattern : waker->by->name;
	char text[128];
	struct pmc_out line;
	int columns;

	pmc_out_to_mem(&line, text, sizeof(text));
	pmc_out_str(&line, " <- ");
	columns = 4 + pmc_utf8_safe(&line, name, strlen(name), NAME_COLUMNS);
	columns -= (int)line.len;
	if (waker->threads > 1)
		pmc_outf(&line, " (%u threads)", waker->threads);
	else if (!waker->by->threads && waker->by->tid)
		pmc_outf(&line, " %u", waker->by->tid);
	pmc_outf(&line, " %u %%", waker->part);
	columns += (int)line.len;
	if (column > NAME_COLUMNS + 8 && column + columns > width) {
		column = NAME_COLUMNS + 8;
		pmc_out_char(out, '\n');
		pmc_out_pad(out, ' ', column);
	}
	pmc_out_bytes(out, text, line.len);
	return column + columns;
}

/* Who ended most of its waiting, who that one's, and so on: up to an interrupt, or a thread or
 * threads of a pool that are in the line already. */
static void put_chain(struct pmc_out *out, const struct trace_summary *summary,
		      const struct trace_thread *t, int width)
{
	const struct trace_thread *seen[MOST_LINKS + 1] = { t };
	int column = NAME_COLUMNS + 8;
	char pattern[20];
	bool last = false;

	for (unsigned n = 1; n <= MOST_LINKS && !last; n++) {
		const struct waker waker = main_waker(summary, seen[n - 1]);

		if (!waker.by)
			break;
		if (n == 1)
			put_name(out, seen[0]);
		column = put_waker(out, &waker, column, width);
		last = waker.by == &summary->interrupt;
		for (unsigned i = 0; i < n; i++) {
			trace_pattern(seen[i], pattern);
			last |= seen[i] == waker.by ||
				(waker.threads > 1 && !strcmp(pattern, waker.pattern));
		}
		seen[n] = waker.by;
	}
	if (seen[1])
		pmc_out_char(out, '\n');
}

static void put_table(struct trace *trace, struct trace_thread *const *rows, size_t n,
		      uint64_t wall_ns, int width)
{
	const bool pools = trace->by == TRACE_BY_POOL;
	struct pmc_out *out = &trace->out;
	uint64_t unseen = 0, threads = 0;

	pmc_outf(out, "%zu %s%s", n, pools ? "pool" : "thread", n == 1 ? "" : "s");
	for (size_t i = 0; i < n && pools; i++)
		threads += rows[i]->threads;
	if (pools)
		pmc_outf(out, " of %llu thread%s", (unsigned long long)threads,
			 threads == 1 ? "" : "s");
	pmc_out_str(out, " in ");
	pmc_out_fixed(out, (double)wall_ns / 1e6, 1);
	pmc_out_str(out, " ms; times in ms\n\n");
	pmc_outf(out, "%-15s %7s %9s %9s %9s %9s  %s\n", pools ? "pool" : "thread",
		 pools ? "threads" : "tid", "on CPU", "delay", "longest", "blocked", "in");
	for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
		put_row(out, rows[i], width);
		trace_stacks_line(trace, rows[i], width);
	}
	if (n > MOST_ROWS)
		pmc_outf(out, "%zu more: --format json has all\n", n - MOST_ROWS);
	if (trace->summary->asleep)
		pmc_outf(out, "%u other thread%s slept throughout\n", trace->summary->asleep,
			 trace->summary->asleep == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++)
		unseen += rows[i]->unseen;
	if (unseen)
		pmc_outf(out,
			 "~: %llu switch%s not recorded: these times may be wrong by up to a wait "
			 "each\n",
			 (unsigned long long)unseen, unseen == 1 ? " was" : "es were");
}

static void put_all(struct trace *trace, struct trace_thread *const *rows, size_t n,
		    uint64_t wall_ns)
{
	struct pmc_out *out = &trace->out;
	int width = tool_columns(out->fd);
	size_t woken = 0;

	width = width ? width : WIDTH;
	for (size_t i = 0; i < n && trace->format == TRACE_JSON; i++)
		put_json(trace, rows[i]);
	if (trace->format == TRACE_JSON)
		return;
	put_table(trace, rows, n, wall_ns, width);
	for (size_t i = 0; i < n && i < MOST_CHAINS; i++) {
		if (!main_waker(trace->summary, rows[i]).by)
			continue;
		if (!woken++)
			pmc_out_str(out, "\nwaits ended by, and share of the time waited:\n");
		put_chain(out, trace->summary, rows[i], width);
	}
}

/* Most CPU time first. */
static int order(const void *a, const void *b)
{
	const struct trace_thread *left = *(struct trace_thread *const *)a;
	const struct trace_thread *right = *(struct trace_thread *const *)b;

	if (left->oncpu_ns != right->oncpu_ns)
		return left->oncpu_ns < right->oncpu_ns ? 1 : -1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
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
	uint64_t now = trace->stopped_ns;
	size_t n = 0, i = 0;

	trace_summary_find_asleep(trace);
	trace_reasons_name(summary);
	for (struct trace_thread *t = summary->last; t; t = t->next)
		if (trace_is_row(t))
			trace_thread_settle(summary, t, now);
	n = count_rows(summary);
	if (trace->by == TRACE_BY_DEFAULT && trace->format != TRACE_JSON && n > MOST_THREADS)
		trace->by = TRACE_BY_POOL;
	if (trace->by == TRACE_BY_POOL && !trace_pools(summary))
		summary->failed = true;
	n = count_rows(summary);
	rows = calloc(n + 1, sizeof(struct trace_thread *));
	if (!rows || summary->failed) {
		free(rows);
		return tool_fail(EXIT_FAIL, "out of memory");
	}
	for (struct trace_thread *t = summary->last; t; t = t->next) {
		if (!trace_is_row(t))
			continue;
		trace_blocked_sort(t);
		rows[i++] = t;
	}
	qsort(rows, n, sizeof(struct trace_thread *), order);
	put_all(trace, rows, n, now - summary->start_ns);
	free(rows);
	return 0;
}
