/* SPDX-License-Identifier: MIT */
/* table.c - intervals and rows as a table. */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/cli/pmctl.h"
#include "tools/stat/table.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HEAD_EVERY 20 /* lines, on what has no height */

static const char *head_of(const struct stat_job *stat, unsigned e, char *text, size_t cap)
{
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const char *unit = strcmp(event->unit, "ns") ? event->unit : "ms";
	struct pmc_out out;

	pmc_out_to_mem(&out, text, cap);
	stat_put_name(&out, event->name);
	pmc_out_str(&out, *unit ? " " : "");
	stat_put_name(&out, unit);
	return text;
}

/* ---- columns ------------------------------------------------------------------------------ */

static const char *row_name(const struct stat_job *stat, const struct stat_row *row, char *text,
			    size_t cap)
{
	const struct stat_key *key = &row->key;
	const char *name = row->name[0] ? row->name : "(unnamed)";

	if (row == stat->rows)
		snprintf(text, cap, "total");
	else if (stat->by == BY_POOL || row == &stat->rest)
		snprintf(text, cap, "%s", name);
	else if (key->tid >= 0)
		snprintf(text, cap, "%d %s", key->tid, name);
	else if (key->cpu >= 0)
		snprintf(text, cap, "cpu %d", key->cpu);
	else if (key->core >= 0)
		snprintf(text, cap, "core %d/%d", key->socket, key->core);
	else if (key->socket >= 0)
		snprintf(text, cap, "socket %d", key->socket);
	else
		snprintf(text, cap, "node %d", key->node);
	/* Names of threads are any bytes. */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127)
			*c = '?';
	return text;
}

static const char *const wait_heads[] = { "on cpu ms", "delay ms", "blocked ms", "vol", "invol" };
#define N_WAITS (sizeof(wait_heads) / sizeof(wait_heads[0]))

enum kind { EVENT, METRIC, WAIT };

struct column {
	enum kind kind;
	unsigned index;
	char head[64];
};

struct columns {
	struct column list[PMC_EVENTS_MAX + 64];
	unsigned n, left_out;
	int wide, used; /* the least width of a column; of the line */
	int room;	/* of the terminal; 0: no limit */
};

static void add_column(struct columns *columns, enum kind kind, unsigned index, const char *head)
{
	struct column *column = &columns->list[columns->n];

	if (columns->n == sizeof(columns->list) / sizeof(columns->list[0]))
		return;
	*column = (struct column){ .kind = kind, .index = index };
	snprintf(column->head, sizeof(column->head), "%.60s", head);
	columns->n++;
}

static int width_of(const struct columns *columns, const struct column *column)
{
	int head = (int)strlen(column->head) + 2;

	return head > columns->wide ? head : columns->wide;
}

static int sum_widths(const struct columns *columns)
{
	int sum = columns->used;

	for (unsigned i = 0; i < columns->n; i++)
		sum += width_of(columns, &columns->list[i]);
	return sum;
}

/* Columns of waits, from the same counters of the scheduler, have these. */
static bool is_wait(const struct stat_job *stat, const struct pmc_event_def *def)
{
	if (!stat_has_waits(stat) || def->type == PMC_TYPE_OS)
		return stat_has_waits(stat) && def->config == PMC_OS_RUN_DELAY;
	return def->type == PERF_TYPE_SOFTWARE && (def->config == PERF_COUNT_SW_TASK_CLOCK ||
						   def->config == PERF_COUNT_SW_CONTEXT_SWITCHES);
}

/* On a narrow terminal the last ones do not fit. Events that were asked for come first. */
static void choose_columns(const struct stat_job *stat, struct columns *columns)
{
	const int room = tool_columns(stat->out.fd);
	char text[256];

	*columns = (struct columns){ .wide = 14, .room = room };
	columns->used = 12 + (stat->by != BY_TOTAL ? 25 : 0) + (stat->by == BY_POOL ? 8 : 0) +
			(stat->target != STAT_MACHINE || stat->cgroup ? 8 : 0);
	for (int events = stat->events != NULL, i = 0; i < 2; i++, events = !events) {
		for (unsigned w = 0; !events && stat_has_waits(stat) && w < N_WAITS; w++)
			add_column(columns, WAIT, w, wait_heads[w]);
		for (unsigned e = 0; events && e < stat->live.view.count; e++)
			if (!is_wait(stat, &stat->live.view.events[e].def))
				add_column(columns, EVENT, e, head_of(stat, e, text, sizeof(text)));
	}
	for (unsigned m = 0; m < pmc_n_metrics; m++)
		if (live_shows_metric(&stat->live, m))
			add_column(columns, METRIC, m, pmc_metrics[m].column);
	if (room > 0 && sum_widths(columns) > room)
		columns->wide = 8;
	while (room > 0 && columns->n > 1 && sum_widths(columns) > room) {
		columns->n--;
		columns->left_out++;
	}
}

