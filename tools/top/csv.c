/* SPDX-License-Identifier: MIT */
/* csv.c - the rows of the screen as a CSV file. */
#include "lib/dump/output.h"
#include "tools/cli/pmctl.h"
#include "tools/top/screen.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

void top_write_csv(struct top_screen *screen, const char *path)
{
	static char room[64 << 10];
	struct pmc_out out;
	int fd = tool_open_text(path), error = fd < 0 ? fd : pmc_text_empty(fd);

	if (!error) {
		pmc_out_to_fd(&out, fd, room, sizeof(room));
		error = top_put_data(screen->job, TABLE_CSV, true, &out);
		if (!error)
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
