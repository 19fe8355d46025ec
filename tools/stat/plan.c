/* SPDX-License-Identifier: MIT */
/* plan.c - the events of a stat and the default list. */
#include "tools/cli/pmctl.h"
#include "tools/stat/stat.h"

#define SWITCHES "context-switches,cpu-migrations,page-faults"

int stat_plan(struct stat_job *stat)
{
	const char *text = stat->target == STAT_MACHINE ? "cpu-clock," SWITCHES "," LIVE_HARDWARE :
							  "task-clock," SWITCHES "," LIVE_HARDWARE;
	char why[320];
	int code;

	text = stat->events ? stat->events : text;
	code = live_events_plan(&stat->live, text, !stat->events, stat->target == STAT_MACHINE,
				&stat->arena);
	/* Events of the OS: of rows of threads, and of a command that has ended. */
	if (code || live_events_any(&stat->live) || stat_has_waits(stat) ||
	    (stat->target == STAT_COMMAND && stat->live.plan.os & ~(1u << PMC_OS_RUN_DELAY)))
		return code;
	if (stat->live.view.count && stat->live.view.events[0].def.type == PMC_TYPE_OS)
		return tool_fail(EXIT_USAGE, "%s is counted for threads only; %s",
				 stat->live.view.events[0].name,
				 stat->target == STAT_PROCESS ? "add --per-thread or --by pool" :
				 stat->cmd ? "pmctl run -e counts each thread of a command" :
					     "give -p PID --per-thread");
	live_events_why(&stat->live, 0, why, sizeof(why));
	return tool_fail(stat->cmd ? EXIT_OURS : EXIT_FAIL, "cannot count %s: %s",
			 stat->live.view.count ? stat->live.view.events[0].name : text, why);
}
