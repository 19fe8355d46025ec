/* SPDX-License-Identifier: MIT */
/* adopt.h - rows for threads whose start was not seen. */
#ifndef PMC_AGENT_THREAD_ADOPT_H
#define PMC_AGENT_THREAD_ADOPT_H

#include <stddef.h>

/* Reserves a slot for every task of this process without one. room: 8-aligned, for directory
 * entries. Async-signal-safe. */
void agent_adopt(char *room, size_t bytes);

#endif
