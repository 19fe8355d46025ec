/* SPDX-License-Identifier: MIT */
/* batch.c - tables as plain text, one an interval: -b, and the last one after the screen. */
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/top/top.h"

#include <limits.h>
#include <string.h>

static unsigned most_rows(const struct top_job *job)
{
	return job->flags.top && job->flags.top < job->rows.n ? job->flags.top : job->rows.n;
}

void top_put_table(const struct top_job *job, int width, unsigned most, struct pmc_out *out)
{
	static struct top_layout layout;
	char text[8192];
	struct pmc_out title;

	if (most_rows(job) < most)
		most = most_rows(job);
	if (top_layout_make(&layout, job, 0, most, width))
		return;
	pmc_out_to_mem(&title, text, sizeof(text));
	top_put_title(&job->watch, &job->look, &job->rows, width, job->screen.ascii, &title);
	pmc_utf8_fit(out, text, title.len, width, PMC_CUT_END, job->screen.ascii);
	pmc_out_str(out, job->flags.format == TABLE_MARKDOWN ? "\n\n" : "\n");
	table_print(&layout.table,
		    job->flags.format == TABLE_MARKDOWN ? TABLE_MARKDOWN : TABLE_PLAIN, out);
	pmc_arena_free(&layout.arena);
}

int top_put_data(const struct top_job *job, enum table_format format, bool first,
		 struct pmc_out *out)
{
	static struct top_layout layout;
	static char last[16 << 10];
	const int error = top_layout_make(&layout, job, 0, most_rows(job), TOP_DATA);
	char names[sizeof(last)];
	struct pmc_out head;

	if (error)
		return error;
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
	return 0;
}

/* Tables have an empty line between them. */
static void put_interval(const struct top_job *job, bool first, struct pmc_out *out)
{
	const enum table_format format = job->flags.format;

	if (format == TABLE_PLAIN || format == TABLE_MARKDOWN) {
		pmc_out_str(out, first ? "" : "\n");
		top_put_table(job, pmc_screen_width(&job->screen), UINT_MAX, out);
	} else {
		top_put_data(job, format, first, out);
	}
	pmc_out_flush(out);
}

int top_batch(struct top_job *job)
{
	static char room[64 << 10];
	struct pmc_out out;
	bool ended = false;
	uint64_t tables = 0;

	pmc_out_to_fd(&out, 1, room, sizeof(room));
	while (!ended && !out.error && (!job->flags.count || tables < job->flags.count)) {
		ended = top_wait(job, -1) == TOP_ENDED;
		if (!top_step(job))
			break;
		if (job->watch.note[0])
			tool_warn("%s", job->watch.note);
		job->watch.note[0] = '\0';
		put_interval(job, !tables++, &out);
	}
	job->counted = tables == job->flags.count && tables;
	if (!tables)
		tool_warn("%s ended before the first reading",
			  job->flags.cmd ? job->flags.cmd[0] : "the process");
	return out.error ? tool_fail_write("the output", -out.error) : 0;
}
