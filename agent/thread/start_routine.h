/* SPDX-License-Identifier: MIT */
/* start_routine.h - code addresses as SITE frames: which module, which offset, which symbol. */
#ifndef PMC_AGENT_THREAD_START_ROUTINE_H
#define PMC_AGENT_THREAD_START_ROUTINE_H

#include <stdint.h>

/* The hash of the address's SITE frame, which is in the dump from then on. Takes the loader's
 * lock for an address it sees first: for pthread_create, never for a signal handler. */
uint64_t agent_start_routine(const void *address);
/* Modules may have gone: addresses are looked up anew. */
void agent_start_routines_forget(void);
/* In a forked child. */
void agent_start_routines_forked(void);

#endif
