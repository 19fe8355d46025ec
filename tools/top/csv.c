/* SPDX-License-Identifier: MIT */
/* csv.c - the rows of the screen as a CSV file. */
#include "lib/base/csv.h"
#include "lib/dump/output.h"
#include "lib/dump/words.h"
#include "tools/cli/pmctl.h"
#include "tools/top/screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_written(const struct top_watch *watch, unsigned column, enum top_by by)
{
	return column != TOP_HISTORY_ && top_column_applies(watch, column, by);
}

static void put_cells(const struct top_watch *watch, const struct top_row *row, struct pmc_out *out)
{
	char text[512];
	struct pmc_out cell;
	double value;
	bool some = false;

	for (unsigned c = 0; c < top_n_columns(watch); c++) {
		if (!is_written(watch, c, row->by))
			continue;
		if (some)
			pmc_out_char(out, ',');
		some = true;
		if (top_column_is_text(c)) {
			pmc_out_to_mem(&cell, text, sizeof(text));
			top_cell(watch, row, c, &cell);
			pmc_csv_text(out, text, cell.len);
		} else if (top_value(watch, row, c, &value)) {
			pmc_out_fixed(out, value, c == TOP_PID || c == TOP_TID ? 0 : 3);
		}
	}
	pmc_out_char(out, '\n');
}

static void put_all(const struct top_job *job, struct pmc_out *out)
{
	const char *name;
	bool some = false;

	for (unsigned c = 0; c < top_n_columns(&job->watch); c++) {
		if (!is_written(&job->watch, c, job->look.by))
			continue;
		if (some)
			pmc_out_char(out, ',');
		some = true;
		name = c == TOP_TID && job->look.by != TOP_THREAD ? "threads" :
								    top_column_name(&job->watch, c);
		pmc_csv_text(out, name, strlen(name));
	}
	pmc_out_char(out, '\n');
	for (unsigned r = 0; r < job->rows.n; r++)
		put_cells(&job->watch, &job->rows.rows[r], out);
}

void top_write_csv(struct top_screen *screen, const char *path)
{
	static char room[64 << 10];
	struct pmc_out out;
	int fd = tool_open_text(path), error = fd < 0 ? fd : pmc_text_empty(fd);

	if (!error) {
		pmc_out_to_fd(&out, fd, room, sizeof(room));
		put_all(screen->job, &out);
		error = pmc_out_flush(&out);
	}
	if (fd >= 0 && close(fd) != 0 && !error)
		error = -errno;
	if (error)
		snprintf(screen->message, sizeof(screen->message), "cannot write %.150s: %s", path,
			 tool_output_why(error));
	else
		snprintf(screen->message, sizeof(screen->message), "%u rows written to %.150s",
			 screen->job->rows.n, path);
}
