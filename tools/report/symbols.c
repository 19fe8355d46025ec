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

const char *symbols_start(struct symbols *symbols, const struct pmc_profile *profile,
			  const char *path, uint64_t offset, uint64_t start_ns)
{
	const struct pmc_p_module *build = NULL;
	struct symbol_module *module;
	unsigned builds = 0;

	for (uint64_t i = 0; i < profile->n_modules; i++)
		if (!strcmp(profile->modules[i]->path, path) && profile->modules[i]->build_id_len)
			build = profile->modules[i], builds++;
	/* Rows do not say which of two builds is theirs. */
	if (builds != 1) {
		build = NULL;
		if (!symbols_unchanged(path, start_ns))
			return NULL;
	}
	module = symbols_module(symbols, path, build ? build->build_id : NULL,
				build ? (unsigned)build->build_id_len : 0);
	return module ? symbols_function(symbols, module, offset) : NULL;
}

void symbols_resolve(struct pmc_profile *profile)
{
	struct symbols *symbols = symbols_new(NULL);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	pmc_profile_name_sites(profile, host, find, symbols);
	symbols_free(symbols);
}
