/* SPDX-License-Identifier: MIT */
/* symbols.c - names for start routines that a dump knows as module and offset only. */
#include "tools/report/report.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *find(struct pmc_arena *arena, const char *path, uint64_t offset, void *arg)
{
	struct symbol_module *module = symbols_module(arg, path, NULL, 0);
	const char *name = module ? symbols_function(arg, module, offset) : NULL;

	return name ? pmc_arena_strdup(arena, name) : NULL;
}

bool symbols_unchanged(const char *path, uint64_t start_ns)
{
	const uint64_t age = pmc_sub_sat(pmc_now_ns(), start_ns);
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return start_ns && stat(path, &st) == 0 &&
	       pmc_timespec_ns(&st.st_ctim) <= pmc_timespec_ns(&now) - age;
}

void symbols_resolve(struct pmc_profile *profile)
{
	struct symbols *symbols = symbols_new(NULL);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	pmc_profile_name_sites(profile, host, find, symbols);
	symbols_free(symbols);
}
