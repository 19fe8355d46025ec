/* SPDX-License-Identifier: MIT */
/* start_routine.h - start routines of threads as SITE frames: module, offset and symbol. */
#ifndef PMC_AGENT_THREAD_START_ROUTINE_H
#define PMC_AGENT_THREAD_START_ROUTINE_H

#include <stdint.h>

/* Writes the SITE frame of an address to the dump, once, and returns its hash. Takes the loader's
 * lock for a new address: not async-signal-safe. */
uint64_t agent_start_routine(const void *address);
/* After dlclose: addresses are looked up again. */
void agent_start_routines_forget(void);
/* In a forked child. */
void agent_start_routines_forked(void);

#endif
