/* SPDX-License-Identifier: MIT */
/*
 * place.c - the module of an address. Readers of the dump look up the symbol in its file.
 *
 * dladdr takes the loader's lock. dlopen holds it while it runs constructors: one that waits for a
 * thread that creates another would deadlock. So dladdr is used only with glibc before 2.35 and
 * musl, which have no _dl_find_object.
 */
#include "agent/base/real.h"
#include "agent/thread/thread.h"

#include <dlfcn.h>
#include <link.h>

bool agent_find_place(const void *address, struct agent_place *place)
{
	struct agent_dl_object found;
	Dl_info info;

	if (!real__dl_find_object) {
		if (!dladdr(address, &info) || !info.dli_fname)
			return false;
		place->module = info.dli_fname;
		place->offset = (uintptr_t)address - (uintptr_t)info.dli_fbase;
	} else {
		if (real__dl_find_object((void *)(uintptr_t)address, &found) != 0)
			return false;
		place->module = found.map->l_name;
		place->offset = (uintptr_t)address - (uintptr_t)found.map_start;
	}
	place->symbol = "";
	return true;
}
