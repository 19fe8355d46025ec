/* SPDX-License-Identifier: MIT */
/*
 * prometheus.c - pmctl stat --prometheus: a file in the text format 0.0.4 of Prometheus, written
 * anew at each interval.
 *
 * A reader finds it whole. A sample is a sum over rows with the same labels, since the start; as a
 * counter it never falls, also where the estimate of a multiplexed event does. Rows of threads that
 * have ended are removed, so that memory does not grow with their number.
 *
 * Source: "Exposition formats" of Prometheus, and the README of node_exporter's textfile collector.
 */
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/cli/new_file.h"
#include "tools/rows/fold.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sums of one name and one set of labels. */
struct series {
	UT_hash_handle hh;
	double ended, now,
		shown; /* of rows that have been given up, of the others, as written last */
	bool there;    /* in this round */
	char labels[]; /* the key */
};

struct family {
	struct family *next;
	struct series *series;
	const char *help;
	bool gauge;
	char name[80];
};

struct stat_prometheus {
	struct stat_job *stat;
	struct family *families, **end;
	bool ended; /* the row is added for the last time */
};

/* ---- sums --------------------------------------------------------------------------------- */

static struct family *family_of(struct stat_prometheus *to, const char *name, const char *help,
				bool gauge)
{
	struct family *family = to->families;

	while (family && strcmp(family->name, name) != 0)
		family = family->next;
	if (family)
		return family;
	family = pmc_arena_alloc(&to->stat->arena, sizeof(*family));
	*family = (struct family){ .help = help, .gauge = gauge };
	snprintf(family->name, sizeof(family->name), "%s", name);
	*to->end = family;
	to->end = &family->next;
	return family;
}

/* labels: without the last comma. */
static void add(struct stat_prometheus *to, struct family *family, const char *labels, double value)
{
	struct pmc_arena *arena = &to->stat->arena;
	const size_t len = strlen(labels);
	struct series *series;

	HASH_FIND(hh, family->series, labels, len, series);
	if (!series) {
		series = pmc_arena_alloc(arena, sizeof(*series) + len + 1);
		*series = (struct series){ .there = false };
		memcpy(series->labels, labels, len + 1);
		HASH_ADD_KEYPTR(hh, family->series, series->labels, len, series);
	}
	*(to->ended && !family->gauge ? &series->ended : &series->now) += value;
	series->there = true;
}

/* ---- labels and values of a row ----------------------------------------------------------- */

static void put_label(struct pmc_out *out, const char *key, const char *value)
{
	pmc_out_str(out, out->len ? "," : "");
	pmc_prometheus_label(out, key, value, strlen(value));
}

/* NULL: the row is of several programs. */
static const char *program_of(const struct stat_job *stat, const struct stat_row *row)
{
	const char *name = NULL;

	if (stat->target == STAT_COMMAND)
		return pmc_base_name(stat->cmd[0]);
	for (unsigned p = 0; p < stat->n_processes; p++) {
		const struct stat_process *process = &stat->processes[p];

		if (row->task.pid && row->task.pid != process->pid)
			continue;
		if (name && strcmp(name, process->program) != 0)
			return NULL;
		name = process->program;
	}
	return name && name[0] ? name : NULL;
}

static void put_labels(struct pmc_out *out, const struct stat_job *stat, const struct stat_row *row)
{
	const int numbers[] = { row->key.tid, row->key.cpu, row->key.socket, row->key.core,
				row->key.node };
	static const char *const keys[] = { "tid", "cpu", "socket", "core", "node" };
	const char *program = program_of(stat, row), *name = row->name;
	char pool[LIVE_NAME];

	if (program)
		put_label(out, "program", program);
	if (stat->cgroup)
		put_label(out, "cgroup", stat->cgroup);
	/* NULL: a row of no thread. */
	if (name && !name[0])
		name = stat->rest.name;
	if (stat->by == BY_POOL && name != stat->rest.name) {
		live_pool_key(name, pool);
		name = pool;
	}
	if (stat_has_waits(stat))
		put_label(out, stat->by == BY_POOL ? "pool" : "thread", name);
	for (unsigned i = 0; i < 5; i++)
		if (numbers[i] >= 0 && (i || stat->by == BY_THREAD))
			pmc_outf(out, "%s%s=\"%d\"", out->len ? "," : "", keys[i], numbers[i]);
}

/* value in ns; mode: of the CPU, or NULL. */
static void add_time(struct stat_prometheus *to, const char *name, const char *help,
		     const char *labels, const char *mode, uint64_t ns)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s%s%s%s%s", labels, mode && *labels ? "," : "",
		 mode ? "mode=\"" : "", mode ? mode : "", mode ? "\"" : "");
	add(to, family_of(to, name, help, false), text, (double)ns / 1e9);
}

/* The kernel tells the modes in steps of 10 ms of each thread. What a thread has used beyond its
 * last steps is of unknown mode, and added when it has ended: until then it may become a step. */