static void put_head(struct stat_job *stat, const struct columns *columns)
{
	static const char *const heads[] = {
		[BY_TOTAL] = "",    [BY_THREAD] = "thread", [BY_POOL] = "pool", [BY_CPU] = "cpu",
		[BY_CORE] = "core", [BY_SOCKET] = "socket", [BY_NODE] = "node",
	};
	struct pmc_out *out = &stat->out;

	stat_put_right(out, "time s", 12);
	if (stat->by != BY_TOTAL)
		pmc_outf(out, "  %-23s", heads[stat->by]);
	if (stat->by == BY_POOL)
		stat_put_right(out, "threads", 8);
	if (stat->target != STAT_MACHINE || stat->cgroup)
		stat_put_right(out, "CPUs", 8);
	for (unsigned i = 0; i < columns->n; i++)
		stat_put_right(out, columns->list[i].head, width_of(columns, &columns->list[i]));
	if (stat_has_waits(stat) && !columns->left_out)
		pmc_out_str(out, "  at");
	pmc_out_char(out, '\n');
}

static void wait_text(const struct stat_job *stat, const struct stat_row *row, bool cumulative,
		      char text[N_WAITS][32])
{
	struct live_span span = { .ns = 0 };
	struct pmc_out out;
	const enum stat_known known =
		stat_has_waits(stat) ? stat_waits_of(stat, row, cumulative, &span) : NOT_KNOWN;
	const double ns[3] = { (double)span.cpu_ns, (double)span.delay_ns,
			       (double)span.blocked_ns };

	for (unsigned w = 0; w < N_WAITS; w++) {
		pmc_out_to_mem(&out, text[w], sizeof(text[w]));
		if (!known || (w && known == CPU_TIME_ONLY))
			pmc_out_char(&out, '-');
		else if (w < 3)
			pmc_out_fixed(&out, ns[w] / 1e6, 2);
		else
			pmc_show_integer(&out, w == 3 ? span.voluntary : span.involuntary);
	}
}

/* Where it is blocked now; over more than one interval or thread, most of the time. */
static void put_place(struct pmc_out *out, const struct stat_row *row, bool cumulative, int room)
{
	const struct stat_place *most = row->places;
	char text[LIVE_WCHAN + 8] = "";
	uint64_t all = 0;

	for (unsigned i = 0; i < STAT_PLACES; i++) {
		all += row->places[i].ns;
		if (row->places[i].ns > most->ns)
			most = &row->places[i];
	}
	if (row->task && !cumulative)
		snprintf(text, sizeof(text), "%s", row->task->wchan);
	else if (all)
		snprintf(text, sizeof(text), "%s %u %%", most->name,
			 (unsigned)((double)most->ns * 100 / (double)all + 0.5));
	if (text[0] && room > 2) {
		pmc_out_str(out, "  ");
		pmc_utf8_fit(out, text, strlen(text), room - 2, PMC_CUT_END, true);
	}
}

static void put_line(struct stat_job *stat, const struct columns *columns,
		     const struct stat_row *row, uint64_t ns, bool cumulative)
{
	struct pmc_out *out = &stat->out;
	double cpus = stat_cpus(stat, row, ns);
	char text[256], waits[N_WAITS][32];
	struct pmc_out time;

	wait_text(stat, row, cumulative, waits);
	pmc_out_to_mem(&time, text, sizeof(text));
	pmc_out_fixed(&time, (double)(stat->now_ns - stat->begin_ns) / 1e9, 3);
	stat_put_right(out, text, 12);
	if (stat->by != BY_TOTAL)
		pmc_outf(out, "  %-23.23s", row_name(stat, row, text, sizeof(text)));
	if (stat->by == BY_POOL) {
		pmc_out_to_mem(&time, text, sizeof(text));
		if (row == &stat->rest)
			pmc_out_char(&time, '-');
		else
			pmc_show_integer(&time,
					 row == stat->rows ? stat->n_rows - 1 : row->threads);
		stat_put_right(out, text, 8);
	}
	if (stat->target != STAT_MACHINE || stat->cgroup) {
		pmc_out_to_mem(&time, text, sizeof(text));
		if (cpus >= 0)
			pmc_out_fixed(&time, cpus, 2);
		else
			pmc_out_char(&time, '-');
		stat_put_right(out, text, 8);
	}
	for (unsigned i = 0; i < columns->n; i++) {
		const struct column *column = &columns->list[i];

		if (column->kind == EVENT)
			stat_event_text(stat, row, column->index, text, sizeof(text));
		else if (column->kind == METRIC)
			stat_metric_text(stat, row, column->index, text, sizeof(text));
		stat_put_right(out, column->kind == WAIT ? waits[column->index] : text,
			       width_of(columns, column));
	}
	if (stat_has_waits(stat) && !columns->left_out)
		put_place(out, row, cumulative,
			  columns->room ? columns->room - sum_widths(columns) : 99);
	pmc_out_char(out, '\n');
	stat->lines++;
}

