/* SPDX-License-Identifier: MIT */
/* real.c - looks up the real versions of the interposed functions. */
#include "agent/base/real.h"

#include <dlfcn.h>

#define X(ret, name, params) ret(*real_##name) params;
#include "agent/base/interposed.def"
#undef X

void agent_real_init(void)
{
#define X(ret, name, params) *(void **)(void *)&real_##name = dlsym(RTLD_NEXT, #name);
#include "agent/base/interposed.def"
#undef X
}
