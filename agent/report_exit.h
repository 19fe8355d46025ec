/* SPDX-License-Identifier: MIT */
/* report_exit.h - the report of the job's first process. */
#ifndef PMC_AGENT_REPORT_EXIT_H
#define PMC_AGENT_REPORT_EXIT_H

/* While single-threaded: remembers which file stderr is, and where PMC_REPORT=...=FILE is. */
void agent_report_init(void);
/* Prints the report and removes the job's private dump. The last thing of the process, in a
 * signal handler if need be: it runs on a stack of its own. */
void agent_report(void);
/* The host is about to close the stream: keeps a descriptor of it, if the report goes there. */
void agent_report_keep_stderr(void);
/* In a forked child: nothing is kept there. */
void agent_report_forked(void);

#endif
