/* SPDX-License-Identifier: MIT */
/* exit_report.h - the report of the job's first process. */
#ifndef PMC_AGENT_PROCESS_EXIT_REPORT_H
#define PMC_AGENT_PROCESS_EXIT_REPORT_H

/* While single-threaded: remembers which file stderr is, and where PMC_REPORT=...=FILE is. */
void agent_report_init(void);
/* Prints the report and removes the job's private dump: the last thing of the process. On a stack
 * of its own where the caller's may be small: reading everything back takes more than a signal
 * handler or a small thread has. */
void agent_report(void);
/* The same in a throwaway clone whatever the stack: if the program's end is a wild pointer, what it
 * hit may be ours. */
void agent_report_apart(void);
/* The host is about to close the stream: keeps a descriptor of it, if the report goes there. */
void agent_report_keep_stderr(void);
/* In a forked child: nothing is kept there. */
void agent_report_forked(void);

#endif
