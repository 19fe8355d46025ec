/* SPDX-License-Identifier: MIT */
/* real.c - looks up the real versions of the interposed functions. */
#include "agent/base/agent.h"
#include "agent/base/real.h"

#include <dlfcn.h>
#include <link.h>

#define X(ret, name, params) ret(*real_##name) params;
#include "agent/base/interposed.def"
#undef X

/* Libraries such as libfaketime override libc's. dlopen() and the auxiliary vector would not do:
 * one is intercepted by sanitizers, the other takes a parser of ELF files. */
/* Weak: programs of another libc, which have none, start with the agent, too. */
#pragma weak _r_debug

static void find_vdso_clock(void)
{
#ifdef __GLIBC__
#ifdef __aarch64__
	static const char name[] = "__kernel_clock_gettime";
#else
	static const char name[] = "__vdso_clock_gettime";
#endif
	for (struct link_map *map = &_r_debug ? _r_debug.r_map : NULL; map; map = map->l_next) {
		void *clock = strcmp(map->l_name, "linux-vdso.so.1") == 0 ? dlsym(map, name) : NULL;

		if (clock)
			*(void **)(void *)&real_clock_gettime = clock;
	}
#endif
}

void agent_real_init(void)
{
#define X(ret, name, params) *(void **)(void *)&real_##name = dlsym(RTLD_NEXT, #name);
#include "agent/base/interposed.def"
#undef X
	find_vdso_clock();
}
