/* SPDX-License-Identifier: MIT */
/* adopt.h - rows for threads whose start was not seen. */
#ifndef PMC_AGENT_THREAD_ADOPT_H
#define PMC_AGENT_THREAD_ADOPT_H

#include <stddef.h>

/* Gives a slot to every task of this process that has none. Async-signal-safe; room (8-aligned) is
 * for directory entries. */
void agent_adopt(char *room, size_t bytes);

#endif
