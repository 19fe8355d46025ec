/* SPDX-License-Identifier: MIT */
/*
 * cmd_top.c - pmctl top: what each thread of a process or of the machine does, live; here with -b:
 * a title and a table, or data, in each interval.
 */
#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "tools/top/top.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_NS UINT64_C(50000000)

static unsigned most_rows(const struct top_job *job)
{
	const unsigned top = job->flags.rows.choice.top, n = job->rows.n;

	return top && top < n ? top : n;
}

static void put_cpus(const struct top_rows *rows, const char *dot, uint64_t ns, const char *what,
		     struct pmc_out *out)
{
	pmc_out_str(out, dot);
	pmc_out_fixed(out, rows->wall_ns ? (double)ns / (double)rows->wall_ns : 0, 2);
	pmc_out_str(out, what);
}

static void put_target(const struct top_watch *watch, struct pmc_out *out)
{
	unsigned roots;
	const struct top_process *first = top_first_root(watch, &roots);

	if (watch->flags->all)
		pmc_out_str(out, "the machine");
	else if (first)
		pmc_outf(out, "%s %d", first->name, first->pid);
	else
		pmc_out_str(out, "ended");
	if (roots > 1)
		pmc_outf(out, " and %u more", roots - 1);
}

/* Lines are cut at their ends. */
void top_put_title(const struct top_job *job, bool ascii, struct pmc_out *out)
{
	const struct top_watch *watch = &job->watch;
	const struct top_look *look = &job->look;
	const struct top_rows *rows = &job->rows;
	const uint64_t known = rows->sum.cpu_ns;
	/* CPU time that no row has. */
	const bool ended = look->by != TOP_PROCESS && rows->cpu_ns > known + rows->wall_ns / 100;
	const char *dot = ascii ? ", " : " · ";

	put_target(watch, out);
	if (look->only)
		pmc_outf(out, "%sonly %s", dot, look->only_name);
	if (look->filter[0])
		pmc_outf(out, "%sfilter %s (%u hidden)", dot, look->filter, rows->hidden);
	if (watch->before_ns) {
		put_cpus(rows, dot, rows->cpu_ns, " CPUs", out);
		put_cpus(rows, ended ? (ascii ? ", at least " : " · at least ") : dot,
			 rows->sum.delay_ns, " waiting for one", out);
		if (ended)
			put_cpus(rows, dot, rows->cpu_ns - known, " by ended threads", out);
	}
	/* The first thread whose events could not be opened. */
	if (watch->error)
		pmc_outf(out, "%sno events of some threads: %s", dot, strerror(-watch->error));
	pmc_out_str(out, dot);
	pmc_show_count(out, watch->n_tasks, "thread", "threads");
	pmc_out_str(out, " in ");
	pmc_show_count(out, watch->n, "process", "processes");
	if (top_waits_lost(watch->waits))
		pmc_outf(out, "%s%llu records of switches lost", dot,
			 (unsigned long long)top_waits_lost(watch->waits));
	if (strcmp(rows->sort, "cpu") != 0)
		pmc_outf(out, "%sby %s", dot, rows->sort);
}

void top_put_table(const struct top_job *job, int width, unsigned most, struct pmc_out *out)
{
	const bool markdown = job->flags.rows.format == TABLE_MARKDOWN;
	const bool ascii = job->flags.rows.screen.ascii;
	static struct top_layout layout;
	struct pmc_out title = PMC_OUT_MEM(8192);

	if (most_rows(job) < most)
		most = most_rows(job);
	top_layout_make(&layout, job, 0, most, width);
	top_put_title(job, ascii, &title);
	pmc_utf8_fit(out, title.buf, title.len, width, PMC_CUT_END, ascii);
	pmc_out_str(out, markdown ? "\n\n" : "\n");
	table_print(&layout.table, markdown ? TABLE_MARKDOWN : TABLE_PLAIN, out);
	pmc_arena_free(&layout.arena);
}

void top_put_data(const struct top_job *job, enum table_format format, bool first,
		  struct pmc_out *out)
{
	static struct top_layout layout;
	static uint64_t events;
	const uint64_t hash = job->watch.live.view.hash;

	top_layout_make(&layout, job, 0, most_rows(job), TOP_DATA);
	/* Again where the events of an agent have changed. */
	if (format == TABLE_CSV && (first || hash != events))
		table_csv_head(&layout.table, out);
	events = hash;
	if (format != TABLE_CSV)
		table_print(&layout.table, TABLE_JSONL, out);
	for (unsigned r = 0; format == TABLE_CSV && r < layout.table.n_rows; r++)
		table_csv_row(&layout.table, r, out);
	pmc_arena_free(&layout.arena);
}

