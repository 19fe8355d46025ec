/* SPDX-License-Identifier: MIT */
/* cmd_top.c - pmctl top: what each thread of a process or of the machine does, live. */
#include "tools/cli/pmctl.h"
#include "tools/top/top.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

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

/* --columns and --where name columns that the rows have. */
static int check_columns(const struct top_job *job)
{
	struct pmc_arena arena = { 0 };
	struct table_condition *conditions;
	struct table_column *columns, *chosen;
	const char *problem = NULL;
	unsigned n, n_chosen;
	int error, code;

	columns = top_columns(&job->watch, &job->look, TOP_DATA, &arena, &n);
	error = columns ? table_conditions(columns, n, job->look.where, job->look.n_where, &arena,
					   &conditions, &problem) :
			  -ENOMEM;
	if (!error && job->flags.columns)
		error = table_choose(columns, n, job->flags.columns, &arena, &chosen, &n_chosen,
				     &problem);
	code = !error ? 0 :
			tool_fail(problem ? EXIT_USAGE : EXIT_FAIL, "%s",
				  problem ? problem : "out of memory");
	pmc_arena_free(&arena);
	return code;
}

static int set_look(struct top_job *job)
{
	const struct top_flags *flags = &job->flags;
	const char *names[128];
	unsigned n = 0;

	job->look = (struct top_look){ .by = flags->by ? flags->by : top_usual_by(&job->watch),
				       .sort = TOP_CPU,
				       .where = flags->where,
				       .n_where = flags->n_where,
				       .reverse = flags->reverse };
	if (flags->filter)
		strcpy(job->look.filter, flags->filter);
	if (flags->sort)
		job->look.sort = top_find_column(&job->watch, flags->sort);
	if (job->look.sort != UINT_MAX)
		return check_columns(job);
	for (unsigned c = 0; c < top_n_columns(&job->watch) && n < 128; c++)
		names[n++] = top_column_name(&job->watch, c);
	return tool_fail_unknown("invalid --sort", flags->sort, tool_nearest(flags->sort, names, n),
				 "a column, such as cpu, delay, voluntary or name");
}

bool top_step(struct top_job *job)
{
	const unsigned views = job->watch.views;
	bool alive = top_watch_scan(&job->watch);

	if (job->watch.views != views && job->look.sort >= TOP_COLUMNS)
		job->look.sort = TOP_CPU;
	return alive && top_rows_make(&job->rows, &job->watch, &job->look) == 0;
}

static int run(struct top_job *job)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
	sigset_t was;
	int code = 0;

	pmc_screen_from_env(&job->screen, environ);
	pmc_screen_of_fd(&job->screen, STDOUT_FILENO);
	if (job->flags.width)
		job->screen.width = job->flags.width;
	if (job->flags.cmd)
		code = start_command(job);
	if (!code)
		code = top_watch_start(&job->watch, &job->flags, job->child.pid);
	if (!code)
		code = top_events_plan(&job->watch);
	if (code)
		return code;
	job->signals = tool_signals(signals, sizeof(signals) / sizeof(signals[0]), &was);
	if (job->flags.cmd)
		code = tool_child_go(&job->child, job->flags.cmd[0]);
	if (code)
		return code;
	top_watch_scan(&job->watch);
	job->next_ns = job->watch.now_ns + job->flags.interval_ns;
	code = set_look(job);
	if (code)
		return code;
	return job->flags.batch ? top_batch(job) : top_screen(job);
}

int cmd_top(int argc, char **argv)
{
	static struct top_job job = { .child = { .socket = -1 }, .signals = -1 };
	int code = top_flags(&job.flags, argc, argv);

	if (code)
		return code;
	code = run(&job);
	top_rows_free(&job.rows);
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
