/* SPDX-License-Identifier: MIT */
/* exit_report.h - the report at the end of the job's first process. */
#ifndef PMC_AGENT_PROCESS_EXIT_REPORT_H
#define PMC_AGENT_PROCESS_EXIT_REPORT_H

/* While single-threaded: records which file stderr is, and the path of PMC_REPORT=...=FILE. */
void agent_report_init(char *const *envp);
/* In the job's first process, as its last act: prints the report and removes the private dump. Uses
 * a stack of its own unless called on the main thread's: reading the dump back takes more than a
 * signal handler or a small thread has. */
void agent_report(void);
/* The same in a throwaway clone: after a wild pointer the agent's own data may be damaged. */
void agent_report_in_clone(void);
/* The host is about to close stderr: keeps a copy if the report goes there. */
void agent_report_keep_stderr(void);
/* In a forked child: closes the copy. */
void agent_report_forked(void);

#endif
