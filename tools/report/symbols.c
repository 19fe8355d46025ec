/* SPDX-License-Identifier: MIT */
/* symbols.c - names for start routines that a dump knows as module and offset only. */
#include "tools/report/symbols.h"
#include "tools/symbol/symbol.h"

#include <unistd.h>

static const char *find(struct pmc_arena *arena, const char *path, uint64_t offset, void *arg)
{
	struct symbol_module *module = symbols_module(arg, path, NULL, 0);
	const char *name = module ? symbols_function(arg, module, offset) : NULL;

	return name ? pmc_arena_strdup(arena, name) : NULL;
}

void symbols_resolve(struct pmc_profile *profile, const char *host)
{
	struct symbols *symbols;
	char name[256] = "";

	if (symbols_new(&symbols, NULL))
		return;

	if (!host) {
		gethostname(name, sizeof(name) - 1);
		host = name;
	}
	pmc_profile_name_sites(profile, host, find, symbols);
	symbols_free(symbols);
}
