/* SPDX-License-Identifier: MIT */
/* rows.c - the flags and the output of commands that print the rows of a table. */
#include "tools/cli/new_file.h"
#include "tools/cli/rows.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int tool_rows_choose(const struct tool_rows *rows, struct table *table, unsigned sums)
{
	const char *problem = NULL;
	int err = table_apply(table, &rows->choice, sums, &problem);

	if (err && problem)
		return tool_fail(err == -EINVAL ? EXIT_USAGE : EXIT_FAIL, "%s", problem);
	return err ? tool_fail(EXIT_FAIL, "%s", strerror(-err)) : EXIT_OK;
}

int tool_rows_open(struct tool_rows *rows)
{
	static char room[64 << 10];
	int fd = STDOUT_FILENO;

	if (rows->output)
		fd = rows->streams ? tool_open_output(rows->output, EXIT_FAIL) :
				     tool_replace_begin(rows->output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_screen_from_env(&rows->screen, environ);
	pmc_screen_of_fd(&rows->screen, fd);
	if (rows->width)
		rows->screen.width = rows->width;
	pmc_out_to_fd(&rows->out, fd, room, sizeof(room));
	return EXIT_OK;
}

void tool_rows_print(struct tool_rows *rows, struct table *table)
{
	table->screen = rows->screen;
	if (tool_rows_is_table(rows))
		table_layout(table);
	table_print(table, (enum table_format)rows->format, &rows->out);
}

void tool_rows_say(struct tool_rows *rows, const char *format, ...)
{
	struct pmc_out out = PMC_OUT_MEM(8192);
	va_list args;

	va_start(args, format);
	table_vsay(&out, &rows->screen, format, args);
	va_end(args);
	if (rows->format != TABLE_MARKDOWN) {
		pmc_show_wrapped(&rows->out, out.buf, pmc_screen_width(&rows->screen));
		return;
	}
	pmc_out_char(&rows->out, '-');
	table_put_markdown(&rows->out, out.buf, out.len);
	pmc_out_char(&rows->out, '\n');
}

void tool_rows_put_left_out(struct tool_rows *rows, const struct table *table)
{
	if (table->n_more && tool_rows_is_table(rows))
		pmc_outf(&rows->out, "%s and %llu more (--top 0 shows all)\n",
			 rows->format == TABLE_MARKDOWN ? "\n" : "",
			 (unsigned long long)table->n_more);
	if (rows->format == TABLE_PLAIN && table->hidden && table->hidden[0])
		tool_rows_say(rows, " columns not shown: %s (a larger --width has room)",
			      table->hidden);
}

int tool_rows_close(struct tool_rows *rows)
{
	const int err = tool_replace_end(rows->out.fd, pmc_out_flush(&rows->out));

	return err ? tool_fail_write(rows->output ? rows->output : "to standard output", -err) :
		     EXIT_OK;
}