static int print_tables(struct top_job *job)
{
	struct tool_rows *rows = &job->flags.rows;
	struct pmc_out *out = &rows->out;
	uint64_t tables = 0;
	bool ended = false;

	while (!ended && !out->error && (!job->flags.count || tables < job->flags.count)) {
		ended = top_wait(job) == LIVE_ENDED;
		if (!top_step(job))
			break;
		if (job->watch.note[0])
			tool_warn("%s", job->watch.note);
		job->watch.note[0] = '\0';
		if (tool_rows_is_table(rows)) {
			pmc_out_str(out, tables ? "\n" : "");
			top_put_table(job, pmc_screen_width(&rows->screen), UINT_MAX, out);
		} else {
			top_put_data(job, (enum table_format)rows->format, !tables, out);
		}
		tables++;
		pmc_out_flush(out);
	}
	/* The titles of tables say it. */
	if (top_waits_lost(job->watch.waits) && !tool_rows_is_table(rows))
		tool_warn("%llu records of switches were lost: waits are missing; lost-switches "
			  "has those of each interval",
			  (unsigned long long)top_waits_lost(job->watch.waits));
	job->counted = tables == job->flags.count && tables;
	if (!tables)
		tool_warn("%s ended before the first reading",
			  job->flags.cmd ? job->flags.cmd[0] : "the process");
	return tool_rows_close(rows);
}

/* ---- the command ---------------------------------------------------------------------------- */

#define FLAG_OPTIONS struct top_flags

static const char *const keys[] = {
	[TOP_THREAD] = "thread", [TOP_POOL] = "pool", [TOP_PROCESS] = "process"
};
static const struct table_column columns[] = {
#define X(id, title, thread, ...) { .name = title, .head = thread },
#include "tools/top/columns.def"
#undef X
};
const struct tool_flag cmd_top_flags[] = {
	FLAG_PROCESSES(pids, "process IDs: 12 or 12,34 (-p is optional for one)"),
	FLAG_NAMED(name, "processes whose program has that name"),
	FLAG_MACHINE(all, "all processes of the machine"),
	FLAG_EVENTS(events),
	/* The kernel's tick bounds what shorter intervals could show. */
	FLAG_INTERVAL(interval_ns, 10 * FLAG_MS, "time between two readings (default: 1s)"),
	FLAG_COUNT(count, "end after so many readings"),
	FLAG_SORT('s', rows.choice.sort, "column to sort by (default: cpu)"),
	FLAG_BOOL('r', "--reverse", reverse, "smallest first"),
	FLAG_BY(by, keys),
	FLAG_TOP(rows.choice.top, "number of rows with -b (default: all)"),
	FLAG_ROWS_CHOICE(rows, columns, .counts = true),
	FLAG_FORMAT(rows.format, TABLE_FORMATS),
	FLAG_WIDTH(rows.width),
	FLAG_TEXT(0, "--filter", "GLOB", filter, "rows whose name matches, or contains the word"),
	FLAG_BOOL(0, "--waits", waits, "record switches: how long waits lasted"),
	FLAG_BOOL('c', "--command-line", commands, "show the command line of each process"),
	FLAG_BOOL('b', "--batch", batch, "tables as plain text instead of a screen"),
	FLAG_OUTPUT(output, "output of CMD (default: discarded)"),
	OPERAND_PIDS(pids),
	OPERAND_TAIL(cmd),
	FLAG_END,
};

static int check(const struct top_flags *flags)
{
	const struct tool_rows *rows = &flags->rows;
	const int targets = flags->all + !!flags->pids + !!flags->name + !!flags->cmd;

	if (targets != 1)
		return tool_fail(EXIT_USAGE,
				 "%s target; give one of -p PID, --name GLOB, -a and -- CMD",
				 targets ? "more than one" : "no");
	if ((rows->format != TABLE_PLAIN || rows->width || rows->choice.top) && !flags->batch)
		return tool_fail(EXIT_USAGE, "--format, --top and --width are for -b; add -b");
	if (flags->output && !flags->cmd)
		return tool_fail(EXIT_USAGE, "-o is for the output of a command; add -- CMD");
	if (flags->filter && strlen(flags->filter) >= sizeof(((struct top_look *)0)->filter))
		return tool_fail(EXIT_USAGE, "--filter is longer than 63 bytes");
	return 0;
}

