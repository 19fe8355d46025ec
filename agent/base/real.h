/* SPDX-License-Identifier: MIT */
/*
 * real.h - for the files that interpose libc functions.
 *
 * interposed.def lists every one. The real functions are looked up in the constructor, while it
 * is safe to; a hook that runs before that (a loader that ignores initfirst) looks up its own.
 */
#ifndef PMC_AGENT_BASE_REAL_H
#define PMC_AGENT_BASE_REAL_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <threads.h>

typedef void agent_handler(int);

#define X(ret, name, params) extern ret(*real_##name) params;
#include "agent/base/interposed.def"
#undef X

void agent_real_init(void);
/* The real function behind a pointer that may not have been looked up yet. */
#define REAL(name) (real_##name ? real_##name : (agent_real_init(), real_##name))

#endif
