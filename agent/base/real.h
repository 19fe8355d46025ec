/* SPDX-License-Identifier: MIT */
/*
 * real.h - the real versions of the interposed functions, which interposed.def lists.
 *
 * They are looked up in the constructor, where that is safe. A hook that runs earlier (a loader
 * that ignores initfirst) looks them up itself.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
#include <wordexp.h>

typedef void agent_handler(int);

/* struct dl_find_object of <dlfcn.h>, which older headers lack. */
struct agent_dl_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *map;
	void *eh_frame;
	void *rest[15];
};

#define X(ret, name, params) extern ret(*real_##name) params;
#include "agent/base/interposed.def"
#undef X

void agent_real_init(void);
/* The real function, looked up now if that has not been done yet. */
#define REAL(name) (real_##name ? real_##name : (agent_real_init(), real_##name))
