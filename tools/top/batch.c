/* SPDX-License-Identifier: MIT */
/* batch.c - tables as plain text, one an interval: -b, and the last one after the screen. */
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/top/top.h"

#include <limits.h>
#include <string.h>

/* Lines have no blanks at their end. */
static void put_line(struct pmc_out *out, const char *text, size_t len)
{
	while (len && text[len - 1] == ' ')
		len--;
	pmc_out_bytes(out, text, len);
	pmc_out_char(out, '\n');
}

void top_put_table(struct top_job *job, int width, unsigned most, struct pmc_out *out)
{
	const bool ascii = job->screen.ascii;
	struct top_layout layout;
	char text[8192], safe[8192];
	struct pmc_out line, fitted;

	pmc_out_to_mem(&line, text, sizeof(text));
	pmc_out_to_mem(&fitted, safe, sizeof(safe));
	top_put_title(&job->watch, &job->look, &job->rows, width, ascii, &line);
	pmc_utf8_fit(&fitted, text, line.len, width, PMC_CUT_END, ascii);
	put_line(out, safe, fitted.len);
	top_layout_make(&layout, &job->watch, &job->look, &job->rows, width);
	pmc_out_to_mem(&line, text, sizeof(text));
	top_put_head(&layout, &job->watch, &job->look, ascii, &line);
	put_line(out, text, line.len);
	for (unsigned r = 0; r < job->rows.n && r < most; r++) {
		pmc_out_to_mem(&line, text, sizeof(text));
		top_put_row(&layout, &job->watch, &job->rows.rows[r], ascii, &line);
		put_line(out, text, line.len);
	}
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
		if (tables++)
			pmc_out_char(&out, '\n');
		top_put_table(job, pmc_screen_width(&job->screen), UINT_MAX, &out);
		pmc_out_flush(&out);
	}
	job->counted = tables == job->flags.count && tables;
	if (!tables)
		tool_warn("%s ended before the first reading",
			  job->flags.cmd ? job->flags.cmd[0] : "the process");
	return out.error ? tool_fail_write("the output", -out.error) : 0;
}
