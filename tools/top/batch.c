/* SPDX-License-Identifier: MIT */
/* batch.c - the title, tables and data: one an interval with -b, and the last one after the screen.
 */
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/top/top.h"

#include <string.h>

static unsigned most_rows(const struct top_job *job)
{
	const unsigned top = job->flags.rows.choice.top, n = job->rows.n;

	return top && top < n ? top : n;
}

static void put_cpus(const struct top_rows *rows, uint64_t ns, const char *what,
		     struct pmc_out *out)
{
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
	const char *dot = ascii ? ", " : " · ";

	put_target(watch, out);
	if (look->only)
		pmc_outf(out, "%sonly %s", dot, look->only_name);
	if (look->filter[0])
		pmc_outf(out, "%sfilter %s (%u hidden)", dot, look->filter, rows->hidden);
	if (watch->before_ns) {
		pmc_out_str(out, dot);
		put_cpus(rows, rows->cpu_ns, " CPUs", out);
		pmc_out_str(out, dot);
		put_cpus(rows, rows->sum.delay_ns, " waiting for one", out);
		/* CPU time that no row has. */
		if (look->by != TOP_PROCESS && rows->cpu_ns > known + rows->wall_ns / 100) {
			pmc_out_str(out, dot);
			put_cpus(rows, rows->cpu_ns - known, " by ended threads", out);
		}
	}
	/* The first thread whose events could not be opened. */
	if (watch->error)
		pmc_outf(out, "%sno events of some threads: %s", dot, strerror(-watch->error));
	pmc_out_str(out, dot);
	pmc_show_count(out, rows->threads, "thread", "threads");
	pmc_out_str(out, " in ");
	pmc_show_count(out, rows->processes, "process", "processes");
	if (strcmp(look->sort, "cpu") != 0)
		pmc_outf(out, "%sby %s", dot, look->sort);
}

void top_put_table(const struct top_job *job, int width, unsigned most, struct pmc_out *out)
{
	const bool markdown = job->flags.rows.format == TABLE_MARKDOWN;
	const bool ascii = job->flags.rows.screen.ascii;
	static struct top_layout layout;
	char text[8192];
	struct pmc_out title;

	if (most_rows(job) < most)
		most = most_rows(job);
	top_layout_make(&layout, job, 0, most, width);
	pmc_out_to_mem(&title, text, sizeof(text));
	top_put_title(job, ascii, &title);
	pmc_utf8_fit(out, text, title.len, width, PMC_CUT_END, ascii);
	pmc_out_str(out, markdown ? "\n\n" : "\n");
	table_print(&layout.table, markdown ? TABLE_MARKDOWN : TABLE_PLAIN, out);
	pmc_arena_free(&layout.arena);
}

void top_put_data(const struct top_job *job, enum table_format format, bool first,
		  struct pmc_out *out)
{
	static struct top_layout layout;
	static char last[16 << 10];
	char names[sizeof(last)];
	struct pmc_out head;

	top_layout_make(&layout, job, 0, most_rows(job), TOP_DATA);
	pmc_out_to_mem(&head, names, sizeof(names));
	table_csv_head(&layout.table, &head);
	/* Again where the events of an agent have changed. */
	if (format == TABLE_CSV && (first || strcmp(names, last) != 0))
		pmc_out_str(out, names);
	strcpy(last, names);
	if (format != TABLE_CSV)
		table_print(&layout.table, TABLE_JSONL, out);
	for (unsigned r = 0; format == TABLE_CSV && r < layout.table.n_rows; r++)
		table_csv_row(&layout.table, r, out);
	pmc_arena_free(&layout.arena);
}

int top_batch(struct top_job *job)
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
	job->counted = tables == job->flags.count && tables;
	if (!tables)
		tool_warn("%s ended before the first reading",
			  job->flags.cmd ? job->flags.cmd[0] : "the process");
	return tool_rows_close(rows);
}