static unsigned head_every(const struct stat_job *stat)
{
	struct winsize size;

	if (ioctl(stat->out.fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4)
		return size.ws_row - 2u;
	return HEAD_EVERY;
}

static void put_rows(struct stat_job *stat, bool summary)
{
	const bool all = summary || stat->cumulative;
	const uint64_t ns = stat->now_ns - (all ? stat->begin_ns : stat->before_ns);
	struct columns columns;
	unsigned n;
	const struct stat_row *rows = stat_shown(stat, &n);

	choose_columns(stat, &columns);
	if (stat->clear && isatty(stat->out.fd)) {
		pmc_out_str(&stat->out, "\033[H\033[2J");
		stat->headed = false;
	}
	if (!stat->headed || stat->lines >= head_every(stat)) {
		put_head(stat, &columns);
		stat->headed = true;
		stat->lines = 0;
	}
	for (unsigned r = 0; r < n; r++)
		/* Threads may have left a pool by their names. */
		if ((rows[r].seen || rows[r].shown || summary) &&
		    (stat->by != BY_POOL || rows[r].threads))
			put_line(stat, &columns, &rows[r], ns, all);
	if (stat_rest_shown(stat, all))
		put_line(stat, &columns, &stat->rest, ns, all);
	if (stat->target != STAT_THREAD)
		put_line(stat, &columns, &stat->rows[0], ns, all);
}

/* ---- notes --------------------------------------------------------------------------------- */

/* Threads sleep, and the kernel does not say where. */
static bool hides_places(const struct stat_job *stat)
{
	bool asleep = false;

	for (unsigned r = 1; stat_has_waits(stat) && r < stat->n_rows; r++) {
		const struct stat_row *row = &stat->rows[r];

		if (row->places[0].ns)
			return false;
		asleep |= row->task && row->task->known && strchr("SD", row->task->stat.state);
	}
	return asleep;
}

static bool any_scaled(const struct stat_job *stat)
{
	for (unsigned e = 0; e < stat->live.view.count; e++)
		if (stat->rows[0].counts[e].state == PMC_SCALED)
			return true;
	return false;
}

/* Of the terminal as it is now. */
static void put_left_out(struct stat_job *stat)
{
	struct columns columns;
	char text[8192];
	struct pmc_out out;

	choose_columns(stat, &columns);
	if (!columns.left_out)
		return;
	pmc_out_to_mem(&out, text, sizeof(text));
	for (unsigned i = 0; i < columns.left_out; i++)
		pmc_outf(&out, "%s%s",
			 i ? ", " : " no room for: ", columns.list[columns.n + i].head);
	pmc_outf(&out, "%s; --format json has all", stat_has_waits(stat) ? ", at" : "");
	pmc_show_wrapped(&stat->out, text, columns.room);
}

static void put_absent(struct stat_job *stat)
{
	const struct live_events *live = &stat->live;
	const int room = tool_columns(stat->out.fd);
	char why[320], text[8192];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	for (unsigned i = 0; i < live->n_absent; i++) {
		pmc_out_str(&out, i ? ", " : " not counted: ");
		stat_put_name(&out, live->absent[i]);
	}
	live_events_why_absent(live, why, sizeof(why));
	pmc_outf(&out, ": %s", why);
	pmc_show_wrapped(&stat->out, text, room ? room : 100);
}

void stat_table(struct stat_job *stat, bool summary)
{
	if (summary && stat->by == BY_TOTAL) {
		stat_list(stat);
	} else {
		if (summary && stat->interval_ns) {
			pmc_out_str(&stat->out, "\nsince the start:\n");
			stat->headed = false;
		}
		put_rows(stat, summary);
	}
	if (summary && (stat->by != BY_TOTAL || stat->interval_ns))
		put_left_out(stat);
	if (summary && any_scaled(stat))
		pmc_out_str(&stat->out, " ~ multiplexed: scaled to the whole time\n");
	if (summary && hides_places(stat))
		pmc_out_str(&stat->out, " at: needs permission to trace the process (ptrace)\n");
	if (summary && stat->live.n_absent)
		put_absent(stat);
}
