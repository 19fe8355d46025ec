/* SPDX-License-Identifier: MIT */
/* place.c - the library that a function is in, from the loader of macOS. */
#include "agent/thread/thread.h"

#include <dlfcn.h>

bool agent_find_place(const void *address, struct agent_place *place)
{
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	place->module = info.dli_fname;
	place->offset = (uintptr_t)address - (uintptr_t)info.dli_fbase;
	place->symbol = info.dli_sname ? info.dli_sname : "";
	return true;
}
