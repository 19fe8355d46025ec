/* SPDX-License-Identifier: MIT */
/* snapshot.h - appends the current state of the process to the dump. */
#ifndef PMC_AGENT_PROCESS_SNAPSHOT_H
#define PMC_AGENT_PROCESS_SNAPSHOT_H

#include <pmc/dump.h>
#include <stddef.h>

/* All functions are async-signal-safe and need little stack. */

/* The final rows of all threads, totals, notes, process. Only the first call has an effect. */
void agent_final(enum pmc_ended how, int code);
/* The current rows of the live threads. */
void agent_snapshot(void);

/* Like agent_final, before an exec; agent_exec_failed undoes it. */
void agent_before_exec(void);
void agent_exec_failed(void);

/* Enables the groups of all live and later threads. */
void agent_counting_start(void);

#endif
