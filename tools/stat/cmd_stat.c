/* SPDX-License-Identifier: MIT */
/* cmd_stat.c - pmctl stat: counts of a command, a process, a thread, or the machine over time. */
#include "tools/stat/stat.h"
#include "tools/cli/pmctl.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static int open_output(struct stat_job *stat)
{
	static char room[64 << 10];
	int fd = STDOUT_FILENO;

	/* The command's own output is on the standard output. */
	if ((stat->format == TABLE_PLAIN || stat->format == TABLE_MARKDOWN) && stat->cmd)
		fd = STDERR_FILENO;
	if (stat->output)
		fd = tool_open_output(stat->output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_out_to_fd(&stat->out, fd, room, sizeof(room));
	pmc_screen_from_env(&stat->screen, environ);
	pmc_screen_of_fd(&stat->screen, fd);
	if (stat->width)
		stat->screen.width = stat->width;
	return 0;
}

static void warn(const struct stat_job *stat)
{
	if (stat->unsettled)
		tool_warn("threads were started during each of %u attempts to attach: some may be "
			  "counted in part",
			  stat->restarts);
	if (stat->children)
		tool_warn("child processes of %d are not counted: rows are of its own threads; "
			  "pmctl top -p %d shows children, pmctl stat --cgroup counts them",
			  stat->pid, stat->pid);
	if (stat->unread_ns)
		tool_warn("the process ended %llu ms after its last reading: threads that started "
			  "and %s of the others in that time are missing",
			  (unsigned long long)(stat->unread_ns / 1000000u + 1),
			  stat->clock == UINT_MAX ? "times, waits and switches" :
						    "waits and switches");
	if (stat->error)
		tool_warn("some threads or CPUs are not counted: %s", strerror(-stat->error));
}

int cmd_stat(int argc, char **argv)
{
	static struct stat_job stat;
	int code = stat_flags(&stat, argc, argv);

	if (!code)
		code = stat_plan(&stat);
	if (!code)
		code = stat_columns(&stat);
	if (!code)
		code = open_output(&stat);
	if (!code)
		code = stat_run(&stat);
	stat_close(&stat);
	if (!code) {
		warn(&stat);
		if (stat.out.error)
			code = tool_fail_write("the output", -stat.out.error);
	}
	if (!code && stat.target == STAT_COMMAND)
		code = tool_end_as(stat.child.status);
	pmc_arena_free(&stat.arenas[0]);
	pmc_arena_free(&stat.arenas[1]);
	pmc_arena_free(&stat.arena);
	return code;
}