static int start_command(struct top_job *job)
{
	int fd, code;

	fd = tool_open_output(job->flags.output ? job->flags.output : "/dev/null", EXIT_OURS);
	if (fd < 0)
		return -fd;
	job->child.output = fd;
	code = tool_child_start(&job->child, job->flags.cmd);
	if (fd != STDOUT_FILENO)
		close(fd);
	return code;
}

/* --sort, --columns and --where name columns that the rows have. */
static int set_look(struct top_job *job)
{
	const struct top_flags *flags = &job->flags;
	const char *by = flags->rows.choice.sort, *problem;
	struct top_look *look = &job->look;
	struct pmc_arena arena = { 0 };
	struct table table = { .arena = &arena }, all;
	const struct table_column *sort;
	int code;

	*look = (struct top_look){ .by = flags->by ? flags->by : top_usual_by(&job->watch),
				   .sort = "cpu",
				   .reverse = flags->reverse };
	if (flags->filter)
		strcpy(look->filter, flags->filter);
	table.columns = top_columns(&job->watch, look, TOP_DATA, &arena, &table.n_columns);
	all = table;
	code = tool_rows_choose(&flags->rows, &table, 0);
	if (!code && by) {
		sort = table_find(all.columns, all.n_columns, by, strlen(by), &arena, &problem);
		snprintf(look->sort, sizeof(look->sort), "%s", sort->name);
	}
	pmc_arena_free(&arena);
	return code;
}

bool top_step(struct top_job *job)
{
	const bool alive = top_watch_scan(&job->watch);

	top_rows_make(&job->rows, &job->watch, &job->look);
	return alive;
}

enum live_event top_wait(struct top_job *job)
{
	enum live_event event = LIVE_TIME;
	uint64_t now = pmc_now_ns();

	/* Rings have no room for the records of a whole interval. */
	while (job->watch.waits && event == LIVE_TIME && now + READ_NS < job->next_ns) {
		event = live_wait(&job->wait, now + READ_NS);
		top_waits_read(job->watch.waits);
		now = pmc_now_ns();
	}
	if (event == LIVE_TIME)
		event = live_wait(&job->wait, job->next_ns);
	now = pmc_now_ns();

	/* Intervals that were missed are not made up for. */
	if (event == LIVE_TIME)
		job->next_ns += job->flags.interval_ns;
	if (event == LIVE_TIME && job->next_ns < now)
		job->next_ns = now + job->flags.interval_ns;
	return event;
}

static int run(struct top_job *job)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, 0 };
	struct top_flags *flags = &job->flags;
	int code = tool_rows_open(&flags->rows);

	if (!code && flags->cmd)
		code = start_command(job);
	if (!code)
		code = top_watch_start(&job->watch, flags, job->child.pid);
	if (!code)
		code = top_events_plan(&job->watch);
	if (!code && flags->waits)
		code = top_waits_start(&job->watch);
	if (code)
		return code;
	job->wait = (struct live_wait){ -1, &job->child, .forward = flags->cmd };
	live_wait_begin(&job->wait, signals);
	if (flags->cmd)
		code = tool_child_go(&job->child, flags->cmd[0]);
	if (code)
		return code;
	top_watch_scan(&job->watch);
	job->next_ns = job->watch.now_ns + flags->interval_ns;
	code = set_look(job);
	if (code)
		return code;
	return flags->batch ? print_tables(job) : top_screen(job);
}

int cmd_top(int argc, char **argv)
{
	static struct top_job job = { .child = { .socket = -1 },
				      .flags = { .interval_ns = 1000000000u,
						 .rows.streams = true } };
	int code = tool_args_parse(argc, argv, &job.flags);

	if (!code)
		code = check(&job.flags);
	if (code)
		return code;
	code = run(&job);
	pmc_arena_free(&job.rows.arena);
	top_watch_stop(&job.watch);
	if (!code && job.counted && !tool_child_ended(&job.child, false)) {
		tool_warn("%s goes on alone, as process %d; kill %d ends it", job.flags.cmd[0],
			  job.child.pid, job.child.pid);
		return 0;
	}
	if (!code && job.flags.cmd) {
		tool_child_ended(&job.child, true);
		return tool_end_as(job.child.status);
	}
	tool_child_drop(&job.child);
	return code;
}