static void add_waits(struct stat_prometheus *to, const struct stat_row *row, const char *labels)
{
	static const char cpu[] = "pmc_cpu_seconds_total",
			  of_cpu[] = "CPU time of threads, by mode in steps of 10 ms.";
	const bool is_last = to->ended || to->stat->by == BY_TOTAL;
	const struct live_span *span = &row->sum;

	if (row == &to->stat->rest) {
		add_time(to, cpu, of_cpu, labels, "unknown", span->cpu_ns);
		return;
	}
	add_time(to, cpu, of_cpu, labels, "user", span->user_ns);
	add_time(to, cpu, of_cpu, labels, "system", span->system_ns);
	if (is_last)
		add_time(to, cpu, of_cpu, labels, "unknown",
			 pmc_sub_sat(span->cpu_ns, span->user_ns + span->system_ns));
	add_time(to, "pmc_run_delay_seconds_total", "Time of runnable threads without a CPU.",
		 labels, NULL, span->delay_ns);
	add_time(to, "pmc_blocked_seconds_total", "Time of threads that slept or waited.", labels,
		 NULL, span->blocked_ns);
	add(to, family_of(to, "pmc_voluntary_switches_total", "Context switches to wait.", false),
	    labels, (double)span->voluntary);
	add(to,
	    family_of(to, "pmc_involuntary_switches_total", "Context switches by preemption.",
		      false),
	    labels, (double)span->involuntary);
	add(to, family_of(to, "pmc_threads", "Threads that are counted.", true), labels, row->seen);
}

static void add_event(struct stat_prometheus *to, const struct stat_row *row, unsigned e,
		      const char *labels)
{
	const struct live_events *live = &to->stat->live;
	const struct pmc_p_event *event = &live->view.events[e];
	const struct table_cell cell = live_event_cell(live, row->counts, e);
	const double value = cell.kind == CELL_REAL ? cell.real : (double)cell.number;
	char text[1024], name[80], unit[32];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	if (cell.kind == CELL_NULL)
		return;
	pmc_event_metric_unit(event, unit);
	pmc_out_str(&out, labels);
	put_label(&out, "event", event->name);
	snprintf(name, sizeof(name), "pmc_event%s%s_total", *unit ? "_" : "", unit);
	add(to, family_of(to, name, "Events, those that were multiplexed scaled.", false), text,
	    strcmp(event->unit, "ns") ? value : value / 1e9);
	if (cell.estimate)
		add(to, family_of(to, "pmc_event_multiplexed", "1: that event was scaled.", true),
		    text, 1);
}

static void add_row(struct stat_prometheus *to, const struct stat_row *row)
{
	struct pmc_out out = PMC_OUT_MEM(768);

	put_labels(&out, to->stat, row);
	if (stat_has_waits(to->stat))
		add_waits(to, row, out.buf);
	for (unsigned e = 0; e < to->stat->live.view.count; e++)
		add_event(to, row, e, out.buf);
}

/* ---- the file ----------------------------------------------------------------------------- */

/* keeps: sums of rows that have ended are shown, too; not of single threads. */
static void put_family(struct pmc_out *out, struct family *family, bool keeps)
{
	struct series *series, *next;

	pmc_outf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
		 family->gauge ? "gauge" : "counter");
	HASH_ITER (hh, family->series, series, next) {
		const double sum = series->ended + series->now;
		char text[64];

		if (family->gauge ? series->there : sum > series->shown)
			series->shown = sum;
		if (series->there || (keeps && !family->gauge)) {
			snprintf(text, sizeof(text), "%.15g", series->shown);
			pmc_outf(out, "%s%s%s%s %s\n", family->name, series->labels[0] ? "{" : "",
				 series->labels, series->labels[0] ? "}" : "", text);
		}
		if (!series->there && !keeps)
			HASH_DEL(family->series, series);
		series->now = 0;
		series->there = false;
	}
}

static int write_file(struct stat_prometheus *to)
{
	struct tool_new_file *file;
	const int fd = tool_new_file_open(to->stat->prometheus, &file);
	char text[16384];
	struct pmc_out out;
	int error;

	if (fd < 0)
		return fd;
	pmc_out_to_fd(&out, fd, text, sizeof(text));
	for (struct family *family = to->families; family; family = family->next)
		put_family(&out, family, to->stat->by != BY_THREAD);
	error = pmc_out_flush(&out);
	if (close(fd) != 0 && !error)
		error = -errno;
	return error ? error : tool_new_file_name(file);
}

int stat_prometheus_write(struct stat_job *stat)
{
	struct stat_prometheus *to = stat->exposition;
	int error;

	stat_sum(stat, true);
	for (unsigned r = stat->by != BY_TOTAL; r < stat->n_rows; r++) {
		to->ended = stat_row_is_over(stat, stat->rows[r]);
		add_row(to, stat->rows[r]);
	}
	to->ended = false;
	if (stat->rest.shown)
		add_row(to, &stat->rest);
	stat_drop_rows(stat);
	error = write_file(to);
	return error ? tool_fail(EXIT_FAIL, "cannot write %s: %s", stat->prometheus,
				 tool_output_why(error)) :
		       0;
}

int stat_prometheus_open(struct stat_job *stat)
{
	const int fd = tool_open_output(stat->prometheus, EXIT_FAIL);
	struct stat_prometheus *to;
	struct stat st;
	bool regular;

	if (fd < 0)
		return -fd;
	regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	close(fd);
	if (!regular)
		return tool_fail(EXIT_USAGE,
				 "--prometheus %s: not a regular file; it is replaced "
				 "at each interval",
				 stat->prometheus);
	to = stat->exposition = pmc_arena_alloc(&stat->arena, sizeof(*to));
	*to = (struct stat_prometheus){ .stat = stat };
	to->end = &to->families;
	return 0;
}

int stat_prometheus_end(struct stat_job *stat)
{
	if (stat->cmd)
		return stat_prometheus_write(stat);
	if (unlink(stat->prometheus) == 0 || errno == ENOENT)
		return 0;
	return tool_fail(EXIT_FAIL, "cannot remove %s: %s", stat->prometheus, strerror(errno));
}
