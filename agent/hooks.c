/* SPDX-License-Identifier: MIT */
/* hooks.c - looks up the real versions of the interposed functions. */
#include "agent/hooks.h"

#include <dlfcn.h>

#define X(ret, name, params) ret(*real_##name) params;
#include "agent/interposed.def"
#undef X

void agent_hooks_init(void)
{
#define X(ret, name, params) *(void **)(void *)&real_##name = dlsym(RTLD_NEXT, #name);
#include "agent/interposed.def"
#undef X
}
