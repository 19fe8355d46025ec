/* SPDX-License-Identifier: MIT */
/* snapshot.h - everything known now, into the dump. */
#ifndef PMC_AGENT_PROCESS_SNAPSHOT_H
#define PMC_AGENT_PROCESS_SNAPSHOT_H

#include <pmc/dump.h>
#include <stddef.h>

/* All of this is async-signal-safe and needs little stack. */

/* Final rows of all threads, totals, ledger, process. Only the first call does anything. */
void agent_final(enum pmc_ended how, int code);
/* What agent_final kept in memory because no file was needed; len 0: everything is in the file. */
const void *agent_final_frames(size_t *len);

/* Rows of the live threads as they are now; everything goes on. */
void agent_snapshot(void);

/* As agent_final, before an exec, undone by agent_exec_failed. */
void agent_before_exec(void);
void agent_exec_failed(void);

/* Enables the groups of all live threads, and of those to come. */
void agent_counting_start(void);

#endif
